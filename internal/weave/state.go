package weave

import (
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// state says what may have happened of the target when control is at a point of the
// template: a set of three facts.
type state uint8

const (
	isBefore state = 1 << iota // the target has not begun
	isAfter                    // it has returned
	isThrown                   // it has thrown
)

// flow finds the state at every node of a template by following control until
// nothing changes. Templates are small; no order is tried to be clever about.
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

// mixes reports whether a template, as it runs in a constructor, has code that is
// reached both before the target has begun and behind it, where this is an object and
// is none, or code that runs before the target but stands behind it, where the blocks
// of a template further out would enclose it.
func mixes(b *code.Body, sentinel *code.Node) bool {
	states := flow(b, sentinel, true)
	behind := false
	for n := b.First(); n != nil; n = n.Next() {
		if s := states[n]; s&isBefore != 0 && (s != isBefore || behind && n.Kind == code.Instruction) {
			return true
		}
		behind = behind || n == sentinel
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
