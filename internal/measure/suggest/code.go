package suggest

import (
	"errors"
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
)

// Code is what class files say.
type Code struct {
	graph   *callgraph.Graph
	classes map[string]*classCode
	uses    map[Method][]Use
}

// classCode is one class.
type classCode struct {
	file       []byte
	methods    []methodCode
	bodies     *callgraph.Bodies // nil until asked for
	unreadable bool
}

// methodCode is one method.
type methodCode struct {
	name, descriptor string
	access           classfile.Access
	bytes            int // of code; 0 where it has none
	monitor          bool
	loops            bool
}

func newCode() *Code {
	return &Code{graph: callgraph.New(callgraph.Settings{Whole: true}), classes: make(map[string]*classCode), uses: make(map[Method][]Use)}
}

var errNameless = errors.New("the class has no name")

// add takes in a class file, which must not change. Of several of a name the first
// counts.
func (c *Code) add(file []byte) error {
	class, err := classfile.Parse(file)
	if err != nil {
		return err
	}
	name := class.Name()
	switch {
	case name == "":
		return errNameless
	case c.classes[name] != nil:
		return nil
	}
	if _, err := c.graph.Add(file); err != nil {
		return err
	}
	known := &classCode{file: file}
	for i := range class.Methods {
		member := &class.Methods[i]
		name, descriptor, err := class.MemberName(member)
		if err != nil {
			return err
		}
		m := methodCode{name: string(name), descriptor: string(descriptor), access: member.Access}
		if body := bodyOf(class, member); body != nil {
			shape := callgraph.ShapeOf(body)
			m.bytes, m.loops = shape.Bytes, shape.Loops
			m.monitor = slices.Contains(body, byte(opcode.Monitorenter)) && enters(class, member)
		}
		known.methods = append(known.methods, m)
	}
	c.classes[name] = known
	return nil
}

// bodyOf are the instructions of a method; nil where it has none.
func bodyOf(class *classfile.Class, member *classfile.Member) []byte {
	attribute := class.Find(member.Attributes, classfile.KindCode)
	if attribute == nil {
		return nil
	}
	contents, err := class.Decode(*attribute)
	if err != nil {
		return nil
	}
	code, is := contents.(*classfile.Code)
	if !is {
		return nil
	}
	return code.Bytes
}

// enters reports whether a method holds an instruction that enters a monitor.
func enters(class *classfile.Class, member *classfile.Member) bool {
	body, err := code.Lift(class, member)
	if err != nil {
		return false
	}
	for n := body.First(); n != nil; n = n.Next() {
		if n.Op() == opcode.Monitorenter {
			return true
		}
	}
	return false
}

// named are the methods of a class that a method stands for.
func (c *Code) named(m Method) (found []*methodCode) {
	class := c.classes[m.Class]
	if class == nil {
		return nil
	}
	for i := range class.methods {
		one := &class.methods[i]
		if one.name == m.Name && (m.Descriptor == "" || one.descriptor == m.Descriptor) {
			found = append(found, one)
		}
	}
	return found
}

// isAlone reports whether a method is the only one of its name that has code.
func (c *Code) isAlone(m Method) bool {
	return len(c.named(m.anyOverload())) == 1
}

// tinyCode is up to how many bytes of code a method has that compilers put into every
// caller. One with a loop is worth a hook all the same.
const tinyCode = 35

func (m *methodCode) isTiny() bool { return m.bytes <= tinyCode && !m.loops }

// isMade tells methods that nobody wrote: bridges, and accessors between nested classes.
func (m *methodCode) isMade() bool {
	return m.access.Has(classfile.AccBridge)
}
