package jfr

import (
	"encoding/binary"
	"math"
	"unicode/utf16"
)

// A cursor reads the numbers of a chunk. Past the end of the bytes it reads zeros and is
// short from then on, so a caller checks once, at the end.
//
// Compressed integers take 7 bits per byte, lowest first; a ninth byte holds 8 bits. Single
// bytes are never compressed.
type cursor struct {
	data  []byte
	at    int
	fixed bool // integers are not compressed
	short bool
}

func (c *cursor) left() int { return len(c.data) - c.at }

func (c *cursor) fail() {
	c.at = len(c.data)
	c.short = true
}

// take returns the next n bytes, nil if there are fewer.
func (c *cursor) take(n int) []byte {
	if n < 0 || n > c.left() {
		c.fail()
		return nil
	}
	b := c.data[c.at : c.at+n]
	c.at += n
	return b
}

func (c *cursor) byte() byte {
	if c.at >= len(c.data) {
		c.short = true
		return 0
	}
	b := c.data[c.at]
	c.at++
	return b
}

// long reads a number of eight bytes, or a compressed one of any length.
func (c *cursor) long() uint64 {
	if c.fixed {
		if b := c.take(8); b != nil {
			return binary.BigEndian.Uint64(b)
		}
		return 0
	}
	if c.at < len(c.data) {
		if b := c.data[c.at]; b < 0x80 {
			c.at++
			return uint64(b)
		}
	}
	return c.varint()
}

func (c *cursor) varint() uint64 {
	var v uint64
	for shift := uint(0); c.at < len(c.data); shift += 7 {
		b := c.data[c.at]
		c.at++
		if shift == 56 {
			return v | uint64(b)<<56
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	c.short = true
	return 0
}

// skipLong skips a number that long would read.
func (c *cursor) skipLong() {
	if c.fixed {
		c.take(8)
		return
	}
	limit := min(len(c.data), c.at+9)
	for i := c.at; i < limit; i++ {
		if c.data[i] < 0x80 || i == c.at+8 {
			c.at = i + 1
			return
		}
	}
	c.fail()
}

func (c *cursor) int() int32 {
	if c.fixed {
		if b := c.take(4); b != nil {
			return int32(binary.BigEndian.Uint32(b))
		}
		return 0
	}
	return int32(c.long())
}

func (c *cursor) int16() uint16 {
	if c.fixed {
		if b := c.take(2); b != nil {
			return binary.BigEndian.Uint16(b)
		}
		return 0
	}
	return uint16(c.long())
}

// count reads the number of elements or bytes that follow. Each takes at least one byte, so
// the number of bytes left bounds it.
func (c *cursor) count() int {
	n := int(c.int())
	if n < 0 || n > c.left() {
		c.fail()
		return 0
	}
	return n
}

func (c *cursor) float() float32 {
	if b := c.take(4); b != nil {
		return math.Float32frombits(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (c *cursor) double() float64 {
	if b := c.take(8); b != nil {
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	return 0
}

// The encodings of a string: a byte selects one, and the string follows.
const (
	textNull = iota
	textEmpty
	textPooled // a key in the pool of strings
	textUTF8
	textChars // a count, then numbers of 16 bits
	textLatin1
)

// skipText skips a string.
func (c *cursor) skipText() {
	switch c.byte() {
	case textNull, textEmpty:
	case textPooled:
		c.skipLong()
	case textUTF8, textLatin1:
		c.take(c.count())
	case textChars:
		for range c.count() {
			c.int16()
		}
	default:
		c.fail()
	}
}

// text reads a string. For a string in the pool it returns the key only.
func (c *cursor) text() (s string, key uint64, pooled bool) {
	switch c.byte() {
	case textNull, textEmpty:
	case textPooled:
		return "", c.long(), true
	case textUTF8:
		return string(c.take(c.count())), 0, false
	case textLatin1:
		return latin1(c.take(c.count())), 0, false
	case textChars:
		chars := make([]uint16, c.count())
		for i := range chars {
			chars[i] = c.int16()
		}
		return decodeChars(chars), 0, false
	default:
		c.fail()
	}
	return "", 0, false
}

func latin1(b []byte) string {
	for _, x := range b {
		if x >= 0x80 {
			runes := make([]rune, len(b))
			for i, x := range b {
				runes[i] = rune(x)
			}
			return string(runes)
		}
	}
	return string(b)
}

func decodeChars(chars []uint16) string { return string(utf16.Decode(chars)) }
