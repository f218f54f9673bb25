package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
)

var (
	recordingOfSonde = regexp.MustCompile(`name=(sonde-\S+)`)
	recorderWritesTo = regexp.MustCompile(`Repository path: (.*)`)
)

func startBusy(t *testing.T, jdk jvmtest.JDK, flags ...string) *jvmtest.Running {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"../jvm/sampler/testdata/Busy.java"}})
	return jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: append(flags, "-cp", classes, "Busy")})
}

// recordings is what the JVM says of its recordings.
func recordings(t *testing.T, pid int) string {
	t.Helper()
	return jcmd(t, pid, "JFR.check")
}

// jcmd does what the tool of that name does, without a JVM of its own.
func jcmd(t *testing.T, pid int, command string) string {
	t.Helper()
	conn, err := attach.Open(t.Context(), pid)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reply, err := conn.Execute(t.Context(), "jcmd", command)
	if err != nil {
		t.Fatal(err)
	}
	return reply.Text
}

// TestHotLive finds a known hot method, in text and in a flame graph.
func TestHotLive(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			p := startBusy(t, jdk)
			pid := strconv.Itoa(p.PID)
			page := filepath.Join(t.TempDir(), "hot.html")
			code, out, stderr := sonde(t, "hot", pid, "--window", "3s", "-o", page)
			for began := time.Now(); code == exitOK && firstOfJava(out) != "Busy.burn" && time.Since(began) < killPatience; { // on a busy machine, samples are few
				code, out, stderr = sonde(t, "hot", pid, "--window", "3s", "-o", page)
			}
			if code != exitOK || firstOfJava(out) != "Busy.burn" {
				t.Fatalf("exit code %d: %s%s", code, out, stderr)
			}
			if strings.Contains(out, "accept") {
				t.Errorf("a thread that waits counts as running: %s", out)
			}
			html, err := os.ReadFile(page)
			if err != nil || !bytes.Contains(html, []byte(`"name":"burn"`)) {
				t.Errorf("the flame graph: %v", err)
			}
			if _, err := p.Stdin.Write([]byte("\n")); err != nil { // dumps are few: it must run in each
				t.Fatal(err)
			}
			code, out, stderr = sonde(t, "hot", pid, "--json", "--window", "2s", "--thread-dumps")
			if code != exitOK {
				t.Fatalf("exit code %d, by thread dumps: %s", code, stderr)
			}
			if got := parse[document.Hot](t, out); got.Source != "thread dumps" || got.Bias == "" || !slices.ContainsFunc(got.Methods, func(m document.HotMethod) bool { return m.Class == "Busy" }) {
				t.Errorf("by thread dumps: %s%s", out, stderr)
			}
			checkNotRecording(t, p.PID)
			code, out, stderr = sonde(t, "hot", pid, "--wall", "--duration", "2s", "--json", "--sampler", "dumps")
			if code != exitOK || !hasPlace(parse[document.Hot](t, out), "main", jfr.IO) {
				t.Errorf("exit code %d, no place where a thread waits for its input: %s%s", code, out, stderr)
			}
		})
	}
}

// firstOfJava returns the method of the first row that is not of the JVM's own threads, which are
// busy at the start of a program.
func firstOfJava(table string) string {
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		if len(words) > 0 && strings.Contains(words[len(words)-1], ".") && words[len(words)-1] != "METHOD" {
			return words[len(words)-1]
		}
	}
	return ""
}

func hasPlace(hot document.Hot, thread string, wait jfr.Wait) bool {
	for _, t := range hot.Threads {
		if t.Name == thread && t.Waits[wait] > 0 {
			return len(hot.Places) > 0
		}
	}
	return false
}

// TestHotOfARecording records a program and reads the file: the table, by thread and in a file.
func TestHotOfARecording(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			recording, page := filepath.Join(t.TempDir(), "busy.jfr"), filepath.Join(t.TempDir(), "busy.html")
			p := startBusy(t, jdk, "-XX:StartFlightRecording=settings=profile")
			for tries := 0; ; tries++ { // until a sample is in it
				jcmd(t, p.PID, "JFR.dump filename="+recording)
				code, out, stderr := sonde(t, "hot", recording, "--json", "-o", page)
				if got := parse[document.Hot](t, cmp.Or(out, "{}")); slices.ContainsFunc(got.Threads, func(t document.HotThread) bool { return t.Name == "burner" }) {
					if got.PID != p.PID || got.Main != "Busy" || !strings.HasPrefix(got.JDK, jdk.Version) || got.Recording != "busy.jfr" || got.Source != "flight recorder" || got.Samples == 0 {
						t.Errorf("%+v", got)
					}
					break
				}
				if tries == 200 {
					t.Fatalf("exit code %d: %s%s", code, out, stderr)
				}
			}
			if html, err := os.ReadFile(page); err != nil || !bytes.Contains(html, []byte("Sonde hot")) {
				t.Errorf("the page: %v", err)
			}
			if code, out, stderr := sonde(t, "hot", recording, "--threads"); code != exitOK || !strings.Contains(out, "burner") {
				t.Errorf("exit code %d: %s%s", code, out, stderr)
			}
		})
	}
}

func checkNotRecording(t *testing.T, pid int) {
	t.Helper()
	if out := recordings(t, pid); !strings.Contains(out, "No available recordings") {
		t.Errorf("left: %s", out)
	}
	where := recorderWritesTo.FindStringSubmatch(jcmd(t, pid, "JFR.configure"))
	if where == nil {
		t.Fatal("the file of the recorder is not reported")
	}
	if files, err := os.ReadDir(where[1]); err != nil && !os.IsNotExist(err) || len(files) > 0 {
		t.Errorf("left in %s: %v, %v", where[1], files, err)
	}
}

// startHot starts sonde hot and returns when it has shown something, with its
// first object.
func startHot(t *testing.T, pid int, more ...string) (*exec.Cmd, document.Hot) {
	t.Helper()
	command := exec.Command("sonde", append([]string{"hot", strconv.Itoa(pid), "--recorder", "--json", "--interval", "100ms"}, more...)...)
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if object := parse[document.Hot](t, lines.Text()); object.Samples > 0 {
			go func() {
				for lines.Scan() { // so that it can go on writing
				}
			}()
			return command, object
		}
	}
	t.Fatal("it ended before it had a sample")
	return nil, document.Hot{}
}

// TestHotLeavesNothing ends one by Ctrl-C, kills one, and has the next clean up.
func TestHotLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			p := startBusy(t, jdk)
			ended, object := startHot(t, p.PID)
			if object.PID != p.PID || object.JDK != jdk.Version || object.Bias != "" {
				t.Errorf("%+v", object)
			}
			if err := ended.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			if code := exitCode(t, ended.Wait()); code != exitOK {
				t.Errorf("exit code %d", code)
			}
			checkNotRecording(t, p.PID)

			killed, _ := startHot(t, p.PID, "--no-service") // else the service ends it
			if err := killed.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = killed.Wait()
			left := recordingOfSonde.FindStringSubmatch(recordings(t, p.PID))
			if left == nil {
				t.Fatal("a killed one left no recording: there is nothing to test")
			}
			code, out, stderr := sonde(t, "hot", strconv.Itoa(p.PID), "--recorder", "--once", "--window", "1s")
			if code != exitOK || !strings.Contains(stderr, left[1]) {
				t.Errorf("exit code %d: %s%s", code, out, stderr)
			}
			checkNotRecording(t, p.PID)
		})
	}
}
