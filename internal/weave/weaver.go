// Package weave merges templates with target methods, called targets here.
//
// A template is a static Java method without arguments, compiled by any compiler. It calls
// Template.target(), the sentinel, once: the code before it is the prolog, the code after it
// the epilog. Weaving turns both methods into lists of instructions (lifting) and replaces the
// sentinel by the code of the target:
//
//	template              target            woven
//	  long t = enter();                       enter; lstore t'
//	  try {                                 ┌ (target's code,
//	    target();          … return x;      │   return x ⇒ store r; goto E)
//	  } finally {                           └
//	    exit(t);                            E: lload t'; exit; load r; return
//	  }                                     H: astore e; lload t'; exit; aload e; athrow
//
// The local variables of the template follow those of the target, the constants of the
// template are added to the target's pool, and the template's exception blocks enclose the
// target's. The target's stack-map frames also get the variables that the epilog uses. The rest of the target does not change. Templates nest, the first outermost.
//
// A template may contain placeholders for conditions and values, Template.condition(n) and
// Template.value(n). Template.Bind replaces them by fragments made for one method; the result
// is a template like any other.
//
// In a constructor the prolog runs first, and exception blocks begin after the call of super(...)
// or this(...): no block may enclose code that runs before the object is initialised. With AfterSuper the
// prolog also comes after that call: if super(...) throws, neither prolog nor epilog runs.
//
// A template can also be woven around single calls inside a method, for instance calls of native
// methods, which have no bytecode (Weaver.Sites). The template, with the call in it, then replaces
// the call. Exception blocks that enclosed the call enclose the template too. While the epilog
// runs, the values that the method had on its operand stack are kept in local variables; afterwards
// they are pushed again. Calls are wrapped before templates are woven around the method.
package weave

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strconv"
	"unsafe"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/classfile/frames"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// MethodInfo describes a method to be chosen. Its strings are views of the class bytes, and
// valid as long as those.
type MethodInfo struct {
	classfile.MethodRef
	Access  classfile.Access
	HasCode bool
}

// Result is the result of weaving a class.
type Result struct {
	Bytes   []byte // the woven class; nil if no method was woven
	Methods []MethodResult
}

// MethodResult is the result of weaving a chosen method.
type MethodResult struct {
	Name, Descriptor string
	Woven            bool
	Reason           error // why it was not woven
	Offsets          code.OffsetMap
	Sites            int        // number of calls in it that were wrapped
	Left             []LeftSite // calls in it that were chosen and not wrapped
}

// Weaver weaves classes, one after the other, and reuses its memory.
type Weaver struct {
	// Identify returns the ids of methods, instead of MethodID, if two methods of a set have
	// the same. It must not keep the strings it is given.
	Identify func(classfile.MethodRef) int32

	// Sites chooses calls in the methods of a class, whether or not the method itself is
	// chosen. SiteTemplate is woven around them with the id that Sites returns. Sites is
	// called for every call except those of constructors, and must not keep the strings it is
	// given. If one of the two is nil, no call is wrapped.
	Sites        func(caller MethodInfo, call Call) (id int32, wrap bool)
	SiteTemplate *SiteTemplate

	class      classfile.Class
	size       int // of the class file
	className  string
	lifter     code.Lifter
	target     target
	failed     error
	idPrefix   uint32 // of every method id of the class
	frameAfter func(*code.Node) (code.Frame, error)
	branches   map[*code.Node]code.Frame // what frameAfter has found in the body at hand

	effects  []int16 // stack effect of a call or field access, by pool index
	inits    []int8  // whether a pool entry is a constructor reference
	imported []imports
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
	w.frameAfter = func(n *code.Node) (code.Frame, error) {
		if w.branches == nil {
			g := &w.target
			if err := g.expand(); err != nil {
				return code.Frame{}, err
			}
			var err error
			if w.branches, err = frames.AfterBranches(g.body, g.member); err != nil {
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

// Weave weaves the templates that pick chooses around each method of a class, the first
// outermost. A method that cannot be woven is not changed, and the result has the reason; an
// error means that the class could not be read.
func (w *Weaver) Weave(class []byte, pick func(MethodInfo) []*Template) (*Result, error) {
	res, err := w.Append(nil, class, pick)
	if err != nil {
		return nil, err
	}
	res.Methods = slices.Clone(res.Methods)
	settleOffsets(res.Methods, slices.Clone(w.shifts))
	return &res, nil
}

// Append is like Weave, but appends the woven class to dst. The result's list of methods is
// valid until the next call.
func (w *Weaver) Append(dst, class []byte, pick func(MethodInfo) []*Template) (Result, error) {
	if _, err := w.Read(class); err != nil {
		return Result{}, err
	}
	return w.AppendRead(dst, pick)
}

// AppendRead is like Append for the class that Read has parsed, so that a caller that inspects
// the class first need not parse it twice. A class can be woven only once after it was read.
func (w *Weaver) AppendRead(dst []byte, pick func(MethodInfo) []*Template) (Result, error) {
	res := Result{Methods: w.methods[:0]}
	woven := false
	for i := range w.class.Methods {
		m := &w.class.Methods[i]
		name, desc, err := w.class.MemberName(m)
		if err != nil {
			return Result{}, fmt.Errorf("method %d: %w", i, err)
		}
		a := w.class.Find(m.Attributes, classfile.KindCode)
		info := MethodInfo{classfile.MethodRef{Class: w.className, Name: view(name), Descriptor: view(desc)}, m.Access, a != nil}
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
	settleOffsets(w.methods, w.shifts)
	if !woven {
		return res, nil
	}
	start := len(dst)
	dst, err := w.class.Append(slices.Grow(dst, w.size+w.size/2+1024))
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

// Read parses a class. The class must not be modified, and is valid until the next class is
// read or woven.
func (w *Weaver) Read(class []byte) (*classfile.Class, error) {
	if err := w.class.Read(class); err != nil {
		return nil, err
	}
	name, err := w.class.Pool.ClassName(w.class.This)
	if err != nil {
		return nil, fmt.Errorf("this_class: %w", err)
	}
	w.size = len(class)
	w.className = view(name)
	w.idPrefix = crc32.Update(crc32.Checksum(name, castagnoli), castagnoli, dot)
	w.effects = cleared(w.effects, w.class.Pool.Len())
	w.inits = cleared(w.inits, w.class.Pool.Len())
	w.imported, w.bodies, w.shifts = w.imported[:0], w.bodies[:0], w.shifts[:0]
	return &w.class, nil
}

// abandon marks all methods of a class as not woven.
func abandon(res *Result, reason *Reason) {
	for i := range res.Methods {
		if r := &res.Methods[i]; r.Woven {
			r.Woven, r.Reason, r.Offsets, r.Sites = false, reason, nil, 0
		}
	}
}

// settleOffsets sets the offset maps of methods, which are adjacent in memory that may have
// moved while it grew.
func settleOffsets(methods []MethodResult, shifts []code.Shift) {
	for i := range methods {
		n := len(methods[i].Offsets)
		methods[i].Offsets, shifts = shifts[:n:n], shifts[n:]
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

// effect returns the change of the stack depth, in slots, by a call, a field access or the
// loading of a constant.
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
		d = w.readEffect(n.Index(), n.Op()) // an entry that a template added
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

// readEffect returns the size of a field, or the change of the stack depth by a static call of
// a method. It returns 0 for an invalid entry.
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

// job is a method to be woven, and its templates.
type job struct {
	member     *classfile.Member
	code       *classfile.Attribute
	name, desc []byte
	templates  []*Template // around it, the first outermost
	sites      []site      // calls in it
}

// method weaves a method, and reports whether it or a call in it was chosen. If hooks at
// calls make it too large, it is woven without them.
func (w *Weaver) method(j *job, info MethodInfo) (r MethodResult, chosen bool) {
	r = MethodResult{Name: info.Name, Descriptor: info.Descriptor}
	r.Reason = w.lift(j)
	if r.Reason == nil && w.wraps() {
		j.sites = w.target.chooseSites(info)
	}
	if len(j.templates) == 0 && len(j.sites) == 0 {
		return r, false
	}
	if r.Reason == nil {
		r.Offsets, r.Left, r.Reason = w.weave(j)
	}
	r.Sites = len(j.sites) - len(r.Left)
	if len(j.sites) > 0 && tooMuch(r.Reason) {
		r.Sites, r.Left = 0, leaveAll(j.sites, r.Reason)
		if j.sites = nil; len(j.templates) > 0 {
			if r.Reason = w.lift(j); r.Reason == nil {
				r.Offsets, _, r.Reason = w.weave(j)
			}
		}
	}
	if r.Woven = r.Reason == nil; !r.Woven {
		r.Sites = 0
	}
	return r, true
}

// wraps reports whether calls can be chosen at all.
func (w *Weaver) wraps() bool { return w.Sites != nil && w.SiteTemplate != nil }

// lift makes a method the target.
func (w *Weaver) lift(j *job) error {
	body, err := w.lifter.LiftCode(&w.class, j.code.Data)
	if err == nil {
		err = w.target.reset(w, j.member, body, j.name, j.desc)
	}
	if err != nil {
		return &Reason{Malformed, err.Error()}
	}
	return nil
}

// weave weaves the target from the inside out: first its calls, then templates around it.
func (w *Weaver) weave(j *job) (_ code.OffsetMap, left []LeftSite, err error) {
	g := &w.target
	w.failed = nil
	if len(j.templates) > 0 {
		err = g.prepare()
	}
	if len(j.sites) > 0 && err == nil {
		left, err = g.wrapSites(j.sites)
		if err == nil && len(left) == len(j.sites) && len(j.templates) == 0 {
			err = left[0].Reason
		}
	}
	for i := len(j.templates) - 1; i >= 0 && err == nil; i-- {
		err = g.around(j.templates[i])
	}
	if err == nil {
		err = w.failed
	}
	if full := w.class.Pool.Err(); full != nil {
		err = full // it is the cause of any other error
	}
	if err != nil {
		return nil, left, asReason(err)
	}
	offsets, err := w.lower(j, len(left) < len(j.sites))
	return offsets, left, err
}

// lower encodes the woven body.
func (w *Weaver) lower(j *job, wrapped bool) (code.OffsetMap, error) {
	body := w.target.body
	body.FrameAfter, w.branches = w.frameAfter, nil
	start := len(w.bodies)
	var err error
	if w.bodies, err = body.Append(w.bodies); err != nil {
		w.bodies = w.bodies[:start]
		return nil, asReason(err)
	}
	data := w.bodies[start:len(w.bodies):len(w.bodies)]
	if was, is := codeSize(j.code.Data), codeSize(data); wrapped && was <= mostCompiled && is > mostCompiled {
		w.bodies = w.bodies[:start]
		return nil, &Reason{TooLarge, "hooks at its calls would make it " + itoa(is) + " bytes long, and the JVM compiles no method of more than " + itoa(mostCompiled)}
	}
	j.code.Data = data
	from := len(w.shifts)
	w.shifts = append(w.shifts, body.Offsets()...)
	return w.shifts[from:], nil // settleOffsets sets them again
}

// codeSize returns the length of the code in a Code attribute.
func codeSize(attribute []byte) int { return int(binary.BigEndian.Uint32(attribute[4:])) }

// imports holds the pool indices of a template's constants in the class being woven.
type imports struct {
	template *Template
	index    []uint16 // by constant number; 0 until needed
}

// importsOf returns the table for a template, empty at first use in a class.
func (w *Weaver) importsOf(t *Template) *imports {
	for i := range w.imported {
		if w.imported[i].template == t {
			return &w.imported[i]
		}
	}
	w.imported = slices.Grow(w.imported, 1)[:len(w.imported)+1] // with the memory of an earlier class
	last := &w.imported[len(w.imported)-1]
	last.template, last.index = t, cleared(last.index, len(t.constants))
	return last
}

// constant returns the index of a template's constant in the class, and adds it on first use.
func (w *Weaver) constant(im *imports, no int) uint16 {
	if i := im.index[no]; i != 0 {
		return i
	}
	pool := &w.class.Pool
	k := &im.template.constants[no]
	var i uint16
	switch k.Tag {
	case classfile.TagClass:
		i = pool.AddNewClass(k.Text)
	case classfile.TagString:
		i = pool.AddString(k.Text)
	case classfile.TagMethodType:
		i = pool.AddMethodType(k.Text)
	case classfile.TagFieldref, classfile.TagMethodref, classfile.TagInterfaceMethodref:
		i = pool.AddMember(k.Tag, k.Text, k.Name, k.Descr)
	case classfile.TagMethodHandle:
		i = pool.AddPair(k.Tag, k.kind, w.constant(im, k.ref))
	case classfile.TagDynamic, classfile.TagInvokeDynamic:
		i = pool.AddPair(k.Tag, w.bootstrap(im, k.bootstrap), pool.AddNameAndType(k.Name, k.Descr))
	default:
		i = pool.AddRaw(k.Raw)
	}
	if w.failed == nil {
		im.index[no] = i
	}
	return i
}

// bootstrap returns the number of a bootstrap method of the class, and adds it if needed.
func (w *Weaver) bootstrap(im *imports, numbers []int) uint16 {
	entry := classfile.BootstrapMethod{Handle: w.constant(im, numbers[0])}
	for _, no := range numbers[1:] {
		entry.Arguments = append(entry.Arguments, w.constant(im, no))
	}
	c := &w.class
	a := c.Find(c.Attributes, classfile.KindBootstrapMethods)
	var entries classfile.BootstrapMethods
	if a == nil {
		name := c.AttributeName(classfile.KindBootstrapMethods)
		c.Attributes = append(c.Attributes, classfile.Attribute{Name: name})
		a = &c.Attributes[len(c.Attributes)-1]
	} else if contents, err := c.Decode(*a); err != nil {
		w.failed = err
		return 0
	} else {
		entries = contents.(classfile.BootstrapMethods)
	}
	for i, e := range entries {
		if e.Handle == entry.Handle && fmt.Sprint(e.Arguments) == fmt.Sprint(entry.Arguments) {
			return uint16(i)
		}
	}
	if len(entries) == math.MaxUint16 {
		w.failed = &Reason{PoolFull, "no room for a bootstrap method"}
		return 0
	}
	data, err := classfile.AppendContents(nil, append(entries, entry))
	if err != nil {
		w.failed = err
		return 0
	}
	a.Data = data
	return uint16(len(entries))
}

// TemplateError reports a method that cannot be a template.
type TemplateError struct {
	Template string
	Detail   string
	Line     int // of the source; 0 if it is not known
}

func (e *TemplateError) Error() string { return fmt.Sprintf("template %s: %s", e.Template, e.Detail) }

// Reason is why a method, or a call in it, was not woven. There are few kinds, so that they
// can be counted; Detail describes the single case.
type Reason struct {
	Kind   ReasonKind
	Detail string
}

// ReasonKind is a kind of reason.
type ReasonKind string

// The reasons why a method, or a call in it, is not woven.
const (
	TooLarge        ReasonKind = "the woven method would be too large"
	PoolFull        ReasonKind = "the class's constant pool would overflow"
	DoesNotFit      ReasonKind = "the template does not fit the method"
	NeedsNewerClass ReasonKind = "the template needs a newer class-file version"
	OddConstructor  ReasonKind = "the constructor's code around super(...) or this(...) has an unusual order"
	EmptyFinalizer  ReasonKind = "an empty finalizer: with code in it, the JVM would finalize every object of the class"
	RootConstructor ReasonKind = "the constructor of java.lang.Object: the JVM registers finalizers at its return, and its compiler fails on exception blocks there"
	BeforeSuper     ReasonKind = "the call comes before super(...), where no exception handler is allowed"
	Unreachable     ReasonKind = "the call is never reached"
	OddStack        ReasonKind = "a value on the stack below the arguments of the call cannot be saved in a variable"
	Malformed       ReasonKind = "the method's code is malformed"
)

func (r *Reason) Error() string {
	if r.Detail == "" {
		return string(r.Kind)
	}
	return string(r.Kind) + ": " + r.Detail
}

// MethodID returns the number by which woven code identifies a method. It is the same on all
// machines: the CRC-32C of class.name(descriptor), with the internal name of the class.
func MethodID(m classfile.MethodRef) int32 {
	sum := crc32.Update(0, castagnoli, []byte(m.Class+"."+m.Name))
	return int32(crc32.Update(sum, castagnoli, []byte(m.Descriptor)))
}

var dot = []byte{'.'}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// methodID is MethodID of the target; templates may ask for it several times.
func (g *target) methodID() int32 {
	switch {
	case g.idKnown:
	case g.w.Identify != nil:
		g.id = g.w.Identify(classfile.MethodRef{Class: g.w.className, Name: view(g.name), Descriptor: view(g.desc)})
	default:
		sum := crc32.Update(g.w.idPrefix, castagnoli, g.name)
		g.id = int32(crc32.Update(sum, castagnoli, g.desc))
	}
	g.idKnown = true
	return g.id
}

func (g *target) methodName() string {
	return descriptor.ExternalName(g.w.className) + "." + string(g.name) + string(g.desc)
}

func itoa(n int) string { return strconv.Itoa(n) }

func versions(need, have uint16) string {
	return fmt.Sprintf("it needs %d, the class is %d", need, have)
}

// view is a string over bytes of a class file, which do not change.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
