package arena

import (
	"encoding/binary"
	"fmt"
	"unicode/utf16"
)

// RecordKind is what a record is about.
type RecordKind uint8

// The kinds of records.
const (
	CallRecord      RecordKind = layoutRecordCall      // a call that has ended
	ValueRecord     RecordKind = layoutRecordValue     // a value of the call of its depth whose record comes next
	DiscardedRecord RecordKind = layoutRecordDiscarded // the transaction is not to be kept

	padKind RecordKind = layoutRecordPad
)

// A Record is what a hook wrote into a ring. Which fields mean something depends on
// the kind. Records of calls come when the calls end, so inner ones before outer ones.
type Record struct {
	Kind        RecordKind
	Transaction uint64
	ID          uint32 // of the method, or spot
	Depth       uint32 // of a call, or of the call a value is of; of the outermost in its thread 0

	// Of a call.
	Start  uint64 // System.nanoTime
	Nanos  uint64 // how long it took
	Label  uint32 // the number of its tags' values; 0 where it has none
	Lost   uint32 // of a root, and of what was handed: calls below that found no room
	Thread uint32 // lower half of its thread's id
	Threw  bool
	Root   bool // the transaction's own call; nothing of it comes behind in this ring
	Handed bool // outermost call of what another thread did for the transaction

	// Cut says of a call that its exit never came, of a value that it was longer.
	Cut bool

	// Of a value.
	Index  uint8 // at the entry and at the exit counted by themselves
	AtExit bool
	Null   bool
	Failed bool // an exception came instead of it
	Text   string
}

// decode reads the first record of what was copied from a ring.
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

// value is false where the text does not fit the record.
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

// WatchValues is how many values a template captures at the entry, and as many at the exit.
const WatchValues = layoutWatchValues

// Idle is the second word of a spot whose template captures values (WatchEntry): which of
// them have no code, by their places among the template's own. They would be told as
// null otherwise.
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
