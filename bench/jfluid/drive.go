package jfluid

import (
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
	if _, err := e.drive(ctx, "calibrate"); err != nil {
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
		"profile", strconv.Itoa(r.PID), string(r.Scheme), strconv.FormatInt(r.Duration.Milliseconds(), 10),
		strconv.FormatInt(r.Weaving.Milliseconds(), 10), into,
	}
	for _, root := range r.Roots {
		arguments = append(arguments, root.Class, root.Method, root.Descriptor)
	}
	return arguments
}

// drive runs a command of the driver and returns what it printed. Where it failed,
// the error is what the engine said.
func (e *Engine) drive(ctx context.Context, command ...string) (string, error) {
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
	var out, errs bytes.Buffer
	process := exec.CommandContext(ctx, e.jdk.Tool("java"), append(arguments, command[1:]...)...)
	process.Stdout, process.Stderr = &out, &errs
	err = process.Run()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	for line := range strings.Lines(out.String()) {
		if said, failed := strings.CutPrefix(line, "! "); failed {
			return "", refusal(strings.TrimSpace(said))
		}
	}
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		return "", fmt.Errorf("its driver ended: %w: %s", err, first)
	}
	return out.String(), nil
}

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
