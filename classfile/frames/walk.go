package frames

import (
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// walker follows control through a body, each block once.
type walker struct {
	body    *code.Body
	resolve bool // give references their class; adds to the constant pool
	visit   func(*code.Node, *State)
	inits   []*code.Node // calls that initialise this

	pending []*code.Node
	seen    map[*code.Node]bool
	states  map[*code.Node]*State // at labels that something jumps to
}

// Walk calls visit for every instruction that can be reached, with the state before
// it, in an order that follows control. Frames must have been told in full
// ([Expand]). With resolve set, references have their class, for which entries may
// be added to the constant pool; else all objects look alike. It returns the calls
// with which a constructor initialises its object.
func Walk(b *code.Body, m *classfile.Member, resolve bool, visit func(*code.Node, *State)) ([]*code.Node, error) {
	initial, err := Initial(nil, b.Class, m)
	if err != nil {
		return nil, err
	}
	w := &walker{body: b, resolve: resolve, visit: visit,
		seen: make(map[*code.Node]bool), states: make(map[*code.Node]*State)}
	start := &State{Locals: make([]code.Type, b.MaxLocals)}
	start.enter(&code.Frame{Locals: initial})
	if Slots(initial) > int(b.MaxLocals) {
		return nil, &FlowError{0, "the arguments do not fit in the local variables"}
	}
	if err := w.run(b.First(), start); err != nil {
		return nil, err
	}
	for {
		for len(w.pending) > 0 {
			label := w.pending[len(w.pending)-1]
			w.pending = w.pending[:len(w.pending)-1]
			if err := w.run(label, w.states[label]); err != nil {
				return nil, err
			}
		}
		if !w.seedHandlers() {
			return w.inits, nil
		}
	}
}

// seedHandlers enters handlers no walked block led to with nothing known but the
// exception: their ranges were entered in the middle.
func (w *walker) seedHandlers() bool {
	for i := range w.body.Handlers {
		if h := &w.body.Handlers[i]; w.states[h.Entry] == nil {
			w.jump(h.Entry, &State{Locals: make([]code.Type, w.body.MaxLocals), Stack: []code.Type{w.caught(h)}})
			return true
		}
	}
	return false
}

func (w *walker) caught(h *code.Handler) code.Type {
	if h.Catch != 0 {
		return code.Type{Item: code.Object, Class: h.Catch}
	}
	return w.object("java/lang/Throwable")
}

// jump remembers the state at a label, if it is the first to get there.
func (w *walker) jump(label *code.Node, s *State) {
	if w.states[label] == nil {
		c := new(State)
		c.copyFrom(s)
		w.states[label] = c
		w.pending = append(w.pending, label)
	}
}

// run walks from n until control leaves or a block is met that was walked before.
func (w *walker) run(n *code.Node, from *State) error {
	s := new(State)
	s.copyFrom(from)
	for ; n != nil; n = n.Next() {
		switch n.Kind {
		case code.Label:
			for i := range w.body.Handlers {
				if h := &w.body.Handlers[i]; h.Start == n {
					w.jump(h.Entry, &State{Locals: s.Locals, Stack: []code.Type{w.caught(h)}})
				}
			}
			continue
		case code.FrameMark:
			if w.body.NeedsFrames() {
				s.enter(w.body.Frame(n))
			}
			continue
		case code.Line:
			continue
		}
		if w.seen[n] {
			return nil
		}
		w.seen[n] = true
		if w.visit != nil {
			w.visit(n, s)
		}
		if err := w.step(s, n); err != nil {
			return err
		}
		switch n.Op() {
		case opcode.Tableswitch, opcode.Lookupswitch:
			sw := w.body.Switch(n)
			w.jump(sw.Default, s)
			for _, t := range sw.Targets {
				w.jump(t, s)
			}
		case opcode.Jsr:
			w.jump(n.Target(), s)
			s.pop() // the subroutine comes back without its return address
		default:
			if n.Target() != nil {
				w.jump(n.Target(), s)
			}
		}
		if n.Op().EndsBlock() {
			return nil
		}
	}
	return &FlowError{-1, "control runs off the end of the code"}
}

// BehindBranches returns the frames that hold behind the conditional branches of a
// body whose frames have been told in full, where control falls through: what
// [code.Body.FrameBehind] wants.
func BehindBranches(b *code.Body, m *classfile.Member) (map[*code.Node]code.Frame, error) {
	follows := make(map[*code.Node]*code.Node) // instructions to the branch before
	for n := b.First(); n != nil; n = n.Next() {
		if n.Kind != code.Instruction || !n.Op().IsConditional() {
			continue
		}
		next := n.Next()
		for next != nil && next.Kind != code.Instruction {
			next = next.Next()
		}
		follows[next] = n
	}
	found := make(map[*code.Node]code.Frame, len(follows))
	_, err := Walk(b, m, true, func(n *code.Node, s *State) {
		if branch := follows[n]; branch != nil {
			found[branch] = s.Frame()
		}
	})
	return found, err
}
