package code

import (
	"errors"
	"fmt"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// The first class-file versions that can load or call what older ones cannot.
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
			return fmt.Errorf("key %d stands behind %d: keys must ascend", s.Keys[i], s.Keys[i-1])
		}
	}
	return nil
}
