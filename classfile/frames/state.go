package frames

import (
	"fmt"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
)

// FlowError says that a body does something no verifier would let pass.
type FlowError struct {
	Offset int // of the instruction, in the code as it was lifted
	Detail string
}

func (e *FlowError) Error() string {
	return fmt.Sprintf("instruction at offset %d: %s", e.Offset, e.Detail)
}

// returnAddress is what jsr leaves on the stack. No frame can speak of it.
const returnAddress code.Item = 100

// State is what stands in the local variables and on the stack at one point.
// Locals are by slot: behind a long or double stands a Top.
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

// enter takes what a frame told in full says.
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

// Frame returns the state as a frame told in full, trailing unknown locals left out.
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

func (s *State) popN(n int) {
	for range n {
		s.pop()
	}
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
