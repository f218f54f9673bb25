// Package waterfall shows transactions to people: as a list, and each with time across
// and depth down, on a terminal and as a page; and to programs in Sonde's own JSON
// (docs/formats/trace.md).
//
// Bars lie where the clock had the calls; figures are without what the hooks took.
package waterfall

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

// A Terminal is what a text is written for.
type Terminal struct {
	Width   int  // in columns; 0 is usualWidth
	Colours bool // styles are told
	Rows    int  // of one waterfall; 0 is usualRows
}

const (
	usualWidth, leastWidth = 100, 60
	usualRows              = 120
	// leastPart is the part of the whole that a row must have taken to be drawn for
	// that alone: less is a sliver.
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

// Write draws a transaction: time across, depth down.
func Write(w io.Writer, number int, t *trace.Transaction, terminal Terminal) error {
	d := newDrawing(bufio.NewWriter(w), t, terminal.fitted())
	d.heading(number)
	d.scale()
	for _, r := range d.rows {
		d.row(r)
	}
	d.footer()
	return d.out.Flush() // which has kept the first error
}

// A drawing is a waterfall on its way.
type drawing struct {
	Terminal
	out    *bufio.Writer
	t      *trace.Transaction
	rows   []*row
	left   uint64 // calls that are in no row
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
		d.names = max(d.names, indentOf(r)+utf8.RuneCountInString(d.label(r)))
	}
	d.names = min(d.names, int(mostNamesPart*float64(d.Width)))
	d.bars = d.Width - d.names - durationColumns - 2
	return d
}

func indentOf(r *row) int { return 2 * r.level }

func (d *drawing) line() *line { return &line{colours: d.Colours} }

func (d *drawing) write(l *line) { _, _ = fmt.Fprintln(d.out, l) }

func (d *drawing) heading(number int) {
	l := d.line()
	root := d.t.Root
	l.add(bold, fmt.Sprintf("#%d  %s", number, cutFront(format.Line(shortName(root.Class, root.Method)), d.Width/2)))
	l.add(bold, "  "+format.Duration(d.t.Duration))
	calls, errors := d.t.Calls()
	l.add(normal, "  "+format.Count(calls, "call", "calls"))
	if errors > 0 {
		l.add(red, "  "+format.Count(errors, "exception", "exceptions"))
	}
	l.add(dim, format.Cut("  "+threadText(root.Thread)+"  "+d.t.Begin.Format("15:04:05.000"), max(0, d.Width-l.width)))
	d.write(l)
	if len(d.t.Tags) > 0 {
		l := d.line()
		l.add(green, format.Cut("    "+tagsText(d.t.Tags), d.Width))
		d.write(l)
	}
}

func threadText(t trace.Thread) string {
	if t.Name != "" {
		return format.Line(t.Name)
	}
	return fmt.Sprintf("thread %d", t.ID)
}

func tagsText(tags map[string]string) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		texts = append(texts, format.Line(name+"="+tags[name]))
	}
	return strings.Join(texts, "  ")
}

// apart is how many columns two times along the bars are apart at least.
const apart = 11

// roundStep is the least round time that is as long as columns are apart.
func roundStep(extent time.Duration, columns int) time.Duration {
	for power := time.Duration(1); power <= extent; power *= 10 {
		for _, digit := range []time.Duration{1, 2, 5} {
			if step := digit * power; float64(step)*float64(columns) >= apart*float64(extent) {
				return step
			}
		}
	}
	return max(extent, 1)
}

// scale tells times along the bars.
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

// row draws a row, and tells below it what there is to tell.
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

// details are what is told of a row below it.
func (r *row) details() (texts []string) {
	if r.isPart || r.calls[0].Handed {
		texts = append(texts, "on "+threadsText(r.calls))
	}
	texts = append(texts, valueTexts(r)...)
	if r.omitted.Calls > 0 {
		texts = append(texts, fmt.Sprintf("and %s below, %s in all, not kept each", format.Count(r.omitted.Calls, "more call", "more calls"), format.Duration(r.omitted.Time)))
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
	return threadText(calls[0].Thread)
}

// indent draws how a row hangs on those above it.
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

// hanging is the indent of what is told of a row below it.
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

// label is a row's name and its marks, as they are counted for the width.
func (d *drawing) label(r *row) string { return r.name() + r.times() + r.marks() }

func (r *row) name() string {
	c := r.calls[0]
	name := format.Line(shortName(c.Class, c.Method))
	if r.isPart || c.Handed {
		name = "⇢ " + name
	}
	return name
}

func (r *row) times() string {
	if len(r.calls) == 1 {
		return ""
	}
	return " × " + format.Grouped(uint64(len(r.calls)))
}

func (r *row) marks() (marks string) {
	if r.isConditional() {
		marks += " ◆"
	}
	if r.threw() > 0 {
		marks += " !"
	}
	if r.isCut() > 0 {
		marks += " …"
	}
	return marks
}

// name adds a row's name. Where it is too long its beginning goes, and marks stay.
func (d *drawing) name(l *line, r *row) {
	room := d.names - l.width - utf8.RuneCountInString(r.times()+r.marks())
	l.add(normal, cutFront(r.name(), max(1, room)))
	l.add(bold, r.times())
	if r.isConditional() {
		l.add(violet, " ◆")
	}
	if r.threw() > 0 {
		l.add(red, " !")
	}
	if r.isCut() > 0 {
		l.add(dim, " …")
	}
}

func (d *drawing) bar(l *line, r *row) {
	cells := barOf(r, d.extent, d.bars)
	strong := cyan
	switch {
	case r.threw() > 0:
		strong = red
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

// A row is a line of a waterfall: a call, or calls of one method inside one other,
// which are folded where they are many.
type row struct {
	calls    []*trace.Call // by beginning
	children []*row
	level    int
	isPart   bool
	isLast   bool          // among its parent's
	duration time.Duration // of all
	longest  time.Duration
	omitted  trace.Omitted // calls below that are not kept each
}

// foldFrom is how many calls of one method inside one other are a row.
const foldFrom = 3

// rowsOf are the rows of a transaction: that of its root, then of its parts.
func rowsOf(t *trace.Transaction) []*row {
	rows := []*row{newRow([]*trace.Call{t.Root}, 0)}
	for _, group := range groupCalls(t.Parts) {
		r := newRow(group, 0)
		r.isPart = true
		rows = append(rows, r)
	}
	return rows
}

func newRow(calls []*trace.Call, level int) *row {
	r := &row{calls: calls, level: level}
	var below []*trace.Call
	for _, c := range calls {
		r.duration += c.Duration
		r.longest = max(r.longest, c.Duration)
		r.omitted.Calls += c.Omitted.Calls
		r.omitted.Time += c.Omitted.Time
		below = append(below, c.Children...)
	}
	for _, group := range groupCalls(below) {
		r.children = append(r.children, newRow(group, level+1))
	}
	if n := len(r.children); n > 0 {
		r.children[n-1].isLast = true
	}
	return r
}

// groupCalls puts calls of one hook together where they are many, in the order of
// their first.
func groupCalls(calls []*trace.Call) [][]*trace.Call {
	type kind struct {
		spot   uint32
		handed bool
	}
	count := map[kind]int{}
	for _, c := range calls {
		count[kind{c.Spot, c.Handed}]++
	}
	at := map[kind]int{}
	var groups [][]*trace.Call
	for _, c := range calls {
		k := kind{c.Spot, c.Handed}
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

// flat are rows and those below them, in the order of lines.
func flat(rows []*row) (all []*row) {
	for _, r := range rows {
		all = append(all, r)
		all = append(all, flat(r.children)...)
	}
	return all
}

// A choice says which rows are drawn.
type choice struct {
	most  int           // how many at most
	least time.Duration // what a row must have taken, unless there is more to tell of it
}

// isTelling tells whether a row says something besides its time.
func (r *row) isTelling() bool {
	return r.isPart || r.isConditional() || r.threw() > 0 || r.isCut() > 0 || r.omitted.Calls > 0 || len(valueTexts(r)) > 0
}

// choose keeps the rows that took longest, with those above them, and tells how many
// calls are left out.
func (c choice) choose(rows []*row) (kept []*row, left uint64) {
	all := flat(rows)
	ranked := slices.DeleteFunc(slices.Clone(all), func(r *row) bool { return r.duration < c.least && !r.isTelling() && r.level > 0 })
	slices.SortStableFunc(ranked, func(a, b *row) int { return cmp.Compare(b.duration, a.duration) })
	parents := map[*row]*row{}
	for _, r := range all {
		for _, child := range r.children {
			parents[child] = r
		}
	}
	isKept := map[*row]bool{}
	for _, r := range ranked {
		var way []*row
		for at := r; at != nil && !isKept[at]; at = parents[at] {
			way = append(way, at)
		}
		if len(isKept)+len(way) > c.most {
			continue
		}
		for _, one := range way {
			isKept[one] = true
		}
	}
	for _, r := range all {
		if !isKept[r] {
			left += uint64(len(r.calls))
		}
	}
	return prune(rows, isKept), left
}

// prune takes rows out of a tree, and those below them.
func prune(rows []*row, isKept map[*row]bool) []*row {
	kept := slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return !isKept[r] })
	for i, r := range kept {
		r.children = prune(r.children, isKept)
		r.isLast = i == len(kept)-1
	}
	return kept
}

// What a column of a bar shows.
type cell uint8

const (
	empty  cell = iota
	below       // the time was mostly in calls below that have bars of their own
	own         // mostly in the method itself
	trifle      // a call that is far shorter than a column
)

var cellTexts = [...]string{empty: " ", below: "░", own: "█", trifle: "▏"}

// trifling is the part of a column from which on it is filled.
const trifling = 0.3

// barOf says for each column of a scale what a row's calls did in that time.
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
	for _, c := range r.calls { // one that took no time at all is seen, too
		if at := columnOf(c.Start, extent, columns); cells[at] == empty {
			cells[at] = trifle
		}
	}
	return cells
}

// spread adds to each column the part of it that lies in a stretch of time.
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

// isConditional tells whether a row's hook acts only in a context or on a condition.
func (r *row) isConditional() bool { return r.calls[0].Conditional }

// threw is how many of a row's calls ended with an exception.
func (r *row) threw() (n uint64) { return r.count(func(c *trace.Call) bool { return c.Threw }) }

// isCut is how many have no end.
func (r *row) isCut() (n uint64) { return r.count(func(c *trace.Call) bool { return c.Cut }) }

func (r *row) count(is func(*trace.Call) bool) (n uint64) {
	for _, c := range r.calls {
		if is(c) {
			n++
		}
	}
	return n
}

// shownValues is how many different values of one expression a folded row tells.
const shownValues = 3

// valueTexts are the values of a row's calls, a line for each expression.
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
			if text := valueText(v); !slices.Contains(texts[k], text) {
				texts[k] = append(texts[k], text)
			}
		}
	}
	var lines []string
	for _, k := range order {
		told := texts[k]
		rest := ""
		if len(told) > shownValues {
			rest = fmt.Sprintf(", … %s more", format.Grouped(uint64(len(told)-shownValues)))
			told = told[:shownValues]
		}
		lines = append(lines, names[k]+" = "+strings.Join(told, ", ")+rest)
	}
	return lines
}

// valueText is a value as a terminal may show it.
func valueText(v trace.Value) string {
	switch {
	case v.Redacted && v.Text == "":
		return trace.Mask
	case v.Failed:
		return "(failed)"
	case v.Null:
		return "null"
	case v.Cut:
		return format.Line(v.Text) + "…"
	}
	return format.Line(v.Text)
}

// footer says what the signs mean that were used, and what is not shown.
func (d *drawing) footer() {
	l := d.line()
	l.add(dim, format.Cut(strings.Join(d.legend(), "   "), d.Width))
	d.write(l)
	for _, text := range d.gaps() {
		for _, one := range wrap(text, d.Width) {
			l := d.line()
			l.add(dim, one)
			d.write(l)
		}
	}
}

func (d *drawing) legend() []string {
	texts := []string{"█ own time", "░ in calls below"}
	var conditional, threw, isCut, handed bool
	for _, r := range d.rows {
		conditional = conditional || r.isConditional()
		threw = threw || r.threw() > 0
		isCut = isCut || r.isCut() > 0
		handed = handed || r.isPart || r.calls[0].Handed
	}
	for _, sign := range []struct {
		used bool
		text string
	}{
		{conditional, "◆ by condition"}, {threw, "! exception"}, {isCut, "… no end seen"}, {handed, "⇢ handed over"},
	} {
		if sign.used {
			texts = append(texts, sign.text)
		}
	}
	return texts
}

func (d *drawing) gaps() (texts []string) {
	if d.left > 0 {
		texts = append(texts, format.Count(d.left, "short call is", "short calls are")+" not shown: -o FILE.html has all")
	}
	if d.t.Lost > 0 {
		texts = append(texts, format.Count(d.t.Lost, "call was", "calls were")+" only counted: the ring had no room; their time is with their callers")
	}
	if d.t.Late > 0 {
		texts = append(texts, fmt.Sprintf("%s had not ended when the root's end had long been seen", format.Count(uint64(d.t.Late), "part", "parts")))
	}
	return texts
}
