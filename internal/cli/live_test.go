package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/test/live"
)

// briefAttach is the door of a program that nobody prepared. Commands do the same whatever a JVM optimises.
var briefAttach = live.Attach.With(jvmtest.Brief...)

// byBothDoors runs a test on each JDK, in a program that was started with the
// agent and in one that was not. Outside a soak the JDKs take turns at the doors.
func byBothDoors(t *testing.T, check func(t *testing.T, jdk jvmtest.JDK, door live.Door)) {
	jar := filepath.Join(t.TempDir(), agentJarName)
	if code, out, _ := sonde(t, "agent-jar", jar); code != exitOK || out != "-javaagent:"+jar+"\n" {
		t.Fatalf("exit code %d, %s", code, out)
	}
	for _, jdk := range jvmtest.JDKs(t) {
		doors := []live.Door{briefAttach, live.JavaAgent(jar).With(jvmtest.Brief...)}
		for i, door := range doors {
			if !jvmtest.Turn(t, jdk, i, len(doors)) {
				continue
			}
			t.Run(fmt.Sprintf("jdk%d/%s", jdk.Major, door.Name), func(t *testing.T) {
				t.Parallel()
				check(t, jdk, door)
			})
		}
	}
}

// sonde runs the program in a process of its own, to its end.
func sonde(t *testing.T, args ...string) (code int, out, stderr string) {
	t.Helper()
	var stdout, errors bytes.Buffer
	command := exec.Command("sonde", args...)
	command.Stdout, command.Stderr = &stdout, &errors
	code = exitCode(t, command.Run())
	if slices.Contains(args, "--json") && code == exitOK {
		checkDocuments(t, stdout.String())
	}
	return code, stdout.String(), errors.String()
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		return exit.ExitCode()
	}
	return exitOK
}

// A running sonde has its hooks in.
type runningSonde struct {
	*exec.Cmd
	out    bytes.Buffer
	stderr strings.Builder
	lines  chan string   // of stderr, after the line about hooks
	read   chan struct{} // closed when stderr has ended
}

// await waits for a line of stderr that begins with a text.
func (r *runningSonde) await(t *testing.T, begin string) {
	t.Helper()
	r.awaitLine(t, begin, strings.HasPrefix)
}

// awaitPart waits for a line of stderr that contains a text.
func (r *runningSonde) awaitPart(t *testing.T, part string) {
	t.Helper()
	r.awaitLine(t, part, strings.Contains)
}

func (r *runningSonde) awaitLine(t *testing.T, text string, isIt func(line, text string) bool) {
	t.Helper()
	for {
		select {
		case line := <-r.lines:
			if isIt(line, text) {
				return
			}
		case <-r.read:
			t.Fatalf("it ended without %q: %s", text, r.stderr.String())
		}
	}
}

// startSonde starts a command and waits until it says that its hooks are in.
func startSonde(t *testing.T, args ...string) *runningSonde {
	t.Helper()
	return startSondeTo(t, nil, args...)
}

// startSondeTo is startSonde with its output going elsewhere, unless that is nil.
func startSondeTo(t *testing.T, out io.Writer, args ...string) *runningSonde {
	t.Helper()
	const mostLines = 1000 // that nobody awaits
	r := &runningSonde{Cmd: exec.Command("sonde", args...), lines: make(chan string, mostLines), read: make(chan struct{})}
	if r.Stdout = out; out == nil {
		r.Stdout = &r.out
	}
	pipe, err := r.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Process.Kill() })
	ready := make(chan struct{})
	go func() {
		defer close(r.read)
		lines := bufio.NewScanner(pipe)
		for waiting := true; lines.Scan(); {
			r.stderr.WriteString(lines.Text() + "\n")
			isReady := strings.HasPrefix(lines.Text(), "hooks in ") || strings.HasPrefix(lines.Text(), "reading the arena ") || strings.HasPrefix(lines.Text(), "attached, measuring nothing") || strings.HasPrefix(lines.Text(), "note: no loaded ") || strings.HasPrefix(lines.Text(), "note: no class is loaded ")
			switch {
			case waiting && isReady:
				waiting = false
				close(ready)
			case !waiting:
				select {
				case r.lines <- lines.Text():
				default:
				}
			}
		}
	}()
	select {
	case <-ready:
	case <-r.read:
		t.Fatalf("sonde %s ended: %s", strings.Join(args, " "), r.stderr.String())
	}
	return r
}

// end waits for the command and returns its exit code.
func (r *runningSonde) end(t *testing.T) int {
	t.Helper()
	<-r.read
	code := exitCode(t, r.Wait())
	if slices.Contains(r.Args, "--json") && code == exitOK {
		checkDocuments(t, r.out.String())
	}
	return code
}

func (r *runningSonde) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := r.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// result is what a count wrote, its last line being the whole.
func (r *runningSonde) result(t *testing.T) document.Count {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(r.out.String()), "\n")
	return parse[document.Count](t, lines[len(lines)-1])
}

func parse[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return value
}

// counts returns the counts of a result in the form that fixtures print.
func countsOf(d *document.Count) live.Counts {
	counts := make(live.Counts)
	for _, m := range d.Methods {
		name := strings.ReplaceAll(m.Class, ".", "/") + "." + m.Method + m.Descriptor
		counts[name] = live.Count{Entered: int64(m.Calls), Threw: int64(m.Exceptions)}
	}
	return counts
}

// withoutMissing removes from a program's counts the methods that have no count in a result,
// if the result lists them as methods that get no hook.
func withoutMissing(d *document.Count, truth live.Counts) live.Counts {
	counted := countsOf(d)
	maps.DeleteFunc(truth, func(name string, _ live.Count) bool {
		_, is := counted[name]
		return !is && slices.ContainsFunc(d.LeftAlone, func(l document.Left) bool {
			class := strings.ReplaceAll(l.Class, ".", "/") + "."
			return l.Method == "" && strings.HasPrefix(name, class) || l.Method != "" && name == class+l.Method
		})
	})
	return truth
}

// everything of a fixture but what serves it.
var everything = []string{"**", "!java.**", "!javax.**", "!jdk.**", "!sun.**", "!com.sun.**", "!harness.**"}

func countArgs(pid int, rest ...string) []string {
	return append([]string{"count", strconv.Itoa(pid)}, rest...)
}
