package weave

import (
	"fmt"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// Template is a compiled template. It is never modified once made, and may be used
// by many weavers at once.
type Template struct {
	name      string
	minMajor  uint16 // class-file version its instructions and constants need
	maxStack  uint16
	maxLocals uint16
	items     []item
	labels    int
	handlers  []block
	switches  []choice
	frames    []frame
	across    []typ // the template's locals while the target runs
	constants []constant
	markers   int    // calls that Bind is to replace
	only      string // the one method it may be woven around, class.name(descriptor); "" for any
	behind    bool   // in a constructor its prolog runs behind super(...)
	named     bool   // it has an id of its own, which is the next, whatever method it is woven around
	id        int32
	uses      uses
	epilog    []item // what runs between the target and the return, where that is short and straight
	rest      []item // and what else stands behind the target then
}

// Name returns the class and method the template was made from.
func (t *Template) Name() string { return t.name }

// As returns the same template with an id of its own: its Template.methodId() is id,
// where it else is that of the method it is woven around. So several templates around
// one method can tell their calls apart.
func (t *Template) As(id int32) *Template {
	named := *t // what it points to is never modified, so both may have it
	named.named, named.id = true, id
	return &named
}

// BehindSuper returns the same template with its prolog, in constructors, right behind
// the call of super(...) or this(...), where its blocks begin too: whatever happens
// before, what the prolog begins is ended. Its prolog must not branch.
func (t *Template) BehindSuper() *Template {
	later := *t
	later.behind = true
	return &later
}

// uses says what the template wants of its target.
type uses struct {
	highestArg   int   // highest argument number, -1 for none
	argsAfter    []int // arguments read behind the sentinel
	selfBefore   bool
	selfAfter    bool
	thrown       bool
	holdsMonitor bool // a lock, while the target runs
	mixes        bool // code that runs both before the target and behind it
	boxes        bool
	typed        []wanted // what it wants unboxed
}

// wanted is an argument or result that must be of one computational kind.
type wanted struct {
	arg  int // -1: the result
	kind byte
}

// item is one node of a template, with references by number.
type item struct {
	act   act
	op    opcode.Op
	state state
	num   uint16 // slot, constant, label, frame, switch or intrinsic argument, by act
	value int32
}

type act uint8

const (
	actPlain     act = iota // op with value
	actLocal                // op on slot num
	actConstant             // op with constant num
	actJump                 // op to label num
	actLabel                // label num
	actFrame                // frame num
	actSwitch               // op with switch num
	actTarget               // the target goes here
	actReturn               // the method returns
	actIntrinsic            // value says which
)

// block, choice, frame and typ are code's Handler, Switch, Frame and Type with
// labels and constants by number.
type block struct {
	start, end, entry uint16
	catch             int  // constant, -1 for all
	around            bool // the sentinel is inside
}

type choice struct {
	other   uint16
	keys    []int32
	targets []uint16
}

type frame struct {
	state         state
	locals, stack []typ
}

type typ struct {
	item  code.Item
	class int    // constant, of an Object
	label uint16 // of an Uninitialized
}

// CompileTemplate makes a template of a static method; where the name is empty, of
// the only one that calls the sentinel.
func CompileTemplate(class []byte, method string) (*Template, error) {
	c, err := classfile.Parse(class)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	m, err := findTemplate(c, method)
	if err != nil {
		return nil, err
	}
	name, _, err := c.MemberName(m)
	if err != nil {
		return nil, err
	}
	t := &Template{name: c.Name() + "." + string(name), minMajor: 45}
	t.uses.highestArg = -1
	comp := compiler{Template: t, class: c, member: m}
	if err := comp.compile(); err != nil {
		return nil, err
	}
	return t, nil
}

func findTemplate(c *classfile.Class, method string) (*classfile.Member, error) {
	var found *classfile.Member
	for i := range c.Methods {
		m := &c.Methods[i]
		name, _, err := c.MemberName(m)
		if err != nil {
			return nil, err
		}
		if method != "" && string(name) != method {
			continue
		}
		if method == "" && !callsSentinel(c, m) {
			continue
		}
		if found != nil {
			return nil, &TemplateError{c.Name(), "has several template methods; say which, as CLASS:METHOD"}
		}
		found = m
	}
	switch {
	case found == nil && method != "":
		return nil, &TemplateError{c.Name(), "has no method " + method}
	case found == nil:
		return nil, &TemplateError{c.Name(), "no method of it calls Template.target()"}
	}
	name, desc, _ := c.MemberName(found)
	if found.Access.Has(classfile.AccSynchronized) {
		return nil, &TemplateError{c.Name() + "." + string(name), "is synchronized, and its lock would be lost; lock inside it"}
	}
	if string(desc) != "()V" || !found.Access.Has(classfile.AccStatic) {
		return nil, &TemplateError{c.Name() + "." + string(name), "must be static, without arguments and void"}
	}
	return found, nil
}

func callsSentinel(c *classfile.Class, m *classfile.Member) bool {
	b, err := code.Lift(c, m)
	if b == nil || err != nil {
		return false
	}
	for n := b.First(); n != nil; n = n.Next() {
		if which, ok := intrinsicCall(c, n); ok && which == doTarget {
			return true
		}
	}
	return false
}
