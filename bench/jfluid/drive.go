package jfluid

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// library is the engine's client side, below VisualVM's home.
const library = "modules/org-graalvm-visualvm-lib-jfluid.jar"

// compile builds the driver against the library.
func (e *Engine) compile(ctx context.Context) error {
	sources, err := filepath.Glob("bench/jfluid/java/*.java")
	if err != nil || len(sources) == 0 {
		return errors.New("no Java sources in bench/jfluid/java: run from the top of the repository")
	}
	if err := os.MkdirAll(e.data, 0o755); err != nil {
		return err
	}
	arguments := append([]string{"-nowarn", "-d", e.classes, "-cp", filepath.Join(e.home, library)}, sources...)
	if out, err := exec.CommandContext(ctx, e.jdk.Tool("javac"), arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("compiling JFluid's driver: %w\n%s", err, out)
	}
	return nil
}

// calibrate has the engine measure its own hooks, once for a JDK.
func (e *Engine) calibrate(ctx context.Context) error {
	if done, _ := filepath.Glob(filepath.Join(e.data, "machinedata.*")); len(done) > 0 { // the pattern is well formed
		return nil
	}
	if _, err := e.drive(ctx, nil, "calibrate"); err != nil {
		return fmt.Errorf("calibrating JFluid: %w", err)
	}
	return nil
}

// arguments are the driver's, without what all its commands have.
func (r Request) arguments() []string {
	into := r.Into
	if into == "" {
		into = "-"
	}
	arguments := []string{
		"profile", strconv.Itoa(r.PID), string(r.Scheme), strconv.FormatInt(r.Weaving.Milliseconds(), 10), into,
	}
	for _, root := range r.Roots {
		arguments = append(arguments, root.Class, root.Method, root.Descriptor)
	}
	return arguments
}

// stay waits as the request wants once the driver measures.
func (r Request) stay(ctx context.Context, woven time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(r.Duration):
	}
	if r.Stay == nil {
		return nil
	}
	return r.Stay(ctx, woven)
}

// spare is what the driver may take besides weaving and measuring: the engine waits
// for four minutes for a target that does not answer, and detaches after that.
const spare = 8 * time.Minute

// drive runs a command of the driver and returns what it printed. It has it go on
// to measure until stay is over. Where it failed, the error is what the engine said.
func (e *Engine) drive(ctx context.Context, stay func(context.Context, time.Duration) error, command ...string) (string, error) {
	port, err := freePort()
	if err != nil {
		return "", err
	}
	lib, err := filepath.Abs(filepath.Join(e.home, "lib"))
	if err != nil {
		return "", err
	}
	arguments := []string{
		"-Dnbprofiler.home=" + e.data, "-cp", e.classes + ":" + filepath.Join(e.home, library), "Drive",
		command[0], lib, port,
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := time.AfterFunc(spare, func() { cancel(errSilent) })
	defer patience.Stop()
	process := exec.CommandContext(ctx, e.jdk.Tool("java"), append(arguments, command[1:]...)...)
	var errs bytes.Buffer
	process.Stderr = &errs
	in, err := process.StdinPipe()
	if err != nil {
		return "", err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := process.Start(); err != nil {
		return "", err
	}
	var printed strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		printed.WriteString(lines.Text() + "\n")
		if stay != nil && strings.HasPrefix(lines.Text(), "# measuring ") {
			patience.Stop()
			if err := stay(ctx, wovenAt(printed.String())); err != nil {
				cancel(err)
			}
			patience.Reset(spare)
			_ = in.Close() // which ends the measuring; if the driver has ended, that is seen next
		}
	}
	err = process.Wait()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	for line := range strings.Lines(printed.String()) {
		if said, failed := strings.CutPrefix(line, "! "); failed {
			return "", refusal(strings.TrimSpace(said))
		}
	}
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		return "", fmt.Errorf("its driver ended: %w: %s", err, first)
	}
	return printed.String(), nil
}

var errSilent = fmt.Errorf("it did nothing for %v", spare)

// refusal makes an error of what the engine said.
func refusal(said string) error {
	if strings.Contains(said, "not supported by the Profiler") || strings.Contains(said, "UNSUPPORTED_JDK") {
		return fmt.Errorf("%w: it says %q", ErrUnsupported, said)
	}
	return errors.New(said)
}

// freePort finds one that the engine can listen to, which it insists on.
func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}
