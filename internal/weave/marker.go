package weave

import (
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/frames"
)

// mostMarkers is how many conditions, or values, a template can tell apart.
const mostMarkers = 32

// isMarker reports whether an intrinsic is to be replaced by a fragment.
func isMarker(what int32) bool { return what >= doCondition && what <= doValue }

// mark turns a call that a fragment will replace into an item, whose num is the frame
// that holds there and whose op is the number of the condition.
func (c *compiler) mark(n *code.Node, it item) (item, error) {
	no, ok := c.takeInt()
	if !ok || no < 0 || no >= mostMarkers {
		return it, c.refuse("has a condition or value whose number is not a constant from 0 to " + itoa(mostMarkers-1))
	}
	if it.state != isBefore && it.state != isAfter && it.state != isThrown {
		return it, c.refuse("has a condition or value where it is open whether the target has run, returned or thrown")
	}
	if c.marked == nil {
		if err := c.followMarkers(); err != nil {
			return it, err
		}
	}
	at, ok := c.marked[n]
	if !ok {
		return it, c.refuse("has a condition or value that is never reached")
	}
	f := frame{state: it.state}
	var err error
	if f.locals, err = c.types(at.Locals); err != nil {
		return it, err
	}
	arguments := 1
	if it.value == doTimedCondition {
		arguments++
	}
	if f.stack, err = c.types(at.Stack[:len(at.Stack)-arguments]); err != nil {
		return it, err
	}
	it.op, it.num = opcodeNumber(no), uint16(len(c.frames))
	c.frames = append(c.frames, f)
	c.markers++
	return it, nil
}

// followMarkers finds what stands in variables and on the stack where markers are.
func (c *compiler) followMarkers() error {
	c.marked = make(map[*code.Node]code.Frame)
	_, err := frames.Walk(c.body, c.member, true, func(n *code.Node, s *frames.State) {
		if k, ok := lookupIntrinsic(c.class, n); ok && isMarker(k.what) {
			c.marked[n] = s.Frame()
		}
	})
	return err
}
