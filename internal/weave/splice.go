package weave

import (
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
	end    *code.Node // label behind the target
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
		return &Reason{DoesNotFit, "a condition, and none was bound to it"}
	}
	if t.only != "" && t.only != s.w.className+"."+view(s.name)+view(s.desc) {
		return &Reason{DoesNotFit, "its condition was made for " + t.only}
	}
	if u.highestArg >= 0 {
		s.arguments()
		if u.highestArg >= len(s.args) {
			return &Reason{DoesNotFit, "argument " + itoa(u.highestArg) + " of " + itoa(len(s.args))}
		}
	}
	for _, want := range u.typed {
		have, what := s.kind, "the result"
		if want.arg >= 0 {
			have, what = computational(s.args[want.arg].desc), "argument "+itoa(want.arg)
		}
		if have != want.kind {
			return &Reason{DoesNotFit, what + " is of another type"}
		}
	}
	if s.constructor && u.holdsMonitor {
		return &Reason{DoesNotFit, "a lock held across super(...), which could not be released if that threw"}
	}
	if s.constructor && t.behind && len(s.later) > 0 {
		return &Reason{OddConstructor, "and the template begins behind that"}
	}
	if s.constructor && t.behind && s.prologBranches() {
		return &Reason{DoesNotFit, "to branch before super(...) was called, behind which it begins"}
	}
	if s.constructor && u.mixes {
		return &Reason{DoesNotFit, "code that may run both before super(...) and behind it, or stands behind it and runs before"}
	}
	if s.constructor && u.selfBefore {
		return &Reason{DoesNotFit, "this, before it is initialised"}
	}
	if s.constructor && u.selfAfter && s.slot0 {
		return &Reason{DoesNotFit, "this, which the constructor overwrites"}
	}
	return nil
}

// layout places the variables the merged method needs besides the target's.
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
	if s.inline || s.constructor && s.t.behind {
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
	if s.constructor && s.t.behind {
		s.begins(mark)
		mark = s.begin
	}
	at := 0
	for ; s.t.items[at].act != actTarget; at++ {
		if mark != nil { // else the target never gets that far
			s.insert(&s.t.items[at], mark)
		}
	}
	s.tellArguments()
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

// tellArguments lets the variables of arguments begin before the prolog: they are
// there, and a debugger that stops at the method's entry asks for them.
func (s *splice) tellArguments() {
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
			n.Become(storeOp(s.kind), s.result)
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
		kind := computational(s.args[k.no].desc)
		copyTo(loadOp(kind), s.args[k.no].slot, storeOp(kind), k.slot)
	}
}

// begins gives the template's variables that live across the target values, where its
// prolog comes later: frames tell of them from the beginning.
func (s *splice) begins(mark *code.Node) {
	b, slot := s.body, s.base
	put := func(zero opcode.Op, store opcode.Op) {
		b.InsertBefore(mark, b.NewOp(zero))
		b.InsertBefore(mark, b.NewIndexed(store, slot))
	}
	for _, t := range s.t.across {
		switch t.item {
		case code.Integer:
			put(opcode.Iconst0, opcode.Istore)
		case code.Long:
			put(opcode.Lconst0, opcode.Lstore)
		case code.Float:
			put(opcode.Fconst0, opcode.Fstore)
		case code.Double:
			put(opcode.Dconst0, opcode.Dstore)
		case code.Null, code.Object:
			put(opcode.AconstNull, opcode.Astore)
		}
		slot += uint16(code.Type{Item: t.item}.Slots())
	}
}

// label returns a label of the template.
func (s *splice) label(no uint16) *code.Node {
	if s.labels[no] == nil {
		s.labels[no] = s.body.NewLabel()
	}
	return s.labels[no]
}
