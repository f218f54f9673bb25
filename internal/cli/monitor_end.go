package cli

import (
	"bufio"
	"fmt"
)

// write writes the result, and then says what leaving took.
func (r *monitorRun) write(whole *monitorTable) error {
	if left := r.leftAlone(); len(left) > r.toldLeft {
		r.tellLeft(left) // some were met as they loaded
	}
	if full := r.session.Full(); full != nil {
		r.remark(full.Error())
	}
	if err := r.writeResult(whole); err != nil {
		return err
	}
	if f := whole.farewell; f != nil {
		r.screen.say("left %d: %s put back in %s%s", r.pid, count(int(f.Restored.Classes), "class", "classes"), durationText(f.Took), costOf(f.Pause))
	}
	return nil
}

func (r *monitorRun) writeResult(whole *monitorTable) error {
	if r.json {
		return r.board.writeJSON(whole)
	}
	return r.board.writeWhole(whole, r.losses())
}

// writeWhole writes the table of the whole time, and lines that say what it misses.
func (b *board) writeWhole(whole *monitorTable, losses []string) error {
	out := bufio.NewWriter(b.out) // keeps the first error until Flush
	names := keyNames(whole.Rows)
	rows := b.view.rows(whole.Interval, names)
	hidden := 0
	if b.top > 0 && len(rows) > b.top {
		rows, hidden = rows[:b.top], len(rows)-b.top
	}
	if b.screen.silent {
		_, _ = fmt.Fprintln(out) // below the lines of intervals
	}
	writeTable(out, monitorColumns, b.texts(whole.Interval, rows, names), b.outWidth())
	_, _ = fmt.Fprintf(out, "\n%s\n", b.headline(whole))
	if hidden > 0 {
		_, _ = fmt.Fprintf(out, "%s not shown (--top)\n", count(hidden, "row is", "rows are"))
	}
	if untimed := whole.Total.Untimed; untimed > 0 {
		_, _ = fmt.Fprintf(out, "%s counted without time: the arena had no room\n", count(int(untimed), "call was", "calls were"))
	}
	if whole.Lost > 0 {
		_, _ = fmt.Fprintf(out, "%s not counted: the arena had no room\n", count(int(whole.Lost), "call was", "calls were"))
	}
	if whole.Total.LowerBound {
		_, _ = fmt.Fprintln(out, lowerBoundNote)
	}
	for _, line := range losses {
		_, _ = fmt.Fprintln(out, line)
	}
	_, _ = fmt.Fprintln(out, b.costs(whole))
	return out.Flush()
}

// losses are what contexts miss, in words.
func (r *monitorRun) losses() []string {
	if !r.watching.isUsed() {
		return nil
	}
	results, err := r.watching.Results()
	if err != nil {
		return nil // the end has said it
	}
	return losses(results)
}

// costText is what the hooks take of the JVM.
func (r *monitorRun) costText(table *monitorTable) string {
	text := fmt.Sprintf("times are without the clock's own %s", nanosText(r.board.options.Clock))
	cost := r.cost.get()
	if cost == nil {
		return "what hooks cost is not known; " + text
	}
	share := cost.Median * table.Total.Rate / 1e9
	return fmt.Sprintf("hooks cost about %s a call, %s of one processor; %s", nanosText(cost.Median), percentText(share), text)
}
