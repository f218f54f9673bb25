package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

type attachCommand struct {
	targetFlags
	duration time.Duration
	json     bool
}

const attachLong = `Enter a JVM, and stay until Ctrl-C, --duration, sonde end or sonde undo. The agent is
loaded, and nothing else happens: no class changes, and nothing is measured. While it is there,
other commands with this JVM begin at once, because they use its session, and a JVM that
can be attached to only now (its user, its container) can be measured later.

When the command ends, the agent leaves, unless other commands still use it.

To see what a pack in a JVM measures: sonde pack live PID.`

func newAttach(s streams) *cobra.Command {
	c := &attachCommand{targetFlags: targetFlags{streams: s}}
	command := &cobra.Command{
		Use:   "attach PID",
		Short: "Enter a JVM and stay, so that other commands begin at once",
		Long:  attachLong,
		Example: `  sonde attach 4711
  sonde attach 4711 --background
  sonde attach 4711 --duration 1h`,
		Args: exactly("PID"),
		RunE: checkAndRun(c),
	}
	flags := command.Flags()
	flags.VarP(span(&c.duration, 0, 0, 0), "duration", "d", "end after this time; 0 continues until Ctrl-C")
	flags.BoolVar(&c.json, "json", false, "write one JSON object at the end")
	return command
}

func (c *attachCommand) check(args []string, _ func(string) bool) (err error) {
	c.pid, err = processNumber(args[0])
	return err
}

func (c *attachCommand) run(ctx context.Context) error {
	v := &liveSession{target: &c.targetFlags, screen: newScreen(c.streams)}
	if err := v.open(ctx, commandLine("attach", nil)); err != nil {
		return err
	}
	defer func() { _ = v.session.Release() }()
	v.began = time.Now()
	c.ready()
	v.screen.say("attached, measuring nothing: other commands for this JVM now start faster; Ctrl-C detaches")
	s := waitLoop{done: v.session.Done(), why: v.endedBy}
	s.endAfter(c.duration, v.began)
	ended := s.wait(ctx)
	d := document.Attached{PID: c.pid, JDK: v.session.JDK().String(), Main: v.session.JVM().Main, Began: v.began.Round(time.Millisecond), Seconds: time.Since(v.began).Seconds(), Ended: string(ended)}
	_, err := v.close(ctx)
	v.pace.Close(ctx)
	v.screen.say("left process %d after %s", c.pid, format.Duration(time.Since(v.began)))
	if err == nil && c.json {
		err = document.Write(c.out, d)
	}
	return err
}
