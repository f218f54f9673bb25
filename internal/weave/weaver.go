package weave

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/classfile/frames"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// MethodInfo is what a method is chosen by. Its strings are views of the class
// bytes: they hold as long as those do.
type MethodInfo struct {
	Class      string // internal name
	Name       string
	Descriptor string
	Access     classfile.Access
	HasCode    bool
}

// Result is what became of a class.
type Result struct {
	Bytes   []byte // the woven class; nil where no method was woven
	Methods []MethodResult
}

// MethodResult is what became of a method that was chosen.
type MethodResult struct {
	Name, Descriptor string
	Woven            bool
	Reason           error // why it was left alone
	Offsets          code.OffsetMap
	Sites            int        // how many calls in it were wrapped
	Left             []LeftSite // calls in it that were chosen and left alone
}

// Weaver weaves classes, one after the other, in memory it keeps.
type Weaver struct {
	// Identify gives methods their ids where MethodID will not do, because two of a
	// set share one. It may keep no string it is given.
	Identify func(class, name, descriptor string) int32

	// Sites chooses calls in the methods of a class, around which SiteTemplate is
	// woven with the id it gives, whether or not the method itself is chosen. It is
	// asked for every call but those of constructors, and may keep no string it is
	// given. Where one of the two is nil none is wrapped.
	Sites        func(caller MethodInfo, call Call) (id int32, wrap bool)
	SiteTemplate *SiteTemplate

	class     classfile.Class
	className string
	lifter    code.Lifter
	target    target
	failed    error
	idPrefix  uint32 // of every method id of the class
	behind    func(*code.Node) (code.Frame, error)
	branches  map[*code.Node]code.Frame // what behind has found in the body at hand

	effects  []int16 // stack effect of a call or field access, by pool index
	inits    []int8  // whether a pool entry is a constructor reference
	imported []importedTemplate
	nodes    []*code.Node
	sites    []site
	kept     []keptArg
	gaps     []gap
	bodies   []byte
	shifts   []code.Shift
	methods  []MethodResult
}

// NewWeaver returns a weaver.
func NewWeaver() *Weaver {
	w := new(Weaver)
	w.behind = func(n *code.Node) (code.Frame, error) {
		if w.branches == nil {
			g := &w.target
			if err := g.expand(); err != nil {
				return code.Frame{}, err
			}
			var err error
			if w.branches, err = frames.BehindBranches(g.body, g.member); err != nil {
				return code.Frame{}, err
			}
		}
		f, ok := w.branches[n]
		if !ok {
			return code.Frame{}, &frames.FlowError{Offset: n.Offset(), Detail: "what follows cannot be reached"}
		}
		return f, nil
	}
	return w
}

// Weave weaves around each method of a class the templates that pick chooses, the
// first outermost. A method that cannot be woven is left alone and has its reason in
// the result; an error means that the class as a whole could not be read.
func (w *Weaver) Weave(class []byte, pick func(MethodInfo) []*Template) (*Result, error) {
	res, err := w.Append(nil, class, pick)
	if err != nil {
		return nil, err
	}
	res.Methods = slices.Clone(res.Methods)
	shifts := slices.Clone(w.shifts)
	for i := range res.Methods {
		n := len(res.Methods[i].Offsets)
		res.Methods[i].Offsets, shifts = shifts[:n:n], shifts[n:]
	}
	return &res, nil
}

// Append is Weave that writes the woven class behind dst, into its memory where
// there is room. The result's list of methods lives until the next call.
func (w *Weaver) Append(dst, class []byte, pick func(MethodInfo) []*Template) (Result, error) {
	if err := w.read(class); err != nil {
		return Result{}, err
	}
	res := Result{Methods: w.methods[:0]}
	woven := false
	for i := range w.class.Methods {
		m := &w.class.Methods[i]
		name, desc, err := w.class.MemberName(m)
		if err != nil {
			return Result{}, fmt.Errorf("method %d: %w", i, err)
		}
		a := w.class.Find(m.Attributes, classfile.KindCode)
		info := MethodInfo{w.className, view(name), view(desc), m.Access, a != nil}
		templates := pick(info)
		if len(templates) == 0 && !w.wraps() || a == nil {
			continue
		}
		j := job{member: m, code: a, name: name, desc: desc, templates: templates}
		r, chosen := w.method(&j, info)
		if !chosen {
			continue
		}
		woven = woven || r.Woven
		res.Methods = append(res.Methods, r)
	}
	w.methods = res.Methods
	w.settleOffsets()
	if !woven {
		return res, nil
	}
	start := len(dst)
	dst, err := w.class.Append(slices.Grow(dst, len(class)+len(class)/2+1024))
	switch {
	case errors.Is(err, classfile.ErrPoolFull):
		abandon(&res, &Reason{Kind: PoolFull})
		return res, nil
	case err != nil:
		return Result{}, err
	}
	res.Bytes = dst[start:]
	return res, nil
}

// read parses a class and forgets the one before.
func (w *Weaver) read(class []byte) error {
	if err := w.class.Read(class); err != nil {
		return err
	}
	name, err := w.class.Pool.ClassName(w.class.This)
	if err != nil {
		return fmt.Errorf("this class: %w", err)
	}
	w.className = view(name)
	w.idPrefix = crc32.Update(crc32.Checksum(name, castagnoli), castagnoli, dot)
	w.effects = cleared(w.effects, w.class.Pool.Len())
	w.inits = cleared(w.inits, w.class.Pool.Len())
	w.imported, w.bodies, w.shifts = w.imported[:0], w.bodies[:0], w.shifts[:0]
	return nil
}

// abandon leaves a whole class alone.
func abandon(res *Result, reason *Reason) {
	for i := range res.Methods {
		if r := &res.Methods[i]; r.Woven {
			r.Woven, r.Reason, r.Offsets, r.Sites = false, reason, nil, 0
		}
	}
}

// settleOffsets gives the methods their maps, which lie one behind the other in
// memory that has grown with them.
func (w *Weaver) settleOffsets() {
	shifts := w.shifts
	for i := range w.methods {
		n := len(w.methods[i].Offsets)
		w.methods[i].Offsets, shifts = shifts[:n:n], shifts[n:]
	}
}

func asReason(err error) error {
	var reason *Reason
	var large *code.TooLargeError
	switch {
	case errors.As(err, &reason):
		return reason
	case errors.As(err, &large):
		return &Reason{TooLarge, large.Error()}
	case errors.Is(err, classfile.ErrPoolFull):
		return &Reason{Kind: PoolFull}
	}
	return &Reason{Malformed, err.Error()}
}

func cleared[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, 2*n)
	}
	s = s[:n]
	clear(s)
	return s
}

// labels returns n empty places for labels.
func (w *Weaver) labels(n int) []*code.Node {
	w.nodes = cleared(w.nodes, n)
	return w.nodes
}

// effect returns how many slots a call, a field access or the loading of a constant
// changes the stack by.
func (w *Weaver) effect(n *code.Node) int {
	switch n.Op() {
	case opcode.Ldc:
		return 1
	case opcode.Ldc2W:
		return 2
	case opcode.Multianewarray:
		return 1 - int(n.Value())
	}
	var d int
	if int(n.Index()) >= len(w.effects) {
		d = w.readEffect(n.Index(), n.Op()) // an entry a template brought
	} else if e := w.effects[n.Index()]; e != 0 {
		d = int(e >> 1)
	} else {
		d = w.readEffect(n.Index(), n.Op())
		w.effects[n.Index()] = int16(d)<<1 | 1
	}
	switch n.Op() {
	case opcode.Getfield:
		return d - 1
	case opcode.Putfield:
		return -d - 1
	case opcode.Putstatic:
		return -d
	case opcode.Invokevirtual, opcode.Invokespecial, opcode.Invokeinterface:
		return d - 1
	}
	return d
}

// readEffect returns the size of a field, or what a static call of a method would
// change the stack by. One that leads nowhere counts nothing: the class is broken.
func (w *Weaver) readEffect(index uint16, op opcode.Op) int {
	desc, err := w.class.Pool.Descriptor(index)
	if err != nil || len(desc) == 0 {
		return 0
	}
	if op >= opcode.Getstatic && op <= opcode.Putfield {
		return int(slotsOf(desc[0]))
	}
	args, ret, _ := descriptor.ArgSlots(desc)
	return int(slotsOf(ret)) - args
}

// initCall reports whether a pool entry names a constructor.
func (w *Weaver) initCall(index uint16) bool {
	if int(index) >= len(w.inits) {
		return false
	}
	if w.inits[index] == 0 {
		w.inits[index] = -1
		if _, name, _, err := w.class.Pool.Member(index); err == nil && string(name) == "<init>" {
			w.inits[index] = 1
		}
	}
	return w.inits[index] > 0
}
