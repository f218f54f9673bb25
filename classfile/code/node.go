package code

import "github.com/sonde-jvm/sonde/classfile/opcode"

// Kind says what a node of a body stands for.
type Kind uint8

// The kinds of nodes. Only an Instruction takes room in the code.
const (
	Instruction Kind = iota
	Label            // a position others point at
	Line             // the source line, Value, begins here
	FrameMark        // a stack-map frame holds here: Body.Frame
)

// Node is one member of a body's list. It belongs to the body that made it, or that
// it was lifted into, and lives as long as that body.
//
// Instructions are spelled one way: iload_1 and wide iload are Op Iload with an
// Index, goto_w is Op Goto, ldc_w is Op Ldc. The spelling found is kept while it fits.
type Node struct {
	prev, next *Node
	Target     *Node // the label a jump goes to
	Value      int32 // immediate operand: constant, increment, array type, dimensions; line number
	off        int32 // offset in the code it was lifted from, -1 for a new node
	pos        int32 // offset the last lowering gave it
	ref        int32 // a switch's, frame's place in the body; a line's in its table
	Index      uint16
	Kind       Kind
	Op         opcode.Op
	form       form
}

// form is how an instruction that has several spellings was spelled.
type form uint8

const (
	shortest form = iota // new nodes: whatever is shortest
	short                // one byte: iload_1; ldc with one byte of index
	plain
	wide // behind a wide prefix, or with the _w opcode
)

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
func (n *Node) Is(op opcode.Op) bool { return n.Kind == Instruction && n.Op == op }

const rootKind Kind = 255

func (n *Node) isRoot() bool { return n.Kind == rootKind }
