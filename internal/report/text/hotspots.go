package text

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// The orders of hot spots.
const (
	BySelf  = "self"
	ByTotal = "total"
	ByName  = "name"
)

var hotOrders = map[string]func(a, b hotspots.Method) int{BySelf: hotspots.BySelf, ByTotal: hotspots.ByTotal, ByName: hotspots.ByName}

// A HotForm is how hot spots are shown.
type HotForm int

// The forms.
const (
	HotMethods HotForm = iota
	HotThreads
	HotFlame
)

// A HotView says which rows of a table of hot spots are shown, and how.
type HotView struct {
	Form   HotForm
	Sort   string
	Filter string // a text in the names of shown rows, in any case
}

func (v HotView) passes(name string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(v.Filter))
}

// Methods returns the methods that pass the filter, in order; by self time, only methods
// that have some.
func (v HotView) Methods(t *hotspots.Table) []hotspots.Method {
	rows := slices.DeleteFunc(slices.Clone(t.Methods), func(m hotspots.Method) bool {
		return v.Sort == BySelf && m.Self.Part == 0 || !v.passes(m.Label.String())
	})
	slices.SortStableFunc(rows, hotOrders[v.Sort])
	return rows
}

// threads returns the threads that pass the filter, with wall also threads that only wait.
func (v HotView) threads(t *hotspots.Table, wall bool) []hotspots.Thread {
	rows := slices.DeleteFunc(slices.Clone(t.Threads), func(th hotspots.Thread) bool {
		return th.Share.Part == 0 && !(wall && len(th.Waits) > 0) || !v.passes(th.Name)
	})
	if v.Sort == ByName {
		slices.SortStableFunc(rows, func(a, b hotspots.Thread) int { return strings.Compare(a.Name, b.Name) })
	}
	return rows
}

func (v HotView) places(t *hotspots.Table) []hotspots.Place {
	rows := slices.DeleteFunc(t.Places(), func(p hotspots.Place) bool { return !v.passes(p.Label.String()) })
	if v.Sort == ByName {
		slices.SortStableFunc(rows, func(a, b hotspots.Place) int { return strings.Compare(a.Label.String(), b.Label.String()) })
	}
	return rows
}

var (
	hotColumns    = format.Columns(">SELF", ">95 %", ">TOTAL", "KIND", ">LINE", "METHOD")
	threadColumns = format.Columns(">SHARE", ">95 %", ">CPU", ">SAMPLES", "MOST OF IT IN", "THREAD")
	wallColumns   = format.Columns(">THREADS", ">SHARE", "", "METHOD")
	wallThreads   = format.Columns(">SHARE", ">CPU", "WAITS FOR", "MOST OF IT IN", "THREAD")
	flameColumns  = format.Columns(">TOTAL", "", "METHOD")
)

// hotExpendable are the columns of all these tables that a narrow terminal drops, in this order.
var hotExpendable = []string{"95 %", "LINE", "SAMPLES", "KIND", "CPU", "MOST OF IT IN"}

const (
	// methodRoom is what is left for the name of a method.
	methodRoom = 40
	// leastShown is the share below which a kind of thread is not worth a word.
	leastShown = 0.0005
	// longestTop bounds a column that is not the last.
	longestTop = 40
)

// Rows returns the first rows of a result, and how many more there are. There are no titles if there
// is nothing to show.
func (v HotView) Rows(r *hotspots.Result, most, width int) (titles string, shown []format.Row, hidden int) {
	switch {
	case v.Form == HotFlame:
		return v.flame(r, most, width)
	case v.Form == HotThreads:
		rows, hidden := first(v.threads(r.Table, r.Wall), most)
		columns, texts := threadColumns, threadTexts
		if r.Wall {
			columns, texts = wallThreads, wallThreadTexts
		}
		columns, cells := format.FitTable(columns, texts(rows, width), hotExpendable, width)
		titles, shown = format.TableRows(columns, cells, width, func(i int, row *format.Row) { row.Name = threadName(rows[i]) })
		return titles, shown, hidden
	case r.Wall:
		all := v.places(r.Table)
		rows, hidden := first(all, most)
		names := namesOf(all, func(p hotspots.Place) cct.Method { return p.Label })
		titles, shown = format.TableRows(wallColumns, placeTexts(rows, names), width, func(i int, row *format.Row) { row.Method = methodOf(rows[i].Label, names[rows[i].Label]) })
		return titles, shown, hidden
	}
	rows, hidden := first(v.Methods(r.Table), most)
	names := namesOf(r.Methods, func(m hotspots.Method) cct.Method { return m.Label })
	columns, texts := format.FitTableTo(hotColumns, hotTexts(rows, names), hotExpendable, width, methodRoom)
	titles, shown = format.TableRows(columns, texts, width, func(i int, row *format.Row) { row.Method = methodOf(rows[i].Label, names[rows[i].Label]) })
	return titles, shown, hidden
}

// methodOf returns a pattern for a method that is shown with a name; "" for other code.
func methodOf(m cct.Method, shown string) string {
	if m.Class == "" {
		return ""
	}
	text := format.Printable(m.String())
	if shown == text { // it has no overloads
		return text
	}
	return cmp.Or(pattern.Of(classfile.MethodRef{Class: strings.ReplaceAll(m.Class, ".", "/"), Name: m.Name, Descriptor: m.Descriptor}, false), text)
}

// first returns the first rows, at most this many, and the number of the others; all if most is 0.
func first[T any](rows []T, most int) (shown []T, hidden int) {
	if most <= 0 || len(rows) <= most {
		return rows, 0
	}
	return rows[:most], len(rows) - most
}

func hotTexts(rows []hotspots.Method, names map[cct.Method]string) [][]string {
	texts := make([][]string, 0, len(rows))
	for _, m := range rows {
		self, interval, kind, line := "-", "", "", ""
		if m.Self.Part > 0 {
			self, interval, kind = partText(m.Self.Part), intervalText(m.Self), mostOf(m.Kinds)
			if len(m.Lines) > 0 && m.Lines[0].Line > 0 {
				line = strconv.Itoa(m.Lines[0].Line)
			}
		}
		texts = append(texts, []string{self, interval, partText(m.Total.Part), kind, line, names[m.Label]})
	}
	return texts
}

// namesOf returns the names of all methods of a table; overloads have their parameters.
func namesOf[T any](rows []T, label func(T) cct.Method) map[cct.Method]string {
	labels, names := map[cct.Method]bool{}, map[cct.Method]string{}
	for _, row := range rows {
		labels[label(row)] = true
	}
	methods := slices.Collect(maps.Keys(labels))
	for i, name := range cct.Names(methods) {
		names[methods[i]] = name
	}
	return names
}

func threadTexts(rows []hotspots.Thread, width int) [][]string {
	texts := make([][]string, 0, len(rows))
	for _, t := range rows {
		samples := "-"
		if t.Samples > 0 {
			samples = format.Grouped(t.Samples)
		}
		texts = append(texts, []string{partText(t.Share.Part), intervalText(t.Share), processorsText(t.CPU), samples, topText(t.Top, width), threadName(t)})
	}
	return texts
}

func wallThreadTexts(rows []hotspots.Thread, width int) [][]string {
	texts := make([][]string, 0, len(rows))
	for _, t := range rows {
		waits := map[string]float64{}
		for wait, part := range t.Waits {
			waits[string(wait)] = part / float64(max(1, t.Count))
		}
		texts = append(texts, []string{partText(t.Share.Part), processorsText(t.CPU), mostOf(waits), topText(t.Top, width), threadName(t)})
	}
	return texts
}

func placeTexts(rows []hotspots.Place, names map[cct.Method]string) [][]string {
	texts := make([][]string, 0, len(rows))
	for _, p := range rows {
		texts = append(texts, []string{fmt.Sprintf("%.2f", p.Threads), partText(p.Part), hotspots.WaitText(p.Wait), names[p.Label] + lockText(p.Locks)})
	}
	return texts
}

// LockLines say where threads wait for locks.
func LockLines(places []hotspots.Place, most int) (lines []string) {
	names := namesOf(places, func(p hotspots.Place) cct.Method { return p.Label })
	for _, p := range places[:min(len(places), most)] {
		lines = append(lines, fmt.Sprintf("lock: %.2f threads wait in %s%s", p.Threads, names[p.Label], lockText(p.Locks)))
	}
	return lines
}

// lockText names the object that most threads at a place wait for, and where it is held most often, as far as that is
// known.
func lockText(locks []hotspots.Lock) string {
	if len(locks) == 0 {
		return ""
	}
	parts := map[string]float64{}
	for _, l := range locks {
		parts[l.Class] += l.Part
	}
	class := slices.MaxFunc(slices.Sorted(maps.Keys(parts)), func(a, b string) int { return cmp.Compare(parts[a], parts[b]) })
	text := " (for " + format.Printable(cmp.Or(descriptor.ExternalName(class), "an object"))
	if parts[class] < 0.995 {
		text += fmt.Sprintf(" in %.0f %%", 100*parts[class])
	}
	if at := slices.IndexFunc(locks, func(l hotspots.Lock) bool { return l.Class == class && l.In != (cct.Method{}) }); at >= 0 {
		text += ", held in " + format.Printable(locks[at].In.String())
	}
	return text + ")"
}

func topText(m cct.Method, width int) string {
	return format.Printable(format.KeepEnd(m.String(), min(longestTop, cmp.Or(width/3, longestTop)), 0))
}

func threadName(t hotspots.Thread) string {
	name := cmp.Or(t.Name, "#"+strconv.FormatInt(t.JavaID, 10))
	if t.Group != jfr.ProgramThread {
		name += " (" + format.Count(t.Count, "thread", "threads") + ")"
	}
	return format.Printable(name)
}

func processorsText(cpu float64) string {
	if cpu < 0 {
		return "-"
	}
	return partText(cpu)
}

// mostOf returns the most frequent kind, with its part if it is not the only one.
func mostOf(kinds map[string]float64) string {
	if len(kinds) == 0 {
		return ""
	}
	most := slices.MinFunc(slices.Collect(maps.Keys(kinds)), func(a, b string) int {
		return cmp.Or(cmp.Compare(kinds[b], kinds[a]), strings.Compare(a, b))
	})
	if kinds[most] < 0.995 {
		return fmt.Sprintf("%s %.0f %%", most, 100*kinds[most])
	}
	return most
}

func partText(part float64) string {
	if part > 0 && part < 0.0995 {
		return fmt.Sprintf("%.1f %%", 100*part)
	}
	return fmt.Sprintf("%.0f %%", 100*part)
}

func intervalText(s cct.Share) string { return fmt.Sprintf("%.0f-%.0f", 100*s.Low, 100*s.High) }

// flame returns a flame graph of the nodes that took longest: each line has a bar below that of its
// caller, as long as its share.
func (v HotView) flame(r *hotspots.Result, most, width int) (titles string, shown []format.Row, hidden int) {
	const usualWidth, leastBar, mostBar = 100, 8, 60
	tree := r.Tree(r.Wall)
	kept := tree.Top
	if v.Filter != "" {
		kept = v.prune(tree, tree.Top)
	}
	if kept == nil || tree.Top.Total.Nanos <= 0 {
		return "", nil, 0
	}
	if most <= 0 {
		most = 1 << 20
	}
	longest := Longest(kept, most)
	for range kept.All() {
		hidden++
	}
	hidden -= len(longest) + 1
	bar := min(mostBar, max(leastBar, cmp.Or(width, usualWidth)/3))
	offsets := map[*cct.Node]float64{}
	placeBelow(kept, 0, offsets)
	names := cct.Names(tree.Methods)
	var rows [][]string
	tops := TreeLines(kept, true, func(n *cct.Node) bool { return longest[n] })
	for _, l := range tops {
		n, all := l.Node, tree.Top.Total.Nanos
		name := names[n.Method]
		if m := tree.Methods[n.Method]; m.Category != "" && m.Class != "" {
			name += " [" + m.Category + "]"
		}
		rows = append(rows, []string{partText(n.Total.Nanos / all), barText(offsets[n]/all, n.Total.Nanos/all, bar), l.Branches + name})
	}
	used := format.SpaceBefore(flameColumns, rows)
	for i, row := range rows {
		branches := tops[i].Branches
		row[2] = branches + format.KeepEnd(strings.TrimPrefix(row[2], branches), width, used+utf8.RuneCountInString(branches))
	}
	titles, shown = format.TableRows(flameColumns, rows, 0, func(i int, row *format.Row) {
		m := tree.Methods[tops[i].Node.Method]
		row.Method, row.Depth, row.Category = methodOf(m, names[tops[i].Node.Method]), tops[i].Depth, m.Category
	})
	return titles, shown, hidden
}

// prune returns a copy of the nodes whose names pass the filter, with their callers and all below
// them; nil if there are none.
func (v HotView) prune(tree *hotspots.Tree, n *cct.Node) *cct.Node {
	if n.Method >= 0 && v.passes(tree.Methods[n.Method].String()) {
		return n
	}
	kept := *n
	kept.Children, kept.Self, kept.Total = nil, cct.Time{}, cct.Time{}
	for _, c := range n.Children {
		if c = v.prune(tree, c); c != nil {
			kept.Children = append(kept.Children, c)
			kept.Total = kept.Total.Plus(c.Total)
		}
	}
	if len(kept.Children) == 0 {
		return nil
	}
	return &kept
}

// placeBelow computes where the bars of nodes begin: children begin with their parent.
func placeBelow(n *cct.Node, at float64, offsets map[*cct.Node]float64) {
	offsets[n] = at
	for _, c := range n.Children {
		placeBelow(c, at, offsets)
		at += c.Total.Nanos
	}
}

// eighths are the parts of a column that a bar may fill.
var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// barText draws a bar of a share of a width, after another share.
func barText(from, part float64, width int) string {
	begin := min(width-1, int(from*float64(width)+0.5))
	long := max(1, int(part*float64(width)*8+0.5)) // at least a mark
	long = min(long, (width-begin)*8)
	text := strings.Repeat(" ", begin) + strings.Repeat("█", long/8) + eighths[long%8]
	return text + strings.Repeat(" ", width-utf8.RuneCountInString(text))
}

// HotHead describes a result in lines of a width: what was sampled, by what, and what kinds of
// code ran.
func HotHead(r *hotspots.Result, width int) []string {
	what := cmp.Or(r.Recording, fmt.Sprintf("process %d", r.Target.PID))
	if r.Target.Command != "" {
		what += " (" + r.Target.Command + ")"
	}
	lines := format.Wrap(format.Printable(what)+": "+HotSamples(r), width)
	if code := HotCode(r.Table); code != "" {
		lines = append(lines, format.Wrap(code, width)...)
	}
	return lines
}

// HotSamples says how many samples there are, and what took them.
func HotSamples(r *hotspots.Result) string {
	by := r.Source
	if !strings.HasSuffix(by, "s") {
		by = "the " + by // flight recorder
	}
	if r.Samples == 0 && !r.To.After(r.From) {
		return "no samples yet by " + by
	}
	text := fmt.Sprintf("%s in %s by %s", format.Count(r.Samples, "sample", "samples"), format.Duration(r.To.Sub(r.From)), by)
	if r.Limits != "" {
		text += " (" + r.Limits + ")"
	}
	if r.Waiting > 0 {
		text += fmt.Sprintf(", without %s of waiting threads", format.Grouped(r.Waiting))
	}
	return text
}

// HotCode says what kinds of code ran, in one line; nothing if nothing ran.
func HotCode(t *hotspots.Table) string {
	var parts []string
	for _, code := range hotspots.Codes {
		share, is := t.Code[code]
		if !is {
			continue
		}
		text := string(code) + " " + partText(share.Part)
		var threads []string
		for _, th := range t.Threads {
			if code == hotspots.VM && th.Group != jfr.ProgramThread && th.Share.Part >= leastShown {
				threads = append(threads, string(th.Group)+" "+partText(th.Share.Part))
			}
		}
		if len(threads) > 0 {
			text += " (threads: " + strings.Join(threads, ", ") + ")"
		}
		parts = append(parts, text)
	}
	if t.Incomplete > 0 {
		parts = append(parts, partText(float64(t.Incomplete)/float64(t.Samples))+" of the stacks are incomplete")
	}
	return strings.Join(parts, ", ")
}

// WriteHot writes a view of a result, with at most this many rows.
func WriteHot(w io.Writer, r *hotspots.Result, v HotView, most, width int) error {
	p := &printer{bufio.NewWriter(w), width}
	titles, rows, hidden := v.Rows(r, most, width)
	if titles != "" {
		p.line("%s", titles)
	}
	for _, row := range rows {
		p.line("%s", row.Text)
	}
	p.line("")
	for _, line := range HotHead(r, width) {
		p.line("%s", line)
	}
	if hidden > 0 {
		p.line("and %s more", format.Grouped(hidden))
	}
	return p.Flush()
}

// WriteHotCollapsed writes the stacks of a result in the format of WriteCollapsed.
func WriteHotCollapsed(w io.Writer, r *hotspots.Result) error {
	tree := r.Tree(r.Wall)
	return writeCollapsed(w, tree.Methods, tree.Top)
}
