package trace

import (
	"math"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A state is what is there of a transaction.
type state struct {
	id    uint64
	lanes []*lane
	root  *Call
	parts []*Call // outermost calls of other threads, not yet in told
	lost  uint64
	size  int    // calls it holds
	seen  uint64 // when the root's record was
	told  *Transaction
}

// A lane is what one ring has told of a transaction and no outer call has taken yet.
type lane struct {
	ring    uint32
	pending []*Call // ended, by end; the call around them has not
	values  []pendingValue
}

type pendingValue struct {
	depth uint32
	value Value
}

// mostValues is how many values a call may have waiting, which is more than templates
// can capture.
const mostValues = 64

func (s *state) laneOf(ring uint32) *lane {
	for _, l := range s.lanes {
		if l.ring == ring {
			return l
		}
	}
	l := &lane{ring: ring}
	s.lanes = append(s.lanes, l)
	return l
}

func (l *lane) addValue(r arena.Record) {
	if len(l.values) == mostValues {
		l.values = l.values[1:]
	}
	value := Value{Index: int(r.Index), AtExit: r.AtExit, raw: r.Text, Null: r.Null, Failed: r.Failed, Cut: r.Cut}
	l.values = append(l.values, pendingValue{r.Depth, value})
}

// takeValues are those of the call of a depth, entry before exit. Deeper ones belong
// to calls whose record was never written.
func (l *lane) takeValues(depth uint32) []Value {
	var taken []Value
	l.values = slices.DeleteFunc(l.values, func(p pendingValue) bool {
		if p.depth == depth {
			taken = append(taken, p.value)
		}
		return p.depth >= depth
	})
	return taken
}

// add takes the record of a call, and tells whether there was room for it.
func (s *state) add(ring uint32, r arena.Record, most int) bool {
	l := s.laneOf(ring)
	c := newCall(ring, r)
	c.Values = l.takeValues(r.Depth)
	isOuter := r.Root || r.Handed
	s.size += 1 - l.adopt(c, isOuter)
	if isOuter {
		s.lost += uint64(r.Lost)
		c.Omitted, c.gone = c.gone, Omitted{}
		if r.Root && s.root == nil {
			s.root = c
		} else {
			s.parts = append(s.parts, c)
		}
		return true
	}
	switch {
	case s.size <= most || len(c.Children) > 0:
		c.Omitted, c.gone = c.gone, Omitted{}
		l.pending = append(l.pending, c)
	case s.size > 3*most: // such a shape no program has: the ring is damaged
		s.size--
		return false
	default:
		s.size += l.fold(c)
	}
	return true
}

func newCall(ring uint32, r arena.Record) *Call {
	return &Call{
		Spot: r.ID, Thread: Thread{ID: uint64(r.Thread)}, Depth: int(min(r.Depth, math.MaxInt32)),
		Measured: time.Duration(min(r.Nanos, math.MaxInt64/4)), Threw: r.Threw, Cut: r.Cut, Handed: r.Handed,
		label: r.Label, start: r.Start, ring: ring,
	}
}

// adopt makes the calls that ended inside c its children. It tells how many places of
// folded calls became free by that.
func (l *lane) adopt(c *Call, isOuter bool) (freed int) {
	n := len(l.pending)
	for n > 0 && l.pending[n-1].start >= c.start && (l.pending[n-1].Depth > c.Depth || isOuter) {
		n--
	}
	for _, inner := range l.pending[n:] {
		if inner.gone.Calls == 0 {
			c.Children = append(c.Children, inner)
			continue
		}
		c.gone.Calls += inner.gone.Calls
		c.gone.Time += inner.gone.Time
		freed++
	}
	clear(l.pending[n:])
	l.pending = l.pending[:n]
	return freed
}

// fold keeps of a call no more than that it was, together with those before it. It
// tells, as a number not above 0, by how much what is held shrinks.
func (l *lane) fold(c *Call) int {
	folded := Omitted{1 + c.gone.Calls, c.Measured}
	if n := len(l.pending); n > 0 && l.pending[n-1].gone.Calls > 0 && l.pending[n-1].Depth == c.Depth {
		before := &l.pending[n-1].gone
		before.Calls += folded.Calls
		before.Time += folded.Time
		return -1
	}
	l.pending = append(l.pending, &Call{Depth: c.Depth, start: c.start, gone: folded})
	return 0
}

// pendingSize is how many calls wait for an outer one.
func (s *state) pendingSize() (size int) {
	for _, l := range s.lanes {
		size += len(l.pending)
	}
	return size
}

// unjoined is how many calls are in no transaction that was handed out.
func (s *state) unjoined() (calls uint64) {
	count := func(c *Call) {
		for one := range c.All() {
			calls += one.Omitted.Calls
			if one.gone.Calls > 0 {
				calls += one.gone.Calls
			} else {
				calls++
			}
		}
	}
	for _, l := range s.lanes {
		for _, c := range l.pending {
			count(c)
		}
	}
	for _, part := range s.parts {
		count(part)
	}
	return calls
}

// closeLanes makes parts of calls whose outer call has not ended.
func (s *state) closeLanes() {
	for _, l := range s.lanes {
		for _, c := range l.pending {
			if c.gone.Calls > 0 {
				s.lost += c.gone.Calls
				continue
			}
			c.Handed = true
			s.parts = append(s.parts, c)
		}
		l.pending = nil
	}
}
