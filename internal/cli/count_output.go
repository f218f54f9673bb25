package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
)

// A measured is what hooks have counted so far, by method or by context.
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

// A countLook is a reading of what is measured.
type countLook struct {
	elapsed  time.Duration // since the hooks went on
	rows     []results.Row // all methods with hooks, sorted
	calls    uint64
	rate     float64
	untimed  uint64 // calls counted without their time
	dropped  uint64 // calls not even counted
	threads  int
	losses   []string // what is missing in results by context
	final    bool
	ended    ending
	farewell *session.Farewell // nil if the hooks were out already
}

// look reads what was measured, with rates since the last look.
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

// overall replaces rates by those of the whole time.
func (l *countLook) overall() {
	for i := range l.rows {
		l.rows[i].PerSecond = float64(l.rows[i].Calls) / l.elapsed.Seconds()
	}
	l.rate = float64(l.calls) / l.elapsed.Seconds()
}

// show draws the table on a terminal; elsewhere it writes one per interval.
func (r *countRun) show(ctx context.Context) error {
	if r.screen.silent && !r.paced || r.json && !r.paced {
		return nil
	}
	r.cost.Refresh(ctx, r.began)
	look, err := r.look()
	if err != nil {
		return nil //nolint:nilerr // the end reports it
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

// liveLines returns what fits a terminal.
func (r *countRun) liveLines(look *countLook, width, height int) []string {
	const around = 6 // head, cost, blank, titles, the number of hidden rows, the line of the cursor
	rows := shownRows(look.rows, r.top)
	if room := max(1, height-around); len(rows) > room {
		rows = rows[:room]
	}
	lines := []string{format.Cut(r.headline(look), width), format.Cut(r.costText(look), width), ""}
	columns, texts := format.FitTable(countColumns, rowTexts(rows, overloadsOf(look.rows)), expendable, width)
	for _, line := range format.TableLines(columns, texts, width) {
		lines = append(lines, format.Cut(line, width))
	}
	if hidden := len(shownRows(look.rows, 0)) - len(rows); hidden > 0 {
		lines = append(lines, format.Cut(fmt.Sprintf("and %s", format.Count(hidden, "method more", "methods more")), width))
	}
	return lines[:max(0, min(len(lines), height-1))]
}

// shownRows returns the first rows with calls; 0 for all.
func shownRows(rows []results.Row, top int) []results.Row {
	var shown []results.Row
	for _, row := range rows {
		if row.Calls > 0 && (top == 0 || len(shown) < top) {
			shown = append(shown, row)
		}
	}
	return shown
}

// headline says how many calls were counted in which time.
func (r *countRun) headline(look *countLook) string {
	times := "exact times"
	switch r.timing {
	case results.Sampled:
		times = fmt.Sprintf("one call in %d timed", r.period)
	case results.Untimed:
		times = "no times"
	}
	calls := format.AtLeast(hasLowerBound(look.rows), format.Count(int(look.calls), "call", "calls"))
	return fmt.Sprintf("%s: %s, %s/s, %s, %s", format.Duration(look.elapsed), calls,
		format.Rate(look.rate), format.Count(look.threads, "thread", "threads"), times)
}

// costText says what the hooks cost the JVM.
func (r *countRun) costText(look *countLook) string {
	cost := r.cost.Cost()
	if cost == nil {
		return "the cost of the hooks is unknown"
	}
	text := fmt.Sprintf("hooks cost about %s per call (%s to %s in %d runs), %s of one processor so far",
		format.Nanos(cost.Median), format.Nanos(cost.Low), format.Nanos(cost.High), cost.Runs, format.Percent(look.share(cost)))
	switch r.timing {
	case results.Exact:
		text += "; times include this"
	case results.Sampled:
		text += "; times of calls with many hooked callees are too long"
	}
	return text
}

// share returns the part of one processor that hooks have used.
func (l *countLook) share(cost *session.HookCost) float64 {
	return cost.Median * float64(l.calls) / float64(l.elapsed)
}

// writeText writes the table and its notes.
func (r *countRun) writeText(out io.Writer, look *countLook, width int) {
	rows := shownRows(look.rows, r.top)
	if len(rows) > 0 {
		format.WriteTable(out, countColumns, rowTexts(rows, overloadsOf(look.rows)), width)
		_, _ = fmt.Fprintln(out)
	}
	_, _ = fmt.Fprintln(out, r.headline(look))
	called := len(shownRows(look.rows, 0))
	if hidden := called - len(rows); hidden > 0 {
		_, _ = fmt.Fprintf(out, "%s not shown (--top)\n", format.Count(hidden, "method is", "methods are"))
	}
	for _, line := range idleLines(look.rows) {
		_, _ = fmt.Fprintln(out, line)
	}
	if hasLowerBound(look.rows) {
		_, _ = fmt.Fprintln(out, lowerBoundNote)
	}
	if look.untimed > 0 && r.timing != results.Untimed {
		_, _ = fmt.Fprintf(out, "%s counted without a time: the arena had no room\n", format.Count(int(look.untimed), "call was", "calls were"))
	}
	if look.dropped > 0 {
		_, _ = fmt.Fprintf(out, "%s not counted: the arena had no room\n", format.Count(int(look.dropped), "call was", "calls were"))
	}
	for _, line := range look.losses {
		_, _ = fmt.Fprintln(out, line)
	}
	_, _ = fmt.Fprintln(out, r.costText(look))
}

// describeHooks describes where hooks are and what putting them in took.
func (v *visit) describeHooks() *document.Hooks {
	var unmatched []string
	if v.watching.isUsed() {
		unmatched = v.watching.unmatched()
	}
	return document.NewHooks(v.session, v.installation, batchCosts(v.installation.Batches), unmatched)
}

func (r *countRun) writeJSON(look *countLook) error {
	jvm := r.session.JVM()
	d := document.Count{
		PID: r.pid, JDK: r.session.JDK().String(), Main: jvm.Main, Patterns: r.patterns, Timing: string(r.timing),
		Began: r.began.Round(time.Millisecond), Seconds: look.elapsed.Seconds(), Final: look.final, Ended: string(look.ended),
		Calls: look.calls, Threads: look.threads, Untimed: look.untimed, Dropped: look.dropped, Methods: []document.Method{},
	}
	if r.timing == results.Sampled {
		d.Period = r.period
	}
	for i := range look.rows {
		if r.top == 0 || i < r.top {
			d.Methods = append(d.Methods, document.NewMethod(&look.rows[i]))
		}
	}
	if cost := r.cost.Cost(); cost != nil {
		d.HookCost = document.NewHookCost(cost, look.share(cost))
	}
	if look.final {
		r.describeEnd(&d, look)
	}
	return document.Write(r.out, d)
}

func (r *countRun) describeEnd(d *document.Count, look *countLook) {
	d.Hooks = r.describeHooks()
	d.Hooks.Methods = len(look.rows)
	d.LeftAlone = document.NewLeft(r.leftAlone())
	d.Leaving = document.NewLeaving(look.farewell)
	r.lock.Lock()
	defer r.lock.Unlock()
	d.Remarks = slices.Concat(r.remarks, look.losses)
}
