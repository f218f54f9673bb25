package weave

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/frames"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// A UserTemplate is a template that a user has written for methods of a running program. What it records
// goes to hooks, and no error of its code reaches the program: see contain.
type UserTemplate struct {
	*Template
	Records []Record
	IsPure  bool // it calls no method that may have a hook
}

// A Record is something that a user's template records, under a name.
type Record struct {
	Name string
	Kind RecordKind
}

// RecordKind is what is known of the values of a record.
type RecordKind uint8

// The kinds.
const (
	Counter   RecordKind = iota // how many there were
	Sum                         // and their sum
	Histogram                   // and their distribution
	Event                       // how many there were of each text
	Tag                         // it has no numbers: it is a tag of the transaction
)

var recordKindNames = [...]string{"counter", "sum", "histogram", "event", "tag"}

func (k RecordKind) String() string { return recordKindNames[min(k, Tag)] }

// recordHooks are the methods of the hook class that record, by kind.
var recordHooks = [...]struct{ name, desc string }{
	Counter: {"count", "(I)V"}, Sum: {"add", "(IJ)V"}, Histogram: {"histogram", "(IJ)V"},
	Event: {"event", "(ILjava/lang/String;)V"}, Tag: {"tag", "(ILjava/lang/String;)V"},
}

// UserOptions say how a user's template is compiled.
type UserOptions struct {
	File    string // for messages
	Trusted bool   // it may call anything and loop without end
	Hooks   string // internal name of the class that its code calls
	// Conditional leaves room for condition 0, to be bound: it runs in calls for which that holds.
	Conditional bool
}

const (
	mostRecords    = 32 // of a template
	mostVariables  = 256
	longestRecord  = 64 // characters of a name
	notInTryRemedy = "put only Template.target() into the try block"
)

// CompileUser makes a template of a static method of a user; where the name is empty, of the only one that calls
// the sentinel. An error is a [UserTemplateError].
func CompileUser(class []byte, method string, o UserOptions) (*UserTemplate, error) {
	refuse := func(line int, text string) error {
		return &UserTemplateError{o.File, []Problem{{line, text}}}
	}
	c, err := classfile.Parse(class)
	if err != nil {
		return nil, refuse(0, err.Error()+": compile it again")
	}
	t := &UserTemplate{Template: &Template{minMajor: 45}}
	m, err := findTemplate(c, method)
	if err == nil {
		name, _, _ := c.MemberName(m) // findTemplate has read it
		t.name = c.Name() + "." + string(name)
		t.uses.highestArg = -1
		comp := compiler{Template: t.Template, class: c, member: m, user: &userCode{UserOptions: o, UserTemplate: t}}
		err = comp.compile()
	}
	var bad *TemplateError
	var all *UserTemplateError
	switch {
	case err == nil:
		return t, nil
	case errors.As(err, &all):
		return nil, err
	case errors.As(err, &bad):
		if bad.Line == 0 {
			bad.Line = firstLine(c, m)
		}
		if m == nil && method == "" {
			bad.Detail += ": call it once, where the method itself runs"
		}
		return nil, refuse(bad.Line, bad.Detail)
	}
	return nil, refuse(firstLine(c, m), err.Error())
}

// Recording returns the template with what its records are called with: ids, and for tags their numbers.
func (t *UserTemplate) Recording(numbers []int32) *Template {
	recording := *t.Template
	recording.records = numbers
	return &recording
}

// firstLine returns the line at which a method begins or, without one, the first method of a class that has no special name.
func firstLine(c *classfile.Class, m *classfile.Member) int {
	for i := range c.Methods {
		name, _, err := c.MemberName(&c.Methods[i])
		if m == nil && err == nil && !strings.HasPrefix(string(name), "<") {
			m = &c.Methods[i]
		}
	}
	if m == nil {
		return 0
	}
	b, err := code.Lift(c, m)
	if b == nil || err != nil {
		return 0
	}
	for n := b.First(); n != nil; n = n.Next() {
		if n.Kind == code.Line {
			return int(n.Value())
		}
	}
	return 0
}

// userCode is what the compiler knows of a user's template. Other templates have none.
type userCode struct {
	UserOptions
	*UserTemplate
	names map[*code.Node]int // instructions that push the name of a record, with its number
}

func (u *userCode) recordAt(n *code.Node) (number int, is bool) {
	if u == nil {
		return 0, false
	}
	number, is = u.names[n]
	return number, is
}

// prepareUser checks the code of a user's template, and makes it code that calls hooks and contains its errors.
func (c *compiler) prepareUser() error {
	if c.at = c.sentinel; c.body.MaxLocals > mostVariables || c.body.MaxStack > mostVariables {
		return c.refuse("has too many variables: use fewer")
	}
	if problems := checkUser(c.class, c.body, c.user.Trusted); len(problems) > 0 {
		return &UserTemplateError{c.user.File, problems}
	}
	c.user.IsPure = true
	for n := c.body.First(); n != nil; n = n.Next() {
		if n.Kind == code.Instruction && n.Op() >= opcode.Invokevirtual && n.Op() <= opcode.Invokedynamic {
			owner, name, _, err := c.class.Pool.Member(n.Index())
			isIntrinsic := string(owner) == intrinsicsClass || unhookable[string(owner)+"."+string(name)]
			c.user.IsPure = c.user.IsPure && err == nil && isIntrinsic
		}
	}
	across, err := c.replaceRecords()
	if err != nil {
		return err
	}
	return c.contain(across)
}

// replaceRecords replaces calls such as Template.count("orders") by calls of hooks, whose first argument is the
// id of the record instead of its name. It returns the frame at the sentinel.
func (c *compiler) replaceRecords() (across code.Frame, err error) {
	c.user.names = make(map[*code.Node]int)
	depths := make(map[*code.Node]int)
	reached := false
	_, err = frames.Walk(c.body, c.member, true, func(n *code.Node, s *frames.State) {
		depths[n] = len(s.Stack)
		if n == c.sentinel {
			across, reached = s.Frame(), true
		}
	})
	if err != nil {
		return across, err
	}
	if c.at = c.sentinel; !reached {
		return across, c.refuse("never reaches Template.target(): remove the return or throw that always runs before it")
	}
	if len(across.Stack) > 0 {
		return across, c.refuse("calls Template.target() inside an expression: make it a statement")
	}
	for n := c.body.First(); n != nil; n = n.Next() {
		k, ok := lookupIntrinsic(c.class, n)
		if !ok || k.what != doRecord {
			continue
		}
		c.at = n
		kind := RecordKind(k.kind)
		arguments := min(int(kind), 1) + 1
		if err := c.replaceName(n, kind, depths, depths[n]-arguments); err != nil {
			return across, err
		}
		hook := recordHooks[kind]
		n.Become(opcode.Invokestatic, c.class.Pool.AddMember(classfile.TagMethodref, c.user.Hooks, hook.name, hook.desc))
	}
	return across, nil
}

// replaceName replaces the instruction that pushes the name for a call: the last one before it that finds the stack
// at the depth of the name.
func (c *compiler) replaceName(call *code.Node, kind RecordKind, depths map[*code.Node]int, depth int) error {
	push := before(call)
	for push != nil && depths[push] > depth {
		push = before(push)
	}
	if push == nil || !push.Is(opcode.Ldc) || c.class.Pool.Tag(push.Index()) != classfile.TagString {
		return c.refuse("records under a name that is not a constant text: write the name in the call")
	}
	text, err := c.class.Pool.StringValue(push.Index())
	if err != nil {
		return err
	}
	record := Record{string(text), kind}
	if !isRecordName(record.Name) {
		return c.refuse(fmt.Sprintf("%q is not a name: use at most %d letters, digits, '.', '_' and '-'", text, longestRecord))
	}
	number := slices.IndexFunc(c.user.Records, func(r Record) bool { return r.Name == record.Name })
	switch {
	case number < 0 && len(c.user.Records) == mostRecords:
		return c.refuse(fmt.Sprintf("records under more than %d names: use several templates", mostRecords))
	case number < 0:
		number = len(c.user.Records)
		c.user.Records = append(c.user.Records, record)
	case c.user.Records[number] != record:
		return c.refuse(fmt.Sprintf("uses %s as a %v and as a %v: use two names", record.Name, c.user.Records[number].Kind, kind))
	}
	for n := push; n != call; n = n.Next() {
		if n.Kind != code.FrameMark {
			continue
		}
		if f := c.body.Frame(n); depth < len(f.Stack) {
			f.Stack = slices.Clone(f.Stack)
			f.Stack[depth] = code.Type{Item: code.Integer}
		}
	}
	push.Become(opcode.Sipush, 0) // node replaces it
	c.user.names[push] = number
	return nil
}

func isRecordName(name string) bool {
	for _, r := range name {
		isLetter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !isLetter && r != '.' && r != '_' && r != '-' {
			return false
		}
	}
	return name != "" && len(name) <= longestRecord
}

// contain adds what keeps errors of the template's code away from the program, and switches it off:
//
//	long mark = 0;
//	try {
//	    mark = enter(methodId());        // 0 if the hook is off, or the template itself has called the method
//	    if (mark != 0 && !condition(0)) { leave(mark); mark = 0; }  // only with a condition
//	    if (mark != 0) { PROLOG; leave(mark); }
//	} catch (Throwable t) { failed(mark, methodId()); mark = 0; }
//	try { target() }
//	catch (Throwable thrown) {           // only where the template has such a block
//	    try { mark = again(mark); if (mark != 0) { HANDLER; leave(mark); } }
//	    catch (Throwable t) { failed(mark, methodId()); }
//	    throw thrown;
//	}
//	try { mark = again(mark); if (mark != 0) { EPILOG; leave(mark); } }
//	catch (Throwable t) { failed(mark, methodId()); }
//
// Between enter or again and leave, calls of the thread are not measured. If the prolog fails, the
// variables that live across the target get zeros, and nothing runs after it.
func (c *compiler) contain(across code.Frame) error {
	k := container{compiler: c, b: c.body, mark: c.body.MaxLocals, kinds: make(map[*code.Node]state)}
	k.b.MaxLocals += 2
	k.b.MaxStack += 4
	k.throwable = code.Type{Item: code.Object, Class: c.class.Pool.AddClass("java/lang/Throwable")}
	for i, all := 0, k.b.Frames(); i < len(all); i++ {
		all[i].Locals = k.withMark(all[i].Locals)
	}
	k.narrow()
	k.states = flow(k.b, c.sentinel, false)
	for n := k.b.First(); n != nil; n = n.Next() {
		s := k.states[n]
		if n.Kind != code.Instruction || s == 0 {
			continue
		}
		if c.at = n; s != isBefore && s != isAfter && s != isThrown {
			return c.refuse("this code runs in several of these cases: before the target, after it returned, after it threw; " + notInTryRemedy)
		}
		k.kinds[n] = s
	}
	delete(k.kinds, c.sentinel)
	k.aroundProlog(across)
	k.aroundEpilog(across)
	k.aroundHandlers()
	k.protect()
	return nil
}

// A container adds code to a user's template.
type container struct {
	*compiler
	b         *code.Body
	mark      uint16     // the variable of the mark
	throwable code.Type  // the type
	point     *code.Node // code is inserted before it
	adding    state      // of the code that is added; 0 is not protected
	kinds     map[*code.Node]state
	failing   [isThrown + 1]*code.Node // labels of the code that continues after an error, by state
	entries   []*code.Node             // of the blocks around the target
	after     *code.Node               // label after the target
	resume    *code.Node               // label at which the template's own code continues after the target
}

func (k *container) withMark(locals []code.Type) []code.Type {
	locals = slices.Clone(locals)
	for code.Slots(locals) < int(k.mark) {
		locals = append(locals, code.Type{})
	}
	return append(locals, code.Type{Item: code.Long})
}

func (k *container) put(nodes ...*code.Node) {
	for _, n := range nodes {
		k.b.InsertBefore(k.point, n)
		if n.Kind == code.Instruction && k.adding != 0 {
			k.kinds[n] = k.adding
		}
	}
}

func (k *container) op(op opcode.Op) *code.Node { return k.b.NewOp(op) }
func (k *container) loadMark() *code.Node       { return k.b.NewIndexed(opcode.Lload, k.mark) }
func (k *container) storeMark() *code.Node      { return k.b.NewIndexed(opcode.Lstore, k.mark) }

func (k *container) call(class, name, desc string) *code.Node {
	return k.b.NewIndexed(opcode.Invokestatic, k.class.Pool.AddMember(classfile.TagMethodref, class, name, desc))
}

func (k *container) frame(locals []code.Type, stack ...code.Type) *code.Node {
	return k.b.NewFrame(code.Frame{Form: code.Absolute, Locals: k.withMark(locals), Stack: stack})
}

// ifMarked puts a branch that is taken if the mark, which is on the stack, is not 0.
func (k *container) ifMarked(op opcode.Op, to *code.Node) {
	k.put(k.op(opcode.Lconst0), k.op(opcode.Lcmp), k.b.NewJump(op, to))
}

// leave puts what ends the template's own code.
func (k *container) leave() { k.put(k.loadMark(), k.call(k.user.Hooks, "leave", "(J)V")) }

// again puts what begins it again.
func (k *container) again() {
	k.put(k.loadMark(), k.call(k.user.Hooks, "again", "(J)J"), k.op(opcode.Dup2), k.storeMark())
}

// failed puts what runs after an error of the template's code, whose entry is returned. It ends with the exception of the
// template forgotten; where reporting that fails as well, because the stack is full, it goes on.
func (k *container) failed() (entry *code.Node) {
	entry = k.b.NewLabel()
	start, end, full, done := k.b.NewLabel(), k.b.NewLabel(), k.b.NewLabel(), k.b.NewLabel()
	k.put(entry, k.frame(nil, k.throwable), k.op(opcode.Pop), start, k.loadMark(), k.call(intrinsicsClass, "methodId", "()I"),
		k.call(k.user.Hooks, "failed", "(JI)V"), k.b.NewJump(opcode.Goto, done), end, full, k.frame(nil, k.throwable), k.op(opcode.Pop), done, k.frame(nil))
	k.b.Handlers = append(k.b.Handlers, code.Handler{Start: start, End: end, Entry: full})
	return entry
}

// narrow restricts the template's blocks around the target to it, and to code that the template has after the target: an
// error of the prolog is none of the target.
func (k *container) narrow() {
	target, past := k.b.NewLabel(), k.b.NewLabel()
	k.after, k.resume = past, k.b.NewLabel()
	before := k.b.NewLabel()
	k.point = k.sentinel
	k.put(before, target)
	k.b.InsertAfter(k.sentinel, k.resume)
	k.b.InsertAfter(k.sentinel, past)
	var all []code.Handler
	for _, h := range k.b.Handlers {
		if !encloses(&h, k.sentinel) {
			all = append(all, h)
			continue
		}
		if mayThrow(h.Start, before) {
			all = append(all, code.Handler{Start: h.Start, End: before, Entry: h.Entry, Catch: h.Catch})
		}
		all = append(all, code.Handler{Start: target, End: past, Entry: h.Entry, Catch: h.Catch})
		if mayThrow(k.resume, h.End) {
			all = append(all, code.Handler{Start: k.resume, End: h.End, Entry: h.Entry, Catch: h.Catch})
		}
		if !slices.Contains(k.entries, h.Entry) {
			k.entries = append(k.entries, h.Entry)
		}
	}
	k.b.Handlers = all
	k.point = target
}

// mayThrow reports whether there are instructions between labels that may throw an exception.
func mayThrow(from, to *code.Node) bool {
	for n := from; n != nil && n != to; n = n.Next() {
		if n.Kind != code.Instruction || n.Is(opcode.Goto) || n.Is(opcode.Return) {
			continue
		}
		if shape := n.Op().Info().Shape; shape != opcode.Local && shape != opcode.IncLocal {
			return true
		}
	}
	return false
}

// aroundProlog adds the beginning of the template, and what is between its prolog and the target.
func (k *container) aroundProlog(across code.Frame) {
	target, skip := k.point, k.b.NewLabel()
	k.point = k.b.First()
	k.put(k.op(opcode.Lconst0), k.storeMark())
	k.adding = isBefore
	k.put(k.call(intrinsicsClass, "methodId", "()I"), k.call(k.user.Hooks, "enter", "(I)J"), k.op(opcode.Dup2), k.storeMark())
	k.ifMarked(opcode.Ifeq, skip)
	if k.user.Conditional {
		k.ask(skip)
	}
	k.point = target
	k.leave()
	k.adding = 0
	k.put(k.b.NewJump(opcode.Goto, target))
	k.failing[isBefore] = k.failed()
	k.put(k.op(opcode.Lconst0), k.storeMark(), skip, k.frame(nil))
	slot := uint16(0)
	for _, t := range across.Locals {
		switch t.Item {
		case code.Integer:
			k.put(k.op(opcode.Iconst0), k.b.NewIndexed(opcode.Istore, slot))
		case code.Long:
			k.put(k.op(opcode.Lconst0), k.b.NewIndexed(opcode.Lstore, slot))
		case code.Float:
			k.put(k.op(opcode.Fconst0), k.b.NewIndexed(opcode.Fstore, slot))
		case code.Double:
			k.put(k.op(opcode.Dconst0), k.b.NewIndexed(opcode.Dstore, slot))
		case code.Object, code.Null:
			k.put(k.op(opcode.AconstNull), k.b.NewIndexed(opcode.Astore, slot))
		}
		slot += uint16(t.Slots())
	}
	if k.point.Prev().Kind == code.FrameMark {
		k.put(k.op(opcode.Nop)) // no place may have two frames
	}
	k.point = k.sentinel
	k.put(k.frame(across.Locals))
}

// ask puts what goes on without the template where its condition does not hold or cannot be evaluated.
func (k *container) ask(without *code.Node) {
	start, end, failed, drop, run := k.b.NewLabel(), k.b.NewLabel(), k.b.NewLabel(), k.b.NewLabel(), k.b.NewLabel()
	k.adding = 0
	k.put(start, k.op(opcode.Iconst0), k.call(intrinsicsClass, "condition", "(I)I"), end, k.op(opcode.Iconst1), k.b.NewJump(opcode.IfIcmpeq, run), drop, k.frame(nil))
	k.adding = isBefore
	k.leave()
	k.adding = 0
	k.put(k.op(opcode.Lconst0), k.storeMark(), k.b.NewJump(opcode.Goto, without), failed, k.frame(nil, k.throwable), k.op(opcode.Pop), k.b.NewJump(opcode.Goto, drop), run, k.frame(nil))
	k.b.Handlers = append(k.b.Handlers, code.Handler{Start: start, End: end, Entry: failed})
	k.adding = isBefore
}

// aroundEpilog adds what is between the target and the epilog, and the end of the epilog.
func (k *container) aroundEpilog(across code.Frame) {
	next := after(k.after)
	for next != nil && next.Is(opcode.Goto) {
		next = instructionFrom(next.Target())
	}
	if next == nil || next.Is(opcode.Return) {
		return // there is none
	}
	for n := k.b.First(); n != nil; n = n.Next() {
		if n.Is(opcode.Return) && k.kinds[n] == isAfter {
			k.point, k.adding = n, isAfter
			k.leave()
		}
	}
	k.point, k.adding = k.resume, isAfter
	k.again()
	run := k.b.NewLabel()
	k.ifMarked(opcode.Ifne, run)
	k.put(k.op(opcode.Return), run, k.frame(across.Locals))
	k.point, k.adding = nil, 0
	k.failing[isAfter] = k.failed()
	k.put(k.op(opcode.Return))
}

// aroundHandlers adds the beginnings of the blocks that handle exceptions of the target, and makes them end with that exception.
func (k *container) aroundHandlers() {
	if len(k.entries) == 0 {
		return
	}
	rethrow := func() { k.put(k.call(intrinsicsClass, "thrown", "()Ljava/lang/Throwable;"), k.op(opcode.Athrow)) }
	for n := k.b.First(); n != nil; n = n.Next() {
		if !n.Is(opcode.Athrow) || k.kinds[n] != isThrown || k.isCaught(n) {
			continue
		}
		delete(k.kinds, n)
		k.point, k.adding = n, isThrown
		k.put(k.op(opcode.Pop))
		k.leave()
		k.adding = 0
		k.put(k.call(intrinsicsClass, "thrown", "()Ljava/lang/Throwable;"))
	}
	for _, entry := range k.entries {
		var at *code.Frame
		for n := entry; n != nil && n.Kind != code.Instruction; n = n.Next() {
			if n.Kind == code.FrameMark {
				at = k.b.Frame(n)
			}
		}
		k.point = instructionFrom(entry)
		if at == nil || k.point == nil {
			continue // no verifier accepts it
		}
		locals, stack, run := slices.Clone(at.Locals), slices.Clone(at.Stack), k.b.NewLabel()
		k.adding = isThrown
		k.again()
		k.ifMarked(opcode.Ifne, run)
		k.adding = 0
		k.put(k.op(opcode.Athrow), run, k.b.NewFrame(code.Frame{Form: code.Absolute, Locals: locals, Stack: stack}))
	}
	k.point = nil
	k.failing[isThrown] = k.failed()
	rethrow()
}

// isCaught reports whether a block that is not around the target catches what an instruction throws.
func (k *container) isCaught(n *code.Node) bool {
	return slices.ContainsFunc(k.b.Handlers, func(h code.Handler) bool { return !slices.Contains(k.entries, h.Entry) && encloses(&h, n) })
}

// protect adds a block around each piece of the template's own code. Blocks of the template come first.
func (k *container) protect() {
	var start *code.Node
	current := state(0)
	end := func(label *code.Node) {
		if current != 0 && k.failing[current] != nil {
			k.b.Handlers = append(k.b.Handlers, code.Handler{Start: start, End: label, Entry: k.failing[current]})
		}
	}
	for n := k.b.First(); n != nil; n = n.Next() {
		if n.Kind != code.Instruction || k.kinds[n] == current {
			continue
		}
		label := k.b.NewLabel()
		k.b.InsertBefore(n, label)
		end(label)
		start, current = label, k.kinds[n]
	}
	if current != 0 {
		label := k.b.NewLabel()
		k.b.InsertBefore(nil, label)
		end(label)
	}
}
