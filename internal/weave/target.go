package weave

import (
	"bytes"
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/classfile/frames"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// target is the method being woven.
type target struct {
	w      *Weaver
	member *classfile.Member
	body   *code.Body
	name   []byte
	desc   []byte
	ret    []byte // the result's part of desc

	static      bool
	constructor bool
	kind        byte // computational kind of the result, 'V' for none
	args        []argument
	initial     []code.Type // locals at entry
	expanded    bool        // frames list all types

	entry *code.Node // label before everything, where the variables of the arguments begin

	superCall *code.Node // in a constructor, the call that initialises this; nil: it never gets that far
	later     []region   // code after it where this is not initialised either
	slot0     bool       // something is stored in local 0

	id      int32
	idKnown bool
	idEntry uint16 // of the id in the pool, once it is there

	returns []*code.Node
	covered bool                       // some of them are, or may be, in exception blocks
	surplus map[*code.Node][]code.Type // what a return leaves on the stack, if anything
}

// region is a piece of a constructor that runs before the call of super(...): from a
// frame up to such a call, or to a frame that says otherwise, or, where both are nil,
// to the end.
type region struct{ frame, call, until *code.Node }

// argument is one argument of the target, not counting this.
type argument struct {
	desc byte
	slot uint16
	text []byte // descriptor
}

func (g *target) reset(w *Weaver, m *classfile.Member, body *code.Body, name, desc []byte) error {
	_, kind, isValid := descriptor.ArgSlots(desc)
	if !isValid {
		return &classfile.FormatError{Structure: "method descriptor", Detail: "not a method descriptor: " + string(desc)}
	}
	// Field by field: the memory of the lists is kept.
	g.w, g.member, g.body, g.name, g.desc, g.ret = w, m, body, name, desc, desc[bytes.LastIndexByte(desc, ')')+1:]
	g.kind, g.static = KindOf(kind), m.Access.Has(classfile.AccStatic)
	g.args, g.initial = g.args[:0], g.initial[:0]
	g.expanded, g.slot0, g.entry, g.superCall, g.later, g.surplus = false, false, nil, nil, g.later[:0], nil
	g.idKnown, g.idEntry = false, 0
	g.returns = append(g.returns[:0], body.Returns()...)
	g.covered = g.coveredReturns()
	g.constructor = string(name) == "<init>" && w.class.Super != 0
	return nil
}

// prepare finds what every template needs to know before the first one is woven.
func (g *target) prepare() error {
	if string(g.name) == "finalize" && string(g.desc) == "()V" && g.empty() {
		return &Reason{Kind: EmptyFinalizer}
	}
	if !g.constructor && string(g.name) == "<init>" {
		return &Reason{Kind: RootConstructor}
	}
	if g.constructor {
		if err := g.expand(); err != nil {
			return err
		}
		return g.findSuper()
	}
	return nil
}

// empty reports whether the body does nothing but return.
func (g *target) empty() bool {
	for n := g.body.First(); n != nil; n = n.Next() {
		if n.Kind == code.Instruction {
			return n.Op() == opcode.Return
		}
	}
	return false
}

// expand makes the frames list all types, once.
func (g *target) expand() error {
	if g.expanded {
		return nil
	}
	g.expanded = true
	if !g.body.HasFrames() {
		return nil
	}
	if err := g.atEntry(); err != nil {
		return err
	}
	return frames.Expand(g.body, g.initial)
}

// atEntry finds the types of the arguments.
func (g *target) atEntry() (err error) {
	if len(g.initial) == 0 {
		g.initial, err = frames.Initial(g.initial, &g.w.class, g.member)
	}
	return err
}

// arguments finds where the arguments are.
func (g *target) arguments() {
	if len(g.args) > 0 {
		return
	}
	slot := uint16(0)
	if !g.static {
		slot = 1
	}
	_ = descriptor.EachArgument(g.desc, func(field []byte) {
		a := argument{desc: field[0], slot: slot, text: field}
		slot += slotsOf(field[0])
		g.args = append(g.args, a)
	})
}

// findSuper finds the call of super(...) or this(...).
func (g *target) findSuper() error {
	made := 0
	for n := g.body.First(); n != nil; n = n.Next() {
		if n.Kind != code.Instruction {
			continue
		}
		switch {
		case n.Op() >= opcode.Istore && n.Op() <= opcode.Astore && n.Index() == 0:
			g.slot0 = true
		case n.Op() == opcode.New:
			made++
		case n.Op() == opcode.Invokespecial && g.w.initCall(n.Index()):
			if made == 0 {
				if g.caughtBefore(n) {
					return g.searchSuper()
				}
				g.superCall = n
				return g.findLater(nil)
			}
			made--
		case n.Target() != nil || n.Op().EndsBlock():
			return g.searchSuper()
		}
	}
	return g.searchSuper()
}

// caughtBefore reports whether an exception block begins before a call, so that its
// handler may run, and call super(...) itself, while this is not an object yet.
func (g *target) caughtBefore(call *code.Node) bool {
	return slices.ContainsFunc(g.body.Handlers, func(h code.Handler) bool { return h.Start.Offset() < call.Offset() })
}

// searchSuper finds it where control branches before.
func (g *target) searchSuper() error {
	early := make(map[*code.Node]bool) // runs while this is not an object yet
	late := make(map[*code.Node]bool)  // runs after it, and may throw
	inits, err := frames.Walk(g.body, g.member, false, func(n *code.Node, s *frames.State) {
		if uninitialised(s.Locals) || uninitialised(s.Stack) {
			early[n] = true
			g.slot0 = g.slot0 || n.Op() >= opcode.Istore && n.Op() <= opcode.Astore && n.Index() == 0
		} else if !n.Op().IsReturn() && n.Op() != opcode.Goto {
			late[n] = true
		}
	})
	if err != nil || len(inits) == 0 {
		return err
	}
	for n := g.body.First(); n != nil && !slices.Contains(inits, n); n = n.Next() {
		if late[n] {
			return &Reason{OddConstructor, "code that runs after the call stands before it"}
		}
	}
	if !g.body.NeedsFrames() || !g.body.HasFrames() {
		// Without frames it is not known where a block around the rest may begin again.
		for n := inits[0].Next(); n != nil; n = n.Next() {
			if early[n] {
				return &Reason{OddConstructor, "code that runs before the call stands after it"}
			}
		}
	}
	return g.findLater(inits)
}

// findLater finds code that runs before the call of super(...) but stands after it,
// or after the first of several, as the frames show. Compilers put none there, except
// compilers of dynamic languages, whose code chooses among several calls.
func (g *target) findLater(inits []*code.Node) error {
	n := g.superCall
	if n == nil {
		n = g.body.First()
	}
	for before := g.superCall == nil; n != nil; n = n.Next() {
		switch {
		case n.Kind == code.FrameMark && uninitialised(g.body.Frame(n).Locals) && !before:
			before = true
			g.later = append(g.later, region{frame: n})
		case n.Kind == code.FrameMark && before && g.superCall != nil && !uninitialised(g.body.Frame(n).Locals):
			before = false
			g.later[len(g.later)-1].until = n
		case slices.Contains(inits, n) && g.superCall == nil:
			before, g.superCall = false, n
		case slices.Contains(inits, n) && before:
			before = false
			g.later[len(g.later)-1].call = n
		}
	}
	return nil
}

// inOrder reports whether all code of a constructor that runs after the call of
// super(...) stands after it, and all else before: then blocks around it can leave
// out returns one after the other.
func (g *target) inOrder() bool {
	if g.superCall == nil {
		return true
	}
	after := 0
	for n := g.superCall; n != nil; n = n.Next() {
		if n.Kind == code.Instruction && n.Op().IsReturn() {
			after++
		}
	}
	return len(g.later) == 0 && after == len(g.returns)
}

// coveredReturns reports whether a block of the target encloses one of its returns.
// What a copy of the epilog there throws would come to the target's handler. It
// compares offsets, so it must run before the first template is woven.
func (g *target) coveredReturns() bool {
	for i := range g.body.Handlers {
		h := &g.body.Handlers[i]
		for _, n := range g.returns {
			if h.Start.Offset() <= n.Offset() && n.Offset() < h.End.Offset() {
				return true
			}
		}
	}
	return false
}

// deltas are the changes of depth of the opcode table, close together.
var deltas = func() (d [256]int8) {
	for op := range d {
		d[op] = opcode.Op(op).Info().Delta
	}
	return d
}()

// findSurplus finds out what returns leave on the stack in addition to the result. A
// compiler leaves nothing, but the JVM allows it.
func (g *target) findSurplus() error {
	want := int(slotsOf(g.kind))
	depth, known := 0, true
	for n := g.body.First(); n != nil; n = n.Next() {
		if n.Kind != code.Instruction {
			if n.Kind == code.FrameMark {
				depth, known = code.Slots(g.body.Frame(n).Stack), true
			}
			continue
		}
		if n.Op().IsReturn() && (!known || depth != want) {
			return g.walkReturns(want)
		}
		if d := deltas[n.Op()]; d != opcode.UnknownDelta {
			depth += int(d)
		} else {
			depth += g.w.effect(n)
		}
		if n.Op().EndsBlock() {
			// Behind it a class with frames has one; older classes are walked.
			known = false
		}
	}
	return nil
}

// walkReturns is findSurplus by following control.
func (g *target) walkReturns(want int) error {
	if g.body.NeedsFrames() {
		if err := g.expand(); err != nil {
			return err
		}
	}
	_, err := frames.Walk(g.body, g.member, false, func(n *code.Node, s *frames.State) {
		if n.Op().IsReturn() && code.Slots(s.Stack) != want {
			if g.surplus == nil {
				g.surplus = make(map[*code.Node][]code.Type)
			}
			keep := 0
			if want > 0 {
				keep = 1
			}
			g.surplus[n] = append([]code.Type(nil), s.Stack[:max(0, len(s.Stack)-keep)]...)
		}
	})
	return err
}
