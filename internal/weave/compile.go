package weave

import (
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/frames"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// compiler turns a template method into a Template.
type compiler struct {
	*Template
	class  *classfile.Class
	member *classfile.Member

	body       *code.Body
	sentinel   *code.Node
	states     map[*code.Node]state
	labelNo    map[*code.Node]uint16
	constantNo map[uint16]int
	marked     map[*code.Node]code.Frame // the frames at the sentinel and where fragments go
	user       *userCode                 // nil for a template that is not a user's
	lines      map[*code.Node]int
	at         *code.Node // for messages
}

func (c *compiler) refuse(detail string) error {
	return &TemplateError{Template: c.name, Detail: detail, Line: c.lines[c.at]}
}

func (c *compiler) compile() error {
	var err error
	if c.body, err = code.Lift(c.class, c.member); err != nil {
		return err
	}
	if c.body == nil {
		return c.refuse("has no body")
	}
	if !c.body.NeedsFrames() {
		return c.refuse("is compiled for a Java version before 6; compile it with --release 8")
	}
	if err := frames.Expand(c.body, nil); err != nil {
		return err
	}
	c.labelNo, c.constantNo = make(map[*code.Node]uint16), make(map[uint16]int)
	c.lines = linesOf(c.body)
	if err := c.findSentinel(); err != nil {
		return err
	}
	if c.user != nil {
		if err := c.prepareUser(); err != nil {
			return err
		}
	}
	if err := c.follow(); err != nil {
		return err
	}
	c.states = flow(c.body, c.sentinel, false)
	if s := c.states[c.sentinel]; s != isBefore {
		return c.refuse("may run the target more than once: remove the loop around it")
	}
	c.maxStack, c.maxLocals = c.body.MaxStack, c.body.MaxLocals
	for n := c.body.First(); n != nil; n = n.Next() {
		c.at = n
		if err := c.node(n); err != nil {
			return err
		}
	}
	if err := c.blocks(); err != nil {
		return err
	}
	c.uses.holdsMonitor = c.holdsMonitor()
	c.uses.mixes = mixes(c.body, c.sentinel)
	c.epilog = c.straightEpilog()
	c.rest = c.withoutEpilog()
	return nil
}

func (c *compiler) findSentinel() error {
	for n := c.body.First(); n != nil; n = n.Next() {
		if !isSentinel(c.class, n) {
			continue
		}
		c.at = n
		if c.sentinel != nil {
			return c.refuse("calls Template.target() more than once (a finally block is compiled several times): call it once, outside of finally")
		}
		c.sentinel = n
	}
	if c.sentinel == nil {
		return c.refuse("does not call Template.target(): call it once, where the method itself runs")
	}
	return nil
}

// follow finds the types of variables and of the stack at the sentinel and the markers.
func (c *compiler) follow() error {
	c.marked = make(map[*code.Node]code.Frame)
	_, err := frames.Walk(c.body, c.member, true, func(n *code.Node, s *frames.State) {
		if k, ok := lookupIntrinsic(c.class, n); ok && (k.what == doTarget || isMarker(k.what)) {
			c.marked[n] = s.Frame()
		}
	})
	across, reached := c.marked[c.sentinel]
	switch {
	case err != nil:
		return err
	case !reached:
		return c.refuse("never reaches Template.target(): remove the return or throw that always runs before it")
	case len(across.Stack) > 0:
		return c.refuse("calls Template.target() inside an expression: make it a statement")
	}
	c.across, err = c.types(across.Locals)
	return err
}

func (c *compiler) label(n *code.Node) uint16 {
	no, ok := c.labelNo[n]
	if !ok {
		no = uint16(c.labels)
		c.labels++
		c.labelNo[n] = no
	}
	return no
}

func (c *compiler) types(list []code.Type) ([]typ, error) {
	types := make([]typ, len(list))
	for i, t := range list {
		types[i] = typ{item: t.Item}
		switch t.Item {
		case code.Object:
			no, err := c.constant(t.Class)
			if err != nil {
				return nil, err
			}
			types[i].class = no
		case code.Uninitialized:
			types[i].label = c.label(t.New)
		}
	}
	return types, nil
}

// node adds what stands for n to the template.
func (c *compiler) node(n *code.Node) error {
	s := c.states[n]
	add := func(it item) {
		it.state = s
		c.items = append(c.items, it)
	}
	switch n.Kind {
	case code.Label:
		add(item{act: actLabel, num: c.label(n)})
		return nil
	case code.Line:
		return nil
	case code.FrameMark:
		f := c.body.Frame(n)
		locals, err := c.types(f.Locals)
		if err != nil {
			return err
		}
		stack, err := c.types(f.Stack)
		if err != nil {
			return err
		}
		add(item{act: actFrame, num: uint16(len(c.frames))})
		c.frames = append(c.frames, frame{s, locals, stack})
		return nil
	}
	if n == c.sentinel {
		add(item{act: actTarget})
		return nil
	}
	if number, is := c.user.recordAt(n); is {
		add(item{act: actIntrinsic, value: doRecord, num: uint16(number)})
		return nil
	}
	if k, ok := lookupIntrinsic(c.class, n); ok {
		return c.intrinsic(n, k)
	}
	info := n.Op().Info()
	switch {
	case n.Op() == opcode.Return:
		if s != isAfter {
			return c.refuse("may return without the target having returned: exceptions of the target must be rethrown")
		}
		add(item{act: actReturn})
	case n.Op() == opcode.Jsr || n.Op() == opcode.Ret:
		return c.refuse("is compiled for a Java version before 6; compile it with --release 8")
	case n.Target() != nil:
		add(item{act: actJump, op: n.Op(), num: c.label(n.Target())})
	case n.Op() == opcode.Tableswitch || n.Op() == opcode.Lookupswitch:
		sw := c.body.Switch(n)
		ch := choice{other: c.label(sw.Default), keys: append([]int32(nil), sw.Keys...)}
		for _, t := range sw.Targets {
			ch.targets = append(ch.targets, c.label(t))
		}
		add(item{act: actSwitch, op: n.Op(), num: uint16(len(c.switches)), value: n.Value()})
		c.switches = append(c.switches, ch)
	case info.Shape == opcode.Local || info.Shape == opcode.IncLocal:
		add(item{act: actLocal, op: n.Op(), num: n.Index(), value: n.Value()})
	case info.Shape == opcode.CP1, info.Shape == opcode.CP2, info.Shape == opcode.Interface,
		info.Shape == opcode.Dynamic, info.Shape == opcode.MultiArray:
		return c.useConstant(n, add)
	default:
		add(item{act: actPlain, op: n.Op(), value: n.Value()})
	}
	return nil
}

func (c *compiler) useConstant(n *code.Node, add func(item)) error {
	no, err := c.constant(n.Index())
	if err != nil {
		return err
	}
	switch tag := c.constants[no].Tag; {
	case n.Op() == opcode.Ldc && tag == classfile.TagClass:
		c.atLeast(majorJava5)
	case tag == classfile.TagInterfaceMethodref && n.Op() != opcode.Invokeinterface:
		c.atLeast(majorJava8)
	}
	add(item{act: actConstant, op: n.Op(), num: uint16(no), value: n.Value()})
	return nil
}

// intrinsic adds a call that will be replaced by what it stands for.
func (c *compiler) intrinsic(n *code.Node, k call) error {
	s := c.states[n]
	it := item{act: actIntrinsic, value: k.what, state: s, op: opcode.Op(k.kind)}
	switch k.what {
	case doSelf:
		c.uses.selfBefore = c.uses.selfBefore || s == isBefore
		c.uses.selfAfter = c.uses.selfAfter || s != isBefore
	case doArg:
		no, ok := c.takeInt()
		if !ok || no < 0 || no > 255 {
			return c.refuse("asks for an argument whose number is not a constant from 0 to 255")
		}
		it.num = uint16(no)
		c.uses.argument(int(no), k.kind, s)
	case doResult:
		if s != isAfter {
			return c.refuse("asks for the result where the target may not have returned")
		}
		c.uses.result(k.kind)
	case doThrown:
		c.uses.thrown = true
	case doCondition, doTimedCondition, doValue:
		var err error
		if it, err = c.mark(n, it); err != nil {
			return err
		}
	case doRecord:
		return c.refuse("records values, which only templates of sonde apply and sonde pack can do")
	case -1:
		return c.refuse("calls a method of Template that is not known to this version")
	}
	c.items = append(c.items, it)
	return nil
}

func (u *uses) argument(no int, kind byte, s state) {
	u.highestArg = max(u.highestArg, no)
	u.boxes = u.boxes || kind == 0
	if kind != 0 {
		u.typed = append(u.typed, wanted{no, kind})
	}
	if s != isBefore {
		u.argsAfter = append(u.argsAfter, no)
	}
}

func (u *uses) result(kind byte) {
	u.boxes = u.boxes || kind == 0
	if kind != 0 {
		u.typed = append(u.typed, wanted{-1, kind})
	}
}

// takeInt removes the instruction that pushed an int constant last and returns it.
func (c *compiler) takeInt() (int32, bool) {
	if len(c.items) == 0 {
		return 0, false
	}
	it := c.items[len(c.items)-1]
	var v int32
	switch {
	case it.act == actPlain && it.op >= opcode.IconstM1 && it.op <= opcode.Iconst5:
		v = int32(it.op) - int32(opcode.Iconst0)
	case it.act == actPlain && (it.op == opcode.Bipush || it.op == opcode.Sipush):
		v = it.value
	default:
		return 0, false
	}
	c.items = c.items[:len(c.items)-1]
	return v, true
}

// blocks adds the exception blocks.
func (c *compiler) blocks() error {
	for i := range c.body.Handlers {
		h := &c.body.Handlers[i]
		b := block{start: c.label(h.Start), end: c.label(h.End), entry: c.label(h.Entry), catch: -1}
		if h.Catch != 0 {
			no, err := c.constant(h.Catch)
			if err != nil {
				return err
			}
			b.catch = no
		}
		b.around = encloses(h, c.sentinel)
		c.handlers = append(c.handlers, b)
	}
	return nil
}

// holdsMonitor reports whether the template holds a lock while the target runs: one
// taken before it, while more are released after it than are taken there.
func (c *compiler) holdsMonitor() bool {
	taken, held := false, 0
	for _, it := range c.items {
		switch {
		case it.act != actPlain:
		case it.op == opcode.Monitorenter && it.state == isBefore:
			taken = true
		case it.op == opcode.Monitorenter:
			held--
		case it.op == opcode.Monitorexit && it.state == isAfter:
			held++
		}
	}
	return taken && held > 0
}

// constant is an entry of the template's pool as a thing of its own, to be added to
// any other pool.
type constant struct {
	Constant
	kind      uint16 // of a method handle
	ref       int    // the member it is of
	bootstrap []int  // of a dynamic one: the handle, then the arguments
}

// The class-file versions from which on constants of a kind may be used.
const (
	majorJava5  = 49 // ldc of a class
	majorJava7  = 51 // invokedynamic, method handles
	majorJava8  = 52 // static calls of interface methods
	majorJava11 = 55 // dynamic constants
)

// refInvokeInterface is the kind of a method handle that calls by an interface.
const refInvokeInterface = 9

// constant returns the number of a pool entry of the template's class.
func (c *compiler) constant(index uint16) (int, error) {
	if no, ok := c.constantNo[index]; ok {
		if no < 0 {
			return 0, c.refuse("uses a constant that refers to itself")
		}
		return no, nil
	}
	c.constantNo[index] = -1 // being read
	k, err := c.readConstant(index)
	if err != nil {
		return 0, err
	}
	no := len(c.constants)
	c.constants = append(c.constants, k)
	c.constantNo[index] = no
	return no, nil
}

func (c *compiler) readConstant(index uint16) (constant, error) {
	pool := &c.class.Pool
	k := constant{Constant: Constant{Tag: pool.Tag(index)}}
	var text, name, desc []byte
	var err error
	switch k.Tag {
	case classfile.TagInteger, classfile.TagFloat, classfile.TagLong, classfile.TagDouble:
		var raw []byte
		raw, err = pool.Raw(index)
		k.Raw = string(raw)
	case classfile.TagClass:
		text, err = pool.ClassName(index)
	case classfile.TagString:
		text, err = pool.StringValue(index)
	case classfile.TagMethodType:
		c.atLeast(majorJava7)
		text, err = pool.MethodType(index)
	case classfile.TagFieldref, classfile.TagMethodref, classfile.TagInterfaceMethodref:
		if text, name, desc, err = pool.Member(index); err == nil {
			err = c.reachable(string(text), string(name), string(desc))
		}
	case classfile.TagMethodHandle:
		c.atLeast(majorJava7)
		kind, ref, _ := pool.Pair(index)
		k.kind = kind
		if k.ref, err = c.constant(ref); err == nil && c.constants[k.ref].Tag == classfile.TagInterfaceMethodref && kind != refInvokeInterface {
			c.atLeast(majorJava8)
		}
	case classfile.TagInvokeDynamic, classfile.TagDynamic:
		c.atLeast(majorJava7)
		if k.Tag == classfile.TagDynamic {
			c.atLeast(majorJava11)
		}
		boot, nt, _ := pool.Pair(index)
		if name, desc, err = pool.NameAndType(nt); err == nil {
			k.bootstrap, err = c.bootstrap(boot)
		}
	default:
		err = c.refuse(fmt.Sprintf("uses a constant that cannot be moved: %s", k.Tag))
	}
	k.Text, k.Name, k.Descr = string(text), string(name), string(desc)
	return k, err
}

func (c *compiler) bootstrap(index uint16) ([]int, error) {
	a := c.class.Find(c.class.Attributes, classfile.KindBootstrapMethods)
	if a == nil {
		return nil, c.refuse("uses invokedynamic without bootstrap methods")
	}
	contents, err := c.class.Decode(*a)
	if err != nil {
		return nil, err
	}
	entries, _ := contents.(classfile.BootstrapMethods)
	if int(index) >= len(entries) {
		return nil, c.refuse("uses a bootstrap method that does not exist")
	}
	var numbers []int
	for _, ref := range append([]uint16{entries[index].Handle}, entries[index].Arguments...) {
		no, err := c.constant(ref)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, no)
	}
	return numbers, nil
}

// reachable refuses what a class other than the template's own could not use.
func (c *compiler) reachable(class, name, desc string) error {
	if class == intrinsicsClass {
		return c.refuse("names Template." + name + " without calling it")
	}
	if class != c.class.Name() {
		return nil
	}
	if !c.class.Access.Has(classfile.AccPublic) {
		return c.refuse("uses " + name + " of its own class, which is not public")
	}
	for _, members := range [2][]classfile.Member{c.class.Fields, c.class.Methods} {
		for i := range members {
			m := &members[i]
			n, d, err := c.class.MemberName(m)
			if err == nil && string(n) == name && string(d) == desc && !m.Access.Has(classfile.AccPublic) {
				return c.refuse("uses " + name + " of its own class, which is not public (a lambda's body never is)")
			}
		}
	}
	return nil
}

func (c *compiler) atLeast(major uint16) { c.minMajor = max(c.minMajor, major) }

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
	doRecord // pushes what a record of a user's template is called with
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

	"count(Ljava/lang/String;)V":                   {doRecord, byte(Counter)},
	"add(Ljava/lang/String;J)V":                    {doRecord, byte(Sum)},
	"histogram(Ljava/lang/String;J)V":              {doRecord, byte(Histogram)},
	"event(Ljava/lang/String;Ljava/lang/String;)V": {doRecord, byte(Event)},
	"tag(Ljava/lang/String;Ljava/lang/String;)V":   {doRecord, byte(Tag)},
}

// isSentinel reports whether n calls Template.target().
func isSentinel(c *classfile.Class, n *code.Node) bool {
	k, ok := lookupIntrinsic(c, n)
	return ok && k.what == doTarget
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
	if k, ok := intrinsicCalls[string(name)+string(desc)]; ok {
		return k, true
	}
	return call{what: -1}, true
}

// KindOf returns the computational kind of a value, by the first byte of its descriptor: one of "IJFDA".
func KindOf(desc byte) byte {
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

// PushInt returns the shortest instruction that pushes a constant, and its immediate operand.
// It is Ldc where only the constant pool can hold the constant.
func PushInt(v int32) (op opcode.Op, operand int32) {
	switch {
	case v >= -1 && v <= 5:
		return opcode.Op(int32(opcode.Iconst0) + v), 0
	case v == int32(int8(v)):
		return opcode.Bipush, v
	case v == int32(int16(v)):
		return opcode.Sipush, v
	}
	return opcode.Ldc, 0
}

// LoadOp returns the instruction that loads a variable of a computational kind.
func LoadOp(kind byte) opcode.Op { return opcode.Iload + offset(kind) }

// StoreOp returns the instruction that stores into a variable of a computational kind.
func StoreOp(kind byte) opcode.Op { return opcode.Istore + offset(kind) }

func returnOp(kind byte) opcode.Op { return opcode.Ireturn + offset(kind) }

// offset returns the place of a kind among the variants of an opcode, which have this order.
func offset(kind byte) opcode.Op { return opcode.Op(strings.IndexByte("IJFDA", kind)) }

func slotsOf(kind byte) uint16 {
	switch kind {
	case 'V':
		return 0
	case 'J', 'D':
		return 2
	}
	return 1
}
