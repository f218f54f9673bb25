package weave

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/frames"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// Bind returns a template in which the calls Template.condition(n),
// Template.condition(elapsed, n) and Template.value(n) are replaced by the fragments of
// conditions and values. A nil condition always holds; a nil value is null. Fragments are made
// for one method, and so is the bound template.
func (t *Template) Bind(conditions ...Lowered) (*Template, error) {
	bound := *t
	bound.markers = 0
	bound.items, bound.epilog, bound.rest = nil, nil, nil
	bound.constants, bound.frames = slices.Clone(t.constants), slices.Clone(t.frames)
	bound.uses.argsAfter, bound.uses.typed = slices.Clone(t.uses.argsAfter), slices.Clone(t.uses.typed)
	b := binder{Template: &bound, base: t.maxLocals}
	for i := range t.items {
		it := &t.items[i]
		if it.act != actIntrinsic || !isMarker(it.value) {
			bound.items = append(bound.items, *it)
			continue
		}
		if int(it.op) >= len(conditions) {
			return nil, fmt.Errorf("template %s, condition %d: only %d are given", t.name, it.op, len(conditions))
		}
		next := t.items[i+1].act // a template ends with a return, or throws
		if err := b.replace(it, conditions[it.op], next == actLabel || next == actFrame); err != nil {
			return nil, err
		}
	}
	bound.maxStack += b.maxStack
	bound.maxLocals += b.maxLocals
	c := compiler{Template: &bound}
	bound.epilog = c.straightEpilog()
	bound.rest = c.withoutEpilog()
	return &bound, nil
}

// binder inserts fragments into a new template.
type binder struct {
	*Template
	base                uint16 // first of the fragments' variables, which all share
	maxStack, maxLocals uint16
}

// replace replaces a marker by the fragment of a condition. For adjacent labels the frame of
// the last one is used. If a frame of the template follows directly, a nop separates the two:
// no place may have two frames.
func (b *binder) replace(mark *item, c Lowered, followed bool) error {
	misfit := func(why error) error { return fmt.Errorf("template %s, condition %d: %w", b.name, mark.op, why) }
	f, err := fragmentFor(mark, c)
	if err != nil {
		return misfit(err)
	}
	timed := mark.value == doTimedCondition
	switch {
	case f.Timed && !timed:
		return misfit(errors.New("it uses the elapsed time, which the template does not provide"))
	case f.Text != (mark.value == doValue):
		return misfit(errors.New("a value was given for a condition, or a condition for a value"))
	}
	if f.Class != "" {
		only := f.Class + "." + f.Method + f.Descr
		if b.only != "" && b.only != only {
			return misfit(fmt.Errorf("it was made for %s, but another condition for %s", only, b.only))
		}
		b.only = only
	}
	if timed && !f.Timed {
		b.items = append(b.items, item{act: actPlain, op: opcode.Pop2, state: mark.state})
	}
	first := b.labels
	for i := range f.Steps {
		b.step(&f.Steps[i], mark, first)
		if f.Steps[i].Do == DoLabel && (i+1 == len(f.Steps) || f.Steps[i+1].Do != DoLabel) {
			b.items = append(b.items, item{act: actFrame, num: uint16(len(b.frames)), state: mark.state})
			b.frames = append(b.frames, b.frameAt(&f.Steps[i], mark))
		}
	}
	if n := len(f.Steps); followed && n > 0 && f.Steps[n-1].Do == DoLabel {
		b.items = append(b.items, item{act: actPlain, op: opcode.Nop, state: mark.state})
	}
	b.labels += f.Labels
	b.minMajor = max(b.minMajor, f.MinMajor)
	b.maxStack, b.maxLocals = max(b.maxStack, f.MaxStack), max(b.maxLocals, f.MaxLocals)
	return nil
}

func fragmentFor(mark *item, c Lowered) (*Fragment, error) {
	if c == nil {
		always := Step{Do: DoOp, Op: opcode.Iconst1}
		if mark.value == doValue {
			always.Op = opcode.AconstNull
		}
		return &Fragment{Steps: []Step{always}, MaxStack: 1, Text: mark.value == doValue}, nil
	}
	at := AtEntry
	switch mark.state {
	case isAfter:
		at = AtReturn
	case isThrown:
		at = AtThrow
	}
	return c.Lower(at)
}

func (b *binder) step(s *Step, mark *item, first int) {
	it := item{op: s.Op, value: s.Value, state: mark.state}
	switch s.Do {
	case DoLocal:
		it.act, it.num, it.value = actLocal, b.base+uint16(s.Value), 0
	case DoConstant:
		it.act, it.num = actConstant, uint16(b.pool(&s.Const))
	case DoJump:
		it.act, it.num, it.value = actJump, uint16(first+int(s.Value)), 0
	case DoLabel:
		it.act, it.num, it.value = actLabel, uint16(first+int(s.Value)), 0
	case DoArgument:
		kind := primitiveKind(s.Kind)
		b.uses.argument(int(s.Value), kind, mark.state)
		it = item{act: actIntrinsic, value: doArg, num: uint16(s.Value), op: opcode.Op(kind), state: mark.state}
	case DoSelf:
		b.uses.selfBefore = b.uses.selfBefore || mark.state == isBefore
		b.uses.selfAfter = b.uses.selfAfter || mark.state != isBefore
		it = item{act: actIntrinsic, value: doSelf, state: mark.state}
	case DoResult:
		kind := primitiveKind(s.Kind)
		b.uses.result(kind)
		it = item{act: actIntrinsic, value: doResult, op: opcode.Op(kind), state: mark.state}
	case DoThrown:
		b.uses.thrown = true
		it = item{act: actIntrinsic, value: doThrown, state: mark.state}
	}
	b.items = append(b.items, it)
}

// primitiveKind returns 0 for a reference, which is used as it is: only primitives are boxed.
func primitiveKind(kind byte) byte {
	if kind == 'A' {
		return 0
	}
	return kind
}

// frameAt returns the frame at a label of a fragment: that of the marker, extended by the
// variables and stack of the fragment.
func (b *binder) frameAt(s *Step, mark *item) frame {
	there := &b.frames[mark.num]
	f := frame{state: mark.state, locals: slices.Clone(there.locals), stack: slices.Clone(there.stack)}
	next := 0
	for _, t := range f.locals {
		next += code.Type{Item: t.item}.Slots()
	}
	for _, v := range s.Live {
		t := b.typeOf(v.Descriptor)
		for ; next < int(b.base)+int(v.Slot); next++ {
			f.locals = append(f.locals, typ{})
		}
		f.locals = append(f.locals, t)
		next += code.Type{Item: t.item}.Slots()
	}
	for _, desc := range s.Stack {
		f.stack = append(f.stack, b.typeOf(desc))
	}
	return f
}

func (b *binder) typeOf(desc string) typ {
	t := typ{item: frames.ItemOf(desc[0])}
	if t.item == code.Object {
		name := desc
		if desc[0] == 'L' {
			name = desc[1 : len(desc)-1]
		}
		t.class = b.pool(&Constant{Tag: classfile.TagClass, Text: name})
	}
	return t
}

// pool returns the number of a constant of the template, and adds it if needed.
func (b *binder) pool(c *Constant) int {
	for i := range b.constants {
		if b.constants[i].Constant == *c {
			return i
		}
	}
	b.constants = append(b.constants, constant{Constant: *c})
	return len(b.constants) - 1
}
