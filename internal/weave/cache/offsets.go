package cache

import (
	"encoding/binary"
	"errors"

	"github.com/sonde-jvm/sonde/classfile/code"
)

// Offsets is an offset map in few bytes. Few of those that take an entry want the map,
// so it is unpacked when asked for.
//
//	shift...   for each run of instructions that moved together
//	  varint   bytes of the original between the run before and this
//	  varint   bytes of the woven code between them
//	  varint   length of the run
type Offsets string

// PackOffsets packs a map.
func PackOffsets(m code.OffsetMap) Offsets {
	packed := make([]byte, 0, 4*len(m))
	var old, now uint16 // modulo 2^16, so that any map comes back as it was
	for _, s := range m {
		packed = binary.AppendUvarint(packed, uint64(s.Old-old))
		packed = binary.AppendUvarint(packed, uint64(s.New-now))
		packed = binary.AppendUvarint(packed, uint64(s.Size))
		old, now = s.Old+s.Size, s.New+s.Size
	}
	return Offsets(packed)
}

var errOffsets = errors.New("an offset map that ends in the middle, or has numbers that no code has")

// Map unpacks the map.
func (o Offsets) Map() (code.OffsetMap, error) {
	if len(o) == 0 {
		return nil, nil
	}
	m := make(code.OffsetMap, 0, len(o)/3)
	var old, now uint16
	for r := (reader{rest: string(o)}); r.rest != ""; {
		var n [3]uint16
		for i := range n {
			n[i] = uint16(r.within(0xffff))
		}
		if r.failed != "" {
			return nil, errOffsets
		}
		s := code.Shift{Old: old + n[0], New: now + n[1], Size: n[2]}
		m = append(m, s)
		old, now = s.Old+s.Size, s.New+s.Size
	}
	return m, nil
}
