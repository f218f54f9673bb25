package condition

import (
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// LongestValue is how many chars of a value are kept.
const LongestValue = 256

// CheckValue finds out what an expression that is no condition means in a method: a
// tag or a captured value such as $1.customer.tier. Lowered, it leaves the text of a
// string, an enum, a number, a char or a boolean, of [LongestValue] chars at most, or
// null where there is none. The error is an *Error.
//
// Unlike a condition, a value may allocate: numbers are turned into texts, long texts
// are cut.
func CheckValue(expr *Expr, scope Scope) (*Checked, error) {
	k, err := newChecker(expr, scope)
	if err != nil {
		return nil, err
	}
	n, ok := expr.root.(*path)
	if !ok {
		return nil, k.fail(Mistyped, expr.root.place(), "write a path such as $1.customer.tier", "not a value")
	}
	v, e := k.path(n)
	if e != nil {
		return nil, e
	}
	v = k.unboxed(v)
	if v.typ.isRef() {
		s := k.text(v)
		if s == nil {
			return nil, k.fail(Mistyped, n.span, "name a field or getter of it", "%s is %s, and only strings, enums, numbers and booleans have a text", n, v.typ.human())
		}
		v = s
	}
	return k.checked(nil, v), nil
}

// text writes a value as a bounded string.
func (e *emitter) text(v *value, at thrown) {
	e.isText = true
	if at == hasThrown && v.reads(fromReturn) || at == hasReturned && v.reads(fromThrown) {
		e.op(opcode.AconstNull)
		return
	}
	e.begin(v.reads(fromElapsed))
	absent, end, short := e.newLabel(), e.newLabel(), e.newLabel()
	e.present(v, absent)
	if !v.typ.isRef() {
		desc := v.typ.desc
		if desc == "B" || desc == "S" {
			desc = "I"
		}
		e.use(ref{opcode.Invokestatic, stringClass, "valueOf", "(" + desc + ")" + stringDesc})
	}
	e.forget()
	s := e.store(stringDesc)
	e.load(stringDesc, s)
	e.use(ref{invokevirtual, stringClass, "length", "()I"})
	e.pushInt(LongestValue)
	e.jump(opcode.IfIcmple, short)
	e.load(stringDesc, s)
	e.pushInt(0)
	e.pushInt(LongestValue)
	e.use(ref{invokevirtual, stringClass, "substring", "(II)" + stringDesc})
	e.jump(opcode.Goto, end)
	e.place(short)
	e.load(stringDesc, s)
	e.jump(opcode.Goto, end)
	e.forget()
	e.place(absent)
	if e.wanted {
		e.place(e.undecided)
	}
	e.op(opcode.AconstNull)
	e.place(end, stringDesc)
}
