// Package opcode is the instruction set of the Java virtual machine as data:
// names, operand shapes and stack effects, read from opcodes.table. The constants are
// generated from it.
package opcode

import (
	_ "embed"
	"encoding/binary"
	"strconv"
	"strings"
)

//go:generate go run ./gen -o constants_gen.go opcodes.table

//go:embed opcodes.table
var rows string

// table is read when the program starts, in a few microseconds.
var table = readTable()

// Op is an instruction's first byte.
type Op uint8

// Shape is the layout of the bytes after an opcode.
type Shape uint8

// The shapes of opcodes.table. Undefined is the shape of a byte that is not an instruction.
const (
	Undefined Shape = iota
	None
	S1
	S2
	CP1
	CP2
	Local
	IncLocal
	Jump2
	Jump4
	Table
	Lookup
	Interface
	Dynamic
	ArrayType
	MultiArray
	WidePrefix
)

// UnknownDelta marks an instruction whose change of the stack's depth depends on
// its operand (a descriptor or a constant).
const UnknownDelta = -128

// Info is one row of the table.
type Info struct {
	Name   string
	Effect string // operand stack before:after as in opcodes.table
	Shape  Shape
	Base   Op    // the instruction this is a spelling of; itself for most
	Slot   int8  // the slot a short spelling implies, else -1
	Delta  int8  // change of depth in slots, or UnknownDelta
	Length uint8 // bytes with the opcode; 0 where it varies (switches, wide)
}

// Info returns the row of op. The row of an undefined byte has shape Undefined.
func (op Op) Info() *Info { return &table[op] }

// String returns the mnemonic.
func (op Op) String() string {
	if n := table[op].Name; n != "" {
		return n
	}
	return "undefined"
}

// The first loads and stores that imply a slot: iload_0 and istore_0. Four for each of the
// kinds of iload to aload, and of istore to astore, follow each other.
const (
	firstShortLoad  Op = 0x1a
	firstShortStore Op = 0x3b
)

// shapes are the shapes and the lengths of instructions, by their name in the table.
var shapes = map[string]struct {
	Shape
	length uint8
}{
	"none": {None, 1}, "s1": {S1, 2}, "s2": {S2, 3}, "cp1": {CP1, 2}, "cp2": {CP2, 3}, "local": {Local, 2},
	"iinc": {IncLocal, 3}, "jump2": {Jump2, 3}, "jump4": {Jump4, 5}, "table": {Table, 0}, "lookup": {Lookup, 0},
	"iface": {Interface, 5}, "indy": {Dynamic, 5}, "atype": {ArrayType, 2}, "multi": {MultiArray, 4}, "wide": {WidePrefix, 0},
}

// readTable panics if the table, which is a part of the program, is malformed.
func readTable() (all [256]Info) {
	named := make(map[string]Op)
	for line := range strings.Lines(rows) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		value, err := strconv.ParseUint(fields[0], 0, 8)
		shape, ok := shapes[fields[2]]
		if err != nil || !ok {
			panic("opcodes.table: " + line)
		}
		op := Op(value)
		named[fields[1]] = op
		all[op] = Info{Name: fields[1], Effect: fields[3], Shape: shape.Shape, Base: op, Slot: -1, Delta: delta(fields[3]), Length: shape.length}
		if len(fields) > 4 {
			all[op].Base = named[fields[4]]
		}
	}
	for kind := range Op(5) {
		for _, base := range [2]Op{Iload + kind, Istore + kind} {
			for slot := range uint16(4) {
				op, _ := base.Short(slot)
				row := all[base]
				row.Name += "_" + string(rune('0'+slot))
				row.Shape, row.Slot, row.Length = None, int8(slot), 1
				all[op] = row
			}
		}
	}
	return all
}

// delta is the change of depth in slots that an effect stands for.
func delta(effect string) int8 {
	if change, ok := strings.CutPrefix(effect, "*"); ok {
		if n, err := strconv.Atoi(change); err == nil {
			return int8(n)
		}
		return UnknownDelta
	}
	before, after, _ := strings.Cut(effect, ":")
	return int8(slots(after) - slots(before))
}

func slots(types string) int {
	return len(types) + strings.Count(types, "J") + strings.Count(types, "D")
}

// Short returns the one-byte spelling of a load or store of slot, if there is one.
func (op Op) Short(slot uint16) (Op, bool) {
	if slot > 3 {
		return 0, false
	}
	switch {
	case op >= Iload && op <= Aload:
		return firstShortLoad + (op-Iload)*4 + Op(slot), true
	case op >= Istore && op <= Astore:
		return firstShortStore + (op-Istore)*4 + Op(slot), true
	}
	return 0, false
}

// IsReturn reports whether op is one of the six returns.
func (op Op) IsReturn() bool { return op >= Ireturn && op <= Return }

// IsConditional reports whether op is a two-way branch.
func (op Op) IsConditional() bool {
	return op >= Ifeq && op <= IfAcmpne || op == Ifnull || op == Ifnonnull
}

// Inverse returns the conditional branch that is taken exactly when op is not.
func (op Op) Inverse() Op {
	if op == Ifnull || op == Ifnonnull {
		return op ^ 1
	}
	return ((op + 1) ^ 1) - 1
}

// EndsBlock reports whether control never falls through op to the next
// instruction. A jsr is not among them: its subroutine may come back.
func (op Op) EndsBlock() bool {
	switch op {
	case Goto, GotoW, Ret, Tableswitch, Lookupswitch, Athrow:
		return true
	}
	return op.IsReturn()
}

// LengthAt returns the length of the instruction at an offset of a method's code, or 0
// where there is no instruction. The instruction may reach past the end of the code.
func LengthAt(code []byte, at int) int {
	op := Op(code[at])
	if n := int(op.Info().Length); n > 0 {
		return n
	}
	operands := (at + 4) &^ 3 // of a switch, aligned
	number := func(offset int) int64 { return int64(int32(binary.BigEndian.Uint32(code[operands+offset:]))) }
	var head int
	var cases, size int64
	switch {
	case op == Wide && at+1 < len(code) && Op(code[at+1]) == Iinc:
		return 6
	case op == Wide:
		return 4
	case op == Tableswitch && operands+12 <= len(code):
		head, cases, size = operands+12-at, number(8)-number(4)+1, 4
	case op == Lookupswitch && operands+8 <= len(code):
		head, cases, size = operands+8-at, number(4), 8
	default:
		return 0
	}
	if cases < 0 || cases > int64(len(code)) {
		return 0
	}
	return head + int(cases*size)
}
