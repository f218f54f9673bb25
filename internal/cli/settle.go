package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/sonde-jvm/sonde/classfile"
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

// isUsed reports whether a command waits.
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

// announceLoss says, before the first class is changed, that this makes an older JVM discard all its
// compiled code.
func (v *liveSession) announceLoss() {
	woven := v.session.Weavings()
	if v.session.JDK().Feature >= 21 || woven.Woven+woven.Cached > 0 {
		return
	}
	reading, err := v.session.Read()
	if err != nil {
		return // the end reports it
	}
	if loss := overhead.RecompileLoss(reading.Compiled()); loss >= time.Second {
		v.screen.say("before JDK 21 the first change of a class makes HotSpot discard all compiled code, unless the program was started with an agent: it will lose about %s of work",
			format.Duration(loss.Round(100*time.Millisecond)))
	}
}

// settle waits until the program runs as before. Then results begin at zero.
func (v *liveSession) settle(ctx context.Context, pace *overhead.Pace) {
	if pace == nil {
		return
	}
	hooked := map[classfile.MethodRef]bool{}
	for _, m := range v.session.Methods() {
		hooked[m.MethodRef] = true
	}
	var said time.Duration
	recovery := pace.Settle(ctx, v.target.settle.limit, func(m classfile.MethodRef) bool { return hooked[m] }, v.session.Read, func(r overhead.Recovery) {
		switch {
		case !v.screen.silent:
			v.screen.draw([]string{settlingText(r)})
		case r.Took-said >= settleSayEvery:
			said = r.Took
			v.screen.say("%s", settlingText(r))
		}
	})
	v.screen.clear()
	v.recovery = &recovery
	v.session.Restart()
	v.began = time.Now()
	switch {
	case !recovery.Settled && ctx.Err() == nil:
		v.remark(recovery.Disturbed())
	case recovery.Settled:
		v.screen.say("after %s the program runs as before its classes were changed: results begin now", format.Duration(recovery.Took.Round(100*time.Millisecond)))
	}
}

// settleSayEvery is how often a command that writes no terminal says that it waits.
const settleSayEvery = 5 * time.Second

// settlingText says how far a program is from its former pace.
func settlingText(r overhead.Recovery) string {
	return fmt.Sprintf("HotSpot compiles again what changing classes made it discard: %s, %v", format.Duration(r.Took.Round(100*time.Millisecond)), r)
}

// writeDisturbed writes what Recovery.Disturbed returns as the first line of a result.
func writeDisturbed(out io.Writer, text string) {
	if text != "" {
		_, _ = fmt.Fprintf(out, "%s\n\n", text)
	}
}
