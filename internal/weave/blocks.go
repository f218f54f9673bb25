package weave

import (
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// gap is a piece of the target that no block may enclose, a copy of the epilog or
// code that runs before super(...): blocks end before it and, unless the target ends
// with it, begin again behind.
type gap struct{ end, begin *code.Node }

// beginning returns the label from which on blocks may enclose the target: its
// first instruction, or, in a constructor, where this has become an object, behind
// the copy of it that the template wants. It is nil where that never happens, and
// where nobody asks.
func (s *splice) beginning() *code.Node {
	b := s.body
	if !s.constructor {
		if !s.t.uses.thrown {
			return nil // the template's own labels do
		}
		l := b.NewLabel()
		b.InsertBefore(b.First(), l)
		return l
	}
	if s.superCall == nil {
		return nil
	}
	for _, r := range s.later {
		g := gap{end: b.NewLabel()}
		b.InsertBefore(r.frame, g.end)
		switch {
		case r.call != nil:
			g.begin = s.afterSuper(r.call)
		case r.until != nil:
			g.begin = b.NewLabel()
			b.InsertBefore(r.until, g.begin)
		}
		s.gaps = append(s.gaps, g)
	}
	return s.afterSuper(s.superCall)
}

// afterSuper keeps a copy of this behind a call of super(...), if one is wanted, and
// returns a label behind that.
func (s *splice) afterSuper(call *code.Node) *code.Node {
	b := s.body
	at := call
	if s.self != 0 {
		load, store := b.NewIndexed(opcode.Aload, 0), b.NewIndexed(opcode.Astore, s.self)
		b.InsertAfter(at, load)
		b.InsertAfter(load, store)
		at = store
	}
	l := b.NewLabel()
	b.InsertAfter(at, l)
	return l
}

// blocks adds the template's exception blocks behind, so around, the target's.
func (s *splice) blocks() {
	if s.t.uses.thrown && s.begin != nil {
		s.addAround(code.Handler{Start: s.begin, End: s.note, Entry: s.note})
	}
	for i := range s.t.handlers {
		k := &s.t.handlers[i]
		h := code.Handler{Start: s.label(k.start), End: s.end, Entry: s.label(k.entry)}
		if !k.around || !s.inline {
			h.End = s.label(k.end)
		}
		if k.catch >= 0 {
			h.Catch = s.w.constant(s.t, s.im, k.catch)
		}
		if !k.around {
			s.addBlock(h)
			continue
		}
		if s.constructor {
			if s.begin == nil {
				continue
			}
			h.Start = s.begin
		}
		s.addAround(h)
	}
}

// addAround adds a block around the target, in pieces that leave epilogs out.
func (s *splice) addAround(h code.Handler) {
	end := h.End
	for _, g := range s.gaps {
		h.End = g.end
		s.addBlock(h)
		if h.Start = g.begin; h.Start == nil {
			return // the target ends here
		}
	}
	h.End = end
	s.addBlock(h)
}

// addBlock adds a block unless it is empty, which no class file may have.
func (s *splice) addBlock(h code.Handler) {
	for n := h.Start; n != nil && n != h.End; n = n.Next() {
		if n.Kind == code.Instruction {
			s.body.Handlers = append(s.body.Handlers, h)
			return
		}
	}
}

// noteThrown adds code that remembers what the target throws and throws it on. It
// stands right behind the target, inside the template's blocks around it.
func (s *splice) noteThrown() {
	b := s.body
	s.note = b.NewLabel()
	b.InsertBefore(nil, s.note)
	if b.NeedsFrames() {
		throwable := code.Type{Item: code.Object, Class: s.w.class.Pool.AddClass("java/lang/Throwable")}
		f := s.frame(isThrown, s.t.across, nil)
		f.Stack = []code.Type{throwable}
		b.InsertBefore(nil, b.NewFrame(f))
	}
	b.InsertBefore(nil, b.NewOp(opcode.Dup))
	b.InsertBefore(nil, b.NewIndexed(opcode.Astore, s.thrown))
	b.InsertBefore(nil, b.NewOp(opcode.Athrow))
}
