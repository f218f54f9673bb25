package frames

import (
	"fmt"

	"github.com/sonde-jvm/sonde/classfile/code"
)

// Expand tells every frame of a body in full. Frames with the same locals share
// them, so that they can be told apart from those that differ by where they lie.
func Expand(b *code.Body, initial []code.Type) error {
	locals := initial
	for n := b.First(); n != nil; n = n.Next() {
		if n.Kind != code.FrameMark {
			continue
		}
		f := b.Frame(n)
		switch f.Form {
		case code.SameFrame, code.SameLocals1, code.SameLocals1Far, code.SameFrameFar:
		case code.FullFrame, code.Absolute:
			locals = f.Locals
		case code.ChopFrame, code.ChopFrame + 1, code.ChopFrame + 2:
			drop := int(code.SameFrameFar - f.Form)
			if drop > len(locals) {
				return &FlowError{n.Offset(), fmt.Sprintf("a frame drops %d locals of %d", drop, len(locals))}
			}
			locals = locals[: len(locals)-drop : len(locals)-drop]
		default:
			more := b.NewTypes(len(locals) + len(f.Locals))
			copy(more[copy(more, locals):], f.Locals)
			locals = more
		}
		f.Form, f.Locals = code.Absolute, locals
	}
	return nil
}
