// Package classfile reads and writes Java class files, from Java 1.0 to 26.
//
// [Parse] and [Class.Append] are inverse to each other, byte for byte. Structures that
// the package does not know are preserved. Attributes stay bytes until [Class.Decode],
// and method bodies until package code lifts them, so that reading a class is cheap.
//
//	ClassFile {
//	    u4 magic; u2 minor, major;
//	    u2 count; cp_info pool[count-1];
//	    u2 access, this, super;
//	    u2 n; u2 interfaces[n];
//	    u2 n; member fields[n];
//	    u2 n; member methods[n];
//	    u2 n; attribute attributes[n];
//	}
//
// The constant pool is append-only: an existing index never changes its meaning.
package classfile

import (
	"errors"
	"fmt"
)

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

// Method returns the method with a name and descriptor, or nil.
func (c *Class) Method(name, descriptor string) *Member {
	for i := range c.Methods {
		m := &c.Methods[i]
		if n, d, err := c.MemberName(m); err == nil && string(n) == name && string(d) == descriptor {
			return m
		}
	}
	return nil
}

// Kind returns the kind of the attributes with a name; KindUnknown if the specification
// does not define the name or the index is invalid.
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

// AttributeName returns the index of the Utf8 entry that names attributes of a kind: the
// entry that an existing attribute uses, or a new one.
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

// Access is a set of access and property flags. One bit may mean different
// things for a class, a field and a method.
type Access uint16

// Flags of JVMS 4.1, 4.5, 4.6 and 4.7.25.
const (
	AccPublic       Access = 0x0001
	AccPrivate      Access = 0x0002
	AccProtected    Access = 0x0004
	AccStatic       Access = 0x0008
	AccFinal        Access = 0x0010
	AccSynchronized Access = 0x0020 // method
	AccOpen         Access = 0x0020 // module
	AccTransitive   Access = 0x0020 // module requires
	AccVolatile     Access = 0x0040 // field
	AccBridge       Access = 0x0040 // method
	AccStaticPhase  Access = 0x0040 // module requires
	AccNative       Access = 0x0100
	AccInterface    Access = 0x0200
	AccAbstract     Access = 0x0400
	AccSynthetic    Access = 0x1000
	AccEnum         Access = 0x4000
	AccModule       Access = 0x8000 // class
	AccMandated     Access = 0x8000 // parameter, module
)

// Has reports whether all of flags are set.
func (a Access) Has(flags Access) bool { return a&flags == flags }

// FormatError reports bytes that are not a class file or a part of one: the structure
// that was being read, the offset and the defect.
type FormatError struct {
	Structure string // such as "constant pool entry 7" or "method 3, attribute 1"
	Offset    int    // from the start of what was being read: the file, or the attribute
	Detail    string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s at offset %d: %s", e.Structure, e.Offset, e.Detail)
}

// ErrPoolFull reports an attempt to add more than 65,535 entries to a pool.
var ErrPoolFull = errors.New("constant pool is full (65535 entries)")

// PoolError reports a constant pool index that does not refer to an entry of the kind wanted.
type PoolError struct {
	Index uint16
	Want  string
	Got   Tag // 0 where the index is outside the pool or inside a long or double
}

func (e *PoolError) Error() string {
	if e.Got == 0 {
		return fmt.Sprintf("constant pool index %d: no such entry, want %s", e.Index, e.Want)
	}
	return fmt.Sprintf("constant pool index %d: want %s, found %s", e.Index, e.Want, e.Got)
}
