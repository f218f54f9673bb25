package report

import (
	"fmt"
	"slices"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

var flatColumns = []column{
	{"SELF", true}, {"±", true}, {"", true}, {"SELF/CALL", true}, {"TOTAL", true}, {"CALLS", true}, {"THREW", true},
	{"CONTEXTS", true}, {"METHOD", false},
}

// flat is the list of methods by their own time.
func (t *textReport) flat() {
	top := t.profile.Merged
	rows := cct.Flat(top, t.profile.Methods)
	off := t.off(rows)
	if len(rows) == 0 && len(off) == 0 {
		return
	}
	t.heading("Methods by their own time")
	limit := limits(top)
	var left pruned
	var shown []cct.Row
	for _, row := range rows {
		enough := row.Self.Nanos >= limit.time
		if !row.Known {
			enough = float64(row.Calls) >= limit.calls
		}
		if enough {
			shown = append(shown, row)
			continue
		}
		left.lines++
		left.time += row.Self.Nanos
		left.calls += row.Calls
	}
	hidden := 0
	if t.most > 0 && len(shown) > t.most {
		hidden = len(shown) - t.most
		shown = shown[:t.most]
	}
	texts := make([][]string, len(shown))
	for i, row := range shown {
		texts[i] = t.flatRow(row, top.Total.Nanos)
	}
	for range off {
		texts = append(texts, []string{none, none, none, none, none, offText, "0", none, ""})
	}
	columns, texts := withoutZeros(flatColumns, texts, "THREW")
	columns, texts, before := narrow(columns, texts, t.width, 30, "CONTEXTS", "THREW", "TOTAL", "±", "SELF/CALL")
	for i := range texts {
		if i >= len(shown) {
			texts[i][len(texts[i])-1] = t.fit(t.names[off[i-len(shown)]], "", before)
			continue
		}
		mark := ""
		if on, is := t.partly[shown[i].Method]; is {
			mark = "  [" + onText(on, t.profile.Took) + "]"
		}
		texts[i][len(texts[i])-1] = t.fit(t.names[shown[i].Method], mark, before)
	}
	for _, line := range tableLines(columns, texts) {
		t.line("%s", line)
	}
	if hidden > 0 {
		t.line("%s not shown (--top)", format.Count(hidden, "method is", "methods are"))
	}
	t.leftOut(left, "method", "methods", top.Total.Nanos)
}

// off lists the methods without a row whose hooks were off throughout.
func (t *textReport) off(rows []cct.Row) []int {
	var list []int
	for _, q := range t.profile.Quiet {
		if on, is := t.partly[q.Method]; is && on == 0 && !slices.ContainsFunc(rows, func(r cct.Row) bool { return r.Method == q.Method }) {
			list = append(list, q.Method)
		}
	}
	return list[:min(len(list), mostQuiet)]
}

func (t *textReport) flatRow(row cct.Row, whole float64) []string {
	self, wrong, share, mean, total := none, none, none, none, none
	about := ""
	if row.Timed < row.Calls {
		about = "~"
	}
	if row.Known {
		self, wrong, share = about+format.Nanos(row.Self.Nanos), errorText(row.Self), shareText(row.Self.Nanos, whole)
		mean = about + format.Call(row.Mean.Nanos)
	}
	if row.Known || row.Total.Nanos > 0 {
		total = format.Nanos(row.Total.Nanos)
	}
	return []string{
		self, wrong, share, mean, total, format.AtLeast(t.profile.Methods[row.Method].LowerBound, format.Grouped(row.Calls)), format.Grouped(row.Threw), format.Grouped(row.Contexts), "",
	}
}

// threads lists those that did most.
func (t *textReport) threads() {
	const most = 10
	all := t.profile.Threads
	if len(all) < 2 {
		return
	}
	t.heading("Threads")
	var rows [][]string
	for _, thread := range all[:min(most, len(all))] {
		var calls uint64
		for _, root := range thread.Top.Children {
			calls += root.Calls
		}
		rows = append(rows, []string{
			format.Nanos(thread.Top.Total.Nanos), shareText(thread.Top.Total.Nanos, t.profile.Merged.Total.Nanos), format.Grouped(calls), threadName(thread),
		})
	}
	for _, line := range tableLines([]column{{"TOTAL", true}, {"", true}, {"ROOT CALLS", true}, {"THREAD", false}}, rows) {
		t.line("%s", line)
	}
	if more := len(all) - most; more > 0 {
		t.line("… and %s", format.Count(more, "thread more", "threads more"))
	}
}

// threadName is what to call a thread.
func threadName(t cct.Thread) string {
	name := format.Printable(t.Name)
	if name == "" {
		name = fmt.Sprintf("thread %d", t.ID)
	}
	if t.Virtual {
		name += " (virtual threads in turn)"
	}
	return name
}
