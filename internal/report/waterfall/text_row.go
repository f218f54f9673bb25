package waterfall

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

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
