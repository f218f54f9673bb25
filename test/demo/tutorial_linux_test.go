package demo

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A step of the tutorial: the command lines of a block, and what they must print.
type step struct {
	line     int // of the page
	commands []string
	expected []*regexp.Regexp
}

// tutorialSteps reads the blocks of a page. A line that begins with $ is a command, and a comment after a block has
// a pattern of what it prints.
func tutorialSteps(t *testing.T, page string) (steps []step) {
	t.Helper()
	isInBlock := false
	for number, line := range strings.Split(page, "\n") {
		command, isCommand := strings.CutPrefix(line, "$ ")
		pattern, isExpected := strings.CutPrefix(line, "<!-- expect: ")
		switch {
		case line == "```console":
			isInBlock = true
			steps = append(steps, step{line: number + 1})
		case line == "```":
			isInBlock = false
		case isInBlock && isCommand:
			last := &steps[len(steps)-1]
			last.commands = append(last.commands, command)
		case isExpected && len(steps) > 0:
			compiled, err := regexp.Compile("(?m)" + strings.TrimSuffix(pattern, " -->"))
			if err != nil {
				t.Fatalf("line %d: %v", number+1, err)
			}
			last := &steps[len(steps)-1]
			last.expected = append(last.expected, compiled)
		}
	}
	return steps
}

func readTutorial(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// TestTutorialIsComplete: each block has commands, and all but the first say what they print.
func TestTutorialIsComplete(t *testing.T) {
	steps := tutorialSteps(t, readTutorial(t))
	if len(steps) < 8 {
		t.Errorf("%d blocks, want at least 8", len(steps))
	}
	for i, s := range steps {
		if len(s.commands) == 0 || i > 0 && len(s.expected) == 0 {
			t.Errorf("line %d: %d commands, %d patterns", s.line, len(s.commands), len(s.expected))
		}
	}
}

// TestTutorial runs the commands of the tutorial in one shell, word for word and in order.
func TestTutorial(t *testing.T) {
	if os.Getenv("SONDE_TUTORIAL") == "" {
		t.Skip("make tutorial runs it")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	shell := startShell(t, root)
	for _, s := range tutorialSteps(t, readTutorial(t)) {
		for _, command := range s.commands {
			printed := shell.run(t, command, s.expected)
			t.Logf("$ %s\n%s", command, printed)
			for _, want := range s.expected {
				if !want.MatchString(printed) {
					t.Errorf("line %d: %s\nprints nothing that matches %s:\n%s", s.line, command, want, printed)
				}
			}
		}
	}
}

// A shell runs commands one after the other, and keeps its variables and background jobs.
type shell struct {
	*exec.Cmd
	stdin  *os.File
	folder string
	count  int
}

func startShell(t *testing.T, root string) *shell {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := &shell{Cmd: exec.Command("bash"), stdin: write, folder: t.TempDir()}
	s.Dir, s.Stdin = root, read
	s.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its jobs end with it
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	_ = read.Close()
	t.Cleanup(func() {
		_ = write.Close()
		_ = syscall.Kill(-s.Process.Pid, syscall.SIGTERM)
		_ = s.Wait()
	})
	return s
}

// run runs a command to its end, and returns what it printed. A command in the background has ended when it has
// printed what is expected.
func (s *shell) run(t *testing.T, command string, expected []*regexp.Regexp) (printed string) {
	t.Helper()
	const limit = 10 * time.Minute // building takes long on a busy machine
	s.count++
	output, done := filepath.Join(s.folder, "output"+string(rune('a'+s.count))), filepath.Join(s.folder, "done"+string(rune('a'+s.count)))
	line := "{ " + command + "\n} >" + output + " 2>&1 </dev/null; echo $? >" + done + "\n"
	if foreground, isBackground := strings.CutSuffix(command, " &"); isBackground {
		line = "{ " + foreground + "; } >" + output + " 2>&1 </dev/null &\n"
	}
	if _, err := s.stdin.WriteString(line); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		text, _ := os.ReadFile(output) // it is written soon
		code, err := os.ReadFile(done)
		if err == nil && len(code) > 0 {
			if string(bytes.TrimSpace(code)) != "0" {
				t.Errorf("%s: exit code %s%s", command, code, text)
			}
			text, _ = os.ReadFile(output)
			return string(text)
		}
		isShown := strings.HasSuffix(command, " &")
		for _, want := range expected {
			isShown = isShown && want.Match(text)
		}
		if isShown {
			return string(text)
		}
	}
	t.Fatalf("%s has not ended after %v", command, limit)
	return ""
}
