package code

// Item says what a verification type is.
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
	Uninitialized // made by the new instruction behind the label New
)

// Type is what a verifier knows of a local variable or a stack slot. Longs and
// doubles are one Type though they take two slots.
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

// FrameForm is how a frame is told. All but Absolute speak relative to the frame
// before.
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
