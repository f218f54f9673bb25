package classtest

import (
	"fmt"
	"strings"
)

// body is a method's instructions by number; positions in it are written as
// those numbers, so that the size of an instruction does not show.
type body struct {
	number map[int]int // offset of an instruction → its number
	length int
}

// label names a position where an instruction must start.
func (b *body) label(c *cursor, offset int) string {
	n, ok := b.number[offset]
	if !ok {
		c.fail("offset %d is not that of an instruction", offset)
	}
	return fmt.Sprint("L", n)
}

// labelOrEnd also accepts the end of the code.
func (b *body) labelOrEnd(c *cursor, offset int) string {
	if offset == b.length {
		return "end"
	}
	return b.label(c, offset)
}

// position names a place in debugging data, which may be nonsense without harm.
func (b *body) position(offset int) string {
	if offset == b.length {
		return "end"
	}
	if n, ok := b.number[offset]; ok {
		return fmt.Sprint("L", n)
	}
	return fmt.Sprintf("offset %d", offset)
}

// code decodes JVMS 4.7.3.
func (p *parser) code(c *cursor, _ *body) {
	p.line("stack %d locals %d", c.u2(), c.u2())
	length := c.u4()
	if length == 0 || length > 65535 {
		c.at -= 4
		c.fail("a code length of %d is impossible", length)
	}
	instructions := c.part("code", length)
	b := &body{number: map[int]int{}, length: length}
	for !instructions.done() {
		b.number[instructions.at] = len(b.number)
		p.instruction(instructions, nil)
	}
	instructions.at = 0
	for i := 0; !instructions.done(); i++ {
		p.line("L%d: %s", i, p.instruction(instructions, b))
	}
	for n := c.u2(); n > 0; n-- {
		start, end, handler, caught := c.u2(), c.u2(), c.u2(), c.u2()
		if start >= end {
			c.fail("handler range from %d to %d", start, end)
		}
		p.line("handler [%s,%s) at %s for %s", b.label(c, start), b.labelOrEnd(c, end), b.label(c, handler),
			p.classOrNone(c, caught))
	}
	p.attributes(c, inCode, b)
}

func (p *parser) lineNumbers(c *cursor, body *body) {
	for n := c.u2(); n > 0; n-- {
		p.line("%s line %d", body.position(c.u2()), c.u2())
	}
}

// localVariables decodes both tables of variables: one names types by
// descriptors, the other by signatures.
func (p *parser) localVariables(c *cursor, body *body) {
	for n := c.u2(); n > 0; n-- {
		start, length := c.u2(), c.u2()
		p.line("[%s,%s) %s:%s slot %d", body.position(start), body.position(start+length),
			p.quoted(c, c.u2()), p.quoted(c, c.u2()), c.u2())
	}
}

// shape says what follows an opcode.
type shape int

const (
	plain         shape = iota
	signedByte          // bipush
	signedShort         // sipush
	constantByte        // ldc
	constantShort       // ldc_w, ldc2_w
	slot                // loads, stores, ret
	increment           // iinc
	branch              // 2-byte offset
	branchWide          // 4-byte offset
	tableSwitch         //
	lookupSwitch        //
	field               //
	method              //
	interfaceCall       //
	dynamicCall         //
	classOperand        //
	arrayType           // newarray
	multiArray          //
	wide                //
)

// shapes lists the opcodes that are followed by something.
var shapes = map[string]shape{
	"bipush": signedByte, "sipush": signedShort,
	"ldc": constantByte, "ldc_w": constantShort, "ldc2_w": constantShort,
	"iload": slot, "lload": slot, "fload": slot, "dload": slot, "aload": slot,
	"istore": slot, "lstore": slot, "fstore": slot, "dstore": slot, "astore": slot,
	"ret": slot, "iinc": increment,
	"ifeq": branch, "ifne": branch, "iflt": branch, "ifge": branch, "ifgt": branch, "ifle": branch,
	"if_icmpeq": branch, "if_icmpne": branch, "if_icmplt": branch, "if_icmpge": branch,
	"if_icmpgt": branch, "if_icmple": branch, "if_acmpeq": branch, "if_acmpne": branch,
	"goto": branch, "jsr": branch, "ifnull": branch, "ifnonnull": branch,
	"goto_w": branchWide, "jsr_w": branchWide,
	"tableswitch": tableSwitch, "lookupswitch": lookupSwitch,
	"getstatic": field, "putstatic": field, "getfield": field, "putfield": field,
	"invokevirtual": method, "invokespecial": method, "invokestatic": method,
	"invokeinterface": interfaceCall, "invokedynamic": dynamicCall,
	"new": classOperand, "anewarray": classOperand, "checkcast": classOperand, "instanceof": classOperand,
	"newarray": arrayType, "multianewarray": multiArray, "wide": wide,
}

// mnemonics are in the order of their opcodes, from 0 (JVMS 6.5).
var mnemonics = strings.Fields(`
nop aconst_null iconst_m1 iconst_0 iconst_1 iconst_2 iconst_3 iconst_4 iconst_5 lconst_0 lconst_1
fconst_0 fconst_1 fconst_2 dconst_0 dconst_1 bipush sipush ldc ldc_w ldc2_w
iload lload fload dload aload iload_0 iload_1 iload_2 iload_3 lload_0 lload_1 lload_2 lload_3
fload_0 fload_1 fload_2 fload_3 dload_0 dload_1 dload_2 dload_3 aload_0 aload_1 aload_2 aload_3
iaload laload faload daload aaload baload caload saload
istore lstore fstore dstore astore istore_0 istore_1 istore_2 istore_3 lstore_0 lstore_1 lstore_2 lstore_3
fstore_0 fstore_1 fstore_2 fstore_3 dstore_0 dstore_1 dstore_2 dstore_3 astore_0 astore_1 astore_2 astore_3
iastore lastore fastore dastore aastore bastore castore sastore
pop pop2 dup dup_x1 dup_x2 dup2 dup2_x1 dup2_x2 swap
iadd ladd fadd dadd isub lsub fsub dsub imul lmul fmul dmul idiv ldiv fdiv ddiv irem lrem frem drem
ineg lneg fneg dneg ishl lshl ishr lshr iushr lushr iand land ior lor ixor lxor iinc
i2l i2f i2d l2i l2f l2d f2i f2l f2d d2i d2l d2f i2b i2c i2s lcmp fcmpl fcmpg dcmpl dcmpg
ifeq ifne iflt ifge ifgt ifle if_icmpeq if_icmpne if_icmplt if_icmpge if_icmpgt if_icmple if_acmpeq if_acmpne
goto jsr ret tableswitch lookupswitch ireturn lreturn freturn dreturn areturn return
getstatic putstatic getfield putfield invokevirtual invokespecial invokestatic invokeinterface invokedynamic
new newarray anewarray arraylength athrow checkcast instanceof monitorenter monitorexit
wide multianewarray ifnull ifnonnull goto_w jsr_w
`)

// instruction decodes the instruction at c. With a nil body it only finds the
// instruction's end.
func (p *parser) instruction(c *cursor, b *body) string {
	start := c.at
	opcode := c.u1()
	if opcode >= len(mnemonics) {
		c.at--
		c.fail("opcode %#02x is unknown", opcode)
	}
	name := mnemonics[opcode]
	target := func(delta int) string {
		if b == nil {
			return ""
		}
		return b.label(c, start+delta)
	}
	switch shapes[name] {
	case plain:
		return name
	case signedByte:
		return fmt.Sprint(name, " ", c.s1())
	case signedShort:
		return fmt.Sprint(name, " ", c.s2())
	case constantByte:
		return name + " " + p.narrowConstant(c, c.u1())
	case constantShort:
		index := c.u2()
		if name == "ldc_w" { // its width only depends on the index of the constant
			return "ldc " + p.narrowConstant(c, index)
		}
		return name + " " + p.pool.text(c, index, tagLong, tagDouble, tagDynamic)
	case slot:
		return fmt.Sprint(name, " ", c.u1())
	case increment:
		return fmt.Sprint(name, " ", c.u1(), " by ", c.s1())
	case branch:
		return name + " " + target(c.s2())
	case branchWide:
		return name + " " + target(c.s4())
	case tableSwitch, lookupSwitch:
		return name + p.switchTargets(c, shapes[name], target)
	case field:
		return name + " " + p.pool.text(c, c.u2(), tagFieldref)
	case method:
		return name + " " + p.calledMethod(c, name)
	case interfaceCall:
		text := name + " " + p.pool.text(c, c.u2(), tagInterfaceMethodref)
		return fmt.Sprint(text, " count ", c.u1(), " zero ", c.u1())
	case dynamicCall:
		text := name + " " + p.pool.text(c, c.u2(), tagInvokeDynamic)
		return fmt.Sprint(text, " zero ", c.u2())
	case classOperand:
		return name + " " + p.class(c, c.u2())
	case arrayType:
		return fmt.Sprint(name, " ", p.arrayKind(c, c.u1()))
	case multiArray:
		class := p.class(c, c.u2())
		return fmt.Sprint(name, " ", class, " dimensions ", c.u1())
	default:
		return name + " " + p.widened(c)
	}
}

func (p *parser) narrowConstant(c *cursor, index int) string {
	return p.pool.text(c, index, tagInteger, tagFloat, tagString, tagClass, tagMethodType, tagMethodHandle, tagDynamic)
}

// calledMethod: since Java 8 static and special calls may name interface methods.
func (p *parser) calledMethod(c *cursor, name string) string {
	if name == "invokevirtual" {
		return p.pool.text(c, c.u2(), tagMethodref)
	}
	return p.pool.text(c, c.u2(), tagMethodref, tagInterfaceMethodref)
}

func (p *parser) arrayKind(c *cursor, kind int) string {
	if kind < 4 || kind > 11 {
		c.fail("newarray of type %d", kind)
	}
	return []string{"boolean", "char", "float", "double", "byte", "short", "int", "long"}[kind-4]
}

func (p *parser) widened(c *cursor) string {
	opcode := c.u1()
	name := "unknown"
	if opcode < len(mnemonics) {
		name = mnemonics[opcode]
	}
	switch shapes[name] {
	case slot:
		return fmt.Sprint(name, " ", c.u2())
	case increment:
		return fmt.Sprint(name, " ", c.u2(), " by ", c.s2())
	}
	c.fail("wide before opcode %#02x", opcode)
	return ""
}

func (p *parser) switchTargets(c *cursor, kind shape, target func(int) string) string {
	for c.at%4 != 0 {
		c.u1()
	}
	var text strings.Builder
	fmt.Fprint(&text, " default ", target(c.s4()))
	if kind == lookupSwitch {
		n := c.s4()
		if n < 0 || n > (len(c.data)-c.at)/8 {
			c.fail("lookupswitch with %d pairs", n)
		}
		for range n {
			key := c.s4()
			fmt.Fprintf(&text, " %d:%s", key, target(c.s4()))
		}
		return text.String()
	}
	low, high := c.s4(), c.s4()
	if low > high || high-low >= (len(c.data)-c.at)/4 {
		c.fail("tableswitch from %d to %d", low, high)
	}
	for key := low; key <= high; key++ {
		fmt.Fprintf(&text, " %d:%s", key, target(c.s4()))
	}
	return text.String()
}

// stackMapTable decodes JVMS 4.7.4. The form of each frame is kept in the text:
// a full frame that a shorter one could say is another table.
func (p *parser) stackMapTable(c *cursor, body *body) {
	at := -1
	for n := c.u2(); n > 0; n-- {
		kind := c.u1()
		text := ""
		delta := 0
		switch {
		case kind <= 63:
			delta, text = kind, "same"
		case kind <= 127:
			delta = kind - 64
			text = "same, stack " + p.verificationType(c, body)
		case kind < 247:
			c.at--
			c.fail("frame type %d is reserved", kind)
		case kind == 247:
			delta = c.u2()
			text = "same, extended, stack " + p.verificationType(c, body)
		case kind <= 250:
			delta, text = c.u2(), fmt.Sprint("chop ", 251-kind)
		case kind == 251:
			delta, text = c.u2(), "same, extended"
		case kind <= 254:
			delta = c.u2()
			text = "append " + p.verificationTypes(c, body, kind-251)
		default:
			delta = c.u2()
			locals := p.verificationTypes(c, body, c.u2())
			stack := p.verificationTypes(c, body, c.u2())
			text = "full locals " + locals + " stack " + stack
		}
		at += delta + 1
		p.line("%s %s", body.label(c, at), text)
	}
}

func (p *parser) verificationTypes(c *cursor, body *body, n int) string {
	var types []string
	for range n {
		types = append(types, p.verificationType(c, body))
	}
	return "[" + strings.Join(types, " ") + "]"
}

func (p *parser) verificationType(c *cursor, body *body) string {
	names := []string{"top", "int", "float", "double", "long", "null", "uninitializedThis"}
	switch tag := c.u1(); {
	case tag < len(names):
		return names[tag]
	case tag == 7:
		return p.class(c, c.u2())
	case tag == 8:
		return "new@" + body.label(c, c.u2())
	default:
		c.at--
		c.fail("verification type %d is unknown", tag)
		return ""
	}
}
