package waterfall

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
)

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
