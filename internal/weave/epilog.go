package weave

import (
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// longestCopy is how many instructions an epilog may have of which every return of
// the target gets a copy.
const longestCopy = 8

// straightEpilog returns the instructions that run between the target's end and the
// template's return, where they are few, always the same, in no exception block and
// do not want the result; else nil. Such an epilog is copied to each return, as a
// compiler does with a finally block: the result stays on the stack, and no jump,
// no variable and no frame is needed.
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
	for _, b := range c.handlers {
		if place[b.start] < at && at < place[b.end] {
			return true
		}
	}
	return false
}

// withoutEpilog returns the items behind the target that are left when every return
// has its own epilog: what runs when the target throws.
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
	behind := false
	for _, it := range c.items {
		keep := it.state != isAfter
		if it.act == actLabel {
			keep = used[it.num] || len(c.switches) > 0
		}
		if behind && keep {
			rest = append(rest, it)
		}
		behind = behind || it.act == actTarget
	}
	return rest
}
