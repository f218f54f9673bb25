package condition

import (
	"strings"

	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// value puts a value on the stack. It jumps where something on the way to it is not
// there; a reference that comes to lie on the stack may be null itself.
func (e *emitter) value(v *value, absent label) {
	switch v.kind {
	case fromArgument:
		e.steps = append(e.steps, weave.Step{Do: weave.DoArgument, Value: v.n, Kind: kindOf(v.typ.desc)})
	case fromThis:
		e.steps = append(e.steps, weave.Step{Do: weave.DoSelf})
	case fromReturn:
		e.steps = append(e.steps, weave.Step{Do: weave.DoResult, Kind: kindOf(v.typ.desc)})
	case fromThrown:
		e.steps = append(e.steps, weave.Step{Do: weave.DoThrown})
	case fromElapsed:
		e.load("J", e.elapsed)
	case fromTag:
		e.pushInt(v.n)
		e.use(ref{opcode.Invokestatic, e.tagCall.Class, e.tagCall.Method, "(I)" + stringDesc})
	case fromField, fromCall, fromUnboxed:
		e.present(v.base, absent)
		e.use(v.ref)
	case fromLength:
		e.present(v.base, absent)
		e.op(opcode.Arraylength)
	case fromElement:
		e.scope(func() { e.element(v, absent) })
	case fromList, fromMap, fromSize:
		e.scope(func() { e.collection(v, absent) })
	case fromNarrow:
		e.scope(func() { e.narrow(v, absent) })
	}
}

// element reads an array, where it is long enough.
func (e *emitter) element(v *value, absent label) {
	array := v.base.typ.desc
	slot := e.held(v.base, absent)
	e.load(array, slot)
	e.op(opcode.Arraylength)
	e.pushInt(v.n)
	e.jump(opcode.IfIcmple, absent)
	e.load(array, slot)
	e.pushInt(v.n)
	loads := map[byte]opcode.Op{'I': opcode.Iaload, 'J': opcode.Laload, 'F': opcode.Faload, 'D': opcode.Daload,
		'B': opcode.Baload, 'Z': opcode.Baload, 'C': opcode.Caload, 'S': opcode.Saload}
	op, ok := loads[v.typ.desc[0]]
	if !ok {
		op = opcode.Aaload
	}
	e.op(op)
}

// narrow reads a value as another class.
func (e *emitter) narrow(v *value, absent label) {
	desc := v.base.typ.desc
	slot := e.held(v.base, absent)
	e.load(desc, slot)
	e.class(opcode.Instanceof, v.typ.class())
	if v.hard {
		e.jump(opcode.Ifeq, e.undecidedLabel())
	} else {
		e.jump(opcode.Ifeq, absent)
	}
	e.load(desc, slot)
	e.class(opcode.Checkcast, v.typ.class())
}

func (e *emitter) undecidedLabel() label {
	if !e.wanted {
		e.wanted, e.undecided = true, e.newLabel()
	}
	return e.undecided
}

// collection asks a collection something, if it is of a class that is known.
func (e *emitter) collection(v *value, absent label) {
	u, classes := listGet, listClasses
	switch v.kind {
	case fromMap:
		u, classes = mapGet, mapClasses
	case fromSize:
		u, classes = use{v.ref.class, v.ref.name, v.ref.desc, nil}, classesFor(v.ref)
	}
	desc := v.base.typ.desc
	slot := e.held(v.base, absent)
	e.known(desc, slot, classes)
	push := func(class string) {
		e.load(desc, slot)
		if v.base.typ.class() != class {
			e.class(opcode.Checkcast, class)
		}
	}
	if v.kind == fromList {
		push("java/util/List")
		e.use(ref{opcode.Invokeinterface, "java/util/List", "size", "()I"})
		e.pushInt(v.n)
		e.jump(opcode.IfIcmple, absent)
	}
	push(u.class)
	switch v.kind {
	case fromList:
		e.pushInt(v.n)
	case fromMap:
		e.pushText(v.text)
	}
	e.use(ref{opcode.Invokeinterface, u.class, u.name, u.desc})
}

// known leaves the condition undecided unless an object is of one of some classes.
func (e *emitter) known(desc string, slot int32, classes []implementation) {
	const classDesc = "Ljava/lang/Class;"
	fine := e.newLabel()
	e.scope(func() {
		e.load(desc, slot)
		e.use(ref{invokevirtual, objectClass, "getClass", "()" + classDesc})
		class := e.store(classDesc)
		named := int32(-1)
		for i, c := range classes {
			jump, to := opcode.IfAcmpeq, fine
			if c.public {
				e.load(classDesc, class)
				e.class(opcode.Ldc, c.class)
			} else {
				if named < 0 {
					e.load(classDesc, class)
					e.use(ref{invokevirtual, "java/lang/Class", "getName", "()" + stringDesc})
					named = e.store(stringDesc)
				}
				e.load(stringDesc, named)
				e.pushText(strings.ReplaceAll(c.class, "/", "."))
				e.use(ref{invokevirtual, stringClass, "equals", "(" + objectDesc + ")Z"})
				jump = opcode.Ifne
			}
			if i == len(classes)-1 {
				jump, to = jump.Inverse(), e.undecidedLabel()
			}
			e.jump(jump, to)
		}
	})
	e.place(fine)
}

// like matches a string with a pattern, piece by piece.
func (e *emitter) like(c *like, when bool, to, no label) {
	s := e.held(c.x, no)
	pieces := c.g.pieces
	first, last := &pieces[0], &pieces[len(pieces)-1]
	length := func() {
		e.load(stringDesc, s)
		e.use(ref{invokevirtual, stringClass, "length", "()I"})
	}
	length()
	if len(pieces) == 1 {
		e.pushInt(int32(first.size))
		e.jump(opcode.IfIcmpne, no)
		e.fits(first, s, func() {}, no)
		e.conclude(when, to)
		return
	}
	least := 0
	for _, p := range pieces {
		least += p.size
	}
	e.pushInt(int32(least))
	e.jump(opcode.IfIcmplt, no)
	e.fits(first, s, func() {}, no)
	at := func() { e.pushInt(int32(first.size)) }
	if len(pieces) > 2 {
		at()
		slot := e.store("I")
		at = func() { e.load("I", slot) }
		for i := 1; i < len(pieces)-1; i++ {
			e.load(stringDesc, s)
			e.pushText(pieces[i].parts[0].text)
			at()
			e.use(ref{invokevirtual, stringClass, "indexOf", "(" + stringDesc + "I)I"})
			found := e.store("I")
			e.load("I", found)
			e.jump(opcode.Iflt, no)
			e.load("I", found)
			e.pushInt(int32(pieces[i].size))
			e.op(opcode.Iadd)
			next := e.store("I")
			at = func() { e.load("I", next) }
		}
		length()
		e.pushInt(int32(last.size))
		e.op(opcode.Isub)
		at()
		e.jump(opcode.IfIcmplt, no)
	}
	e.fits(last, s, func() {
		length()
		e.pushInt(int32(last.size))
		e.op(opcode.Isub)
	}, no)
	e.conclude(when, to)
}

// fits jumps unless the parts of a piece stand where they should. from pushes where
// the piece begins, if that is not the beginning.
func (e *emitter) fits(p *piece, s int32, from func(), no label) {
	for _, part := range p.parts {
		e.load(stringDesc, s)
		e.pushText(part.text)
		mark := len(e.steps)
		from()
		if len(e.steps) == mark {
			e.pushInt(int32(part.at))
		} else if part.at > 0 {
			e.pushInt(int32(part.at))
			e.op(opcode.Iadd)
		}
		e.use(ref{invokevirtual, stringClass, "startsWith", "(" + stringDesc + "I)Z"})
		e.jump(opcode.Ifeq, no)
	}
}

// conclude jumps where yes is the answer that was asked for; else it falls through.
func (e *emitter) conclude(when bool, to label) {
	if when {
		e.jump(opcode.Goto, to)
	}
}
