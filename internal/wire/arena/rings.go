package arena

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf16"
)

// ErrOverrun reports that a ring was damaged, or that another process reads it as well. Reading continues after it.
var ErrOverrun = errors.New("a ring of traced calls is inconsistent, and its content is lost")

// SetRings sets the size of a thread's ring of traced calls, rounded down to a power of two, and the number of levels below
// their root that are traced; 0 for all. Existing rings keep their size.
func (a *Arena) SetRings(bytes, levels uint32) error {
	if bytes < layoutLeastRingBytes || bytes > layoutMostRingBytes {
		return fmt.Errorf("a ring of %d bytes is not possible: choose %d to %d", bytes, layoutLeastRingBytes, layoutMostRingBytes)
	}
	return a.use(func(m memory) {
		m.put32(headerRingBytes, bytes)
		m.put32(headerTraceLevels, levels)
	})
}

// A Ring holds the traced calls of one thread, or of several that used it one after the other.
type Ring struct {
	arena *Arena
	ref   uint32
}

// Ref identifies the ring. It is the upper half of the numbers of transactions that began in it.
func (r *Ring) Ref() uint32 { return r.ref }

// Rings returns all rings, the newest first. Rings are never removed, and a thread has one at a time.
func (a *Arena) Rings() (rings []*Ring, err error) {
	err = a.walk(func(w *walk) {
		for ref := w.u32(headerRings); ref != 0; {
			ring, capacity := w.ring(ref)
			w.meet(ref, ringSize+capacity)
			rings = append(rings, &Ring{a, ref})
			ref = w.u32(ring + ringOlder)
		}
	})
	if err != nil {
		return nil, err
	}
	return rings, nil
}

// ring returns the checked offset of a ring, and its capacity.
func (m memory) ring(ref uint32) (ring, capacity uint64) {
	ring = m.piece(ref, ringSize)
	capacity = uint64(m.u32(ring + ringCapacity))
	if capacity < layoutLeastRingBytes || capacity > layoutMostRingBytes || capacity&(capacity-1) != 0 {
		panic(fmt.Errorf("%w: a ring of %d bytes", ErrDamaged, capacity))
	}
	m.check(ring, ringSize+capacity)
	return ring, capacity
}

// A RingState describes a ring apart from its records.
type RingState struct {
	Thread      uint64 // id of the newest owner
	Capacity    uint32 // bytes
	Unread      uint64 // bytes for the next Read
	Transaction uint64 // of the owner; 0 for none
	Opened      uint64 // transactions
	Discarded   uint64 // how many of the opened transactions are not kept
	Dropped     uint64 // calls that were only counted for lack of room
}

// State returns the current state of the ring.
func (r *Ring) State() (state RingState, err error) {
	err = r.arena.use(func(m memory) {
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
	})
	return state, err
}

// Ringless returns the number of calls that were only counted because the arena had no room for a ring of their thread.
func (a *Arena) Ringless() (calls uint64, err error) {
	err = a.walk(func(w *walk) {
		w.blocks(func(block uint64) { calls += uint64(w.u32(block + blockRingless)) })
	})
	return calls, err
}

// Read calls each with copies of the records since the last Read, in order, and frees their room. Nobody else may read the
// ring. The arena must be mapped for writing.
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

// take copies the unread bytes, then frees their room. Records never cross the end of the ring.
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

// A RecordKind is the type of a record.
type RecordKind uint8

// The kinds of records.
const (
	CallRecord      RecordKind = layoutRecordCall      // a call that has ended
	ValueRecord     RecordKind = layoutRecordValue     // a value of the next call record of its depth
	DiscardedRecord RecordKind = layoutRecordDiscarded // the transaction is not to be kept

	padKind RecordKind = layoutRecordPad
)

// A Record is written by a hook into a ring. The kind determines which fields are used. Calls are recorded when they end,
// so inner ones come before outer ones.
type Record struct {
	Kind        RecordKind
	Transaction uint64
	ID          uint32 // of the method, or spot
	Depth       uint32 // of the call; 0 for the outermost of its thread

	// Of a call.
	Start  uint64 // System.nanoTime
	Nanos  uint64 // how long it took
	Label  uint32 // the number of its tag values; 0 for none
	Lost   uint32 // for a root or handed call: calls below it that were lost for lack of room
	Thread uint32 // lower half of its thread's id
	Threw  bool
	Root   bool // the transaction's own call, its last record in this ring
	Handed bool // the outermost call of another thread for the transaction

	// Cut means that the exit of a call is missing, or that a value was longer.
	Cut bool

	// Of a value.
	Index  uint8 // counted separately at the entry and at the exit
	AtExit bool
	Null   bool
	Failed bool // evaluating it threw an exception
	Text   string
}

// decode decodes the first record of bytes of a ring.
func decode(data []byte) (record Record, size int, err error) {
	head := binary.LittleEndian.Uint32(data) // data are words of 8 bytes
	size = int(head & 0xffff)
	kind := RecordKind(head >> layoutRecordKindShift)
	flags := head >> layoutRecordFlagsShift
	if size < 8 || size%8 != 0 || size > len(data) {
		return record, 0, badRecord(kind, size)
	}
	data = data[:size]
	record = Record{Kind: kind}
	switch kind {
	case CallRecord:
		if size != callSize {
			return record, 0, badRecord(kind, size)
		}
		record.call(data, flags)
	case ValueRecord:
		if size < valueSize || !record.value(data, flags) {
			return record, 0, badRecord(kind, size)
		}
	case DiscardedRecord:
		if size != discardedSize {
			return record, 0, badRecord(kind, size)
		}
		record.Transaction = binary.LittleEndian.Uint64(data[discardedTransaction:])
	case padKind:
	default:
		return record, 0, badRecord(kind, size)
	}
	return record, size, nil
}

func badRecord(kind RecordKind, size int) error {
	return fmt.Errorf("%w (%w): a record of kind %d and %d bytes", ErrOverrun, ErrDamaged, kind, size)
}

func (r *Record) call(data []byte, flags uint32) {
	r.ID = binary.LittleEndian.Uint32(data[callId:])
	r.Transaction = binary.LittleEndian.Uint64(data[callTransaction:])
	r.Start = binary.LittleEndian.Uint64(data[callStart:])
	r.Nanos = binary.LittleEndian.Uint64(data[callNanos:])
	r.Depth = binary.LittleEndian.Uint32(data[callDepth:])
	r.Label = binary.LittleEndian.Uint32(data[callLabel:])
	r.Lost = binary.LittleEndian.Uint32(data[callLost:])
	r.Thread = binary.LittleEndian.Uint32(data[callThread:])
	r.Threw = flags&layoutCallThrew != 0
	r.Root = flags&layoutCallRoot != 0
	r.Cut = flags&layoutCallCut != 0
	r.Handed = flags&layoutCallHanded != 0
}

// value returns false if the text does not fit the record.
func (r *Record) value(data []byte, flags uint32) bool {
	r.ID = binary.LittleEndian.Uint32(data[valueId:])
	r.Transaction = binary.LittleEndian.Uint64(data[valueTransaction:])
	r.Depth = binary.LittleEndian.Uint32(data[valueDepth:])
	index := binary.LittleEndian.Uint32(data[valueIndex:])
	r.Index, r.AtExit = uint8(index&^layoutValueAtExit), index&layoutValueAtExit != 0
	r.Cut = flags&layoutValueCut != 0
	r.Failed = flags&layoutValueFailed != 0
	r.Null = flags&layoutValueNull != 0
	units := int(index >> 16)
	if units > layoutMostUnits || valueSize+2*units > len(data) {
		return false
	}
	text := make([]uint16, units)
	for i := range text {
		text[i] = binary.LittleEndian.Uint16(data[valueSize+2*i:])
	}
	r.Text = string(utf16.Decode(text))
	return true
}

// TraceValue is the index of the trace of others that a transaction belongs to.
const TraceValue = layoutValueTrace

// SpanValue is the index of the trace and the span that a call has sent to the program that it calls.
const SpanValue = layoutValueSpan

// WatchValues is the number of values that a template captures at the entry, and also at the exit.
const WatchValues = layoutWatchValues

// Idle returns the second word of a spot whose template captures values (WatchEntry): the positions of values without code,
// which would be recorded as null otherwise.
func Idle(atEntry, atExit [layoutWatchValues]bool) (word uint64) {
	for i := range layoutWatchValues {
		if atEntry[i] {
			word |= 1 << i
		}
		if atExit[i] {
			word |= 1 << (layoutWatchValues + i)
		}
	}
	return word
}
