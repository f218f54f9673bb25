package classtest

import (
	"fmt"
	"strconv"
	"strings"
)

// Tags of the constant pool (JVMS 4.4).
const (
	tagUtf8               = 1
	tagInteger            = 3
	tagFloat              = 4
	tagLong               = 5
	tagDouble             = 6
	tagClass              = 7
	tagString             = 8
	tagFieldref           = 9
	tagMethodref          = 10
	tagInterfaceMethodref = 11
	tagNameAndType        = 12
	tagMethodHandle       = 15
	tagMethodType         = 16
	tagDynamic            = 17
	tagInvokeDynamic      = 18
	tagModule             = 19
	tagPackage            = 20
)

// mostNesting bounds constants within constants: only dynamic ones nest, and
// the specification forbids that they contain themselves.
const mostNesting = 40

// mostText bounds the text of one constant, which may name the same one often,
// and mostResolved how often constants are resolved for one class.
const (
	mostText     = 1 << 20
	mostResolved = 4 << 20
)

type constant struct {
	tag  int
	at   int // offset in the class file
	a, b int // indices, or the kind of a method handle
	raw  []byte
}

// pool is the constant pool. Bootstrap methods belong to it: an entry of the
// pool names them by index, and what they are is known only at the end.
type pool struct {
	constants  []constant
	bootstraps [][]int // method handle, then arguments
	resolved   int
}

func readPool(c *cursor) *pool {
	count := c.u2()
	if count == 0 {
		c.fail("a count of 0 is impossible")
	}
	p := &pool{constants: make([]constant, count)}
	for i := 1; i < count; i++ {
		e := constant{at: c.origin + c.at, tag: c.u1()}
		switch e.tag {
		case tagUtf8:
			e.raw = c.take(c.u2())
		case tagInteger, tagFloat:
			e.raw = c.take(4)
		case tagLong, tagDouble:
			e.raw = c.take(8)
		case tagClass, tagString, tagMethodType, tagModule, tagPackage:
			e.a = c.u2()
		case tagFieldref, tagMethodref, tagInterfaceMethodref, tagNameAndType, tagDynamic, tagInvokeDynamic:
			e.a, e.b = c.u2(), c.u2()
		case tagMethodHandle:
			e.a, e.b = c.u1(), c.u2()
		default:
			c.fail("pool entry %d has the unknown tag %d", i, e.tag)
		}
		p.constants[i] = e
		if e.tag == tagLong || e.tag == tagDouble {
			i++
			if i >= count {
				c.fail("pool entry %d needs two places, one is left", i-1)
			}
		}
	}
	return p
}

// get finds an entry that must have one of the tags.
func (p *pool) get(c *cursor, index int, tags ...int) constant {
	if index <= 0 || index >= len(p.constants) || p.constants[index].tag == 0 {
		c.fail("there is no pool entry %d", index)
	}
	e := p.constants[index]
	for _, tag := range tags {
		if e.tag == tag {
			return e
		}
	}
	if len(tags) > 0 {
		c.fail("pool entry %d has tag %d, want one of %v", index, e.tag, tags)
	}
	return e
}

func (p *pool) utf8(c *cursor, index int) string {
	return string(p.get(c, index, tagUtf8).raw)
}

// quoted is the text of a Utf8 entry. Quoting is reversible, and bytes that only
// Java's own encoding knows stay visible as \x escapes.
func (p *pool) quoted(c *cursor, index int) string {
	return strconv.QuoteToASCII(p.utf8(c, index))
}

func (p *pool) quotedOrNone(c *cursor, index int) string {
	if index == 0 {
		return "none"
	}
	return p.quoted(c, index)
}

// named returns the name of a Class, Module or Package entry.
func (p *pool) named(c *cursor, index, tag int) string {
	return p.quoted(c, p.get(c, index, tag).a)
}

func (p *pool) class(c *cursor, index int) string { return p.named(c, index, tagClass) }

func (p *pool) classOrNone(c *cursor, index int) string {
	if index == 0 {
		return "none"
	}
	return p.class(c, index)
}

func (p *pool) nameAndType(c *cursor, index int) string {
	e := p.get(c, index, tagNameAndType)
	return p.quoted(c, e.a) + ":" + p.quoted(c, e.b)
}

// text resolves any loadable or referable entry.
func (p *pool) text(c *cursor, index int, tags ...int) string {
	return p.nested(c, index, mostNesting, tags...)
}

func (p *pool) nested(c *cursor, index, depth int, tags ...int) string {
	if depth == 0 {
		c.fail("pool entry %d contains itself, or nests deeper than %d", index, mostNesting)
	}
	if p.resolved++; p.resolved > mostResolved {
		c.fail("constants are resolved more than %d times", mostResolved)
	}
	e := p.get(c, index, tags...)
	switch e.tag {
	case tagUtf8:
		return "utf8 " + p.quoted(c, index)
	case tagInteger:
		return fmt.Sprintf("int %x", e.raw)
	case tagFloat:
		return fmt.Sprintf("float %x", e.raw)
	case tagLong:
		return fmt.Sprintf("long %x", e.raw)
	case tagDouble:
		return fmt.Sprintf("double %x", e.raw)
	case tagClass:
		return "class " + p.quoted(c, e.a)
	case tagString:
		return "string " + p.quoted(c, e.a)
	case tagModule:
		return "module " + p.quoted(c, e.a)
	case tagPackage:
		return "package " + p.quoted(c, e.a)
	case tagNameAndType:
		return p.nameAndType(c, index)
	case tagFieldref:
		return "field " + p.class(c, e.a) + "." + p.nameAndType(c, e.b)
	case tagMethodref:
		return "method " + p.class(c, e.a) + "." + p.nameAndType(c, e.b)
	case tagInterfaceMethodref:
		return "interface method " + p.class(c, e.a) + "." + p.nameAndType(c, e.b)
	case tagMethodType:
		return "method type " + p.quoted(c, e.a)
	case tagMethodHandle:
		return fmt.Sprintf("handle %s %s", p.handleKind(c, e.a),
			p.nested(c, e.b, depth-1, tagFieldref, tagMethodref, tagInterfaceMethodref))
	}
	what := "dynamic constant "
	if e.tag == tagInvokeDynamic {
		what = "dynamic call "
	}
	return what + p.nameAndType(c, e.b) + " by " + p.bootstrap(c, e.a, depth-1)
}

func (p *pool) handleKind(c *cursor, kind int) string {
	names := []string{"getField", "getStatic", "putField", "putStatic", "invokeVirtual",
		"invokeStatic", "invokeSpecial", "newInvokeSpecial", "invokeInterface"}
	if kind < 1 || kind > len(names) {
		c.fail("a method handle cannot be of kind %d", kind)
	}
	return names[kind-1]
}

func (p *pool) bootstrap(c *cursor, index, depth int) string {
	if index >= len(p.bootstraps) {
		c.fail("there is no bootstrap method %d", index)
	}
	method := p.bootstraps[index]
	var text strings.Builder
	text.WriteString(p.nested(c, method[0], depth, tagMethodHandle))
	text.WriteString("(")
	for i, argument := range method[1:] {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(p.nested(c, argument, depth, loadable...))
		if text.Len() > mostText {
			c.fail("the arguments of bootstrap method %d are longer than %d", index, mostText)
		}
	}
	text.WriteString(")")
	return text.String()
}

// loadable are the entries that ldc and bootstrap methods may name.
var loadable = []int{tagInteger, tagFloat, tagLong, tagDouble, tagClass, tagString,
	tagMethodHandle, tagMethodType, tagDynamic}
