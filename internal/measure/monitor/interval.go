package monitor

import (
	"cmp"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Options are how readings are understood.
type Options struct {
	Stall time.Duration // how old a call is that has stalled
	Clock float64       // nanoseconds of the clock's own in each time
}

// An Interval is what happened between two readings.
type Interval struct {
	Length  time.Duration
	Rows    []Row // in the order of the groups' keys
	Total   Row   // of all methods, each counted once
	Threads int   // that have called anything, ever
	Lost    uint64
	Stalls  []Stall // the oldest first, MostStalls at most
}

// A Stall is a thread that is in a call which is older than the threshold.
type Stall struct {
	Thread  uint64
	Virtual bool
	IsNew   bool   // it was not that old when the interval began
	Calls   []Call // that it is in, the outermost first
	Omitted int    // of those, left out in the middle
}

// A Call is one under way.
type Call struct {
	ID  uint32
	Age time.Duration
}

const (
	// MostStalls bounds how many stalls are told; rows count all.
	MostStalls = 20
	// EndCalls bounds the calls of a stall: so many outermost, and as many innermost.
	EndCalls = 8
)

// Between tells what happened between two readings.
func Between(before, after *Reading, groups *Groups, o Options) *Interval {
	i := &Interval{
		Length: time.Duration(after.At - before.At), Rows: make([]Row, len(groups.Keys)),
		Threads: after.Called, Lost: more(before.Lost, after.Lost),
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
		c := since(before.Methods[id], totals)
		i.Total.add(c)
		for _, key := range keys {
			rows[key].add(c)
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

// underWay adds the calls that a thread is in.
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
		if f.Start == 0 || len(keys) == 0 { // it is not timed, or one by which hooks are calibrated
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
		return // those further in are younger
	}
	wasOld := calls[0].Age-time.Duration(to-from) > stall
	omitted := max(0, len(calls)-2*EndCalls)
	if omitted > 0 {
		calls = slices.Concat(calls[:EndCalls], calls[len(calls)-EndCalls:])
	}
	i.Stalls = append(i.Stalls, Stall{Thread: t.ID, Virtual: t.Virtual, IsNew: !wasOld, Calls: calls, Omitted: omitted})
}
