package weave

import (
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

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
				index = s.w.constant(s.t, s.im, int(it.num))
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
			b.InsertBefore(mark, b.NewIndexed(loadOp(s.kind), s.result))
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
		put(b.NewIndexed(loadOp(computational(a.desc)), slot))
		s.box(a.desc, byte(it.op), mark)
	case doArgCount:
		s.arguments()
		s.pushInt(int32(len(s.args)), mark)
	case doResult:
		if s.kind == 'V' {
			put(b.NewOp(opcode.AconstNull))
			return
		}
		put(b.NewIndexed(loadOp(s.kind), s.result))
		s.box(s.ret[0], byte(it.op), mark)
	case doThrown:
		put(b.NewIndexed(opcode.Aload, s.thrown))
	case doMethodID:
		s.pushID(mark)
	case doMethodName:
		put(b.NewIndexed(opcode.Ldc, pool.AddString(s.methodName())))
	case doClassName:
		put(b.NewIndexed(opcode.Ldc, pool.AddString(dotted(s.w.className))))
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
	b := s.body
	var n *code.Node
	switch {
	case v >= -1 && v <= 5:
		n = b.NewOp(opcode.Op(int32(opcode.Iconst0) + v))
	case v == int32(int8(v)):
		n = b.NewValue(opcode.Bipush, v)
	case v == int32(int16(v)):
		n = b.NewValue(opcode.Sipush, v)
	default:
		n = b.NewIndexed(opcode.Ldc, s.w.class.Pool.AddInt(v))
	}
	b.InsertBefore(mark, n)
}
