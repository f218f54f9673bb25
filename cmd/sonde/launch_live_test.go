package main

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// TestRunPassesSignals ends a program by a signal to the command that started it.
func TestRunPassesSignals(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
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
			left := filepath.Join("/tmp", fmt.Sprintf(".sonde-%d-*", command.Process.Pid))
			if jars, err := filepath.Glob(left); err != nil || len(jars) != 1 {
				t.Errorf("%v, %v", jars, err)
			}
			if err := command.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if code := exitCode(t, command.Wait()); code != 128+int(syscall.SIGTERM) {
				t.Errorf("exit code %d", code)
			}
			if jars, err := filepath.Glob(left); err != nil || len(jars) != 0 {
				t.Errorf("left behind: %v, %v", jars, err)
			}
		})
	}
}

// TestRunHold counts a program that was held before its first instruction: nothing
// of it is missed.
func TestRunHold(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
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
			ready := regexp.MustCompile(`^sonde: process (\d+) is ready for sonde count .*, and waits for that up to 30s\n$`).FindStringSubmatch(line)
			if err != nil || ready == nil {
				t.Fatalf("%q, %v", line, err)
			}
			pid, err := strconv.Atoi(ready[1])
			if err != nil {
				t.Fatal(err)
			}
			code, counted, said := sonde(t, countArgs(pid, "started.**", "--json")...)
			got := parse[countJSON](t, counted)
			if code != exitOK || got.Ended != endedExited {
				t.Errorf("exit code %d, ended %s: %s", code, got.Ended, said)
			}
			for name, want := range map[string]int64{"main([Ljava/lang/String;)V": 1, "work(I)V": 100} {
				if calls := got.counts()["started/Started."+name].Entered; calls != want {
					t.Errorf("%d calls of %s, want %d", calls, name, want)
				}
			}
			if code := exitCode(t, command.Wait()); code != 7 || out.String() != "begin\nend\n" {
				t.Errorf("exit code %d, said %q", code, out.String())
			}
		})
	}
}
