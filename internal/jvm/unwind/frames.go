package unwind

import (
	"bytes"
	"cmp"
	"slices"
)

// .eh_frame is a sequence of entries, each preceded by its length. Entries of one kind (CIE) hold
// what functions have in common; each entry of the other kind (FDE) describes one function. Both end
// with a program that computes the rules for the registers at an address of the function.
//
//	CIE                                     FDE
//	 0, to distinguish it         uint32     distance back to its CIE      uint32
//	 version                      byte       address of the function       pointer
//	 augmentation, ended by 0     letters    size of the function          pointer
//	 unit of code addresses       uleb128    size of data for letters      uleb128, if the letters begin with z
//	 unit of offsets              sleb128    data for letters
//	 register of return address   byte       program
//	 size of data for letters     uleb128, if they begin with z
//	 data for letters
//	 program
type cie struct {
	codeUnit      uint64
	offsetUnit    int64
	returnAddress int  // number of a register
	pointers      byte // encoding of addresses
	sized         bool // the augmentation begins with z
	signal        bool // the functions call signal handlers
	program       []byte
}

// A function is the part of a file that an FDE describes.
type function struct {
	start, end uint64
	cie        *cie
	from, to   uint32 // where the program is in the table
}

// readFrameTable finds all functions that the frame table describes. Linkers also leave a table of
// functions that is sorted already, but it is no shorter to check than to sort.
func (l *Library) readFrameTable() {
	const maxEntry = 256 << 10 // bounds the time for a row
	cies := map[int]*cie{}
	for at := 0; len(l.frameTable)-at > 4 && len(l.functions) < maxFunctions; {
		begin := at + 4
		size := int64(order.Uint32(l.frameTable[at:]))
		if size == 0 || size > int64(len(l.frameTable)-begin) {
			break
		}
		end := begin + int(size)
		c := cursor{data: l.frameTable[begin:end], address: l.frameTableAddress + uint64(begin)}
		distance := int(c.fixed(4))
		switch cie := cies[begin-distance]; {
		case size > maxEntry:
		case distance == 0 && len(cies) < maxCIEs:
			cies[at] = readCIE(c)
		case cie != nil:
			if f, ok := readFDE(&c, cie); ok {
				f.from, f.to = uint32(begin+c.at), uint32(end)
				l.functions = append(l.functions, f)
			}
		}
		at = end
	}
	slices.SortFunc(l.functions, func(a, b function) int { return cmp.Compare(a.start, b.start) })
	l.functions = slices.Clip(l.functions)
}

// readCIE returns nil for an entry that is damaged or of an unknown kind.
func readCIE(c cursor) *cie {
	version := c.fixed(1)
	letters, _, ended := bytes.Cut(c.data[c.at:], []byte{0})
	c.take(uint64(len(letters) + 1))
	if version == 4 {
		c.take(2) // sizes of an address and of a segment's number
	}
	result := &cie{codeUnit: c.uleb(), offsetUnit: c.sleb()}
	var register uint64
	if version == 1 {
		register = c.fixed(1)
	} else {
		register = c.uleb()
	}
	if c.bad || !ended || register >= NumRegisters || version != 1 && version != 3 && version != 4 {
		return nil
	}
	result.returnAddress = int(register)
	if letters, result.sized = bytes.CutPrefix(letters, []byte("z")); result.sized {
		data := cursor{data: c.take(c.uleb())}
		for _, letter := range letters {
			switch letter {
			case 'R':
				result.pointers = byte(data.fixed(1))
			case 'P': // the function that handles exceptions
				data.pointer(byte(data.fixed(1)) & formatBits)
			case 'L': // encoding of pointers to tables of exceptions
				data.fixed(1)
			case 'S':
				result.signal = true
			case 'B', 'G': // return addresses are signed with another key; memory is tagged
			default:
				return nil
			}
		}
		c.bad = c.bad || data.bad
	} else if len(letters) > 0 {
		return nil
	}
	result.program = c.data[c.at:]
	if c.bad || result.pointers&indirect != 0 {
		return nil
	}
	return result
}

// readFDE reads an entry up to its program. ok is false if it is damaged, or if its address is 0:
// so a linker marks a function that it has removed.
func readFDE(c *cursor, cie *cie) (f function, ok bool) {
	f.cie, f.start = cie, c.pointer(cie.pointers)
	f.end = f.start + c.pointer(cie.pointers&formatBits)
	if cie.sized {
		c.take(c.uleb())
	}
	return f, !c.bad && f.start != 0 && f.start < f.end
}

// A cursor reads the values of a table. After the end of the bytes it reads zeros and is bad from
// then on, so a caller checks once, at the end.
type cursor struct {
	data    []byte
	at      int
	address uint64 // of data[0]
	bad     bool
}

// take returns the next n bytes, nil if there are fewer.
func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.data)-c.at) {
		c.at, c.bad = len(c.data), true
		return nil
	}
	b := c.data[c.at : c.at+int(n)]
	c.at += int(n)
	return b
}

// fixed reads an unsigned number of n bytes.
func (c *cursor) fixed(n uint64) (value uint64) {
	for i, b := range c.take(n) {
		value |= uint64(b) << (8 * i)
	}
	return value
}

// signed reads a signed number of n bytes.
func (c *cursor) signed(n uint64) uint64 {
	unused := 64 - 8*n
	return uint64(int64(c.fixed(n)<<unused) >> unused)
}

// leb reads a number with 7 bits in each byte, the lowest first.
func (c *cursor) leb() (value uint64, bits int, last byte) {
	for more := true; more && !c.bad; bits += 7 {
		last = byte(c.fixed(1))
		value |= uint64(last&0x7f) << bits
		more = last >= 0x80
	}
	return value, bits, last
}

func (c *cursor) uleb() uint64 {
	value, _, _ := c.leb()
	return value
}

func (c *cursor) sleb() int64 {
	value, bits, last := c.leb()
	if last&0x40 != 0 {
		value |= ^uint64(0) << bits
	}
	return int64(value)
}

// An encoding of a pointer has its format in the low bits, and in the others what it is relative to.
const (
	formatBits     = 0x0f
	relativeBits   = 0x70
	relativeToSelf = 0x10
	indirect       = 0x80
)

// pointer reads an address in one of the encodings that occur in .eh_frame.
func (c *cursor) pointer(encoding byte) (value uint64) {
	self := c.address + uint64(c.at)
	switch encoding & formatBits {
	case 0x0, 0x4, 0xc:
		value = c.fixed(8)
	case 0x2:
		value = c.fixed(2)
	case 0x3:
		value = c.fixed(4)
	case 0xa:
		value = c.signed(2)
	case 0xb:
		value = c.signed(4)
	default:
		c.bad = true
	}
	switch encoding & relativeBits {
	case 0:
	case relativeToSelf:
		value += self
	default:
		c.bad = true
	}
	return value
}
