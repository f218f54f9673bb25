package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// An applyLook is a reading of what is measured.
type applyLook struct {
	pid     int
	rows    []handover.Running
	threads int
	elapsed time.Duration
	final   bool
	ended   ending
	traced  string // the state of traces, in one line
	calls   uint64 // calls on which probes acted
	atLeast bool   // calls is a lower bound, because rows may share calls

	dropped, ambiguous, contextsLost uint64
}

// look reads what was measured.
func (r *applyRun) look() (*applyLook, error) {
	results, err := r.holder.Watch.Results()
	if err != nil {
		return nil, err
	}
	now, since := time.Now(), r.shownAt
	if r.shown == nil {
		since = r.began
	}
	look := &applyLook{
		pid: r.pid, rows: r.holder.Rows(results, now.Sub(since), r.shown), threads: results.Threads, elapsed: now.Sub(r.began),
		dropped: results.Dropped, ambiguous: results.Ambiguous, contextsLost: results.ContextsLost,
	}
	look.calls, look.atLeast = results.Calls()
	r.shownAt, r.shown = now, make(map[handover.RowKey]uint64, len(look.rows))
	for i := range look.rows {
		r.shown[look.rows[i].Key()] = look.rows[i].Calls
	}
	return look, nil
}

// headline says how many calls there were in which time.
func (l *applyLook) headline() string {
	calls := format.Count(int(l.calls), "call", "calls")
	if l.atLeast {
		calls = "at least " + calls
	}
	return fmt.Sprintf("process %d, %s: %s, %s, %s", l.pid, format.Duration(l.elapsed), probesText(l.rows), calls, format.Count(l.threads, "thread", "threads"))
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
	var lines []string
	if l.traced != "" {
		lines = append(lines, l.traced)
	}
	tell := func(n uint64, one, many, what string) {
		if n > 0 {
			lines = append(lines, format.Count(int(n), one, many)+" "+what)
		}
	}
	if slices.ContainsFunc(l.rows, func(row handover.Running) bool { return row.LowerBound }) {
		lines = append(lines, lowerBoundNote)
	}
	tell(l.dropped, "call was", "calls were", "not counted: the arena had no room")
	tell(l.contextsLost, "call", "calls", "of sequences and tags found no room in the arena: calls below have no context")
	tell(l.ambiguous, "task was", "tasks were", "handed over twice before starting: their context is unknown")
	return lines
}

var (
	applyColumns = format.Columns(">CALLS", ">CALLS/S", ">MEAN", ">P99", ">THREW", ">UNDECIDED", "LEVEL", "PROBE", "WHERE")
	// applyExpendable are the columns that a narrow terminal drops, in this order.
	applyExpendable = []string{"LEVEL", "THREW", "MEAN", "CALLS", "UNDECIDED"}
)

// runningTexts returns the cells of rows.
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

// liveLines returns what fits a terminal.
func (l *applyLook) liveLines(width, height int) []string {
	lines := append([]string{l.headline()}, l.remarks()...)
	lines = append(lines, "")
	const around = 3 // titles, the number of hidden rows, the line of the cursor
	room := max(1, height-len(lines)-around)
	shown := l.rows[:min(room, len(l.rows))]
	columns, texts := format.FitTable(applyColumns, runningTexts(shown), applyExpendable, width)
	lines = append(lines, format.TableLines(columns, texts, width)...)
	if hidden := len(l.rows) - len(shown); hidden > 0 {
		lines = append(lines, fmt.Sprintf("and %s", format.Count(hidden, "row more", "rows more")))
	}
	for i := range lines {
		lines[i] = format.Cut(lines[i], width)
	}
	return lines[:max(0, min(len(lines), height-1))]
}

func (r *applyRun) describe(look *applyLook) document.Applied {
	d := document.Applied{
		PID: r.pid, JDK: r.session.JDK().String(), Main: r.session.JVM().Main, File: r.title, Began: r.began.Round(time.Millisecond),
		Seconds: look.elapsed.Seconds(), Final: look.final, Ended: string(look.ended), Probes: look.rows, Threads: look.threads,
		Dropped: look.dropped, ContextsLost: look.contextsLost, Ambiguous: look.ambiguous,
		Weavings: document.NewWeavings(r.session), Kept: len(r.traces.Kept), NotChosen: r.traces.Sum.Discarded, OnlyCounted: r.traces.Sum.Dropped,
	}
	if look.final {
		d.LeftAlone = document.NewLeft(r.concerned())
		r.lock.Lock()
		d.Remarks = append(d.Remarks, r.remarks...)
		r.lock.Unlock()
	}
	return d
}
