package main

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
		return r.writeJSON(whole)
	}
	out := bufio.NewWriter(r.out) // keeps the first error until Flush
	names := keyNames(whole.Rows)
	rows := r.view.rows(whole.Interval, names)
	hidden := 0
	if r.top > 0 && len(rows) > r.top {
		rows, hidden = rows[:r.top], len(rows)-r.top
	}
	if r.screen.silent {
		_, _ = fmt.Fprintln(out) // below the lines of intervals
	}
	writeTable(out, monitorColumns, r.texts(whole.Interval, rows, names), r.outWidth())
	_, _ = fmt.Fprintf(out, "\n%s\n", r.headline(whole))
	if hidden > 0 {
		_, _ = fmt.Fprintf(out, "%s not shown (--top)\n", count(hidden, "row is", "rows are"))
	}
	if untimed := whole.Total.Untimed; untimed > 0 {
		_, _ = fmt.Fprintf(out, "%s counted without time: the arena had no room\n", count(int(untimed), "call was", "calls were"))
	}
	if whole.Lost > 0 {
		_, _ = fmt.Fprintf(out, "%s not counted: the arena had no room\n", count(int(whole.Lost), "call was", "calls were"))
	}
	for _, line := range r.losses() {
		_, _ = fmt.Fprintln(out, line)
	}
	_, _ = fmt.Fprintln(out, r.costText(whole))
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
