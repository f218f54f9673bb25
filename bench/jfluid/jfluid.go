// Package jfluid drives JFluid, the engine of VisualVM, through its own library
// and without its windows, so that benchmarks can have it do the same job as
// Sonde. Nothing of it is in this repository: `.ci/setup visualvm` installs it.
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

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A Scheme is one of the engine's ways to put hooks in and to time.
type Scheme string

// The schemes. All but Sampled time every call.
const (
	Lazy    Scheme = "lazy"    // callees get hooks when their caller is first called
	Eager   Scheme = "eager"   // callees get hooks when their class is loaded
	Total   Scheme = "total"   // all methods of all classes do
	Sampled Scheme = "sampled" // lazy; every call is counted, one every 10 ms timed
)

// A Root is a method to begin with, named as Java does, with its descriptor.
type Root struct {
	Class, Method, Descriptor string
}

// A Request is what to profile.
type Request struct {
	PID      int
	Roots    []Root
	Into     string // classes that get hooks, such as "org.h2.**"; "" is all
	Scheme   Scheme
	Weaving  time.Duration // how long to wait until all hooks are in; 0 is DefaultWeaving
	Duration time.Duration // from then on
	// Stay, if set, replaces Duration: the profile ends when Stay returns. woven is the
	// time by the monotonic clock at which the last hook went in; 0 if hooks were still
	// being added.
	Stay func(ctx context.Context, woven time.Duration) error
}

// DefaultWeaving is enough for programs of some hundred methods.
const DefaultWeaving = 20 * time.Second

// A Method is one with a hook.
type Method struct {
	Name        string // class.method
	Descriptor  string
	Calls       int64
	Self, Total time.Duration // calibrated by the engine, in steps of 1 µs
}

// A Result is what the engine found, and when it did what.
type Result struct {
	Methods []Method
	Hooks   int           // methods with a hook
	Rounds  int           // batches in which they went in
	HotSwap time.Duration // the engine's own account of what that took
	// Moments of the monotonic clock, which is that of System.nanoTime.
	Began     time.Duration // it entered the target
	Woven     time.Duration // hooks had ceased to go in; 0 if they never did in the time given
	Measuring time.Duration // it waited no longer for that
	Fetched   time.Duration // it asked for the results
	Removing  time.Duration // it began to take the hooks out
	Gone      time.Duration // it had left
}

// An Engine is an installed JFluid, calibrated for one JDK.
type Engine struct {
	jdk     jvmtest.JDK
	home    string // of VisualVM
	classes string // of our driver
	data    string // where the engine keeps its calibration
}

// Errors that say why there is no engine.
var (
	ErrMissing     = errors.New("VisualVM is not installed: run .ci/setup visualvm")
	ErrUnsupported = errors.New("VisualVM's engine does not know this JDK")
)

// homes are where Debian, and .ci/setup where Debian's would change other
// packages, put it.
var homes = []string{"/usr/share/visualvm/visualvm", ".tools/visualvm/usr/share/visualvm/visualvm"}

// Available prepares the engine for a JDK: it builds the driver below build/,
// calibrates the engine if that has not been done, and needs the top of the
// repository as the working directory.
func Available(ctx context.Context, jdk jvmtest.JDK) (*Engine, error) {
	e := &Engine{jdk: jdk}
	for _, home := range homes {
		if _, err := os.Stat(filepath.Join(home, library)); err == nil {
			e.home = home
			break
		}
	}
	if e.home == "" {
		return nil, ErrMissing
	}
	var err error
	if e.classes, err = filepath.Abs(filepath.Join("build", "jfluid", jdk.Version)); err != nil {
		return nil, err
	}
	e.data = filepath.Join(e.classes, "calibration")
	if err := e.compile(ctx); err != nil {
		return nil, err
	}
	if err := e.calibrate(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// Options are what a JVM to be profiled should be started with, so that the engine
// leaves nothing in the user's home folder.
func (e *Engine) Options() []string { return []string{"-Dnbprofiler.home=" + e.data} }

// Profile has the engine do one job. A JVM should serve for one only: what the
// engine leaves behind may fail the next.
func (e *Engine) Profile(ctx context.Context, request Request) (*Result, error) {
	if request.Weaving == 0 {
		request.Weaving = DefaultWeaving
	}
	out, err := e.drive(ctx, request.stay, request.arguments()...)
	if err != nil {
		return nil, fmt.Errorf("JFluid, %s: %w", request.Scheme, err)
	}
	return parse(out)
}

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

// drive runs a command of the driver and returns its output. The driver measures until
// stay returns. The error of a failed command is the engine's message.
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

// parse reads what the driver printed: "# NAME NUMBER" for what happened,
// "class.method DESCRIPTOR CALLS SELF TOTAL" with tabs for each method. What the
// engine itself prints in between has neither form.
func parse(out string) (*Result, error) {
	var result Result
	var weaving time.Duration
	moments := map[string]*time.Duration{
		"attach": &result.Began, "instrument": &weaving, "woven": &result.Woven, "measuring": &result.Measuring, "fetch": &result.Fetched,
		"remove": &result.Removing, "detached": &result.Gone, "hotswap": &result.HotSwap,
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if event, is := strings.CutPrefix(line, "# "); is {
			name, value, _ := strings.Cut(event, " ")
			number, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("JFluid's driver printed %q: %w", line, err)
			}
			switch {
			case name == "hooks":
				result.Hooks = int(number)
			case name == "rounds":
				result.Rounds = int(number)
			case moments[name] != nil:
				*moments[name] = time.Duration(number)
			}
		} else if fields := strings.Split(line, "\t"); len(fields) == 5 {
			method, err := parseMethod(fields)
			if err != nil {
				return nil, fmt.Errorf("JFluid's driver printed %q: %w", line, err)
			}
			result.Methods = append(result.Methods, method)
		}
	}
	if result.Gone == 0 {
		return nil, fmt.Errorf("JFluid's driver ended before it had left the target")
	}
	return &result, nil
}

// wovenAt is when hooks had ceased to go in, by what was printed so far; 0 if they
// have not.
func wovenAt(out string) time.Duration {
	for line := range strings.Lines(out) {
		if value, is := strings.CutPrefix(line, "# woven "); is {
			nanos, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64) // parse complains of it
			return time.Duration(nanos)
		}
	}
	return 0
}

func parseMethod(fields []string) (Method, error) {
	var numbers [3]int64
	for i := range numbers {
		var err error
		if numbers[i], err = strconv.ParseInt(fields[2+i], 10, 64); err != nil {
			return Method{}, err
		}
	}
	return Method{fields[0], fields[1], numbers[0], time.Duration(numbers[1]), time.Duration(numbers[2])}, nil
}
