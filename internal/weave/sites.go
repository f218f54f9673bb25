package weave

import (
	"bytes"
	"errors"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/classfile/frames"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// Call is what a call instruction says of the method it calls. Its strings are views
// of the class bytes: they hold as long as those do.
type Call struct {
	Opcode      opcode.Op // invokestatic, invokespecial, invokevirtual or invokeinterface
	Owner       string    // internal name of a class, or descriptor of an array
	Name        string
	Descriptor  string
	IsInterface bool // the owner is said to be one
}

// LeftSite is a call that was chosen and left alone.
type LeftSite struct {
	Offset int // of the call instruction, as it was
	Call   Call
	Reason error
}

// site is a call that was chosen.
type site struct {
	node    *code.Node
	id      int32
	call    Call
	state   code.Frame // before the call
	reached bool
	early   bool // this is not an object yet
}

// mostCompiled is how long the code of a method may be that HotSpot compiles
// (DontCompileHugeMethods).
const mostCompiled = 8000

// chooseSites asks which calls of the target are to be wrapped.
func (g *target) chooseSites(caller MethodInfo) []site {
	list := g.w.sites[:0]
	for n := g.body.First(); n != nil; n = n.Next() {
		if n.Kind != code.Instruction || n.Op() < opcode.Invokevirtual || n.Op() > opcode.Invokeinterface {
			continue
		}
		owner, name, desc, err := g.w.class.Pool.Member(n.Index())
		if err != nil || len(name) > 0 && name[0] == '<' {
			continue
		}
		call := Call{n.Op(), view(owner), view(name), view(desc), g.w.class.Pool.Tag(n.Index()) == classfile.TagInterfaceMethodref}
		if id, wrap := g.w.Sites(caller, call); wrap {
			list = append(list, site{node: n, id: id, call: call})
		}
	}
	g.w.sites = list
	return list
}

// followSites finds what stands in variables and on the stack where the sites are.
func (g *target) followSites(sites []site) error {
	if err := g.expand(); err != nil {
		return err
	}
	at := make(map[*code.Node]*site, len(sites))
	for i := range sites {
		at[sites[i].node] = &sites[i]
	}
	forgets := false // this, before it is one: no frame can say that it is still to be made
	_, err := frames.Walk(g.body, g.member, g.body.NeedsFrames(), func(n *code.Node, s *frames.State) {
		early := g.constructor && (uninitialised(s.Locals) || uninitialised(s.Stack))
		if early && n.Op() >= opcode.Istore && n.Op() <= opcode.Astore && n.Index() == 0 {
			forgets = true
		}
		if c := at[n]; c != nil {
			c.state, c.reached, c.early = s.Frame(), true, early
		}
	})
	if err != nil {
		return err
	}
	for i := range sites {
		sites[i].early = sites[i].early || forgets
	}
	return nil
}

// split parts the stack before a call into what lies under its arguments and says
// why the call must be left alone, if so.
func (c *site) split() (under []code.Type, err error) {
	switch {
	case !c.reached:
		return nil, &Reason{Kind: Unreachable}
	case c.early:
		return nil, &Reason{Kind: BeforeSuper}
	}
	taken := 0
	if c.call.Opcode != opcode.Invokestatic {
		taken++
	}
	if err := descriptor.EachArgument([]byte(c.call.Descriptor), func([]byte) { taken++ }); err != nil {
		return nil, &Reason{Malformed, err.Error()}
	}
	if taken > len(c.state.Stack) {
		return nil, &Reason{Malformed, "a call finds too little on the stack"}
	}
	under = c.state.Stack[:len(c.state.Stack)-taken]
	for _, t := range under {
		if t.Item == code.Top || t.Item > code.Uninitialized {
			return nil, &Reason{Kind: OddStack}
		}
	}
	return under, nil
}

// wrapSites wraps the chosen calls, and returns the calls that cannot be wrapped.
func (g *target) wrapSites(sites []site) (left []LeftSite, err error) {
	leave := func(c *site, reason error) {
		left = append(left, LeftSite{c.node.Offset(), c.call, asReason(reason)})
	}
	t := g.w.SiteTemplate.t
	if need := t.minMajor; g.w.class.Major < need {
		return leaveAll(sites, &Reason{NeedsNewerClass, versions(need, g.w.class.Major)}), nil
	}
	if err := g.followSites(sites); err != nil {
		return leaveAll(sites, asReason(err)), nil
	}
	s := wrapping{splice: splice{target: g, t: t, im: g.w.importsOf(t), base: g.body.MaxLocals}}
	for i := range sites {
		c := &sites[i]
		under, err := c.split()
		if err != nil {
			leave(c, err)
			continue
		}
		if err := s.wrap(c, under); err != nil {
			return nil, err
		}
	}
	s.addBlocks()
	return left, nil
}

func leaveAll(sites []site, reason error) []LeftSite {
	left := make([]LeftSite, len(sites))
	for i := range sites {
		left[i] = LeftSite{sites[i].node.Offset(), sites[i].call, reason}
	}
	return left
}

// tooMuch reports whether hooks at calls are what a method cannot bear, so that it
// is to be woven without them.
func tooMuch(err error) bool {
	var reason *Reason
	return errors.As(err, &reason) && reason.Kind == TooLarge
}

// wrapping is the weaving of a site template around calls of one method, one after
// the other. All of it stands where the call stood, between the labels around it:
// whatever block of the method encloses the call encloses the template too, in the
// same order, so that what the template throws on goes where the call's exception
// went.
//
//	L:  (frame)             whoever jumps to the call runs the prolog
//	    enter; lstore t'    on top of the call's arguments
//	  ┌ call
//	  └ store r'; store u'  its result, and what lay under the arguments
//	    (the rest of the template, with nothing of the target's on the stack)
//	    load u'; load r'    and the slots forget objects they held
//
// The variables are the same for all calls: no two are under way at once.
type wrapping struct {
	// The local variables, from the target's last on:
	//
	//	target's | template's | under the arguments | result
	splice
	at    *site       // the call at hand
	aside []code.Type // what it leaves on the stack, bottom first
	inner []code.Handler
}

// wrap weaves the template around one call.
func (s *wrapping) wrap(c *site, under []code.Type) error {
	b := s.body
	desc := []byte(c.call.Descriptor)
	ret := desc[bytes.LastIndexByte(desc, ')')+1:]
	s.at, s.labels = c, s.w.labels(s.t.labels)
	s.aside = append(s.aside[:0], under...)
	if ret[0] != 'V' {
		s.aside = append(s.aside, frames.Of(&s.w.class.Pool, ret))
	}
	if err := s.makeRoom(); err != nil {
		return err
	}
	end, after := b.NewLabel(), c.node.Next()
	at, aside := 0, s.t.afterTarget()
	for ; s.t.items[at].act != actTarget; at++ {
		s.insertItem(&s.t.items[at], c.node, end)
	}
	s.keepAnnotations()
	jumps := false
	for at++; at < len(s.t.items); at++ {
		if at == aside {
			s.putAside(after)
		}
		it := &s.t.items[at]
		if it.act == actReturn && at == len(s.t.items)-1 {
			break // nothing is left to jump over
		}
		jumps = jumps || it.act == actReturn
		s.insertItem(it, after, end)
	}
	b.InsertBefore(after, end)
	if jumps && b.NeedsFrames() {
		b.InsertBefore(after, b.NewFrame(code.Frame{Form: code.Absolute, Locals: s.localsAt(nil, true)}))
	}
	s.takeBack(after)
	s.noteBlocks()
	return nil
}

// makeRoom grows the body's limits to what the call at hand needs.
func (s *wrapping) makeRoom() error {
	b := s.body
	locals := int(s.base) + int(s.t.maxLocals) + code.Slots(s.aside)
	stack := max(code.Slots(s.at.state.Stack)+int(s.t.maxStack), code.Slots(s.aside)+1)
	if locals > 65535 || stack > 65535 {
		return &Reason{TooLarge, "it has too many local variables"}
	}
	b.MaxLocals, b.MaxStack = max(b.MaxLocals, uint16(locals)), max(b.MaxStack, uint16(stack))
	return nil
}

// insertItem puts one item of the template in front of mark.
func (s *wrapping) insertItem(it *item, mark, end *code.Node) {
	b := s.body
	switch it.act {
	case actReturn:
		b.InsertBefore(mark, b.NewJump(opcode.Goto, end))
	case actIntrinsic:
		s.pushInt(s.at.id, mark)
	case actFrame:
		if b.NeedsFrames() {
			b.InsertBefore(mark, b.NewFrame(s.frameAt(&s.t.frames[it.num])))
		}
	default:
		s.insert(it, mark)
	}
}

// frameAt returns a frame for a point of the template around the call at hand.
func (s *wrapping) frameAt(f *frame) code.Frame {
	made := code.Frame{Form: code.Absolute, Locals: s.localsAt(f.locals, f.state == isAfter)}
	if f.state == isBefore {
		made.Stack = append(made.Stack, s.at.state.Stack...)
	}
	for _, t := range f.stack {
		made.Stack = append(made.Stack, s.typ(t))
	}
	return made
}

// localsAt lists local variables: the target's as they are at the call, the
// template's and, after the call, what was put aside.
func (s *wrapping) localsAt(template []typ, aside bool) []code.Type {
	list := append([]code.Type(nil), s.at.state.Locals...)
	list = appendTop(list, int(s.base)-code.Slots(list))
	for _, t := range template {
		list = append(list, s.typ(t))
	}
	if aside {
		list = appendTop(list, int(s.base+s.t.maxLocals)-code.Slots(list))
		list = append(list, s.aside...)
	}
	for len(list) > 0 && list[len(list)-1].Item == code.Top {
		list = list[:len(list)-1]
	}
	return list
}

// putAside empties the stack after the call.
func (s *wrapping) putAside(mark *code.Node) {
	slot := int(s.base+s.t.maxLocals) + code.Slots(s.aside)
	for i := len(s.aside) - 1; i >= 0; i-- {
		slot -= s.aside[i].Slots()
		s.body.InsertBefore(mark, s.body.NewIndexed(StoreOp(kindOf(s.aside[i])), uint16(slot)))
	}
}

// takeBack fills the stack again. An object that a slot went on holding would outlive
// its use, which a program can see.
func (s *wrapping) takeBack(mark *code.Node) {
	b := s.body
	slot := s.base + s.t.maxLocals
	for _, t := range s.aside {
		b.InsertBefore(mark, b.NewIndexed(LoadOp(kindOf(t)), slot))
		if kindOf(t) == 'A' {
			b.InsertBefore(mark, b.NewOp(opcode.AconstNull))
			b.InsertBefore(mark, b.NewIndexed(opcode.Astore, slot))
		}
		slot += uint16(t.Slots())
	}
}

// kindOf is the computational kind of a value of a type.
func kindOf(t code.Type) byte {
	switch t.Item {
	case code.Integer:
		return 'I'
	case code.Long:
		return 'J'
	case code.Float:
		return 'F'
	case code.Double:
		return 'D'
	}
	return 'A'
}

// keepAnnotations lets annotations of the call's type arguments stay with the call:
// the label before it now stands before the prolog.
func (s *wrapping) keepAnnotations() {
	var here *code.Node
	for i := range s.body.TypeAnnotations {
		a := &s.body.TypeAnnotations[i]
		if a.At == nil || a.At.Offset() != s.at.node.Offset() {
			continue
		}
		if here == nil {
			here = s.body.NewLabel()
			s.body.InsertBefore(s.at.node, here)
		}
		a.At = here
	}
}

// noteBlocks makes the template's exception blocks around the call at hand.
func (s *wrapping) noteBlocks() {
	for i := range s.t.handlers {
		k := &s.t.handlers[i]
		h := code.Handler{Start: s.label(k.start), End: s.label(k.end), Entry: s.label(k.entry)}
		if k.catch >= 0 {
			h.Catch = s.w.constant(s.im, k.catch)
		}
		s.inner = append(s.inner, h)
	}
}

// addBlocks puts the blocks before, so inside, the method's own, which annotations
// name by number.
func (s *wrapping) addBlocks() {
	b := s.body
	b.Handlers = append(s.inner, b.Handlers...)
	for i := range b.TypeAnnotations {
		if a := &b.TypeAnnotations[i]; a.Target.Type == classfile.TargetHandler {
			a.Target.Index += uint16(len(s.inner))
		}
	}
}
