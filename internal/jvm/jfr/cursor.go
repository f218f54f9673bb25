package jfr

import (
	"strings"
	"unicode/utf16"
)

// A cursor reads the values of a chunk. Past the end of the bytes it reads zeros and is
// short from then on, so a caller checks once, at the end.
//
// Integers take 7 bits per byte, lowest first; a ninth byte holds 8 bits. Single bytes are
// never compressed.
type cursor struct {
	data  []byte
	at    int
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

// long reads an integer of any length.
func (c *cursor) long() uint64 {
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

// count reads the number of elements or bytes that follow. Each takes at least one byte, so
// the number of bytes left bounds it.
func (c *cursor) count() int {
	n := int(int32(c.long()))
	if n < 0 || n > c.left() {
		c.fail()
		return 0
	}
	return n
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

// maxText bounds the characters of a string. Names in class files are shorter.
const maxText = 1 << 16

// text reads a string, as far as maxText. For a string in the pool it returns the key only.
func (c *cursor) text() (s string, key uint64, pooled bool) {
	switch c.byte() {
	case textNull, textEmpty:
	case textPooled:
		return "", c.long(), true
	case textUTF8:
		bytes := c.take(c.count())
		return strings.ToValidUTF8(string(bytes[:min(len(bytes), maxText)]), ""), 0, false
	case textLatin1:
		bytes := c.take(c.count())
		runes := make([]rune, min(len(bytes), maxText))
		for i := range runes {
			runes[i] = rune(bytes[i])
		}
		return string(runes), 0, false
	case textChars:
		var chars []uint16
		for range c.count() {
			if char := uint16(c.long()); len(chars) < maxText {
				chars = append(chars, char)
			}
		}
		return string(utf16.Decode(chars)), 0, false
	default:
		c.fail()
	}
	return "", 0, false
}

func (c *cursor) skipText() {
	switch c.byte() {
	case textNull, textEmpty:
	case textPooled:
		c.long()
	case textUTF8, textLatin1:
		c.take(c.count())
	case textChars:
		for range c.count() {
			c.long()
		}
	default:
		c.fail()
	}
}
