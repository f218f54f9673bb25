package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/text"
	"github.com/sonde-jvm/sonde/internal/service"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// An applyRun is a sonde apply that holds a JVM.
type applyRun struct {
	*applyCommand
	liveSession
	holder *handover.Holder
	traces *trace.Reader
	goals  *goalsRun
	kept   []*trace.Transaction // the latest, in the order they ended
	older  uint64               // transactions that were dropped for later ones

	shownAt time.Time                  // the last reading
	shown   map[handover.RowKey]uint64 // calls at that time
}

func (c *applyCommand) holdHere(ctx context.Context, jvm *process.JVM) error {
	defer ignoreBrokenPipe()()
	if err := c.mayRun(c.set); err != nil {
		return err
	}
	r := &applyRun{applyCommand: c, liveSession: liveSession{target: &c.targetFlags, screen: newScreen(c.streams)}}
	r.goals = &goalsRun{applyRun: r}
	if err := r.enterSet(ctx, jvm); err != nil {
		return err
	}
	defer func() { _ = r.session.Release() }()
	return r.finish(ctx, r.stay(ctx))
}

func (r *applyRun) commandLine() string { return commandLine("apply", []string{"-f", r.title}) }

// enterSet attaches and applies the set. If that fails or is interrupted, everything is
// undone.
func (r *applyRun) enterSet(ctx context.Context, jvm *process.JVM) error {
	if err := r.open(ctx, r.commandLine()); err != nil {
		return err
	}
	r.pace.Rest(ctx)
	r.cost = overhead.NewMeter(r.session, arena.On|arena.Flat|arena.Timed|arena.Spreads, 0)
	r.cost.Measure(ctx)
	holder, report, err := handover.Hold(ctx, r.session, r.set, handover.HolderOptions{
		Command: r.commandLine(), Notice: r.remark, Explain: unfit, Notes: reportNotes,
		Ended: func(e liveprobes.End) {
			r.screen.say("probe %s has ended: %s", e.Probe, endingText(e.Why))
		},
		Changed: func(changes []probeset.Change) {
			r.screen.say("another sonde apply has changed the probe set: %s%s", format.Count(len(changes), "change", "changes"), fromZero(changes))
			r.goals.isChanged.Store(true)
		},
	})
	if err != nil {
		return r.abandon(ctx, err)
	}
	r.holder, r.began = holder, holder.Began
	r.govern()
	r.isTraced = slices.ContainsFunc(r.set.Probes, isTraced)
	r.reportSet(report)
	// A probe never reads what only another one allows: each removes its own secrets.
	var allow []string
	for _, p := range r.set.Probes {
		allow = append(allow, p.Allow...)
	}
	r.traces = trace.NewReader(r.session, holder.Probes, allow, settleTime)
	r.handleProbes()
	r.begin(ctx, jvm)
	holder.Begin(r.began)
	r.cost.Measure(ctx)
	r.reportCost()
	r.goals.begin(ctx)
	r.ready()
	return nil
}

// handleProbes lets other sonde apply commands read the probes of a look, and change them.
func (r *applyRun) handleProbes() {
	if r.streams.look == nil {
		return
	}
	r.streams.look.Handle("probes", func(w http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodGet {
			_, _ = w.Write(r.holder.Probes.Set().YAML()) // a client that does not read it has gone
			return
		}
		service.Answer(w, func() (any, error) {
			text, err := io.ReadAll(io.LimitReader(request.Body, probeset.MaxBytes+1))
			if err != nil {
				return nil, err
			}
			set, err := probeset.Parse(text, "probes")
			if err == nil {
				err = r.mayRun(set)
			}
			if err != nil {
				return nil, err
			}
			// Not cancelled if the client goes away: half of a set must not stay applied.
			ctx, cancel := context.WithTimeout(context.Background(), applyPatience)
			defer cancel()
			return r.holder.Apply(ctx, set, request.URL.Query().Get("dryRun") == "true")
		})
	})
	r.streams.look.Handle("status", func(w http.ResponseWriter, _ *http.Request) {
		service.Answer(w, func() (any, error) {
			status := r.holder.Status()
			if lines := r.goals.said.Load(); lines != nil {
				status.Goals = *lines
			}
			return status, nil
		})
	})
}

// applyPatience bounds the time that applying a set may take.
const applyPatience = 2 * time.Minute

func endingText(why liveprobes.Ending) string {
	switch why {
	case liveprobes.EndedByTime:
		return "its time (for:) is over"
	case liveprobes.EndedByCalls:
		return "it has measured the requested number of calls"
	}
	return string(why)
}

func (r *applyRun) reportSet(report *liveprobes.Report) {
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
	r.reportLeft(r.unwoven(r.holder.Probes))
	r.reportedLeft = len(r.concerned()) // the notes report the rest
}

// concerned returns everything that the set asks for and has no hook, also because of
// rules or of conditions that do not fit.
func (r *applyRun) concerned() []session.LeftAlone {
	return withLeftOut(r.unwoven(r.holder.Probes), r.holder.Probes.LeftOut())
}

func reportNotes(report *liveprobes.Report) []string {
	var notes []string
	add := func(kind string, a probes.Applied) {
		for _, pattern := range a.Unmatched {
			hint := a.Hints[pattern]
			note := fmt.Sprintf("%s %s: %s; a method that loads later gets its hook then", kind, a.Name, cmp.Or(hint.Lack, "no loaded method matches "+pattern))
			if len(hint.Near) > 0 {
				note += "; similar: " + strings.Join(hint.Near, ", ")
			}
			notes = append(notes, note)
		}
		for _, g := range groupLeft(withLeftOut(nil, a.LeftOut)) {
			first := g.List[0]
			notes = append(notes, fmt.Sprintf("%s %s has no hook in %s, such as %s: %s", kind, a.Name, format.Count(len(g.List), "class or method", "classes or methods"), text.LeftName(first), first.Reason))
		}
		for _, text := range a.Redacted {
			notes = append(notes, fmt.Sprintf("%s %s: %s is redacted; use allow: in the file to show it", kind, a.Name, text))
		}
		if a.Untraced > 0 {
			notes = append(notes, fmt.Sprintf("%s %s: %s not traced, because the limit of traced methods is reached; use fewer levels", kind, a.Name, format.Count(a.Untraced, "method is", "methods are")))
		}
	}
	for _, a := range report.Probes {
		add("probe", a)
	}
	for _, a := range report.Tags {
		add("tag", a)
	}
	return notes
}

func (r *applyRun) stay(ctx context.Context) ending {
	s := waitLoop{done: r.session.Done(), why: r.endedBy, screen: r.screen}
	s.endAfter(r.duration, r.began)
	var reading *task
	reading = s.addTask(readEvery, func() ending {
		if _, err := r.traces.Read(); err == nil { // the end reports errors
			ended := r.traces.TakeNow()
			r.goals.add(ended)
			r.keepLatest(ended)
		}
		reading.every = idleEvery
		if slices.ContainsFunc(r.holder.Probes.Set().Probes, isTraced) {
			reading.every = readEvery
		}
		if r.holder.IsFinished() {
			return endedProbes
		}
		return notEnded
	})
	var evaluation *task
	evaluation = s.addTask(r.goals.every(), func() ending {
		r.goals.evaluate(ctx)
		evaluation.every = r.goals.every()
		return notEnded
	})
	s.addTask(r.interval, func() ending { return afterWrite(r.show()) })
	return s.wait(ctx)
}

// keepLatest keeps transactions that have ended, up to --keep.
func (r *applyRun) keepLatest(ended []*trace.Transaction) {
	r.kept = append(r.kept, ended...)
	if more := len(r.kept) - r.keep; more > 0 {
		r.older += uint64(more)
		r.kept = slices.Clone(r.kept[more:])
	}
}

func isTraced(p probeset.Probe) bool { return p.Level >= probeset.Trace }

func (r *applyRun) show() error {
	isDue := r.json && r.paced
	if !isDue && (r.json || r.screen.silent) {
		return nil
	}
	look, err := r.look()
	if err != nil {
		return nil //nolint:nilerr // the end reports it
	}
	if isDue {
		return r.writeLook(look)
	}
	_ = r.traces.Count() // the end reports errors
	look.traced = r.tracedLine()
	r.screen.show(look.frame)
	return nil
}

// finish reads what was measured before the hooks go out, and writes it.
func (r *applyRun) finish(ctx context.Context, ended ending) error {
	r.goals.end()
	r.holder.Stop()
	r.shown, r.shownAt = nil, time.Time{} // rates of the whole time
	look, failure := r.look()
	if found, err := r.holder.Probes.Results(); err == nil && len(found.Rows) == 0 {
		failure = errors.New("no method that the probes name has got a hook: nothing was measured")
	}
	traced := r.finishTraces(ctx, ended)
	r.screen.clear()
	farewell, err := r.leave(ctx, ended)
	failure = errors.Join(failure, err)
	traced.Disturbed, traced.Disturbance = r.disturbed(), r.disturbance
	r.holder.Probes.Close()
	if look != nil {
		look.Final, look.Ended, look.traced, look.Disturbed, look.Disturbance = true, string(ended), r.tracedLine(), r.disturbed(), r.disturbance
		r.reportLate(r.concerned())
		r.keepResult(r.describe(look), func(out io.Writer) { look.write(out, 0) })
		failure = errors.Join(r.writeLook(look), failure)
	}
	for _, suffix := range report.Traces("").Suffixes() { // the result itself is text and JSON
		if format := strings.TrimPrefix(suffix, "."); len(r.kept) > 0 && format != "txt" && format != "json" && r.streams.look != nil {
			failure = errors.Join(failure, r.streams.look.Keep(format, func(path string) error { return report.Traces(version()).WriteFile(path, traced) }))
		}
	}
	failure = errors.Join(failure, r.writeTraces(traced))
	r.reportFarewell(farewell)
	return failure
}

func (r *applyRun) writeLook(look *applyLook) error {
	if r.json {
		return document.Write(r.out, r.describe(look))
	}
	return r.print(func(out io.Writer) { look.write(out, r.outWidth()) })
}

func (l *applyLook) write(out io.Writer, width int) {
	writeDisturbed(out, l.Disturbed)
	format.WriteTable(out, applyColumns, runningTexts(l.Probes), width, applyExpendable...)
	writeRecords(out, l.Records, width)
	_, _ = fmt.Fprintf(out, "\n%s\n", l.headline())
	writeLines(out, l.remarks())
	writeDisturbance(out, l.Disturbance)
}

const (
	// idleEvery is how often rings are read while no probe traces.
	idleEvery = 200 * time.Millisecond
	// shownCalls is how many rows the drawing of the slowest transaction has.
	shownCalls = 40
)

// tracedLine sums up the traces; empty if nothing was traced.
func (r *applyRun) tracedLine() string {
	rings := r.traces.Rings
	if rings.Opened == 0 {
		return ""
	}
	text := fmt.Sprintf("traces: %s kept of %s begun", format.Grouped(len(r.kept)), format.Grouped(rings.Opened))
	if r.older > 0 {
		text += fmt.Sprintf("; %s older ones were dropped", format.Grouped(r.older))
	}
	return text + ringsText(rings)
}

// ringsText is what rings do not hold.
func ringsText(sum trace.Rings) (text string) {
	if sum.Discarded > 0 {
		text = fmt.Sprintf(", %s not chosen", format.Grouped(sum.Discarded))
	}
	if sum.Dropped > 0 {
		text += fmt.Sprintf(", %s only counted", format.Count(sum.Dropped, "call", "calls"))
	}
	return text
}

// finishTraces reads what was written last, while the JVM is still there.
func (r *applyRun) finishTraces(ctx context.Context, ended ending) *trace.Trace {
	rest, _ := r.traces.Finish() // records that cannot be read any more are missing
	r.keepLatest(rest)
	r.traces.Complete(r.kept)
	if !ended.isOut() && len(r.kept) > 0 {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), namesLimit)
		defer cancel()
		if names, err := r.session.ThreadNames(ctx); err == nil { // else they have numbers
			for _, one := range r.kept {
				one.NameThreads(names)
			}
		}
	}
	return r.describeTraces()
}

func (r *applyRun) describeTraces() *trace.Trace {
	d := &trace.Trace{
		Target:  trace.Target{PID: r.pid, Command: r.session.JVM().Main, JDK: fmt.Sprint(r.session.JDK())},
		Command: r.commandLine(), Began: r.began, Took: time.Since(r.began), Transactions: r.kept,
		Losses: trace.Losses{Counts: r.traces.Counts(), NotChosen: r.traces.Rings.Discarded, Dropped: r.traces.Rings.Dropped, Beyond: r.older},
	}
	for _, p := range r.set.Probes {
		if isTraced(p) || p.Goal {
			for _, method := range p.Methods {
				d.Methods = append(d.Methods, method.String())
			}
			d.Levels = max(d.Levels, p.Levels)
		}
	}
	return d
}

// writeTraces writes the files, or without files draws the slowest transaction.
func (r *applyRun) writeTraces(t *trace.Trace) error {
	if len(r.outputs) > 0 {
		reportWritten, err := r.writeOutputs(r.outputs, func(path string) error { return report.Traces(version()).WriteFile(path, t) })
		reportWritten()
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
	return text.WriteTransaction(r.out, number, slowest, text.Terminal{Width: width, Colours: r.hasColours(width), Rows: shownCalls})
}

// hasColours reports whether a terminal of a width, 0 for none, shows colours.
func (s streams) hasColours(width int) bool {
	if s.look != nil {
		return s.look.Terminal().Colours
	}
	return width > 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

type applyLook struct {
	document.Applied
	elapsed time.Duration
	traced  string   // the state of traces, in one line
	goals   []string // the state of each, in one line
	calls   uint64   // calls on which probes acted
	atLeast bool     // calls is a lower bound, because rows may share calls
}

func (r *applyRun) look() (*applyLook, error) {
	found, err := r.holder.Probes.Results()
	if err != nil {
		return nil, err
	}
	now, since := time.Now(), r.shownAt
	if r.shown == nil {
		since = r.began
	}
	look := &applyLook{elapsed: now.Sub(r.began), goals: r.goals.lines()}
	look.Applied = document.Applied{
		PID: r.pid, JDK: r.session.JDK().String(), Main: r.session.JVM().Main, File: r.title, Began: r.began.Round(time.Millisecond),
		Seconds: look.elapsed.Seconds(), Probes: r.holder.Rows(found, now.Sub(since), r.shown), Threads: found.Threads,
		Dropped: found.Dropped, ContextsLost: found.ContextsLost, Ambiguous: found.Ambiguous, Records: results.AddRecords(found.Records),
	}
	look.calls, look.atLeast = found.Calls()
	r.shownAt, r.shown = now, make(map[handover.RowKey]uint64, len(look.Probes))
	for i := range look.Probes {
		r.shown[look.Probes[i].Key()] = look.Probes[i].Calls
	}
	return look, nil
}

func (l *applyLook) headline() string {
	calls := format.Count(int(l.calls), "call", "calls")
	if l.atLeast {
		calls = "at least " + calls
	}
	return fmt.Sprintf("process %d, %s: %s, %s, %s", l.PID, format.Duration(l.elapsed), probesText(l.Probes), calls, format.Count(l.Threads, "thread", "threads"))
}

// probesText counts the probes of rows: a probe has a row per sequence and label.
func probesText(rows []handover.Running) string {
	probes := map[string]bool{}
	for i := range rows {
		probes[rows[i].Name] = true
	}
	return format.Count(len(probes), "probe", "probes")
}

// remarks returns the state of traces, and what is missing in the results.
func (l *applyLook) remarks() []string {
	lines := slices.Clone(l.goals)
	if l.traced != "" {
		lines = append(lines, l.traced)
	}
	if slices.ContainsFunc(l.Probes, func(row handover.Running) bool { return row.LowerBound }) {
		lines = append(lines, lowerBoundNote)
	}
	lines = append(lines, arenaNotes(0, l.Dropped)...)
	return append(lines, contextNotes(l.ContextsLost, l.Ambiguous)...)
}

var (
	applyColumns = format.Columns(">CALLS", ">CALLS/S", ">MEAN", ">P99", ">THREW", ">UNDECIDED", "LEVEL", "PROBE", "WHERE")
	// applyExpendable are the columns that a narrow terminal drops, in this order.
	applyExpendable = []string{"LEVEL", "THREW", "MEAN", "CALLS", "UNDECIDED"}
)

func runningTexts(rows []handover.Running) [][]string {
	texts := make([][]string, 0, len(rows))
	for i := range rows {
		row := &rows[i]
		mean, p99, level := "-", "-", row.Level
		if row.Timed > 0 {
			mean = format.Call(row.MeanNanos)
		}
		if row.P99Nanos > 0 {
			p99 = format.Call(row.P99Nanos)
		}
		if row.Ended != "" {
			level = "ended"
		}
		where := "everywhere"
		switch {
		case row.Within != "" && row.Label != "":
			where = row.Within + "  " + row.Label
		case row.Within != "" || row.Label != "":
			where = row.Within + row.Label
		}
		calls := callsText(row.Calls, row.LowerBound)
		if row.Level == handover.LevelOff && row.Calls == 0 {
			calls = handover.LevelOff
		}
		texts = append(texts, []string{
			calls, format.AtLeast(row.LowerBound, format.Rate(row.PerSecond)), mean, p99, format.Grouped(int(row.Threw)), format.Grouped(int(row.Undecided)),
			format.OrDash(level), row.Name, format.Printable(where),
		})
	}
	return texts
}

var (
	recordColumns    = format.Columns(">COUNT", ">SUM", ">MEAN", ">P50", ">P99", ">MAX", "KIND", "PROBE", "RECORD")
	recordExpendable = []string{"P50", "KIND", "P99", "MAX", "SUM", "PROBE"}
)

func writeRecords(out io.Writer, records []results.Recorded, width int) {
	if len(records) > 0 {
		_, _ = fmt.Fprintln(out)
		format.WriteTable(out, recordColumns, recordTexts(records), width, recordExpendable...)
	}
}

func recordTexts(records []results.Recorded) (texts [][]string) {
	for i := range records {
		r := &records[i]
		sum, mean, p50, p99, largest := "-", "-", "-", "-", "-"
		if r.Valued > 0 {
			sum, mean, largest = format.AtLeast(r.Valued < r.Count, format.Grouped(r.Sum)), strconv.FormatFloat(r.Mean, 'f', 1, 64), format.Grouped(r.Max)
		}
		if r.Max == 0 && r.Sum > 0 { // one that was recorded earlier is larger
			largest = "-"
		}
		if r.Kind == weave.Histogram.String() && r.Valued > 0 {
			p50, p99 = format.Grouped(uint64(r.P50)), format.Grouped(uint64(r.P99))
		}
		name := r.Name
		switch {
		case r.Kind == weave.Event.String() && strings.HasPrefix(r.Label, r.Name+"="):
			name = r.Label
		case r.Label != "":
			name += "  " + r.Label
		}
		texts = append(texts, []string{format.Grouped(r.Count), sum, mean, p50, p99, largest, r.Kind, r.Probe, format.Printable(format.OrDash(name))})
	}
	return texts
}

// recordLines returns the first records as a terminal shows them above another table.
func recordLines(records []results.Recorded, width int) []string {
	const most = 12
	if len(records) == 0 {
		return nil
	}
	columns, texts := format.FitTable(recordColumns, recordTexts(records[:min(len(records), most)]), recordExpendable, width)
	return format.TableLines(columns, texts, width)
}

func (l *applyLook) frame(width int) service.Frame {
	shown, hidden := topOf(l.Probes, mostRows)
	columns, texts := format.FitTable(applyColumns, runningTexts(shown), applyExpendable, width)
	titles, rows := format.TableRows(columns, texts, width, func(i int, row *format.Row) {
		row.Name = strings.Join([]string{shown[i].Name, shown[i].Within, shown[i].Label}, " ")
	})
	lines := slices.Concat([]string{l.headline()}, l.remarks(), recordLines(l.Records, width))
	return service.Frame{PID: l.PID, Lines: lines, Titles: titles, Rows: rows, Foot: moreLine(hidden)}
}

func (r *applyRun) describe(look *applyLook) document.Applied {
	d := look.Applied
	if d.Goals = r.goals.describe(); len(d.Goals) > 0 {
		d.HookShares = &document.HookCourse{Budget: cmp.Or(r.budget, r.usualBudget), Largest: r.goals.shares.Largest(), Course: slices.Clone(r.goals.course)}
	}
	d.Weavings, d.Kept, d.NotChosen, d.OnlyCounted = r.session.Weavings(), len(r.kept), r.traces.Rings.Discarded, r.traces.Rings.Dropped
	if d.Final {
		d.LeftAlone = document.NewLeft(r.concerned())
		d.Remarks = r.remarksWith(nil)
	}
	return d
}
