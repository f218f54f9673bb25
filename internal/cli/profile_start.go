package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/launch"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
)

// endingPatience is how long a program may take to end that was asked to, before
// its measuring ends without it.
const endingPatience = 3 * time.Second

// runStarted starts the program, measures it from its beginning, and stays until it
// has ended: it has this command's streams.
func (c *profiling) runStarted(ctx context.Context) error {
	program, err := launch.Start(c.words, launch.Settings{Hold: usualHold, AgentDir: c.agentDir})
	if err != nil {
		return err
	}
	defer program.PassSignals()()
	tellLaunch(c.streams, c.words)
	err = c.measureStarted(ctx, program)
	if err != nil {
		err = c.tellNow(err, program)
	}
	code := program.ExitCode()
	if !errors.As(err, new(*launch.EndedError)) { // which says it
		tellLeft(c.streams, c.words, program)
	}
	if code != 0 {
		_, _ = fmt.Fprintf(c.err, "note: the program ended with exit code %d\n", code)
	}
	return err
}

// tellNow says what went wrong while the program goes on, which may be for long.
func (c *profiling) tellNow(err error, program *launch.Program) error {
	select {
	case <-program.Ended():
		return err
	default:
	}
	_, _ = fmt.Fprintf(c.err, "sonde: %s; the program goes on\n", oneLine(err))
	return exitStatus(exitError)
}

func (c *profiling) measureStarted(ctx context.Context, program *launch.Program) error {
	jvm, ok := <-firstJVM(ctx, program)
	if !ok {
		return program.EndedEarly()
	}
	c.PID = jvm.PID
	letGo := func() error {
		_, err := targetfs.LetGo(jvm)
		return err
	}
	// What asks this command to end is passed on to the program, and its end is
	// that of the run; only one that goes on nevertheless is left.
	measuring, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	asked := context.AfterFunc(ctx, func() { time.AfterFunc(endingPatience, abandon) })
	defer asked()
	err := c.measure(measuring, letGo)
	if err != nil {
		_ = letGo() // whatever failed, the program is not to wait for it
	}
	return err
}
