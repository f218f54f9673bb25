package jvmtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// RunLimit is how long Run lets a program run. It only bounds a program that
// hangs: no test depends on how long anything takes.
const RunLimit = 10 * time.Minute

// Brief are options of java, outside a soak, for programs that only lose by optimising: those that
// end soon, where neither compilers nor collectors matter.
var Brief = briefOptions()

func briefOptions() []string {
	if Soak() {
		return nil
	}
	return briefly
}

var briefly = []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}

// An Outcome is the output and exit status of a program.
type Outcome struct {
	Stdout, Stderr string
	Exit           int
}

// Run runs java with these arguments to its end. Any exit code is an outcome;
// only a program that cannot be started or does not end fails the test.
func Run(t testing.TB, jdk JDK, args ...string) Outcome {
	t.Helper()
	return RunTool(t, jdk, "java", args...)
}

// RunBriefly is like Run with the options Brief.
func RunBriefly(t testing.TB, jdk JDK, args ...string) Outcome {
	t.Helper()
	return Run(t, jdk, slices.Concat(Brief, args)...)
}

// RunTool is like Run for another of the JDK's programs, which runs briefly.
func RunTool(t testing.TB, jdk JDK, tool string, args ...string) Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), RunLimit)
	defer cancel()
	if tool != "java" {
		for _, option := range Brief {
			args = append([]string{"-J" + option}, args...)
		}
	}
	words := append(jdk.command(tool), args...)
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	command.Env = cleanEnv()
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.Fatalf("%s %s did not end within %v\nstdout: %s\nstderr: %s", tool, args, RunLimit, tail(stdout), tail(stderr))
	case err != nil && !errors.As(err, &exit):
		t.Fatalf("%s %s: %v", tool, args, err)
	}
	return Outcome{stdout.String(), stderr.String(), command.ProcessState.ExitCode()}
}

// cleanEnv is the environment without what would change a JVM's options or
// make it print a note about them.
func cleanEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == "JAVA_TOOL_OPTIONS" || name == "_JAVA_OPTIONS" || name == "JDK_JAVA_OPTIONS" || name == "CLASSPATH"
	})
}

func tail(b bytes.Buffer) string {
	const limit = 4000
	text := b.Bytes()
	return string(text[max(0, len(text)-limit):])
}

// A Launch says how to start a program that keeps running.
type Launch struct {
	Wrap   []string // a command that runs java, such as "setpriv", "--reuid=1"
	Nobody bool     // runs java as the user nobody, also in a chroot; needs root
	Args   []string // of java
	Env    []string // added to the environment
	Dir    string   // where it runs, "" for here
	Brief  bool     // adds the options Brief
}

// Ready is the line a started program prints when tests may begin. It then
// must run until its standard input ends.
const Ready = "ready"

// startLimit bounds the wait for a program that hangs; no test depends on how
// long anything takes.
const startLimit = 5 * time.Minute

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
	command := jdk.command
	if l.Nobody {
		command = jdk.commandOfNobody
	}
	words := append(slices.Clone(l.Wrap), command("java")...)
	if l.Brief {
		words = append(words, Brief...)
	}
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

// waiting is a program that says it is ready, repeats each line it reads, and
// ends with its input.
const waiting = `public class Waiting {
    public static void main(String[] args) throws Exception {
        java.io.BufferedReader in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println("read " + line);
        }
    }
}
`

// Waiting is the main class of a program that waits: it says that it is ready,
// repeats each line it reads after "read ", and ends with its input. The
// directory of its classes may be read by every user, also with a /tmp of its
// own.
func Waiting(t testing.TB, jdk JDK) (classpath, mainClass string) {
	t.Helper()
	source := filepath.Join(t.TempDir(), "Waiting.java")
	if err := os.WriteFile(source, []byte(waiting), 0o644); err != nil {
		t.Fatal(err)
	}
	compiled := Compile(t, jdk, Fixture{Sources: []string{source}, Flags: []string{"--release", "8"}})
	public := PublicDirectory(t)
	if err := os.CopyFS(public, os.DirFS(compiled)); err != nil {
		t.Fatal(err)
	}
	return public, "Waiting"
}

// OtherNamespaces is a command that runs another in pid and mount namespaces of
// its own, with a /tmp of its own that has these mount options ("rw", "ro").
// Where that is not permitted the test ends here, as a skip that can be seen.
func OtherNamespaces(t testing.TB, mountOptions string) []string {
	t.Helper()
	const setUp = `mount -t tmpfs -o "$0" none /tmp && mount -t proc proc /proc && exec "$@"`
	wrap := []string{"unshare", "--pid", "--mount", "--fork", "sh", "-c", setUp, mountOptions}
	if out, err := exec.Command(wrap[0], append(wrap[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: namespaces cannot be made here (be root): %v %s", err, out)
	}
	return wrap
}

var asNobody = []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}

// AsNobody is a command that runs another as the user nobody. Where that is not
// permitted the test ends here, as a skip that can be seen.
func AsNobody(t testing.TB) []string {
	t.Helper()
	wrap := slices.Clone(asNobody)
	if out, err := exec.Command(wrap[0], append(wrap[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: another user cannot be taken on here (be root): %v %s", err, out)
	}
	return wrap
}

// Child is the process a wrapping command runs as its only child.
func (r *Running) Child(t testing.TB) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", r.PID, r.PID))
	if err != nil {
		t.Fatal(err)
	}
	var child int
	if n, err := fmt.Sscan(string(text), &child); n != 1 {
		t.Fatalf("process %d has no child: %q, %v", r.PID, text, err)
	}
	return child
}

// AgainAsNobody runs one test of this binary again as the user nobody, with a
// variable added to its environment.
func AgainAsNobody(t *testing.T, variable string) {
	t.Helper()
	wrap := AsNobody(t)
	binary := filepath.Join(PublicDirectory(t), "again.test")
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, data, 0o755); err != nil {
		t.Fatal(err)
	}
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	again := exec.Command(wrap[0], append(wrap[1:], binary, "-test.run="+pattern, "-test.v", "-test.timeout="+startLimit.String())...)
	again.Env = append(cleanEnv(), variable)
	again.Dir = filepath.Dir(binary)
	again.WaitDelay = time.Second
	out, err := again.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: ") {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

// PublicDirectory is a new directory that every user may read, and that a /tmp
// of one's own does not hide.
func PublicDirectory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "sonde-jvmtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
