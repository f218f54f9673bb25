package condition

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
)

const (
	// framesMajor is the first class-file version with stack-map frames. For older classes the
	// verifier infers the types of variables where branches join, and loads classes for that.
	framesMajor = 50
	// interfacesMajor is the first version that can call static methods of interfaces.
	interfacesMajor = 52
)

// Lower returns the code of a condition for a moment, or that of a value as [CheckValue]
// describes it. The code of a condition leaves 1 if it holds, 0 if not, and -1 if it is
// undecided because the methods of a collection are not known to be pure. At every jump the
// stack is as it was at the beginning: operands are kept in variables.
func (c *Checked) Lower(at weave.Moment) (*weave.Fragment, error) {
	if (at == weave.AtEntry) != (c.moment == Entry) {
		return nil, fmt.Errorf("internal error: condition %s was compiled for the entry but is used at the exit, or the reverse", c.expr.Text())
	}
	e := &emitter{tagCall: c.tagCall, folding: c.fold, minMajor: framesMajor}
	if c.cond == nil {
		e.text(c.values, ending(at))
	} else {
		e.whole(fold(c.cond, ending(at)))
	}
	f := e.fragment()
	f.Class, f.Method, f.Descr = c.method.Class, c.method.Name, c.method.Descriptor
	return f, nil
}

func ending(at weave.Moment) thrown {
	switch at {
	case weave.AtReturn:
		return hasReturned
	case weave.AtThrow:
		return hasThrown
	}
	return hasNotEnded
}

// label is a place to jump to.
type label int32

// emitter writes the steps of a fragment.
type emitter struct {
	tagCall   TagCall
	folding   string // the method that shortens a text
	steps     []weave.Step
	labels    int32
	live      []weave.Variable
	slots     int32 // in use
	maxSlots  int32
	undecided label // valid if wanted
	wanted    bool
	elapsed   int32
	timed     bool
	isText    bool
	minMajor  uint16 // of the class files that can have the code
}

func (e *emitter) fragment() *weave.Fragment {
	return &weave.Fragment{Steps: e.steps, Labels: int(e.labels), MaxLocals: uint16(e.maxSlots), MaxStack: mostStack,
		MinMajor: e.minMajor, Timed: e.timed, Text: e.isText}
}

// mostStack is the largest stack of a fragment: two longs, or a string, a text and an offset.
const mostStack = 6

// whole writes a condition as a number.
func (e *emitter) whole(c cond) {
	e.begin(c.reads(fromElapsed))
	if known, ok := c.(always); ok {
		if known {
			e.pushInt(1)
		} else {
			e.pushInt(0)
		}
		return
	}
	no, end := e.newLabel(), e.newLabel()
	e.branch(c, false, no)
	e.forget()
	e.pushInt(1)
	e.jump(opcode.Goto, end)
	e.place(no)
	e.pushInt(0)
	if e.wanted {
		e.jump(opcode.Goto, end)
		e.place(e.undecided)
		e.pushInt(-1)
	}
	e.place(end, "I")
}

// begin stores the elapsed time, if it is used, in a variable.
func (e *emitter) begin(timed bool) {
	if e.timed = timed; timed {
		e.elapsed = e.store("J")
	}
}

// forget ends the life of all variables.
func (e *emitter) forget() { e.live, e.slots = nil, 0 }

func (e *emitter) newLabel() label {
	e.labels++
	return label(e.labels - 1)
}

func (e *emitter) add(s weave.Step) { e.steps = append(e.steps, s) }

func (e *emitter) place(l label, stack ...string) {
	e.add(weave.Step{Do: weave.DoLabel, Value: int32(l), Live: slices.Clone(e.live), Stack: stack})
}

func (e *emitter) jump(op opcode.Op, l label) {
	e.add(weave.Step{Do: weave.DoJump, Op: op, Value: int32(l)})
}

func (e *emitter) op(op opcode.Op) { e.add(weave.Step{Do: weave.DoOp, Op: op}) }

func (e *emitter) constant(op opcode.Op, c weave.Constant, value int32) {
	e.add(weave.Step{Do: weave.DoConstant, Op: op, Const: c, Value: value})
}

func (e *emitter) class(op opcode.Op, name string) {
	e.constant(op, weave.Constant{Tag: classfile.TagClass, Text: name}, 0)
}

// use emits a getfield or a call.
func (e *emitter) use(r ref) {
	tag, count := classfile.TagMethodref, int32(0)
	switch r.op {
	case opcode.Getfield:
		tag = classfile.TagFieldref
	case opcode.Invokeinterface:
		tag = classfile.TagInterfaceMethodref
		slots, _, _ := descriptor.ArgSlots([]byte(r.desc))
		count = int32(slots) + 1
	}
	e.constant(r.op, weave.Constant{Tag: tag, Text: r.class, Name: r.name, Descr: r.desc}, count)
}

// store puts the top of the stack into a new variable.
func (e *emitter) store(desc string) int32 {
	slot := e.slots
	e.slots += int32(descriptor.Type(desc).Slots())
	e.maxSlots = max(e.maxSlots, e.slots)
	e.add(weave.Step{Do: weave.DoLocal, Op: weave.StoreOp(kindOf(desc)), Value: slot})
	e.live = append(e.live, weave.Variable{Slot: slot, Descriptor: desc})
	return slot
}

func (e *emitter) load(desc string, slot int32) {
	e.add(weave.Step{Do: weave.DoLocal, Op: weave.LoadOp(kindOf(desc)), Value: slot})
}

// scope runs f and forgets the variables it made.
func (e *emitter) scope(f func()) {
	slots, live := e.slots, len(e.live)
	f()
	e.slots, e.live = slots, e.live[:live]
}

func kindOf(desc string) byte { return weave.KindOf(desc[0]) }

func (e *emitter) pushInt(v int32) {
	op, operand := weave.PushInt(v)
	if op == opcode.Ldc {
		e.number(op, classfile.TagInteger, uint64(uint32(v)))
		return
	}
	e.add(weave.Step{Do: weave.DoOp, Op: op, Value: operand})
}

// number loads a number from the constant pool, by its bits.
func (e *emitter) number(op opcode.Op, tag classfile.Tag, bits uint64) {
	raw := []byte{byte(tag)}
	if op == opcode.Ldc2W {
		raw = binary.BigEndian.AppendUint64(raw, bits)
	} else {
		raw = binary.BigEndian.AppendUint32(raw, uint32(bits))
	}
	e.constant(op, weave.Constant{Tag: tag, Raw: string(raw)}, 0)
}

// pushConstant pushes a number as a kind, or a text.
func (e *emitter) pushConstant(kind byte, c *constant) {
	switch kind {
	case 'I':
		e.pushInt(int32(c.number))
	case 'J':
		e.number(opcode.Ldc2W, classfile.TagLong, uint64(c.number))
	case 'F':
		e.number(opcode.Ldc, classfile.TagFloat, uint64(math.Float32bits(float32(c.float))))
	case 'D':
		e.number(opcode.Ldc2W, classfile.TagDouble, math.Float64bits(c.float))
	default:
		e.pushText(c.text)
	}
}

func (e *emitter) pushText(text string) {
	e.constant(opcode.Ldc, weave.Constant{Tag: classfile.TagString, Text: string(classfile.EncodeUtf8(text))}, 0)
}

// branch jumps to a label if a condition has the given result, and falls through otherwise.
// The condition has been folded.
func (e *emitter) branch(c cond, when bool, to label) {
	switch c := c.(type) {
	case *logic:
		e.logic(c, when, to)
	case *not:
		e.branch(c.x, !when, to)
	default:
		e.scope(func() { e.leaf(c, when, to) })
	}
}

// logic evaluates l && r, or l || r: one answer of l decides.
func (e *emitter) logic(c *logic, when bool, to label) {
	if when == c.or {
		e.branch(c.l, when, to)
		e.branch(c.r, when, to)
		return
	}
	past := e.newLabel()
	e.branch(c.l, c.or, past)
	e.branch(c.r, when, to)
	e.place(past)
}

// leaf evaluates a comparison. A missing value makes it false, except for == null.
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

// truth returns the jump on an int that is, or is not, zero.
func truth(when bool) opcode.Op {
	if when {
		return opcode.Ifne
	}
	return opcode.Ifeq
}

// nothing evaluates whether there is no value.
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

// present pushes a value that is not null, or jumps if there is none.
func (e *emitter) present(v *value, absent label) {
	if !v.typ.isRef() || v.kind == fromThis {
		e.value(v, absent)
		return
	}
	e.scope(func() { e.load(v.typ.desc, e.held(v, absent)) })
}

// held stores a value that is not null in a new variable, or jumps if there is none.
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

// convert converts a primitive value to a kind.
func (e *emitter) convert(desc string, kind byte) {
	if op, ok := conversions[string([]byte{kindOf(desc), kind})]; ok {
		e.op(op)
	}
}

var (
	conversions = map[string]opcode.Op{
		"IJ": opcode.I2l, "IF": opcode.I2f, "ID": opcode.I2d, "JD": opcode.L2d, "FD": opcode.F2d,
	}
	intJumps  = map[string]opcode.Op{"==": opcode.IfIcmpeq, "!=": opcode.IfIcmpne, "<": opcode.IfIcmplt, "<=": opcode.IfIcmple, ">": opcode.IfIcmpgt, ">=": opcode.IfIcmpge}
	zeroJumps = map[string]opcode.Op{"==": opcode.Ifeq, "!=": opcode.Ifne, "<": opcode.Iflt, "<=": opcode.Ifle, ">": opcode.Ifgt, ">=": opcode.Ifge}
)

// relation compares the two values on the stack. c is the right one if that is a constant.
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
		// NaN is neither less nor greater nor equal.
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
			e.use(stringEquals)
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

// value pushes a value. It jumps if an object on the path to it is missing; the value itself
// may be null.
func (e *emitter) value(v *value, absent label) {
	switch v.kind {
	case fromArgument:
		e.add(weave.Step{Do: weave.DoArgument, Value: v.n, Kind: kindOf(v.typ.desc)})
	case fromThis:
		e.add(weave.Step{Do: weave.DoSelf})
	case fromReturn:
		e.add(weave.Step{Do: weave.DoResult, Kind: kindOf(v.typ.desc)})
	case fromThrown:
		e.add(weave.Step{Do: weave.DoThrown})
	case fromElapsed:
		e.load("J", e.elapsed)
	case fromTag:
		e.pushInt(v.n)
		e.use(ref{opcode.Invokestatic, e.tagCall.Class, e.tagCall.Method, "(I)" + stringDesc})
	case fromField, fromCall, fromUnboxed:
		if v.hands {
			e.scope(func() { e.handOver(v, absent) })
			return
		}
		e.present(v.base, absent)
		if v.asked {
			e.pushText(v.text)
		}
		e.use(v.ref)
	case fromStatic:
		if !v.open {
			e.use(v.ref)
			return
		}
		e.minMajor = interfacesMajor
		e.constant(v.ref.op, weave.Constant{Tag: classfile.TagInterfaceMethodref, Text: v.ref.class, Name: v.ref.name, Descr: v.ref.desc}, 0)
	case fromLength:
		e.present(v.base, absent)
		e.op(opcode.Arraylength)
	case fromElement:
		e.scope(func() { e.element(v, absent) })
	case fromUse:
		e.scope(func() { e.collection(v, absent) })
	case fromNarrow:
		e.scope(func() { e.narrow(v, absent) })
	}
}

// handOver calls a method with a text and the name of the running traced call, which is made now, and pushes null.
func (e *emitter) handOver(v *value, absent label) {
	object := e.held(v.base, absent)
	if v.unless != nil {
		e.present(v.unless, absent)
		e.jump(opcode.Ifne, absent)
	}
	e.use(ref{opcode.Invokestatic, e.tagCall.Class, e.tagCall.Parent, "()" + stringDesc})
	parent := e.store(stringDesc)
	e.load(stringDesc, parent)
	e.jump(opcode.Ifnull, absent)
	e.load(v.base.typ.desc, object)
	e.pushText(v.text)
	e.load(stringDesc, parent)
	e.use(v.ref)
	switch v.ref.desc[strings.IndexByte(v.ref.desc, ')')+1] {
	case 'V':
	case 'J', 'D':
		e.op(opcode.Pop2)
	default:
		e.op(opcode.Pop)
	}
	e.op(opcode.AconstNull)
}

// element reads an element of an array, or jumps if the array is too short.
func (e *emitter) element(v *value, absent label) {
	array := v.base.typ.desc
	slot := e.held(v.base, absent)
	e.load(array, slot)
	e.op(opcode.Arraylength)
	e.pushInt(v.n)
	e.jump(opcode.IfIcmple, absent)
	e.load(array, slot)
	e.pushInt(v.n)
	e.op(arrayLoads[v.typ.desc[0]])
}

// arrayLoads are the instructions that load an element of an array, by its type.
var arrayLoads = map[byte]opcode.Op{
	'I': opcode.Iaload, 'J': opcode.Laload, 'F': opcode.Faload, 'D': opcode.Daload, 'B': opcode.Baload,
	'Z': opcode.Baload, 'C': opcode.Caload, 'S': opcode.Saload, 'L': opcode.Aaload, '[': opcode.Aaload,
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

// collection calls a method of a collection whose class is known to be pure.
func (e *emitter) collection(v *value, absent label) {
	u, desc := v.use, v.base.typ.desc
	slot := e.held(v.base, absent)
	e.known(desc, slot, u.classes)
	push := func() {
		e.load(desc, slot)
		if v.base.typ.class() != u.class {
			e.class(opcode.Checkcast, u.class)
		}
	}
	if u == &listGet {
		push()
		e.use(ref{opcode.Invokeinterface, u.class, "size", "()I"})
		e.pushInt(v.n)
		e.jump(opcode.IfIcmple, absent)
	}
	push()
	switch u {
	case &listGet:
		e.pushInt(v.n)
	case &mapGet:
		e.pushText(v.text)
	}
	e.use(ref{opcode.Invokeinterface, u.class, u.name, u.desc})
}

// known makes the condition undecided unless an object is exactly of one of the classes.
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
				e.use(stringEquals)
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
		e.use(stringLength)
	}
	beginOfLast := func() {
		length()
		e.pushInt(int32(last.size))
		e.op(opcode.Isub)
	}
	length()
	if len(pieces) == 1 {
		e.pushInt(int32(first.size))
		e.jump(opcode.IfIcmpne, no)
		e.fits(first, s, func() {}, no)
		if when {
			e.jump(opcode.Goto, to)
		}
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
		beginOfLast()
		at()
		e.jump(opcode.IfIcmplt, no)
	}
	e.fits(last, s, beginOfLast, no)
	if when {
		e.jump(opcode.Goto, to)
	}
}

// fits jumps unless a string has the parts of a piece in their places. from pushes the place
// where the piece begins; it pushes nothing for the beginning of the string.
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
		e.use(stringStartsWith)
		e.jump(opcode.Ifeq, no)
	}
}

// text evaluates the first value that exists as a string of limited length.
func (e *emitter) text(values []*value, at thrown) {
	e.isText = true
	values = slices.DeleteFunc(slices.Clone(values), func(v *value) bool {
		return at == hasThrown && v.reads(fromReturn) || at == hasReturned && v.reads(fromThrown)
	})
	if len(values) == 0 {
		e.op(opcode.AconstNull)
		return
	}
	e.begin(values[0].reads(fromElapsed))
	end := e.newLabel()
	for _, v := range values {
		absent := e.newLabel()
		e.present(v, absent)
		e.shortText(v.typ.desc, end)
		e.jump(opcode.Goto, end)
		e.forget()
		e.place(absent)
	}
	if e.wanted {
		e.place(e.undecided)
	}
	e.op(opcode.AconstNull)
	e.place(end, stringDesc)
}

// shortText turns the value on the stack into a string of limited length. It may jump to end with the string.
func (e *emitter) shortText(desc string, end label) {
	if !(typ{desc: desc}).isRef() {
		if desc == "B" || desc == "S" {
			desc = "I"
		}
		e.use(ref{opcode.Invokestatic, stringClass, "valueOf", "(" + desc + ")" + stringDesc})
	}
	e.forget()
	s := e.store(stringDesc)
	if e.folding != "" {
		e.load(stringDesc, s)
		e.use(ref{opcode.Invokestatic, e.tagCall.Class, e.folding, "(" + stringDesc + ")" + stringDesc})
		return
	}
	short := e.newLabel()
	e.load(stringDesc, s)
	e.use(stringLength)
	e.pushInt(LongestValue)
	e.jump(opcode.IfIcmple, short)
	e.load(stringDesc, s)
	e.pushInt(0)
	e.pushInt(LongestValue)
	e.use(ref{invokevirtual, stringClass, "substring", "(II)" + stringDesc})
	e.jump(opcode.Goto, end)
	e.place(short)
	e.load(stringDesc, s)
}
