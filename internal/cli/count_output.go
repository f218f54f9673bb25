package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/ledger"
)

// A measured is what hooks have counted so far, by method, or by context where one was
// asked for.
type measured struct {
	rows    []results.Row
	threads int
	dropped uint64
	losses  []string
}

func (m *measured) calls() (calls uint64) {
	for i := range m.rows {
		calls += m.rows[i].Calls
	}
	return calls
}

// measured reads what was measured.
func (r *countRun) measured() (*measured, error) {
	if r.watching.isUsed() {
		return r.measuredByContext()
	}
	sum, err := r.session.Sum()
	if err != nil {
		return nil, err
	}
	m := &measured{threads: sum.Threads, dropped: sum.Dropped}
	for _, method := range r.session.Methods() {
		row := results.Row{Class: strings.ReplaceAll(method.Class, "/", "."), Name: method.Name, Descriptor: method.Descriptor, ID: method.ID, Timing: r.timing}
		if totals := sum.Methods[method.ID]; totals != nil {
			row.Totals = *totals
		}
		m.rows = append(m.rows, row)
	}
	return m, nil
}

func (r *countRun) measuredByContext() (*measured, error) {
	found, err := r.watching.Results()
	if err != nil {
		return nil, err
	}
	m := &measured{threads: found.Threads, dropped: found.Dropped, losses: losses(found)}
	byWithin := hasSequences(r.watching.set)
	for i := range found.Rows {
		w := &found.Rows[i]
		m.rows = append(m.rows, results.Row{
			Class: strings.ReplaceAll(w.Class, "/", "."), Name: w.Name, Descriptor: w.Descriptor, ID: w.ID, Timing: r.timing,
			InContext: true, Within: w.Sequence, Label: w.Label, Context: contextText(w, byWithin), Totals: w.Totals,
		})
	}
	return m, nil
}

// A countLook is what there was to see at one moment.
type countLook struct {
	elapsed  time.Duration // since the hooks went on
	rows     []results.Row // all methods with hooks, sorted
	calls    uint64
	rate     float64
	untimed  uint64 // calls counted without their time
	dropped  uint64 // calls not even counted
	threads  int
	losses   []string // what contexts miss, in words
	final    bool
	ended    ending
	farewell *session.Farewell // nil where there was nothing to leave any more
}

// look reads what was measured, and how much more that is than at the last look.
func (r *countRun) look() (*countLook, error) {
	found, err := r.measured()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	since := now.Sub(r.shownAt).Seconds()
	if r.shownAt.IsZero() {
		since = now.Sub(r.began).Seconds()
	}
	look := &countLook{elapsed: now.Sub(r.began), threads: found.threads, dropped: found.dropped, losses: found.losses}
	before, seen := r.shown, make(map[uint32]uint64, len(found.rows))
	var fresh uint64
	for _, row := range found.rows {
		row.Uncertainty = r.errors[row.ID]
		seen[row.ID] = row.Calls
		row.PerSecond = float64(row.Calls-min(row.Calls, before[row.ID])) / since
		fresh += row.Calls - min(row.Calls, before[row.ID])
		look.calls += row.Calls
		look.untimed += row.Untimed
		look.rows = append(look.rows, row)
	}
	look.rate = float64(fresh) / since
	r.shownAt, r.shown = now, seen
	results.SortRows(look.rows, r.sort)
	return look, nil
}

// overall replaces rates of late by those over all the time.
func (l *countLook) overall() {
	for i := range l.rows {
		l.rows[i].PerSecond = float64(l.rows[i].Calls) / l.elapsed.Seconds()
	}
	l.rate = float64(l.calls) / l.elapsed.Seconds()
}

// show draws the table on a terminal; elsewhere it writes what --interval asks
// for.
func (r *countRun) show(ctx context.Context) error {
	if r.screen.silent && !r.paced || r.json && !r.paced {
		return nil
	}
	r.cost.Refresh(ctx, r.began)
	look, err := r.look()
	if err != nil {
		return nil //nolint:nilerr // the end will say it
	}
	switch {
	case r.json:
		return r.writeJSON(look)
	case r.screen.silent:
		out := bufio.NewWriter(r.out) // keeps the first error until Flush
		r.writeText(out, look, 0)
		_, _ = fmt.Fprintln(out)
		return out.Flush()
	}
	width, height := r.screen.size()
	r.screen.draw(r.liveLines(look, width, height))
	return nil
}

// liveLines are what fits a terminal.
func (r *countRun) liveLines(look *countLook, width, height int) []string {
	const around = 6 // head, cost, blank, titles, what is left out, the line of the cursor
	rows := shownRows(look.rows, r.top)
	if room := max(1, height-around); len(rows) > room {
		rows = rows[:room]
	}
	lines := []string{cut(r.headline(look), width), cut(r.costText(look), width), ""}
	columns, texts := fit(countColumns, rowTexts(rows, overloadsOf(look.rows)), expendable, width)
	for _, line := range tableLines(columns, texts, width) {
		lines = append(lines, cut(line, width))
	}
	if hidden := len(shownRows(look.rows, 0)) - len(rows); hidden > 0 {
		lines = append(lines, cut(fmt.Sprintf("and %s", count(hidden, "method more", "methods more")), width))
	}
	return lines[:max(0, min(len(lines), height-1))]
}

// shownRows leaves out methods that were not called, and all behind the first
// few; 0 is all.
func shownRows(rows []results.Row, top int) []results.Row {
	var shown []results.Row
	for _, row := range rows {
		if row.Calls > 0 && (top == 0 || len(shown) < top) {
			shown = append(shown, row)
		}
	}
	return shown
}

// headline is how much was counted in how long.
func (r *countRun) headline(look *countLook) string {
	times := "exact times"
	switch r.timing {
	case results.Sampled:
		times = fmt.Sprintf("one call in %d timed", r.period)
	case results.Untimed:
		times = "no times"
	}
	calls := format.AtLeast(hasLowerBound(look.rows), count(int(look.calls), "call", "calls"))
	return fmt.Sprintf("%s: %s, %s/s, %s, %s", durationText(look.elapsed), calls,
		rateText(look.rate), count(look.threads, "thread", "threads"), times)
}

// costText is what the hooks take of the JVM.
func (r *countRun) costText(look *countLook) string {
	cost := r.cost.Cost()
	if cost == nil {
		return "what hooks cost is not known"
	}
	text := fmt.Sprintf("hooks cost about %s a call (%s to %s in %d runs), %s of one processor so far",
		nanosText(cost.Median), nanosText(cost.Low), nanosText(cost.High), cost.Runs, percentText(look.share(cost)))
	switch r.timing {
	case results.Exact:
		text += "; times include it"
	case results.Sampled:
		text += "; times of calls with many hooked callees are too long"
	}
	return text
}

// share is how much of one processor hooks have used.
func (l *countLook) share(cost *session.HookCost) float64 {
	return cost.Median * float64(l.calls) / float64(l.elapsed)
}

func percentText(share float64) string {
	percent := share * 100
	switch {
	case percent == 0:
		return "0 %"
	case percent < 0.01:
		return "< 0.01 %"
	case percent < 10:
		return fmt.Sprintf("%.2f %%", percent)
	}
	return fmt.Sprintf("%.0f %%", percent)
}

// writeText writes the table with what belongs to it.
func (r *countRun) writeText(out io.Writer, look *countLook, width int) {
	rows := shownRows(look.rows, r.top)
	if len(rows) > 0 {
		writeTable(out, countColumns, rowTexts(rows, overloadsOf(look.rows)), width)
		_, _ = fmt.Fprintln(out)
	}
	_, _ = fmt.Fprintln(out, r.headline(look))
	called := len(shownRows(look.rows, 0))
	if hidden := called - len(rows); hidden > 0 {
		_, _ = fmt.Fprintf(out, "%s not shown (--top)\n", count(hidden, "method is", "methods are"))
	}
	for _, line := range idleLines(look.rows) {
		_, _ = fmt.Fprintln(out, line)
	}
	if hasLowerBound(look.rows) {
		_, _ = fmt.Fprintln(out, lowerBoundNote)
	}
	if look.untimed > 0 && r.timing != results.Untimed {
		_, _ = fmt.Fprintf(out, "%s counted without time: the arena had no room\n", count(int(look.untimed), "call was", "calls were"))
	}
	if look.dropped > 0 {
		_, _ = fmt.Fprintf(out, "%s not counted: the arena had no room\n", count(int(look.dropped), "call was", "calls were"))
	}
	for _, line := range look.losses {
		_, _ = fmt.Fprintln(out, line)
	}
	_, _ = fmt.Fprintln(out, r.costText(look))
}

// countJSON is what `sonde count --json` writes. What is known only at the end
// is left out before.
type countJSON struct {
	PID       int           `json:"pid"`
	JDK       string        `json:"jdk"`
	Main      string        `json:"main,omitempty"`
	Patterns  []string      `json:"patterns"`
	Timing    string        `json:"timing"`           // exact, sampled, none
	Period    uint32        `json:"period,omitempty"` // of sampled
	Began     time.Time     `json:"began"`
	Seconds   float64       `json:"seconds"`
	Final     bool          `json:"final"`
	Ended     string        `json:"ended,omitempty"` // duration, calls, interrupted, undone, exited, lost
	Calls     uint64        `json:"calls"`
	Threads   int           `json:"threads"`
	Untimed   uint64        `json:"callsWithoutTime"`
	Dropped   uint64        `json:"callsNotCounted"`
	Methods   []methodJSON  `json:"methods"`
	Hooks     *hooksJSON    `json:"hooks,omitempty"`
	LeftAlone []leftJSON    `json:"leftAlone,omitempty"`
	Leaving   *leavingJSON  `json:"leaving,omitempty"`
	HookCost  *hookCostJSON `json:"hookCost,omitempty"`
	Remarks   []string      `json:"remarks,omitempty"`
}

// methodJSON is a method with what was measured. Times are there only where
// calls were timed. Sampled times are of the calls that were timed alone:
// nothing in it is estimated.
type methodJSON struct {
	Class      string `json:"class"`
	Method     string `json:"method"`
	Descriptor string `json:"descriptor"`
	Calls      uint64 `json:"calls"`
	lowerBoundJSON
	PerSecond    float64  `json:"callsPerSecond"`
	Exceptions   uint64   `json:"exceptions"`
	Running      *uint64  `json:"running,omitempty"`      // told by exact timing
	RunningNanos uint64   `json:"runningNanos,omitempty"` // so far, of outermost calls
	Timed        uint64   `json:"timed"`
	TotalNanos   *uint64  `json:"totalNanos,omitempty"`
	SelfNanos    *int64   `json:"selfNanos,omitempty"`
	MeanNanos    *float64 `json:"meanNanos,omitempty"`
	MeanError    *float64 `json:"meanError,omitempty"` // of sampled times, by chance alone, in 19 of 20 cases: 0.1 is 10 %; what timing adds is not in it
	contextJSON
}

// contextJSON is what tells results of one method apart.
type contextJSON struct {
	labelJSON
	Undecided uint64 `json:"undecided,omitempty"` // calls whose condition could not be told; they are not among the calls
}

// labelJSON is what tells results of one method or probe apart.
type labelJSON struct {
	Within  string             `json:"within,omitempty"`
	Tags    map[string]*string `json:"tags,omitempty"`      // one that is not set is left out
	Callers []string           `json:"callers,omitempty"`   // the innermost first
	Other   bool               `json:"otherTags,omitempty"` // there was no room to tell more apart
}

func describeContext(row *results.Row) (c contextJSON) {
	if !row.InContext {
		return c
	}
	return contextJSON{describeLabel(row.Within, row.Label), row.Undecided}
}

func describeLabel(within string, label ledger.Label) labelJSON {
	d := labelJSON{Within: within, Other: label.Other || label.Unknown}
	for _, caller := range label.Callers {
		d.Callers = append(d.Callers, strings.ReplaceAll(caller, "/", "."))
	}
	for _, tag := range label.Tags {
		if d.Tags == nil {
			d.Tags = make(map[string]*string)
		}
		switch {
		case tag.Null:
			d.Tags[tag.Name] = nil
		case tag.Set:
			d.Tags[tag.Name] = &tag.Value
		}
	}
	return d
}

type hooksJSON struct {
	Classes int `json:"classes"`
	Methods int `json:"methods"`
	wovenJSON
	Loaded        int      `json:"classesLoaded"`
	Matched       int      `json:"classesMatched"`
	Batches       int      `json:"batches"`
	PauseMillis   *float64 `json:"pauseMillis,omitempty"`
	CompileMillis *float64 `json:"compilerMillis,omitempty"`
	Unmatched     []string `json:"unmatchedPatterns,omitempty"`
}

type leftJSON struct {
	Class  string `json:"class"`
	Method string `json:"method,omitempty"`
	Reason string `json:"reason"`
}

type leavingJSON struct {
	Classes       uint32   `json:"classesPutBack"`
	Millis        float64  `json:"millis"`
	PauseMillis   *float64 `json:"pauseMillis,omitempty"`
	CompileMillis *float64 `json:"compilerMillis,omitempty"`
	Unmapped      bool     `json:"unmapped"`
}

type hookCostJSON struct {
	Median float64 `json:"nanosPerCall"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Runs   int     `json:"runs"`
	Share  float64 `json:"shareOfOneProcessor"`
}

func describeRow(r *results.Row) methodJSON {
	m := methodJSON{
		Class: r.Class, Method: r.Name, Descriptor: r.Descriptor, Calls: r.Calls, PerSecond: r.PerSecond,
		Exceptions: r.Threw, Timed: r.Timed, contextJSON: describeContext(r), lowerBoundJSON: describeLowerBound(r.LowerBound),
	}
	if r.Timing == results.Exact {
		m.Running, m.RunningNanos = &r.Active, r.Running
	}
	if sure := r.Uncertainty.Error(); r.Timing == results.Sampled && sure >= 0 {
		m.MeanError = &sure
	}
	if r.Timed > 0 {
		mean := r.Mean()
		m.TotalNanos, m.MeanNanos = &r.Nanos, &mean
	}
	if r.Timed > 0 && r.Timing == results.Exact {
		m.SelfNanos = &r.Self
	}
	return m
}

func describeLeft(left []session.LeftAlone) []leftJSON {
	var list []leftJSON
	for _, l := range left {
		list = append(list, leftJSON{strings.ReplaceAll(l.Class, "/", "."), l.Method, l.Reason})
	}
	return list
}

// costMillis are the parts of a cost that are known.
func costMillis(cost cost.Cost) (pause, compile *float64) {
	if cost.Known.Pauses {
		millis := cost.Pause.Seconds() * 1000
		pause = &millis
	}
	if cost.Known.Compilers {
		millis := cost.CompileCPU.Seconds() * 1000
		compile = &millis
	}
	return pause, compile
}

// describeHooks tells where hooks are and what putting them in took.
func (v *visit) describeHooks() *hooksJSON {
	i := v.installation
	hooks := &hooksJSON{
		Classes: v.session.Classes(), Methods: len(v.session.Methods()), Loaded: i.Loaded, Matched: i.Matched, Batches: len(i.Batches),
		wovenJSON: describeWoven(v.session),
	}
	hooks.PauseMillis, hooks.CompileMillis = costMillis(batchCosts(i.Batches))
	for _, lost := range i.Unmatched {
		hooks.Unmatched = append(hooks.Unmatched, lost.Pattern)
	}
	if v.watching.isUsed() {
		hooks.Unmatched = append(hooks.Unmatched, v.watching.unmatched()...)
	}
	return hooks
}

func describeLeaving(f *session.Farewell) *leavingJSON {
	if f == nil {
		return nil
	}
	leaving := &leavingJSON{Classes: f.Restored.Classes, Millis: f.Took.Seconds() * 1000, Unmapped: f.Restored.Unmapped}
	leaving.PauseMillis, leaving.CompileMillis = costMillis(f.Pause)
	return leaving
}

func (r *countRun) writeJSON(look *countLook) error {
	jvm := r.session.JVM()
	d := countJSON{
		PID: r.pid, JDK: r.session.JDK().String(), Main: jvm.Main, Patterns: r.patterns, Timing: string(r.timing),
		Began: r.began.Round(time.Millisecond), Seconds: look.elapsed.Seconds(), Final: look.final, Ended: string(look.ended),
		Calls: look.calls, Threads: look.threads, Untimed: look.untimed, Dropped: look.dropped, Methods: []methodJSON{},
	}
	if r.timing == results.Sampled {
		d.Period = r.period
	}
	for i := range look.rows {
		if r.top == 0 || i < r.top {
			d.Methods = append(d.Methods, describeRow(&look.rows[i]))
		}
	}
	if cost := r.cost.Cost(); cost != nil {
		d.HookCost = &hookCostJSON{cost.Median, cost.Low, cost.High, cost.Runs, look.share(cost)}
	}
	if look.final {
		r.describeEnd(&d, look)
	}
	return writeJSON(r.out, d)
}

func (r *countRun) describeEnd(d *countJSON, look *countLook) {
	d.Hooks = r.describeHooks()
	d.Hooks.Methods = len(look.rows)
	d.LeftAlone = describeLeft(r.leftAlone())
	d.Leaving = describeLeaving(look.farewell)
	r.lock.Lock()
	defer r.lock.Unlock()
	d.Remarks = slices.Concat(r.remarks, look.losses)
}
