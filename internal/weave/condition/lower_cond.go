package condition

import "github.com/sonde-jvm/sonde/classfile/opcode"

// branch jumps to a label where a condition has an answer, and falls through where it
// has the other. It has no constants in it.
func (e *emitter) branch(c cond, when bool, to label) {
	switch c := c.(type) {
	case *both:
		e.chain(c.l, c.r, when, to, false)
	case *either:
		e.chain(c.l, c.r, when, to, true)
	case *not:
		e.branch(c.x, !when, to)
	default:
		e.scope(func() { e.leaf(c, when, to) })
	}
}

// chain is l && r, or l || r, of which one answer of l decides.
func (e *emitter) chain(l, r cond, when bool, to label, decisive bool) {
	if when == decisive {
		e.branch(l, when, to)
		e.branch(r, when, to)
		return
	}
	past := e.newLabel()
	e.branch(l, decisive, past)
	e.branch(r, when, to)
	e.place(past)
}

// leaf is a comparison. What is not there makes it false, or true where that is what
// was asked.
func (e *emitter) leaf(c cond, when bool, to label) {
	if n, ok := c.(*isNull); ok {
		e.nothing(n.x, when != n.present, to)
		return
	}
	no := to
	if when {
		no = e.newLabel()
	}
	e.scope(func() {
		switch c := c.(type) {
		case *compared:
			e.compared(c, when, to, no)
		case *among:
			e.among(c, when, to, no)
		case *like:
			e.like(c, when, to, no)
		case *instanceOf:
			e.value(c.x, no)
			e.class(opcode.Instanceof, c.class)
			e.jump(truth(when), to)
		}
	})
	if when {
		e.place(no)
	}
}

// truth is the jump on an int that is, or is not, zero.
func truth(when bool) opcode.Op {
	if when {
		return opcode.Ifne
	}
	return opcode.Ifeq
}

// nothing asks whether there is no value.
func (e *emitter) nothing(v *value, when bool, to label) {
	absent := to
	if !when {
		absent = e.newLabel()
	}
	e.scope(func() {
		e.value(v, absent)
		switch {
		case v.typ.isRef() && when:
			e.jump(opcode.Ifnull, to)
		case v.typ.isRef():
			e.jump(opcode.Ifnonnull, to)
		default:
			if v.typ.desc == "J" || v.typ.desc == "D" {
				e.op(opcode.Pop2)
			} else {
				e.op(opcode.Pop)
			}
			if !when {
				e.jump(opcode.Goto, to)
			}
		}
	})
	if !when {
		e.place(absent)
	}
}

// present puts a value on the stack that is not null; where there is none it jumps.
func (e *emitter) present(v *value, absent label) {
	if !v.typ.isRef() || v.kind == fromThis {
		e.value(v, absent)
		return
	}
	e.scope(func() { e.load(v.typ.desc, e.held(v, absent)) })
}

// held puts a value that is not null into a new variable; where there is none it
// jumps.
func (e *emitter) held(v *value, absent label) int32 {
	e.value(v, absent)
	slot := e.store(v.typ.desc)
	if v.typ.isRef() && v.kind != fromThis {
		e.load(v.typ.desc, slot)
		e.jump(opcode.Ifnull, absent)
	}
	return slot
}

// compared compares two values, or a value and a constant.
func (e *emitter) compared(c *compared, when bool, to, no label) {
	e.present(c.l, no)
	e.convert(c.l.typ.desc, c.kind)
	if c.r == nil {
		e.pushConstant(c.kind, c.c)
	} else {
		desc := kindDesc(c.kind, c.l.typ)
		slot := e.store(desc)
		e.present(c.r, no)
		e.convert(c.r.typ.desc, c.kind)
		other := e.store(kindDesc(c.kind, c.r.typ))
		e.load(desc, slot)
		e.load(kindDesc(c.kind, c.r.typ), other)
	}
	e.relation(c.op, c.kind, c.c, when, to)
}

func kindDesc(kind byte, t typ) string {
	if kind == 'A' || kind == 'S' {
		return t.desc
	}
	return string(rune(kind))
}

// convert turns a primitive value into one of a kind.
func (e *emitter) convert(desc string, kind byte) {
	conversions := map[string]opcode.Op{
		"IJ": opcode.I2l, "IF": opcode.I2f, "ID": opcode.I2d, "JD": opcode.L2d, "FD": opcode.F2d,
	}
	if op, ok := conversions[string([]byte{kindOf(desc), kind})]; ok {
		e.op(op)
	}
}

var (
	intJumps  = map[string]opcode.Op{"==": opcode.IfIcmpeq, "!=": opcode.IfIcmpne, "<": opcode.IfIcmplt, "<=": opcode.IfIcmple, ">": opcode.IfIcmpgt, ">=": opcode.IfIcmpge}
	zeroJumps = map[string]opcode.Op{"==": opcode.Ifeq, "!=": opcode.Ifne, "<": opcode.Iflt, "<=": opcode.Ifle, ">": opcode.Ifgt, ">=": opcode.Ifge}
)

// relation compares what lies on the stack. c is the right side where that is a
// constant.
func (e *emitter) relation(op string, kind byte, c *constant, when bool, to label) {
	jump := zeroJumps[op]
	less := op == "<" || op == "<="
	switch kind {
	case 'I':
		jump = intJumps[op]
		if c != nil && c.number == 0 {
			e.steps = e.steps[:len(e.steps)-1] // the zero that was pushed
			jump = zeroJumps[op]
		}
	case 'J':
		e.op(opcode.Lcmp)
	case 'F', 'D':
		// What is not a number is neither less nor greater nor equal.
		cmp := opcode.Fcmpl
		if kind == 'D' {
			cmp = opcode.Dcmpl
		}
		if less {
			cmp++
		}
		e.op(cmp)
	case 'A':
		jump = map[string]opcode.Op{"==": opcode.IfAcmpeq, "!=": opcode.IfAcmpne}[op]
	case 'S':
		if op == "==" || op == "!=" {
			e.use(ref{invokevirtual, stringClass, "equals", "(" + objectDesc + ")Z"})
			jump = truth(op == "==")
		} else {
			e.use(ref{invokevirtual, stringClass, "compareTo", "(" + stringDesc + ")I"})
		}
	}
	if !when {
		jump = jump.Inverse()
	}
	e.jump(jump, to)
}

// among compares one value with several constants.
func (e *emitter) among(c *among, when bool, to, no label) {
	slot := e.held(c.x, no)
	yes := to
	if !when {
		yes = e.newLabel()
	}
	for i, kc := range c.list {
		e.load(c.x.typ.desc, slot)
		e.convert(c.x.typ.desc, kc.kind)
		e.pushConstant(kc.kind, kc.c)
		if !when && i == len(c.list)-1 {
			e.relation("==", kc.kind, kc.c, false, to)
		} else {
			e.relation("==", kc.kind, kc.c, true, yes)
		}
	}
	if !when {
		e.place(yes)
	}
}
