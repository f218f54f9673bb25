package cli

import (
	"context"
	"fmt"
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
	off   bool
}

const (
	settleLimit = time.Minute
	// settleVariable with the value off is like --no-settle with every command.
	settleVariable = "SONDE_SETTLE"
)

func settles() bool { return os.Getenv(settleVariable) != "off" }

func (f *settleFlags) register(flags *pflag.FlagSet) {
	flags.Var(span(&f.limit, settleLimit, 0, 0), "settle", "wait at most this long until the program runs as before the hooks; results begin then")
	flags.BoolVar(&f.off, "no-settle", false, "do not wait: results begin with the hooks, while HotSpot still compiles code that they made it discard")
}

// isUsed reports whether a command waits.
func (f *settleFlags) isUsed() bool { return !f.off && f.limit > 0 }

// watchPace begins to watch how the program runs before it has hooks; nil if the command does not wait.
func (v *liveSession) watchPace(ctx context.Context) *overhead.Pace {
	if !v.target.settles || !v.target.settle.isUsed() {
		return nil
	}
	return overhead.WatchPace(ctx, v.target.pid)
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
		v.remark(v.disturbedText())
	case recovery.Took > noticedSettling:
		v.screen.say("after %s the program runs as before its classes were changed: results begin now", format.Duration(recovery.Took.Round(100*time.Millisecond)))
	}
}

const (
	// settleSayEvery is how often a command that writes no terminal says that it waits.
	settleSayEvery = 5 * time.Second
	// noticedSettling is a wait that a person notices.
	noticedSettling = 1500 * time.Millisecond
)

// settlingText says how far a program is from its former pace.
func settlingText(r overhead.Recovery) string {
	text := "HotSpot compiles again what changing classes made it discard: " + format.Duration(r.Took.Round(100*time.Millisecond))
	if r.Now != nil {
		text += ", " + slowText(r)
	}
	return text
}

func slowText(r overhead.Recovery) string {
	return fmt.Sprintf("%s of the time in the interpreter or in code of the first compiler, %s before", format.Percent(r.Now.Slow.Part), format.Percent(r.Before.Slow.Part))
}

// disturbedText says that results describe a program that is slower than without Sonde; "" if they do not.
func (v *liveSession) disturbedText() string {
	r := v.recovery
	if r == nil || r.Settled {
		return ""
	}
	text := "DISTURBED: these times are of a program that does not run as before its classes were changed"
	if r.Now != nil {
		text += ": " + slowText(*r)
	} else {
		text += ": its compilers are still busy"
	}
	return text + fmt.Sprintf(" (waited %s; --settle waits longer)", format.Duration(r.Took.Round(100*time.Millisecond)))
}
