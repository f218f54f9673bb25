package arena

import (
	"errors"
	"fmt"
)

// ErrOverrun says that what a ring tells cannot be what was written: it was
// damaged, or somebody else reads it as well. Reading goes on behind it.
var ErrOverrun = errors.New("a ring of traced calls does not make sense; what was in it is lost")

// SetRings says how many bytes a thread's ring of traced calls has (the greatest
// power of two that is not more), and how far below their root calls are traced; 0
// is as far as they go. Rings that are there keep their size.
func (a *Arena) SetRings(bytes, levels uint32) error {
	if bytes < layoutLeastRingBytes || bytes > layoutMostRingBytes {
		return fmt.Errorf("a ring of %d bytes is not possible: choose %d to %d", bytes, layoutLeastRingBytes, layoutMostRingBytes)
	}
	return a.guard(func(m memory) error {
		m.put32(headerRingBytes, bytes)
		m.put32(headerTraceLevels, levels)
		return nil
	})
}

// A Ring is where one thread, or several that took turns, write the calls that are
// traced.
type Ring struct {
	arena *Arena
	ref   uint32
}

// Ref names the ring: it is the same in every reading, and is the upper half of
// the numbers of transactions that began in it.
func (r *Ring) Ref() uint32 { return r.ref }

// Rings are all there are, the newest first. They stay, and no two are of one
// thread at a time.
func (a *Arena) Rings() (rings []*Ring, err error) {
	err = a.guard(func(m memory) error {
		w := &walk{memory: m}
		for ref := w.u32(headerRings); ref != 0; {
			ring, capacity := w.ring(ref)
			w.meet(ref, ringSize+capacity)
			rings = append(rings, &Ring{a, ref})
			ref = w.u32(ring + ringOlder)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rings, nil
}

// ring is the checked place of a ring, with its capacity.
func (m memory) ring(ref uint32) (ring, capacity uint64) {
	ring = m.piece(ref, ringSize)
	capacity = uint64(m.u32(ring + ringCapacity))
	if capacity < layoutLeastRingBytes || capacity > layoutMostRingBytes || capacity&(capacity-1) != 0 {
		panic(fmt.Errorf("%w: a ring of %d bytes", ErrDamaged, capacity))
	}
	m.check(ring, ringSize+capacity)
	return ring, capacity
}

// RingState is what is known of a ring besides its records.
type RingState struct {
	Thread      uint64 // id of the newest owner
	Capacity    uint32 // bytes
	Unread      uint64 // bytes that Read would give
	Transaction uint64 // that the owner is in; 0 for none
	Opened      uint64 // transactions
	Discarded   uint64 // of those, the ones whose verdict was no
	Dropped     uint64 // calls that found no room, and were only counted
}

// State tells of a ring at a moment.
func (r *Ring) State() (state RingState, err error) {
	err = r.arena.guard(func(m memory) error {
		ring, capacity := m.ring(r.ref)
		state = RingState{
			Thread:      m.u64(ring + ringTid),
			Capacity:    uint32(capacity),
			Unread:      min(m.u64(ring+ringHead)-m.u64(ring+ringTail), capacity),
			Transaction: m.u64(ring + ringTransaction),
			Opened:      m.u64(ring + ringOpened),
			Discarded:   m.u64(ring + ringDiscarded),
			Dropped:     m.u64(ring + ringDropped),
		}
		return nil
	})
	return state, err
}

// Ringless is how many calls were only counted because the arena had no room for a
// ring of their thread.
func (a *Arena) Ringless() (calls uint64, err error) {
	err = a.guard(func(m memory) error {
		w := &walk{memory: m}
		w.blocks(func(block uint64) { calls += uint64(w.u32(block + blockRingless)) })
		return nil
	})
	return calls, err
}

// Read gives the records that were written since the last reading, in their order,
// and makes room for others: nobody else may read the ring. The arena must be mapped
// for writing. What each is given is a copy.
func (r *Ring) Read(each func(Record)) error {
	copied, err := r.take()
	for err == nil && len(copied) > 0 {
		var record Record
		var size int
		if record, size, err = decode(copied); err != nil {
			break
		}
		copied = copied[size:]
		if record.Kind != padKind {
			each(record)
		}
	}
	return err
}

// take copies what is to be read, and only then gives the room back. What lies
// across the end of the ring is joined in the copy: records never do.
func (r *Ring) take() (copied []byte, err error) {
	err = r.arena.guard(func(m memory) error {
		ring, capacity := m.ring(r.ref)
		head, tail := m.u64(ring+ringHead), m.u64(ring+ringTail)
		unread := head - tail
		if unread > capacity || unread%8 != 0 || tail%8 != 0 {
			m.put64(ring+ringTail, head)
			return fmt.Errorf("%w (%w): %d bytes in a ring of %d", ErrOverrun, ErrDamaged, unread, capacity)
		}
		data, begin := m[ring+ringSize:][:capacity], tail&(capacity-1)
		copied = make([]byte, unread)
		first := copy(copied, data[begin:])
		copy(copied[first:], data)
		m.put64(ring+ringTail, head)
		return nil
	})
	return copied, err
}
