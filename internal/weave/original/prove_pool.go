package original

import (
	"bytes"
	"fmt"

	"github.com/sonde-jvm/sonde/classfile"
)

// comparePools demands that what is shown begins with the file's constants. It may
// have more behind them: redefinition only ever adds.
func (c *comparison) comparePools() string {
	f, g := &c.file.Pool, &c.given.Pool
	if f.Len() > g.Len() {
		return fmt.Sprintf("it has %d constants, not %d", f.Len()-1, g.Len()-1)
	}
	for i := 1; i < f.Len(); i++ {
		if !sameConstant(f, g, uint16(i), uint16(i)) {
			return fmt.Sprintf("constant %d is another", i)
		}
	}
	return ""
}

// sameConstant compares by meaning where the bytes differ: of a text that a pool has
// twice, a JVM may name the other one.
func sameConstant(f, g *classfile.Pool, i, k uint16) bool {
	tag := f.Tag(i)
	if tag != g.Tag(k) {
		return false
	}
	if tag == 0 { // the second index of a long or double
		return true
	}
	x, err := f.Raw(i)
	y, err2 := g.Raw(k)
	return err == nil && err2 == nil && (bytes.Equal(x, y) || sameMeaning(f, g, i, k, tag))
}

func sameMeaning(f, g *classfile.Pool, i, k uint16, tag classfile.Tag) bool {
	switch tag {
	case classfile.TagClass:
		return sameText(f.ClassName, g.ClassName, i, k)
	case classfile.TagString:
		return sameText(f.StringValue, g.StringValue, i, k)
	case classfile.TagMethodType:
		return sameText(f.MethodType, g.MethodType, i, k)
	}
	a, b, err := f.Pair(i)
	a2, b2, err2 := g.Pair(k)
	if err != nil || err2 != nil {
		return false
	}
	switch tag {
	case classfile.TagNameAndType:
		return sameText(f.Utf8, g.Utf8, a, a2) && sameText(f.Utf8, g.Utf8, b, b2)
	case classfile.TagFieldref, classfile.TagMethodref, classfile.TagInterfaceMethodref:
		return sameText(f.ClassName, g.ClassName, a, a2) && sameSignature(f, g, b, b2)
	case classfile.TagDynamic, classfile.TagInvokeDynamic:
		return a == a2 && sameSignature(f, g, b, b2)
	case classfile.TagMethodHandle:
		return a == a2 && f.Tag(b) == g.Tag(b2) && f.Tag(b) != classfile.TagMethodHandle && sameConstant(f, g, b, b2)
	}
	return false
}

func sameSignature(f, g *classfile.Pool, i, k uint16) bool {
	name, descriptor, err := f.NameAndType(i)
	name2, descriptor2, err2 := g.NameAndType(k)
	return err == nil && err2 == nil && bytes.Equal(name, name2) && bytes.Equal(descriptor, descriptor2)
}

func sameText(f, g func(uint16) ([]byte, error), i, k uint16) bool {
	x, err := f(i)
	y, err2 := g(k)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}
