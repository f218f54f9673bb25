package callgraph

import (
	"encoding/binary"

	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// Shape is what a method's code looks like, by which one may guess what it takes.
type Shape struct {
	Bytes int  // of instructions
	Loops bool // some branch leads back
	Calls bool // some instruction calls a method
}

// Shape returns the shape of a method, the largest where several classes have its
// name; false where it is not mirrored or has no code.
func (g *Graph) Shape(m Method) (Shape, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	id, ok := g.hierarchy.find(m)
	if !ok || !g.hierarchy.methods[id].code {
		return Shape{}, false
	}
	return g.hierarchy.methods[id].shape, true
}

func (s Shape) or(other Shape) Shape {
	return Shape{Bytes: max(s.Bytes, other.Bytes), Loops: s.Loops || other.Loops, Calls: s.Calls || other.Calls}
}

// shapeOf looks at a body that scan has found whole.
func shapeOf(attribute []byte) Shape {
	size := int(binary.BigEndian.Uint32(attribute[4:]))
	return ShapeOf(attribute[codeHeader : codeHeader+size])
}

// ShapeOf is the shape of a method's instructions, which must be whole: those of a
// class that the JVM has loaded are.
func ShapeOf(body []byte) Shape {
	s := Shape{Bytes: len(body)}
	for at := 0; at < len(body); at += lengthAt(body, at) {
		switch op := opcode.Op(body[at]); {
		case op >= opcode.Ifeq && op <= opcode.Jsr, op == opcode.Ifnull, op == opcode.Ifnonnull:
			s.Loops = s.Loops || int16(binary.BigEndian.Uint16(body[at+1:])) < 0
		case op == opcode.GotoW:
			s.Loops = s.Loops || int32(binary.BigEndian.Uint32(body[at+1:])) < 0
		case op >= opcode.Invokevirtual && op <= opcode.Invokedynamic:
			s.Calls = true
		}
	}
	return s
}
