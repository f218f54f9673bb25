// Package launch starts programs with Sonde's agent in them, so that they can be
// entered before their first instruction.
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

// A Program was started with the agent. It has this process's streams.
type Program struct {
	PID  int // of what was started, which is the JVM where the command is java
	java bool

	command *exec.Cmd
	mark    string // in the environment of what was started
	ended   chan struct{}
}

// Settings say how a program is started.
type Settings struct {
	Hold     time.Duration // held before it begins until it is let go, or this process or that time ends; 0 for not
	AgentDir string        // for the agent's jar; empty for a place with this user's data
}

// Start starts a command so that each JVM it brings up has the agent in it. The agent's jar
// is kept: a JVM that the command leaves running, or that is started later by what it leaves
// running, finds it.
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
		_ = p.command.Wait() // how it ended is in its state
	}()
	return p, nil
}

// bare is what is wrong, without the names of calls and files around it.
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

// Ended is closed when the program has.
func (p *Program) Ended() <-chan struct{} { return p.ended }

// ExitCode is how the program ended, as shells tell it: 128 and the number of the
// signal that killed it. It waits for the end.
func (p *Program) ExitCode() int {
	<-p.ended
	if status, ok := p.command.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return p.command.ProcessState.ExitCode()
}

// Signal passes a signal on. One that has ended gets none.
func (p *Program) Signal(signal os.Signal) { _ = p.command.Process.Signal(signal) }

// Left are the processes that the command, which has ended, left running.
func (p *Program) Left() []int {
	<-p.ended
	return marked(p.mark)
}

// EndedError says that a program ended before any JVM had the agent in it.
type EndedError struct {
	Code int
	Left []int // processes it left running
}

func (e *EndedError) Error() string {
	if len(e.Left) > 0 {
		return fmt.Sprintf("the command ended, with exit code %d, before Sonde was in a JVM of it, and left %s running in the background: "+
			"enter its JVM, which sonde ps lists, or have the command wait for it", e.Code, Numbers(e.Left))
	}
	return fmt.Sprintf("the program ended, with exit code %d, before Sonde was in it: is it a Java program, and did it start?", e.Code)
}

// EndedEarly is the error of a program that ended before any JVM had the agent in it.
func (p *Program) EndedEarly() error { return &EndedError{Code: p.ExitCode(), Left: p.Left()} }

// Numbers are processes as a line of text has them.
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

// How often JVMs are looked for: the one that was started, and those that a
// command has started, for which all processes have to be looked at.
const (
	lookForOne = 5 * time.Millisecond
	lookForAny = 50 * time.Millisecond
)

// Watch calls found for each JVM of the program as soon as its agent waits, until
// the program or the context ends. A command that is java has one.
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
		return nil // not yet, or no more
	}
	all, err := process.Local.Find(ctx)
	if err != nil {
		return nil // the next look may be better
	}
	var ours []*process.JVM
	for _, jvm := range all {
		if hasMark(jvm.PID, p.mark) {
			ours = append(ours, jvm)
		}
	}
	return ours
}

// IsJava tells whether a command is the JVM's own launcher, which takes options.
func IsJava(command string) bool { return filepath.Base(command) == "java" }

// withAgent is a command line and its environment, changed so that the JVM it
// starts has the agent: by its first option, or by a variable where the command is not
// java itself.
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

// markVariable is in the environment of all processes that a launch has started, and of
// theirs. Its value is of this one launch.
const markVariable = "SONDE_RUN"

// newMark is an entry of the environment that no other launch has.
func newMark() string {
	raw := make([]byte, 8)
	_, _ = rand.Read(raw) // it never fails
	return fmt.Sprintf("%s=%d-%x", markVariable, os.Getpid(), raw)
}

// withMark marks an environment. A mark of another launch, within which this one happens,
// goes: the last entry of a name would not count for all programs.
func withMark(environment []string, mark string) []string {
	others := slices.DeleteFunc(slices.Clone(environment), func(entry string) bool { return strings.HasPrefix(entry, markVariable+"=") })
	return append(others, mark)
}

// hasMark tells whether a process is of the launch with a mark. That of another user
// cannot be looked at, and is not.
func hasMark(pid int, mark string) bool {
	environment, err := process.Local.ReadList(pid, "environ")
	return err == nil && slices.Contains(environment, mark)
}

// marked are the processes of the launch with a mark.
func marked(mark string) (pids []int) {
	all, _ := process.Local.PIDs() // without a list none is known
	return slices.DeleteFunc(all, func(pid int) bool { return !hasMark(pid, mark) })
}

// passing counts the programs that signals are passed on to. Signals belong to the whole
// process, and so does this.
var passing atomic.Int32

// PassesSignals reports whether signals are passed on to a program.
func PassesSignals() bool { return passing.Load() > 0 }

// PassSignals passes on to the program what this process is asked by signals,
// until it is called off. What a terminal has sent to both is not sent again.
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

// hasTerminal tells whether a terminal sends its signals to this process's group,
// and so to the programs it has started as well.
func hasTerminal() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer func() { _ = terminal.Close() }()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
