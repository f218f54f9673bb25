package arena

import (
	"sync/atomic"
	"time"
)

// MostUnanswered is how many arrivals there are where nobody answers them.
const MostUnanswered = layoutArrivals

// An Arrival is a call that waits until its callees have hooks, or a member that
// reflection or a method handle is about to call.
type Arrival struct {
	Ticket uint64
	ID     uint32 // of the method; 0 where Text names a member
	Text   string // class.name(descriptor), the class with slashes
}

// MakeArrivals gives the target the ring in which calls announce themselves.
// Until then, and where SetWait was not called, none waits.
func (a *Arena) MakeArrivals() error {
	return a.guard(func(m memory) error {
		if m.u32(headerArrivals) != 0 {
			return nil
		}
		ref := m.take(layoutArrivals * arrivalSize)
		if ref == 0 {
			return ErrFull
		}
		m.put32(headerArrivals, ref)
		return nil
	})
}

// Arrivals are those with tickets beyond one, in order. One that is still being
// written ends the list: what is behind it is told with it.
func (a *Arena) Arrivals(after uint64) (arrivals []Arrival, err error) {
	err = a.guard(func(m memory) error {
		ref := m.u32(headerArrivals)
		if ref == 0 {
			return nil
		}
		ring := m.piece(ref, layoutArrivals*arrivalSize)
		next := m.u64(headerArrivalsNext)
		if next <= after {
			return nil
		}
		// Older ones were answered, and their slots belong to others.
		count := min(next-after, layoutArrivals)
		for i := range count {
			ticket := next - count + 1 + i
			arrival, whole := m.arrival(ring+(ticket-1)%layoutArrivals*arrivalSize, ticket)
			switch {
			case whole:
				arrivals = append(arrivals, arrival)
			case next-m.u64(headerArrivalsAnswered) < layoutArrivals:
				return nil
			}
			// In a full ring nobody writes. Whoever took that ticket ended meanwhile.
		}
		return nil
	})
	return arrivals, err
}

// arrival reads a slot; it is whole where it holds this ticket before and after.
func (m memory) arrival(slot, ticket uint64) (arrival Arrival, whole bool) {
	if m.u64(slot+arrivalTicket) != ticket {
		return Arrival{}, false
	}
	length := min(uint64(m.u32(slot+arrivalLength)), arrivalSize-arrivalText)
	arrival = Arrival{
		Ticket: ticket,
		ID:     m.u32(slot + arrivalId),
		Text:   string(m[slot+arrivalText : slot+arrivalText+length]),
	}
	return arrival, m.u64(slot+arrivalTicket) == ticket
}

// Answer lets calls go on: those with tickets up to this one.
func (a *Arena) Answer(ticket uint64) {
	_ = a.guard(func(m memory) error {
		answered := m.word64(headerArrivalsAnswered)
		for {
			was := atomic.LoadUint64(answered)
			if was >= ticket || atomic.CompareAndSwapUint64(answered, was, ticket) {
				return nil
			}
		}
	})
}

// SetWait says how long a call that has announced itself waits at most; 0 is not
// at all. It holds for those that wait already.
func (a *Arena) SetWait(limit time.Duration) {
	_ = a.guard(func(m memory) error {
		m.put64(headerWaitNanos, uint64(max(limit, 0)))
		return nil
	})
}

// ArrivalsLost is how many members found no room to be announced. A call that
// found none is missed in its node, and announced by the next.
func (a *Arena) ArrivalsLost() (lost uint64) {
	_ = a.guard(func(m memory) error {
		lost = m.u64(headerArrivalsLost)
		return nil
	})
	return lost
}

// ContextLosses is what could not be told of contexts: how many tasks were handed on
// in two contexts at once, so that they have none, and how many calls of anchors and
// of methods that set tags found no room.
func (a *Arena) ContextLosses() (ambiguous, lost uint64) {
	_ = a.guard(func(m memory) error {
		ambiguous, lost = m.u64(headerAmbiguous), m.u64(headerContextsLost)
		return nil
	})
	return ambiguous, lost
}
