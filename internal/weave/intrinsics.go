package weave

import (
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// intrinsicsClass holds the methods whose calls in a template are replaced.
const intrinsicsClass = "sonde/template/Template"

// intrinsic calls, numbered as item.value.
const (
	doTarget int32 = iota
	doSelf
	doArg
	doArgCount
	doResult
	doThrown
	doMethodID
	doMethodName
	doClassName
	doCondition      // it and what follows are replaced by fragments
	doTimedCondition // with the elapsed time on the stack
	doValue
)

// call is an intrinsic method: what it does, and of which computational kind its
// value must be (0 for boxed).
type call struct {
	what int32
	kind byte
}

var intrinsicCalls = map[string]call{
	"target()V":                      {doTarget, 0},
	"self()Ljava/lang/Object;":       {doSelf, 0},
	"arg(I)Ljava/lang/Object;":       {doArg, 0},
	"argInt(I)I":                     {doArg, 'I'},
	"argLong(I)J":                    {doArg, 'J'},
	"argFloat(I)F":                   {doArg, 'F'},
	"argDouble(I)D":                  {doArg, 'D'},
	"argCount()I":                    {doArgCount, 0},
	"result()Ljava/lang/Object;":     {doResult, 0},
	"resultInt()I":                   {doResult, 'I'},
	"resultLong()J":                  {doResult, 'J'},
	"resultFloat()F":                 {doResult, 'F'},
	"resultDouble()D":                {doResult, 'D'},
	"thrown()Ljava/lang/Throwable;":  {doThrown, 0},
	"methodId()I":                    {doMethodID, 0},
	"methodName()Ljava/lang/String;": {doMethodName, 0},
	"className()Ljava/lang/String;":  {doClassName, 0},
	"condition(I)I":                  {doCondition, 0},
	"condition(JI)I":                 {doTimedCondition, 0},
	"value(I)Ljava/lang/String;":     {doValue, 0},
}

// intrinsicCall reports whether n calls an intrinsic, and which.
func intrinsicCall(c *classfile.Class, n *code.Node) (int32, bool) {
	k, ok := lookupIntrinsic(c, n)
	return k.what, ok && k.what >= 0
}

// lookupIntrinsic returns the intrinsic n calls; what is -1 for a method of the
// intrinsics' class that is none.
func lookupIntrinsic(c *classfile.Class, n *code.Node) (call, bool) {
	if !n.Is(opcode.Invokestatic) {
		return call{}, false
	}
	class, name, desc, err := c.Pool.Member(n.Index())
	if err != nil || string(class) != intrinsicsClass {
		return call{}, false
	}
	k, ok := intrinsicCalls[string(name)+string(desc)]
	if !ok {
		return call{what: -1}, true
	}
	return k, true
}

// computational is the kind of value a descriptor stands for on the stack.
func computational(desc byte) byte {
	switch desc {
	case 'Z', 'B', 'S', 'C', 'I':
		return 'I'
	case '[', 'L':
		return 'A'
	}
	return desc
}

// boxes are the classes that box primitive values, by descriptor.
var boxes = map[byte]string{
	'Z': "java/lang/Boolean", 'B': "java/lang/Byte", 'S': "java/lang/Short", 'C': "java/lang/Character",
	'I': "java/lang/Integer", 'J': "java/lang/Long", 'F': "java/lang/Float", 'D': "java/lang/Double",
}

// Opcodes by computational kind.
func loadOp(kind byte) opcode.Op   { return opcode.Iload + offset(kind) }
func storeOp(kind byte) opcode.Op  { return opcode.Istore + offset(kind) }
func returnOp(kind byte) opcode.Op { return opcode.Ireturn + offset(kind) }

func offset(kind byte) opcode.Op {
	switch kind {
	case 'I':
		return 0
	case 'J':
		return 1
	case 'F':
		return 2
	case 'D':
		return 3
	}
	return 4
}

func slotsOf(kind byte) uint16 {
	switch kind {
	case 'V':
		return 0
	case 'J', 'D':
		return 2
	}
	return 1
}
