package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/launch"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
)

// TestRunPassesSignals ends a program by a signal to the command that started it.
func TestRunPassesSignals(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			classpath, mainClass := jvmtest.Waiting(t, jdk)
			command := exec.Command("sonde", "run", "--", jdk.Tool("java"), "-cp", classpath, mainClass)
			stdin, err := command.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = command.Process.Kill() })
			lines := bufio.NewScanner(stdout)
			if !lines.Scan() || lines.Text() != jvmtest.Ready {
				t.Fatalf("%q", lines.Text())
			}
			if _, err := fmt.Fprintln(stdin, "this"); err != nil {
				t.Fatal(err)
			}
			if !lines.Scan() || lines.Text() != "read this" {
				t.Fatalf("%q", lines.Text())
			}
			if err := command.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if code := exitCode(t, command.Wait()); code != 128+int(syscall.SIGTERM) {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// TestRunHold counts a program that was held before its first instruction: nothing
// of it is missed.
func TestRunHold(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{filepath.Join("testdata", "started", "Started.java")}})
			command := exec.Command("sonde", "run", "--hold", "--", jdk.Tool("java"), "-cp", classes, "started.Started", "7")
			var out strings.Builder
			command.Stdout = &out
			stderr, err := command.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = command.Process.Kill() })
			line, err := bufio.NewReader(stderr).ReadString('\n')
			ready := regexp.MustCompile(`^sonde: process (\d+) is ready for sonde count .*, and waits for it at most 30s\n$`).FindStringSubmatch(line)
			if err != nil || ready == nil {
				t.Fatalf("%q, %v", line, err)
			}
			pid, err := strconv.Atoi(ready[1])
			if err != nil {
				t.Fatal(err)
			}
			code, counted, said := sonde(t, countArgs(pid, "started.**", "--json")...)
			got := parse[document.Count](t, counted)
			if code != exitOK || ending(got.Ended) != endedExited {
				t.Errorf("exit code %d, ended %s: %s", code, got.Ended, said)
			}
			for name, want := range map[string]int64{"main([Ljava/lang/String;)V": 1, "work(I)V": 100} {
				if calls := countsOf(&got)["started/Started."+name].Entered; calls != want {
					t.Errorf("%d calls of %s, want %d", calls, name, want)
				}
			}
			if code := exitCode(t, command.Wait()); code != 7 || out.String() != "begin\nend\n" {
				t.Errorf("exit code %d, said %q", code, out.String())
			}
		})
	}
}

// TestRunInTheBackground: the JVM starts when sonde run and its command have ended, as with
// launchers that put a server into the background. It finds the agent, and begins at once also
// with --hold, since nobody is there any more who would let it go.
func TestRunInTheBackground(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		for _, flag := range []string{"", "--hold=10m"} {
			t.Run(fmt.Sprintf("jdk%d%s", jdk.Major, flag), func(t *testing.T) {
				classpath, mainClass := jvmtest.Waiting(t, jdk)
				gate, out := filepath.Join(t.TempDir(), "gate"), filepath.Join(t.TempDir(), "out")
				if err := errors.Join(syscall.Mkfifo(gate, 0o600), syscall.Mkfifo(out, 0o600)); err != nil {
					t.Fatal(err)
				}
				script := fmt.Sprintf(`( { %s -cp %s %s; echo "exit code $?"; } <%s >%s 2>&1 ) >/dev/null 2>&1 &`, jdk.Tool("java"), classpath, mainClass, gate, out)
				args := slices.DeleteFunc([]string{"run", flag, "--", "sh", "-c", script}, func(arg string) bool { return arg == "" })
				code, _, stderr := sonde(t, args...)
				if said := regexp.MustCompile(`(?m)^sonde: sh ended and left process \d+ running in the background`); code != exitOK || !said.MatchString(stderr) {
					t.Errorf("exit code %d: %s", code, stderr)
				}
				// Only now can the shell in the background go on.
				in, err := os.OpenFile(gate, os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				said, err := os.Open(out)
				if err != nil {
					t.Fatal(err)
				}
				defer said.Close()
				if err := in.Close(); err != nil { // with which the program ends
					t.Fatal(err)
				}
				text, err := io.ReadAll(said)
				if err != nil || !strings.Contains(string(text), "\n"+jvmtest.Ready+"\n") || !strings.HasSuffix(string(text), "\nexit code 0\n") {
					t.Errorf("%s, %v", text, err)
				}
			})
		}
	}
}

// TestRunNamesNothingThatOthersCouldTake: what a script starts keeps the variable for long.
func TestRunNamesNothingThatOthersCouldTake(t *testing.T) {
	data := t.TempDir()
	t.Setenv("XDG_DATA_HOME", data)
	code, out, stderr := sonde(t, "run", "--", "sh", "-c", "echo $JAVA_TOOL_OPTIONS")
	jar := strings.TrimSpace(strings.TrimPrefix(out, "-javaagent:"))
	if code != exitOK || !strings.HasPrefix(jar, filepath.Join(data, "sonde", "agent")+"/") {
		t.Fatalf("exit code %d: %q, %s", code, out, stderr)
	}
	if err := launch.CheckOwn(jar); err != nil { // it is there when the command has ended
		t.Error(err)
	}
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("HOME", "")
	if code, _, stderr := sonde(t, "run", "--", "sh", "-c", "echo started"); code != exitError || !strings.Contains(stderr, "--agent-dir") {
		t.Errorf("without a home: exit code %d: %s", code, stderr)
	}
	if code, out, stderr := sonde(t, "run", "--agent-dir", data, "--", "sh", "-c", "echo $JAVA_TOOL_OPTIONS"); code != exitOK || !strings.HasPrefix(out, "-javaagent:"+data+"/") {
		t.Errorf("--agent-dir: exit code %d: %q, %s", code, out, stderr)
	}
}
