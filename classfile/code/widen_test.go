package code_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// jumps is a body with every kind of jump, forward over a hole and back over it:
// what grows in the hole puts all of them out of reach.
func jumps(major uint16, frames bool) []byte {
	return single(major, func(b *classtest.Builder) []byte {
		body := asm().Op("iload_0").Jump("ifeq", "far").
			Op("aconst_null").Jump("ifnonnull", "far").
			Label("near").Op("iload_0").Jump("ifge", "hole").Jump("goto", "far").
			Label("hole").Op("nop").
			Op("iload_0").Jump("ifgt", "near").
			Label("far").Op("iload_0").Op("ireturn")
		var attributes [][]byte
		if frames {
			near, hole, far := body.At("near"), body.At("hole"), body.At("far")
			attributes = append(attributes, b.Attribute("StackMapTable", uint16(3),
				uint8(near), uint8(hole-near-1), uint8(far-hole-1)))
		}
		return body.Code(b, 1, 1, attributes...)
	})
}

// TestJumpsAreWidened: a goto becomes a goto_w, a conditional branch its inverse
// over one; an older class needs no frames for that.
func TestJumpsAreWidened(t *testing.T) {
	body := liftSingle(t, jumps(49, false))
	fill(body, find(t, body, opcode.Nop, 0), 33000)
	lines := lower(t, body)
	wantLines(t, lines,
		"L0: iload_0", "L1: ifne L3", "L2: goto_w L33013",
		"L3: aconst_null", "L4: ifnull L6", "L5: goto_w L33013",
		"L6: iload_0", "L7: ifge L9", "L8: goto_w L33013",
		"L33010: iload_0", "L33011: ifle L33013", "L33012: goto_w L6", "L33013: iload_0", "L33014: ireturn")
	for _, line := range lines {
		if strings.HasPrefix(line, `attribute "StackMapTable"`) {
			t.Error("a class that needs no frames was given some")
		}
	}
}

// TestWidenedJumpsGetFrames: from Java 6 on, what follows a widened branch has a
// frame: the one that FrameAfter returns, or the one that is there.
func TestWidenedJumpsGetFrames(t *testing.T) {
	body := liftSingle(t, jumps(52, true))
	var asked []int
	body.FrameAfter = func(n *code.Node) (code.Frame, error) {
		asked = append(asked, n.Offset())
		return code.Frame{Form: code.Absolute, Locals: []code.Type{{Item: code.Integer}}}, nil
	}
	fill(body, find(t, body, opcode.Nop, 0), 33000)
	lines := lower(t, body)
	wantLines(t, lines, "L1: ifne L3", "L2: goto_w L33013", "L4: ifnull L6",
		"L3 full locals [int] stack []", "L6 same", "L9 same", "L33013 same, extended")
	if fmt.Sprint(asked) != "[1]" {
		t.Errorf("frames were asked for after the instructions at %v, want only [1]: the others have one", asked)
	}
}

func TestWideningWithoutFramesFails(t *testing.T) {
	for name, after := range map[string]func(*code.Node) (code.Frame, error){
		"nobody to ask": nil,
		"no answer":     func(*code.Node) (code.Frame, error) { return code.Frame{}, errNoFrame },
	} {
		body := liftSingle(t, jumps(52, true))
		body.FrameAfter = after
		fill(body, find(t, body, opcode.Nop, 0), 33000)
		out, err := body.Append([]byte("before"))
		if err == nil || after != nil && !errors.Is(err, errNoFrame) {
			t.Errorf("%s: %v", name, err)
		}
		if string(out) != "before" {
			t.Errorf("%s: %d bytes were written", name, len(out))
		}
	}
}

var errNoFrame = errors.New("no frame is known")

// TestEdgeOfReach: 32,767 bytes forward and 32,768 back fit in two bytes, one more
// does not.
func TestEdgeOfReach(t *testing.T) {
	for _, test := range []struct {
		hole int
		wide bool
	}{{32767 - 3, false}, {32767 - 2, true}} {
		body := liftSingle(t, single(49, func(b *classtest.Builder) []byte {
			return asm().Jump("goto", "far").Op("nop").Label("far").Op("iload_0").Op("ireturn").Code(b, 1, 1)
		}))
		fill(body, find(t, body, opcode.Nop, 0), test.hole-1)
		if got := codeLength(t, body) - test.hole - 2; (got == 5) != test.wide {
			t.Errorf("over %d bytes forward the jump takes %d", test.hole, got)
		}
	}
	for _, test := range []struct {
		hole int
		wide bool
	}{{32768, false}, {32769, true}} {
		body := liftSingle(t, single(49, func(b *classtest.Builder) []byte {
			return asm().Label("top").Op("nop").Jump("goto", "top").Op("iload_0").Op("ireturn").Code(b, 1, 1)
		}))
		fill(body, find(t, body, opcode.Goto, 0), test.hole-1)
		if got := codeLength(t, body) - test.hole - 2; (got == 5) != test.wide {
			t.Errorf("over %d bytes back the jump takes %d", test.hole, got)
		}
	}
}

// TestWideningCascades: one jump that grows puts the next out of reach, and so on.
func TestWideningCascades(t *testing.T) {
	const rows = 50
	body := liftSingle(t, single(48, func(b *classtest.Builder) []byte {
		a := asm()
		for i := range rows {
			a.Jump("jsr", fmt.Sprint("sub", i))
		}
		a.Op("iload_0").Op("ireturn")
		a.Fill(32767-2*(rows-1)-3*rows-2, "nop")
		for i := range rows {
			// Five bytes: each jump spans two bytes more than the one before, which
			// it is inside of, and the last as much as can be.
			a.Label(fmt.Sprint("sub", i)).Op("astore", uint8(1)).Fill(3, "nop")
		}
		return a.Op("ret", uint8(1)).Code(b, 1, 2)
	}))
	before := codeLength(t, body)
	fill(body, find(t, body, opcode.Iload, 0), 1)
	if grown := codeLength(t, body) - before - 1; grown != 2*rows {
		t.Errorf("%d jumps grew by %d bytes, want all by two", rows, grown)
	}
	lower(t, body)
}
