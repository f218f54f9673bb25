// Package code is a method body as a doubly linked list.
//
// [Lift] turns a Code attribute into a list of instructions, labels, line numbers
// and stack-map frames. Every branch target, every end of a range and every bytecode offset in
// a frame is a pointer to a label, never an offset, so that an edit does not invalidate
// other references. [Body.Append] lowers the list again and gives each instruction its
// new offset. A body that was not edited lowers to the bytes it was lifted from.
//
//	Code {
//	    u2 max_stack, max_locals;
//	    u4 length; u1 code[length];
//	    u2 n; { u2 start, end, handler, catch_type; } exceptions[n];
//	    u2 n; attribute attributes[n];   LineNumberTable, LocalVariableTable,
//	}                                    StackMapTable, type annotations, …
//
// Within the list, the other nodes at a position precede its instruction: labels, then
// the frame, then line numbers.
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

	// FrameAfter returns the frame after an instruction. Lowering calls it when a
	// conditional branch of a class that needs frames does not reach its target in 16
	// bits: its replacement makes the next instruction a branch target, which needs a
	// frame. Package frames has such a function.
	FrameAfter func(*Node) (Frame, error)

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

// Handler is an exception handler: an exception thrown from Start up to End goes to Entry.
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

// attribute is one of the body's attributes, in the order of the file. Lifted kinds have
// no data: lowering writes them from the list.
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

// unplaced is the position of a label that was never put in the list.
const unplaced = -1

// node returns a node of the body's memory.
func (b *Body) node(n Node) *Node {
	at := b.memory.node()
	*at = n
	return at
}

// NewLabel returns a label that is not yet in the list.
func (b *Body) NewLabel() *Node { return b.node(Node{Kind: Label, off: -1, pos: unplaced}) }

// NewOp returns a new instruction without operand.
func (b *Body) NewOp(op opcode.Op) *Node { return b.NewOperands(op, 0, 0) }

// NewIndexed returns a new instruction with a slot or a constant pool index.
func (b *Body) NewIndexed(op opcode.Op, index uint16) *Node { return b.NewOperands(op, index, 0) }

// NewOperands returns a new instruction with a slot or a constant pool index and an
// immediate operand: iinc, invokeinterface, multianewarray.
func (b *Body) NewOperands(op opcode.Op, index uint16, value int32) *Node {
	return b.node(Node{op: op, index: index, value: value, off: -1})
}

// NewLine returns a new line number.
func (b *Body) NewLine(line int) *Node { return b.node(Node{Kind: Line, value: int32(line), off: -1}) }

// NewJump returns a new jump to a label.
func (b *Body) NewJump(op opcode.Op, target *Node) *Node {
	return b.node(Node{op: op, target: target, off: -1})
}

// NewFrame returns a new frame mark.
func (b *Body) NewFrame(f Frame) *Node {
	b.frames = append(b.frames, f)
	return b.node(Node{Kind: FrameMark, off: -1, ref: int32(len(b.frames) - 1)})
}

// NewSwitch returns a new switch instruction.
func (b *Body) NewSwitch(op opcode.Op, s Switch) *Node {
	b.switches = append(b.switches, s)
	return b.node(Node{op: op, off: -1, ref: int32(len(b.switches) - 1)})
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

// InsertBefore inserts n before mark; at the end of the list if mark is nil.
func (b *Body) InsertBefore(mark, n *Node) {
	if mark == nil {
		mark = &b.root
	}
	p := mark.prev
	p.next, n.prev = n, p
	n.next, mark.prev = mark, n
	b.count++
}

// InsertAfter inserts n after mark; at the beginning if mark is nil.
func (b *Body) InsertAfter(mark, n *Node) {
	if mark == nil {
		mark = &b.root
	}
	b.InsertBefore(mark.next, n)
}

// Remove removes n from the list; it may be inserted again elsewhere. Labels that are
// referred to must stay.
func (b *Body) Remove(n *Node) {
	n.prev.next, n.next.prev = n.next, n.prev
	n.prev, n.next = nil, nil
	b.count--
}

// LabelBefore returns the label directly before n, and adds it if there is none.
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

// AnnotationKind returns the kind of the attribute that a type annotation is in.
func (b *Body) AnnotationKind(a *TypeAnnotation) classfile.Kind { return b.attributes[a.table].kind }

// Attributes calls f for the attributes of the body that are kept as bytes.
func (b *Body) Attributes(f func(classfile.Attribute)) {
	for _, a := range b.attributes {
		if a.data != nil {
			f(classfile.Attribute{Name: a.name, Data: a.data})
		}
	}
}

// Kind is the kind of a node of a body.
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
	wide // with a wide prefix, or with the _w opcode
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

// Next returns the node after n, nil at the end.
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

// Is reports whether n is an instruction with this opcode.
func (n *Node) Is(op opcode.Op) bool { return n.Kind == Instruction && n.op == op }

const rootKind Kind = 255

func (n *Node) isRoot() bool { return n.Kind == rootKind }

// Item is the kind of a verification type.
type Item uint8

// The verification types of JVMS 4.7.4.
const (
	Top Item = iota
	Integer
	Float
	Double
	Long
	Null
	UninitializedThis
	Object        // of Class
	Uninitialized // made by the new instruction after the label New
)

// Type is the verification type of a local variable or a stack value. Longs and doubles
// are one Type although they take two slots.
type Type struct {
	Item  Item
	Class uint16 // Class entry, of an Object
	New   *Node  // label, of an Uninitialized
}

// Slots returns how many slots a value of the type takes.
func (t Type) Slots() int {
	if t.Item == Long || t.Item == Double {
		return 2
	}
	return 1
}

// Slots returns how many slots a list of types takes.
func Slots(types []Type) int {
	n := len(types)
	for i := range types {
		n += types[i].Slots() - 1
	}
	return n
}

// FrameForm is the encoding of a frame. All but Absolute and FullFrame are relative to the
// previous frame.
type FrameForm uint8

// The forms: the first bytes of JVMS 4.7.4's frames, and, from a range the
// specification reserves, Absolute.
const (
	SameFrame       FrameForm = 0 // up to 63
	SameLocals1     FrameForm = 64
	Absolute        FrameForm = 128 // Locals and Stack in full; lowered as briefly as possible
	SameLocals1Far  FrameForm = 247
	ChopFrame       FrameForm = 248 // up to 250: drops 251-form locals
	SameFrameFar    FrameForm = 251
	AppendFrame     FrameForm = 252 // up to 254: adds form-251 locals
	FullFrame       FrameForm = 255
	lastSame        FrameForm = 63
	lastSameLocals1 FrameForm = 127
)

// Frame is a stack-map frame.
type Frame struct {
	Form   FrameForm
	Locals []Type // of an AppendFrame only those it adds
	Stack  []Type
}

// NewTypes returns room for n types that lives as long as the body.
func (b *Body) NewTypes(n int) []Type { return b.memory.newTypes(n) }

// memory holds the nodes of a body and the data they refer to. It is reused for body
// after body, so that lifting a class costs no allocation.
type memory struct {
	chunks  [][]Node
	chunk   int    // the one in use
	free    []Node // what is left of it
	types   []Type
	keys    []int32
	targets []*Node

	at      []int32 // by offset: instruction index+1, or -label index-1, or 0
	labels  []*Node
	jumps   []int32 // instructions that jump or switch
	returns []*Node
}

const chunkNodes = 4096

func (m *memory) reset() {
	m.chunk, m.free = -1, nil
	m.types, m.keys, m.targets = m.types[:0], m.keys[:0], m.targets[:0]
}

func (m *memory) node() *Node {
	if len(m.free) == 0 {
		m.advance(1)
	}
	n := &m.free[0]
	m.free = m.free[1:]
	return n
}

// reserve returns room for n nodes or more in one piece. A caller that uses k of them
// must advance free by k.
func (m *memory) reserve(n int) []Node {
	if len(m.free) < n {
		m.advance(n)
	}
	return m.free
}

// advance moves to a chunk with room for n nodes.
func (m *memory) advance(n int) {
	for m.chunk++; m.chunk < len(m.chunks); m.chunk++ {
		if len(m.chunks[m.chunk]) >= n {
			m.free = m.chunks[m.chunk]
			return
		}
	}
	m.chunks = append(m.chunks, make([]Node, max(n, chunkNodes)))
	m.free = m.chunks[m.chunk]
}

func (m *memory) newTypes(n int) []Type { return allocate(&m.types, n) }

func (m *memory) newSwitch(n int) ([]int32, []*Node) {
	return allocate(&m.keys, n), allocate(&m.targets, n)
}

// allocate extends a list by n elements and returns them. Slices returned before stay valid
// when the list gets a new array.
func allocate[T any](list *[]T, n int) []T {
	if cap(*list)-len(*list) < n {
		*list = make([]T, 0, max(n, 2*cap(*list), 256))
	}
	k := len(*list)
	*list = (*list)[:k+n]
	return (*list)[k : k+n : k+n]
}
