package condition

import "github.com/sonde-jvm/sonde/classfile/opcode"

// harmless are the instructions that read, calculate, branch and return, and need no
// look at their operands.
var harmless = func() (ok [256]bool) {
	set := func(from, to opcode.Op) {
		for op := from; op <= to; op++ {
			ok[op] = true
		}
	}
	set(opcode.Nop, opcode.Sipush)
	set(opcode.Iload, opcode.Saload) // with arrays read
	set(opcode.Istore, opcode.Astore)
	set(opcode.Pop, opcode.Goto) // stack, arithmetic, conversions, comparisons, branches
	set(opcode.Ireturn, opcode.Areturn)
	for _, op := range []opcode.Op{opcode.Getfield, opcode.Arraylength, opcode.Ifnull, opcode.Ifnonnull} {
		ok[op] = true
	}
	return ok
}()

// whatItDoes says why an instruction is not harmless.
func whatItDoes(op opcode.Op) string {
	switch op {
	case opcode.Putfield, opcode.Putstatic:
		return "writes a field"
	case opcode.New, opcode.Newarray, opcode.Anewarray, opcode.Multianewarray:
		return "makes an object"
	case opcode.Monitorenter, opcode.Monitorexit:
		return "takes a lock"
	case opcode.Invokedynamic:
		return "uses invokedynamic"
	case opcode.Athrow:
		return "throws"
	}
	if op >= opcode.Iastore && op <= opcode.Sastore {
		return "writes to an array"
	}
	return "uses " + op.String()
}

// knownPure are methods of the JDK's that are pure by their specification though
// their bytecode does not show it: they use intrinsics, loops over a string's own
// characters, or keep a hash they have computed. All belong to final classes or are
// final themselves.
var knownPure = map[string]bool{
	"java/lang/String.length()I":                             true,
	"java/lang/String.isEmpty()Z":                            true,
	"java/lang/String.charAt(I)C":                            true,
	"java/lang/String.hashCode()I":                           true,
	"java/lang/String.equals(Ljava/lang/Object;)Z":           true,
	"java/lang/String.equalsIgnoreCase(Ljava/lang/String;)Z": true,
	"java/lang/String.compareTo(Ljava/lang/String;)I":        true,
	"java/lang/String.startsWith(Ljava/lang/String;)Z":       true,
	"java/lang/String.startsWith(Ljava/lang/String;I)Z":      true,
	"java/lang/String.endsWith(Ljava/lang/String;)Z":         true,
	"java/lang/String.indexOf(Ljava/lang/String;I)I":         true,
	"java/lang/String.toString()Ljava/lang/String;":          true,
	"java/lang/Enum.name()Ljava/lang/String;":                true,
	"java/lang/Enum.ordinal()I":                              true,
	"java/lang/Object.getClass()Ljava/lang/Class;":           true,
	"java/lang/Class.getName()Ljava/lang/String;":            true,
	"java/lang/Boolean.booleanValue()Z":                      true,
	"java/lang/Byte.byteValue()B":                            true,
	"java/lang/Short.shortValue()S":                          true,
	"java/lang/Character.charValue()C":                       true,
	"java/lang/Integer.intValue()I":                          true,
	"java/lang/Long.longValue()J":                            true,
	"java/lang/Float.floatValue()F":                          true,
	"java/lang/Double.doubleValue()D":                        true,
}

func pureByKnowledge(class, name, desc string) bool { return knownPure[class+"."+name+desc] }
