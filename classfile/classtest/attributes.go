package classtest

import (
	"maps"
	"slices"
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
