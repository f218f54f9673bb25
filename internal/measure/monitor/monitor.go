// Package monitor compares two readings of an arena: the calls, times and errors between them. The
// frames in the arena show which calls are running or stalled. It sends no request to the target.
package monitor

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Options configure the comparison of readings.
type Options struct {
	Stall time.Duration // age from which a running call counts as stalled
	Clock float64       // cost of reading the clock in each time, in nanoseconds
}

// An Interval is what happened between two readings.
type Interval struct {
	Length  time.Duration
	Rows    []Row // in the order of the groups' keys
	Total   Row   // of all methods, each counted once
	Threads int   // threads that have ever called a hooked method
	Lost    uint64
	Stalls  []Stall // the oldest first, at most MostStalls
}

// A Stall is a thread with a running call that is older than the threshold.
type Stall struct {
	Thread  uint64
	Virtual bool
	IsNew   bool   // the call passed the threshold in this interval
	Calls   []Call // running calls, the outermost first
	Omitted int    // calls in the middle that Calls does not contain
}

// A Call is a running call.
type Call struct {
	ID  uint32
	Age time.Duration
}

const (
	// MostStalls bounds the stalls of an interval; rows count all.
	MostStalls = 20
	// EndCalls bounds the calls of a stall: this many outermost and this many innermost ones.
	EndCalls = 8
)

// Between compares two readings.
func Between(before, after *Reading, groups *Groups, o Options) *Interval {
	i := &Interval{
		Length: time.Duration(after.At - before.At), Rows: make([]Row, len(groups.Keys)),
		Threads: after.Called, Lost: after.Lost - min(before.Lost, after.Lost),
	}
	rows := make(map[Key]*Row, len(groups.Keys))
	for n, key := range groups.Keys {
		i.Rows[n].Key = key
		rows[key] = &i.Rows[n]
	}
	for id, totals := range after.Methods {
		keys := groups.Of[id]
		if len(keys) == 0 {
			continue
		}
		c := totals.Since(before.Methods[id])
		i.Total.totals.Add(c)
		for _, key := range keys {
			rows[key].totals.Add(c)
		}
	}
	for _, t := range after.Threads {
		i.underWay(t, rows, groups, before.At, after.At, o.Stall)
	}
	i.Total.finish(i.Length, o.Clock)
	for n := range i.Rows {
		i.Rows[n].finish(i.Length, o.Clock)
	}
	slices.SortFunc(i.Stalls, func(a, b Stall) int {
		return cmp.Or(cmp.Compare(b.Calls[0].Age, a.Calls[0].Age), cmp.Compare(a.Thread, b.Thread))
	})
	i.Stalls = i.Stalls[:min(len(i.Stalls), MostStalls)]
	return i
}

// underWay adds the running calls of a thread.
func (i *Interval) underWay(t arena.Thread, rows map[Key]*Row, groups *Groups, from, to int64, stall time.Duration) {
	met := make(map[*Row]bool)
	var calls []Call
	add := func(row *Row, age time.Duration) {
		if met[row] {
			return
		}
		met[row] = true
		row.Running++
		row.Oldest = max(row.Oldest, age)
		if age > stall {
			row.Stalled++
		}
	}
	for _, f := range t.Stack {
		keys := groups.Of[f.ID]
		if f.Start == 0 || len(keys) == 0 { // not timed, or a calibration call
			continue
		}
		age := time.Duration(max(to-f.Start, 0))
		calls = append(calls, Call{ID: f.ID, Age: age})
		add(&i.Total, age)
		for _, key := range keys {
			add(rows[key], age)
		}
	}
	if len(calls) == 0 || calls[0].Age <= stall {
		return // inner calls are younger
	}
	wasOld := calls[0].Age-time.Duration(to-from) > stall
	omitted := max(0, len(calls)-2*EndCalls)
	if omitted > 0 {
		calls = slices.Concat(calls[:EndCalls], calls[len(calls)-EndCalls:])
	}
	i.Stalls = append(i.Stalls, Stall{Thread: t.ID, Virtual: t.Virtual, IsNew: !wasOld, Calls: calls, Omitted: omitted})
}

// A Source provides readings; a session is one.
type Source interface {
	Sum() (*arena.Summary, error)
	Stacks() ([]arena.Thread, error)
	Now() int64
}

// A Reading is the contents of an arena at one moment.
type Reading struct {
	At      int64                    // nanoseconds of the target's clock
	Methods map[uint32]*arena.Totals // by ID
	Threads []arena.Thread           // threads with running calls, without their trees
	Called  int                      // threads that have called a hooked method
	Lost    uint64                   // calls that could not be counted
	GC      *Collections             // so far; nil if unknown
	// Allocated is how many bytes the program has allocated so far, and AllocatedAt when that was read; zero if unknown.
	Allocated   uint64
	AllocatedAt time.Time
}

// Collections are collections of garbage that have ended, and their time.
type Collections struct {
	Count int64         `json:"collections"`
	Time  time.Duration `json:"nanos"`
}

// Since returns the collections after an earlier reading; nil if that is not known.
func (c *Collections) Since(earlier *Collections) *Collections {
	if c == nil || earlier == nil {
		return nil
	}
	return &Collections{c.Count - earlier.Count, c.Time - earlier.Time}
}

// AllocationSince returns how many bytes the program has allocated in each second since an earlier reading; false if that
// is not known.
func (r *Reading) AllocationSince(earlier *Reading) (perSecond float64, isKnown bool) {
	if length := r.AllocatedAt.Sub(earlier.AllocatedAt); length > 0 && !earlier.AllocatedAt.IsZero() {
		return float64(r.Allocated-earlier.Allocated) / length.Seconds(), true
	}
	return 0, false
}

// Start returns the reading before the first call.
func Start(at int64) *Reading { return &Reading{At: at} }

// Take takes a reading. Distributions continue the distributions of the previous reading, because the arena
// counts modulo 2^32. Stacks with calls that seem older than the threshold are read twice.
func Take(source Source, earlier *Reading, stall time.Duration) (*Reading, error) {
	sum, err := source.Sum()
	if err != nil {
		return nil, err
	}
	threads, err := source.Stacks()
	if err != nil {
		return nil, err
	}
	r := &Reading{At: source.Now(), Methods: sum.Methods, Threads: threads, Called: sum.Threads, Lost: sum.Dropped}
	if isAnyOlder(threads, r.At-int64(stall)) {
		again, err := source.Stacks()
		if err != nil {
			return nil, err
		}
		confirm(threads, again, r.At-int64(stall))
	}
	for id, totals := range r.Methods {
		if before := earlier.Methods[id]; before != nil {
			totals.Spread = countedOn(before.Spread, totals.Spread)
		}
	}
	return r, nil
}

// countedOn returns a distribution without the wraparound.
func countedOn(before, now *arena.Spread) *arena.Spread {
	if before == nil || now == nil {
		return now
	}
	all := now.Since(before)
	all.Add(before)
	return all
}

func isAnyOlder(threads []arena.Thread, than int64) bool {
	for _, t := range threads {
		for _, f := range t.Stack {
			if isOlder(f, than) {
				return true
			}
		}
	}
	return false
}

// isOlder reports whether a timed call began before a moment.
func isOlder(f arena.Frame, than int64) bool { return f.Start != 0 && f.Start < than }

// confirm clears the start of calls that seem old in the first reading but not in the second. A
// thread pushes a call on its stack before it stores the start: in between, the entry has the start
// of an earlier call.
func confirm(threads, again []arena.Thread, than int64) {
	stacks := make(map[uint32][]arena.Frame, len(again)) // by root, which is unique
	for _, t := range again {
		stacks[t.Root] = t.Stack
	}
	for _, t := range threads {
		second := stacks[t.Root]
		for i := range t.Stack {
			if f := &t.Stack[i]; isOlder(*f, than) && (i >= len(second) || second[i].Node != f.Node || second[i].Start != f.Start) {
				f.Start = 0
			}
		}
	}
}

// A Key identifies a row. Only the fields of the chosen grouping are set.
type Key struct {
	Pattern string // in rows by pattern
	Method  Method // in rows by method
	Within  string // in rows by context: the sequence
	Tags    string // in rows by tags: name=value, a line each
	Callers string // in rows by callers

	// In rows of sonde calls, where Tags are those of the key: the kind of call, and "in" or
	// "out". Inside rows count calls that incoming calls make.
	Category, Direction string
	Inside              bool
}

// TagValues returns the names and values of the tags.
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

// A Method is a method with a hook.
type Method struct {
	Class      string // with dots
	Name       string
	Descriptor string
}

// Groups assign methods to rows. A method of several rows counts once in the total, a method
// without rows not at all.
type Groups struct {
	Keys []Key            // of all rows
	Of   map[uint32][]Key // by the method's ID
}

// A Row summarizes the calls of a group in an interval. Times are in nanoseconds, of calls that
// ended in the interval, without the cost of reading the clock; they are 0 if Timed is 0.
type Row struct {
	Key     Key
	Calls   uint64  // begun
	Rate    float64 // calls a second
	Errors  uint64  // calls that ended with an exception
	Timed   uint64  // calls that ended with their time known
	Untimed uint64  // of Calls, those without room for a time
	Nanos   float64 // of all timed calls; of recursive methods, of the outermost calls
	Mean    float64
	Placed  uint64 // of Timed, the calls in the percentiles; there was no room for the others
	P50     float64
	P90     float64
	P99     float64
	Max     float64
	Queued  uint64        // of Calls, tasks whose time in a queue is known
	Queue   float64       // mean of that time
	Spread  *arena.Spread // times including the cost of reading the clock; nil if there are none

	// Running calls at the end of the interval: of each thread the outermost call of the group.
	Running int
	Stalled int           // running calls that are older than the threshold
	Oldest  time.Duration // age of the oldest running call

	LowerBound bool // hooks may have missed calls

	totals arena.Totals
	clock  float64 // cost of reading the clock
}

// finish computes rates, means and percentiles, without the cost of reading the clock.
func (r *Row) finish(length time.Duration, clock float64) {
	t := &r.totals
	r.clock = clock
	r.Calls, r.Errors, r.Timed, r.Untimed, r.Spread, r.LowerBound = t.Calls, t.Threw, t.Timed, t.Untimed, t.Spread, t.LowerBound
	if length > 0 {
		r.Rate = float64(r.Calls) / length.Seconds()
	}
	if r.Queued = t.Queued; r.Queued > 0 {
		r.Queue = float64(t.Queue) / float64(r.Queued)
	}
	if r.Timed == 0 {
		return
	}
	r.Nanos = max(0, float64(t.Nanos)-clock*float64(r.Timed))
	r.Mean = r.Nanos / float64(r.Timed)
	r.Max = max(0, float64(t.Max)-clock)
	if r.Spread != nil {
		r.Placed = r.Spread.Count()
	}
	if r.Placed > 0 {
		r.P50, r.P90, r.P99 = r.at(0.50), r.at(0.90), r.at(0.99)
	}
}

// at returns a quantile of the times.
func (r *Row) at(q float64) float64 {
	nanos, _ := r.totals.Quantile(q)
	return max(0, nanos-r.clock)
}

// Figure returns the figure of a row that a bound is about, and whether the bound holds. Times of rows without timed calls, and
// the part of errors in rows without calls, are not known; then it does not hold.
func Figure(b *probeset.Bound, r *Row) (figure string, holds, isKnown bool) {
	var value float64
	switch b.Quantity {
	case "p", "mean", "max":
		if r.Timed == 0 || b.Quantity == "p" && r.Placed == 0 {
			return "", false, false
		}
		value = map[string]float64{"mean": r.Mean, "max": r.Max}[b.Quantity]
		if b.Quantity == "p" {
			value = r.at(b.Quantile)
		}
		figure = format.Nanos(value)
	case "running":
		value, figure = float64(r.Oldest), format.Duration(r.Oldest)
	case "errors":
		value, figure = float64(r.Errors), format.Grouped(r.Errors)
		if b.IsShare {
			if r.Calls == 0 {
				return "", false, false
			}
			value /= float64(r.Calls)
			figure = format.Percent(value)
		}
	case "calls":
		value, figure = float64(r.Calls), format.Grouped(r.Calls)
	case "rate":
		value, figure = r.Rate, format.Rate(r.Rate)+" calls/s"
	case "stalled":
		value, figure = float64(r.Stalled), format.Grouped(r.Stalled)
	}
	switch {
	case value == b.Limit:
		return figure, b.Equal, true
	case b.Less:
		return figure, value < b.Limit, true
	}
	return figure, value > b.Limit, true
}
