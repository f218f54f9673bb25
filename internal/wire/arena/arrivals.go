package arena

import (
	"sync/atomic"
	"time"
)

// MostUnanswered is the maximum number of arrivals without an answer.
const MostUnanswered = layoutArrivals

// An Arrival is a call that waits until its callees have hooks, or a member that is about to be called by reflection or
// through a method handle.
type Arrival struct {
	Ticket uint64
	ID     uint32 // of the method; 0 if Text names a member
	Text   string // class.name(descriptor), the class with slashes
}

// MakeArrivals reserves the ring in which calls announce themselves. Calls wait only if it exists and SetWait was called.
func (a *Arena) MakeArrivals() error { return a.reserve(headerArrivals, layoutArrivals*arrivalSize) }

// Arrivals returns the arrivals after a ticket, in order. The list ends before one that is still being written.
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
		// Older arrivals were answered, and their slots are reused.
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
			// In a full ring nobody writes, so the thread that took this ticket has ended.
		}
		return nil
	})
	return arrivals, err
}

// arrival reads a slot; it is whole if the slot has this ticket before and after.
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

// Answer lets the calls with tickets up to this one continue.
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

// SetWait sets how long a call that has announced itself waits at most; 0 for not at all. It applies to waiting calls, too.
func (a *Arena) SetWait(limit time.Duration) {
	_ = a.use(func(m memory) { m.put64(headerWaitNanos, uint64(max(limit, 0))) })
}

// ArrivalsLost returns the number of members that could not be announced for lack of room. A call without room counts as
// missed in its node, and the next one announces it.
func (a *Arena) ArrivalsLost() (lost uint64) {
	_ = a.use(func(m memory) { lost = m.u64(headerArrivalsLost) })
	return lost
}

// ContextLosses returns how many tasks have no context because they were submitted in two contexts at once, and how many
// calls of anchors and tag points were lost for lack of room.
func (a *Arena) ContextLosses() (ambiguous, lost uint64) {
	_ = a.use(func(m memory) { ambiguous, lost = m.u64(headerAmbiguous), m.u64(headerContextsLost) })
	return ambiguous, lost
}
