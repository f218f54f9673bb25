package waterfall

import (
	"bufio"
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
