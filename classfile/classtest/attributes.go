package classtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// place is where an attribute stands; the specification gives a name meaning
// only in some places (JVMS table 4.7-C).
type place int

const (
	inClass place = 1 << iota
	inField
	inMethod
	inCode
	inRecord
)

// decoder writes the contents of one kind of attribute. The body is nil outside
// a Code attribute.
type decoder struct {
	places place
	decode func(p *parser, c *cursor, body *body)
}

const (
	inMembers  = inField | inMethod
	anywhere   = inClass | inMembers | inRecord
	annotated  = anywhere
	typeMarked = anywhere | inCode
)

// decoders has every attribute of the Java SE 25 specification. It is filled by
// init because Code and Record contain attributes themselves.
var decoders map[string]decoder

func init() {
	decoders = map[string]decoder{
		"ConstantValue":                        {inField, (*parser).constantValue},
		"Code":                                 {inMethod, (*parser).code},
		"StackMapTable":                        {inCode, (*parser).stackMapTable},
		"Exceptions":                           {inMethod, (*parser).classList},
		"InnerClasses":                         {inClass, (*parser).innerClasses},
		"EnclosingMethod":                      {inClass, (*parser).enclosingMethod},
		"Synthetic":                            {inClass | inMembers, (*parser).marker},
		"Signature":                            {anywhere, (*parser).utf8Value},
		"SourceFile":                           {inClass, (*parser).utf8Value},
		"SourceDebugExtension":                 {inClass, (*parser).opaque},
		"LineNumberTable":                      {inCode, (*parser).lineNumbers},
		"LocalVariableTable":                   {inCode, (*parser).localVariables},
		"LocalVariableTypeTable":               {inCode, (*parser).localVariables},
		"Deprecated":                           {inClass | inMembers, (*parser).marker},
		"RuntimeVisibleAnnotations":            {annotated, (*parser).annotations},
		"RuntimeInvisibleAnnotations":          {annotated, (*parser).annotations},
		"RuntimeVisibleParameterAnnotations":   {inMethod, (*parser).parameterAnnotations},
		"RuntimeInvisibleParameterAnnotations": {inMethod, (*parser).parameterAnnotations},
		"RuntimeVisibleTypeAnnotations":        {typeMarked, (*parser).typeAnnotations},
		"RuntimeInvisibleTypeAnnotations":      {typeMarked, (*parser).typeAnnotations},
		"AnnotationDefault":                    {inMethod, (*parser).annotationDefault},
		"BootstrapMethods":                     {inClass, (*parser).bootstrapMethods},
		"MethodParameters":                     {inMethod, (*parser).methodParameters},
		"Module":                               {inClass, (*parser).module},
		"ModulePackages":                       {inClass, (*parser).modulePackages},
		"ModuleMainClass":                      {inClass, (*parser).classValue},
		"NestHost":                             {inClass, (*parser).classValue},
		"NestMembers":                          {inClass, (*parser).classList},
		"Record":                               {inClass, (*parser).record},
		"PermittedSubclasses":                  {inClass, (*parser).classList},
	}
}

func (p *parser) attributes(c *cursor, where place, body *body) {
	for n := c.u2(); n > 0; n-- {
		nameIndex := c.u2()
		name := p.utf8(c, nameIndex)
		part := c.part(name, c.u4())
		p.line("attribute %s", p.quoted(c, nameIndex))
		p.within(func() {
			if d, known := decoders[name]; known && d.places&where != 0 {
				d.decode(p, part, body)
			} else {
				p.opaque(part, nil)
			}
		})
		part.finish()
	}
}

func (p *parser) opaque(c *cursor, _ *body) {
	p.line("bytes %x", c.take(len(c.data)-c.at))
}

func (p *parser) marker(*cursor, *body) {}

func (p *parser) constantValue(c *cursor, _ *body) {
	p.line("%s", p.pool.text(c, c.u2(), tagInteger, tagFloat, tagLong, tagDouble, tagString))
}

func (p *parser) utf8Value(c *cursor, _ *body) { p.line("%s", p.quoted(c, c.u2())) }

func (p *parser) classValue(c *cursor, _ *body) { p.line("%s", p.class(c, c.u2())) }

func (p *parser) classList(c *cursor, _ *body) {
	for n := c.u2(); n > 0; n-- {
		p.line("%s", p.class(c, c.u2()))
	}
}

func (p *parser) innerClasses(c *cursor, _ *body) {
	for n := c.u2(); n > 0; n-- {
		p.line("%s outer %s name %s access %04x",
			p.class(c, c.u2()), p.classOrNone(c, c.u2()), p.quotedOrNone(c, c.u2()), c.u2())
	}
}

func (p *parser) enclosingMethod(c *cursor, _ *body) {
	class, method := p.class(c, c.u2()), "none"
	if index := c.u2(); index != 0 {
		method = p.nameAndType(c, index)
	}
	p.line("%s method %s", class, method)
}

// bootstrapMethods writes nothing: like the pool, the table is a layout, and
// what it says is written where it is used. findBootstraps has read it.
func (p *parser) bootstrapMethods(c *cursor, _ *body) { c.take(len(c.data)) }

func (p *parser) methodParameters(c *cursor, _ *body) {
	for n := c.u1(); n > 0; n-- {
		p.line("%s access %04x", p.quotedOrNone(c, c.u2()), c.u2())
	}
}

func (p *parser) record(c *cursor, _ *body) {
	for n := c.u2(); n > 0; n-- {
		p.line("component %s:%s", p.quoted(c, c.u2()), p.quoted(c, c.u2()))
		p.within(func() { p.attributes(c, inRecord, nil) })
	}
}

// AttributeNames lists the attributes of the specification.
func AttributeNames() []string { return slices.Sorted(maps.Keys(decoders)) }

// mostElementNesting bounds annotations within annotations; javac stops far below.
const mostElementNesting = 200

func (p *parser) annotations(c *cursor, _ *body) {
	for n := c.u2(); n > 0; n-- {
		p.annotation(c, "", mostElementNesting)
	}
}

// parameterAnnotations keeps one line per parameter, since a parameter without
// annotations still counts.
func (p *parser) parameterAnnotations(c *cursor, _ *body) {
	for i := range c.u1() {
		p.line("parameter %d", i)
		p.within(func() { p.annotations(c, nil) })
	}
}

func (p *parser) annotationDefault(c *cursor, _ *body) {
	p.elementValue(c, "", mostElementNesting)
}

func (p *parser) annotation(c *cursor, prefix string, depth int) {
	p.line("%s@%s", prefix, p.quoted(c, c.u2()))
	p.within(func() {
		for n := c.u2(); n > 0; n-- {
			p.elementValue(c, p.quoted(c, c.u2())+" = ", depth)
		}
	})
}

// elementValue decodes JVMS 4.7.16.1.
func (p *parser) elementValue(c *cursor, prefix string, depth int) {
	if depth == 0 {
		c.fail("annotation values nest deeper than %d", mostElementNesting)
	}
	kind := c.u1()
	switch {
	case strings.IndexByte("BCISZ", byte(kind)) >= 0:
		p.line("%s%c %s", prefix, kind, p.pool.text(c, c.u2(), tagInteger))
	case kind == 'D':
		p.line("%sD %s", prefix, p.pool.text(c, c.u2(), tagDouble))
	case kind == 'F':
		p.line("%sF %s", prefix, p.pool.text(c, c.u2(), tagFloat))
	case kind == 'J':
		p.line("%sJ %s", prefix, p.pool.text(c, c.u2(), tagLong))
	case kind == 's':
		p.line("%ss %s", prefix, p.quoted(c, c.u2()))
	case kind == 'e':
		p.line("%senum %s.%s", prefix, p.quoted(c, c.u2()), p.quoted(c, c.u2()))
	case kind == 'c':
		p.line("%sclass %s", prefix, p.quoted(c, c.u2()))
	case kind == '@':
		p.annotation(c, prefix, depth-1)
	case kind == '[':
		n := c.u2()
		p.line("%sarray of %d", prefix, n)
		p.within(func() {
			for range n {
				p.elementValue(c, "", depth-1)
			}
		})
	default:
		c.at--
		c.fail("an annotation value cannot be of kind %#02x", kind)
	}
}

// typeAnnotations decodes JVMS 4.7.20: a target, a path into its type, and then
// an ordinary annotation.
func (p *parser) typeAnnotations(c *cursor, body *body) {
	for n := c.u2(); n > 0; n-- {
		target := p.target(c, body)
		path := p.typePath(c)
		p.line("on %s path %s", target, path)
		p.within(func() { p.annotation(c, "", mostElementNesting) })
	}
}

func (p *parser) target(c *cursor, body *body) string {
	kind := c.u1()
	switch kind {
	case 0x00, 0x01:
		return fmt.Sprintf("%02x type parameter %d", kind, c.u1())
	case 0x10:
		return fmt.Sprintf("%02x supertype %d", kind, c.u2())
	case 0x11, 0x12:
		return fmt.Sprintf("%02x type parameter %d bound %d", kind, c.u1(), c.u1())
	case 0x13, 0x14, 0x15:
		return fmt.Sprintf("%02x", kind)
	case 0x16:
		return fmt.Sprintf("%02x parameter %d", kind, c.u1())
	case 0x17:
		return fmt.Sprintf("%02x throws %d", kind, c.u2())
	}
	if body == nil {
		c.at--
		c.fail("type annotation target %#02x outside a body", kind)
	}
	switch kind {
	case 0x40, 0x41:
		var ranges strings.Builder
		for n := c.u2(); n > 0; n-- {
			start, length, slot := c.u2(), c.u2(), c.u2()
			fmt.Fprintf(&ranges, " [%s,%s) slot %d", body.position(start), body.position(start+length), slot)
		}
		return fmt.Sprintf("%02x variable%s", kind, ranges.String())
	case 0x42:
		return fmt.Sprintf("%02x handler %d", kind, c.u2())
	case 0x43, 0x44, 0x45, 0x46:
		return fmt.Sprintf("%02x at %s", kind, body.position(c.u2()))
	case 0x47, 0x48, 0x49, 0x4A, 0x4B:
		return fmt.Sprintf("%02x at %s argument %d", kind, body.position(c.u2()), c.u1())
	}
	c.at--
	c.fail("unknown type annotation target %#02x", kind)
	return ""
}

func (p *parser) typePath(c *cursor) string {
	n := c.u1()
	if n == 0 {
		return "whole"
	}
	steps := make([]string, n)
	for i := range steps {
		kind, argument := c.u1(), c.u1()
		if kind > 3 {
			c.fail("type path kind %d is unknown", kind)
		}
		steps[i] = []string{"element", "nested", "bound", "argument"}[kind]
		if kind == 3 {
			steps[i] += fmt.Sprint(" ", argument)
		}
	}
	return strings.Join(steps, " / ")
}

// module decodes JVMS 4.7.25.
func (p *parser) module(c *cursor, _ *body) {
	name := p.named(c, c.u2(), tagModule)
	p.line("%s flags %04x version %s", name, c.u2(), p.quotedOrNone(c, c.u2()))
	for n := c.u2(); n > 0; n-- {
		name := p.named(c, c.u2(), tagModule)
		p.line("requires %s flags %04x version %s", name, c.u2(), p.quotedOrNone(c, c.u2()))
	}
	p.packagesTo(c, "exports")
	p.packagesTo(c, "opens")
	for n := c.u2(); n > 0; n-- {
		p.line("uses %s", p.class(c, c.u2()))
	}
	for n := c.u2(); n > 0; n-- {
		p.line("provides %s", p.class(c, c.u2()))
		for k := c.u2(); k > 0; k-- {
			p.line("  with %s", p.class(c, c.u2()))
		}
	}
}

func (p *parser) packagesTo(c *cursor, what string) {
	for n := c.u2(); n > 0; n-- {
		name := p.named(c, c.u2(), tagPackage)
		p.line("%s %s flags %04x", what, name, c.u2())
		for k := c.u2(); k > 0; k-- {
			p.line("  to %s", p.named(c, c.u2(), tagModule))
		}
	}
}

func (p *parser) modulePackages(c *cursor, _ *body) {
	for n := c.u2(); n > 0; n-- {
		p.line("%s", p.named(c, c.u2(), tagPackage))
	}
}
