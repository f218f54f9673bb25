package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/waterfall"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// appliedTraces keeps the latest transactions of probes that trace. It is for one
// goroutine.
type appliedTraces struct {
	ringReader
	names  *watchNames
	redact *trace.Redactor
	most   int
	kept   []*trace.Transaction // in the order they ended
	older  uint64               // that gave their place to later ones
	sum    ringSum
}

const (
	// idleEvery is how often rings are looked for while no probe traces.
	idleEvery = 200 * time.Millisecond
	// shownCalls is how many rows the drawing of the slowest transaction has.
	shownCalls = 40
)

func newAppliedTraces(s *session.Session, w *liveprobes.Watch, set *probeset.Set, most int) *appliedTraces {
	t := &appliedTraces{ringReader: ringReader{session: s}, names: &watchNames{names: w}, most: most}
	// What one probe may show another never reads: each leaves its own secrets out.
	var allow []string
	for _, p := range set.Probes {
		allow = append(allow, p.Allow...)
	}
	t.redact = trace.NewRedactor(allow)
	t.assembler = trace.NewAssembler(trace.Options{
		Names: t.names, Redact: t.redact, Clock: trace.Clock{Wall: time.Now(), Nanos: uint64(s.Now())}, Settle: settleTime,
	})
	return t
}

// traces reports whether a probe of a set does.
func traces(set *probeset.Set) bool {
	for _, p := range set.Probes {
		if p.Level >= probeset.Trace {
			return true
		}
	}
	return false
}

// step reads what is there, and keeps what has become whole.
func (t *appliedTraces) step() error {
	if _, err := t.read(); err != nil {
		return err
	}
	t.keep(t.assembler.Take(uint64(t.session.Now())))
	return nil
}

func (t *appliedTraces) keep(taken []*trace.Transaction) {
	if len(taken) == 0 {
		return
	}
	t.names.refresh()
	for _, one := range taken {
		one.Resolve(t.names, t.redact)
	}
	t.kept = append(t.kept, taken...)
	if more := len(t.kept) - t.most; more > 0 {
		t.older += uint64(more)
		t.kept = append(t.kept[:0:0], t.kept[more:]...)
	}
}

// count learns what rings have counted.
func (t *appliedTraces) count() {
	if sum, err := t.ringReader.sum(); err == nil {
		t.sum = sum
	}
}

// line is how it stands in one line; empty where nothing was traced.
func (t *appliedTraces) line() string {
	if t.sum.opened == 0 {
		return ""
	}
	text := fmt.Sprintf("traces: %s kept of %s begun", grouped(len(t.kept)), grouped(int(t.sum.opened)))
	if t.older > 0 {
		text += fmt.Sprintf(", %s before those", grouped(int(t.older)))
	}
	if t.sum.discarded > 0 {
		text += fmt.Sprintf(", %s not chosen", grouped(int(t.sum.discarded)))
	}
	if t.sum.dropped > 0 {
		text += fmt.Sprintf(", %s only counted", count(int(t.sum.dropped), "call", "calls"))
	}
	return text
}

// finishTraces reads what was written last, while the JVM is still there.
func (r *applyRun) finishTraces(ctx context.Context, ended string) *trace.Trace {
	t := r.traces
	_, _ = t.read() // what cannot be read is missing, as the end says
	t.count()
	t.keep(t.assembler.Flush())
	t.names.refresh()
	for _, one := range t.kept {
		one.Resolve(t.names, t.redact)
	}
	if ended != endedLost && ended != endedExited && ended != endedUndone && len(t.kept) > 0 {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), namesLimit)
		defer cancel()
		if names, err := r.visit.session.ThreadNames(ctx); err == nil { // else they have numbers
			for _, one := range t.kept {
				one.NameThreads(names)
			}
		}
	}
	return r.describeTraces()
}

func (r *applyRun) describeTraces() *trace.Trace {
	t, s := r.traces, r.visit.session
	d := &trace.Trace{
		Target:  trace.Target{PID: r.pid, Command: s.JVM().Main, JDK: fmt.Sprint(s.JDK())},
		Command: commandLine("apply", []string{"-f", r.title}), Began: r.began, Took: time.Since(r.began), Transactions: t.kept,
		Losses: trace.Losses{Counts: t.assembler.Counts(), NotChosen: t.sum.discarded, Dropped: t.sum.dropped, Beyond: t.older},
	}
	for _, p := range r.set.Probes {
		if p.Level >= probeset.Trace {
			d.Methods = append(d.Methods, p.Methods...)
			d.Levels = max(d.Levels, p.Levels)
		}
	}
	return d
}

// writeTraces writes files, and without any draws the slowest transaction.
func (r *applyRun) writeTraces(t *trace.Trace) error {
	if len(r.outputs) > 0 {
		tell, err := r.writeOutputs(r.outputs, func(path string) error { return writeTraceFile(path, t) })
		tell()
		return err
	}
	slowest := t.Slowest()
	if slowest == nil || r.json {
		return nil
	}
	width := r.outWidth()
	number := 1
	for i, one := range t.Transactions {
		if one == slowest {
			number = i + 1
		}
	}
	if _, err := fmt.Fprintf(r.out, "\nthe slowest of %s; -o FILE writes all\n", count(len(t.Transactions), "transaction that was kept", "transactions that were kept")); err != nil {
		return err
	}
	return waterfall.Write(r.out, number, slowest, waterfall.Terminal{Width: width, Colours: hasColours(width), Rows: shownCalls})
}

// hasColours reports whether a terminal of a width, 0 for none, shows styles.
func hasColours(width int) bool {
	return width > 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
