package frames

import (
	"fmt"

	"github.com/sonde-jvm/sonde/classfile/code"
)

// Expand tells every frame of a body in full, as it was lifted: frames that were
// added must be in full already. Frames with the same locals share them, so that
// they can be told apart from those that differ by where they lie.
func Expand(b *code.Body, initial []code.Type) error {
	locals := initial
	list := b.Frames()
	for i := range list {
		f := &list[i]
		switch f.Form {
		case code.SameFrame, code.SameLocals1, code.SameLocals1Far, code.SameFrameFar:
		case code.FullFrame, code.Absolute:
			locals = f.Locals
		case code.ChopFrame, code.ChopFrame + 1, code.ChopFrame + 2:
			drop := int(code.SameFrameFar - f.Form)
			if drop > len(locals) {
				return &FlowError{-1, fmt.Sprintf("frame %d drops %d locals of %d", i, drop, len(locals))}
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
