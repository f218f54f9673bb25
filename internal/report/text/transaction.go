package text

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// A Terminal describes what a trace is written for.
type Terminal struct {
	Width   int  // in columns; 0 is usualWidth
	Colours bool // whether to write escape sequences for styles
	Rows    int  // of one transaction; 0 is usualRows
}

const (
	usualWidth, leastWidth = 100, 60
	usualRows              = 120
	// leastPart is the part of the whole below which a row is too narrow to be drawn.
	leastPart = 0.002
)

func (t Terminal) fitted() Terminal {
	if t.Width == 0 {
		t.Width = usualWidth
	}
	t.Width = max(t.Width, leastWidth)
	if t.Rows == 0 {
		t.Rows = usualRows
	}
	return t
}

// WriteTransaction draws a transaction as a waterfall: time runs across, depth runs down.
// Bars are placed by the clock; the times written exclude the cost of hooks.
func WriteTransaction(w io.Writer, number int, t *trace.Transaction, terminal Terminal) error {
	d := newDrawing(bufio.NewWriter(w), t, terminal.fitted())
	d.heading(number)
	d.scale()
	for _, r := range d.rows {
		d.row(r)
	}
	d.footer()
	return d.out.Flush() // returns the first error
}

// A drawing is a waterfall that is being written.
type drawing struct {
	Terminal
	out    *bufio.Writer
	t      *trace.Transaction
	rows   []*row
	left   uint64 // calls that are not drawn
	extent time.Duration
	names  int // columns of names
	bars   int // columns of bars
	rails  []bool
}

const (
	durationColumns = 9
	mostNamesPart   = 0.46
)

func newDrawing(out *bufio.Writer, t *trace.Transaction, terminal Terminal) *drawing {
	d := &drawing{Terminal: terminal, out: out, t: t, extent: t.Extent()}
	kept, left := choice{terminal.Rows, time.Duration(float64(d.extent) * leastPart)}.choose(rowsOf(t))
	d.rows, d.left = flat(kept), left
	for _, r := range d.rows {
		d.names = max(d.names, 2*r.level+utf8.RuneCountInString(d.label(r)))
	}
	d.names = min(d.names, int(mostNamesPart*float64(d.Width)))
	d.bars = d.Width - d.names - durationColumns - 2
	return d
}

func (d *drawing) line() *line { return &line{colours: d.Colours} }

func (d *drawing) write(l *line) { _, _ = fmt.Fprintln(d.out, l) }

func (d *drawing) styled(s style, text string) {
	l := d.line()
	l.add(s, text)
	d.write(l)
}

func (d *drawing) heading(number int) {
	l := d.line()
	root := d.t.Root
	l.add(bold, fmt.Sprintf("#%d  %s", number, cutStart(format.Line(ShortName(root.Class, root.Method)), d.Width/2)))
	l.add(bold, "  "+format.Duration(d.t.Duration))
	calls, errors := d.t.Calls()
	l.add(normal, "  "+format.Count(calls, "call", "calls"))
	if errors > 0 {
		l.add(red, "  "+format.Count(errors, "exception", "exceptions"))
	}
	l.add(dim, format.Cut("  "+ThreadName(root.Thread)+"  "+d.t.Begin.Format("15:04:05.000"), max(0, d.Width-l.width)))
	d.write(l)
	about := Tags(d.t.Tags)
	if id := cmp.Or(d.t.Parent.Trace, d.t.Sent); id != [16]byte{} {
		about = fmt.Sprintf("trace %x  %s", id, about)
	}
	if about != "" {
		d.styled(green, format.Cut("    "+strings.TrimSpace(about), d.Width))
	}
}

// ThreadName returns the name of a thread, or its id where it has none.
func ThreadName(t trace.Thread) string { return format.Line(t.String()) }

// Tags returns tags as name=value pairs.
func Tags(tags map[string]string) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		texts = append(texts, format.Line(name+"="+tags[name]))
	}
	return strings.Join(texts, "  ")
}

// tickColumns is the least distance between two times on the axis.
const tickColumns = 11

// roundStep returns the shortest round time that spans tickColumns.
func roundStep(extent time.Duration, columns int) time.Duration {
	for power := time.Duration(1); power <= extent; power *= 10 {
		for _, digit := range []time.Duration{1, 2, 5} {
			if step := digit * power; float64(step)*float64(columns) >= tickColumns*float64(extent) {
				return step
			}
		}
	}
	return max(extent, 1)
}

// scale writes the time axis.
func (d *drawing) scale() {
	l := d.line()
	l.pad(d.names + durationColumns + 2)
	first := l.width
	step := roundStep(d.extent, d.bars)
	for at := time.Duration(0); at < d.extent || at == 0; at += step {
		column := first + columnOf(at, d.extent, d.bars)
		text := "╷0"
		if at > 0 {
			text = "╷" + format.Duration(at)
		}
		if column+utf8.RuneCountInString(text) > d.Width {
			break
		}
		l.pad(column)
		l.add(dim, text)
	}
	end := format.Duration(d.extent) + "╷"
	if l.width+utf8.RuneCountInString(end) < d.Width {
		l.right(dim, end, d.Width)
	}
	d.write(l)
}

// row draws a row with its details below.
func (d *drawing) row(r *row) {
	l := d.line()
	l.add(dim, d.indent(r))
	d.name(l, r)
	l.right(normal, " "+format.Duration(r.duration), d.names+durationColumns)
	l.pad(d.names + durationColumns + 2)
	d.bar(l, r)
	d.write(l)
	for _, text := range r.details() {
		l := d.line()
		l.add(dim, d.hanging(r))
		l.add(dim, format.Cut(text, d.Width-l.width))
		d.write(l)
	}
}

// details returns the lines below a row.
func (r *row) details() (texts []string) {
	if r.isHanded() {
		texts = append(texts, "on "+threadsText(r.calls))
	}
	if r.hasCategory() {
		texts = append(texts, strings.TrimSpace(r.calls[0].Category+"  "+format.Line(r.calls[0].Target)))
	}
	texts = append(texts, valueTexts(r)...)
	if r.folded.Calls > 0 && len(r.calls) > 0 {
		texts = append(texts, fmt.Sprintf("%s are drawn, the others took %s in all", format.Grouped(uint64(len(r.calls))), format.Duration(r.folded.Duration)))
	}
	if r.omitted.Calls > 0 {
		texts = append(texts, fmt.Sprintf("and %s below, %s in total, summed up", format.Count(r.omitted.Calls, "more call", "more calls"), format.Duration(r.omitted.Time)))
	}
	return texts
}

func threadsText(calls []*trace.Call) string {
	threads := map[trace.Thread]bool{}
	for _, c := range calls {
		threads[c.Thread] = true
	}
	if len(threads) > 1 {
		return format.Count(uint64(len(threads)), "thread", "threads")
	}
	return ThreadName(calls[0].Thread)
}

// indent returns the branches that lead to a row.
func (d *drawing) indent(r *row) string {
	if len(d.rails) > r.level {
		d.rails = d.rails[:r.level]
	}
	var text strings.Builder
	for level := 1; level < r.level; level++ {
		text.WriteString(rail(level < len(d.rails) && d.rails[level]))
	}
	for len(d.rails) <= r.level {
		d.rails = append(d.rails, false)
	}
	d.rails[r.level] = !r.isLast
	switch {
	case r.level == 0:
	case r.isLast:
		text.WriteString("└ ")
	default:
		text.WriteString("├ ")
	}
	return text.String()
}

// hanging returns the indentation of the details of a row.
func (d *drawing) hanging(r *row) string {
	var text strings.Builder
	for level := 1; level <= r.level; level++ {
		text.WriteString(rail(d.rails[level]))
	}
	return text.String() + rail(len(r.children) > 0) + "  "
}

func rail(is bool) string {
	if is {
		return "│ "
	}
	return "  "
}

// label returns the name and the marks of a row.
func (d *drawing) label(r *row) string { return r.name() + r.times() + r.marks() }

func (r *row) name() string {
	class, method := r.folded.Class, r.folded.Method
	if len(r.calls) > 0 {
		class, method = r.calls[0].Class, r.calls[0].Method
	}
	name := format.Line(ShortName(class, method))
	if r.isHanded() {
		name = "⇢ " + name
	}
	return name
}

// times returns the number of calls that share a row.
func (r *row) times() string {
	if r.size() == 1 {
		return ""
	}
	return " × " + format.Grouped(r.size())
}

// signs are the marks after the name of a row.
var signs = []struct {
	mark, meaning string
	style         style
	applies       func(*row) bool
}{
	{"◆", "conditional", violet, (*row).isConditional},
	{"!", "exception", red, func(r *row) bool { return r.threw() > 0 }},
	{"…", "no end seen", dim, func(r *row) bool { return r.cut() > 0 }},
}

func (r *row) marks() (marks string) {
	for _, sign := range signs {
		if sign.applies(r) {
			marks += " " + sign.mark
		}
	}
	return marks
}

// name adds the name and the marks of a row, cutting the beginning of a long name.
func (d *drawing) name(l *line, r *row) {
	room := d.names - l.width - utf8.RuneCountInString(r.times()+r.marks())
	l.add(normal, cutStart(r.name(), max(1, room)))
	l.add(bold, r.times())
	for _, sign := range signs {
		if sign.applies(r) {
			l.add(sign.style, " "+sign.mark)
		}
	}
}

func (d *drawing) bar(l *line, r *row) {
	cells := barOf(r, d.extent, d.bars)
	strong := cyan
	switch {
	case r.threw() > 0:
		strong = red
	case r.hasCategory():
		strong = yellow
	case r.isConditional():
		strong = violet
	}
	for start := 0; start < len(cells); {
		end := start
		for end < len(cells) && cells[end] == cells[start] {
			end++
		}
		colour := strong
		switch cells[start] {
		case below:
			colour = dim
		case empty:
			colour = normal
		}
		l.add(colour, strings.Repeat(cellTexts[cells[start]], end-start))
		start = end
	}
}

// A row is a line of a waterfall: one call, or foldFrom or more calls of one method by the
// same caller.
type row struct {
	calls    []*trace.Call // by start
	children []*row
	level    int
	isPart   bool
	isLast   bool          // among its parent's
	duration time.Duration // of all calls
	omitted  trace.Omitted // calls below that were summed up
	folded   trace.Folded  // further calls of the method, and those below them
}

// size returns the number of calls that share a row.
func (r *row) size() uint64 { return uint64(len(r.calls)) + r.folded.Calls }

// hasCategory reports whether the calls are outgoing calls or answer incoming ones. All calls of a row have the same target.
func (r *row) hasCategory() bool { return len(r.calls) > 0 && r.calls[0].Category != "" }

// foldFrom is the number of calls of one method by the same caller that share a row.
const foldFrom = 3

// rowsOf returns the rows of a transaction: its root, then its parts.
func rowsOf(t *trace.Transaction) []*row {
	rows := []*row{newRow([]*trace.Call{t.Root}, trace.Folded{}, 0)}
	for _, group := range groupCalls(t.Parts) {
		r := newRow(group, trace.Folded{}, 0)
		r.isPart = true
		rows = append(rows, r)
	}
	return rows
}

func newRow(calls []*trace.Call, folded trace.Folded, level int) *row {
	r := &row{calls: calls, level: level, folded: folded, duration: folded.Duration, omitted: folded.Omitted}
	var below []*trace.Call
	var sums []*trace.Folded
	for _, f := range folded.Children {
		trace.FoldInto(&sums, f.Spot).Merge(f)
	}
	for _, c := range calls {
		for _, f := range c.Folded {
			trace.FoldInto(&sums, f.Spot).Merge(f)
		}
		r.duration += c.Duration
		r.omitted.Calls += c.Omitted.Calls
		r.omitted.Time += c.Omitted.Time
		below = append(below, c.Children...)
	}
	for _, group := range groupCalls(below) {
		var further trace.Folded
		at := slices.IndexFunc(sums, func(f *trace.Folded) bool { return f.Spot == group[0].Spot })
		if at >= 0 && !group[0].Handed {
			further = *sums[at]
			sums = slices.Delete(sums, at, at+1)
		}
		r.children = append(r.children, newRow(group, further, level+1))
	}
	for _, f := range sums {
		r.children = append(r.children, newRow(nil, *f, level+1))
	}
	if n := len(r.children); n > 0 {
		r.children[n-1].isLast = true
	}
	return r
}

// groupCalls groups the calls of one hook where there are many, those with the same target, in the order of the first
// call of each group.
func groupCalls(calls []*trace.Call) [][]*trace.Call {
	type kind struct {
		spot   uint32
		handed bool
		target string
	}
	kindOf := func(c *trace.Call) kind { return kind{c.Spot, c.Handed, c.Target} }
	count := map[kind]int{}
	for _, c := range calls {
		count[kindOf(c)]++
	}
	at := map[kind]int{}
	var groups [][]*trace.Call
	for _, c := range calls {
		k := kindOf(c)
		if i, begun := at[k]; begun {
			groups[i] = append(groups[i], c)
			continue
		}
		if count[k] >= foldFrom {
			at[k] = len(groups)
		}
		groups = append(groups, []*trace.Call{c})
	}
	return groups
}

// flat returns rows and the rows below them in the order in which they are drawn.
func flat(rows []*row) (all []*row) {
	for _, r := range rows {
		all = append(all, r)
		all = append(all, flat(r.children)...)
	}
	return all
}

// A choice decides which rows are drawn.
type choice struct {
	most  int           // rows
	least time.Duration // of a row, unless it is remarkable
}

// isRemarkable reports whether a row shows something besides its time.
func (r *row) isRemarkable() bool {
	return r.isPart || r.isConditional() || r.threw() > 0 || r.cut() > 0 || r.omitted.Calls > 0 || len(valueTexts(r)) > 0
}

// choose keeps the rows that took longest, together with their callers, and returns how
// many calls are left out.
func (c choice) choose(rows []*row) (kept []*row, left uint64) {
	all := flat(rows)
	ranked := slices.DeleteFunc(slices.Clone(all), func(r *row) bool { return r.duration < c.least && !r.isRemarkable() && r.level > 0 })
	slices.SortStableFunc(ranked, func(a, b *row) int { return cmp.Compare(b.duration, a.duration) })
	parents := map[*row]*row{}
	for _, r := range all {
		for _, child := range r.children {
			parents[child] = r
		}
	}
	isKept := map[*row]bool{}
	for _, r := range ranked {
		var path []*row
		for at := r; at != nil && !isKept[at]; at = parents[at] {
			path = append(path, at)
		}
		if len(isKept)+len(path) > c.most {
			continue
		}
		for _, one := range path {
			isKept[one] = true
		}
	}
	for _, r := range all {
		if !isKept[r] {
			left += r.size()
		}
	}
	return prune(rows, isKept), left
}

// prune removes rows that are not kept, and the rows below them.
func prune(rows []*row, isKept map[*row]bool) []*row {
	kept := slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return !isKept[r] })
	for i, r := range kept {
		r.children = prune(r.children, isKept)
		r.isLast = i == len(kept)-1
	}
	return kept
}

// A cell is what one column of a bar shows.
type cell uint8

const (
	empty  cell = iota
	below       // mostly time of calls that have bars of their own
	own         // mostly self time
	trifle      // a call that is much shorter than a column
)

var cellTexts = [...]string{empty: " ", below: "░", own: "█", trifle: "▏"}

// trifling is the part of a column below which it is not filled.
const trifling = 0.3

// barOf returns for each column what the calls of a row did in that time.
func barOf(r *row, extent time.Duration, columns int) []cell {
	cells := make([]cell, columns)
	if columns == 0 {
		return cells
	}
	inCall, inBelow := make([]float64, columns), make([]float64, columns)
	for _, c := range r.calls {
		spread(inCall, c.Start, c.Measured, extent)
		for _, child := range c.Children {
			spread(inBelow, child.Start, child.Measured, extent)
		}
	}
	for i := range cells {
		switch self := inCall[i] - inBelow[i]; {
		case inCall[i] == 0:
		case inCall[i] < trifling:
			cells[i] = trifle
		case self >= inBelow[i]:
			cells[i] = own
		default:
			cells[i] = below
		}
	}
	for _, c := range r.calls { // a call that took no time is shown, too
		if at := columnOf(c.Start, extent, columns); cells[at] == empty {
			cells[at] = trifle
		}
	}
	return cells
}

// spread adds to each column the part of it that lies within a span of time.
func spread(columns []float64, start, length, extent time.Duration) {
	if extent <= 0 {
		return
	}
	scale := float64(len(columns)) / float64(extent)
	from, to := float64(start)*scale, float64(start+length)*scale
	for i := max(0, int(from)); i < len(columns) && float64(i) < to; i++ {
		columns[i] += min(to, float64(i+1)) - max(from, float64(i))
	}
}

func columnOf(at, extent time.Duration, columns int) int {
	if extent <= 0 {
		return 0
	}
	return min(columns-1, max(0, int(float64(at)*float64(columns)/float64(extent))))
}

// isHanded reports whether the calls of a row were handed over to their thread.
func (r *row) isHanded() bool { return r.isPart || len(r.calls) > 0 && r.calls[0].Handed }

// isConditional reports whether the hook of a row has a condition or a context.
func (r *row) isConditional() bool { return len(r.calls) > 0 && r.calls[0].Conditional }

// threw returns how many calls of a row ended with an exception.
func (r *row) threw() (n uint64) {
	return r.folded.Threw + r.count(func(c *trace.Call) bool { return c.Threw })
}

// cut returns how many calls of a row have no known end.
func (r *row) cut() (n uint64) { return r.count(func(c *trace.Call) bool { return c.Cut }) }

func (r *row) count(is func(*trace.Call) bool) (n uint64) {
	for _, c := range r.calls {
		if is(c) {
			n++
		}
	}
	return n
}

// shownValues is how many different values of one expression a row shows.
const shownValues = 3

// valueTexts returns the values of the calls of a row, one line per expression.
func valueTexts(r *row) []string {
	type key struct {
		atExit bool
		index  int
	}
	var order []key
	texts := map[key][]string{}
	names := map[key]string{}
	for _, c := range r.calls {
		for _, v := range c.Values {
			k := key{v.AtExit, v.Index}
			if _, known := names[k]; !known {
				order = append(order, k)
				names[k] = format.Line(v.Expression)
			}
			if text := format.Line(Value(v)); !slices.Contains(texts[k], text) {
				texts[k] = append(texts[k], text)
			}
		}
	}
	var lines []string
	for _, k := range order {
		shown := texts[k]
		rest := ""
		if len(shown) > shownValues {
			rest = fmt.Sprintf(", … %s more", format.Grouped(uint64(len(shown)-shownValues)))
			shown = shown[:shownValues]
		}
		lines = append(lines, names[k]+" = "+strings.Join(shown, ", ")+rest)
	}
	return lines
}

// Value returns a captured value as text.
func Value(v trace.Value) string {
	switch {
	case v.Redacted && v.Text == "":
		return trace.Mask
	case v.Failed:
		return "(failed)"
	case v.Null:
		return "null"
	case v.Cut:
		return v.Text + "…"
	}
	return v.Text
}

// footer explains the symbols that were used, and what is not shown.
func (d *drawing) footer() {
	d.styled(dim, format.Cut(strings.Join(d.legend(), "   "), d.Width))
	for _, text := range d.gaps() {
		for _, one := range wrapCut(text, d.Width) {
			d.styled(dim, one)
		}
	}
}

func (d *drawing) legend() []string {
	texts := []string{"█ self time", "░ calls below"}
	for _, sign := range signs {
		if slices.ContainsFunc(d.rows, sign.applies) {
			texts = append(texts, sign.mark+" "+sign.meaning)
		}
	}
	if slices.ContainsFunc(d.rows, (*row).isHanded) {
		texts = append(texts, "⇢ handed over")
	}
	return texts
}

func (d *drawing) gaps() (texts []string) {
	if d.left > 0 {
		texts = append(texts, format.Count(d.left, "short call is", "short calls are")+" not shown: -o FILE.html has them all")
	}
	if d.t.Lost > 0 {
		texts = append(texts, format.Count(d.t.Lost, "call was", "calls were")+" only counted because the ring was full; their time is included in that of their callers")
	}
	if d.t.Late > 0 {
		texts = append(texts, format.Count(uint64(d.t.Late), "part", "parts")+" ended long after the root")
	}
	return texts
}
