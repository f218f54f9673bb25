package dump

import (
	"fmt"

	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// labels are the names of a body's labels.
type labels map[*code.Node]string

// number names labels L0, L1 … in order of appearance.
func number(b *code.Body) labels {
	names := labels{}
	for n := b.First(); n != nil; n = n.Next() {
		if n.Kind == code.Label {
			names[n] = fmt.Sprintf("L%d", len(names))
		}
	}
	return names
}

// outline is a body's instructions with their labels: what two bodies are aligned by.
type outline struct {
	body  *code.Body
	ops   []*code.Node
	keys  []string           // what each instruction says, targets aside
	label map[int]*code.Node // by the instruction behind it; len(ops) is the end
	roles []role
}

// role is a label that a variable or handler points at. The same role in two bodies
// hints at the same label.
type role struct {
	text  string
	label *code.Node
}

func (p *printer) outline(b *code.Body) *outline {
	o := &outline{body: b, label: map[int]*code.Node{}}
	size := 0
	for n := b.First(); n != nil; n = n.Next() {
		switch n.Kind {
		case code.Label:
			o.label[len(o.ops)] = n
		case code.Instruction:
			o.ops = append(o.ops, n)
			key := n.Op().String()
			if size < mostText {
				key += " " + p.operand(n)
				size += len(key)
			}
			if n.Op() == opcode.Tableswitch || n.Op() == opcode.Lookupswitch {
				key += fmt.Sprint(b.Switch(n).Keys)
			}
			o.keys = append(o.keys, key)
		}
	}
	for i := range b.Vars {
		v := &b.Vars[i]
		text := p.variable(b, v)
		o.roles = append(o.roles, role{text + " start", v.Start}, role{text + " end", v.End})
	}
	for _, h := range b.Handlers {
		text := "catch " + orAny(h.Catch, p.className)
		o.roles = append(o.roles, role{text + " start", h.Start}, role{text + " end", h.End}, role{text + " entry", h.Entry})
	}
	return o
}

// numberLike names the labels of after as their counterparts of before are named,
// so that an instruction put in does not rename all that follow. Labels without
// counterpart are named N0, N1 … Any naming is right as long as each name is given
// once; the passes only differ in how sure they are of a counterpart.
func numberLike(before, after *outline, names labels) labels {
	m := naming{old: names, given: labels{}, taken: map[*code.Node]bool{}}
	match := align(before.keys, after.keys)
	for j, i := range match {
		if i >= 0 {
			m.pair(before.label[i], after.label[j])
		}
	}
	for j, i := range match {
		if i >= 0 {
			m.targets(before, after, before.ops[i], after.ops[j])
		}
	}
	m.roles(before.roles, after.roles)
	for j, i := range match {
		if i >= 0 {
			m.pair(before.label[i+1], after.label[j+1])
		}
	}
	m.pair(before.label[len(before.ops)], after.label[len(after.ops)])
	fresh := 0
	for n := after.body.First(); n != nil; n = n.Next() {
		if n.Kind == code.Label && m.given[n] == "" {
			m.given[n] = fmt.Sprintf("N%d", fresh)
			fresh++
		}
	}
	return m.given
}

type naming struct {
	old, given labels
	taken      map[*code.Node]bool // labels of the old body whose name is given
}

// pair gives a label the name of another, if both are still free.
func (m *naming) pair(old, n *code.Node) {
	if old == nil || n == nil || m.taken[old] || m.given[n] != "" {
		return
	}
	m.taken[old] = true
	m.given[n] = m.old[old]
}

func (m *naming) targets(before, after *outline, old, n *code.Node) {
	m.pair(old.Target(), n.Target())
	if n.Op() != opcode.Tableswitch && n.Op() != opcode.Lookupswitch {
		return
	}
	s, t := before.body.Switch(old), after.body.Switch(n)
	m.pair(s.Default, t.Default)
	for k := range s.Targets {
		m.pair(s.Targets[k], t.Targets[k])
	}
}

// roles pairs the k-th label in a role with the k-th in the same role.
func (m *naming) roles(before, after []role) {
	old := map[string][]*code.Node{}
	for _, r := range before {
		old[r.text] = append(old[r.text], r.label)
	}
	for _, r := range after {
		if list := old[r.text]; len(list) > 0 {
			m.pair(list[0], r.label)
			old[r.text] = list[1:]
		}
	}
}
