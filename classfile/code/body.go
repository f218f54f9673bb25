package code

import (
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// Body is a method body.
type Body struct {
	Class               *classfile.Class
	MaxStack, MaxLocals uint16
	Handlers            []Handler        // in order of precedence
	Vars                []Var            // new ones go to the LocalVariableTable
	TypeAnnotations     []TypeAnnotation // may be changed or taken out, not added to

	// FrameBehind tells the frame that holds behind an instruction. Lowering asks
	// for it when a conditional branch of a class that needs frames is out of reach
	// of 16 bits: the jump that is put in its place makes the next instruction one
	// that needs a frame. Package frames has such a function.
	FrameBehind func(*Node) (Frame, error)

	root       Node
	text       []byte // the code it was lifted from
	count      int    // nodes in the list
	switches   []Switch
	frames     []Frame
	attributes []attribute
	lines      linesOrder
	memory     *memory
	lowered    lowering
}

// Handler is an exception block: what is thrown from Start up to End goes to Entry.
type Handler struct {
	Start, End, Entry *Node  // labels
	Catch             uint16 // Class entry; 0 catches everything
}

// Var is an entry of a LocalVariableTable or LocalVariableTypeTable.
type Var struct {
	Start, End       *Node // labels
	Name, Descriptor uint16
	Slot             uint16
	table            uint16 // which attribute it came from, plus one; 0 for a new one
}

// Switch is the operand of a tableswitch or lookupswitch.
type Switch struct {
	Default *Node
	Keys    []int32 // a tableswitch's are consecutive
	Targets []*Node
	padding [3]byte
	low     int32 // of a tableswitch without cases
}

// attribute is one of the body's attributes, in the order found. Those of a kind
// that is lifted have no data: they are made anew from the list.
type attribute struct {
	name uint16
	kind classfile.Kind
	data []byte
}

// First returns the first node, nil in an empty list.
func (b *Body) First() *Node {
	if b.root.next.isRoot() {
		return nil
	}
	return b.root.next
}

// Last returns the last node, nil in an empty list.
func (b *Body) Last() *Node {
	if b.root.prev.isRoot() {
		return nil
	}
	return b.root.prev
}

// Len returns how many nodes the list has.
func (b *Body) Len() int { return b.count }

// unplaced is the position of a label that was never put in the list.
const unplaced = -1

// NewLabel returns a label that is not yet in the list.
func (b *Body) NewLabel() *Node {
	n := b.memory.node()
	*n = Node{Kind: Label, off: -1, pos: unplaced}
	return n
}

// NewOp returns a new instruction without operand.
func (b *Body) NewOp(op opcode.Op) *Node { return b.NewOperands(op, 0, 0) }

// NewValue returns a new instruction with an immediate operand.
func (b *Body) NewValue(op opcode.Op, value int32) *Node { return b.NewOperands(op, 0, value) }

// NewIndexed returns a new instruction with a slot or a constant pool index.
func (b *Body) NewIndexed(op opcode.Op, index uint16) *Node { return b.NewOperands(op, index, 0) }

// NewOperands returns a new instruction with a slot or a constant pool index and an
// immediate operand: iinc, invokeinterface, multianewarray.
func (b *Body) NewOperands(op opcode.Op, index uint16, value int32) *Node {
	n := b.memory.node()
	*n = Node{op: op, index: index, value: value, off: -1}
	return n
}

// NewLine returns a new line number.
func (b *Body) NewLine(line int) *Node {
	n := b.memory.node()
	*n = Node{Kind: Line, value: int32(line), off: -1}
	return n
}

// NewJump returns a new jump to a label.
func (b *Body) NewJump(op opcode.Op, target *Node) *Node {
	n := b.memory.node()
	*n = Node{op: op, target: target, off: -1}
	return n
}

// NewFrame returns a new frame mark.
func (b *Body) NewFrame(f Frame) *Node {
	n := b.memory.node()
	*n = Node{Kind: FrameMark, off: -1, ref: int32(len(b.frames))}
	b.frames = append(b.frames, f)
	return n
}

// NewSwitch returns a new switch instruction.
func (b *Body) NewSwitch(op opcode.Op, s Switch) *Node {
	n := b.memory.node()
	*n = Node{op: op, off: -1, ref: int32(len(b.switches))}
	b.switches = append(b.switches, s)
	return n
}

// Switch returns the operand of a switch instruction. The pointer holds until the
// next NewSwitch.
func (b *Body) Switch(n *Node) *Switch { return &b.switches[n.ref] }

// Frame returns the frame of a frame mark. The pointer holds until the next NewFrame.
func (b *Body) Frame(n *Node) *Frame { return &b.frames[n.ref] }

// Frames returns the frames of the body, in no particular order once some were added.
func (b *Body) Frames() []Frame { return b.frames }

// Returns returns the return instructions the body was lifted with.
func (b *Body) Returns() []*Node { return b.memory.returns }

// HasFrames reports whether the body has a stack map.
func (b *Body) HasFrames() bool { return len(b.frames) > 0 }

// InsertBefore puts n in front of mark; at the end of the list where mark is nil.
func (b *Body) InsertBefore(mark, n *Node) {
	if mark == nil {
		mark = &b.root
	}
	p := mark.prev
	p.next, n.prev = n, p
	n.next, mark.prev = mark, n
	b.count++
}

// InsertAfter puts n behind mark; at the beginning where mark is nil.
func (b *Body) InsertAfter(mark, n *Node) {
	if mark == nil {
		mark = &b.root
	}
	b.InsertBefore(mark.next, n)
}

// Remove takes n out of the list; it may be put in again elsewhere. Labels that others
// point at must stay.
func (b *Body) Remove(n *Node) {
	n.prev.next, n.next.prev = n.next, n.prev
	n.prev, n.next = nil, nil
	b.count--
}

// LabelBefore returns a label right in front of n: one that is there, or a new one.
func (b *Body) LabelBefore(n *Node) *Node {
	if p := n.prev; p.Kind == Label {
		return p
	}
	l := b.NewLabel()
	b.InsertBefore(n, l)
	return l
}

// VarTypes reports whether v is of the LocalVariableTypeTable, so that its
// descriptor is a generic signature.
func (b *Body) VarTypes(v *Var) bool {
	return v.table > 0 && b.attributes[v.table-1].kind == classfile.KindLocalVariableTypeTable
}

// Attributes calls f for the attributes of the body that are kept as bytes.
func (b *Body) Attributes(f func(classfile.Attribute)) {
	for _, a := range b.attributes {
		if a.data != nil {
			f(classfile.Attribute{Name: a.name, Data: a.data})
		}
	}
}
