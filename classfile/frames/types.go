package frames

import (
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
)

// Of returns the type of a value with a field descriptor, Top where it is none. The
// Class entry of a reference is looked up or added.
func Of(pool *classfile.Pool, field []byte) code.Type {
	if len(field) == 0 || field[0] == 'L' && len(field) < 3 {
		return code.Type{}
	}
	switch field[0] {
	case 'J':
		return code.Type{Item: code.Long}
	case 'D':
		return code.Type{Item: code.Double}
	case 'F':
		return code.Type{Item: code.Float}
	case 'L':
		return code.Type{Item: code.Object, Class: pool.AddClassName(field[1 : len(field)-1])}
	case '[':
		return code.Type{Item: code.Object, Class: pool.AddClassName(field)}
	}
	return code.Type{Item: code.Integer}
}

func object(pool *classfile.Pool, name string) code.Type {
	return code.Type{Item: code.Object, Class: pool.AddClass(name)}
}

// Initial appends the types of a method's local variables at its entry to dst: this,
// then the arguments.
func Initial(dst []code.Type, c *classfile.Class, m *classfile.Member) ([]code.Type, error) {
	name, desc, err := c.MemberName(m)
	if err != nil {
		return dst, err
	}
	if !m.Access.Has(classfile.AccStatic) {
		this := code.Type{Item: code.Object, Class: c.This}
		if string(name) == "<init>" && c.Super != 0 {
			this = code.Type{Item: code.UninitializedThis}
		}
		dst = append(dst, this)
	}
	return dst, descriptor.EachArgument(desc, func(field []byte) {
		dst = append(dst, Of(&c.Pool, field))
	})
}

// Slots returns how many slots a list of types takes.
func Slots(types []code.Type) int {
	n := len(types)
	for i := range types {
		if it := types[i].Item; it == code.Long || it == code.Double {
			n++
		}
	}
	return n
}
