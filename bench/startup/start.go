package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// mostTime is what an application has to start, to answer and to end.
const mostTime = 2 * time.Minute

// A start is what one took until the application was ready.
type start struct {
	wall, cpu time.Duration
	errors    string // what it printed to its error stream until it ended
}

// start starts the application with options for java before its own, in a folder of its
// own, and ends it when it is ready.
func (a *application) start(ctx context.Context, folder string, options ...string) (s start, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return s, err
	}
	ctx, cancel := context.WithTimeout(ctx, mostTime)
	defer cancel()
	var errors bytes.Buffer
	command := exec.CommandContext(ctx, a.jdk.Tool("java"), append(options, a.arguments...)...)
	command.Dir, command.Stderr, command.Env = folder, &errors, environment()
	in, err := command.StdinPipe()
	if err != nil {
		return s, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return s, err
	}
	began := time.Now()
	if err := command.Start(); err != nil {
		return s, err
	}
	lines := bufio.NewReader(out)
	notReady := a.awaitReady(ctx, lines)
	s.wall = time.Since(began)
	cpu, noClock := processorTime(command.Process.Pid)
	s.cpu = cpu
	if notReady != nil {
		_ = command.Process.Kill() // it has done nothing of use
	}
	_ = in.Close()                    // which ends it
	_, _ = io.Copy(io.Discard, lines) // what it still has to say
	ended := command.Wait()
	s.errors = errors.String()
	switch {
	case notReady != nil:
		return s, fmt.Errorf("%s did not get ready: %w: %s", a.name, notReady, lastLines(s.errors))
	case ended != nil:
		return s, fmt.Errorf("%s: %w: %s", a.name, ended, lastLines(s.errors))
	}
	return s, noClock
}

// awaitReady reads on to the line that begins with "ready", and asks for the page where
// there is one.
func (a *application) awaitReady(ctx context.Context, lines *bufio.Reader) error {
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		said, isReady := strings.CutPrefix(line, "ready ")
		switch {
		case isReady && a.page != "":
			return visit(ctx, strings.TrimSpace(said), a.page)
		case isReady:
			return nil
		}
	}
}

// visit expects that a page is answered and holds a text.
func visit(ctx context.Context, url, text string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	request.Close = true // or the server would wait for more when it ends
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(text))) {
		err = fmt.Errorf("%s answered %s without %q: %s", url, response.Status, text, body)
	}
	return err
}

// processorTime is that of all threads a process has and had.
func processorTime(pid int) (time.Duration, error) {
	// The clock of another process, as clock_getcpuclockid(3) makes it.
	const scheduled = 2
	var spent unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &spent); err != nil {
		return 0, fmt.Errorf("processor time of process %d: %w", pid, err)
	}
	return time.Duration(spent.Nano()), nil
}

// environment is ours, without what would change every JVM.
func environment() []string {
	var kept []string
	for _, variable := range os.Environ() {
		switch name, _, _ := strings.Cut(variable, "="); name {
		case "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH", "JRUBY_OPTS":
		default:
			kept = append(kept, variable)
		}
	}
	return kept
}

func lastLines(text string) string {
	const most = 2000
	return strings.TrimSpace(text[max(0, len(text)-most):])
}

// inFolder runs something in a new folder that does not stay.
func inFolder(parent, name string, do func(folder string) error) error {
	folder := filepath.Join(parent, name)
	defer os.RemoveAll(folder)
	return do(folder)
}
