package code

import "github.com/sonde-jvm/sonde/classfile/opcode"

// Kind says what a node of a body stands for.
type Kind uint8

// The kinds of nodes. Only an Instruction takes room in the code.
const (
	Instruction Kind = iota
	Label            // a position others point at
	Line             // the source line, its value, begins here
	FrameMark        // a stack-map frame holds here: Body.Frame
)

// Node is one member of a body's list. It belongs to the body that made it, or that
// it was lifted into, and lives as long as that body.
//
// Instructions are spelled one way: iload_1 and wide iload are Iload with an index,
// goto_w is Goto, ldc_w is Ldc. The spelling found is kept while it fits.
type Node struct {
	prev, next *Node
	target     *Node // the label a jump goes to
	value      int32 // immediate operand: constant, increment, array type, dimensions; line number
	off        int32 // offset in the code it was lifted from, -1 for a new node
	pos        int32 // offset the last lowering gave it
	ref        int32 // a switch's, frame's place in the body; a line's in its table
	index      uint16
	Kind       Kind
	op         opcode.Op
	form       form
	size       uint8 // of an instruction that stands as it was found, in bytes; else 0
}

// form is how an instruction that has several spellings was spelled.
type form uint8

const (
	shortest form = iota // new nodes: whatever is shortest
	short                // one byte: iload_1; ldc with one byte of index
	plain
	wide // behind a wide prefix, or with the _w opcode
)

// Op returns an instruction's opcode.
func (n *Node) Op() opcode.Op { return n.op }

// Index returns the slot or the constant pool index of an instruction.
func (n *Node) Index() uint16 { return n.index }

// Value returns the immediate operand of an instruction: a constant, an increment,
// an array type, dimensions, an argument count; of a Line the line number.
func (n *Node) Value() int32 { return n.value }

// Target returns the label a jump goes to.
func (n *Node) Target() *Node { return n.target }

// Become makes n another instruction with a slot or constant pool index, in its
// place and with its history.
func (n *Node) Become(op opcode.Op, index uint16) {
	n.op, n.index, n.target, n.value, n.form, n.size = op, index, nil, 0, shortest, 0
}

// Next returns the node behind n; the body's list ends with nil.
func (n *Node) Next() *Node {
	if n.next.isRoot() {
		return nil
	}
	return n.next
}

// Prev returns the node before n, nil at the beginning.
func (n *Node) Prev() *Node {
	if n.prev.isRoot() {
		return nil
	}
	return n.prev
}

// Offset returns where the node stood in the code it was lifted from, -1 if it is new.
func (n *Node) Offset() int { return int(n.off) }

// Position returns the offset the last lowering gave the node.
func (n *Node) Position() int { return int(n.pos) }

// Is reports whether n is an instruction with this opcode.
func (n *Node) Is(op opcode.Op) bool { return n.Kind == Instruction && n.op == op }

const rootKind Kind = 255

func (n *Node) isRoot() bool { return n.Kind == rootKind }
