package condition_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
)

// jdkCalls are the calls that fragments may make besides methods that were proven,
// written down a second time: the tests do not ask the package what it thinks is pure.
var jdkCalls = map[string]bool{
	"java/lang/Object.getClass": true, "java/lang/Class.getName": true, "java/lang/String.equals": true,
	"java/lang/String.length": true, "java/lang/String.isEmpty": true, "java/lang/String.compareTo": true,
	"java/lang/String.startsWith": true, "java/lang/String.indexOf": true,
	"java/util/List.get": true, "java/util/List.size": true, "java/util/Map.get": true, "java/util/Map.size": true, "java/util/Map.isEmpty": true,
	"java/util/Collection.size": true, "java/util/Collection.isEmpty": true,
	"java/lang/Integer.intValue": true, "java/lang/Long.longValue": true, "java/lang/Boolean.booleanValue": true,
	"java/lang/Short.shortValue": true, "java/lang/Byte.byteValue": true, "java/lang/Character.charValue": true,
	"java/lang/Float.floatValue": true, "java/lang/Double.doubleValue": true, "app/Recorder.tag": true,
}

// valueCalls are those that values may make too.
var valueCalls = map[string]bool{"java/lang/String.valueOf": true, "java/lang/String.substring": true}

// machine runs a fragment over types, as a verifier does that may not ask for any
// class: what a call or a field is used on must be of the very class that is named, or
// an Object may be wanted. It also holds that no step writes anything but variables,
// that every jump goes forward, and that every call is one of those that are known.
type machine struct {
	f      *weave.Fragment
	c      *condition.Checked
	arg    func(int32) string // descriptors
	self   string
	result string

	stack  []string
	locals map[int32]string
	at     map[int32]snapshot // by label, what jumps brought
	passed map[int32]bool
	dead   bool
}

type snapshot struct{ locals map[int32]string }

func (m *machine) pop(n int) {
	if len(m.stack) < n {
		panic("the stack runs empty")
	}
	m.stack = m.stack[:len(m.stack)-n]
}

func (m *machine) push(desc string) { m.stack = append(m.stack, desc) }

func (m *machine) top(i int) string { return m.stack[len(m.stack)-1-i] }

// run returns what is wrong with a fragment.
func (m *machine) run() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	m.locals, m.at, m.passed = map[int32]string{}, map[int32]snapshot{}, map[int32]bool{}
	if m.f.Timed {
		m.push("J")
	}
	for i := range m.f.Steps {
		s := &m.f.Steps[i]
		if m.dead && s.Do != weave.DoLabel {
			return fmt.Errorf("step %d: nothing leads here", i)
		}
		if err := m.step(s); err != nil {
			return fmt.Errorf("step %d (%s): %w", i, s.Op, err)
		}
		depth := 0
		for _, d := range m.stack {
			depth += slots(d)
		}
		if depth > int(m.f.MaxStack) {
			return fmt.Errorf("step %d: %d slots on the stack, %d said", i, depth, m.f.MaxStack)
		}
	}
	want := "I"
	if m.f.Text {
		want = "Ljava/lang/String;"
	}
	if m.dead || len(m.stack) != 1 || m.stack[0] != want {
		return fmt.Errorf("leaves %v", m.stack)
	}
	return nil
}

func slots(desc string) int {
	if desc == "J" || desc == "D" {
		return 2
	}
	return 1
}

func (m *machine) step(s *weave.Step) error {
	switch s.Do {
	case weave.DoLabel:
		return m.label(s)
	case weave.DoJump:
		return m.jump(s)
	case weave.DoLocal:
		return m.local(s)
	case weave.DoArgument:
		m.push(m.arg(s.Value))
	case weave.DoSelf:
		m.push(m.self)
	case weave.DoResult:
		m.push(m.result)
	case weave.DoThrown:
		m.push("Ljava/lang/Throwable;")
	case weave.DoConstant:
		return m.constant(s)
	case weave.DoOp:
		return m.op(s)
	}
	return nil
}

func (m *machine) label(s *weave.Step) error {
	brought, jumped := m.at[s.Value]
	if m.passed[s.Value] {
		return fmt.Errorf("label %d stands twice", s.Value)
	}
	m.passed[s.Value] = true
	if !jumped && m.dead {
		return fmt.Errorf("nothing leads to label %d", s.Value)
	}
	if !m.dead && !slices.Equal(m.stack, s.Stack) {
		return fmt.Errorf("the stack is %v, the label says %v", m.stack, s.Stack)
	}
	now := map[int32]string{}
	for _, v := range s.Live {
		desc := v.Descriptor
		if kind(desc) == 'I' {
			desc = "I"
		}
		if jumped && brought.locals[v.Slot] != desc || !m.dead && m.locals[v.Slot] != desc {
			return fmt.Errorf("variable %d does not hold %s on every way", v.Slot, desc)
		}
		now[v.Slot] = desc
	}
	m.locals, m.stack, m.dead = now, slices.Clone(s.Stack), false
	return nil
}

func (m *machine) jump(s *weave.Step) error {
	if m.passed[s.Value] {
		return fmt.Errorf("jumps back")
	}
	switch op := s.Op; {
	case op == opcode.Goto:
		m.dead = true
	case op >= opcode.Ifeq && op <= opcode.Ifle:
		if kind(m.top(0)) != 'I' {
			return fmt.Errorf("tests %s", m.top(0))
		}
		m.pop(1)
	case op >= opcode.IfIcmpeq && op <= opcode.IfIcmple:
		m.pop(2)
	case op == opcode.IfAcmpeq || op == opcode.IfAcmpne:
		m.pop(2)
	case op == opcode.Ifnull || op == opcode.Ifnonnull:
		m.pop(1)
	default:
		return fmt.Errorf("is no jump")
	}
	if len(m.stack) > 1 || len(m.stack) == 1 && s.Op != opcode.Goto {
		return fmt.Errorf("jumps with %v on the stack", m.stack)
	}
	was, seen := m.at[s.Value]
	if !seen {
		was = snapshot{clone(m.locals)}
	}
	for slot, d := range was.locals {
		if m.locals[slot] != d {
			delete(was.locals, slot)
		}
	}
	m.at[s.Value] = was
	return nil
}

func clone(m map[int32]string) map[int32]string {
	c := map[int32]string{}
	for k, v := range m {
		c[k] = v
	}
	return c
}

func kind(desc string) byte {
	switch desc[0] {
	case 'J', 'F', 'D':
		return desc[0]
	case 'L', '[':
		return 'A'
	}
	return 'I'
}

func (m *machine) local(s *weave.Step) error {
	const kinds = "IJFDA"
	switch {
	case s.Op >= opcode.Iload && s.Op <= opcode.Aload:
		d, ok := m.locals[s.Value]
		if !ok || kind(d) != kinds[s.Op-opcode.Iload] {
			return fmt.Errorf("loads %q of variable %d", d, s.Value)
		}
		m.push(d)
	case s.Op >= opcode.Istore && s.Op <= opcode.Astore:
		d := m.top(0)
		if kind(d) != kinds[s.Op-opcode.Istore] || int(s.Value)+slots(d) > int(m.f.MaxLocals) {
			return fmt.Errorf("stores %s in variable %d", d, s.Value)
		}
		if kind(d) == 'I' {
			d = "I"
		}
		m.pop(1)
		if slots(d) == 2 {
			delete(m.locals, s.Value+1)
		}
		if w := m.locals[s.Value-1]; w == "J" || w == "D" {
			delete(m.locals, s.Value-1)
		}
		m.locals[s.Value] = d
	default:
		return fmt.Errorf("does more to a variable than load and store")
	}
	return nil
}

func (m *machine) constant(s *weave.Step) error {
	c := &s.Const
	full := c.Text + "." + c.Name
	switch s.Op {
	case opcode.Ldc, opcode.Ldc2W:
		d, ok := map[classfile.Tag]string{classfile.TagInteger: "I", classfile.TagFloat: "F", classfile.TagLong: "J", classfile.TagDouble: "D",
			classfile.TagString: "Ljava/lang/String;", classfile.TagClass: "Ljava/lang/Class;"}[c.Tag]
		if !ok || (s.Op == opcode.Ldc2W) != (slots(d) == 2) {
			return fmt.Errorf("loads a %s", c.Tag)
		}
		if c.Tag == classfile.TagClass && !strings.HasPrefix(c.Text, "java/util/") {
			return fmt.Errorf("loads class %s", c.Text)
		}
		m.push(d)
	case opcode.Instanceof:
		m.pop(1)
		m.push("I")
	case opcode.Checkcast:
		m.pop(1)
		m.push("L" + c.Text + ";")
	case opcode.Getfield:
		if m.top(0) != "L"+c.Text+";" {
			return fmt.Errorf("reads %s of %s", full, m.top(0))
		}
		m.pop(1)
		m.push(c.Descr)
	case opcode.Invokestatic, opcode.Invokevirtual, opcode.Invokespecial, opcode.Invokeinterface:
		return m.call(s, full)
	default:
		return fmt.Errorf("is not known to be harmless")
	}
	return nil
}

func (m *machine) call(s *weave.Step, full string) error {
	c := &s.Const
	proven := slices.ContainsFunc(m.c.Depends().Methods, func(p classfile.MethodRef) bool { return p.Name == c.Name && p.Descriptor == c.Descr })
	if !proven && !jdkCalls[full] && (!m.f.Text || !valueCalls[full]) {
		return fmt.Errorf("calls %s", full)
	}
	params, result, _ := strings.Cut(c.Descr[1:], ")")
	var want []string
	for params != "" {
		n := 1
		if params[0] == 'L' {
			n = strings.IndexByte(params, ';') + 1
		}
		want, params = append(want, params[:n]), params[n:]
	}
	for i := len(want) - 1; i >= 0; i-- {
		got := m.top(0)
		if got != want[i] && want[i] != "Ljava/lang/Object;" && (kind(want[i]) != 'I' || kind(got) != 'I') {
			return fmt.Errorf("passes %s to %s", got, full)
		}
		m.pop(1)
	}
	if s.Op != opcode.Invokestatic {
		if got := m.top(0); got != "L"+c.Text+";" && c.Text != "java/lang/Object" {
			return fmt.Errorf("calls %s on %s", full, got)
		}
		m.pop(1)
	}
	m.push(result)
	return nil
}

func (m *machine) op(s *weave.Step) error {
	switch o := s.Op; {
	case o == opcode.AconstNull:
		m.push("Ljava/lang/String;") // only values push it, as their result
	case o >= opcode.IconstM1 && o <= opcode.Iconst5, o == opcode.Bipush, o == opcode.Sipush:
		m.push("I")
	case o == opcode.Pop, o == opcode.Pop2:
		if (o == opcode.Pop2) != (slots(m.top(0)) == 2) {
			return fmt.Errorf("pops %s", m.top(0))
		}
		m.pop(1)
	case o == opcode.Iadd, o == opcode.Isub:
		m.pop(2)
		m.push("I")
	case o >= opcode.Lcmp && o <= opcode.Dcmpg:
		want := [...]string{"J", "F", "F", "D", "D"}[o-opcode.Lcmp]
		if m.top(0) != want || m.top(1) != want {
			return fmt.Errorf("compares %s with %s", m.top(1), m.top(0))
		}
		m.pop(2)
		m.push("I")
	case o == opcode.I2l, o == opcode.I2d, o == opcode.I2f, o == opcode.L2d, o == opcode.F2d:
		to := map[opcode.Op]string{opcode.I2l: "J", opcode.I2d: "D", opcode.I2f: "F", opcode.L2d: "D", opcode.F2d: "D"}[o]
		m.pop(1)
		m.push(to)
	case o == opcode.Arraylength:
		if m.top(0)[0] != '[' {
			return fmt.Errorf("of %s", m.top(0))
		}
		m.pop(1)
		m.push("I")
	case o >= opcode.Iaload && o <= opcode.Saload:
		array := m.top(1)
		m.pop(2)
		m.push(array[1:])
	default:
		return fmt.Errorf("is not known to be harmless")
	}
	return nil
}
