package frames

import (
	"fmt"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
)

// FlowError reports code that no verifier would accept.
type FlowError struct {
	Offset int // of the instruction, in the code as it was lifted
	Detail string
}

func (e *FlowError) Error() string {
	return fmt.Sprintf("instruction at offset %d: %s", e.Offset, e.Detail)
}

// returnAddress is the value that jsr pushes. Frames cannot contain it.
const returnAddress code.Item = 100

// State holds the types of the local variables and the stack at one instruction.
// Locals are indexed by slot: a long or double is followed by a Top.
type State struct {
	Locals []code.Type
	Stack  []code.Type
	ok     bool
}

func (s *State) copyFrom(from *State) {
	s.Locals = append(s.Locals[:0], from.Locals...)
	s.Stack = append(s.Stack[:0], from.Stack...)
	s.ok = true
}

// enter sets the state from an expanded frame.
func (s *State) enter(f *code.Frame) {
	for i := range s.Locals {
		s.Locals[i] = code.Type{}
	}
	slot := 0
	for _, t := range f.Locals {
		if slot < len(s.Locals) {
			s.Locals[slot] = t
		}
		slot += t.Slots()
	}
	s.Stack = append(s.Stack[:0], f.Stack...)
	s.ok = true
}

// Frame returns the state as an expanded frame, without trailing unknown locals.
func (s *State) Frame() code.Frame {
	f := code.Frame{Form: code.Absolute, Stack: append([]code.Type(nil), s.Stack...)}
	last := 0
	for slot := 0; slot < len(s.Locals); slot++ {
		t := s.Locals[slot]
		if t.Item == returnAddress {
			t = code.Type{}
		}
		f.Locals = append(f.Locals, t)
		if t.Item != code.Top {
			last = len(f.Locals)
		}
		if t.Slots() == 2 {
			slot++
		}
	}
	f.Locals = f.Locals[:last]
	return f
}

func (s *State) push(t code.Type) { s.Stack = append(s.Stack, t) }

func (s *State) pop() code.Type {
	if len(s.Stack) == 0 {
		s.ok = false
		return code.Type{}
	}
	t := s.Stack[len(s.Stack)-1]
	s.Stack = s.Stack[:len(s.Stack)-1]
	return t
}

func (s *State) store(slot uint16, t code.Type) {
	if int(slot)+t.Slots() > len(s.Locals) {
		s.ok = false
		return
	}
	// Half of a long or double that is overwritten is no longer usable.
	if slot > 0 && s.Locals[slot-1].Slots() == 2 {
		s.Locals[slot-1] = code.Type{}
	}
	s.Locals[slot] = t
	if t.Slots() == 2 {
		s.Locals[slot+1] = code.Type{}
	}
}

func (s *State) load(slot uint16) code.Type {
	if int(slot) >= len(s.Locals) {
		s.ok = false
		return code.Type{}
	}
	return s.Locals[slot]
}

// initialise makes every copy of an uninitialised object an object.
func (s *State) initialise(from, to code.Type) {
	for _, list := range [2][]code.Type{s.Locals, s.Stack} {
		for i := range list {
			if list[i] == from {
				list[i] = to
			}
		}
	}
}

// duplicate copies the top n slots below the next skip slots: dup and its kin.
func (s *State) duplicate(n, skip int) {
	top, mid := s.take(n), s.take(skip)
	s.Stack = append(append(append(s.Stack, top...), mid...), top...)
}

// take removes the values in the top n slots and returns them.
func (s *State) take(n int) []code.Type {
	from := len(s.Stack)
	for slots := 0; slots < n; {
		if from == 0 {
			s.ok = false
			return nil
		}
		from--
		slots += s.Stack[from].Slots()
	}
	taken := append([]code.Type(nil), s.Stack[from:]...)
	s.Stack = s.Stack[:from]
	return taken
}

// component returns the type of what an array holds.
func component(pool *classfile.Pool, array code.Type, resolve bool) code.Type {
	if array.Item == code.Null {
		return array
	}
	if name, err := pool.ClassName(array.Class); err == nil && resolve && len(name) > 1 && name[0] == '[' {
		return Of(pool, name[1:])
	}
	return code.Type{Item: code.Object}
}

// Of returns the verification type for a field descriptor, Top if it is malformed. The
// Class entry of a reference type is looked up or added.
func Of(pool *classfile.Pool, field []byte) code.Type {
	if len(field) == 0 || field[0] == 'L' && len(field) < 3 {
		return code.Type{}
	}
	t := code.Type{Item: ItemOf(field[0])}
	if t.Item == code.Object {
		name := field
		if field[0] == 'L' {
			name = field[1 : len(field)-1]
		}
		t.Class = pool.AddClassName(name)
	}
	return t
}

// ItemOf returns the kind of the verification type for a field descriptor, by its first byte,
// or for a letter of the opcode table, where A is a reference.
func ItemOf(desc byte) code.Item {
	switch desc {
	case 'J':
		return code.Long
	case 'D':
		return code.Double
	case 'F':
		return code.Float
	case 'L', '[', 'A':
		return code.Object
	}
	return code.Integer
}

// Initial appends the types of a method's local variables at its entry to dst: this,
// then the arguments.
func Initial(dst []code.Type, c *classfile.Class, m *classfile.Member) ([]code.Type, error) {
	name, desc, err := c.MemberName(m)
	if err != nil {
		return dst, err
	}
	if !m.Access.Has(classfile.AccStatic) {
		this := code.Type{Item: code.Object, Class: c.This}
		if string(name) == "<init>" && c.Super != 0 {
			this = code.Type{Item: code.UninitializedThis}
		}
		dst = append(dst, this)
	}
	return dst, descriptor.EachArgument(desc, func(field []byte) {
		dst = append(dst, Of(&c.Pool, field))
	})
}

// Expand replaces every frame of a lifted body by a full frame with all locals and stack
// values (code.Absolute). Added frames must be expanded already. Frames with the same
// locals share the slice, so that comparing addresses finds equal frames.
func Expand(b *code.Body, initial []code.Type) error {
	locals := initial
	list := b.Frames()
	for i := range list {
		f := &list[i]
		switch f.Form {
		case code.SameFrame, code.SameLocals1, code.SameLocals1Far, code.SameFrameFar:
		case code.FullFrame, code.Absolute:
			locals = f.Locals
		case code.ChopFrame, code.ChopFrame + 1, code.ChopFrame + 2:
			drop := int(code.SameFrameFar - f.Form)
			if drop > len(locals) {
				return &FlowError{-1, fmt.Sprintf("frame %d drops %d locals of %d", i, drop, len(locals))}
			}
			locals = locals[: len(locals)-drop : len(locals)-drop]
		default:
			more := b.NewTypes(len(locals) + len(f.Locals))
			copy(more[copy(more, locals):], f.Locals)
			locals = more
		}
		f.Form, f.Locals = code.Absolute, locals
	}
	return nil
}
