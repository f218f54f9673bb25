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
	name       string
	minMajor   uint16 // class-file version its instructions and constants need
	maxStack   uint16
	maxLocals  uint16
	items      []item
	labels     int
	handlers   []block
	switches   []choice
	frames     []frame
	across     []typ // the template's locals while the target runs
	constants  []constant
	markers    int    // calls that Bind is to replace
	only       string // the one method it may be woven around, class.name(descriptor); "" for any
	afterSuper bool   // in a constructor its prolog runs after super(...)
	named      bool   // it has an id of its own, which is the next, whatever method it is woven around
	id         int32
	records    []int32 // what the records of a user's template are called with, by number
	uses       uses
	epilog     []item // what runs between the target and the return, where that is short and straight
	rest       []item // and what else stands after the target then
}

// Name returns the class and method the template was made from.
func (t *Template) Name() string { return t.name }

// As returns the same template with an id of its own: its Template.methodId() is id,
// where it else is that of the method it is woven around. So the calls of
// several templates around one method can be distinguished.
func (t *Template) As(id int32) *Template {
	named := *t // what it points to is never modified, so both may have it
	named.named, named.id = true, id
	return &named
}

// AfterSuper returns the same template with its prolog, in constructors, right after
// the call of super(...) or this(...), where its exception blocks begin too: so an epilog
// always follows the prolog. The prolog must not branch.
func (t *Template) AfterSuper() *Template {
	later := *t
	later.afterSuper = true
	return &later
}

// uses says what the template wants of its target.
type uses struct {
	highestArg   int   // highest argument number, -1 for none
	argsAfter    []int // arguments read after the sentinel
	selfBefore   bool
	selfAfter    bool
	thrown       bool
	holdsMonitor bool // a lock, while the target runs
	mixes        bool // code that runs both before the target and after it
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
			return nil, &TemplateError{Template: c.Name(), Detail: "has several template methods; say which, as CLASS:METHOD"}
		}
		found = m
	}
	switch {
	case found == nil && method != "":
		return nil, &TemplateError{Template: c.Name(), Detail: "has no method " + method}
	case found == nil:
		return nil, &TemplateError{Template: c.Name(), Detail: "no method of it calls Template.target()"}
	}
	name, desc, _ := c.MemberName(found)
	if found.Access.Has(classfile.AccSynchronized) {
		return nil, &TemplateError{Template: c.Name() + "." + string(name), Detail: "is synchronized, and its lock would be lost; lock inside it"}
	}
	if string(desc) != "()V" || !found.Access.Has(classfile.AccStatic) {
		return nil, &TemplateError{Template: c.Name() + "." + string(name), Detail: "must be static, without arguments and void"}
	}
	return found, nil
}

func callsSentinel(c *classfile.Class, m *classfile.Member) bool {
	b, err := code.Lift(c, m)
	if b == nil || err != nil {
		return false
	}
	for n := b.First(); n != nil; n = n.Next() {
		if isSentinel(c, n) {
			return true
		}
	}
	return false
}

// SiteTemplate is a template for single calls: what it calls its target is one call
// instruction, in the middle of a method. Like a Template it is never modified.
type SiteTemplate struct{ t *Template }

// Name returns the class and method the template was made from.
func (t *SiteTemplate) Name() string { return t.t.name }

// CompileSiteTemplate makes a template for calls of a static method, as
// CompileTemplate does. Such a template may ask for Template.methodId(), which is
// the call's id, and for nothing else: arguments and result stay on the stack.
func CompileSiteTemplate(class []byte, method string) (*SiteTemplate, error) {
	t, err := CompileTemplate(class, method)
	if err != nil {
		return nil, err
	}
	refuse := func(detail string) (*SiteTemplate, error) {
		return nil, &TemplateError{Template: t.name, Detail: detail}
	}
	returns := false
	for _, it := range t.items {
		if it.act == actIntrinsic && it.value != doMethodID {
			return refuse("asks for more than Template.methodId(), which is all that is known of a call")
		}
		returns = returns || it.act == actReturn
	}
	for _, f := range t.frames {
		if f.state != isBefore && f.state != isAfter && f.state != isThrown {
			return refuse("has code that runs in several of these cases: before a call, after it returned, after it threw")
		}
	}
	if !returns {
		return refuse("never returns, so that nothing after the call would run")
	}
	return &SiteTemplate{t}, nil
}

// afterTarget returns the number of the item before which what the call left on the
// stack is put aside: right after the call, or after the labels there, where all
// they do is to end blocks. Where a frame follows, something jumps to them.
func (t *Template) afterTarget() int {
	at := 0
	for t.items[at].act != actTarget {
		at++
	}
	at++
	first := at
	for at < len(t.items) && t.items[at].act == actLabel {
		at++
	}
	if at < len(t.items) && t.items[at].act == actFrame {
		return first
	}
	return at
}

// Moment is when a fragment runs.
type Moment uint8

// The moments: before the target, after it, and after it threw.
const (
	AtEntry Moment = iota
	AtReturn
	AtThrow
)

// Lowered is what a template can be bound to: something that gives code of its own
// for a moment, the same every time it is asked.
type Lowered interface {
	Lower(at Moment) (*Fragment, error)
}

// Fragment is code that takes the place of one call of Template.condition(...) or
// Template.value(...). It finds the stack as the call does, puts one value on top and
// leaves everything else as it was. It has local variables of its own, numbered from
// 0, which are forgotten after it. It falls through its end.
//
// Where the call passes the elapsed time and Timed is set, the time is on the stack
// when the fragment begins, which is to take it.
type Fragment struct {
	Class     string // internal name; with the next two the one method the fragment may go into
	Method    string
	Descr     string
	Steps     []Step
	Labels    int    // how many there are, numbered from 0
	MaxStack  uint16 // on top of what is there
	MaxLocals uint16
	MinMajor  uint16 // class-file version it needs
	Timed     bool
	Text      bool // it leaves a String; else an int
}

// Calls reports whether the fragment calls a method of a class that is meant.
func (f *Fragment) Calls(isMeant func(class string) bool) bool {
	for i := range f.Steps {
		s := &f.Steps[i]
		if s.Do == DoConstant && s.Op >= opcode.Invokevirtual && s.Op <= opcode.Invokeinterface && isMeant(s.Const.Text) {
			return true
		}
	}
	return false
}

// Step is one instruction of a fragment, or a label.
type Step struct {
	Do    Do
	Op    opcode.Op
	Value int32    // immediate operand, variable, label or argument number, by Do
	Kind  byte     // of what an argument or result is: one of "IJFDA"
	Const Constant // what Op names
	Live  []Variable
	Stack []string // at a label, descriptors of what the fragment has on the stack
}

// Do is what a step does.
type Do uint8

// What steps do.
const (
	DoOp       Do = iota // Op with Value as its immediate operand
	DoLocal              // Op on variable Value
	DoConstant           // Op with Const; Value is an invokeinterface's count
	DoJump               // Op to label Value
	DoLabel              // label Value; the variables in Live hold something whichever way led here, of labels that stand together the last one's
	DoArgument           // push the target's argument Value, counted from 0
	DoSelf               // push its this
	DoResult             // push its result
	DoThrown             // push what it threw
)

// Variable is a variable of a fragment that holds a value of a type.
type Variable struct {
	Slot       int32
	Descriptor string
}

// Constant is an entry for the constant pool: a Class or String with its text, a
// member with class, name and descriptor, or a number as the pool encodes it. Texts
// are modified UTF-8.
type Constant struct {
	Tag               classfile.Tag
	Text, Name, Descr string
	Raw               string
}
