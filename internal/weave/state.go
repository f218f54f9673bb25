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
func flow(b *code.Body, sentinel *code.Node) map[*code.Node]state {
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
		for n := b.First(); n != nil; n = n.Next() {
			if n.Kind == code.Label {
				for i := range b.Handlers {
					h := &b.Handlers[i]
					if h.Start == n || h.End == n {
						inside[h] = h.Start == n
					}
				}
			}
			s := at[n]
			if s == 0 {
				continue
			}
			out := s
			if n == sentinel {
				out = isAfter
			}
			for h, in := range inside {
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
