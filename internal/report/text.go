package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// leastShare is what part of the whole a line must stand for to be written.
const leastShare = 0.001

// WriteText writes a profile for people. width is the terminal's, 0 where lines may
// be of any length.
func WriteText(w io.Writer, p *cct.Profile, width int) error { return WriteTextTop(w, p, width, 0) }

// WriteTextTop is WriteText with a list of so many methods at most; 0 is no limit.
func WriteTextTop(w io.Writer, p *cct.Profile, width, most int) error {
	out := bufio.NewWriter(w) // keeps the first error until Flush
	t := &textReport{Writer: out, profile: p, names: names(p.Methods), partly: p.Partly(), width: width, most: most}
	t.header()
	t.tree()
	t.flat()
	t.threads()
	t.how()
	return out.Flush()
}

// A textReport is one being written.
type textReport struct {
	*bufio.Writer
	profile *cct.Profile
	names   []string
	partly  map[int]time.Duration // how long hooks were on that were not throughout
	width   int
	most    int // methods in the list; 0 is no limit
}

func (t *textReport) line(format string, args ...any) {
	_, _ = fmt.Fprintf(t, format+"\n", args...)
}

// say writes a sentence, on as many lines as it needs.
func (t *textReport) say(format string, args ...any) {
	for _, line := range wrap(fmt.Sprintf(format, args...), t.width) {
		t.line("%s", line)
	}
}

// wrap breaks a text between words. What follows the first line stands two columns
// further in.
func wrap(text string, width int) []string {
	indent := strings.Repeat(" ", len(text)-len(strings.TrimLeft(text, " ")))
	var lines []string
	line := indent
	for _, word := range words(text) {
		begun := strings.TrimSpace(line) != ""
		if width > 0 && begun && utf8.RuneCountInString(line+" "+word) > width {
			lines = append(lines, line)
			line, begun = indent+"  ", false
		}
		if begun {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// heading sets a part of the report off from the one before.
func (t *textReport) heading(text string) { t.line("\n%s\n", text) }

// words are those of a text; a figure and its unit are one.
func words(text string) []string {
	var list []string
	for _, word := range strings.Fields(text) {
		unit := strings.TrimRight(word, ",;:)")
		if len(list) > 0 && slices.Contains([]string{"%", "ns", "µs", "ms", "s"}, unit) {
			list[len(list)-1] += " " + word
		} else {
			list = append(list, word)
		}
	}
	return list
}

func (t *textReport) header() {
	p := t.profile
	t.say("%s", format.Printable(title(p.Target)))
	t.say("%s", format.Printable(fmt.Sprintf("from %s down", strings.Join(p.Roots, ", "))))
	when := ""
	if !p.Began.IsZero() {
		when = ", from " + p.Began.Format("2006-01-02 15:04:05 MST")
	}
	t.say("%s%s: %s", format.Duration(p.Took), when, rootCalls(p.Merged))
	t.say("%s", timingText(p))
	if p.Scheme != "" {
		t.say("%s: %s", p.Scheme, p.Why)
	}
}

func title(t cct.Target) string {
	text := t.Command
	if text == "" {
		text = "a Java program"
	}
	var known []string
	if t.PID > 0 {
		known = append(known, fmt.Sprintf("process %d", t.PID))
	}
	if t.JDK != "" {
		known = append(known, "JDK "+t.JDK)
	}
	if len(known) > 0 {
		text += " (" + strings.Join(known, ", ") + ")"
	}
	return text
}

// rootCalls says how often the roots were called, and how long that took.
func rootCalls(top *cct.Node) string {
	var calls, running uint64
	for _, root := range top.Children {
		calls += root.Calls
		running += root.Running
	}
	text := format.Count(calls, "call of the root", "calls of the root")
	if top.Total.Nanos > 0 {
		text += fmt.Sprintf(", %s ± %s in all", format.Nanos(top.Total.Nanos), errorText(top.Total))
	}
	if running > 0 {
		text += fmt.Sprintf(", %s not ended", format.Grouped(running))
	}
	return text
}

func timingText(p *cct.Profile) string {
	switch p.Timing {
	case cct.Sampled:
		return fmt.Sprintf("sampled: every call counted, one in %s timed; ~ marks estimates, their error holds in 95 cases of 100", format.Grouped(int(p.Period)))
	case cct.Auto:
		return "auto: every call of a hook counted, up to some thousands a second of each timed, within the budget; ~ marks estimates, their error holds in 95 cases of 100"
	}
	return "exact: every call counted and timed"
}

var treeColumns = []column{
	{"TOTAL", true}, {"±", true}, {"", true}, {"SELF", true}, {"MEAN", true}, {"CALLS", true}, {"THREW", true}, {"METHOD", false},
}

// A treeLine is a node with the branches that lead to it.
type treeLine struct {
	node     *cct.Node
	branches string
}

// A pruned is what a report leaves out for being too little.
type pruned struct {
	lines int
	time  float64
	calls uint64
}

func (t *textReport) tree() {
	top := t.profile.Merged
	if len(top.Children) == 0 {
		t.line("\nno call of the root")
		return
	}
	t.heading("The tree")
	limit := limits(top)
	lines, left := limit.lines(top, nil, "")
	rows := make([][]string, len(lines))
	for i, l := range lines {
		rows[i] = t.treeRow(l.node, top.Total.Nanos)
	}
	columns, rows := withoutZeros(treeColumns, rows, "THREW")
	columns, rows, before := narrow(columns, rows, t.width, 30, "THREW", "MEAN", "±", "SELF")
	for i, l := range lines {
		branches := l.drawn(max(t.width-before, 0) / 2)
		rows[i][len(rows[i])-1] = branches + t.named(l, before+utf8.RuneCountInString(branches))
	}
	for _, line := range tableLines(columns, rows) {
		t.line("%s", line)
	}
	t.leftOut(left, "node", "nodes", top.Total.Nanos)
}

// drawn are the branches that lead to a node; where they would leave its name no
// room, its depth stands in their place.
func (l treeLine) drawn(room int) string {
	const usual = 200 // columns, where any number would do
	if room == 0 {
		room = usual
	}
	columns := utf8.RuneCountInString(l.branches)
	if columns <= room {
		return l.branches
	}
	return fmt.Sprintf("⋯ %d deep: ", columns/2)
}

// named is a node's name and marks behind what is used of the width.
func (t *textReport) named(l treeLine, used int) string {
	return t.fit(t.names[l.node.Method], t.marks(l.node), used)
}

// fit is a name and its marks behind what is used of the width. A short form of the
// name comes before the marks, which a narrow terminal cuts.
func (t *textReport) fit(name, mark string, used int) string {
	const leastName = 24
	if t.width == 0 {
		return name + mark
	}
	room := t.width - used
	name = shorten(name, max(room-utf8.RuneCountInString(mark), min(room, leastName)))
	return cutEnd(name+mark, room)
}

func (t *textReport) leftOut(left pruned, one, many string, whole float64) {
	if left.lines > 0 {
		t.line("… and %s below %g %%: %s and %s together", format.Count(left.lines, one, many), leastShare*100,
			format.Nanos(left.time)+" ("+shareText(left.time, whole)+")", format.Count(left.calls, "call", "calls"))
	}
}

// treeRow is a node's figures; the name is put in when its room is known.
func (t *textReport) treeRow(n *cct.Node, whole float64) []string {
	total, wrong, share, self, mean := none, none, none, none, none
	if n.Total.Nanos > 0 || n.Known() {
		about := ""
		if isEstimate(n) {
			about = "~"
		}
		total, mean = about+format.Nanos(n.Total.Nanos), about+format.Call(n.Mean().Nanos)
		wrong, share = errorText(n.Total), shareText(n.Total.Nanos, whole)
	}
	if n.Known() {
		self = format.Nanos(n.Self.Nanos)
		if n.Estimated() {
			self = "~" + self
		}
	}
	calls := format.AtLeast(t.profile.Methods[n.Method].LowerBound, format.Grouped(n.Calls))
	return []string{total, wrong, share, self, mean, calls, format.Grouped(n.Threw), ""}
}

// isEstimate tells whether any time below a node is an estimate.
func isEstimate(n *cct.Node) bool {
	if n.Estimated() {
		return true
	}
	for _, c := range n.Children {
		if isEstimate(c) {
			return true
		}
	}
	return false
}

// marks are what a reader must know of a node before believing its figures.
func (t *textReport) marks(n *cct.Node) string {
	var list []string
	if on, is := t.partly[n.Method]; is {
		list = append(list, onText(on, t.profile.Took))
	}
	if t.profile.Methods[n.Method].Native {
		list = append(list, "native")
	}
	if n.Running > 0 {
		list = append(list, format.Grouped(n.Running)+" running")
	}
	if n.Late {
		list = append(list, "first calls not counted")
	}
	if n.Missed > 0 {
		list = append(list, format.Grouped(n.Missed)+" without callees")
	}
	if n.Lost > 0 {
		list = append(list, format.Duration(n.Lost)+" lost to Sonde")
	}
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf("  [%s]", strings.Join(list, ", "))
}

// A limit is what a node must have to be written: time, or calls where no time is
// known.
type limit struct{ time, calls float64 }

func limits(top *cct.Node) limit {
	var calls uint64
	var walk func(n *cct.Node)
	walk = func(n *cct.Node) {
		calls += n.Calls
		for _, c := range n.Children {
			walk(c)
		}
	}
	walk(top)
	return limit{leastShare * top.Total.Nanos, leastShare * float64(calls)}
}

func (l limit) reached(n *cct.Node) bool {
	if n.Total.Nanos > 0 || n.Known() {
		return n.Total.Nanos >= l.time
	}
	return float64(n.Calls) >= l.calls
}

// lines are the nodes below one that reach the limit, and what does not.
func (l limit) lines(n *cct.Node, lines []treeLine, branches string) ([]treeLine, pruned) {
	var left pruned
	shown := make([]*cct.Node, 0, len(n.Children))
	for _, c := range n.Children {
		if l.reached(c) {
			shown = append(shown, c)
		} else {
			left.add(c)
		}
	}
	for i, c := range shown {
		own, below := "├ ", "│ "
		if i == len(shown)-1 {
			own, below = "└ ", "  "
		}
		if n.Method < 0 { // roots stand at the margin
			own, below = "", ""
		}
		lines = append(lines, treeLine{c, branches + own})
		var more pruned
		lines, more = l.lines(c, lines, branches+below)
		left.lines += more.lines
		left.time += more.time
		left.calls += more.calls
	}
	return lines, left
}

// add takes a node and all below it.
func (p *pruned) add(n *cct.Node) {
	p.lines++
	p.time += n.Self.Nanos
	p.calls += n.Calls
	for _, c := range n.Children {
		p.add(c)
	}
}

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

// how says how the figures were obtained.
func (t *textReport) how() {
	p := t.profile
	t.heading("How this was measured")
	t.calibration(p.Calibration)
	raw, self, lost := sums(p.Merged)
	if raw > 0 && self > 0 {
		t.say("  the same calls without calibration: %s of own time instead of %s (%+.0f %%)",
			format.Nanos(raw), format.Nanos(self), (raw/self-1)*100)
	}
	if lost > 0 {
		t.say("  Sonde held calls up for %s: that is in no time above", format.Duration(lost))
	}
	t.unknown(p.Merged)
	t.cost(p.Cost)
	for _, q := range p.Quiet[:min(len(p.Quiet), mostQuiet)] {
		state := "thinned"
		if on, is := t.partly[q.Method]; is {
			state = onText(on, p.Took)
		}
		t.say("  %s: %s: %s", state, t.names[q.Method], q.Reason)
	}
	if more := len(p.Quiet) - mostQuiet; more > 0 {
		t.say("  and %s whose hooks were off for all or part of the time; the page and the JSON name them", format.Count(more, "more method", "more methods"))
	}
	t.leftAlone(p.LeftAlone)
	for _, note := range p.Notes {
		t.say("  note: %s", format.Printable(note))
	}
}

// mostQuiet is how many quiet hooks are named.
const mostQuiet = 10

func (t *textReport) calibration(c cct.Calibration) {
	if c.Times == 0 {
		t.say("  not calibrated: times hold what measuring cost")
		return
	}
	t.say("  calibrated %s in the target, with its own hooks around a known body:", format.Count(c.Times, "time", "times"))
	var drawn cct.Span
	if t.profile.Timing != cct.Exact {
		drawn = c.Drawn
	}
	for _, part := range []struct {
		span cct.Span
		text string
	}{
		{c.Inner, "a timed call costs %s inside its own time"},
		{c.Outer, "and %s inside its caller's"},
		{drawn, "one that is timed by lot costs %s inside its own time"},
		{c.Count, "a call that is only counted costs %s"},
	} {
		if part.span.Median > 0 {
			t.say("    "+part.text, fmt.Sprintf("%s (%s to %s)", costText(part.span.Median), costText(part.span.Low), costText(part.span.High)))
		}
	}
	t.say("  that is subtracted; ± is what it leaves open")
	if c.Overlap > 0 {
		t.say("  a call may still read up to %s too long, where the clock ended overlap with its neighbours: ± includes it", costText(c.Overlap))
	}
}

// sums are what the clock said of own times, and what calibration made of it, where
// every call was timed; and all that Sonde took.
func sums(n *cct.Node) (raw, self float64, lost time.Duration) {
	lost = n.Lost
	if n.Timed > 0 && n.Timed == n.Calls {
		raw, self = float64(n.Raw), n.Self.Nanos
	}
	for _, c := range n.Children {
		r, s, l := sums(c)
		raw, self, lost = raw+r, self+s, lost+l
	}
	return raw, self, lost
}

// unknown says of how many calls no time is known.
func (t *textReport) unknown(top *cct.Node) {
	var counting, undrawn pruned
	var walk func(n *cct.Node)
	walk = func(n *cct.Node) {
		for _, c := range n.Children {
			if !c.Known() {
				group := &counting
				if c.Self.High > 0 {
					group = &undrawn
				}
				group.lines++
				group.calls += c.Calls
			}
			walk(c)
		}
	}
	walk(top)
	for _, group := range []struct {
		pruned
		text string
	}{
		{counting, "  only counted: %s with %s, whose time is with their callers"},
		{undrawn, "  without time: %s with %s, none of which was drawn; it is in no time above"},
	} {
		if group.lines > 0 {
			t.say(group.text, format.Count(group.lines, "node", "nodes"), format.Count(group.calls, "call", "calls"))
		}
	}
}

func (t *textReport) cost(c cct.Cost) {
	if c.Hooks > 0 {
		text := fmt.Sprintf("  hooks in %s of %s", format.Count(c.Hooks, "method", "methods"), format.Count(c.Classes, "class", "classes"))
		if c.Closure > 0 {
			text += fmt.Sprintf(", of %s the root can reach", format.Grouped(c.Closure))
		}
		if c.Cached > 0 {
			text += fmt.Sprintf(" (%s woven, %s from the cache)", format.Grouped(c.Woven), format.Grouped(c.Cached))
		}
		t.say("%s; put in by %s", text, format.Count(c.Rounds, "batch", "batches"))
	}
	var parts []string
	for _, part := range []struct {
		took time.Duration
		text string
	}{
		{c.Pause, "stood still for %s"}, {c.Compile, "its compilers worked %s"},
		{c.Waited, "its threads waited %s for hooks, in first calls and for classes that loaded"},
	} {
		if part.took > 0 {
			parts = append(parts, fmt.Sprintf(part.text, format.Duration(part.took)))
		}
	}
	if len(parts) > 0 {
		t.say("  for that the program %s", strings.Join(parts, ", "))
	}
	if c.Steady > 0 {
		text := fmt.Sprintf("  once in, hooks took %s of its processor time", shareText(c.Steady, 1))
		if c.Budget > 0 {
			text += fmt.Sprintf("; allowed were %s", shareText(c.Budget, 1))
		}
		t.say("%s", text)
	}
}

// leftAlone counts what has no hook by its reason, but for details.
func (t *textReport) leftAlone(list []cct.LeftAlone) {
	if len(list) == 0 {
		return
	}
	groups := map[string][]cct.LeftAlone{}
	var reasons []string
	for _, l := range list {
		reason, _, _ := strings.Cut(l.Reason, ": ")
		if groups[reason] == nil {
			reasons = append(reasons, reason)
		}
		groups[reason] = append(groups[reason], l)
	}
	slices.SortStableFunc(reasons, func(a, b string) int { return len(groups[b]) - len(groups[a]) })
	t.say("  left alone, their time is with their callers:")
	for _, reason := range reasons {
		first := groups[reason][0]
		name := strings.ReplaceAll(first.Class, "/", ".")
		if first.Method != "" {
			name += "." + first.Method
		}
		t.say("    %s: %s, such as %s", format.Grouped(len(groups[reason])), format.Printable(reason), format.Printable(name))
	}
}
