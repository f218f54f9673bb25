package classtest

import "fmt"

// MalformedError says where a class file breaks the specification.
type MalformedError struct {
	Where  string // path through the structures, such as "method 2/Code"
	Offset int    // from the start of the class file
	Detail string
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("%s at offset %d: %s", e.Where, e.Offset, e.Detail)
}

// cursor reads big-endian values out of one structure. The parser gives up by
// panicking with a *MalformedError, which Describe catches: each decoder reads
// like the layout it decodes.
type cursor struct {
	where  string
	data   []byte
	at     int
	origin int // offset of data[0] in the class file
}

func (c *cursor) fail(format string, args ...any) {
	panic(&MalformedError{c.where, c.origin + c.at, fmt.Sprintf(format, args...)})
}

func (c *cursor) take(n int) []byte {
	if n > len(c.data)-c.at {
		c.fail("%d bytes wanted, %d left", n, len(c.data)-c.at)
	}
	taken := c.data[c.at : c.at+n]
	c.at += n
	return taken
}

func (c *cursor) u1() int { return int(c.take(1)[0]) }

func (c *cursor) u2() int {
	b := c.take(2)
	return int(b[0])<<8 | int(b[1])
}

func (c *cursor) u4() int {
	b := c.take(4)
	return int(b[0])<<24 | int(b[1])<<16 | int(b[2])<<8 | int(b[3])
}

func (c *cursor) s1() int { return int(int8(c.u1())) }
func (c *cursor) s2() int { return int(int16(c.u2())) }
func (c *cursor) s4() int { return int(int32(c.u4())) }

// part cuts off the next n bytes as a structure of its own.
func (c *cursor) part(name string, n int) *cursor {
	origin := c.origin + c.at
	return &cursor{where: c.where + "/" + name, data: c.take(n), origin: origin}
}

func (c *cursor) done() bool { return c.at == len(c.data) }

// finish insists that a declared length was the true one.
func (c *cursor) finish() {
	if !c.done() {
		c.fail("%d bytes left over", len(c.data)-c.at)
	}
}
