package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/launch"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
)

// runWatched starts a program and has its first JVM watched as a file says, from its
// first instruction to its end. Standard output is the program's: what was measured is
// told on the error stream.
func runWatched(ctx context.Context, s streams, words []string, file, agentDir string) error {
	set, err := readSet(s, file)
	if err != nil {
		return err
	}
	program, err := launch.Start(words, launch.Settings{Hold: usualHold, AgentDir: agentDir})
	if err != nil {
		return err
	}
	defer program.PassSignals()()
	tellLaunch(s, words)
	c := &applying{
		choice: choice{streams: streams{out: s.err, err: s.err}}, title: file, set: set, interval: time.Second, keep: usualKeep,
	}
	if err := c.watchStarted(ctx, program); err != nil {
		_, _ = fmt.Fprintf(s.err, "sonde: %s\n", oneLine(err))
	}
	code := program.ExitCode()
	tellLeft(s, words, program)
	if code != 0 {
		return exitStatus(code)
	}
	return nil
}

// watchStarted holds the first JVM that the program starts, to its end. Others begin by
// themselves.
func (c *applying) watchStarted(ctx context.Context, program *launch.Program) error {
	jvm, ok := <-firstJVM(ctx, program)
	if !ok {
		return program.EndedEarly()
	}
	c.pid = jvm.PID
	letGo := func() error {
		_, err := targetfs.LetGo(jvm)
		return err
	}
	// What asks this command to end is passed on to the program, and its end is that
	// of the watching; only one that goes on nevertheless is left.
	watching, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(endingPatience, abandon) })()
	err := c.hold(watching, jvm, letGo)
	if err != nil {
		_ = letGo() // whatever failed, the program is not to wait for it
	}
	return err
}

// firstJVM gives the first JVM of a program, and lets all others begin. The channel is
// closed when the program has ended.
func firstJVM(ctx context.Context, program *launch.Program) <-chan *process.JVM {
	first := make(chan *process.JVM, 1)
	go func() {
		defer close(first)
		taken := false
		program.Watch(context.WithoutCancel(ctx), func(jvm *process.JVM) {
			if !taken {
				taken = true
				first <- jvm
				return
			}
			_, _ = targetfs.LetGo(jvm)
		})
	}()
	return first
}
