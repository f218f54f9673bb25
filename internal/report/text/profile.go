// Package text writes the results of profiles, root-cause searches, traces and comparisons
// for a terminal or a text file.
package text

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

const (
	// leastShare is the share of the whole that a line must stand for to be written, leastSampled
	// that of a line by sampled stacks: a few samples say little.
	leastShare   = 0.001
	leastSampled = 0.01
	// mostQuiet is how many methods are named whose hooks were off or thinned.
	mostQuiet = 10
	// mostThreads is how many threads are listed.
	mostThreads = 10
)

// WriteProfile writes a profile. A width of 0 allows lines of any length, and most is the
// number of methods in the flat list, 0 for all.
func WriteProfile(w io.Writer, p *cct.Profile, width, most int) error {
	r := &profileReport{
		printer: printer{bufio.NewWriter(w), width}, profile: p, names: cct.Names(p.Methods), partly: p.Partly(), most: most,
	}
	r.header()
	r.tree()
	r.flat()
	r.threads()
	r.how()
	return r.Flush()
}

type profileReport struct {
	printer
	profile *cct.Profile
	names   []string
	partly  map[int]time.Duration // how long the hooks were on that were not on for the whole window
	most    int                   // methods in the flat list; 0 is no limit
}

func (r *profileReport) header() {
	p := r.profile
	if p.Disturbed != "" {
		r.say("%s", format.Printable(p.Disturbed))
	}
	r.say("%s", format.Printable(p.Target.String()))
	r.say("calls below %s", format.Printable(strings.Join(p.Roots, ", ")))
	when := ""
	if !p.Began.IsZero() {
		when = ", from " + p.Began.Format("2006-01-02 15:04:05 MST")
	}
	r.say("%s%s: %s", format.Duration(p.Took), when, rootCalls(p))
	timing := Timing(p)
	if p.Timing == cct.Sampled || p.Timing == cct.Auto || hasNode(p.Merged, func(n *cct.Node) bool { return n.Estimated() || n.Sampled }) {
		timing += "; ~ marks estimates, whose ± is a 95 % confidence interval"
	}
	r.say("%s", timing)
	if p.Scheme != "" {
		r.say("%s: %s", p.Scheme, p.Why)
	}
	if p.Disturbance != nil {
		r.say("%v", p.Disturbance)
	}
}

// rootCalls describes how often the roots were called, and how long the calls took.
func rootCalls(p *cct.Profile) string {
	top := p.Merged
	root := top.Roots()
	text := format.AtLeast(p.MissesRootCalls(), format.Count(root.Calls, "call of the root", "calls of the root"))
	if root.Calls == 0 && top.Total.Nanos > 0 {
		text = "the root"
	}
	if top.Total.Nanos > 0 {
		text += fmt.Sprintf(", %s ± %s in total", format.Nanos(top.Total.Nanos), errorText(top.Total))
	}
	if root.Running > 0 {
		text += fmt.Sprintf(", %s still running", format.Grouped(root.Running))
	}
	return text
}

// Timing describes which calls a profile timed. The text begins with the timing's name.
func Timing(p *cct.Profile) string {
	switch p.Timing {
	case cct.Sampled:
		return fmt.Sprintf("sampled: every call was counted, one in %s was timed", format.Grouped(int(p.Period)))
	case cct.Stacks:
		return "stacks: no hooks; times are those of sampled stacks"
	case cct.Auto:
		return "auto: every call of a hooked method was counted, and up to a few thousand per second and method were timed, within the budget"
	}
	return "exact: every call was counted and timed"
}

// OnOtherThread marks work that a call handed to another thread. Its time is not part of that of the call.
const OnOtherThread = "on another thread"

// HandedFrame stands in stacks between a call and the work that it handed over.
const HandedFrame = "(" + OnOtherThread + ")"

var treeColumns = format.Columns(">TOTAL", ">±", ">", ">SELF", ">WAITS", ">MEAN", ">CALLS", ">THREW", "METHOD")

func (r *profileReport) tree() {
	top := r.profile.Merged
	if len(top.Children) == 0 {
		r.line("\nno call of the root")
		return
	}
	r.heading("Call tree")
	lines := TreeLines(top, false, thresholdOf(top).reached)
	t := &table{columns: treeColumns}
	for _, l := range lines {
		t.rows = append(t.rows, r.treeRow(l.Node, top.Total.Nanos))
	}
	t.dropIfAll("THREW", "0", none)
	t.dropIfAll("WAITS", "")
	t.dropIfAll("CALLS", none)
	t.dropIfAll("MEAN", none)
	before := t.narrow(r.width, 30, "THREW", "MEAN", "±", "WAITS", "SELF")
	for i, l := range lines {
		t.setTree(i, l.Branches, r.names[l.Node.Method], r.marks(l.Node), before, r.width)
	}
	r.table(t)
	r.leftOut(omittedFrom(top, lines), "node", "nodes", top.Total.Nanos)
}

// fitBranches returns the branches that lead to a node, or its depth where the branches
// would leave no room for the name.
func fitBranches(branches string, room int) string {
	const unlimited = 200
	if room == 0 {
		room = unlimited
	}
	columns := utf8.RuneCountInString(branches)
	if columns <= room {
		return branches
	}
	return fmt.Sprintf("⋯ %d deep: ", columns/2)
}

// treeRow returns the cells of a node. The name is added when its room is known.
func (r *profileReport) treeRow(n *cct.Node, whole float64) []string {
	total, wrong, share, self, mean, calls, threw := none, none, none, none, none, none, none
	if n.Total.Nanos > 0 || n.Known() {
		total = About(n) + format.Nanos(n.Total.Nanos)
		if n.Calls > 0 {
			mean = About(n) + format.Call(n.Mean().Nanos)
		}
		wrong, share = errorText(n.Total), shareText(n.Total.Nanos, whole)
	}
	if n.Known() {
		self = AboutSelf(n) + format.Nanos(n.Self.Nanos)
	}
	if n.Calls > 0 || !n.Sampled {
		calls, threw = format.AtLeast(r.profile.Methods[n.Method].LowerBound, format.Grouped(n.Calls)), format.Grouped(n.Threw)
	}
	return []string{total, wrong, share, self, waitText(n), mean, calls, threw, ""}
}

// leastWait is the part of a node's time that threads must have waited to be mentioned.
const leastWait = 0.01

// waitText returns what part of a node's time threads waited, and for what mostly.
func waitText(n *cct.Node) string {
	var sum float64
	for _, w := range n.Waits {
		sum += w.Time.Nanos
	}
	if sum < leastWait*n.Total.Nanos || sum == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s", shareText(sum, n.Total.Nanos), n.Waits[0].For)
}

func hasNode(top *cct.Node, is func(*cct.Node) bool) bool {
	for n := range top.All() {
		if is(n) {
			return true
		}
	}
	return false
}

// About marks the total time of a node if it, or that of a node below, is an estimate.
func About(n *cct.Node) string { return mark(isEstimate(n)) }

// AboutSelf marks the own time of a node if it is an estimate.
func AboutSelf(n *cct.Node) string { return mark(n.Estimated() || n.Sampled || n.Split) }

func mark(isEstimate bool) string {
	if isEstimate {
		return "~"
	}
	return ""
}

func isEstimate(n *cct.Node) bool {
	return n.Estimated() || n.Sampled || slices.ContainsFunc(n.Children, func(c *cct.Node) bool { return !c.Sampled && isEstimate(c) })
}

// marks returns what qualifies the numbers of a node.
func (r *profileReport) marks(n *cct.Node) string {
	var list []string
	if on, is := r.partly[n.Method]; is && !n.Sampled {
		list = append(list, On(on, r.profile.Took))
	}
	if n.Handed {
		list = append(list, OnOtherThread)
	}
	if r.profile.Methods[n.Method].Native {
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
	return bracketed(list, ", ")
}

func bracketed(marks []string, separator string) string {
	if len(marks) == 0 {
		return ""
	}
	return "  [" + strings.Join(marks, separator) + "]"
}

// A threshold is what a node must have to be written: time, or calls where no time is known.
type threshold struct{ time, calls float64 }

func thresholdOf(top *cct.Node) threshold {
	var calls uint64
	for n := range top.All() {
		calls += n.Calls
	}
	return threshold{leastShare * top.Total.Nanos, leastShare * float64(calls)}
}

func (h threshold) reached(n *cct.Node) bool {
	switch {
	case n.Sampled && n.Calls == 0:
		return n.Total.Nanos >= leastSampled/leastShare*h.time
	case n.Total.Nanos > 0 || n.Known():
		return n.Total.Nanos >= h.time
	}
	return float64(n.Calls) >= h.calls
}

// A TreeLine is a node with the branches that lead to it.
type TreeLine struct {
	Node     *cct.Node
	Branches string
	Depth    int // number of its callers
}

// omitted sums up what a list leaves out for being below the threshold.
type omitted struct {
	lines int
	time  float64
	calls uint64
}

// TreeLines returns the nodes below a node that are shown, callers before callees. In a narrow tree,
// an only child stays in the column of its parent, and only others have branches.
func TreeLines(top *cct.Node, isNarrow bool, isShown func(*cct.Node) bool) (lines []TreeLine) {
	var add func(n *cct.Node, branches string, depth int)
	add = func(n *cct.Node, branches string, depth int) {
		shown := slices.DeleteFunc(slices.Clone(n.Children), func(c *cct.Node) bool { return !isShown(c) })
		for i, c := range shown {
			own, below := "├ ", "│ "
			if i == len(shown)-1 {
				own, below = "└ ", "  "
			}
			if n == top && !isNarrow || isNarrow && len(shown) == 1 { // roots have no branch
				own, below = "", ""
			}
			lines = append(lines, TreeLine{c, branches + own, depth})
			add(c, branches+below, depth+1)
		}
	}
	add(top, "", 0)
	return lines
}

// Longest returns the nodes that took longest, or without a time those with most calls,
// with their ancestors.
func Longest(top *cct.Node, most int) map[*cct.Node]bool {
	shown := make(map[*cct.Node]bool)
	open := slices.Clone(top.Children)
	for len(open) > 0 && len(shown) < most {
		next := slices.MaxFunc(open, func(a, b *cct.Node) int {
			return cmp.Or(cmp.Compare(a.Total.Nanos, b.Total.Nanos), cmp.Compare(a.Calls, b.Calls))
		})
		shown[next] = true
		at := slices.Index(open, next)
		open = append(slices.Delete(open, at, at+1), next.Children...)
	}
	return shown
}

// omittedFrom sums up the nodes below a node that have no line.
func omittedFrom(top *cct.Node, lines []TreeLine) (left omitted) {
	shown := map[*cct.Node]bool{top: true}
	for _, l := range lines {
		shown[l.Node] = true
	}
	for n := range top.All() {
		if !shown[n] {
			left.add(omitted{1, n.Self.Nanos, n.Calls})
		}
	}
	return left
}

func (o *omitted) add(more omitted) {
	o.lines += more.lines
	o.time += more.time
	o.calls += more.calls
}

func (r *profileReport) leftOut(left omitted, one, many string, whole float64) {
	if left.lines > 0 {
		sampled := ""
		if hasNode(r.profile.Merged, func(n *cct.Node) bool { return n.Sampled }) {
			sampled = fmt.Sprintf(", or %g %% by sampled stacks", leastSampled*100)
		}
		r.line("… and %s below %g %%%s: %s (%s) and %s together", format.Count(left.lines, one, many), leastShare*100, sampled,
			format.Nanos(left.time), shareText(left.time, whole), format.Count(left.calls, "call", "calls"))
	}
}

var flatColumns = format.Columns(">SELF", ">±", ">", ">SELF/CALL", ">TOTAL", ">CALLS", ">THREW", ">CONTEXTS", "METHOD")

// flat lists the methods by self time, and those whose hooks were off.
func (r *profileReport) flat() {
	top := r.profile.Merged
	rows := cct.Flat(top, r.profile.Methods)
	off := Off(r.profile, rows)
	off = off[:min(len(off), mostQuiet)]
	if len(rows) == 0 && len(off) == 0 {
		return
	}
	r.heading("Methods by self time")
	least := thresholdOf(top)
	var left omitted
	var shown []cct.Row
	for _, row := range rows {
		enough := row.Self.Nanos >= least.time
		switch {
		case row.Sampled && row.Calls == 0:
			enough = row.Self.Nanos >= leastSampled/leastShare*least.time
		case !row.Known:
			enough = float64(row.Calls) >= least.calls
		}
		if enough {
			shown = append(shown, row)
		} else {
			left.add(omitted{1, row.Self.Nanos, row.Calls})
		}
	}
	hidden := 0
	if r.most > 0 && len(shown) > r.most {
		hidden = len(shown) - r.most
		shown = shown[:r.most]
	}
	t := &table{columns: flatColumns}
	for _, row := range shown {
		t.rows = append(t.rows, r.flatRow(row, top.Extent()))
	}
	for range off {
		t.rows = append(t.rows, []string{none, none, none, none, none, offText, none, none, ""})
	}
	t.dropIfAll("THREW", "0", none)
	before := t.narrow(r.width, 30, "CONTEXTS", "THREW", "TOTAL", "±", "SELF/CALL")
	for i, row := range shown {
		mark := ""
		if on, is := r.partly[row.Method]; is && !row.Sampled {
			mark = "  [" + On(on, r.profile.Took) + "]"
		}
		t.setLast(i, fitted(r.names[row.Method], mark, before, r.width))
	}
	for i, method := range off {
		t.setLast(len(shown)+i, fitted(r.names[method], "", before, r.width))
	}
	r.table(t)
	if hidden > 0 {
		r.line("%s not shown (--top)", format.Count(hidden, "method is", "methods are"))
	}
	r.leftOut(left, "method", "methods", top.Extent())
}

// Off returns methods without a row whose hooks were off for the whole window.
func Off(p *cct.Profile, rows []cct.Row) []int {
	partly := p.Partly()
	var list []int
	for _, q := range p.Quiet {
		if on, is := partly[q.Method]; is && on == 0 && !slices.ContainsFunc(rows, func(row cct.Row) bool { return row.Method == q.Method }) {
			list = append(list, q.Method)
		}
	}
	return list
}

// HookState describes when a quiet hook was on.
func HookState(p *cct.Profile, q cct.Quiet) string {
	if on, is := p.Partly()[q.Method]; is {
		return On(on, p.Took)
	}
	return "thinned"
}

func (r *profileReport) flatRow(row cct.Row, whole float64) []string {
	self, wrong, share, mean, total := none, none, none, none, none
	about := ""
	if row.Timed < row.Calls || row.Sampled {
		about = "~"
	}
	if row.Known {
		self, wrong, share = about+format.Nanos(row.Self.Nanos), errorText(row.Self), shareText(row.Self.Nanos, whole)
		if row.Calls > 0 {
			mean = about + format.Call(row.Mean.Nanos)
		}
	}
	if row.Known || row.Total.Nanos > 0 {
		total = format.Nanos(row.Total.Nanos)
	}
	calls, threw := none, none
	if row.Calls > 0 || !row.Sampled {
		calls, threw = format.AtLeast(r.profile.Methods[row.Method].LowerBound, format.Grouped(row.Calls)), format.Grouped(row.Threw)
	}
	return []string{self, wrong, share, mean, total, calls, threw, format.Grouped(row.Contexts), ""}
}

// threads lists the threads with the most time.
func (r *profileReport) threads() {
	all := r.profile.Threads
	if len(all) < 2 {
		return
	}
	r.heading("Threads")
	t := &table{columns: format.Columns(">TOTAL", ">", ">ROOT CALLS", "THREAD")}
	for _, thread := range all[:min(mostThreads, len(all))] {
		total := thread.Top.Total.Nanos
		t.rows = append(t.rows, []string{
			format.Nanos(total), shareText(total, r.profile.Merged.Total.Nanos), format.Grouped(thread.Top.Roots().Calls), thread.String(),
		})
	}
	r.table(t)
	if more := len(all) - mostThreads; more > 0 {
		r.line("… and %s", format.Count(more, "more thread", "more threads"))
	}
}

// how describes how the numbers were obtained, and what that cost the program.
func (r *profileReport) how() {
	p := r.profile
	r.heading("How this was measured")
	r.calibration(p.Calibration)
	raw, self, lost := sums(p.Merged)
	if raw > 0 && self > 0 {
		r.say("  without calibration the same calls would have a self time of %s instead of %s (%+.0f %%)",
			format.Nanos(raw), format.Nanos(self), (raw/self-1)*100)
	}
	if lost > 0 {
		r.say("  Sonde delayed calls by %s, which the times above exclude", format.Duration(lost))
	}
	r.untimed(p.Merged)
	r.cost(p.Cost)
	for _, q := range p.Quiet[:min(len(p.Quiet), mostQuiet)] {
		r.say("  %s: %s: %s", HookState(p, q), r.names[q.Method], q.Reason)
	}
	if more := len(p.Quiet) - mostQuiet; more > 0 {
		r.say("  and %s whose hooks were off for all or part of the time; the page and the JSON name them", format.Count(more, "more method", "more methods"))
	}
	r.leftAlone(p.LeftAlone)
	for _, note := range p.Notes {
		r.say("  note: %s", format.Printable(note))
	}
}

func (r *profileReport) calibration(c cct.Calibration) {
	if r.profile.Timing == cct.Stacks {
		r.say("  nothing entered the program: the kernel sampled its threads")
		return
	}
	if c.Times == 0 {
		r.say("  not calibrated: the times include the cost of measuring")
		return
	}
	r.say("  cost of hooks, measured %s in the target around code of known length:", format.Count(c.Times, "time", "times"))
	var drawn cct.Span
	if r.profile.Timing != cct.Exact {
		drawn = c.Drawn
	}
	for _, part := range []struct {
		span cct.Span
		text string
	}{
		{c.Inner, "a timed call costs %s within its own time"},
		{c.Outer, "and %s within its caller's"},
		{drawn, "a call that is timed by sampling costs %s within its own time"},
		{c.Count, "a call that is only counted costs %s"},
	} {
		if part.span.Median > 0 {
			r.say("    "+part.text, fmt.Sprintf("%s (%s to %s)", costText(part.span.Median), costText(part.span.Low), costText(part.span.High)))
		}
	}
	r.say("  these costs are subtracted; ± is the remaining uncertainty")
	if c.Overlap > 0 {
		r.say("  a call may still read up to %s too long, because reading the clock stops the processor from overlapping neighbouring work; ± includes that", costText(c.Overlap))
	}
}

// sums returns the self times of fully timed nodes before and after calibration, and all
// time that Sonde took from calls.
func sums(top *cct.Node) (raw, self float64, lost time.Duration) {
	for n := range top.All() {
		lost += n.Lost
		if n.Timed > 0 && n.Timed == n.Calls && !n.Split {
			raw += float64(n.Raw)
			self += n.Self.Nanos
		}
	}
	return raw, self, lost
}

// untimed counts the calls whose time is not known.
func (r *profileReport) untimed(top *cct.Node) {
	var counted, notDrawn omitted
	for n := range top.All() {
		if n == top || n.Known() || n.Sampled {
			continue
		}
		group := &counted
		if n.Self.High > 0 {
			group = &notDrawn
		}
		group.add(omitted{lines: 1, calls: n.Calls})
	}
	for _, group := range []struct {
		omitted
		text string
	}{
		{counted, "  only counted: %s with %s, whose time is included in that of their callers"},
		{notDrawn, "  not timed: %s with %s, none of which was sampled; their time is not included above"},
	} {
		if group.lines > 0 {
			r.say(group.text, format.Count(group.lines, "node", "nodes"), format.Count(group.calls, "call", "calls"))
		}
	}
}

func (r *profileReport) cost(c cct.Cost) {
	if c.Hooks > 0 {
		text := fmt.Sprintf("  hooks in %s of %s", format.Count(c.Hooks, "method", "methods"), format.Count(c.Classes, "class", "classes"))
		if c.Closure > 0 {
			text += fmt.Sprintf(", of %s that the root can reach", format.Grouped(c.Closure))
		}
		if c.Cached > 0 {
			text += fmt.Sprintf(" (%s woven, %s from the cache)", format.Grouped(c.Woven), format.Grouped(c.Cached))
		}
		r.say("%s; installed in %s", text, format.Count(c.Rounds, "batch", "batches"))
	}
	var parts []string
	for _, part := range []struct {
		took time.Duration
		text string
	}{
		{c.Pause, "paused for %s"}, {c.Compile, "spent %s in its compilers"},
		{c.Waited, "had threads waiting %s for hooks, in first calls and while classes loaded"},
	} {
		if part.took > 0 {
			parts = append(parts, fmt.Sprintf(part.text, format.Duration(part.took)))
		}
	}
	if last := len(parts) - 1; last > 0 {
		parts = []string{strings.Join(parts[:last], ", ") + " and " + parts[last]}
	}
	if len(parts) > 0 {
		r.say("  for that the program %s", parts[0])
	}
	if c.Steady > 0 {
		r.say("  once installed, hooks took %s", cpuText(c.Steady, c.Budget))
	}
}

// cpuText describes the share of CPU time that hooks took, and the budget, if there is one.
func cpuText(steady, budget float64) string {
	text := fmt.Sprintf("%s of the program's CPU time", shareText(steady, 1))
	if budget > 0 {
		text += fmt.Sprintf("; the budget was %s", shareText(budget, 1))
	}
	return text
}

// leftAlone counts the methods and classes without a hook by reason, ignoring details.
func (r *profileReport) leftAlone(list []cct.LeftAlone) {
	if len(list) == 0 {
		return
	}
	groups := format.GroupBy(list, func(l cct.LeftAlone) string {
		reason, _, _ := strings.Cut(l.Reason, ": ")
		return reason
	})
	slices.SortStableFunc(groups, func(a, b format.Group[string, cct.LeftAlone]) int { return len(b.List) - len(a.List) })
	r.say("  without a hook; their time is included in that of their callers unless stacks show it:")
	for _, g := range groups {
		r.say("    %s: %s, such as %s", format.Grouped(len(g.List)), format.Printable(g.Key), format.Printable(LeftName(g.List[0])))
	}
}

// LeftName returns the name of a class or method without a hook.
func LeftName(l cct.LeftAlone) string {
	name := strings.ReplaceAll(l.Class, "/", ".")
	if l.Method != "" {
		name += "." + l.Method
	}
	return name
}

// WriteCollapsed writes a profile as collapsed stacks: one line for each calling context
// with self time, with the calls that lead to it and nanoseconds.
func WriteCollapsed(w io.Writer, p *cct.Profile) error { return writeCollapsed(w, p.Methods, p.Merged) }

func writeCollapsed(w io.Writer, methods []cct.Method, top *cct.Node) error {
	out := bufio.NewWriter(w) // keeps the first error until Flush
	frames := cct.Names(methods)
	for i := range frames {
		frames[i] = strings.ReplaceAll(frames[i], ";", ":") // the separator of frames
	}
	var walk func(n *cct.Node, path string)
	walk = func(n *cct.Node, path string) {
		for _, c := range n.Children {
			here := frames[c.Method]
			if c.Sampled {
				here = "~" + here // by sampled stacks
			}
			if c.Handed {
				here = HandedFrame + ";" + here
			}
			if path != "" {
				here = path + ";" + here
			}
			if nanos := math.Round(c.Self.Nanos); nanos > 0 {
				_, _ = fmt.Fprintf(out, "%s %.0f\n", here, nanos)
			}
			walk(c, here)
		}
	}
	walk(top, "")
	return out.Flush()
}
