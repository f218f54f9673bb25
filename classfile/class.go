package classfile

// Class is a parsed class file. It refers to the bytes it was parsed from, which
// must not change while it is in use.
type Class struct {
	Minor, Major uint16
	Pool         Pool
	Access       Access
	This, Super  uint16 // Class entries; Super is 0 for java/lang/Object and modules
	Interfaces   []uint16
	Fields       []Member
	Methods      []Member
	Attributes   []Attribute

	slab  []Attribute // backs every member's and the class's own attributes
	kinds []Kind      // attribute kind by pool index, filled as names are met
	names [kindCount]uint16
}

// Member is a field or a method.
type Member struct {
	Access     Access
	Name       uint16 // Utf8 entry
	Descriptor uint16 // Utf8 entry
	Attributes []Attribute
}

// Attribute is a named piece of a class, field, method, body or record component.
type Attribute struct {
	Name uint16 // Utf8 entry
	Data []byte // contents, without name and length
}

// Name returns the class's internal name, such as java/lang/String, or "" when
// This leads nowhere.
func (c *Class) Name() string {
	name, err := c.Pool.ClassName(c.This)
	if err != nil {
		return ""
	}
	return string(name)
}

// SuperName returns the internal name of the superclass, "" where there is none.
func (c *Class) SuperName() string {
	if name, err := c.Pool.ClassName(c.Super); err == nil {
		return string(name)
	}
	return ""
}

// MemberName returns a member's name and descriptor.
func (c *Class) MemberName(m *Member) (name, descriptor []byte, err error) {
	if name, err = c.Pool.Utf8(m.Name); err != nil {
		return nil, nil, err
	}
	descriptor, err = c.Pool.Utf8(m.Descriptor)
	return name, descriptor, err
}

// Kind returns what an attribute is by its name; KindUnknown where the name is not
// of the specification or leads nowhere.
func (c *Class) Kind(name uint16) Kind {
	if int(name) < len(c.kinds) {
		if k := c.kinds[name]; k != 0 {
			return k
		}
	}
	k := KindUnknown
	if text, err := c.Pool.Utf8(name); err == nil {
		k = kindOf(text)
	}
	if int(name) < len(c.kinds) {
		c.kinds[name], c.names[k] = k, name
	}
	return k
}

// AttributeName returns the index of the Utf8 entry that names attributes of a kind:
// one that some attribute goes by, or a new one.
func (c *Class) AttributeName(kind Kind) uint16 {
	if c.names[kind] == 0 {
		c.names[kind] = c.Pool.AddUtf8(kind.String())
	}
	return c.names[kind]
}

// Find returns the first attribute of a kind, or nil.
func (c *Class) Find(attributes []Attribute, kind Kind) *Attribute {
	for i := range attributes {
		if c.Kind(attributes[i].Name) == kind {
			return &attributes[i]
		}
	}
	return nil
}
