package original

import (
	"bytes"
	"fmt"

	"github.com/sonde-jvm/sonde/classfile"
)

// kindSet is the attributes that a JVM keeps and shows, each with the class file
// version from which it knows them.
type kindSet []struct {
	kind  classfile.Kind
	major uint16
}

var (
	classKinds = kindSet{
		{classfile.KindSignature, 49},
		{classfile.KindSourceFile, 0},
		{classfile.KindRuntimeVisibleAnnotations, 49},
		{classfile.KindRuntimeVisibleTypeAnnotations, 52},
		{classfile.KindNestHost, 55},
		{classfile.KindNestMembers, 55},
		{classfile.KindPermittedSubclasses, 61},
		{classfile.KindRecord, 60},
		{classfile.KindBootstrapMethods, 51},
		{classfile.KindInnerClasses, 0},
	}
	fieldKinds = kindSet{
		{classfile.KindSignature, 49},
		{classfile.KindRuntimeVisibleAnnotations, 49},
		{classfile.KindRuntimeVisibleTypeAnnotations, 52},
	}
	methodKinds = kindSet{
		{classfile.KindExceptions, 0},
		{classfile.KindSignature, 49},
		{classfile.KindRuntimeVisibleAnnotations, 49},
		{classfile.KindRuntimeVisibleParameterAnnotations, 49},
		{classfile.KindRuntimeVisibleTypeAnnotations, 52},
		{classfile.KindAnnotationDefault, 49},
		{classfile.KindMethodParameters, 52},
	}
	// Of an instance field a JVM passes over it.
	staticFieldKinds = append(kindSet{{classfile.KindConstantValue, 0}}, fieldKinds...)
)

// compareAttributes compares what a JVM keeps, contents by contents: constants have
// their places on both sides, so indices mean the same.
func (c *comparison) compareAttributes(owner string, file, given []classfile.Attribute, kinds kindSet) string {
	for _, k := range kinds {
		f, g := c.file.Find(file, k.kind), c.given.Find(given, k.kind)
		switch {
		case f == nil && g == nil:
		case c.file.Major < k.major: // a JVM may pass over it
		case k.kind == classfile.KindMethodParameters && g == nil && parameterNames.In(c.jdk):
		case f == nil:
			if k.kind == classfile.KindBootstrapMethods {
				continue // of an earlier redefinition
			}
			return fmt.Sprintf("%s has no %s in it", owner, k.kind)
		case g == nil:
			if emptyTable(k.kind, f.Data) {
				continue
			}
			return fmt.Sprintf("%s has %s in it only", owner, k.kind)
		case !c.sameContents(k.kind, f.Data, g.Data):
			return fmt.Sprintf("%s has another %s", owner, k.kind)
		}
	}
	return ""
}

// emptyTable reports whether an attribute is a table without entries, which is as good
// as none.
func emptyTable(kind classfile.Kind, data []byte) bool {
	switch kind {
	case classfile.KindExceptions, classfile.KindInnerClasses, classfile.KindBootstrapMethods, classfile.KindNestMembers:
		return bytes.Equal(data, []byte{0, 0})
	}
	return false
}

func (c *comparison) sameContents(kind classfile.Kind, f, g []byte) bool {
	switch {
	case bytes.Equal(f, g):
		return true
	case kind == classfile.KindBootstrapMethods:
		// A count, then entries: more may have been added behind.
		return len(f) > 2 && len(g) > len(f) && bytes.Equal(f[2:], g[2:len(f)])
	case kind == classfile.KindSourceFile || kind == classfile.KindSignature:
		return c.sameReference(f, g)
	case kind == classfile.KindRecord:
		return c.sameComponents()
	}
	return false
}

// sameReference compares two Utf8 references by their text.
func (c *comparison) sameReference(f, g []byte) bool {
	if len(f) != 2 || len(g) != 2 {
		return false
	}
	x, err := c.file.Pool.Utf8(uint16(f[0])<<8 | uint16(f[1]))
	y, err2 := c.given.Pool.Utf8(uint16(g[0])<<8 | uint16(g[1]))
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// sameComponents compares records whose components have attributes that the JVM does
// not show. Where it cannot be read what it shows, by a bug of the JDK, that is no
// difference: fields and methods of a record tell its components well enough.
func (c *comparison) sameComponents() bool {
	file, ok := components(c.file)
	given, readable := components(c.given)
	if !ok || !readable {
		return ok && componentCount.In(c.jdk)
	}
	if len(file) != len(given) {
		return false
	}
	kinds := kindSet{
		{classfile.KindSignature, 0},
		{classfile.KindRuntimeVisibleAnnotations, 0},
		{classfile.KindRuntimeVisibleTypeAnnotations, 0},
	}
	for i := range file {
		if file[i].Name != given[i].Name || file[i].Descriptor != given[i].Descriptor ||
			c.compareAttributes("a component", file[i].Attributes, given[i].Attributes, kinds) != "" {
			return false
		}
	}
	return true
}
