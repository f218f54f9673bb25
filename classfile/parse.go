package classfile

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Magic is the first word of every class file.
const Magic = 0xCAFEBABE

// NewestMajor is the newest class-file version the package knows: Java 25's. Newer
// ones are read too; what they add is kept as bytes.
const NewestMajor = 69

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

	in := cursor{data: data, at: end}
	c.Access = Access(in.u2())
	c.This = in.u2()
	c.Super = in.u2()
	c.Interfaces = c.Interfaces[:0]
	for range in.u2() {
		c.Interfaces = append(c.Interfaces, in.u2())
	}
	if in.short {
		return &FormatError{"class header", in.at, "truncated"}
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
	if in.left() > 0 {
		return &FormatError{"class file", in.at, fmt.Sprintf("%d bytes too many", in.left())}
	}
	return nil
}

func (c *Class) readMembers(in *cursor, members []Member, what string) ([]Member, error) {
	count := int(in.u2())
	// Each member takes 8 bytes at least: a count that lies cannot make us allocate.
	if count*8 > in.left() {
		return nil, &FormatError{what + " table", in.at, fmt.Sprintf("%d entries do not fit in %d bytes", count, in.left())}
	}
	for i := range count {
		m := Member{Access: Access(in.u2()), Name: in.u2(), Descriptor: in.u2()}
		var err error
		if m.Attributes, err = c.readAttributes(in, what, i); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return members, nil
}

// readAttributes takes the attributes' memory from the slab. A slab that grows
// leaves earlier attributes where they are, which is as good.
func (c *Class) readAttributes(in *cursor, what string, index int) ([]Attribute, error) {
	first := len(c.slab)
	count := int(in.u2())
	for i := range count {
		name, size := in.u2(), in.u4()
		data := in.bytes(int(size))
		if in.short {
			detail := "truncated header"
			if size > 0 { // a header that was read; contents of no bytes always fit
				detail = fmt.Sprintf("%d bytes of contents do not fit", size)
			}
			return nil, &FormatError{fmt.Sprintf("%s attribute %d of %d", ownerName(what, index), i+1, count), in.at, detail}
		}
		c.slab = append(c.slab, Attribute{name, data})
	}
	if in.short {
		return nil, &FormatError{ownerName(what, index) + " attribute table", in.at, "truncated"}
	}
	return c.slab[first:len(c.slab):len(c.slab)], nil
}

// ownerName is how errors call what has attributes; there is one class only.
func ownerName(what string, index int) string {
	if what == "class" {
		return what
	}
	return fmt.Sprintf("%s %d,", what, index)
}
