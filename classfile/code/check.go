package code

import (
	"errors"
	"fmt"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// Check verifies a whole class: what [classfile.Class.Check] verifies, and each method
// body, which must lift and pass [Body.Check]. The error is a *classfile.FormatError;
// inside a body, its offset is relative to the code or to the attribute it names.
func (l *Lifter) Check(c *classfile.Class) error {
	if err := c.Check(); err != nil {
		return err
	}
	for i := range c.Methods {
		body, err := l.Lift(c, &c.Methods[i])
		if err == nil && body != nil {
			err = body.Check()
		}
		var e *classfile.FormatError
		if errors.As(err, &e) {
			return malformed(fmt.Sprintf("method %d, Code, %s", i, e.Structure), e.Offset, e.Detail)
		}
		if err != nil {
			return fmt.Errorf("method %d: %w", i, err)
		}
	}
	return nil
}

// Check verifies what lifting does not: that instructions, exception handlers, frames and
// variables refer to constants of the right kind and to existing slots. The constants
// themselves must have passed [classfile.Class.Check]. Types on the stack are not checked.
//
// The error is a *classfile.FormatError. Its offset is the offset of the instruction in
// the code the body was lifted from; for an inserted one, of the instruction before.
func (b *Body) Check() error {
	k := checker{Body: b, pool: &b.Class.Pool}
	for n := b.First(); n != nil; n = n.Next() {
		if n.off >= 0 {
			k.at = int(n.off)
		}
		var err error
		structure := "StackMapTable"
		switch n.Kind {
		case Instruction:
			structure = n.op.String()
			err = k.instruction(n)
		case FrameMark:
			err = k.frame(b.Frame(n))
		}
		if err != nil {
			return malformed(structure, k.at, err.Error())
		}
	}
	return k.tables()
}

type checker struct {
	*Body
	pool *classfile.Pool
	at   int // offset of the last original node
}

// one requires an entry of a single kind.
func (k *checker) one(index uint16, want classfile.Tag) error {
	if got := k.pool.Tag(index); got != want {
		return &classfile.PoolError{Index: index, Want: want.String(), Got: got}
	}
	return nil
}

// slots requires that n slots exist from first on.
func (k *checker) slots(first uint16, n int) error {
	if int(first)+n > int(k.MaxLocals) {
		return fmt.Errorf("slot %d does not exist, the body has %d", int(first)+n-1, k.MaxLocals)
	}
	return nil
}

// frame checks the classes of a frame and, if it lists all types, that it fits.
func (k *checker) frame(f *Frame) error {
	for _, types := range [2][]Type{f.Locals, f.Stack} {
		for _, t := range types {
			if t.Item == Object {
				if err := k.one(t.Class, classfile.TagClass); err != nil {
					return err
				}
			}
		}
	}
	if f.Form != FullFrame && f.Form != Absolute {
		return nil
	}
	if n := Slots(f.Locals); n > int(k.MaxLocals) {
		return fmt.Errorf("a frame has %d slots, the body %d", n, k.MaxLocals)
	}
	if n := Slots(f.Stack); n > int(k.MaxStack) {
		return fmt.Errorf("a frame has a stack of %d slots, the body %d", n, k.MaxStack)
	}
	return nil
}

// tables checks exception handlers and local variables.
func (k *checker) tables() error {
	for i, h := range k.Handlers {
		if h.Catch == 0 {
			continue
		}
		if err := k.one(h.Catch, classfile.TagClass); err != nil {
			return malformed(fmt.Sprintf("exception handler %d", i), max(0, h.Entry.Offset()), err.Error())
		}
	}
	for i := range k.Vars {
		if err := k.variable(&k.Vars[i]); err != nil {
			return malformed(fmt.Sprintf("local variable %d", i), max(0, k.Vars[i].Start.Offset()), err.Error())
		}
	}
	return nil
}

func (k *checker) variable(v *Var) error {
	if err := k.one(v.Name, classfile.TagUtf8); err != nil {
		return err
	}
	if err := k.one(v.Descriptor, classfile.TagUtf8); err != nil {
		return err
	}
	return k.slots(v.Slot, 1)
}

// The first class-file versions with each of these features.
const (
	majorClassConstants  = 49
	majorMethodConstants = 51
	majorInterfaceCode   = 52
	majorDynamicConstant = 55
)

// The primitive types of newarray, JVMS 6.5: boolean to long.
const (
	firstArrayType = 4
	lastArrayType  = 11
)

func (k *checker) instruction(n *Node) error {
	switch n.op {
	case opcode.Ldc, opcode.Ldc2W:
		return k.constant(n)
	case opcode.Getstatic, opcode.Putstatic, opcode.Getfield, opcode.Putfield:
		return k.one(n.index, classfile.TagFieldref)
	case opcode.Invokevirtual:
		return k.one(n.index, classfile.TagMethodref)
	case opcode.Invokespecial, opcode.Invokestatic:
		if k.pool.Tag(n.index) == classfile.TagInterfaceMethodref && k.Class.Major >= majorInterfaceCode {
			return nil
		}
		return k.one(n.index, classfile.TagMethodref)
	case opcode.Invokeinterface:
		if n.value == 0 {
			return errors.New("its argument count is 0, must be 1 at least")
		}
		return k.one(n.index, classfile.TagInterfaceMethodref)
	case opcode.Invokedynamic:
		return k.one(n.index, classfile.TagInvokeDynamic)
	case opcode.New, opcode.Anewarray, opcode.Checkcast, opcode.Instanceof, opcode.Multianewarray:
		return k.class(n)
	case opcode.Newarray:
		if n.value < firstArrayType || n.value > lastArrayType {
			return fmt.Errorf("no such array type: %d, must be %d to %d", n.value, firstArrayType, lastArrayType)
		}
	case opcode.Tableswitch, opcode.Lookupswitch:
		return switchKeys(n.op, k.Switch(n))
	case opcode.Lload, opcode.Dload, opcode.Lstore, opcode.Dstore:
		return k.slots(n.index, 2)
	default:
		if shape := n.op.Info().Shape; shape == opcode.Local || shape == opcode.IncLocal {
			return k.slots(n.index, 1)
		}
	}
	return nil
}

// constant checks what ldc, ldc_w and ldc2_w load.
func (k *checker) constant(n *Node) error {
	tag := k.pool.Tag(n.index)
	wide, since := false, uint16(0)
	switch tag {
	case classfile.TagInteger, classfile.TagFloat, classfile.TagString:
	case classfile.TagLong, classfile.TagDouble:
		wide = true
	case classfile.TagClass:
		since = majorClassConstants
	case classfile.TagMethodHandle, classfile.TagMethodType:
		since = majorMethodConstants
	case classfile.TagDynamic:
		since = majorDynamicConstant
		text, err := k.pool.Descriptor(n.index)
		if err != nil {
			return err
		}
		wide = string(text) == "J" || string(text) == "D"
	default:
		return &classfile.PoolError{Index: n.index, Want: "a constant that can be loaded", Got: tag}
	}
	switch {
	case wide && n.op != opcode.Ldc2W:
		return fmt.Errorf("constant pool index %d: the constant takes two slots, for ldc2_w to load", n.index)
	case !wide && n.op == opcode.Ldc2W:
		return fmt.Errorf("constant pool index %d: the constant takes one slot, for ldc to load", n.index)
	case k.Class.Major < since:
		return fmt.Errorf("constant pool index %d: %s cannot be loaded before class-file version %d, this is %d", n.index, tag, since, k.Class.Major)
	}
	return nil
}

// class checks the instructions that name a class, and how many dimensions it has.
func (k *checker) class(n *Node) error {
	if err := k.one(n.index, classfile.TagClass); err != nil {
		return err
	}
	name, err := k.pool.ClassName(n.index)
	if err != nil {
		return err
	}
	dimensions := 0
	for dimensions < len(name) && name[dimensions] == '[' {
		dimensions++
	}
	switch {
	case n.op == opcode.New && dimensions > 0:
		return fmt.Errorf("constant pool index %d: %q is an array", n.index, name)
	case n.op == opcode.Multianewarray && (n.value < 1 || int(n.value) > dimensions):
		return fmt.Errorf("%d dimensions, must be 1 to the %d of %q", n.value, dimensions, name)
	}
	return nil
}

func switchKeys(op opcode.Op, s *Switch) error {
	if op == opcode.Tableswitch && len(s.Keys) == 0 {
		return fmt.Errorf("low is %d, above high, %d", s.low, int64(s.low)-1)
	}
	for i := 1; i < len(s.Keys); i++ {
		if s.Keys[i] <= s.Keys[i-1] {
			return fmt.Errorf("key %d follows %d: keys must ascend", s.Keys[i], s.Keys[i-1])
		}
	}
	return nil
}
