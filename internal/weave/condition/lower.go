package condition

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// framesMajor is the class-file version from which on classes have frames. Before, the
// verifier would find out by itself what may stand in a variable where ways meet, and
// load classes for that.
const framesMajor = 50

// Lower returns the code of a condition for a moment; of a value, what CompileValue
// says. The code leaves 1 where the condition holds, 0 where it does not, and -1 where
// it could not be decided, because a collection is of a class whose methods are not
// known to be pure. The stack is empty at every jump, but for what lay there before:
// operands wait in variables.
func (c *Checked) Lower(at weave.Moment) (*weave.Fragment, error) {
	if (at == weave.AtEntry) != (c.moment == Entry) {
		return nil, fmt.Errorf("condition %s was checked for another moment than it is woven at", c.expr.text)
	}
	e := &emitter{tagCall: c.tagCall}
	if c.value != nil {
		e.text(c.value, ending(at))
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
	steps     []weave.Step
	labels    int32
	live      []weave.Variable
	slots     int32 // in use
	maxSlots  int32
	undecided label // made when it is first wanted
	wanted    bool
	elapsed   int32
	timed     bool
	isText    bool
}

func (e *emitter) fragment() *weave.Fragment {
	return &weave.Fragment{Steps: e.steps, Labels: int(e.labels), MaxLocals: uint16(e.maxSlots), MaxStack: mostStack,
		MinMajor: framesMajor, Timed: e.timed, Text: e.isText}
}

// mostStack is what a fragment has on the stack at most: two longs, or a string, a
// text and an offset.
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

// begin takes the elapsed time off the stack, where it is wanted.
func (e *emitter) begin(timed bool) {
	if e.timed = timed; timed {
		e.elapsed = e.store("J")
	}
}

// forget lets go of all variables: nothing behind reads them.
func (e *emitter) forget() { e.live, e.slots = nil, 0 }

func (e *emitter) newLabel() label {
	e.labels++
	return label(e.labels - 1)
}

func (e *emitter) place(l label, stack ...string) {
	live := append([]weave.Variable(nil), e.live...)
	e.steps = append(e.steps, weave.Step{Do: weave.DoLabel, Value: int32(l), Live: live, Stack: stack})
}

func (e *emitter) jump(op opcode.Op, l label) {
	e.steps = append(e.steps, weave.Step{Do: weave.DoJump, Op: op, Value: int32(l)})
}

func (e *emitter) op(op opcode.Op) { e.steps = append(e.steps, weave.Step{Do: weave.DoOp, Op: op}) }

func (e *emitter) constant(op opcode.Op, c weave.Constant, value int32) {
	e.steps = append(e.steps, weave.Step{Do: weave.DoConstant, Op: op, Const: c, Value: value})
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
	e.steps = append(e.steps, weave.Step{Do: weave.DoLocal, Op: opcode.Istore + kindOffset(kindOf(desc)), Value: slot})
	e.live = append(e.live, weave.Variable{Slot: slot, Descriptor: desc})
	return slot
}

func (e *emitter) load(desc string, slot int32) {
	e.steps = append(e.steps, weave.Step{Do: weave.DoLocal, Op: opcode.Iload + kindOffset(kindOf(desc)), Value: slot})
}

// scope runs f and forgets the variables it made.
func (e *emitter) scope(f func()) {
	slots, live := e.slots, len(e.live)
	f()
	e.slots, e.live = slots, e.live[:live]
}

func kindOf(desc string) byte {
	switch desc[0] {
	case 'J', 'F', 'D':
		return desc[0]
	case 'L', '[':
		return 'A'
	}
	return 'I'
}

func kindOffset(kind byte) opcode.Op {
	switch kind {
	case 'J':
		return 1
	case 'F':
		return 2
	case 'D':
		return 3
	case 'A':
		return 4
	}
	return 0
}

func (e *emitter) pushInt(v int32) {
	switch {
	case v >= -1 && v <= 5:
		e.op(opcode.Op(int32(opcode.Iconst0) + v))
	case v == int32(int8(v)):
		e.steps = append(e.steps, weave.Step{Do: weave.DoOp, Op: opcode.Bipush, Value: v})
	case v == int32(int16(v)):
		e.steps = append(e.steps, weave.Step{Do: weave.DoOp, Op: opcode.Sipush, Value: v})
	default:
		e.constant(opcode.Ldc, weave.Constant{Tag: classfile.TagInteger, Raw: binary.BigEndian.AppendUint32([]byte{byte(classfile.TagInteger)}, uint32(v))}, 0)
	}
}

// pushConstant pushes a number as a kind, or a text.
func (e *emitter) pushConstant(kind byte, c *constant) {
	switch kind {
	case 'I':
		e.pushInt(int32(c.number))
	case 'J':
		raw := binary.BigEndian.AppendUint64([]byte{byte(classfile.TagLong)}, uint64(c.number))
		e.constant(opcode.Ldc2W, weave.Constant{Tag: classfile.TagLong, Raw: raw}, 0)
	case 'F':
		raw := binary.BigEndian.AppendUint32([]byte{byte(classfile.TagFloat)}, math.Float32bits(float32(c.float)))
		e.constant(opcode.Ldc, weave.Constant{Tag: classfile.TagFloat, Raw: raw}, 0)
	case 'D':
		raw := binary.BigEndian.AppendUint64([]byte{byte(classfile.TagDouble)}, math.Float64bits(c.float))
		e.constant(opcode.Ldc2W, weave.Constant{Tag: classfile.TagDouble, Raw: raw}, 0)
	default:
		e.pushText(c.text)
	}
}

func (e *emitter) pushText(text string) {
	e.constant(opcode.Ldc, weave.Constant{Tag: classfile.TagString, Text: string(classfile.EncodeUtf8(text))}, 0)
}
