package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/text"
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
	finished atomic.Bool // a probe has ended, perhaps the last

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
		asked: make(chan struct{}), ended: make(map[string]liveprobes.Ending),
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
	r.screen.say("attached to %d (JDK %v, %s) in %s", r.pid, r.session.JDK(), format.OrDash(format.Printable(jvm.Main)), format.Duration(time.Since(start)))
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
			r.remark(format.OneLine(err))
		}
	}()
	if r.server, err = handover.Listen(ctx, places(), targetOf(jvm), r); err != nil {
		r.remark("other Sondes cannot hand over to this one: " + format.OneLine(err))
	}
	if err := begin(); err != nil {
		r.remark(format.OneLine(err))
	}
	if r.ready {
		if err := tellReady(); err != nil {
			r.remark(format.OneLine(err))
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
	r.finished.Store(true)
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
	r.screen.say("another Sonde has changed what is wanted: %s", format.Count(len(changes), "change", "changes"))
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
func (r *applyRun) End() {
	r.askOnce.Do(func() {
		r.screen.say("another Sonde has asked this one to end")
		close(r.asked)
	})
}

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
	r.screen.say("hooks in %s for %s and %s%s%s", format.Count(len(methods), "method", "methods"),
		format.Count(len(report.Probes), "probe", "probes"), format.Count(len(report.Tags), "tag", "tags"), sessionWovenText(r.session), took)
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
			notes = append(notes, fmt.Sprintf("%s %s does not act in %s, such as %s: %s", kind, a.Name, format.Count(len(g.left), "class or method", "classes or methods"), leftName(first), first.Reason))
		}
		for _, text := range a.Redacted {
			notes = append(notes, fmt.Sprintf("%s %s: %s is redacted; allow: in the file shows it", kind, a.Name, text))
		}
		if a.Untraced > 0 {
			notes = append(notes, fmt.Sprintf("%s %s: %s further below are not traced", kind, a.Name, format.Count(a.Untraced, "method", "methods")))
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

// stay shows what happens until the end, and returns why that came.
func (r *applyRun) stay(ctx context.Context) ending {
	s := stay{done: r.session.Done(), why: r.endedBy, asked: r.asked}
	s.endAfter(r.duration, r.began)
	var reading *task
	reading = s.addTask(readEvery, func() ending {
		reading.every = r.readTraces()
		if r.finished.Swap(false) && len(r.watch.Set().Probes) == 0 {
			return endedProbes
		}
		return goesOn
	})
	s.addTask(r.interval, func() ending { return afterWrite(r.show()) })
	return s.wait(ctx)
}

// readTraces reads what was traced, and returns how long to wait until the next time.
func (r *applyRun) readTraces() time.Duration {
	_ = r.traces.step() // the end reports errors
	if traces(r.watch.Set()) {
		return readEvery
	}
	return idleEvery
}

// show tells how it stands.
func (r *applyRun) show() error {
	isDue := r.json && r.paced
	if !isDue && (r.json || r.screen.silent) {
		return nil
	}
	look, err := r.look()
	if err != nil {
		return nil //nolint:nilerr // the end will say it
	}
	if isDue {
		return r.writeLook(look)
	}
	r.traces.count()
	look.traced = r.traces.line()
	width, height := r.screen.size()
	r.screen.draw(look.liveLines(width, height))
	return nil
}

// finish tells the end: what was measured is read before the hooks go. Those who wait
// for the end are told when they are out.
func (r *applyRun) finish(ctx context.Context, ended ending) error {
	r.depart()
	r.turn.Lock() // nothing is changed any more, nor half changed
	defer r.turn.Unlock()
	r.stop()
	<-r.ran
	r.state.Lock()
	r.shown, r.shownAt = nil, time.Time{} // rates are over all
	r.state.Unlock()
	look, failure := r.look()
	traced := r.finishTraces(ctx, ended)
	r.screen.clear()
	farewell, err := r.leave(ctx, ended)
	failure = errors.Join(failure, err)
	r.watch.Close()
	if look != nil {
		look.final, look.ended, look.traced = true, ended, r.traces.line()
		failure = errors.Join(r.write(look), failure)
	}
	failure = errors.Join(failure, r.writeTraces(traced))
	r.tellFarewell(farewell)
	if r.server != nil {
		failure = errors.Join(failure, r.server.Close())
	}
	return failure
}

// write writes the result.
func (r *applyRun) write(look *applyLook) error {
	r.tellLate(r.concerned())
	return r.writeLook(look)
}

func (r *applyRun) writeLook(look *applyLook) error {
	if r.json {
		return document.Write(r.out, r.describe(look))
	}
	out := bufio.NewWriter(r.out) // keeps the first error until Flush
	format.WriteTable(out, applyColumns, runningTexts(look.rows), r.outWidth())
	_, _ = fmt.Fprintf(out, "\n%s\n", look.headline())
	for _, line := range look.remarks() {
		_, _ = fmt.Fprintln(out, line)
	}
	return out.Flush()
}

// appliedTraces keeps the latest transactions of probes that trace. It is for one
// goroutine.
type appliedTraces struct {
	*trace.RingReader
	session *session.Session
	names   *trace.LiveNames
	redact  *trace.Redactor
	most    int
	kept    []*trace.Transaction // in the order they ended
	older   uint64               // that gave their place to later ones
	sum     trace.Rings
}

const (
	// idleEvery is how often rings are looked for while no probe traces.
	idleEvery = 200 * time.Millisecond
	// shownCalls is how many rows the drawing of the slowest transaction has.
	shownCalls = 40
)

func newAppliedTraces(s *session.Session, w *liveprobes.Watch, set *probeset.Set, most int) *appliedTraces {
	t := &appliedTraces{session: s, names: trace.NewLiveNames(w), most: most}
	// What one probe may show another never reads: each leaves its own secrets out.
	var allow []string
	for _, p := range set.Probes {
		allow = append(allow, p.Allow...)
	}
	t.redact = trace.NewRedactor(allow)
	t.RingReader = trace.NewRingReader(s, trace.NewAssembler(trace.Options{
		Names: t.names, Redact: t.redact, Clock: trace.Clock{Wall: time.Now(), Nanos: uint64(s.Now())}, Settle: settleTime,
	}))
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
	if _, err := t.Read(); err != nil {
		return err
	}
	t.keep(t.Assembler.Take(uint64(t.session.Now())))
	return nil
}

func (t *appliedTraces) keep(taken []*trace.Transaction) {
	if len(taken) == 0 {
		return
	}
	t.names.Refresh()
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
	if sum, err := t.Sum(); err == nil {
		t.sum = sum
	}
}

// line is how it stands in one line; empty where nothing was traced.
func (t *appliedTraces) line() string {
	if t.sum.Opened == 0 {
		return ""
	}
	text := fmt.Sprintf("traces: %s kept of %s begun", format.Grouped(len(t.kept)), format.Grouped(int(t.sum.Opened)))
	if t.older > 0 {
		text += fmt.Sprintf(", %s before those", format.Grouped(int(t.older)))
	}
	if t.sum.Discarded > 0 {
		text += fmt.Sprintf(", %s not chosen", format.Grouped(int(t.sum.Discarded)))
	}
	if t.sum.Dropped > 0 {
		text += fmt.Sprintf(", %s only counted", format.Count(int(t.sum.Dropped), "call", "calls"))
	}
	return text
}

// finishTraces reads what was written last, while the JVM is still there.
func (r *applyRun) finishTraces(ctx context.Context, ended ending) *trace.Trace {
	t := r.traces
	_, _ = t.Read() // what cannot be read is missing, as the end says
	t.count()
	t.keep(t.Assembler.Flush())
	t.names.Refresh()
	for _, one := range t.kept {
		one.Resolve(t.names, t.redact)
	}
	if !ended.isOut() && len(t.kept) > 0 {
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
		Losses: trace.Losses{Counts: t.Assembler.Counts(), NotChosen: t.sum.Discarded, Dropped: t.sum.Dropped, Beyond: t.older},
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
		tell, err := r.writeOutputs(r.outputs, func(path string) error { return report.WriteTraceFile(path, t, version()) })
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
	if _, err := fmt.Fprintf(r.out, "\nthe slowest of %s; -o FILE writes all\n", format.Count(len(t.Transactions), "transaction that was kept", "transactions that were kept")); err != nil {
		return err
	}
	return text.WriteTransaction(r.out, number, slowest, text.Terminal{Width: width, Colours: hasColours(width), Rows: shownCalls})
}

// hasColours reports whether a terminal of a width, 0 for none, shows styles.
func hasColours(width int) bool {
	return width > 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
