package pack

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// The header (docs/formats/pack.md). All numbers have their lowest byte first.
//
//	  0   8  magic, with the version of the format
//	  8   4  CRC-32C of the front from 16 on
//	 12   4  CRC-32C of the deltas
//	 16   4  length of the file
//	 20   4  CRC-32C of the cold part
//	 24  32  build of the agent
//	 56      parts: place and size of each
//	136      the arena: length, limit, places
const (
	magic      = "sonde\x00\x9c\x01"
	frontSumAt = 8
	deltaSumAt = 12
	summedFrom = 16
	buildAt    = 24
	buildSize  = 32
	partsAt    = buildAt + buildSize
	headerSize = 256

	alignment = 8
	mostBytes = 1<<31 - 1 // the agent has it in a Java array
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// A part is where one is, and how many of what it holds.
type part struct{ at, size uint32 }

// parts in the order they lie in, and in which the header names them. Sizes are in slots,
// records, bytes, words of 8 bytes, anchors, bridges, and bytes of all others.
type parts struct {
	index, records, names, table, anchors, bridges, dictionary, image, deltas, cold part
}

func (p *parts) each() []*part {
	return []*part{
		&p.index, &p.records, &p.names, &p.table, &p.anchors, &p.bridges, &p.dictionary, &p.image, &p.deltas, &p.cold,
	}
}

// A header is what the first bytes of a pack say.
type header struct {
	length  uint32 // of the file
	coldSum uint32
	build   string
	parts   parts
	arena   arena.Image // without its bytes
}

// places are the numbers behind the parts and the sizes of the arena.
func (h *header) places() []*uint32 {
	p := &h.arena.Places
	return []*uint32{
		&p.Length, &p.Limit, &p.Next, &p.Epoch, &p.TargetPID, &p.TargetStart, &p.OpenedWall, &p.SondePID, &p.Stop,
		&p.CommandLength, &p.Command, &p.CommandMost,
		&p.Woven, &p.Differs, &p.Blind, &p.Failed, &p.NamesUsed, &p.AccountText, &p.AccountedMost,
	}
}

// append writes the header without the two checksums that come first.
func (h *header) append(dst []byte) []byte {
	begin := len(dst)
	dst = append(dst, magic...)
	dst = append(dst, make([]byte, summedFrom-len(magic))...)
	number := func(n uint32) { dst = binary.LittleEndian.AppendUint32(dst, n) }
	number(h.length)
	number(h.coldSum)
	dst = append(dst, h.build...)
	dst = append(dst, make([]byte, buildSize-len(h.build))...)
	for _, p := range h.parts.each() {
		number(p.at)
		number(p.size)
	}
	number(uint32(h.arena.Length))
	number(uint32(h.arena.Limit))
	for _, p := range h.places() {
		number(*p)
	}
	return append(dst, make([]byte, begin+headerSize-len(dst))...)
}

// readHeader reads one that is whole.
func readHeader(file []byte) *header {
	rest := file[summedFrom:headerSize]
	number := func() uint32 {
		n := binary.LittleEndian.Uint32(rest)
		rest = rest[4:]
		return n
	}
	h := &header{length: number(), coldSum: number()}
	end := 0
	for end < buildSize && rest[end] != 0 {
		end++
	}
	h.build, rest = string(rest[:end]), rest[buildSize:]
	for _, p := range h.parts.each() {
		p.at, p.size = number(), number()
	}
	h.arena.Length, h.arena.Limit = int64(number()), int64(number())
	for _, p := range h.places() {
		*p = number()
	}
	return h
}
