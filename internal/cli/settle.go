package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// settleFlags say how long a command waits, after its hooks are in, until the program runs as before.
type settleFlags struct {
	limit time.Duration
	given *pflag.Flag // --settle; nil if the command has no flags
	off   bool
}

const (
	settleLimit = time.Minute
	// settleVariable with the value off is like --no-settle with every command without --settle.
	settleVariable = "SONDE_SETTLE"
)

func (f *settleFlags) register(flags *pflag.FlagSet) {
	flags.Var(span(&f.limit, settleLimit, 0, 0), "settle", "wait at most this long until the program runs as before the hooks; results begin then")
	f.given = flags.Lookup("settle")
	flags.BoolVar(&f.off, "no-settle", false, "do not wait: results begin with the hooks, while HotSpot still compiles code that they made it discard")
}

func (f *settleFlags) isUsed() bool {
	return !f.off && f.limit > 0 && f.given != nil && (f.given.Changed || os.Getenv(settleVariable) != "off")
}

// watchPace begins to watch how the program runs before it has hooks; nil if the command does not wait.
func (v *liveSession) watchPace(ctx context.Context) *overhead.Pace {
	if !v.target.settle.isUsed() {
		return nil
	}
	return overhead.WatchPace(ctx, v.target.pid)
}

// lossText says that the first change of a class makes a JVM discard all its compiled code; "" if it
// does not, or has little to discard.
func lossText(jvm *process.JVM) string {
	work, known := overhead.Loss(jvm)
	if work < time.Second {
		return ""
	}
	about := "about " + format.Duration(work.Round(100*time.Millisecond))
	if !known {
		about = "some seconds"
	}
	return "the first change of a class makes this JVM discard all compiled code (before JDK 21, if no agent was loaded at the start): the program will lose " + about + " of work"
}

// acceptLoss says before anything is changed what changing a class costs the program. On a terminal, a
// person can decline.
func (s streams) acceptLoss(ctx context.Context, pid int, settle *settleFlags) error {
	if s.isCheck || s.look != nil {
		return nil // the client has asked
	}
	jvm, err := inspect(pid)
	if err != nil || jvm.Agents.Answer == process.No {
		return nil //nolint:nilerr // the command reports it
	}
	text := lossText(jvm)
	if text == "" {
		return nil
	}
	_, _ = fmt.Fprintln(s.err, text)
	if settle.isUsed() && !confirm(ctx, s, "go on?", true) {
		return errors.New("declined: nothing was changed in the JVM")
	}
	return nil
}

// delegate asks before the command runs, here or in the service.
func (c *targetFlags) delegate(cmd *cobra.Command, args []string) (done bool, err error) {
	if err := c.acceptLoss(cmd.Context(), c.pid, &c.settle); err != nil {
		return false, err
	}
	return c.streams.delegate(cmd, args)
}

// settle waits until the program runs as before. Then results begin at zero.
func (v *liveSession) settle(ctx context.Context) {
	if v.pace == nil {
		return
	}
	hooked := map[classfile.MethodRef]bool{}
	for _, m := range v.session.Methods() {
		hooked[m.MethodRef] = true
	}
	isHooked := func(m classfile.MethodRef) bool { return hooked[m] }
	recovery := v.pace.Settle(ctx, v.target.settle.limit, isHooked, v.session.Read, v.showProgress("HotSpot is recompiling what weaving discarded"))
	v.screen.clear()
	v.recovery = &recovery
	soFar, _ := v.callsSoFar() // the end reports it
	v.session.Restart()
	v.began = time.Now()
	v.pace.Follow(ctx, v.session, isHooked, soFar, v.callsSoFar)
	switch {
	case !recovery.Settled && ctx.Err() == nil:
		v.remark(recovery.Disturbed())
	case recovery.Settled:
		v.screen.say("after %s the program runs as fast as before its classes changed: results begin now", format.Duration(recovery.Took.Round(100*time.Millisecond)))
	}
}

// showProgress returns a function that shows how far a program is from its former pace.
func (v *liveSession) showProgress(what string) func(overhead.Recovery) {
	var said time.Duration
	return func(r overhead.Recovery) {
		text := fmt.Sprintf("%s: %s, %v", what, format.Duration(r.Took.Round(100*time.Millisecond)), r)
		switch {
		case !v.screen.silent:
			v.screen.status(text)
		case r.Took-said >= settleSayEvery:
			said = r.Took
			v.screen.say("%s", text)
		}
	}
}

// callsSoFar returns how often the hooked methods were called.
func (v *liveSession) callsSoFar() (calls uint64, err error) {
	calls, _, err = v.hookedCalls()
	return calls, err
}

// hookShare returns the part of the program's processor time that hooks have taken since results
// began; nil if it is not known.
func (v *liveSession) hookShare() *cost.Estimate {
	if v.isTraced {
		return v.hooksTook
	}
	sum, err := v.session.Counts()
	if err != nil {
		return nil
	}
	now, err := v.session.Read()
	if err != nil {
		return nil
	}
	kind := overhead.Plain
	if v.applied.isUsed() && !v.isTyped {
		kind = overhead.Probe
	}
	return overhead.HookShare(kind, v.cost.Cost(), v.usedHooks(sum), v.begun.Until(now))
}

// settleSayEvery is how often a command that writes no terminal says that it waits.
const settleSayEvery = 5 * time.Second

// disturbed says that results are of a program that did not run as without Sonde; "" if it did.
func (v *liveSession) disturbed() string {
	return cmp.Or(v.recovery.Disturbed(), v.disturbance.Disturbed())
}

// writeDisturbed writes what disturbed returns as the first line of a result.
func writeDisturbed(out io.Writer, text string) {
	if text != "" {
		_, _ = fmt.Fprintf(out, "%s\n\n", text)
	}
}

// writeDisturbance writes what measuring has done to the program, once it is known.
func writeDisturbance(out io.Writer, d *cost.Disturbance) {
	if d != nil {
		_, _ = fmt.Fprintln(out, d)
	}
}
