package pack

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
)

// A record is what the agent knows of a class.
//
//	0  hash of the name          4  original: length        8  woven: CRC-32C
//	1  place of the name         5    CRC-32                9  delta: place
//	2  length of the name        6    CRC-32C              10    length
//	3  next of the same name     7  woven: length          11  methods that were woven
type record [12]uint32

const (
	recordHash = iota
	recordName
	recordNameLength
	recordNext
	recordSize
	recordSum32
	recordSum32C
	recordWovenSize
	recordWovenSum
	recordDelta
	recordDeltaSize
	recordMethods

	recordBytes = 4 * len(record{})
)

// Of an index at least three quarters are empty.
const (
	leastSlots    = 16
	slotsPerName  = 4
	hashSpread    = 0x9E3779B9
	slotBytes     = 4
	mostClassFile = 64 << 20 // far beyond any there is
)

// is reports whether a class file is the one that was woven, as the agent sees it.
func (r *record) is(file []byte) bool {
	return int(r[recordSize]) == len(file) && r[recordSum32] == crc32.ChecksumIEEE(file) && r[recordSum32C] == sum(file)
}

func (r *record) append(dst []byte) []byte {
	for _, n := range r {
		dst = binary.LittleEndian.AppendUint32(dst, n)
	}
	return dst
}

func readRecord(b []byte) (r record) {
	for i := range r {
		r[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return r
}

// slotOf is where the search for a hash begins.
func slotOf(hash uint32, slots int) int {
	return int(hash * hashSpread >> (33 - bits.Len(uint(slots))))
}

// isFirst tells the first record of a name.
func isFirst(records []record, i int) bool { return i == 0 || records[i-1][recordNext] != uint32(i+1) }

// slotsFor is how many slots an index of records has.
func slotsFor(records []record) int {
	names := 0
	for i := range records {
		if isFirst(records, i) {
			names++
		}
	}
	slots := leastSlots
	for slots < slotsPerName*names {
		slots *= 2
	}
	return slots
}

// Steps from slot to slot, for all records together. Names of classes take less than one
// each; names that are chosen to have one hash would take hours.
const (
	freeSteps    = 1 << 20
	stepsPerSlot = 8
)

// makeIndex finds the first record of each name.
func makeIndex(records []record) ([]uint32, error) {
	slots := slotsFor(records)
	index := make([]uint32, slots)
	left := freeSteps + stepsPerSlot*slots
	for i := range records {
		if !isFirst(records, i) {
			continue
		}
		at := slotOf(records[i][recordHash], slots)
		for ; index[at] != 0 && left > 0; left-- {
			at = (at + 1) % slots
		}
		if left == 0 {
			return nil, ErrAlike
		}
		index[at] = uint32(i) + 1
	}
	return index, nil
}

// link gives records their names' places, and has those of one name, which stand together,
// name each other.
func link(records []record, names []string) (text []byte, err error) {
	for i, name := range names {
		r := &records[i]
		if i > 0 && names[i-1] == name {
			before := &records[i-1]
			before[recordNext] = uint32(i) + 1
			r[recordHash], r[recordName], r[recordNameLength] = before[recordHash], before[recordName], before[recordNameLength]
			continue
		}
		all, err := units(name)
		if err != nil {
			return nil, fmt.Errorf("a class of the pack: %w", err)
		}
		encoded, length := encodeText(all)
		r[recordHash], r[recordName], r[recordNameLength] = hash(all), uint32(len(text)), length
		text = append(text, encoded...)
	}
	return text, nil
}

// readSlot is what an index has at a place.
func readSlot(index []byte, at int) uint32 { return binary.LittleEndian.Uint32(index[slotBytes*at:]) }
