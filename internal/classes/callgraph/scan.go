package callgraph

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// How an instruction uses a pool entry. One entry may be used in several ways.
const (
	useVirtual  = iota
	useSpecial  // invokespecial
	useStatic   // invokestatic
	useStatics  // a class that is initialised: new, getstatic, putstatic
	useConstant // ldc, invokedynamic
	uses
)

// codeHeader is what stands before the instructions: u2 stack, u2 locals, u4 length.
const codeHeader = 8

// scan returns the calls of a body, each once. It looks at instructions one after
// the other, also at those that are never reached.
func (r *reader) scan(method int32, attribute []byte) ([]callID, error) {
	if len(attribute) < codeHeader {
		return nil, &classfile.FormatError{Structure: "code", Offset: len(attribute), Detail: "truncated header"}
	}
	size := uint64(binary.BigEndian.Uint32(attribute[4:]))
	if size > uint64(len(attribute)-codeHeader) {
		return nil, &classfile.FormatError{Structure: "code", Offset: 4, Detail: fmt.Sprintf("%d bytes of instructions do not fit", size)}
	}
	body := attribute[codeHeader : codeHeader+int(size)]
	var calls []callID
	for at := 0; at < len(body); {
		op := opcode.Op(body[at])
		length := lengthAt(body, at)
		if length == 0 || length > len(body)-at {
			return nil, &classfile.FormatError{Structure: "code", Offset: at, Detail: "no whole instruction: " + op.String()}
		}
		use, index := useOf(op, body[at:])
		at += length
		if use < 0 {
			continue
		}
		key := int(index)*uses + use
		if key >= len(r.stamp) {
			return nil, &classfile.PoolError{Index: index, Want: "what " + op.String() + " uses"}
		}
		if r.stamp[key] == method {
			continue
		}
		r.stamp[key] = method
		more, err := r.meaning(key, use, index)
		if err != nil {
			return nil, err
		}
		calls = append(calls, more...)
	}
	slices.Sort(calls)
	return slices.Clip(slices.Compact(calls)), nil
}

// useOf tells which entry an instruction uses for something that may call. The use
// is -1 where there is none.
func useOf(op opcode.Op, instruction []byte) (use int, index uint16) {
	switch op {
	case opcode.Invokevirtual, opcode.Invokeinterface:
		use = useVirtual
	case opcode.Invokespecial:
		use = useSpecial
	case opcode.Invokestatic:
		use = useStatic
	case opcode.New, opcode.Getstatic, opcode.Putstatic:
		use = useStatics
	case opcode.Invokedynamic, opcode.LdcW, opcode.Ldc2W:
		use = useConstant
	case opcode.Ldc:
		return useConstant, uint16(instruction[1])
	default:
		return -1, 0
	}
	return use, binary.BigEndian.Uint16(instruction[1:])
}

// lengthAt returns the length of the instruction at an offset, 0 where none is.
func lengthAt(body []byte, at int) int {
	op := opcode.Op(body[at])
	if n := int(op.Info().Length); n != 0 {
		return n
	}
	switch op {
	case opcode.Wide:
		if at+1 < len(body) {
			if opcode.Op(body[at+1]) == opcode.Iinc {
				return 6
			}
			return 4
		}
	case opcode.Tableswitch, opcode.Lookupswitch:
		operands := (at + 4) &^ 3
		if operands+12 > len(body) {
			return 0
		}
		low := int64(int32(binary.BigEndian.Uint32(body[operands+4:])))
		if op == opcode.Lookupswitch {
			return switchLength(operands+8-at, low, 8, len(body))
		}
		high := int64(int32(binary.BigEndian.Uint32(body[operands+8:])))
		return switchLength(operands+12-at, high-low+1, 4, len(body))
	}
	return 0
}

// switchLength adds cases to what stands before them; 0 where they cannot be.
func switchLength(before int, cases, size int64, limit int) int {
	if cases < 0 || cases > int64(limit) {
		return 0
	}
	return before + int(cases*size)
}

// meaning returns the calls a use of a pool entry stands for.
func (r *reader) meaning(key, use int, index uint16) ([]callID, error) {
	if known := r.memo[key]; known.end != 0 {
		return r.found[known.start:known.end], nil
	}
	start := len(r.found)
	r.round++
	var err error
	switch use {
	case useStatics:
		err = r.initialized(index)
	case useConstant:
		err = r.constant(index)
	default:
		err = r.invoke(use, index)
	}
	if err != nil {
		return nil, err
	}
	r.memo[key] = span{int32(start), int32(len(r.found))}
	return r.found[start:], nil
}
