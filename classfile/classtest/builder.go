package classtest

import (
	"encoding/binary"
	"fmt"
	"slices"
)

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

// Forget makes the builder append new entries even for ones it already has: pools in the
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

// Assembler lays instructions out one after the other; positions get names, and
// jumps to them are filled in at the end.
type Assembler struct {
	code     []byte
	labels   map[string]int
	pending  []jump
	handlers [][4]string
}

// jump is an offset still to be written, relative to the instruction at from.
type jump struct {
	at, from int
	wide     bool
	label    string
}

// NewAssembler begins a body.
func NewAssembler() *Assembler { return &Assembler{labels: map[string]int{}} }

// Op appends an instruction by its mnemonic, operands as for Cat.
func (a *Assembler) Op(mnemonic string, operands ...any) *Assembler {
	a.code = append(a.code, opcodeOf(mnemonic))
	a.code = append(a.code, Cat(operands...)...)
	return a
}

// Ops appends instructions that have no operands.
func (a *Assembler) Ops(mnemonics ...string) *Assembler {
	for _, mnemonic := range mnemonics {
		a.Op(mnemonic)
	}
	return a
}

// Raw appends bytes as they are.
func (a *Assembler) Raw(parts ...any) *Assembler {
	a.code = append(a.code, Cat(parts...)...)
	return a
}

// Fill appends an instruction without operands n times.
func (a *Assembler) Fill(n int, mnemonic string) *Assembler {
	a.code = append(a.code, slices.Repeat([]byte{opcodeOf(mnemonic)}, n)...)
	return a
}

// Label names the position reached.
func (a *Assembler) Label(name string) *Assembler {
	a.labels[name] = len(a.code)
	return a
}

// Jump appends a branch; goto_w and jsr_w take 4-byte offsets.
func (a *Assembler) Jump(mnemonic, label string) *Assembler {
	from := len(a.code)
	a.Op(mnemonic)
	wide := shapes[mnemonic] == branchWide
	a.offset(from, wide, label)
	return a
}

// Table appends a tableswitch whose keys begin at low.
func (a *Assembler) Table(low int32, otherwise string, labels ...string) *Assembler {
	from := a.beginSwitch("tableswitch", otherwise)
	a.Raw(low, low+int32(len(labels))-1)
	for _, label := range labels {
		a.offset(from, true, label)
	}
	return a
}

// Lookup appends a lookupswitch; keys[i] leads to labels[i].
func (a *Assembler) Lookup(otherwise string, keys []int32, labels ...string) *Assembler {
	from := a.beginSwitch("lookupswitch", otherwise)
	a.Raw(int32(len(keys)))
	for i, label := range labels {
		a.Raw(keys[i])
		a.offset(from, true, label)
	}
	return a
}

// Catch adds an exception handler for a class entry, or for all when it is 0.
func (a *Assembler) Catch(start, end, handler string, class uint16) *Assembler {
	a.handlers = append(a.handlers, [4]string{start, end, handler, string(Cat(class))})
	return a
}

// At is where a label stands.
func (a *Assembler) At(label string) uint16 {
	offset, ok := a.labels[label]
	if !ok {
		panic(fmt.Sprintf("classtest.Assembler: no label %q", label))
	}
	return uint16(offset)
}

// Code is the Code attribute of the body.
func (a *Assembler) Code(b *Builder, stack, locals uint16, attributes ...[]byte) []byte {
	for _, j := range a.pending {
		delta := int(a.At(j.label)) - j.from
		if j.wide {
			binary.BigEndian.PutUint32(a.code[j.at:], uint32(delta))
		} else {
			binary.BigEndian.PutUint16(a.code[j.at:], uint16(delta))
		}
	}
	var handlers [][]byte
	for _, h := range a.handlers {
		handlers = append(handlers, Cat(a.At(h[0]), a.At(h[1]), a.At(h[2]), h[3]))
	}
	return b.Attribute("Code", stack, locals, uint32(len(a.code)), a.code,
		Counted(handlers...), Counted(attributes...))
}

func (a *Assembler) beginSwitch(mnemonic, otherwise string) int {
	from := len(a.code)
	a.Op(mnemonic)
	for len(a.code)%4 != 0 {
		a.code = append(a.code, 0)
	}
	a.offset(from, true, otherwise)
	return from
}

func (a *Assembler) offset(from int, wide bool, label string) {
	a.pending = append(a.pending, jump{len(a.code), from, wide, label})
	if wide {
		a.Raw(uint32(0))
	} else {
		a.Raw(uint16(0))
	}
}

func opcodeOf(mnemonic string) byte {
	opcode := slices.Index(mnemonics, mnemonic)
	if opcode < 0 {
		panic(fmt.Sprintf("classtest.Assembler: no instruction %q", mnemonic))
	}
	return byte(opcode)
}
