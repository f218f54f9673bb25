// Package launch starts programs with Sonde's agent, so that Sonde can enter them before their first instruction.
package launch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// A Program is a command that was started with the agent. It uses the standard streams of this process.
type Program struct {
	PID  int // of the command, which is the JVM if the command is java
	java bool

	command *exec.Cmd
	mark    string // in the environment of the program
	ended   chan struct{}
}

// Settings configure the start of a program.
type Settings struct {
	Hold     time.Duration // how long the program waits at its start to be released, while this process runs; 0 for not at all
	AgentDir string        // for the agent's jar; empty for this user's data directory
}

// Start starts a command so that each JVM that it starts has the agent. The agent's jar is kept for JVMs that the
// command leaves running, and for JVMs that those start later.
func Start(words []string, settings Settings) (*Program, error) {
	path, err := exec.LookPath(words[0])
	if err != nil {
		return nil, fmt.Errorf("%s cannot be started (%w): name a program that is in the PATH, or its path", words[0], bare(err))
	}
	jar, err := KeepJar(settings.AgentDir)
	if err != nil {
		return nil, err
	}
	p := &Program{java: IsJava(words[0]), mark: newMark(), ended: make(chan struct{})}
	words, environment, err := withAgent(words, withMark(os.Environ(), p.mark), &AgentOption{Jar: jar, Hold: settings.Hold, By: os.Getpid()})
	if err != nil {
		return nil, err
	}
	p.command = exec.Command(path, words[1:]...)
	p.command.Args[0] = words[0] // a launcher may look at how it was called
	p.command.Env = environment
	p.command.Stdin, p.command.Stdout, p.command.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("%s cannot be started: %w", words[0], bare(err))
	}
	p.PID = p.command.Process.Pid
	go func() {
		defer close(p.ended)
		_ = p.command.Wait() // the result is in its state
	}()
	return p, nil
}

// bare returns the cause of an error, without the names of calls and files.
func bare(err error) error {
	var path *os.PathError
	var lookup *exec.Error
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &lookup):
		return lookup.Err
	}
	return err
}

// Ended returns a channel that is closed when the program has ended.
func (p *Program) Ended() <-chan struct{} { return p.ended }

// ExitCode waits for the end of the program and returns its exit code, as shells do: 128 plus the number of the signal
// that killed it.
func (p *Program) ExitCode() int {
	<-p.ended
	if status, ok := p.command.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return p.command.ProcessState.ExitCode()
}

// Signal sends a signal to the program, if it is running.
func (p *Program) Signal(signal os.Signal) { _ = p.command.Process.Signal(signal) }

// Left returns the processes that the command left running. It waits for the end of the command.
func (p *Program) Left() []int {
	<-p.ended
	all, _ := process.Local.PIDs() // without a list none is known
	return slices.DeleteFunc(all, func(pid int) bool { return !hasMark(pid, p.mark) })
}

// An EndedError reports that a program ended before any JVM had the agent.
type EndedError struct {
	Code int
	Left []int // processes it left running
}

func (e *EndedError) Error() string {
	if len(e.Left) > 0 {
		return fmt.Sprintf("the command ended with exit code %d before Sonde was in one of its JVMs, and left %s running in the background: "+
			"enter its JVM, which sonde ps lists, or make the command wait for it", e.Code, Numbers(e.Left))
	}
	return fmt.Sprintf("the program ended with exit code %d before Sonde was in it: is it a Java program, and did it start?", e.Code)
}

// Numbers lists processes in a line of text.
func Numbers(pids []int) string {
	const most = 5
	word, more := "process", ""
	if len(pids) > 1 {
		word = "processes"
	}
	if len(pids) > most {
		pids, more = pids[:most], fmt.Sprintf(" and %d more", len(pids)-most)
	}
	return word + " " + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(pids)), ", "), "[]") + more
}

// The intervals of looking for JVMs: for the one that was started, and for those that a command has started, which
// takes inspecting all processes.
const (
	lookForOne = 5 * time.Millisecond
	lookForAny = 50 * time.Millisecond
)

// Watch calls found for each JVM of the program as soon as its agent waits, until the program or the context ends. The
// command java has one JVM.
func (p *Program) Watch(ctx context.Context, found func(*process.JVM)) {
	known := make(map[int]bool)
	every := lookForAny
	if p.java {
		every = lookForOne
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		for _, jvm := range p.candidates(ctx) {
			if !known[jvm.PID] && process.Local.Waits(jvm) {
				known[jvm.PID] = true
				found(jvm)
			}
		}
		if p.java && len(known) > 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-p.ended:
			return
		case <-ticker.C:
		}
	}
}

func (p *Program) candidates(ctx context.Context) []*process.JVM {
	if p.java {
		if jvm, err := process.Local.Inspect(p.PID); err == nil {
			return []*process.JVM{jvm}
		}
		return nil // not started yet, or ended
	}
	all, err := process.Local.Find(ctx)
	if err != nil {
		return nil // the next attempt may succeed
	}
	var ours []*process.JVM
	for _, jvm := range all {
		if hasMark(jvm.PID, p.mark) {
			ours = append(ours, jvm)
		}
	}
	return ours
}

// IsJava reports whether a command is the JVM's own launcher, which accepts options.
func IsJava(command string) bool { return filepath.Base(command) == "java" }

// withAgent adds the agent to a command line and its environment: as the first option, or in a variable if the command
// is not java itself.
func withAgent(words, environment []string, option *AgentOption) (changed, env []string, err error) {
	if IsJava(words[0]) {
		word, err := option.word()
		return slices.Insert(slices.Clone(words), 1, word), environment, err
	}
	text, err := option.Text()
	if err != nil {
		return nil, nil, err
	}
	env = slices.Clone(environment)
	at := slices.IndexFunc(env, func(entry string) bool { return strings.HasPrefix(entry, ToolOptions+"=") })
	if at < 0 {
		return words, append(env, ToolOptions+"="+text), nil
	}
	env[at] += " " + text
	return words, env, nil
}

// markVariable is in the environment of all processes that a launch has started, directly or not. Its value identifies
// the launch.
const markVariable = "SONDE_RUN"

// newMark returns an entry of the environment that no other launch has.
func newMark() string {
	raw := make([]byte, 8)
	_, _ = rand.Read(raw) // never fails
	return fmt.Sprintf("%s=%d-%x", markVariable, os.Getpid(), raw)
}

// withMark adds a mark to an environment. It removes the mark of an enclosing launch, because not all programs use the
// last entry of a name.
func withMark(environment []string, mark string) []string {
	others := slices.DeleteFunc(slices.Clone(environment), func(entry string) bool { return strings.HasPrefix(entry, markVariable+"=") })
	return append(others, mark)
}

// hasMark reports whether a process belongs to the launch with a mark; false for a process of another user.
func hasMark(pid int, mark string) bool {
	environment, err := process.Local.ReadList(pid, "environ")
	return err == nil && slices.Contains(environment, mark)
}

// passing counts the programs that signals are passed on to. It is global because signals are.
var passing atomic.Int32

// PassesSignals reports whether signals are passed on to a program.
func PassesSignals() bool { return passing.Load() > 0 }

// PassSignals passes signals of this process on to the program until stop is called. It does not repeat signals that a
// terminal has sent to both.
func (p *Program) PassSignals() (stop func()) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	if !signal.Ignored(syscall.SIGHUP) { // by nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	passing.Add(1)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case caught := <-signals:
				typed := caught == syscall.SIGINT || caught == syscall.SIGQUIT
				if !typed || !hasTerminal() {
					p.Signal(caught)
				}
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		passing.Add(-1)
	}
}

// hasTerminal reports whether a terminal sends its signals to the group of this process, and so to its programs as well.
func hasTerminal() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer func() { _ = terminal.Close() }()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
