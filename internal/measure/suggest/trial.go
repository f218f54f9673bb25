package suggest

import (
	"context"
	"errors"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
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
	Bare     []Part // samples that nothing covers
	Results  *liveprobes.Results
}

// Try applies a proposal for as long as the options say, measures what that costs and
// covers, and takes it out again.
func Try(ctx context.Context, options Options, p *Proposal) (t *Trial, err error) {
	o := &observer{Options: options}
	if err := o.open(ctx, Applying); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.leave(ctx)) }()
	applied := liveprobes.New(o.session, liveprobes.Options{Flags: arena.Spreads, Notice: o.Notice})
	defer applied.Close()
	if o.probe, err = overhead.MeasureProbe(ctx, o.session); err != nil {
		return nil, err
	}
	report, err := applied.Apply(ctx, p.Set())
	if err != nil {
		return nil, err
	}
	t = &Trial{}
	for _, probe := range report.Probes {
		t.Methods += len(probe.Methods)
		for _, left := range probe.LeftOut {
			t.Left = append(t.Left, left.Method+": "+left.Err.Error())
		}
		for _, pattern := range probe.Unmatched {
			t.Left = append(t.Left, pattern+": no loaded method matches it")
		}
	}
	began := time.Now()
	defer func() { t.Applied = time.Since(began) }()
	if err := o.settle(ctx); err != nil {
		return t, err
	}
	o.enter(Measuring)
	return t, o.measure(ctx, p, applied, t)
}

// measure takes samples while probes are on, and sets what they cost and cover.
func (o *observer) measure(ctx context.Context, p *Proposal, applied *liveprobes.Probes, t *Trial) (err error) {
	before, err := applied.Results()
	if err != nil {
		return err
	}
	if o.look, err = o.watch(ctx, false); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.look.close(ctx)) }()
	if err := o.look.follow(ctx, o.For, o.session.Done()); err != nil {
		return err
	}
	if t.Results, err = applied.Results(); err != nil {
		return err
	}
	now, err := o.look.meter.Read()
	if err != nil {
		return err
	}
	again, err := overhead.MeasureProbe(ctx, o.session)
	if err != nil {
		return err
	}
	o.probe = o.probe.Least(again)
	t.Took, t.Samples = o.look.took, o.look.table.Samples
	used := max(o.look.first.Until(now).Rest, time.Duration(minUse*float64(t.Took)))
	ended := t.price(p, o.probe, used, grown(before, t.Results))
	covers := func(m classfile.MethodRef) bool { return ended[m] >= minEnded }
	if o.look.bias != "" { // thread dumps do not distinguish overloads
		covers = func(m classfile.MethodRef) bool { return ended[anyOverload(m)] >= minEnded }
	}
	t.Coverage, t.Bare = cover(o.look.paths, covers)
	return nil
}

// A growth is how many calls of a method began and ended between two results.
type growth struct{ calls, timed uint64 }

// grown returns the growth of each method. Rows never disappear, and their figures never
// sink.
func grown(before, after *liveprobes.Results) map[classfile.MethodRef]growth {
	grown := make(map[classfile.MethodRef]growth)
	for _, row := range after.Rows {
		m := classfile.MethodRef{Class: row.Class, Name: row.Name, Descriptor: row.Descriptor}
		grown[m] = growth{grown[m].calls + row.Calls, grown[m].timed + row.Timed}
	}
	for _, row := range before.Rows {
		m := classfile.MethodRef{Class: row.Class, Name: row.Name, Descriptor: row.Descriptor}
		grown[m] = growth{grown[m].calls - row.Calls, grown[m].timed - row.Timed}
	}
	return grown
}

// price sets what calls cost, as a part of the program's processor time. It returns how many
// calls of each method have ended, and of all methods of the same name together.
func (t *Trial) price(p *Proposal, probe overhead.ProbeCost, used time.Duration, grown map[classfile.MethodRef]growth) map[classfile.MethodRef]uint64 {
	thins := make(map[classfile.MethodRef]bool)
	for _, c := range p.Choices {
		for _, m := range c.Members {
			thins[m] = c.Thins
		}
	}
	ended := make(map[classfile.MethodRef]uint64)
	nanos := 0.0
	for m, g := range grown {
		ended[m] += g.timed
		ended[anyOverload(m)] += g.timed
		t.Calls += g.calls
		nanos += float64(g.calls) * probe.Call(float64(g.calls)/t.Took.Seconds(), thins[m])
	}
	t.Cost = nanos / float64(used)
	return ended
}
