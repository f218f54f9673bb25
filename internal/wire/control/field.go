package control

import (
	"encoding/binary"
	"unicode/utf8"
)

// A cursor reads fields off a body. What is not there, or has no meaning, fails
// it, and from then on it gives zeros; so a reader checks once, at its end.
type cursor struct {
	rest   []byte
	failed bool
}

func (c *cursor) take(n int) []byte {
	if c.failed || n > len(c.rest) {
		c.fail()
		return nil
	}
	taken := c.rest[:n:n]
	c.rest = c.rest[n:]
	return taken
}

func (c *cursor) fail() { c.failed, c.rest = true, nil }

func (c *cursor) u8() uint8 {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	if b := c.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (c *cursor) flag() bool {
	b := c.u8()
	if b > 1 {
		c.fail()
	}
	return b == 1
}

// count reads how many items follow, each of at least size bytes; more than the
// bytes that are left could hold are not believed.
func (c *cursor) count(size int) int {
	n := c.u32()
	if uint64(n)*uint64(size) > uint64(len(c.rest)) {
		c.fail()
		return 0
	}
	return int(n)
}

// bytes points into the body.
func (c *cursor) bytes() []byte { return c.take(c.count(1)) }

func (c *cursor) text() string {
	b := c.bytes()
	if !utf8.Valid(b) {
		c.fail()
		return ""
	}
	return string(b)
}

// The least bytes that a string takes.
const textSize = 4

func appendU16(dst []byte, v uint16) []byte { return binary.BigEndian.AppendUint16(dst, v) }
func appendU32(dst []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(dst, v) }
func appendU64(dst []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(dst, v) }

func appendFlag(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// appendList writes n u32 × item.
func appendList[T any](dst []byte, list []T, item func([]byte, T) []byte) []byte {
	dst = appendU32(dst, uint32(len(list)))
	for _, one := range list {
		dst = item(dst, one)
	}
	return dst
}

// readList reads what appendList writes, of items of at least size bytes.
func readList[T any](c *cursor, size int, item func(*cursor) T) []T {
	list := make([]T, c.count(size))
	for i := range list {
		list[i] = item(c)
	}
	return list
}

func appendText[T string | []byte](dst []byte, v T) []byte {
	return append(appendU32(dst, uint32(len(v))), v...)
}
