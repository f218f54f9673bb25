package weave

import (
	"slices"

	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// state is what may have happened to the target when control is at a point of the template: a
// set of three facts.
type state uint8

const (
	isBefore state = 1 << iota // the target has not begun
	isAfter                    // it has returned
	isThrown                   // it has thrown
)

// flow finds the state at every node of a template by following control until nothing
// changes. Templates are small, so the order of visits does not matter.
//
// In a constructor a block around the sentinel does not enclose what stands before it.
func flow(b *code.Body, sentinel *code.Node, constructor bool) map[*code.Node]state {
	at := make(map[*code.Node]state) // before a node
	reach := func(n *code.Node, s state) bool {
		if at[n]|s == at[n] {
			return false
		}
		at[n] |= s
		return true
	}
	reach(b.First(), isBefore)
	for changed := true; changed; {
		changed = false
		inside := make(map[*code.Handler]bool)
		before := true
		for n := b.First(); n != nil; n = n.Next() {
			if n.Kind == code.Label {
				for i := range b.Handlers {
					h := &b.Handlers[i]
					if h.Start == n || h.End == n {
						inside[h] = h.Start == n
					}
				}
			}
			before = before && n != sentinel
			s := at[n]
			if s == 0 {
				continue
			}
			out := s
			if n == sentinel {
				out = isAfter
			}
			for h, in := range inside {
				if constructor && before && encloses(h, sentinel) {
					continue
				}
				if in && n.Kind == code.Instruction {
					if n == sentinel {
						s = isThrown
					}
					changed = reach(h.Entry, s) || changed
				}
			}
			for _, t := range targets(b, n) {
				changed = reach(t, out) || changed
			}
			ends := n.Kind == code.Instruction && n.Op().EndsBlock()
			if next := n.Next(); next != nil && !ends {
				changed = reach(next, out) || changed
			}
		}
	}
	return at
}

func encloses(h *code.Handler, n *code.Node) bool {
	for at := h.Start; at != nil && at != h.End; at = at.Next() {
		if at == n {
			return true
		}
	}
	return false
}

// mixes reports whether a template, in a constructor, has code that is reached both before
// and after the target, where this is not initialised and is initialised, or code that runs
// before the target and is placed after it, where the blocks of an outer template would
// enclose it.
func mixes(b *code.Body, sentinel *code.Node) bool {
	states := flow(b, sentinel, true)
	after := false
	for n := b.First(); n != nil; n = n.Next() {
		if s := states[n]; s&isBefore != 0 && (s != isBefore || after && n.Kind == code.Instruction) {
			return true
		}
		after = after || n == sentinel
	}
	return false
}

func targets(b *code.Body, n *code.Node) []*code.Node {
	switch {
	case n.Kind != code.Instruction:
		return nil
	case n.Op() == opcode.Tableswitch || n.Op() == opcode.Lookupswitch:
		s := b.Switch(n)
		return append([]*code.Node{s.Default}, s.Targets...)
	case n.Target() != nil:
		return []*code.Node{n.Target()}
	}
	return nil
}

// mostMarkers is the number of different conditions and values of a template.
const mostMarkers = 32

// isMarker reports whether an intrinsic is to be replaced by a fragment.
func isMarker(what int32) bool { return what >= doCondition && what <= doValue }

// mark completes the item of a call that a fragment will replace: num is the frame at the
// call, and op the number of the condition.
func (c *compiler) mark(n *code.Node, it item) (item, error) {
	no, ok := c.takeInt()
	if !ok || no < 0 || no >= mostMarkers {
		return it, c.refuse("has a condition or value whose number is not a constant from 0 to " + itoa(mostMarkers-1))
	}
	if it.state != isBefore && it.state != isAfter && it.state != isThrown {
		return it, c.refuse("has a condition or value where it is not known whether the target has run, returned or thrown")
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
	it.op, it.num = opcode.Op(no), uint16(len(c.frames))
	c.frames = append(c.frames, f)
	c.markers++
	return it, nil
}

// longestCopy is the largest number of instructions of an epilog that is copied to every
// return of the target.
const longestCopy = 8

// straightEpilog returns the instructions between the target's end and the template's return
// if they are few, always the same, in no exception block and do not use the result; else nil.
// Such an epilog is copied to each return, as a compiler does with a finally block: the result
// stays on the stack, and no jump, variable or frame is needed.
func (c *compiler) straightEpilog() []item {
	place := make(map[uint16]int) // of labels among the items
	at := 0
	for i, it := range c.items {
		switch it.act {
		case actLabel:
			place[it.num] = i
		case actTarget:
			at = i
		}
	}
	epilog := []item{} // may well be empty, and is not nil then
	for at++; at < len(c.items) && len(epilog) <= longestCopy; at++ {
		it := c.items[at]
		if it.act != actLabel && c.inBlock(at, place) {
			return nil
		}
		switch it.act {
		case actReturn:
			return epilog
		case actLabel, actFrame:
		case actJump:
			if it.op != opcode.Goto || place[it.num] < at {
				return nil
			}
			at = place[it.num]
		case actPlain, actLocal, actConstant:
			if it.op.EndsBlock() {
				return nil
			}
			epilog = append(epilog, it)
		case actIntrinsic:
			if it.value == doResult {
				return nil
			}
			epilog = append(epilog, it)
		default:
			return nil
		}
	}
	return nil
}

// inBlock reports whether an item is in an exception block of the template.
func (c *compiler) inBlock(at int, place map[uint16]int) bool {
	return slices.ContainsFunc(c.handlers, func(b block) bool { return place[b.start] < at && at < place[b.end] })
}

// withoutEpilog returns the items after the target that remain when every return has its own
// epilog: the code that runs when the target throws.
func (c *compiler) withoutEpilog() []item {
	used := make(map[uint16]bool)
	for _, b := range c.handlers {
		used[b.start], used[b.entry] = true, true
		used[b.end] = used[b.end] || !b.around
	}
	for _, it := range c.items {
		if it.act == actJump && it.state != isAfter {
			used[it.num] = true
		}
	}
	for _, f := range c.frames {
		for _, t := range append(append([]typ(nil), f.locals...), f.stack...) {
			if t.item == code.Uninitialized {
				used[t.label] = true
			}
		}
	}
	var rest []item
	after := false
	for _, it := range c.items {
		keep := it.state != isAfter
		if it.act == actLabel {
			keep = used[it.num] || len(c.switches) > 0
		}
		if after && keep {
			rest = append(rest, it)
		}
		after = after || it.act == actTarget
	}
	return rest
}
