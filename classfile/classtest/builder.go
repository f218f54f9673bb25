package classtest

import "fmt"

// Builder puts a class file together in the order of its structures, for the
// classes no compiler writes. It checks nothing: tests want wrong classes too.
// Entries of the pool are shared, so asking twice gives the same index.
type Builder struct {
	Minor, Major uint16
	Access       uint16
	This, Super  uint16
	Interfaces   []uint16

	pool       []byte
	count      int // entries, the unusable first one included
	known      map[string]uint16
	fields     [][]byte
	methods    [][]byte
	attributes [][]byte
}

// NewBuilder begins a public class that extends Object.
func NewBuilder(major uint16, name string) *Builder {
	b := &Builder{Major: major, Access: 0x0021, count: 1, known: map[string]uint16{}}
	b.This = b.Class(name)
	b.Super = b.Class("java/lang/Object")
	return b
}

// Cat joins values into bytes: uint8, uint16 and uint32 big-endian, int8, int16
// and int32 likewise, byte slices and strings as they are.
func Cat(parts ...any) []byte {
	var out []byte
	for _, part := range parts {
		switch v := part.(type) {
		case uint8:
			out = append(out, v)
		case int8:
			out = append(out, byte(v))
		case uint16:
			out = append(out, byte(v>>8), byte(v))
		case int16:
			out = append(out, byte(v>>8), byte(v))
		case uint32:
			out = append(out, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
		case int32:
			out = append(out, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
		case []byte:
			out = append(out, v...)
		case string:
			out = append(out, v...)
		default:
			panic(fmt.Sprintf("classtest.Cat: %T has no size in a class file", part))
		}
	}
	return out
}

// Counted puts a 2-byte count before items.
func Counted(items ...[]byte) []byte {
	out := Cat(uint16(len(items)))
	for _, item := range items {
		out = append(out, item...)
	}
	return out
}

// Entry appends any pool entry, or finds it; Long and Double take two places.
func (b *Builder) Entry(tag uint8, parts ...any) uint16 {
	entry := Cat(append([]any{tag}, parts...)...)
	if index, ok := b.known[string(entry)]; ok {
		return index
	}
	index := uint16(b.count)
	b.known[string(entry)] = index
	b.pool = append(b.pool, entry...)
	b.count++
	if tag == tagLong || tag == tagDouble {
		b.count++
	}
	return index
}

// Forget makes the builder append entries anew that it has already: pools in the
// wild hold doubles.
func (b *Builder) Forget() { clear(b.known) }

// Utf8 appends a string that is already in Java's encoding.
func (b *Builder) Utf8(text string) uint16 {
	return b.Entry(tagUtf8, uint16(len(text)), text)
}

// Class appends a class by its internal name.
func (b *Builder) Class(name string) uint16 { return b.Entry(tagClass, b.Utf8(name)) }

// String appends a string constant.
func (b *Builder) String(text string) uint16 { return b.Entry(tagString, b.Utf8(text)) }

// Integer appends an int constant.
func (b *Builder) Integer(v int32) uint16 { return b.Entry(tagInteger, v) }

// Long appends a long constant by its halves.
func (b *Builder) Long(high, low uint32) uint16 { return b.Entry(tagLong, high, low) }

// Double appends a double constant by the halves of its bits.
func (b *Builder) Double(high, low uint32) uint16 { return b.Entry(tagDouble, high, low) }

// Float appends a float constant by its bits.
func (b *Builder) Float(bits uint32) uint16 { return b.Entry(tagFloat, bits) }

// NameAndType appends a name with its descriptor.
func (b *Builder) NameAndType(name, descriptor string) uint16 {
	return b.Entry(tagNameAndType, b.Utf8(name), b.Utf8(descriptor))
}

// Field appends a reference to a field.
func (b *Builder) Field(owner, name, descriptor string) uint16 {
	return b.Entry(tagFieldref, b.Class(owner), b.NameAndType(name, descriptor))
}

// Method appends a reference to a method of a class.
func (b *Builder) Method(owner, name, descriptor string) uint16 {
	return b.Entry(tagMethodref, b.Class(owner), b.NameAndType(name, descriptor))
}

// InterfaceMethod appends a reference to a method of an interface.
func (b *Builder) InterfaceMethod(owner, name, descriptor string) uint16 {
	return b.Entry(tagInterfaceMethodref, b.Class(owner), b.NameAndType(name, descriptor))
}

// Handle appends a method handle of a kind, 1 to 9, to a member reference.
func (b *Builder) Handle(kind uint8, member uint16) uint16 {
	return b.Entry(tagMethodHandle, kind, member)
}

// Dynamic appends a dynamic constant made by a bootstrap method.
func (b *Builder) Dynamic(bootstrap uint16, name, descriptor string) uint16 {
	return b.Entry(tagDynamic, bootstrap, b.NameAndType(name, descriptor))
}

// InvokeDynamic appends a dynamic call site linked by a bootstrap method.
func (b *Builder) InvokeDynamic(bootstrap uint16, name, descriptor string) uint16 {
	return b.Entry(tagInvokeDynamic, bootstrap, b.NameAndType(name, descriptor))
}

// Attribute is an attribute with its name and true length.
func (b *Builder) Attribute(name string, parts ...any) []byte {
	contents := Cat(parts...)
	return Cat(b.Utf8(name), uint32(len(contents)), contents)
}

// AddAttribute gives the class an attribute made by Attribute.
func (b *Builder) AddAttribute(attribute []byte) { b.attributes = append(b.attributes, attribute) }

// AddField gives the class a field.
func (b *Builder) AddField(access uint16, name, descriptor string, attributes ...[]byte) {
	b.fields = append(b.fields, b.member(access, name, descriptor, attributes))
}

// AddMethod gives the class a method.
func (b *Builder) AddMethod(access uint16, name, descriptor string, attributes ...[]byte) {
	b.methods = append(b.methods, b.member(access, name, descriptor, attributes))
}

func (b *Builder) member(access uint16, name, descriptor string, attributes [][]byte) []byte {
	return Cat(access, b.Utf8(name), b.Utf8(descriptor), Counted(attributes...))
}

// Bytes is the class file.
func (b *Builder) Bytes() []byte {
	interfaces := Cat(uint16(len(b.Interfaces)))
	for _, index := range b.Interfaces {
		interfaces = Cat(interfaces, index)
	}
	return Cat(uint32(0xCAFEBABE), b.Minor, b.Major, uint16(b.count), b.pool,
		b.Access, b.This, b.Super, interfaces,
		Counted(b.fields...), Counted(b.methods...), Counted(b.attributes...))
}
