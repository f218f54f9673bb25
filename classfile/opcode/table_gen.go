// Code generated from opcodes.table; DO NOT EDIT.

package opcode

// The instructions, named as in the specification without underscores.
const (
	Nop             Op = 0x00
	AconstNull      Op = 0x01
	IconstM1        Op = 0x02
	Iconst0         Op = 0x03
	Iconst1         Op = 0x04
	Iconst2         Op = 0x05
	Iconst3         Op = 0x06
	Iconst4         Op = 0x07
	Iconst5         Op = 0x08
	Lconst0         Op = 0x09
	Lconst1         Op = 0x0a
	Fconst0         Op = 0x0b
	Fconst1         Op = 0x0c
	Fconst2         Op = 0x0d
	Dconst0         Op = 0x0e
	Dconst1         Op = 0x0f
	Bipush          Op = 0x10
	Sipush          Op = 0x11
	Ldc             Op = 0x12
	LdcW            Op = 0x13
	Ldc2W           Op = 0x14
	Iload           Op = 0x15
	Lload           Op = 0x16
	Fload           Op = 0x17
	Dload           Op = 0x18
	Aload           Op = 0x19
	Iaload          Op = 0x2e
	Laload          Op = 0x2f
	Faload          Op = 0x30
	Daload          Op = 0x31
	Aaload          Op = 0x32
	Baload          Op = 0x33
	Caload          Op = 0x34
	Saload          Op = 0x35
	Istore          Op = 0x36
	Lstore          Op = 0x37
	Fstore          Op = 0x38
	Dstore          Op = 0x39
	Astore          Op = 0x3a
	Iastore         Op = 0x4f
	Lastore         Op = 0x50
	Fastore         Op = 0x51
	Dastore         Op = 0x52
	Aastore         Op = 0x53
	Bastore         Op = 0x54
	Castore         Op = 0x55
	Sastore         Op = 0x56
	Pop             Op = 0x57
	Pop2            Op = 0x58
	Dup             Op = 0x59
	DupX1           Op = 0x5a
	DupX2           Op = 0x5b
	Dup2            Op = 0x5c
	Dup2X1          Op = 0x5d
	Dup2X2          Op = 0x5e
	Swap            Op = 0x5f
	Iadd            Op = 0x60
	Ladd            Op = 0x61
	Fadd            Op = 0x62
	Dadd            Op = 0x63
	Isub            Op = 0x64
	Lsub            Op = 0x65
	Fsub            Op = 0x66
	Dsub            Op = 0x67
	Imul            Op = 0x68
	Lmul            Op = 0x69
	Fmul            Op = 0x6a
	Dmul            Op = 0x6b
	Idiv            Op = 0x6c
	Ldiv            Op = 0x6d
	Fdiv            Op = 0x6e
	Ddiv            Op = 0x6f
	Irem            Op = 0x70
	Lrem            Op = 0x71
	Frem            Op = 0x72
	Drem            Op = 0x73
	Ineg            Op = 0x74
	Lneg            Op = 0x75
	Fneg            Op = 0x76
	Dneg            Op = 0x77
	Ishl            Op = 0x78
	Lshl            Op = 0x79
	Ishr            Op = 0x7a
	Lshr            Op = 0x7b
	Iushr           Op = 0x7c
	Lushr           Op = 0x7d
	Iand            Op = 0x7e
	Land            Op = 0x7f
	Ior             Op = 0x80
	Lor             Op = 0x81
	Ixor            Op = 0x82
	Lxor            Op = 0x83
	Iinc            Op = 0x84
	I2l             Op = 0x85
	I2f             Op = 0x86
	I2d             Op = 0x87
	L2i             Op = 0x88
	L2f             Op = 0x89
	L2d             Op = 0x8a
	F2i             Op = 0x8b
	F2l             Op = 0x8c
	F2d             Op = 0x8d
	D2i             Op = 0x8e
	D2l             Op = 0x8f
	D2f             Op = 0x90
	I2b             Op = 0x91
	I2c             Op = 0x92
	I2s             Op = 0x93
	Lcmp            Op = 0x94
	Fcmpl           Op = 0x95
	Fcmpg           Op = 0x96
	Dcmpl           Op = 0x97
	Dcmpg           Op = 0x98
	Ifeq            Op = 0x99
	Ifne            Op = 0x9a
	Iflt            Op = 0x9b
	Ifge            Op = 0x9c
	Ifgt            Op = 0x9d
	Ifle            Op = 0x9e
	IfIcmpeq        Op = 0x9f
	IfIcmpne        Op = 0xa0
	IfIcmplt        Op = 0xa1
	IfIcmpge        Op = 0xa2
	IfIcmpgt        Op = 0xa3
	IfIcmple        Op = 0xa4
	IfAcmpeq        Op = 0xa5
	IfAcmpne        Op = 0xa6
	Goto            Op = 0xa7
	Jsr             Op = 0xa8
	Ret             Op = 0xa9
	Tableswitch     Op = 0xaa
	Lookupswitch    Op = 0xab
	Ireturn         Op = 0xac
	Lreturn         Op = 0xad
	Freturn         Op = 0xae
	Dreturn         Op = 0xaf
	Areturn         Op = 0xb0
	Return          Op = 0xb1
	Getstatic       Op = 0xb2
	Putstatic       Op = 0xb3
	Getfield        Op = 0xb4
	Putfield        Op = 0xb5
	Invokevirtual   Op = 0xb6
	Invokespecial   Op = 0xb7
	Invokestatic    Op = 0xb8
	Invokeinterface Op = 0xb9
	Invokedynamic   Op = 0xba
	New             Op = 0xbb
	Newarray        Op = 0xbc
	Anewarray       Op = 0xbd
	Arraylength     Op = 0xbe
	Athrow          Op = 0xbf
	Checkcast       Op = 0xc0
	Instanceof      Op = 0xc1
	Monitorenter    Op = 0xc2
	Monitorexit     Op = 0xc3
	Wide            Op = 0xc4
	Multianewarray  Op = 0xc5
	Ifnull          Op = 0xc6
	Ifnonnull       Op = 0xc7
	GotoW           Op = 0xc8
	JsrW            Op = 0xc9
)

var table = [256]Info{
	Nop:             {"nop", ":", None, Nop, -1, 0, 1},
	AconstNull:      {"aconst_null", ":A", None, AconstNull, -1, 1, 1},
	IconstM1:        {"iconst_m1", ":I", None, IconstM1, -1, 1, 1},
	Iconst0:         {"iconst_0", ":I", None, Iconst0, -1, 1, 1},
	Iconst1:         {"iconst_1", ":I", None, Iconst1, -1, 1, 1},
	Iconst2:         {"iconst_2", ":I", None, Iconst2, -1, 1, 1},
	Iconst3:         {"iconst_3", ":I", None, Iconst3, -1, 1, 1},
	Iconst4:         {"iconst_4", ":I", None, Iconst4, -1, 1, 1},
	Iconst5:         {"iconst_5", ":I", None, Iconst5, -1, 1, 1},
	Lconst0:         {"lconst_0", ":L", None, Lconst0, -1, 2, 1},
	Lconst1:         {"lconst_1", ":L", None, Lconst1, -1, 2, 1},
	Fconst0:         {"fconst_0", ":F", None, Fconst0, -1, 1, 1},
	Fconst1:         {"fconst_1", ":F", None, Fconst1, -1, 1, 1},
	Fconst2:         {"fconst_2", ":F", None, Fconst2, -1, 1, 1},
	Dconst0:         {"dconst_0", ":D", None, Dconst0, -1, 2, 1},
	Dconst1:         {"dconst_1", ":D", None, Dconst1, -1, 2, 1},
	Bipush:          {"bipush", ":I", S1, Bipush, -1, 1, 2},
	Sipush:          {"sipush", ":I", S2, Sipush, -1, 1, 3},
	Ldc:             {"ldc", "*", CP1, Ldc, -1, UnknownDelta, 2},
	LdcW:            {"ldc_w", "*", CP2, Ldc, -1, UnknownDelta, 3},
	Ldc2W:           {"ldc2_w", "*", CP2, Ldc2W, -1, UnknownDelta, 3},
	Iload:           {"iload", ":I", Local, Iload, -1, 1, 2},
	Lload:           {"lload", ":L", Local, Lload, -1, 2, 2},
	Fload:           {"fload", ":F", Local, Fload, -1, 1, 2},
	Dload:           {"dload", ":D", Local, Dload, -1, 2, 2},
	Aload:           {"aload", ":A", Local, Aload, -1, 1, 2},
	Iaload:          {"iaload", "AI:I", None, Iaload, -1, -1, 1},
	Laload:          {"laload", "AI:L", None, Laload, -1, 0, 1},
	Faload:          {"faload", "AI:F", None, Faload, -1, -1, 1},
	Daload:          {"daload", "AI:D", None, Daload, -1, 0, 1},
	Aaload:          {"aaload", "*-1", None, Aaload, -1, -1, 1},
	Baload:          {"baload", "AI:I", None, Baload, -1, -1, 1},
	Caload:          {"caload", "AI:I", None, Caload, -1, -1, 1},
	Saload:          {"saload", "AI:I", None, Saload, -1, -1, 1},
	Istore:          {"istore", "I:", Local, Istore, -1, -1, 2},
	Lstore:          {"lstore", "L:", Local, Lstore, -1, -2, 2},
	Fstore:          {"fstore", "F:", Local, Fstore, -1, -1, 2},
	Dstore:          {"dstore", "D:", Local, Dstore, -1, -2, 2},
	Astore:          {"astore", "A:", Local, Astore, -1, -1, 2},
	Iastore:         {"iastore", "AII:", None, Iastore, -1, -3, 1},
	Lastore:         {"lastore", "AIL:", None, Lastore, -1, -4, 1},
	Fastore:         {"fastore", "AIF:", None, Fastore, -1, -3, 1},
	Dastore:         {"dastore", "AID:", None, Dastore, -1, -4, 1},
	Aastore:         {"aastore", "AIA:", None, Aastore, -1, -3, 1},
	Bastore:         {"bastore", "AII:", None, Bastore, -1, -3, 1},
	Castore:         {"castore", "AII:", None, Castore, -1, -3, 1},
	Sastore:         {"sastore", "AII:", None, Sastore, -1, -3, 1},
	Pop:             {"pop", "*-1", None, Pop, -1, -1, 1},
	Pop2:            {"pop2", "*-2", None, Pop2, -1, -2, 1},
	Dup:             {"dup", "*+1", None, Dup, -1, 1, 1},
	DupX1:           {"dup_x1", "*+1", None, DupX1, -1, 1, 1},
	DupX2:           {"dup_x2", "*+1", None, DupX2, -1, 1, 1},
	Dup2:            {"dup2", "*+2", None, Dup2, -1, 2, 1},
	Dup2X1:          {"dup2_x1", "*+2", None, Dup2X1, -1, 2, 1},
	Dup2X2:          {"dup2_x2", "*+2", None, Dup2X2, -1, 2, 1},
	Swap:            {"swap", "*+0", None, Swap, -1, 0, 1},
	Iadd:            {"iadd", "II:I", None, Iadd, -1, -1, 1},
	Ladd:            {"ladd", "LL:L", None, Ladd, -1, -2, 1},
	Fadd:            {"fadd", "FF:F", None, Fadd, -1, -1, 1},
	Dadd:            {"dadd", "DD:D", None, Dadd, -1, -2, 1},
	Isub:            {"isub", "II:I", None, Isub, -1, -1, 1},
	Lsub:            {"lsub", "LL:L", None, Lsub, -1, -2, 1},
	Fsub:            {"fsub", "FF:F", None, Fsub, -1, -1, 1},
	Dsub:            {"dsub", "DD:D", None, Dsub, -1, -2, 1},
	Imul:            {"imul", "II:I", None, Imul, -1, -1, 1},
	Lmul:            {"lmul", "LL:L", None, Lmul, -1, -2, 1},
	Fmul:            {"fmul", "FF:F", None, Fmul, -1, -1, 1},
	Dmul:            {"dmul", "DD:D", None, Dmul, -1, -2, 1},
	Idiv:            {"idiv", "II:I", None, Idiv, -1, -1, 1},
	Ldiv:            {"ldiv", "LL:L", None, Ldiv, -1, -2, 1},
	Fdiv:            {"fdiv", "FF:F", None, Fdiv, -1, -1, 1},
	Ddiv:            {"ddiv", "DD:D", None, Ddiv, -1, -2, 1},
	Irem:            {"irem", "II:I", None, Irem, -1, -1, 1},
	Lrem:            {"lrem", "LL:L", None, Lrem, -1, -2, 1},
	Frem:            {"frem", "FF:F", None, Frem, -1, -1, 1},
	Drem:            {"drem", "DD:D", None, Drem, -1, -2, 1},
	Ineg:            {"ineg", "I:I", None, Ineg, -1, 0, 1},
	Lneg:            {"lneg", "L:L", None, Lneg, -1, 0, 1},
	Fneg:            {"fneg", "F:F", None, Fneg, -1, 0, 1},
	Dneg:            {"dneg", "D:D", None, Dneg, -1, 0, 1},
	Ishl:            {"ishl", "II:I", None, Ishl, -1, -1, 1},
	Lshl:            {"lshl", "LI:L", None, Lshl, -1, -1, 1},
	Ishr:            {"ishr", "II:I", None, Ishr, -1, -1, 1},
	Lshr:            {"lshr", "LI:L", None, Lshr, -1, -1, 1},
	Iushr:           {"iushr", "II:I", None, Iushr, -1, -1, 1},
	Lushr:           {"lushr", "LI:L", None, Lushr, -1, -1, 1},
	Iand:            {"iand", "II:I", None, Iand, -1, -1, 1},
	Land:            {"land", "LL:L", None, Land, -1, -2, 1},
	Ior:             {"ior", "II:I", None, Ior, -1, -1, 1},
	Lor:             {"lor", "LL:L", None, Lor, -1, -2, 1},
	Ixor:            {"ixor", "II:I", None, Ixor, -1, -1, 1},
	Lxor:            {"lxor", "LL:L", None, Lxor, -1, -2, 1},
	Iinc:            {"iinc", ":", IncLocal, Iinc, -1, 0, 3},
	I2l:             {"i2l", "I:L", None, I2l, -1, 1, 1},
	I2f:             {"i2f", "I:F", None, I2f, -1, 0, 1},
	I2d:             {"i2d", "I:D", None, I2d, -1, 1, 1},
	L2i:             {"l2i", "L:I", None, L2i, -1, -1, 1},
	L2f:             {"l2f", "L:F", None, L2f, -1, -1, 1},
	L2d:             {"l2d", "L:D", None, L2d, -1, 0, 1},
	F2i:             {"f2i", "F:I", None, F2i, -1, 0, 1},
	F2l:             {"f2l", "F:L", None, F2l, -1, 1, 1},
	F2d:             {"f2d", "F:D", None, F2d, -1, 1, 1},
	D2i:             {"d2i", "D:I", None, D2i, -1, -1, 1},
	D2l:             {"d2l", "D:L", None, D2l, -1, 0, 1},
	D2f:             {"d2f", "D:F", None, D2f, -1, -1, 1},
	I2b:             {"i2b", "I:I", None, I2b, -1, 0, 1},
	I2c:             {"i2c", "I:I", None, I2c, -1, 0, 1},
	I2s:             {"i2s", "I:I", None, I2s, -1, 0, 1},
	Lcmp:            {"lcmp", "LL:I", None, Lcmp, -1, -3, 1},
	Fcmpl:           {"fcmpl", "FF:I", None, Fcmpl, -1, -1, 1},
	Fcmpg:           {"fcmpg", "FF:I", None, Fcmpg, -1, -1, 1},
	Dcmpl:           {"dcmpl", "DD:I", None, Dcmpl, -1, -3, 1},
	Dcmpg:           {"dcmpg", "DD:I", None, Dcmpg, -1, -3, 1},
	Ifeq:            {"ifeq", "I:", Jump2, Ifeq, -1, -1, 3},
	Ifne:            {"ifne", "I:", Jump2, Ifne, -1, -1, 3},
	Iflt:            {"iflt", "I:", Jump2, Iflt, -1, -1, 3},
	Ifge:            {"ifge", "I:", Jump2, Ifge, -1, -1, 3},
	Ifgt:            {"ifgt", "I:", Jump2, Ifgt, -1, -1, 3},
	Ifle:            {"ifle", "I:", Jump2, Ifle, -1, -1, 3},
	IfIcmpeq:        {"if_icmpeq", "II:", Jump2, IfIcmpeq, -1, -2, 3},
	IfIcmpne:        {"if_icmpne", "II:", Jump2, IfIcmpne, -1, -2, 3},
	IfIcmplt:        {"if_icmplt", "II:", Jump2, IfIcmplt, -1, -2, 3},
	IfIcmpge:        {"if_icmpge", "II:", Jump2, IfIcmpge, -1, -2, 3},
	IfIcmpgt:        {"if_icmpgt", "II:", Jump2, IfIcmpgt, -1, -2, 3},
	IfIcmple:        {"if_icmple", "II:", Jump2, IfIcmple, -1, -2, 3},
	IfAcmpeq:        {"if_acmpeq", "AA:", Jump2, IfAcmpeq, -1, -2, 3},
	IfAcmpne:        {"if_acmpne", "AA:", Jump2, IfAcmpne, -1, -2, 3},
	Goto:            {"goto", ":", Jump2, Goto, -1, 0, 3},
	Jsr:             {"jsr", "*+1", Jump2, Jsr, -1, 1, 3},
	Ret:             {"ret", ":", Local, Ret, -1, 0, 2},
	Tableswitch:     {"tableswitch", "I:", Table, Tableswitch, -1, -1, 0},
	Lookupswitch:    {"lookupswitch", "I:", Lookup, Lookupswitch, -1, -1, 0},
	Ireturn:         {"ireturn", "I:", None, Ireturn, -1, -1, 1},
	Lreturn:         {"lreturn", "L:", None, Lreturn, -1, -2, 1},
	Freturn:         {"freturn", "F:", None, Freturn, -1, -1, 1},
	Dreturn:         {"dreturn", "D:", None, Dreturn, -1, -2, 1},
	Areturn:         {"areturn", "A:", None, Areturn, -1, -1, 1},
	Return:          {"return", ":", None, Return, -1, 0, 1},
	Getstatic:       {"getstatic", "*", CP2, Getstatic, -1, UnknownDelta, 3},
	Putstatic:       {"putstatic", "*", CP2, Putstatic, -1, UnknownDelta, 3},
	Getfield:        {"getfield", "*", CP2, Getfield, -1, UnknownDelta, 3},
	Putfield:        {"putfield", "*", CP2, Putfield, -1, UnknownDelta, 3},
	Invokevirtual:   {"invokevirtual", "*", CP2, Invokevirtual, -1, UnknownDelta, 3},
	Invokespecial:   {"invokespecial", "*", CP2, Invokespecial, -1, UnknownDelta, 3},
	Invokestatic:    {"invokestatic", "*", CP2, Invokestatic, -1, UnknownDelta, 3},
	Invokeinterface: {"invokeinterface", "*", Interface, Invokeinterface, -1, UnknownDelta, 5},
	Invokedynamic:   {"invokedynamic", "*", Dynamic, Invokedynamic, -1, UnknownDelta, 5},
	New:             {"new", "*+1", CP2, New, -1, 1, 3},
	Newarray:        {"newarray", "*+0", ArrayType, Newarray, -1, 0, 2},
	Anewarray:       {"anewarray", "*+0", CP2, Anewarray, -1, 0, 3},
	Arraylength:     {"arraylength", "A:I", None, Arraylength, -1, 0, 1},
	Athrow:          {"athrow", "A:", None, Athrow, -1, -1, 1},
	Checkcast:       {"checkcast", "*+0", CP2, Checkcast, -1, 0, 3},
	Instanceof:      {"instanceof", "A:I", CP2, Instanceof, -1, 0, 3},
	Monitorenter:    {"monitorenter", "A:", None, Monitorenter, -1, -1, 1},
	Monitorexit:     {"monitorexit", "A:", None, Monitorexit, -1, -1, 1},
	Wide:            {"wide", ":", WidePrefix, Wide, -1, 0, 0},
	Multianewarray:  {"multianewarray", "*", MultiArray, Multianewarray, -1, UnknownDelta, 4},
	Ifnull:          {"ifnull", "A:", Jump2, Ifnull, -1, -1, 3},
	Ifnonnull:       {"ifnonnull", "A:", Jump2, Ifnonnull, -1, -1, 3},
	GotoW:           {"goto_w", ":", Jump4, Goto, -1, 0, 5},
	JsrW:            {"jsr_w", "*+1", Jump4, Jsr, -1, 1, 5},
}
