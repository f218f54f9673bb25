package jvmtest

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Launch says how to start a program that keeps running.
type Launch struct {
	Wrap []string // a command that runs java, such as "setpriv", "--reuid=1"
	Args []string // of java
	Env  []string // added to the environment
	Dir  string   // where it runs, "" for here
}

// Ready is the line a started program prints when tests may begin. It then
// must run until its standard input ends.
const Ready = "ready"

// startLimit bounds the wait for a program that hangs; no test depends on how
// long anything takes.
const startLimit = 2 * time.Minute

// A Running is a program that was started and has said that it is ready.
type Running struct {
	PID   int // of what was started: the wrapping command, where there is one
	Stdin io.WriteCloser

	lines  chan string
	mu     sync.Mutex
	stdout strings.Builder
	stderr strings.Builder
	ended  chan struct{}
}

// Start starts java and waits for its line Ready. The test's end ends it.
func Start(t testing.TB, jdk JDK, l Launch) *Running {
	t.Helper()
	words := append(append([]string{}, l.Wrap...), jdk.Tool("java"))
	return StartCommand(t, l, append(words, l.Args...)...)
}

// StartCommand is like Start for any command line, and adds neither the
// launch's wrapping command nor its arguments.
func StartCommand(t testing.TB, l Launch, words ...string) *Running {
	t.Helper()
	command := exec.Command(words[0], words[1:]...)
	command.Env = append(cleanEnv(), l.Env...)
	command.Dir = l.Dir
	r := &Running{lines: make(chan string, 1024), ended: make(chan struct{})}
	var err error
	if r.Stdin, err = command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = &lockedWriter{&r.mu, &r.stderr}
	if err := command.Start(); err != nil {
		t.Fatalf("starting %s: %v", words, err)
	}
	r.PID = command.Process.Pid
	go func() {
		defer close(r.ended)
		defer close(r.lines)
		r.collect(stdout)
		_ = command.Wait() // how it ends is for the test to judge, by its output
	}()
	t.Cleanup(func() {
		_ = r.Stdin.Close()
		select {
		case <-r.ended:
		case <-time.After(startLimit):
			_ = command.Process.Kill()
			t.Errorf("%s did not end with its standard input", words)
		}
	})
	r.Await(t, Ready)
	return r
}

// collect keeps what the program prints and offers it line by line.
func (r *Running) collect(stdout io.Reader) {
	scanner := bufio.NewScanner(stdout)
	for scanner.Scan() {
		r.mu.Lock()
		r.stdout.WriteString(scanner.Text() + "\n")
		r.mu.Unlock()
		select {
		case r.lines <- scanner.Text():
		default: // a test that awaits no line must not block the program
		}
	}
}

// Await reads lines until one begins with a prefix, and returns it.
func (r *Running) Await(t testing.TB, prefix string) string {
	t.Helper()
	limit := time.After(startLimit)
	for {
		select {
		case line, ok := <-r.lines:
			if !ok {
				t.Fatalf("the program ended before a line %q\nstdout: %s\nstderr: %s", prefix, r.Stdout(), r.Stderr())
			}
			if strings.HasPrefix(line, prefix) {
				return line
			}
		case <-limit:
			t.Fatalf("no line %q within %v\nstdout: %s\nstderr: %s", prefix, startLimit, r.Stdout(), r.Stderr())
		}
	}
}

// Stdout is what the program has printed so far.
func (r *Running) Stdout() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stdout.String()
}

// Stderr is what the program has printed to its error stream so far.
func (r *Running) Stderr() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stderr.String()
}

// Ended is closed when the program has ended.
func (r *Running) Ended() <-chan struct{} { return r.ended }

type lockedWriter struct {
	mu  *sync.Mutex
	out io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}
