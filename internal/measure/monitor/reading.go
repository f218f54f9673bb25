package monitor

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A Source is what is read. A session is one.
type Source interface {
	Sum() (*arena.Summary, error)
	Stacks() ([]arena.Thread, error)
	Now() int64
}

// A Reading is what the arena said at a moment.
type Reading struct {
	At      int64                    // nanoseconds of the target's clock
	Methods map[uint32]*arena.Totals // by id
	Threads []arena.Thread           // those with calls under way, without their trees
	Called  int                      // threads that have called anything
	Lost    uint64                   // calls nothing could count
}

// Start is the reading before the first call.
func Start(at int64) *Reading { return &Reading{At: at} }

// Take reads. The earlier reading is the last that was taken: distributions are
// counted on from there, as the arena counts modulo 2^32. What looks as if it were
// older than a threshold is looked at again.
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

// countedOn is a distribution that does not wrap around.
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

// isOlder tells calls that began before a moment. Those that are not timed have no
// beginning.
func isOlder(f arena.Frame, than int64) bool { return f.Start != 0 && f.Start < than }

// confirm takes the beginning from calls that seem to be old but are not in a second
// look. A thread puts a call on its stack before it notes when that began: in between
// its place has the beginning of a call that has ended.
func confirm(threads, again []arena.Thread, than int64) {
	stacks := make(map[uint32][]arena.Frame, len(again)) // by root, which each block has of its own
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
