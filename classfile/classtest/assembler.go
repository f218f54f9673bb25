package classtest

import (
	"encoding/binary"
	"fmt"
	"slices"
)

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
