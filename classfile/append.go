package classfile

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Append writes the class file behind dst.
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
