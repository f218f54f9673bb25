package dump

import (
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/classfile/frames"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// code prints a method's body; if it cannot be lifted, as bytes with the reason.
func (p *printer) code(m *classfile.Member, a classfile.Attribute) {
	body, names := p.lifted, p.names
	p.lifted = nil
	if body == nil {
		var err error
		if body, err = p.lifter.LiftCode(p.class, a.Data); err != nil {
			p.line("Code %s", broken(err))
			p.within(func() { p.unlifted(a) })
			return
		}
		names = number(body)
	}
	p.names = names
	p.body(m, body)
	p.names = nil
}

func (p *printer) unlifted(a classfile.Attribute) {
	contents, err := p.class.Decode(a)
	if err != nil {
		p.line("%s", broken(err))
		p.hex(a.Data)
		return
	}
	p.contents(contents)
}

func (p *printer) body(m *classfile.Member, b *code.Body) {
	p.line("Code stack %d locals %d", b.MaxStack, b.MaxLocals)
	p.indent++
	expander := p.newFrameExpander(m)
	for n := b.First(); n != nil && !p.full(); n = n.Next() {
		switch n.Kind {
		case code.Label:
			p.line("%s:", p.names[n])
			continue
		case code.Line:
			p.within(func() { p.node(n, fmt.Sprintf("line %d", n.Value())) })
		case code.FrameMark:
			p.within(func() { p.frame(n, expander.next(b.Frame(n))) })
		case code.Instruction:
			p.within(func() { p.instruction(b, n) })
		}
	}
	for _, h := range b.Handlers {
		p.line("try %s to %s catch %s at %s", p.names[h.Start], p.names[h.End], orAny(h.Catch, p.className), p.names[h.Entry])
	}
	for i := range b.Vars {
		v := &b.Vars[i]
		p.line("%s %s to %s", p.variable(b, v), p.names[v.Start], p.names[v.End])
	}
	p.typeAnnotations(b)
	b.Attributes(p.attribute)
	p.indent--
}

// variable describes a local variable, without its range.
func (p *printer) variable(b *code.Body, v *code.Var) string {
	kind := "var"
	if b.VarTypes(v) {
		kind = "var-signature"
	}
	return fmt.Sprintf("%s %d %s %s", kind, v.Slot, p.name(v.Name), p.name(v.Descriptor))
}

// node prints the text for a node, with its offset if wanted.
func (p *printer) node(n *code.Node, text string) {
	if !p.opts.Offsets {
		p.line("%s", text)
		return
	}
	if n.Kind == code.Instruction {
		p.line("%5d  %s", n.Offset(), text)
	} else {
		p.line("       %s", text)
	}
}

func (p *printer) typeAnnotations(b *code.Body) {
	last := classfile.KindUnknown
	for i := range b.TypeAnnotations {
		a := &b.TypeAnnotations[i]
		if kind := b.AnnotationKind(a); kind != last {
			p.line("%s", kind)
			last = kind
		}
		p.within(func() { p.line("%s%s %s", p.target(&a.Target, a), path(a.Path), p.annotation(&a.Annotation)) })
	}
}

func (p *printer) instruction(b *code.Body, n *code.Node) {
	text := n.Op().String()
	if operand := p.operand(n); operand != "" {
		text += " " + operand
	}
	if n.Target() != nil {
		text += " " + p.names[n.Target()]
	}
	p.node(n, text)
	if n.Op() == opcode.Tableswitch || n.Op() == opcode.Lookupswitch {
		s := b.Switch(n)
		p.within(func() {
			for i, key := range s.Keys {
				p.node(s.Targets[i], fmt.Sprintf("%d: %s", key, p.names[s.Targets[i]]))
			}
			p.node(s.Default, "default: "+p.names[s.Default])
		})
	}
}

// operand returns the operands of an instruction, without jump targets.
func (p *printer) operand(n *code.Node) string {
	switch n.Op().Info().Shape {
	case opcode.S1, opcode.S2:
		return fmt.Sprint(n.Value())
	case opcode.CP1, opcode.CP2:
		return p.entry(n)
	case opcode.Local:
		return fmt.Sprint(n.Index())
	case opcode.IncLocal:
		return fmt.Sprintf("%d %d", n.Index(), n.Value())
	case opcode.Interface:
		return p.interfaceCall(n)
	case opcode.Dynamic:
		var b strings.Builder
		p.writeDynamic(&b, n.Index(), 0)
		return b.String()
	case opcode.ArrayType:
		if n.Value() < 0 || int(n.Value()) >= len(arrayTypes) || arrayTypes[n.Value()] == "" {
			return fmt.Sprintf("<no such array type: %d>", n.Value())
		}
		return arrayTypes[n.Value()]
	case opcode.MultiArray:
		return fmt.Sprintf("%s %d", p.className(n.Index()), n.Value())
	}
	return ""
}

// entry returns the constant pool entry of an instruction.
func (p *printer) entry(n *code.Node) string {
	switch n.Op() {
	case opcode.Ldc, opcode.LdcW, opcode.Ldc2W:
		return p.constant(n.Index())
	case opcode.New, opcode.Anewarray, opcode.Checkcast, opcode.Instanceof:
		return p.className(n.Index())
	}
	return p.member(n.Index(), true)
}

// interfaceCall omits the argument count if it is correct.
func (p *printer) interfaceCall(n *code.Node) string {
	text := p.member(n.Index(), false)
	desc, err := p.class.Pool.Descriptor(n.Index())
	if err != nil {
		return text
	}
	if slots, _, ok := descriptor.ArgSlots(desc); !ok || int32(slots)+1 != n.Value() {
		return fmt.Sprintf("%s <argument count %d>", text, n.Value())
	}
	return text
}

// arrayTypes are the operands of newarray.
var arrayTypes = [...]string{4: "boolean", "char", "float", "double", "byte", "short", "int", "long"}

// itemNames are the verification types by their tag. Object types are written as
// descriptors, so none can be taken for one of these.
var itemNames = [...]string{"top", "int", "float", "double", "long", "null", "uninitializedThis", "object", "uninitialized"}

// mostFrameTypes limits how many types of expanded frames are printed for one body:
// frames that each add to the one before would fill a disk. Later frames are printed
// in relative form.
const mostFrameTypes = 1 << 20

// frameExpander expands frames, which the file has relative to the previous one.
type frameExpander struct {
	locals []code.Type // of the previous frame
	types  int         // printed so far
	lost   bool        // the chain is broken: the descriptor or a frame made no sense
	p      *printer
}

// frameText is a frame as text: expanded, or relative if the previous frame is unknown.
type frameText struct {
	locals, stack []string
	relative      string
}

// newFrameExpander may add the classes of parameters to the constant pool.
func (p *printer) newFrameExpander(m *classfile.Member) *frameExpander {
	locals, err := frames.Initial(nil, p.class, m)
	return &frameExpander{p: p, locals: locals, lost: err != nil}
}

func (t *frameExpander) next(f *code.Frame) frameText {
	locals, stack := t.locals, t.p.types(f.Stack)
	relative := "same"
	switch {
	case f.Form == code.FullFrame || f.Form == code.Absolute:
		locals, t.lost = f.Locals, false
		relative = "full"
	case f.Form >= code.AppendFrame:
		locals = append(locals[:len(locals):len(locals)], f.Locals...)
		relative = "append"
	case f.Form >= code.ChopFrame && f.Form < code.SameFrameFar:
		drop := int(code.SameFrameFar - f.Form)
		relative = fmt.Sprintf("chop %d", drop)
		if drop > len(locals) {
			t.lost = true
		} else {
			locals = locals[:len(locals)-drop]
		}
	}
	t.types += len(locals)
	if t.types > mostFrameTypes {
		t.lost = true
	}
	if t.lost {
		return frameText{t.p.types(f.Locals), stack, relative}
	}
	t.locals = locals
	return frameText{locals: t.p.types(locals), stack: stack}
}

// frame prints a frame: in one line, or for a diff one type a line, by slot, so that
// a local that was added is a line that was added.
func (p *printer) frame(n *code.Node, f frameText) {
	if !p.explode || f.relative != "" {
		text := "frame"
		if f.relative != "" {
			text += " " + f.relative
		}
		if len(f.locals) > 0 {
			text += " locals " + strings.Join(f.locals, " ")
		}
		if len(f.stack) > 0 {
			text += " stack " + strings.Join(f.stack, " ")
		}
		p.node(n, text)
		return
	}
	p.node(n, "frame")
	p.within(func() {
		slot := 0
		for _, t := range f.locals {
			if t != "top" {
				p.node(n, fmt.Sprintf("local %d %s", slot, t))
			}
			slot++
			if t == "long" || t == "double" {
				slot++
			}
		}
		for _, t := range f.stack {
			p.node(n, "stack "+t)
		}
	})
}

func (p *printer) types(list []code.Type) []string {
	texts := make([]string, len(list))
	for i, t := range list {
		switch t.Item {
		case code.Object:
			texts[i] = p.objectType(t.Class)
		case code.Uninitialized:
			texts[i] = "uninitialized:" + p.names[t.New]
		default:
			texts[i] = itemNames[t.Item]
		}
	}
	return texts
}

// objectType writes a class as a descriptor.
func (p *printer) objectType(i uint16) string {
	name, err := p.class.Pool.ClassName(i)
	if err != nil {
		return broken(err)
	}
	if len(name) > 0 && name[0] == '[' {
		return word(name)
	}
	return word([]byte("L" + string(name) + ";"))
}

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

// outline is a body's instructions with their labels, by which two bodies are aligned.
type outline struct {
	body  *code.Body
	ops   []*code.Node
	keys  []string           // text of each instruction, without targets
	label map[int]*code.Node // by the instruction after it; len(ops) is the end
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

// numberLike gives the labels of after the names of their counterparts in before, so that
// an inserted instruction does not rename all labels after it. Labels without
// counterpart are named N0, N1 … Any naming is correct if each name is given once; later
// passes are less certain of a counterpart.
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
