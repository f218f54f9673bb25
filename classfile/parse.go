package classfile

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Magic is the first word of every class file.
const Magic = 0xCAFEBABE

// Parse reads a class file. The result refers to data.
func Parse(data []byte) (*Class, error) {
	c := new(Class)
	if err := c.Read(data); err != nil {
		return nil, err
	}
	return c, nil
}

// Read is [Parse] into c, whose memory is used again. Whatever was obtained from c
// before is no longer valid.
func (c *Class) Read(data []byte) error {
	if len(data) < 10 {
		return &FormatError{"class file", len(data), "truncated header"}
	}
	if m := binary.BigEndian.Uint32(data); m != Magic {
		return &FormatError{"class file", 0, fmt.Sprintf("magic is %08x, not cafebabe", m)}
	}
	c.Minor = binary.BigEndian.Uint16(data[4:])
	c.Major = binary.BigEndian.Uint16(data[6:])
	end, err := c.Pool.read(data)
	if err != nil {
		return err
	}
	c.kinds = slices.Grow(c.kinds[:0], c.Pool.Len())[:c.Pool.Len()]
	clear(c.kinds)
	clear(c.names[:])
	c.slab = c.slab[:0]

	in := Cursor{Data: data, At: end}
	c.Access = Access(in.U2())
	c.This = in.U2()
	c.Super = in.U2()
	c.Interfaces = c.Interfaces[:0]
	for range in.U2() {
		c.Interfaces = append(c.Interfaces, in.U2())
	}
	if in.Short {
		return &FormatError{"class header", in.At, "truncated"}
	}
	if c.Fields, err = c.readMembers(&in, c.Fields[:0], "field"); err != nil {
		return err
	}
	if c.Methods, err = c.readMembers(&in, c.Methods[:0], "method"); err != nil {
		return err
	}
	if c.Attributes, err = c.readAttributes(&in, "class", 0); err != nil {
		return err
	}
	if in.Left() > 0 {
		return &FormatError{"class file", in.At, fmt.Sprintf("%d bytes too many", in.Left())}
	}
	return nil
}

func (c *Class) readMembers(in *Cursor, members []Member, what string) ([]Member, error) {
	count := int(in.U2())
	// Each member takes 8 bytes at least: a wrong count must not cause a large allocation.
	if count*8 > in.Left() {
		return nil, &FormatError{what + " table", in.At, fmt.Sprintf("%d entries do not fit in %d bytes", count, in.Left())}
	}
	for i := range count {
		m := Member{Access: Access(in.U2()), Name: in.U2(), Descriptor: in.U2()}
		var err error
		if m.Attributes, err = c.readAttributes(in, what, i); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return members, nil
}

// readAttributes allocates attributes from the slab. Attributes allocated before the slab
// grew stay valid in the old memory.
func (c *Class) readAttributes(in *Cursor, what string, index int) ([]Attribute, error) {
	first := len(c.slab)
	count := int(in.U2())
	for i := range count {
		name, size := in.U2(), in.U4()
		data := in.Bytes(int(size))
		if in.Short {
			detail := "truncated header"
			if size > 0 { // a header that was read; contents of no bytes always fit
				detail = fmt.Sprintf("%d bytes of contents do not fit", size)
			}
			return nil, &FormatError{fmt.Sprintf("%s attribute %d of %d", ownerName(what, index), i+1, count), in.At, detail}
		}
		c.slab = append(c.slab, Attribute{name, data})
	}
	if in.Short {
		return nil, &FormatError{ownerName(what, index) + " attribute table", in.At, "truncated"}
	}
	return c.slab[first:len(c.slab):len(c.slab)], nil
}

// ownerName names the owner of attributes in errors.
func ownerName(what string, index int) string {
	if what == "class" {
		return what
	}
	return fmt.Sprintf("%s %d,", what, index)
}

// Append appends the class file to dst.
func (c *Class) Append(dst []byte) ([]byte, error) {
	if err := c.Pool.Err(); err != nil {
		return dst, err
	}
	dst = binary.BigEndian.AppendUint32(dst, Magic)
	dst = append16(dst, c.Minor, c.Major)
	dst = c.Pool.append(dst)
	dst = append16(dst, uint16(c.Access), c.This, c.Super)
	if err := fits(len(c.Interfaces), "interfaces"); err != nil {
		return dst, err
	}
	dst = append16(dst, uint16(len(c.Interfaces)))
	dst = append16(dst, c.Interfaces...)
	var err error
	for _, members := range [2][]Member{c.Fields, c.Methods} {
		if err := fits(len(members), "members"); err != nil {
			return dst, err
		}
		dst = append16(dst, uint16(len(members)))
		for i := range members {
			m := &members[i]
			dst = append(dst, byte(m.Access>>8), byte(m.Access), byte(m.Name>>8), byte(m.Name), byte(m.Descriptor>>8), byte(m.Descriptor))
			if dst, err = AppendAttributes(dst, m.Attributes); err != nil {
				return dst, err
			}
		}
	}
	return AppendAttributes(dst, c.Attributes)
}

// AppendAttributes writes an attribute table: count, then each name, length, contents.
func AppendAttributes(dst []byte, attributes []Attribute) ([]byte, error) {
	if err := fits(len(attributes), "attributes"); err != nil {
		return dst, err
	}
	dst = append(dst, byte(len(attributes)>>8), byte(len(attributes)))
	for i := range attributes {
		a := &attributes[i]
		size := len(a.Data)
		if uint64(size) > math.MaxUint32 {
			return dst, &FormatError{"attribute", len(dst), "contents exceed 4 GiB"}
		}
		dst = append(dst, byte(a.Name>>8), byte(a.Name), byte(size>>24), byte(size>>16), byte(size>>8), byte(size))
		dst = append(dst, a.Data...)
	}
	return dst, nil
}

func append16(dst []byte, values ...uint16) []byte {
	for _, v := range values {
		dst = append(dst, byte(v>>8), byte(v))
	}
	return dst
}

func fits(n int, what string) error {
	if n > math.MaxUint16 {
		return &FormatError{what, 0, fmt.Sprintf("%d of them, the limit is 65535", n)}
	}
	return nil
}

// Cursor reads big-endian values. It never reads past its end: the first read that
// would, marks it short, and all later reads give zero.
type Cursor struct {
	Data  []byte
	At    int
	Short bool
}

// U1 reads one byte.
func (c *Cursor) U1() uint8 {
	if c.At+1 > len(c.Data) {
		return uint8(c.fail())
	}
	v := c.Data[c.At]
	c.At++
	return v
}

// U2 reads two bytes.
func (c *Cursor) U2() uint16 {
	if c.At+2 > len(c.Data) {
		return uint16(c.fail())
	}
	v := binary.BigEndian.Uint16(c.Data[c.At:])
	c.At += 2
	return v
}

// U4 reads four bytes.
func (c *Cursor) U4() uint32 {
	if c.At+4 > len(c.Data) {
		return c.fail()
	}
	v := binary.BigEndian.Uint32(c.Data[c.At:])
	c.At += 4
	return v
}

// Bytes reads n bytes.
func (c *Cursor) Bytes(n int) []byte {
	if n < 0 || n > c.Left() {
		c.fail()
		return nil
	}
	c.At += n
	return c.Data[c.At-n : c.At : c.At]
}

// fail keeps the position of the read that failed, for the error to name.
func (c *Cursor) fail() uint32 {
	c.Short = true
	c.Data = c.Data[:min(c.At, len(c.Data))]
	return 0
}

// Left returns the number of bytes that were not read.
func (c *Cursor) Left() int { return len(c.Data) - c.At }
