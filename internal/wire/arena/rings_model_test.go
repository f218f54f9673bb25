package arena

import "unicode/utf16"

// A modelRing writes a ring as the hooks do, with the same room and in the same
// order of stores.
type modelRing struct {
	*model
	ref      uint32
	ring     uint64
	capacity uint64
	reserved uint64
}

// ring gives a thread its ring.
func (t *modelThread) ring(capacity uint64) *modelRing {
	w, ref := t.arena.memory, t.take(ringSize+capacity)
	r := &modelRing{t.model, ref, uint64(ref) * layoutUnit, capacity, 0}
	w.put32(r.ring+ringCapacity, uint32(capacity))
	w.put64(r.ring+ringTid, w.u64(t.block+blockTid))
	w.put32(r.ring+ringOlder, w.u32(headerRings))
	w.put32(headerRings, ref)
	w.put32(t.block+blockRing, ref)
	return r
}

// hasRoom is for bytes besides what is reserved, and a record more.
func (r *modelRing) hasRoom(bytes uint64) bool {
	w := r.arena.memory
	return w.u64(r.ring+ringWrite)-w.u64(r.ring+ringTail)+r.reserved+bytes+callSize <= r.capacity
}

// enter reserves room for a call's record, where there is some.
func (r *modelRing) enter() bool {
	if !r.hasRoom(callSize) {
		return false
	}
	r.reserved += callSize
	return true
}

// exit writes the record for which room is reserved.
func (r *modelRing) exit(c Record) {
	r.reserved -= callSize
	flags := uint32(0)
	for bit, is := range map[uint32]bool{layoutCallThrew: c.Threw, layoutCallRoot: c.Root, layoutCallCut: c.Cut, layoutCallHanded: c.Handed} {
		if is {
			flags |= bit
		}
	}
	w, at := r.arena.memory, r.begin(callSize, CallRecord, flags, c.ID)
	w.put64(at+callTransaction, c.Transaction)
	w.put64(at+callStart, c.Start)
	w.put64(at+callNanos, c.Nanos)
	w.put32(at+callDepth, c.Depth)
	w.put32(at+callLabel, c.Label)
	w.put32(at+callLost, c.Lost)
	w.put32(at+callThread, c.Thread)
	r.end(callSize)
}

// value writes one, where there is room.
func (r *modelRing) value(c Record) bool {
	units := utf16.Encode([]rune(c.Text))
	flags := uint32(0)
	for bit, is := range map[uint32]bool{layoutValueCut: c.Cut, layoutValueFailed: c.Failed, layoutValueNull: c.Null} {
		if is {
			flags |= bit
		}
	}
	index := uint32(c.Index) | uint32(len(units))<<16
	if c.AtExit {
		index |= layoutValueAtExit
	}
	size := valueSize + (2*uint64(len(units))+7)&^7
	if !r.hasRoom(size + r.pad(size)) {
		return false
	}
	w, at := r.arena.memory, r.begin(size, ValueRecord, flags, c.ID)
	w.put64(at+valueTransaction, c.Transaction)
	w.put32(at+valueDepth, c.Depth)
	w.put32(at+valueIndex, index)
	for i := 0; i < len(units); i += 2 {
		pair := uint32(units[i])
		if i+1 < len(units) {
			pair |= uint32(units[i+1]) << 16
		}
		w.put32(at+valueSize+2*uint64(i), pair)
	}
	r.end(size)
	return true
}

func (r *modelRing) discard(transaction uint64) {
	r.arena.memory.put64(r.begin(discardedSize, DiscardedRecord, 0, 0)+discardedTransaction, transaction)
	r.end(discardedSize)
}

// pad is how much the end of the data cuts off of a record.
func (r *modelRing) pad(size uint64) uint64 {
	left := r.capacity - r.arena.memory.u64(r.ring+ringWrite)&(r.capacity-1)
	if left < size {
		return left
	}
	return 0
}

func (r *modelRing) begin(size uint64, kind RecordKind, flags, id uint32) (at uint64) {
	w, write := r.arena.memory, r.arena.memory.u64(r.ring+ringWrite)
	if pad := r.pad(size); pad > 0 {
		w.put32(r.ring+ringSize+write&(r.capacity-1), uint32(pad)|layoutRecordPad<<layoutRecordKindShift)
		write += pad
		w.put64(r.ring+ringWrite, write)
	}
	at = r.ring + ringSize + write&(r.capacity-1)
	w.put32(at, uint32(size)|uint32(kind)<<layoutRecordKindShift|flags<<layoutRecordFlagsShift)
	w.put32(at+callId, id)
	return at
}

func (r *modelRing) end(size uint64) {
	w := r.arena.memory
	write := w.u64(r.ring+ringWrite) + size
	w.put64(r.ring+ringWrite, write)
	w.put64(r.ring+ringHead, write)
}
