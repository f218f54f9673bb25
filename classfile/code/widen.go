package code

import (
	"fmt"

	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// firstWithFrames is the first class-file version whose verifier reads stack maps.
const firstWithFrames = 50

// NeedsFrames reports whether the class's verifier reads stack maps.
func (b *Body) NeedsFrames() bool { return b.Class.Major >= firstWithFrames }

// widen gives every jump in lowered.far a form that reaches its target: goto_w,
// jsr_w, and for a conditional branch its inverse over a goto_w.
//
//	ifeq far             ifne near
//	                     goto_w far
//	             near:   (frame)
func (b *Body) widen() error {
	for _, n := range b.lowered.far {
		if !n.op.IsConditional() {
			n.form = wide
			continue
		}
		near := b.NewLabel()
		var mark *Node
		if b.NeedsFrames() && !b.framed(n.next) {
			if b.FrameBehind == nil {
				return malformed(n.op.String(), int(n.pos), "jumps too far, and no frame is known for what a longer jump needs")
			}
			f, err := b.FrameBehind(n)
			if err != nil {
				return fmt.Errorf("a frame behind a far jump: %w", err)
			}
			mark = b.NewFrame(f)
		}
		jump := b.NewJump(opcode.Goto, n.target)
		jump.form = wide
		b.InsertAfter(n, jump)
		b.InsertAfter(jump, near)
		if mark != nil {
			b.InsertAfter(near, mark)
		}
		n.op, n.target = n.op.Inverse(), near
	}
	return nil
}

// framed reports whether the instruction that n leads to has a frame.
func (b *Body) framed(n *Node) bool {
	for ; n != &b.root && n.Kind != Instruction; n = n.next {
		if n.Kind == FrameMark {
			return true
		}
	}
	return false
}
