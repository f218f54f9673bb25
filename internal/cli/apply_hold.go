package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// An applyRun is a sonde apply that holds a JVM.
type applyRun struct {
	*applying
	visit
	watch  *liveprobes.Watch
	traces *appliedTraces
	server *handover.Server   // nil where nobody can ask
	stop   context.CancelFunc // ends what watch does by itself
	ran    chan struct{}      // closed when it has

	asked    chan struct{} // closed when another Sonde wants the end
	askOnce  sync.Once
	finished chan struct{} // has one when the last probe may have ended

	turn   sync.Mutex         // held while another Sonde's set is applied
	stays  context.Context    // ends when the JVM is about to be left
	depart context.CancelFunc // ends that

	state   sync.Mutex                   // of all below
	ended   map[string]liveprobes.Ending // by probe
	shownAt time.Time
	shown   map[rowKey]uint64 // calls at that time
}

// hold has this Sonde hold the JVM until the end. Where begin is not nil it is called
// once the set is applied.
func (c *applying) hold(ctx context.Context, jvm *process.JVM, begin func() error) error {
	defer outliveReader()()
	r := &applyRun{
		applying: c, visit: visit{choice: &c.choice, screen: newScreen(c.streams)},
		asked: make(chan struct{}), finished: make(chan struct{}, 1), ended: make(map[string]liveprobes.Ending),
	}
	r.stays, r.depart = context.WithCancel(context.WithoutCancel(ctx))
	defer r.depart()
	if begin == nil { // one that sonde run --hold keeps from beginning
		begin = func() error {
			_, err := targetfs.LetGo(jvm)
			return err
		}
	}
	if err := r.enterSet(ctx, begin); err != nil {
		return err
	}
	defer func() { _ = r.session.Release() }()
	return r.finish(ctx, r.stay(ctx))
}

// enterSet attaches and applies the set. Where that fails or is interrupted, whatever
// was done is undone.
func (r *applyRun) enterSet(ctx context.Context, begin func() error) (err error) {
	start := time.Now()
	if err := r.open(ctx, commandLine("apply", []string{"-f", r.title})); err != nil {
		return err
	}
	jvm := r.session.JVM()
	r.screen.say("attached to %d (JDK %v, %s) in %s", r.pid, r.session.JDK(), orDash(printable(jvm.Main)), durationText(time.Since(start)))
	r.watch = liveprobes.New(r.session, liveprobes.Options{Flags: arena.Spreads, Notice: r.remark, Ended: r.probeEnded})
	report, err := r.watch.Apply(ctx, r.set)
	r.began = time.Now()
	if err != nil {
		r.watch.Close()
		return r.abandon(ctx, unfit(err))
	}
	r.tellApplied(report)
	r.traces = newAppliedTraces(r.session, r.watch, r.set, r.keep)
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop, r.ran = stop, make(chan struct{})
	go func() {
		defer close(r.ran)
		if err := r.watch.Run(running); err != nil && running.Err() == nil {
			r.remark(oneLine(err))
		}
	}()
	if r.server, err = handover.Listen(ctx, places(), targetOf(jvm), r); err != nil {
		r.remark("other Sondes cannot hand over to this one: " + oneLine(err))
	}
	if err := begin(); err != nil {
		r.remark(oneLine(err))
	}
	if r.ready {
		if err := tellReady(); err != nil {
			r.remark(oneLine(err))
			r.End() // who started it takes it for failed
		}
	}
	return nil
}

// probeEnded is told by the watch of probes that end by themselves.
func (r *applyRun) probeEnded(probe string, why liveprobes.Ending) {
	r.state.Lock()
	r.ended[probe] = why
	r.state.Unlock()
	r.screen.say("probe %s has ended: %s", probe, endingText(why))
	select {
	case r.finished <- struct{}{}:
	default: // it will look anyway
	}
}

func endingText(why liveprobes.Ending) string {
	switch why {
	case liveprobes.EndedByTime:
		return "its time is over"
	case liveprobes.EndedByCalls:
		return "it has had its calls"
	}
	return string(why)
}

// Apply is asked by other Sondes.
func (r *applyRun) Apply(ctx context.Context, set *probeset.Set, dryRun bool) (*handover.Outcome, error) {
	changes := probeset.Diff(r.watch.Set(), set)
	awaiting := r.watch.Awaits()
	if dryRun || len(changes) == 0 && awaiting == 0 {
		return &handover.Outcome{Changes: changes, Awaiting: awaiting}, nil
	}
	r.turn.Lock()
	defer r.turn.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.stays, cancel)()
	report, err := r.watch.Apply(ctx, set)
	if r.stays.Err() != nil {
		return nil, errors.New("it is about to end: try again when it has")
	}
	if err != nil {
		return nil, unfit(err)
	}
	r.state.Lock()
	for _, p := range set.Probes {
		delete(r.ended, p.Name)
	}
	r.state.Unlock()
	r.screen.say("another Sonde has changed what is wanted: %s", count(len(changes), "change", "changes"))
	return &handover.Outcome{
		Changes: report.Changes, Woven: report.Woven, Removed: report.Removed, Switched: report.Switched,
		Notes: append(reportNotes(report), report.Warnings...),
	}, nil
}

// Wanted is asked by other Sondes.
func (r *applyRun) Wanted() *probeset.Set { return r.watch.Set() }

// Status is asked by other Sondes.
func (r *applyRun) Status() *handover.Status {
	status := &handover.Status{
		Sonde: os.Getpid(), Command: commandLine("apply", []string{"-f", r.title}), Since: r.began.Round(time.Millisecond), Probes: []handover.Running{},
	}
	if results, err := r.watch.Results(); err == nil { // else the end will say it
		status.Probes = r.rows(results, time.Since(r.began), nil)
	}
	return status
}

// End is asked by other Sondes.
func (r *applyRun) End() { r.askOnce.Do(func() { close(r.asked) }) }

// tellApplied says what a set found in the JVM.
func (r *applyRun) tellApplied(report *liveprobes.Report) {
	methods := map[string]bool{}
	for _, p := range report.Probes {
		for _, method := range p.Methods {
			methods[method] = true
		}
	}
	took := ""
	if report.Installation != nil {
		took = costOf(batchCosts(report.Installation.Batches))
	}
	r.screen.say("hooks in %s for %s and %s%s%s", count(len(methods), "method", "methods"),
		count(len(report.Probes), "probe", "probes"), count(len(report.Tags), "tag", "tags"), sessionWovenText(r.session), took)
	for _, note := range reportNotes(report) {
		r.remark(note)
	}
	r.tellLeft(r.unwoven())
	r.toldLeft = len(r.concerned()) // the notes tell of the rest
}

// unwoven is what of the wanted could not be woven: classes of the JDK that are woven for
// its sake tell of themselves.
func (r *applyRun) unwoven() []session.LeftAlone {
	return slices.DeleteFunc(r.session.LeftAlone(), func(l session.LeftAlone) bool { return !r.watch.Concerns(l.Class) })
}

// concerned is all of the wanted that was left alone, also by rules and because what was
// asked does not fit.
func (r *applyRun) concerned() []session.LeftAlone {
	left := r.unwoven()
	for _, l := range r.watch.LeftOut() {
		if one := leftOut(l); !slices.Contains(left, one) {
			left = append(left, one)
		}
	}
	return left
}

// reportNotes is what a user should read of how a set was applied.
func reportNotes(report *liveprobes.Report) []string {
	var notes []string
	tell := func(kind string, a liveprobes.Applied) {
		for _, pattern := range a.Unmatched {
			notes = append(notes, fmt.Sprintf("%s %s: no loaded method matches %s: hooks go in when one loads", kind, a.Name, pattern))
		}
		var left []session.LeftAlone
		for _, l := range a.LeftOut {
			left = append(left, leftOut(l))
		}
		for _, g := range groupLeft(left) {
			first := g.left[0]
			notes = append(notes, fmt.Sprintf("%s %s does not act in %s, such as %s: %s", kind, a.Name, count(len(g.left), "class or method", "classes or methods"), leftName(first), first.Reason))
		}
		for _, text := range a.Redacted {
			notes = append(notes, fmt.Sprintf("%s %s: %s is redacted; allow: in the file shows it", kind, a.Name, text))
		}
		if a.Untraced > 0 {
			notes = append(notes, fmt.Sprintf("%s %s: %s further below are not traced", kind, a.Name, count(a.Untraced, "method", "methods")))
		}
	}
	for _, a := range report.Probes {
		tell("probe", a)
	}
	for _, a := range report.Tags {
		tell("tag", a)
	}
	return notes
}
