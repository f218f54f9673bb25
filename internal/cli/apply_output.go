package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// An applyLook is what there is to see of what is applied.
type applyLook struct {
	pid     int
	rows    []handover.Running
	threads int
	elapsed time.Duration
	final   bool
	ended   ending
	traced  string // how traces stand, in one line
	calls   uint64 // that probes acted in
	atLeast bool   // there may be more: rows may share calls

	dropped, ambiguous, contextsLost uint64
}

// A rowKey is what the calls of a row have in common.
type rowKey struct{ probe, within, label string }

// look reads what was measured.
func (r *applyRun) look() (*applyLook, error) {
	results, err := r.watch.Results()
	if err != nil {
		return nil, err
	}
	r.state.Lock()
	since, before := r.shownAt, r.shown
	r.state.Unlock()
	now := time.Now()
	if before == nil {
		since = r.began
	}
	look := &applyLook{
		pid: r.pid, rows: r.rows(results, now.Sub(since), before), threads: results.Threads, elapsed: now.Sub(r.began),
		dropped: results.Dropped, ambiguous: results.Ambiguous, contextsLost: results.ContextsLost,
	}
	look.calls, look.atLeast = results.Calls()
	shown := make(map[rowKey]uint64, len(look.rows))
	for i := range look.rows {
		shown[keyOf(&look.rows[i])] = look.rows[i].Calls
	}
	r.state.Lock()
	r.shownAt, r.shown = now, shown
	r.state.Unlock()
	return look, nil
}

// rows are what results say of the probes that are applied, or were. Nothing is locked
// while the watch is asked, as it tells of endings in its own time.
func (r *applyRun) rows(results *liveprobes.Results, since time.Duration, before map[rowKey]uint64) []handover.Running {
	set := r.watch.Set()
	r.state.Lock()
	ended := maps.Clone(r.ended)
	r.state.Unlock()
	rows := runningRows(results, set)
	for i := range rows {
		row := &rows[i]
		row.Ended = string(ended[row.Name])
		if calls := before[keyOf(row)]; since > 0 {
			row.PerSecond = float64(row.Calls-min(calls, row.Calls)) / since.Seconds()
		}
	}
	return rows
}

func keyOf(row *handover.Running) rowKey { return rowKey{row.Name, row.Within, row.Label} }

// runningRows are results as far as they are of probes, in the order of the set, with
// those that are no more in it behind. A probe that was not called has a row, too.
func runningRows(results *liveprobes.Results, set *probeset.Set) []handover.Running {
	sums := sumRows(results)
	keys := slices.Collect(maps.Keys(sums))
	order := map[string]int{}
	levels := map[string]string{}
	for i, p := range set.Probes {
		order[p.Name], levels[p.Name] = i+1, p.Level.String()
		if !slices.ContainsFunc(keys, func(k rowKey) bool { return k.probe == p.Name }) {
			keys = append(keys, rowKey{probe: p.Name}) // nothing has called it yet
		}
	}
	rank := func(k rowKey) int {
		if at := order[k.probe]; at > 0 {
			return at
		}
		return len(order) + 1
	}
	callsOf := func(k rowKey) uint64 {
		if t := sums[k]; t != nil {
			return t.Calls
		}
		return 0
	}
	slices.SortFunc(keys, func(a, b rowKey) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.probe, b.probe), cmp.Compare(a.within, b.within),
			cmp.Compare(callsOf(b), callsOf(a)), cmp.Compare(a.label, b.label))
	})
	rows := make([]handover.Running, 0, len(keys))
	for _, key := range keys {
		level := levels[key.probe]
		switch sum := sums[key]; {
		case sum == nil || sum.off == 0:
		case sum.off == sum.spots:
			level = levelOff
		default:
			level += " (" + levelOff + " in " + format.Grouped(sum.off) + " of " + format.Grouped(sum.spots) + ")"
		}
		rows = append(rows, describeTotals(key, sums[key], level))
	}
	return rows
}

// levelOff is the level of rows whose hooks were switched off, because a class that
// loaded makes their conditions unfit.
const levelOff = "off"

// A rowSum is what the spots of a row did.
type rowSum struct {
	arena.Totals
	spots, off int
}

// sumRows adds up what spots of one probe, sequence and label did.
func sumRows(results *liveprobes.Results) map[rowKey]*rowSum {
	sums := make(map[rowKey]*rowSum)
	for i := range results.Rows {
		row := &results.Rows[i]
		if row.Probe == "" || row.Inside {
			continue // there for traces alone
		}
		key := rowKey{row.Probe, row.Sequence, labelText(row.Label)}
		sum := sums[key]
		if sum == nil {
			sum = &rowSum{}
			sums[key] = sum
		}
		sum.Add(&row.Totals)
		sum.spots++
		if row.Off {
			sum.off++
		}
	}
	return sums
}

func describeTotals(key rowKey, t *rowSum, level string) handover.Running {
	row := handover.Running{Name: key.probe, Level: level, Within: key.within, Label: key.label}
	if t == nil {
		return row
	}
	row.Calls, row.Timed, row.Threw, row.Undecided = t.Calls, t.Timed, t.Threw, t.Undecided
	row.LowerBound = t.LowerBound
	if t.Timed > 0 {
		row.MeanNanos = float64(t.Nanos) / float64(t.Timed)
	}
	row.P99Nanos = max(0, results.P99(&t.Totals))
	return row
}

// labelText is a label in one line.
func labelText(l liveprobes.Label) string {
	switch {
	case l.Other:
		return "(other)"
	case l.Unknown:
		return "(not known yet)"
	}
	var parts []string
	for _, tag := range l.Tags {
		if tag.Set {
			parts = append(parts, tag.Name+"="+tag.Value)
		} else {
			parts = append(parts, "no "+tag.Name)
		}
	}
	if len(parts) > 0 {
		return strings.Join(parts, ", ")
	}
	for _, caller := range l.Callers {
		name, _, _ := strings.Cut(caller, "(")
		parts = append(parts, strings.ReplaceAll(name, "/", "."))
	}
	if len(parts) == 0 {
		return ""
	}
	return "by " + strings.Join(parts, " < ")
}

// headline is how much was seen in how long.
func (l *applyLook) headline() string {
	calls := format.Count(int(l.calls), "call", "calls")
	if l.atLeast {
		calls = "at least " + calls
	}
	return fmt.Sprintf("process %d, %s: %s, %s, %s", l.pid, format.Duration(l.elapsed), probesText(l.rows), calls, format.Count(l.threads, "thread", "threads"))
}

// probesText is how many probes rows are of: each has one for every sequence and label.
func probesText(rows []handover.Running) string {
	probes := map[string]bool{}
	for i := range rows {
		probes[rows[i].Name] = true
	}
	return format.Count(len(probes), "probe", "probes")
}

// remarks are how traces stand, and what results do not hold.
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
	tell(l.contextsLost, "call", "calls", "of sequences and tags found no room: what is below them has no context")
	tell(l.ambiguous, "task was", "tasks were", "handed over again before they began: they have no context")
	return lines
}

var (
	applyColumns = format.Columns(">CALLS", ">CALLS/S", ">MEAN", ">P99", ">THREW", ">UNDECIDED", "LEVEL", "PROBE", "WHERE")
	// applyExpendable are the columns a narrow terminal goes without, the first to go
	// first.
	applyExpendable = []string{"LEVEL", "THREW", "MEAN", "CALLS", "UNDECIDED"}
)

// runningTexts are the cells of rows.
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
		if row.Level == levelOff && row.Calls == 0 {
			calls = levelOff
		}
		texts = append(texts, []string{
			calls, format.AtLeast(row.LowerBound, format.Rate(row.PerSecond)), mean, p99, format.Grouped(int(row.Threw)), format.Grouped(int(row.Undecided)),
			format.OrDash(level), row.Name, format.Printable(where),
		})
	}
	return texts
}

// liveLines are what fits a terminal.
func (l *applyLook) liveLines(width, height int) []string {
	lines := append([]string{l.headline()}, l.remarks()...)
	lines = append(lines, "")
	const around = 3 // titles, what is left out, the line of the cursor
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
		Weavings: document.NewWeavings(r.session), Kept: len(r.traces.kept), NotChosen: r.traces.sum.Discarded, OnlyCounted: r.traces.sum.Dropped,
	}
	if look.final {
		d.LeftAlone = document.NewLeft(r.concerned())
		r.lock.Lock()
		d.Remarks = append(d.Remarks, r.remarks...)
		r.lock.Unlock()
	}
	return d
}
