package weave

import (
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// Moment is when a fragment runs.
type Moment uint8

// The moments: before the target, behind it, and after it threw.
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
// 0, which are forgotten behind it. It falls through its end.
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
	Raw               []byte
}

// same reports whether two constants are one.
func (k *constant) same(c *Constant) bool {
	return k.tag == c.Tag && k.text == c.Text && k.name == c.Name && k.desc == c.Descr && string(k.raw) == string(c.Raw)
}
