//go:build linux

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A pane is a real terminal in which a command runs.
type pane struct {
	t      *testing.T
	socket string
}

const restoredText = "the terminal is as before, exit code "

// startPane runs a command of Sonde in a terminal, which then shows whether the command has restored it.
func startPane(t *testing.T, args ...string) *pane {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no tmux: .ci/setup live installs it")
	}
	dir, err := os.MkdirTemp("/tmp", "sonde-tmux-") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	p := &pane{t, filepath.Join(dir, "socket")}
	const script = `before=$(stty -g); "$@"; code=$?; [ "$before" = "$(stty -g)" ] && echo "` + restoredText + `$code"; exec cat`
	p.tmux(append([]string{"new-session", "-d", "-x", "80", "-y", "24", "sh", "-c", script, "sh", "sonde"}, args...)...)
	t.Cleanup(func() {
		p.tmux("kill-server")
		_ = os.RemoveAll(dir)
	})
	return p
}

func (p *pane) tmux(args ...string) string {
	p.t.Helper()
	command := exec.Command("tmux", append([]string{"-u", "-f", os.DevNull, "-S", p.socket}, args...)...)
	out, err := command.CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

func (p *pane) press(keys ...string) { p.tmux(append([]string{"send-keys"}, keys...)...) }

// await waits until the terminal shows what is wanted, and returns its lines.
func (p *pane) await(what string, isShown func(lines []string) bool) []string {
	p.t.Helper()
	for end := time.Now().Add(jvmtest.RunLimit / 5); ; time.Sleep(20 * time.Millisecond) { // only between looks
		lines := strings.Split(strings.TrimSuffix(p.tmux("capture-pane", "-p"), "\n"), "\n")
		if isShown(lines) {
			return lines
		}
		if time.Now().After(end) {
			p.t.Fatalf("no %s:\n%s", what, strings.Join(lines, "\n"))
		}
	}
}

func (p *pane) awaitText(text string) []string {
	p.t.Helper()
	return p.await(text, func(lines []string) bool { return strings.Contains(strings.Join(lines, "\n"), text) })
}

// awaitRestored waits until the command has ended, and checks what it leaves.
func (p *pane) awaitRestored() []string {
	p.t.Helper()
	lines := p.awaitText(restoredText)
	if on := strings.TrimSpace(p.tmux("display-message", "-p", "#{alternate_on}#{cursor_flag}")); on != "01" {
		p.t.Errorf("the alternate screen and the cursor are %s, want off and on", on)
	}
	return lines
}

// having returns the lines that contain a text.
func having(lines []string, text string) (found []string) {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.Contains(line, text) })
}

// TestLiveViews runs all live commands in a terminal whose size changes.
func TestLiveViews(t *testing.T) {
	t.Parallel()
	jdk := jvmtest.OneJDK(t)[0]
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/walked/OneClass.java"}})
	program := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-Xmx64m", "-cp", classes, "OneClass"}})
	pid := strconv.Itoa(program.PID)
	probes := filepath.Join(t.TempDir(), "probes.yaml")
	if err := os.WriteFile(probes, []byte("version: 1\nprobes:\n  - name: burning\n    methods: OneClass.burn\n    level: time\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args   []string
		head   string // begins the first line
		titles string // is in the line of titles
		row    string // is in rows
		end    string // is in the result
	}{
		{[]string{"hot", pid}, "process " + pid, "METHOD", "OneClass.", "by the"},
		{[]string{"hot", pid, "--no-service"}, "process " + pid, "METHOD", "OneClass.", "by the"},
		{[]string{"count", pid, "OneClass.*"}, "", "METHOD", "OneClass.", "restored"},
		{[]string{"monitor", pid, "OneClass.*", "--by", "method", "--interval", "200ms"}, "process " + pid, "METHOD", "OneClass.", "restored"},
		{[]string{"trace", pid, "OneClass.prices", "--sample", "1/1000"}, "sonde trace", "WHEN", ":", "restored"},
		{[]string{"profile", pid, "--root", "OneClass.prices", "--timing", "stacks"}, "measuring", "METHOD", "OneClass.", "OneClass.prices"},
		{[]string{"walk", pid, "--duration", "1h", "--sampling", "1s"}, "", "HOT SPOTS", "OneClass.", "Hot spots and their causes"},
		{[]string{"apply", pid, "-f", probes, "--yes"}, "process " + pid, "PROBE", "burning", "burning"},
	} {
		t.Run(strings.Join(test.args[:1], " "), func(t *testing.T) {
			p := startPane(t, test.args...)
			awaitTable := func(width, height int) {
				t.Helper()
				p.await(fmt.Sprintf("whole table of %d columns", width), func(lines []string) bool {
					return len(lines) == height && strings.HasPrefix(lines[0], test.head) && strings.Contains(lines[height-1], "? help") &&
						len(having(lines, "? help")) == 1 && len(having(lines, test.titles)) == 1 && len(having(lines[1:], test.row)) > 0
				})
			}
			awaitTable(80, 24)
			for _, size := range [][2]int{{40, 14}, {200, 40}, {80, 24}} {
				p.tmux("resize-window", "-x", strconv.Itoa(size[0]), "-y", strconv.Itoa(size[1]))
				awaitTable(size[0], size[1])
			}
			p.press("Down", "/", "n", "o", "n", "e", "F5", "Left", "Up")
			p.awaitText("filter: none_")
			p.press("Enter")
			p.awaitText(`filter "none"`)
			p.press("Escape")
			awaitTable(80, 24)
			p.press("?")
			p.awaitText("Any key ends this help.")
			p.press("x")
			awaitTable(80, 24)
			p.press("q")
			lines := p.awaitRestored()
			if all := p.tmux("capture-pane", "-p", "-S", "-"); !strings.Contains(all, test.end) || !strings.Contains(all, restoredText+"0") {
				t.Errorf("no %q in the result:\n%s", test.end, strings.Join(lines, "\n"))
			}
		})
	}
	t.Run("profile of a row", func(t *testing.T) {
		p := startPane(t, "hot", pid)
		p.awaitText("OneClass.burn")
		p.press("/", "b", "u", "r", "n", "Enter", "Down", "Enter")
		p.awaitText("[p]rofile or [t]race OneClass.burn?")
		p.press("p")
		p.awaitText(", below OneClass.burn")
		p.press("C-c")
		p.awaitRestored()
		if all := p.tmux("capture-pane", "-p", "-S", "-"); !strings.Contains(all, "sonde profile "+pid+" --root OneClass.burn") {
			t.Errorf("the next command is not shown:\n%s", all)
		}
	})
	t.Run("keys before the view", func(t *testing.T) {
		p := startPane(t, "count", pid, "OneClass.*")
		p.awaitText("attached to")
		p.press("x", "Down", "x")
		p.awaitText("? help")
		p.press("q")
		if lines := p.awaitRestored(); len(having(lines, "x^[")) > 0 || len(having(lines, "xx")) > 0 {
			t.Errorf("the terminal echoes keys:\n%s", strings.Join(lines, "\n"))
		}
	})
	t.Run("second Ctrl-C", func(t *testing.T) {
		p := startPane(t, "count", pid, "OneClass.*")
		p.awaitText("? help")
		p.press("C-c", "C-c")
		p.awaitRestored()
	})
	t.Run("SIGTERM", func(t *testing.T) {
		p := startPane(t, "hot", pid)
		p.awaitText("? help")
		shell := strings.TrimSpace(p.tmux("display-message", "-p", "#{pane_pid}"))
		children, err := os.ReadFile("/proc/" + shell + "/task/" + shell + "/children")
		if err != nil {
			t.Fatal(err)
		}
		sonde, err := strconv.Atoi(strings.TrimSpace(string(children)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(sonde, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		p.awaitRestored()
	})
}
