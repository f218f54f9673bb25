package original

import (
	"bytes"
	"encoding/binary"

	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// sameInstructions compares equally long code instruction by instruction, constants by
// their meaning: a redefinition on JDK 17 may add a constant a second time and lead
// instructions to it, even one that changes nothing.
func (c *comparison) sameInstructions(f, g []byte) bool {
	for at := 0; at < len(f); {
		size := instructionSize(f, at)
		if size == 0 || at+size > len(f) || f[at] != g[at] {
			return false
		}
		x, y := f[at+1:at+size], g[at+1:at+size]
		at += size
		if bytes.Equal(x, y) {
			continue
		}
		switch opcode.Op(f[at-size]).Info().Shape {
		case opcode.CP1:
			if !sameConstant(&c.file.Pool, &c.given.Pool, uint16(x[0]), uint16(y[0])) {
				return false
			}
		case opcode.CP2, opcode.Interface, opcode.Dynamic, opcode.MultiArray:
			i, k := binary.BigEndian.Uint16(x), binary.BigEndian.Uint16(y)
			if !bytes.Equal(x[2:], y[2:]) || !sameConstant(&c.file.Pool, &c.given.Pool, i, k) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// instructionSize is the length of the instruction at an offset; 0 where there is none.
func instructionSize(code []byte, at int) int {
	info := opcode.Op(code[at]).Info()
	if info.Length > 0 {
		return int(info.Length)
	}
	rest := code[at:]
	padded := (at+4)&^3 - at // where a switch's words begin
	switch opcode.Op(code[at]) {
	case opcode.Wide:
		if len(rest) > 1 && opcode.Op(rest[1]) == opcode.Iinc {
			return 6
		}
		return 4
	case opcode.Tableswitch:
		if len(rest) < padded+12 {
			return 0
		}
		low := int64(int32(binary.BigEndian.Uint32(rest[padded+4:])))
		high := int64(int32(binary.BigEndian.Uint32(rest[padded+8:])))
		return wholeSize(padded+12, high-low+1, 4, len(rest))
	case opcode.Lookupswitch:
		if len(rest) < padded+8 {
			return 0
		}
		return wholeSize(padded+8, int64(int32(binary.BigEndian.Uint32(rest[padded+4:]))), 8, len(rest))
	}
	return 0
}

// wholeSize adds so many cases to a switch's head; 0 where they do not fit.
func wholeSize(head int, cases int64, each, limit int) int {
	if cases < 0 || cases > int64(limit) {
		return 0
	}
	return head + int(cases)*each
}
