package weave

import (
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

// wrapSites wraps those of the chosen calls that can be, and tells of the others.
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
