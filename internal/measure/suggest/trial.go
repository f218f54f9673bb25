package suggest

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A Trial is what a probe set cost and covered while it was applied.
type Trial struct {
	Took     time.Duration // without the time until the compilers had settled
	Applied  time.Duration // with it: the time that Results cover
	Methods  int           // that have a probe
	Left     []string      // methods that were not woven, and why
	Calls    uint64
	Cost     float64 // part of the program's processor time, by calls and what each costs
	Coverage float64
	Samples  int
	Bare     []Bare
	Nanos    float64 // mean cost of a call
	Use      float64
	Pause    time.Duration // for which the program was stopped to put hooks in and take them out
	Results  *liveprobes.Results
}

// Try applies a proposal for as long as the options say, measures what that costs and
// covers, and takes it out again.
func Try(ctx context.Context, options Options, p *Proposal) (t *Trial, err error) {
	o := &observer{Options: options}
	o.enter(Applying)
	s, err := session.Open(ctx, o.PID, o.Settings)
	if err != nil {
		return nil, err
	}
	applied := liveprobes.New(s, liveprobes.Options{Flags: arena.Spreads, Notice: o.Notice})
	t = &Trial{}
	defer func() {
		o.enter(Leaving)
		applied.Close()
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
		defer cancel()
		farewell, closing := s.Close(leaving)
		t.Pause += farewell.Pause.Pause
		for _, remark := range farewell.Remarks {
			o.notice(remark)
		}
		err = errors.Join(err, closing, s.Release())
	}()
	probe, err := overhead.MeasureProbe(ctx, s)
	if err != nil {
		return t, err
	}
	report, err := applied.Apply(ctx, p.Set())
	if err != nil {
		return t, err
	}
	t.takeReport(report)
	began := time.Now()
	defer func() { t.Applied = time.Since(began) }()
	if err := settle(ctx, s); err != nil {
		return t, err
	}
	o.enter(Measuring)
	called, used, err := o.measure(ctx, s, applied, t)
	if err != nil {
		return t, err
	}
	again, err := overhead.MeasureProbe(ctx, s)
	if err != nil {
		return t, err
	}
	t.price(p, probe.Least(again), called, used)
	return t, nil
}

// takeReport takes in what was woven.
func (t *Trial) takeReport(report *liveprobes.Report) {
	for _, probe := range report.Probes {
		t.Methods += len(probe.Methods)
		for _, left := range probe.LeftOut {
			t.Left = append(t.Left, left.Method+": "+left.Err.Error())
		}
		for _, pattern := range probe.Unmatched {
			t.Left = append(t.Left, pattern+": no loaded method matches it")
		}
	}
	if report.Installation != nil {
		pause, _ := report.Installation.Pause() // 0 if the JVM does not publish it
		t.Pause += pause
	}
}

// measure takes samples while probes are on, and returns how often each method was called
// and how much processor time the program used meanwhile.
func (o *observer) measure(ctx context.Context, s *session.Session, applied *liveprobes.Watch, t *Trial) (called map[Method]uint64, used time.Duration, err error) {
	before, err := applied.Results()
	if err != nil {
		return nil, 0, err
	}
	w, err := watch(ctx, &o.Options, false)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, w.close(ctx)) }()
	if err := w.follow(ctx, o.For, s.Done()); err != nil {
		return nil, 0, err
	}
	after, err := applied.Results()
	if err != nil {
		return nil, 0, err
	}
	now, err := w.meter.Read()
	if err != nil {
		return nil, 0, err
	}
	seen := w.result()
	t.Took, t.Use, t.Samples, t.Results = seen.took, max(seen.use, minUse), seen.table.Samples, after
	ended := endedOf(before, after)
	called = between(before, after, func(row *liveprobes.Row) uint64 { return row.Calls })
	used = max(w.first.Until(now).Rest, time.Duration(minUse*float64(t.Took)))
	covers := func(m Method) bool { return ended[m] >= minEnded }
	if o.look = seen; seen.bias != "" { // thread dumps do not distinguish overloads
		covers = func(m Method) bool { return ended[m.anyOverload()] >= minEnded }
	}
	t.Coverage = Coverage(seen.paths, covers)
	t.Bare = bareOf(seen.paths, covers)
	return called, used, nil
}

// price sets what calls cost, as a part of the program's processor time.
func (t *Trial) price(p *Proposal, probe overhead.ProbeCost, called map[Method]uint64, used time.Duration) {
	thins := make(map[Method]bool)
	for _, c := range p.Choices {
		for _, m := range c.Members {
			thins[m] = c.Thins
		}
	}
	nanos := 0.0
	for m, calls := range called {
		t.Calls += calls
		nanos += float64(calls) * probe.Call(float64(calls)/t.Took.Seconds(), thins[m])
	}
	t.Nanos = nanos / max(float64(t.Calls), 1)
	t.Cost = nanos / float64(used)
}

// endedOf returns how many calls of each method have ended between two results, and of all
// methods of the same name together.
func endedOf(before, after *liveprobes.Results) map[Method]uint64 {
	ended := between(before, after, func(row *liveprobes.Row) uint64 { return row.Timed })
	for m, calls := range maps.Clone(ended) {
		ended[m.anyOverload()] += calls
	}
	return ended
}

// between returns by how much a figure of each method has grown from one result to the
// next. Rows never disappear, and their figures never sink.
func between(before, after *liveprobes.Results, figure func(*liveprobes.Row) uint64) map[Method]uint64 {
	grown := make(map[Method]uint64)
	for i := range after.Rows {
		grown[methodOfRow(&after.Rows[i])] += figure(&after.Rows[i])
	}
	for i := range before.Rows {
		grown[methodOfRow(&before.Rows[i])] -= figure(&before.Rows[i])
	}
	return grown
}

func methodOfRow(row *liveprobes.Row) Method { return Method{row.Class, row.Name, row.Descriptor} }
