package classfile

import "encoding/binary"

// cursor reads a class file's big-endian values. It never reads past its end: the
// first read that would, marks it short, and all later reads give zero.
type cursor struct {
	data  []byte
	at    int
	short bool
}

func (c *cursor) u1() uint8 {
	if c.at+1 > len(c.data) {
		return uint8(c.fail())
	}
	v := c.data[c.at]
	c.at++
	return v
}

func (c *cursor) u2() uint16 {
	if c.at+2 > len(c.data) {
		return uint16(c.fail())
	}
	v := binary.BigEndian.Uint16(c.data[c.at:])
	c.at += 2
	return v
}

func (c *cursor) u4() uint32 {
	if c.at+4 > len(c.data) {
		return c.fail()
	}
	v := binary.BigEndian.Uint32(c.data[c.at:])
	c.at += 4
	return v
}

func (c *cursor) bytes(n int) []byte {
	if n < 0 || n > len(c.data)-c.at {
		c.fail()
		return nil
	}
	b := c.data[c.at : c.at+n : c.at+n]
	c.at += n
	return b
}

// fail keeps the position of the read that failed, for the error to name.
func (c *cursor) fail() uint32 {
	c.short = true
	c.data = c.data[:min(c.at, len(c.data))]
	return 0
}

func (c *cursor) left() int { return len(c.data) - c.at }
