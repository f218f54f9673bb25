package weave

import (
	"unsafe"

	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/frames"
)

// extendFrames gives the target's frames the variables that live across it.
func (s *splice) extendFrames() error {
	b := s.body
	if !b.NeedsFrames() {
		return nil
	}
	branches := s.prologBranches()
	if branches {
		if err := s.atEntry(); err != nil {
			return err
		}
		if err := s.fitsLocals(s.initial); err != nil {
			return err
		}
	}
	// A frame of the prolog comes before the target's first, which can then no longer
	// be told relative to the method's entry.
	lives := len(s.t.across) > 0 || s.t.uses.thrown || s.self != 0 || len(s.kept) > 0
	if !b.HasFrames() || !branches && !lives {
		return nil
	}
	if err := s.expand(); err != nil {
		return err
	}
	var had, have []code.Type
	list := b.Frames()
	for i := range list {
		f := &list[i]
		// Frames that share their locals go on sharing them.
		if have == nil || len(f.Locals) != len(had) || unsafe.SliceData(f.Locals) != unsafe.SliceData(had) {
			had = f.Locals
			if err := s.fitsLocals(had); err != nil {
				return err
			}
			have = s.locals(had, s.t.across, s.constructor && uninitialised(had), false)
		}
		f.Locals = have
	}
	return nil
}

// fitsLocals demands that a frame speaks of no more slots than the target has: those
// behind are the template's.
func (s *splice) fitsLocals(locals []code.Type) error {
	if n := frames.Slots(locals); n > int(s.base) {
		return &Reason{Malformed, "a frame has " + itoa(n) + " slots, the body " + itoa(int(s.base))}
	}
	return nil
}

// prologBranches reports whether a frame of the template stands before the target,
// so that it must tell the target's arguments.
func (s *splice) prologBranches() bool {
	for i := range s.t.frames {
		if s.t.frames[i].state == isBefore {
			return true
		}
	}
	return false
}

func uninitialised(locals []code.Type) bool {
	for _, t := range locals {
		if t.Item == code.UninitializedThis {
			return true
		}
	}
	return false
}

// frame returns a frame for a point of the template.
func (s *splice) frame(at state, locals, stack []typ) code.Frame {
	var target []code.Type
	if at == isBefore {
		target = s.initial
	}
	f := code.Frame{Form: code.Absolute,
		Locals: s.locals(target, locals, s.constructor && at == isBefore, at == isAfter)}
	if len(stack) > 0 {
		f.Stack = s.body.NewTypes(len(stack))
		for i, t := range stack {
			f.Stack[i] = s.typ(t)
		}
	}
	return f
}

// locals lists local variables: the target's, then the template's, then the
// weaver's own, with gaps filled. An object that is not one yet cannot have been
// copied; the result is there only behind the target.
func (s *splice) locals(target []code.Type, template []typ, uninitialised, result bool) []code.Type {
	extra := 0
	if s.t.uses.thrown || s.self != 0 || len(s.kept) > 0 || result && s.kind != 'V' {
		extra = int(s.t.maxLocals) + 3 + len(s.kept)
	}
	if len(target)+len(template)+extra == 0 {
		return nil
	}
	gap := int(s.base) - frames.Slots(target)
	list := s.body.NewTypes(len(target) + gap + len(template) + extra)[:0]
	list = append(list, target...)
	next := s.base
	list = appendTop(list, gap)
	for _, t := range template {
		v := s.typ(t)
		list = append(list, v)
		next += uint16(v.Slots())
	}
	put := func(slot uint16, t code.Type) {
		list = appendTop(list, int(slot)-int(next))
		list = append(list, t)
		next = slot + uint16(t.Slots())
	}
	if s.t.uses.thrown {
		put(s.thrown, code.Type{Item: code.Object, Class: s.w.class.Pool.AddClass("java/lang/Throwable")})
	}
	if s.self != 0 && !uninitialised {
		put(s.self, code.Type{Item: code.Object, Class: s.w.class.This})
	}
	for _, k := range s.kept {
		put(k.slot, k.typ)
	}
	if result && s.kind != 'V' {
		put(s.result, s.resultType())
	}
	for len(list) > 0 && list[len(list)-1].Item == code.Top {
		list = list[:len(list)-1]
	}
	return list
}

func appendTop(list []code.Type, n int) []code.Type {
	for range n {
		list = append(list, code.Type{})
	}
	return list
}

func (s *splice) resultType() code.Type {
	if s.resultTyp.Item == code.Top {
		s.resultTyp = frames.Of(&s.w.class.Pool, s.ret)
	}
	return s.resultTyp
}

// typ turns a type of the template into one of the class being woven.
func (s *splice) typ(t typ) code.Type {
	switch t.item {
	case code.Object:
		return code.Type{Item: t.item, Class: s.w.constant(s.t, s.im, t.class)}
	case code.Uninitialized:
		return code.Type{Item: t.item, New: s.label(t.label)}
	}
	return code.Type{Item: t.item}
}
