package trace

import (
	"cmp"
	"slices"
	"time"
)

// A Cost is what a pair of hooks takes of a call, in nanoseconds: Inner lies between
// its two readings of the clock and so in the call's own time, Outer around them and
// so in its caller's.
type Cost struct{ Inner, Outer float64 }

// nest puts parts that ran inside a call on the same thread where they ran: a task
// may be done by the thread that hands it over.
func (t *Transaction) nest() {
	outside := t.Parts[:0]
	for i, part := range t.Parts {
		around := enclosing(t.Root, part)
		for j := 0; around == nil && j < len(t.Parts); j++ {
			if j != i {
				around = enclosing(t.Parts[j], part)
			}
		}
		if around == nil {
			outside = append(outside, part)
			continue
		}
		at, _ := slices.BinarySearchFunc(around.Children, part, byStart)
		around.Children = slices.Insert(around.Children, at, part)
	}
	clear(t.Parts[len(outside):])
	t.Parts = outside
	slices.SortStableFunc(t.Parts, byStart)
}

func byStart(a, b *Call) int { return cmp.Compare(a.start, b.start) }

func (c *Call) end() uint64 { return c.start + uint64(c.Measured) }

// enclosing is the innermost call of a tree inside which another ran, nil where none
// is. Of two that took the same time the one that was written first is inner.
func enclosing(c, inner *Call) *Call {
	if c.ring != inner.ring || c == inner || inner.start < c.start || inner.end() > c.end() || inner.end()-inner.start == c.end()-c.start {
		return nil
	}
	for _, child := range c.Children {
		if found := enclosing(child, inner); found != nil {
			return found
		}
	}
	return c
}

// TakeOff says when calls were, seen from the transaction's beginning, and what is left
// of their times without the hooks' own. It may be done again with another cost.
func (t *Transaction) TakeOff(cost Cost) {
	begin := t.Root.start
	t.Root.place(begin, cost)
	for _, part := range t.Parts {
		part.place(begin, cost)
	}
	t.Duration = t.Root.Duration
}

func (c *Call) place(begin uint64, cost Cost) {
	c.Start = time.Duration(c.start - min(begin, c.start))
	inside := float64(c.Omitted.Time) + cost.Outer*float64(c.Omitted.Calls)
	below := time.Duration(max(0, float64(c.Omitted.Time)-cost.Inner*float64(c.Omitted.Calls)))
	for _, child := range c.Children {
		child.place(begin, cost)
		inside += float64(child.Measured) + cost.Outer
		below += child.Duration
	}
	c.Self = time.Duration(max(0, float64(c.Measured)-cost.Inner-inside))
	c.Duration = c.Self + below
}
