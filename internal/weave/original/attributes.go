package original

import (
	"bytes"

	"github.com/sonde-jvm/sonde/classfile"
)

// hasParameters reports whether any method has MethodParameters.
func hasParameters(c *classfile.Class) bool {
	for i := range c.Methods {
		if c.Find(c.Methods[i].Attributes, classfile.KindMethodParameters) != nil {
			return true
		}
	}
	return false
}

// mayLoseParameters reports whether a class may have had MethodParameters that it is
// shown without. One that is shown with some was not rebuilt, so is whole.
func mayLoseParameters(c *classfile.Class) bool {
	return !hasParameters(c) && anyMethodTakesParameters(c) && poolHolds(c, classfile.KindMethodParameters.String())
}

func anyMethodTakesParameters(c *classfile.Class) bool {
	for i := range c.Methods {
		if _, descriptor, err := c.MemberName(&c.Methods[i]); err == nil && !bytes.HasPrefix(descriptor, []byte("()")) {
			return true
		}
	}
	return false
}

func poolHolds(c *classfile.Class, text string) bool {
	for i := 1; i < c.Pool.Len(); i++ {
		if c.Pool.Tag(uint16(i)) != classfile.TagUtf8 {
			continue
		}
		if have, err := c.Pool.Utf8(uint16(i)); err == nil && string(have) == text {
			return true
		}
	}
	return false
}

// components returns a record's components; ok is false where its attribute cannot be
// read, and true for a class that is no record.
func components(c *classfile.Class) (list classfile.Record, ok bool) {
	attribute := c.Find(c.Attributes, classfile.KindRecord)
	if attribute == nil {
		return nil, true
	}
	contents, err := c.Decode(*attribute)
	if err != nil {
		return nil, false
	}
	list, ok = contents.(classfile.Record)
	return list, ok
}

func readableRecord(c *classfile.Class) bool {
	_, ok := components(c)
	return ok
}

// hasUnkeptComponents reports whether a record's components have attributes that the
// JVM does not keep.
func hasUnkeptComponents(c *classfile.Class) bool {
	list, _ := components(c)
	for i := range list {
		for _, a := range list[i].Attributes {
			switch c.Kind(a.Name) {
			case classfile.KindSignature, classfile.KindRuntimeVisibleAnnotations, classfile.KindRuntimeVisibleTypeAnnotations:
			default:
				return true
			}
		}
	}
	return false
}

// hasComponentTypes reports whether a record's components have type annotations, or
// may have, where that cannot be read.
func hasComponentTypes(c *classfile.Class) bool {
	list, ok := components(c)
	for i := range list {
		if c.Find(list[i].Attributes, classfile.KindRuntimeVisibleTypeAnnotations) != nil {
			return true
		}
	}
	return !ok
}
