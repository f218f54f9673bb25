package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
)

// A countLook is what there was to see at one moment.
type countLook struct {
	elapsed  time.Duration // since the hooks went on
	rows     []methodRow   // all methods with hooks, sorted
	calls    uint64
	rate     float64
	untimed  uint64 // calls counted without their time
	dropped  uint64 // calls not even counted
	threads  int
	losses   []string // what contexts miss, in words
	final    bool
	ended    string
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
		row.spread = r.spreads[row.id]
		seen[row.id] = row.Calls
		row.rate = float64(row.Calls-min(row.Calls, before[row.id])) / since
		fresh += row.Calls - min(row.Calls, before[row.id])
		look.calls += row.Calls
		look.untimed += row.Untimed
		look.rows = append(look.rows, row)
	}
	look.rate = float64(fresh) / since
	r.shownAt, r.shown = now, seen
	sortRows(look.rows, r.sort, r.timing)
	return look, nil
}

// overall replaces rates of late by those over all the time.
func (l *countLook) overall() {
	for i := range l.rows {
		l.rows[i].rate = float64(l.rows[i].Calls) / l.elapsed.Seconds()
	}
	l.rate = float64(l.calls) / l.elapsed.Seconds()
}

// show draws the table on a terminal; elsewhere it writes what --interval asks
// for.
func (r *countRun) show(ctx context.Context) error {
	if r.screen.silent && !r.paced || r.json && !r.paced {
		return nil
	}
	r.cost.refresh(ctx, r.began)
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
	columns, texts := fitting(countColumns, rowTexts(rows, r.timing, overloadsOf(look.rows)), width)
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
func shownRows(rows []methodRow, top int) []methodRow {
	var shown []methodRow
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
	case timingSampled:
		times = fmt.Sprintf("one call in %d timed", r.period)
	case timingNone:
		times = "no times"
	}
	calls := format.AtLeast(hasLowerBound(look.rows), count(int(look.calls), "call", "calls"))
	return fmt.Sprintf("%s: %s, %s/s, %s, %s", durationText(look.elapsed), calls,
		rateText(look.rate), count(look.threads, "thread", "threads"), times)
}

// costText is what the hooks take of the JVM.
func (r *countRun) costText(look *countLook) string {
	cost := r.cost.get()
	if cost == nil {
		return "what hooks cost is not known"
	}
	text := fmt.Sprintf("hooks cost about %s a call (%s to %s in %d runs), %s of one processor so far",
		nanosText(cost.Median), nanosText(cost.Low), nanosText(cost.High), cost.Runs, percentText(look.share(cost)))
	switch r.timing {
	case timingExact:
		text += "; times include it"
	case timingSampled:
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
		writeTable(out, countColumns, rowTexts(rows, r.timing, overloadsOf(look.rows)), width)
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
	if look.untimed > 0 && r.timing != timingNone {
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
