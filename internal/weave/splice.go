package weave

import (
	"slices"
	"unsafe"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/classfile/frames"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// splice is the weaving of one template around one target.
type splice struct {
	*target
	t  *Template
	im *imports

	labels []*code.Node // the template's, by number; made when first wanted

	// The local variables, from the target's last on:
	//
	//	target's | template's | thrown | self | arguments kept | result
	base      uint16 // first of the template's
	thrown    uint16
	self      uint16
	kept      []keptArg
	result    uint16
	resultTyp code.Type

	inline bool       // each return has an epilog of its own
	epilog *code.Node // label where the target's returns lead, otherwise
	begin  *code.Node // label from which on blocks may enclose the target
	end    *code.Node // label after the target
	note   *code.Node // label of what remembers a thrown exception, right before end
	gaps   []gap      // what blocks leave out of it
}

// mostCopies is how many returns may have an epilog of their own. A copy of a short
// one is no longer than a jump, but each costs every block an entry.
const mostCopies = 6

// keptArg is a copy of an argument, which the target may overwrite.
type keptArg struct {
	no   int
	slot uint16
	typ  code.Type
}

// around weaves a template around the target as it is now.
func (g *target) around(t *Template) error {
	s := splice{target: g, t: t, im: g.w.importsOf(t), labels: g.w.labels(t.labels)}
	if err := s.fits(); err != nil {
		return err
	}
	s.inline = t.epilog != nil && len(g.returns) <= mostCopies && !g.covered && g.inOrder()
	if !s.inline {
		if err := g.findSurplus(); err != nil {
			return err
		}
	}
	if err := s.layout(); err != nil {
		return err
	}
	if err := s.extendFrames(); err != nil {
		return err
	}
	s.enclose()
	return nil
}

// fits checks that the target has what the template asks for, so that nothing is
// changed where it has not.
func (s *splice) fits() error {
	t, u := s.t, &s.t.uses
	if s.w.class.Major < t.minMajor {
		return &Reason{NeedsNewerClass, versions(t.minMajor, s.w.class.Major)}
	}
	if t.markers > 0 {
		return &Reason{DoesNotFit, "it has a condition, and none was bound to it"}
	}
	if t.only != "" && t.only != s.w.className+"."+view(s.name)+view(s.desc) {
		return &Reason{DoesNotFit, "its condition was made for " + t.only}
	}
	if u.highestArg >= 0 {
		s.arguments()
		if u.highestArg >= len(s.args) {
			return &Reason{DoesNotFit, "it uses argument " + itoa(u.highestArg) + ", counted from 0, and the method has only " + itoa(len(s.args))}
		}
	}
	for _, want := range u.typed {
		have, what := s.kind, "the result"
		if want.arg >= 0 {
			have, what = KindOf(s.args[want.arg].desc), "argument "+itoa(want.arg)
		}
		if have != want.kind {
			return &Reason{DoesNotFit, what + " is of another type"}
		}
	}
	if !s.constructor {
		return nil
	}
	switch {
	case u.holdsMonitor:
		return &Reason{DoesNotFit, "it holds a lock across super(...), which could not be released if super(...) threw"}
	case t.afterSuper && len(s.later) > 0:
		return &Reason{OddConstructor, "code that runs before the call stands after it, and the template begins only after the call"}
	case t.afterSuper && s.prologBranches():
		return &Reason{DoesNotFit, "it begins after super(...), and its prolog has branches"}
	case u.mixes:
		return &Reason{DoesNotFit, "it has code that may run both before and after super(...), or that stands after it and runs before it"}
	case u.selfBefore:
		return &Reason{DoesNotFit, "it uses this before super(...) has initialised it"}
	case u.selfAfter && s.slot0:
		return &Reason{DoesNotFit, "it uses this after super(...), and the constructor overwrites that variable"}
	}
	return nil
}

// layout places the variables the merged method needs in addition to the target's.
func (s *splice) layout() error {
	b, u := s.body, &s.t.uses
	s.base = b.MaxLocals
	next := int(b.MaxLocals) + int(s.t.maxLocals)
	take := func(n uint16) uint16 {
		slot := next
		next += int(n)
		return uint16(slot)
	}
	if u.thrown {
		s.thrown = take(1)
	}
	if u.selfAfter && !s.static {
		s.self = take(1)
	}
	s.kept = s.w.kept[:0]
	for _, no := range u.argsAfter {
		if s.keptSlot(no) == nil {
			a := &s.args[no]
			s.kept = append(s.kept, keptArg{no, take(slotsOf(a.desc)), frames.Of(&s.w.class.Pool, a.text)})
		}
	}
	s.w.kept = s.kept
	if !s.inline {
		s.result = take(slotsOf(s.kind))
	}
	if next > 65535 {
		return &Reason{TooLarge, "it has too many local variables"}
	}
	b.MaxLocals = uint16(next)
	stack := s.t.maxStack
	if u.boxes {
		stack++
	}
	if s.inline || s.constructor && s.t.afterSuper {
		// It runs on top of the result, and whatever lies beneath.
		stack = uint16(min(int(stack)+int(b.MaxStack), 65535))
	}
	b.MaxStack = max(b.MaxStack, stack, 2)
	return nil
}

func (s *splice) keptSlot(no int) *keptArg {
	for i := range s.kept {
		if s.kept[i].no == no {
			return &s.kept[i]
		}
	}
	return nil
}

// enclose puts the target in the sentinel's place.
func (s *splice) enclose() {
	b := s.body
	if s.entry != nil {
		b.Remove(s.entry) // to be first again
	}
	line := s.takeFirstLine()
	falls := false
	if s.inline {
		s.copyEpilog()
	} else {
		s.epilog = b.NewLabel()
		falls = s.leadReturns()
	}
	if s.t.uses.thrown {
		s.noteThrown()
	}
	s.end = b.NewLabel()
	b.InsertBefore(nil, s.end)
	s.begin = s.beginning()
	mark := b.First()
	if line != nil {
		b.InsertBefore(mark, line)
	}
	s.keep(mark)
	if s.constructor && s.t.afterSuper {
		s.begins(mark)
		mark = s.begin
	}
	at := 0
	for ; s.t.items[at].act != actTarget; at++ {
		if mark != nil { // else the target never gets that far
			s.insert(&s.t.items[at], mark)
		}
	}
	s.coverArguments()
	rest := s.t.items[at+1:]
	if s.inline {
		rest = s.t.rest
	} else {
		b.InsertBefore(nil, s.epilog)
		if !falls && b.NeedsFrames() {
			b.InsertBefore(nil, b.NewFrame(s.frame(isAfter, s.t.across, nil)))
		}
	}
	for i := range rest {
		s.insert(&rest[i], nil)
	}
	s.blocks()
}

// copyEpilog puts a copy of the epilog before each return of the target. The result
// stays on the stack.
func (s *splice) copyEpilog() {
	b := s.body
	s.gaps = s.w.gaps[:0]
	for _, n := range s.returns {
		g := gap{end: b.NewLabel()}
		b.InsertBefore(n, g.end)
		for i := range s.t.epilog {
			s.insert(&s.t.epilog[i], n)
		}
		if !s.last(n) {
			g.begin = b.NewLabel()
			b.InsertAfter(n, g.begin)
		}
		s.gaps = append(s.gaps, g)
	}
	s.w.gaps = s.gaps
}

// takeFirstLine removes the line number of the target's first instruction: the
// prolog, which comes to stand before it, belongs to that line too.
func (s *splice) takeFirstLine() *code.Node {
	var first *code.Node
	for n := s.body.First(); n != nil && n.Kind != code.Instruction; n = n.Next() {
		switch {
		case n.Kind == code.Line && first != nil:
			// Of two lines the JVM takes the first for the instruction itself: it stays.
			return s.body.NewLine(int(first.Value()))
		case n.Kind == code.Line:
			first = n
		}
	}
	if first != nil {
		s.body.Remove(first)
	}
	return first
}

// coverArguments lets the variables of arguments begin before the prolog: a debugger that
// stops at the method's entry shows them.
func (s *splice) coverArguments() {
	b := s.body
	if len(b.Vars) == 0 {
		return
	}
	if s.entry == nil {
		s.entry = b.NewLabel()
		slots, _, _ := descriptor.ArgSlots(s.desc)
		if !s.static {
			slots++
		}
		for i := range b.Vars {
			if v := &b.Vars[i]; v.Start.Offset() == 0 && int(v.Slot) < slots {
				v.Start = s.entry
			}
		}
	}
	b.InsertBefore(b.First(), s.entry)
}

// leadReturns makes the target's returns lead to the epilog. It reports whether
// control only ever falls through to it.
func (s *splice) leadReturns() (falls bool) {
	b := s.body
	for _, n := range s.returns {
		for _, t := range s.surplus[n] {
			op := opcode.Pop
			if t.Slots() == 2 {
				op = opcode.Pop2
			}
			// What lies deepest is popped last: each goes in front of the one before.
			b.InsertAfter(n, b.NewOp(op))
		}
		if !s.last(n) || s.surplus[n] != nil {
			jump := b.NewJump(opcode.Goto, s.epilog)
			at := n
			for range s.surplus[n] {
				at = at.Next()
			}
			b.InsertAfter(at, jump)
		} else {
			falls = true
		}
		if s.kind == 'V' {
			b.Remove(n)
		} else {
			n.Become(StoreOp(s.kind), s.result)
		}
	}
	falls = falls && len(s.returns) == 1
	// The template's take their place, in blocks of its own for all we know.
	s.returns, s.covered = s.returns[:0], true
	return falls
}

// last reports whether nothing but a label will stand between n and the epilog.
func (s *splice) last(n *code.Node) bool {
	next := n.Next()
	return !s.t.uses.thrown && (next == nil || next.Kind == code.Label && next.Next() == nil)
}

// keep initialises the variables the weaver adds, before the prolog.
func (s *splice) keep(mark *code.Node) {
	b := s.body
	copyTo := func(load opcode.Op, from uint16, store opcode.Op, to uint16) {
		b.InsertBefore(mark, b.NewIndexed(load, from))
		b.InsertBefore(mark, b.NewIndexed(store, to))
	}
	if s.t.uses.thrown {
		b.InsertBefore(mark, b.NewOp(opcode.AconstNull))
		b.InsertBefore(mark, b.NewIndexed(opcode.Astore, s.thrown))
	}
	if s.self != 0 && !s.constructor {
		copyTo(opcode.Aload, 0, opcode.Astore, s.self)
	}
	for _, k := range s.kept {
		kind := KindOf(s.args[k.no].desc)
		copyTo(LoadOp(kind), s.args[k.no].slot, StoreOp(kind), k.slot)
	}
}

// begins initialises the template's variables that live across the target where its prolog
// comes later: the frames before the prolog contain them too.
func (s *splice) begins(mark *code.Node) {
	b, slot := s.body, s.base
	for _, t := range s.t.across {
		typ := code.Type{Item: t.item}
		if t.item != code.Top {
			kind := kindOf(typ)
			b.InsertBefore(mark, b.NewOp(zeroOps[kind]))
			b.InsertBefore(mark, b.NewIndexed(StoreOp(kind), slot))
		}
		slot += uint16(typ.Slots())
	}
}

// zeroOps push the zero value of a computational kind.
var zeroOps = map[byte]opcode.Op{
	'I': opcode.Iconst0, 'J': opcode.Lconst0, 'F': opcode.Fconst0, 'D': opcode.Dconst0, 'A': opcode.AconstNull,
}

func (s *splice) label(no uint16) *code.Node {
	if s.labels[no] == nil {
		s.labels[no] = s.body.NewLabel()
	}
	return s.labels[no]
}

// insert puts one item of the template in front of mark.
func (s *splice) insert(it *item, mark *code.Node) {
	b := s.body
	switch it.act {
	case actPlain, actLocal, actConstant:
		index := uint16(0)
		switch it.act {
		case actLocal:
			index = s.base + it.num
		case actConstant:
			if index = s.im.index[it.num]; index == 0 {
				index = s.w.constant(s.im, int(it.num))
			}
		}
		b.InsertBefore(mark, b.NewOperands(it.op, index, it.value))
	case actJump:
		b.InsertBefore(mark, b.NewJump(it.op, s.label(it.num)))
	case actLabel:
		b.InsertBefore(mark, s.label(it.num))
	case actFrame:
		if b.NeedsFrames() {
			f := &s.t.frames[it.num]
			b.InsertBefore(mark, b.NewFrame(s.frame(f.state, f.locals, f.stack)))
		}
	case actSwitch:
		ch := &s.t.switches[it.num]
		sw := code.Switch{Default: s.label(ch.other), Keys: ch.keys}
		for _, no := range ch.targets {
			sw.Targets = append(sw.Targets, s.label(no))
		}
		b.InsertBefore(mark, b.NewSwitch(it.op, sw))
	case actReturn:
		n := b.NewOp(opcode.Return)
		if s.kind != 'V' {
			b.InsertBefore(mark, b.NewIndexed(LoadOp(s.kind), s.result))
			n = b.NewOp(returnOp(s.kind))
		}
		b.InsertBefore(mark, n)
		s.returns = append(s.returns, n)
	case actIntrinsic:
		s.intrinsic(it, mark)
	}
}

// intrinsic puts what a call of Template stands for in front of mark.
func (s *splice) intrinsic(it *item, mark *code.Node) {
	b, pool := s.body, &s.w.class.Pool
	put := func(n *code.Node) { b.InsertBefore(mark, n) }
	switch it.value {
	case doSelf:
		switch {
		case s.static:
			put(b.NewOp(opcode.AconstNull))
		case it.state == isBefore:
			put(b.NewIndexed(opcode.Aload, 0))
		case s.constructor && s.superCall == nil:
			put(b.NewOp(opcode.AconstNull)) // never runs
		default:
			put(b.NewIndexed(opcode.Aload, s.self))
		}
	case doArg:
		a := &s.args[it.num]
		slot := a.slot
		if it.state != isBefore {
			slot = s.keptSlot(int(it.num)).slot
		}
		put(b.NewIndexed(LoadOp(KindOf(a.desc)), slot))
		s.box(a.desc, byte(it.op), mark)
	case doArgCount:
		s.arguments()
		s.pushInt(int32(len(s.args)), mark)
	case doResult:
		if s.kind == 'V' {
			put(b.NewOp(opcode.AconstNull))
			return
		}
		put(b.NewIndexed(LoadOp(s.kind), s.result))
		s.box(s.ret[0], byte(it.op), mark)
	case doThrown:
		put(b.NewIndexed(opcode.Aload, s.thrown))
	case doMethodID:
		s.pushID(mark)
	case doRecord:
		s.pushInt(s.t.records[it.num], mark)
	case doMethodName:
		put(b.NewIndexed(opcode.Ldc, pool.AddString(s.methodName())))
	case doClassName:
		put(b.NewIndexed(opcode.Ldc, pool.AddString(descriptor.ExternalName(s.w.className))))
	}
}

// box turns the primitive on the stack into an object, where the template wants one.
func (s *splice) box(desc, want byte, mark *code.Node) {
	class, primitive := boxes[desc]
	if want != 0 || !primitive {
		return
	}
	ref := s.w.class.Pool.AddMember(classfile.TagMethodref, class, "valueOf", "("+string(rune(desc))+")L"+class+";")
	s.body.InsertBefore(mark, s.body.NewIndexed(opcode.Invokestatic, ref))
}

// pushID pushes the template's id or, where it has none, the method's. Hardly one is
// small enough for less than a constant of its own.
func (s *splice) pushID(mark *code.Node) {
	if s.t.named {
		s.pushInt(s.t.id, mark)
		return
	}
	if s.idEntry == 0 {
		id := s.methodID()
		if id == int32(int16(id)) {
			s.pushInt(id, mark)
			return
		}
		s.idEntry = s.w.class.Pool.AddInt(id)
	}
	s.body.InsertBefore(mark, s.body.NewIndexed(opcode.Ldc, s.idEntry))
}

// pushInt pushes a constant the shortest way.
func (s *splice) pushInt(v int32, mark *code.Node) {
	op, operand := PushInt(v)
	index := uint16(0)
	if op == opcode.Ldc {
		index = s.w.class.Pool.AddInt(v)
	}
	s.body.InsertBefore(mark, s.body.NewOperands(op, index, operand))
}

// gap is a piece of the target that no block may enclose, a copy of the epilog or
// code that runs before super(...): blocks end before it and, unless the target ends
// with it, begin again after it.
type gap struct{ end, begin *code.Node }

// beginning returns the label from which on blocks may enclose the target: its
// first instruction, or, in a constructor, where this has become an object, after
// the copy of it that the template wants. It is nil where that never happens, and
// where nobody asks.
func (s *splice) beginning() *code.Node {
	b := s.body
	if !s.constructor {
		if !s.t.uses.thrown {
			return nil // the template's own labels do
		}
		l := b.NewLabel()
		b.InsertBefore(b.First(), l)
		return l
	}
	if s.superCall == nil {
		return nil
	}
	for _, r := range s.later {
		g := gap{end: b.NewLabel()}
		b.InsertBefore(r.frame, g.end)
		switch {
		case r.call != nil:
			g.begin = s.afterSuper(r.call)
		case r.until != nil:
			g.begin = b.NewLabel()
			b.InsertBefore(r.until, g.begin)
		}
		s.gaps = append(s.gaps, g)
	}
	return s.afterSuper(s.superCall)
}

// afterSuper keeps a copy of this after a call of super(...), if one is wanted, and
// returns a label after that.
func (s *splice) afterSuper(call *code.Node) *code.Node {
	b := s.body
	at := call
	if s.self != 0 {
		load, store := b.NewIndexed(opcode.Aload, 0), b.NewIndexed(opcode.Astore, s.self)
		b.InsertAfter(at, load)
		b.InsertAfter(load, store)
		at = store
	}
	l := b.NewLabel()
	b.InsertAfter(at, l)
	return l
}

// blocks adds the template's exception blocks after the target's, so that they enclose them.
func (s *splice) blocks() {
	if s.t.uses.thrown && s.begin != nil {
		s.addAround(code.Handler{Start: s.begin, End: s.note, Entry: s.note})
	}
	for i := range s.t.handlers {
		k := &s.t.handlers[i]
		h := code.Handler{Start: s.label(k.start), End: s.end, Entry: s.label(k.entry)}
		if !k.around || !s.inline {
			h.End = s.label(k.end)
		}
		if k.catch >= 0 {
			h.Catch = s.w.constant(s.im, k.catch)
		}
		if !k.around {
			s.addBlock(h)
			continue
		}
		if s.constructor {
			if s.begin == nil {
				continue
			}
			h.Start = s.begin
		}
		s.addAround(h)
	}
}

// addAround adds a block around the target, in pieces that leave epilogs out.
func (s *splice) addAround(h code.Handler) {
	end := h.End
	for _, g := range s.gaps {
		h.End = g.end
		s.addBlock(h)
		if h.Start = g.begin; h.Start == nil {
			return // the target ends here
		}
	}
	h.End = end
	s.addBlock(h)
}

// addBlock adds a block unless it is empty, which no class file may have.
func (s *splice) addBlock(h code.Handler) {
	for n := h.Start; n != nil && n != h.End; n = n.Next() {
		if n.Kind == code.Instruction {
			s.body.Handlers = append(s.body.Handlers, h)
			return
		}
	}
}

// noteThrown adds code that remembers what the target throws and throws it on. It
// stands right after the target, inside the template's blocks around it.
func (s *splice) noteThrown() {
	b := s.body
	s.note = b.NewLabel()
	b.InsertBefore(nil, s.note)
	if b.NeedsFrames() {
		throwable := code.Type{Item: code.Object, Class: s.w.class.Pool.AddClass("java/lang/Throwable")}
		f := s.frame(isThrown, s.t.across, nil)
		f.Stack = []code.Type{throwable}
		b.InsertBefore(nil, b.NewFrame(f))
	}
	b.InsertBefore(nil, b.NewOp(opcode.Dup))
	b.InsertBefore(nil, b.NewIndexed(opcode.Astore, s.thrown))
	b.InsertBefore(nil, b.NewOp(opcode.Athrow))
}

// extendFrames gives the target's frames the variables that live across it.
func (s *splice) extendFrames() error {
	b := s.body
	if !b.NeedsFrames() {
		return nil
	}
	branches := s.prologBranches()
	if branches {
		if err := s.atEntry(); err != nil {
			return err
		}
		if err := s.fitsLocals(s.initial); err != nil {
			return err
		}
	}
	// A frame of the prolog comes before the target's first, which can then no longer
	// be relative to the method's entry.
	lives := len(s.t.across) > 0 || s.t.uses.thrown || s.self != 0 || len(s.kept) > 0
	if !b.HasFrames() || !branches && !lives {
		return nil
	}
	if err := s.expand(); err != nil {
		return err
	}
	var had, have []code.Type
	list := b.Frames()
	for i := range list {
		f := &list[i]
		// Frames that share their locals go on sharing them.
		if have == nil || len(f.Locals) != len(had) || unsafe.SliceData(f.Locals) != unsafe.SliceData(had) {
			had = f.Locals
			if err := s.fitsLocals(had); err != nil {
				return err
			}
			have = s.locals(had, s.t.across, s.constructor && uninitialised(had), false)
		}
		f.Locals = have
	}
	return nil
}

// fitsLocals requires that a frame has no more slots than the target: the following slots
// are the template's.
func (s *splice) fitsLocals(locals []code.Type) error {
	if n := code.Slots(locals); n > int(s.base) {
		return &Reason{Malformed, "a frame has " + itoa(n) + " slots, the body " + itoa(int(s.base))}
	}
	return nil
}

// prologBranches reports whether a frame of the template stands before the target,
// so that it must contain the types of the target's arguments.
func (s *splice) prologBranches() bool {
	return slices.ContainsFunc(s.t.frames, func(f frame) bool { return f.state == isBefore })
}

func uninitialised(locals []code.Type) bool {
	return slices.ContainsFunc(locals, func(t code.Type) bool { return t.Item == code.UninitializedThis })
}

// frame returns a frame for a point of the template.
func (s *splice) frame(at state, locals, stack []typ) code.Frame {
	var target []code.Type
	if at == isBefore {
		target = s.initial
	}
	f := code.Frame{Form: code.Absolute,
		Locals: s.locals(target, locals, s.constructor && at == isBefore, at == isAfter)}
	if len(stack) > 0 {
		f.Stack = s.body.NewTypes(len(stack))
		for i, t := range stack {
			f.Stack[i] = s.typ(t)
		}
	}
	return f
}

// locals lists local variables: the target's, then the template's, then the
// weaver's own, with gaps filled. An object that is not one yet cannot have been
// copied; the result is there only after the target.
func (s *splice) locals(target []code.Type, template []typ, uninitialised, result bool) []code.Type {
	extra := 0
	if s.t.uses.thrown || s.self != 0 || len(s.kept) > 0 || result && s.kind != 'V' {
		extra = int(s.t.maxLocals) + 3 + len(s.kept)
	}
	if len(target)+len(template)+extra == 0 {
		return nil
	}
	gap := int(s.base) - code.Slots(target)
	list := s.body.NewTypes(len(target) + gap + len(template) + extra)[:0]
	list = append(list, target...)
	next := s.base
	list = appendTop(list, gap)
	for _, t := range template {
		v := s.typ(t)
		list = append(list, v)
		next += uint16(v.Slots())
	}
	put := func(slot uint16, t code.Type) {
		list = appendTop(list, int(slot)-int(next))
		list = append(list, t)
		next = slot + uint16(t.Slots())
	}
	if s.t.uses.thrown {
		put(s.thrown, code.Type{Item: code.Object, Class: s.w.class.Pool.AddClass("java/lang/Throwable")})
	}
	if s.self != 0 && !uninitialised {
		put(s.self, code.Type{Item: code.Object, Class: s.w.class.This})
	}
	for _, k := range s.kept {
		put(k.slot, k.typ)
	}
	if result && s.kind != 'V' {
		put(s.result, s.resultType())
	}
	for len(list) > 0 && list[len(list)-1].Item == code.Top {
		list = list[:len(list)-1]
	}
	return list
}

func appendTop(list []code.Type, n int) []code.Type {
	for range n {
		list = append(list, code.Type{})
	}
	return list
}

func (s *splice) resultType() code.Type {
	if s.resultTyp.Item == code.Top {
		s.resultTyp = frames.Of(&s.w.class.Pool, s.ret)
	}
	return s.resultTyp
}

// typ turns a type of the template into one of the class being woven.
func (s *splice) typ(t typ) code.Type {
	switch t.item {
	case code.Object:
		return code.Type{Item: t.item, Class: s.w.constant(s.im, t.class)}
	case code.Uninitialized:
		return code.Type{Item: t.item, New: s.label(t.label)}
	}
	return code.Type{Item: t.item}
}
