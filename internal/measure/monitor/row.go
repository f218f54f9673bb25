package monitor

import (
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A Key is what a row is about. It is compared as a whole: a further way of grouping
// is a further field.
type Key struct {
	Pattern string // in rows by pattern
	Method  Method // in rows by method
	Within  string // in rows by context: the sequence
	Tags    string // in rows by tags: name=value, a line each
	Callers string // in rows by callers
}

// TagValues are the names and values of the tags.
func (k Key) TagValues() (pairs [][2]string) {
	if k.Tags == "" {
		return nil
	}
	for line := range strings.SplitSeq(k.Tags, "\n") {
		name, value, _ := strings.Cut(line, "=")
		pairs = append(pairs, [2]string{name, value})
	}
	return pairs
}

// A Method is one that has a hook.
type Method struct {
	Class      string // with dots
	Name       string
	Descriptor string
}

// Groups say which rows there are, and which of them a method counts in. One that
// counts in several counts once in the total, one that counts in none not at all.
type Groups struct {
	Keys []Key            // all there are
	Of   map[uint32][]Key // by the method's id
}

// A Row is what the calls of a group did in an interval. Times are in nanoseconds,
// those of calls that ended in it, without the clock's own; they are 0 where Timed is.
type Row struct {
	Key     Key
	Calls   uint64  // begun
	Rate    float64 // calls a second
	Errors  uint64  // calls that ended with an exception
	Timed   uint64  // calls that ended with their time known
	Untimed uint64  // of Calls, those that found no room for a time
	Nanos   float64 // of all timed calls; of a method that calls itself by outermost calls
	Mean    float64
	Placed  uint64 // of Timed, those that percentiles are of: others found no room
	P50     float64
	P90     float64
	P99     float64
	Max     float64
	Spread  *arena.Spread // how long timed calls took, with the clock's own time; nil where none was

	// At the end of the interval, of each thread the outermost call of the group.
	Running int           // begun, not ended
	Stalled int           // of those, older than the threshold
	Oldest  time.Duration // for how long the oldest has run

	LowerBound bool // there may have been more calls than hooks have seen
}

// A change is what of one method came to be between two readings.
type change struct {
	calls, errors, timed, untimed, nanos, max uint64
	spread                                    *arena.Spread
	lowerBound                                bool
}

// since subtracts. A count that is read while it is written is never less than before.
func since(before, after *arena.Totals) change {
	if before == nil {
		before = &arena.Totals{}
	}
	c := change{
		calls: more(before.Calls, after.Calls), errors: more(before.Threw, after.Threw), timed: more(before.Timed, after.Timed),
		untimed: more(before.Untimed, after.Untimed), nanos: more(before.Nanos, after.Nanos), lowerBound: after.LowerBound,
	}
	if after.Spread != nil {
		c.spread = after.Spread.Since(before.Spread)
		if c.spread.Count() > 0 {
			c.max = min(uint64(c.spread.Quantile(1)), after.Max)
		}
	}
	if after.Max > before.Max { // the longest of all came in between
		c.max = after.Max
	}
	return c
}

func more(before, after uint64) uint64 { return after - min(before, after) }

func (r *Row) add(c change) {
	r.Calls += c.calls
	r.Errors += c.errors
	r.Timed += c.timed
	r.Untimed += c.untimed
	r.Nanos += float64(c.nanos)
	r.Max = max(r.Max, float64(c.max))
	r.LowerBound = r.LowerBound || c.lowerBound
	if c.spread != nil {
		if r.Spread == nil {
			r.Spread = &arena.Spread{}
		}
		r.Spread.Add(c.spread)
	}
}

// finish makes of sums what is told, without a clock's own time in each call.
func (r *Row) finish(length time.Duration, clock float64) {
	if length > 0 {
		r.Rate = float64(r.Calls) / length.Seconds()
	}
	if r.Timed == 0 {
		r.Nanos, r.Max = 0, 0
		return
	}
	clean := func(nanos float64) float64 { return max(0, nanos-clock) }
	r.Nanos = max(0, r.Nanos-clock*float64(r.Timed))
	r.Mean = r.Nanos / float64(r.Timed)
	r.Max = clean(r.Max)
	if r.Spread != nil {
		r.Placed = r.Spread.Count()
	}
	if r.Placed > 0 {
		// The middle of a bucket may be beyond the longest call in it.
		at := func(q float64) float64 { return min(clean(r.Spread.Quantile(q)), r.Max) }
		r.P50, r.P90, r.P99 = at(0.50), at(0.90), at(0.99)
	}
}
