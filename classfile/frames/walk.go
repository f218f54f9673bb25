// Package frames tracks the types of local variables and of the operand stack in a body:
// it expands stack-map frames, follows types through instructions, and finds the call
// with which a constructor initialises its object.
//
// It never merges types itself: types at a join come from the frames of the class file.
// If a class is so old that it has none, the state on the first path to a join is used,
// which is enough for depths and uninitialised objects, because those must agree on
// every path.
package frames

import (
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
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

// Walk calls visit for every reachable instruction, with the state before it, in control
// flow order. Frames must be expanded ([Expand]). With resolve set, references have
// their class, for which entries may be added to the constant pool; otherwise all
// objects have the same type. It returns the calls with which a constructor initialises
// its object.
func Walk(b *code.Body, m *classfile.Member, resolve bool, visit func(*code.Node, *State)) ([]*code.Node, error) {
	initial, err := Initial(nil, b.Class, m)
	if err != nil {
		return nil, err
	}
	w := &walker{body: b, resolve: resolve, visit: visit,
		seen: make(map[*code.Node]bool), states: make(map[*code.Node]*State)}
	start := &State{Locals: make([]code.Type, b.MaxLocals)}
	start.enter(&code.Frame{Locals: initial})
	if code.Slots(initial) > int(b.MaxLocals) {
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

// seedHandlers starts at handlers that no walked block reached, with only the exception
// known: their ranges were entered in the middle.
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

// jump records the state at a label, unless one is recorded already.
func (w *walker) jump(label *code.Node, s *State) {
	if w.states[label] == nil {
		c := new(State)
		c.copyFrom(s)
		w.states[label] = c
		w.pending = append(w.pending, label)
	}
}

// run walks from n to the end of the block or to a block that was walked before.
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

// AfterBranches returns the frames after the conditional branches of a body with
// expanded frames, where control falls through, for [code.Body.FrameAfter].
func AfterBranches(b *code.Body, m *classfile.Member) (map[*code.Node]code.Frame, error) {
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

// step changes the state as instruction n does.
func (w *walker) step(s *State, n *code.Node) error {
	pool := &w.body.Class.Pool
	switch op := n.Op(); op {
	case opcode.AconstNull:
		s.push(code.Type{Item: code.Null})
	case opcode.Aload:
		s.push(s.load(n.Index()))
	case opcode.Istore, opcode.Lstore, opcode.Fstore, opcode.Dstore, opcode.Astore:
		s.store(n.Index(), s.pop())
	case opcode.Ldc, opcode.Ldc2W:
		s.push(w.constant(n.Index()))
	case opcode.Aaload:
		s.pop()
		s.push(component(pool, s.pop(), w.resolve))
	case opcode.Pop:
		s.take(1)
	case opcode.Pop2:
		s.take(2)
	case opcode.Swap:
		a, b := s.pop(), s.pop()
		s.push(a)
		s.push(b)
	case opcode.Jsr:
		s.push(code.Type{Item: returnAddress})
	case opcode.Getstatic, opcode.Putstatic, opcode.Getfield, opcode.Putfield:
		return w.field(s, n)
	case opcode.Invokevirtual, opcode.Invokespecial, opcode.Invokestatic, opcode.Invokeinterface, opcode.Invokedynamic:
		return w.invoke(s, n)
	case opcode.New:
		s.push(code.Type{Item: code.Uninitialized, New: w.body.LabelBefore(n)})
	case opcode.Newarray:
		s.pop()
		s.push(w.object(primitiveArray(n.Value())))
	case opcode.Anewarray:
		s.pop()
		s.push(w.arrayOf(n.Index()))
	case opcode.Multianewarray:
		for range n.Value() {
			s.pop()
		}
		s.push(code.Type{Item: code.Object, Class: n.Index()})
	case opcode.Checkcast:
		s.pop()
		s.push(code.Type{Item: code.Object, Class: n.Index()})
	default:
		if d := duplicates[op]; d.top > 0 {
			s.duplicate(d.top, d.skip)
		} else {
			s.apply(op.Info().Effect)
		}
	}
	if !s.ok {
		return &FlowError{n.Offset(), n.Op().String() + " finds the stack or its local variable empty"}
	}
	return nil
}

// duplicates gives how many slots an instruction copies, and below how many slots.
var duplicates = [256]struct{ top, skip int }{
	opcode.Dup: {1, 0}, opcode.DupX1: {1, 1}, opcode.DupX2: {1, 2},
	opcode.Dup2: {2, 0}, opcode.Dup2X1: {2, 1}, opcode.Dup2X2: {2, 2},
}

// apply changes the state by an effect of the opcode table.
func (s *State) apply(effect string) {
	push := false
	for i := range len(effect) {
		switch c := effect[i]; {
		case c == ':':
			push = true
		case !push:
			s.pop()
		default:
			s.push(code.Type{Item: ItemOf(c)})
		}
	}
}

func (w *walker) object(name string) code.Type {
	if !w.resolve {
		return code.Type{Item: code.Object}
	}
	return code.Type{Item: code.Object, Class: w.body.Class.Pool.AddClass(name)}
}

func (w *walker) of(field []byte) code.Type {
	if !w.resolve && len(field) > 0 && (field[0] == 'L' || field[0] == '[') {
		return code.Type{Item: code.Object}
	}
	return Of(&w.body.Class.Pool, field)
}

func (w *walker) arrayOf(class uint16) code.Type {
	name, err := w.body.Class.Pool.ClassName(class)
	if err != nil || len(name) == 0 {
		return code.Type{Item: code.Object}
	}
	if name[0] == '[' {
		return w.object("[" + string(name))
	}
	return w.object("[L" + string(name) + ";")
}

func primitiveArray(atype int32) string {
	const letters = "ZCFDBSIJ" // from atype 4 on
	if atype < 4 || atype > 11 {
		return "[I"
	}
	return "[" + letters[atype-4:atype-3]
}

// constantTypes are the descriptors of constants that have the same type always.
var constantTypes = [256]string{
	classfile.TagInteger: "I", classfile.TagFloat: "F", classfile.TagLong: "J", classfile.TagDouble: "D",
	classfile.TagClass: "Ljava/lang/Class;", classfile.TagString: "Ljava/lang/String;",
	classfile.TagMethodType: "Ljava/lang/invoke/MethodType;", classfile.TagMethodHandle: "Ljava/lang/invoke/MethodHandle;",
}

func (w *walker) constant(index uint16) code.Type {
	pool := &w.body.Class.Pool
	switch tag := pool.Tag(index); tag {
	case classfile.TagDynamic:
		if desc, err := pool.Descriptor(index); err == nil {
			return w.of(desc)
		}
	default:
		return w.of([]byte(constantTypes[tag]))
	}
	return code.Type{}
}

func (w *walker) field(s *State, n *code.Node) error {
	desc, err := w.body.Class.Pool.Descriptor(n.Index())
	if err != nil {
		return err
	}
	if len(desc) == 0 {
		return &FlowError{n.Offset(), "a field with an empty descriptor"}
	}
	if n.Op() == opcode.Putstatic || n.Op() == opcode.Putfield {
		s.pop()
	}
	if n.Op() == opcode.Getfield || n.Op() == opcode.Putfield {
		s.pop()
	}
	if n.Op() == opcode.Getstatic || n.Op() == opcode.Getfield {
		s.push(w.of(desc))
	}
	return nil
}

func (w *walker) invoke(s *State, n *code.Node) error {
	pool := &w.body.Class.Pool
	desc, err := pool.Descriptor(n.Index())
	if err != nil {
		return err
	}
	_, ret, ok := descriptor.ArgSlots(desc)
	if !ok {
		return &FlowError{n.Offset(), "calls with descriptor " + string(desc)}
	}
	if err := descriptor.EachArgument(desc, func([]byte) { s.pop() }); err != nil {
		return err
	}
	if n.Op() != opcode.Invokestatic && n.Op() != opcode.Invokedynamic {
		receiver := s.pop()
		if n.Op() == opcode.Invokespecial {
			w.initialised(s, n, receiver)
		}
	}
	if ret != 'V' {
		end := len(desc) - 1
		for desc[end] != ')' {
			end--
		}
		s.push(w.of(desc[end+1:]))
	}
	return nil
}

// initialised notes that an object is one from now on, if n calls its <init>.
func (w *walker) initialised(s *State, n *code.Node, receiver code.Type) {
	switch receiver.Item {
	case code.UninitializedThis:
		s.initialise(receiver, code.Type{Item: code.Object, Class: w.body.Class.This})
		w.inits = append(w.inits, n)
	case code.Uninitialized:
		class, _, _ := w.body.Class.Pool.Pair(n.Index())
		s.initialise(receiver, code.Type{Item: code.Object, Class: class})
	}
}
