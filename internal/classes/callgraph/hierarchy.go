package callgraph

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
)

// Classes, signatures, methods and calls are known by their position in the
// hierarchy's tables. A position, once given, keeps its meaning.
type (
	classID  int32
	sigID    int32
	methodID int32
	callID   int32
)

const objectName = "java/lang/Object"

// class is all classes of one name. It is there as soon as it is named, and mirrored
// once a class file of that name was added.
type class struct {
	name     string
	skipped  bool
	lambda   bool // stands for a lambda or a proxy: its methods are the calls it makes
	proxy    bool
	versions []([sha256.Size]byte)
	supers   []classID // superclass and interfaces of all versions
	subs     []classID // the inverse
	methods  []declared
	lambdas  []classID // the classes that stand for its lambdas
	outward  []callID  // of a skipped class: calls of classes that are not skipped
}

func (c *class) mirrored() bool { return len(c.versions) > 0 }

// declared is a row of a class's methods, which are in the order of sig.
type declared struct {
	sig sigID
	id  methodID
}

// signature is a method's name and descriptor.
type signature struct {
	name, descriptor string
	declared         []methodID // those of classes that are not skipped
}

// method is all methods of one class name, name and descriptor. What one version
// can be, all can.
type method struct {
	class    classID
	sig      sigID
	versions int  // how many versions of the class declare it
	selected int  // how many do so neither static nor private
	virtual  bool // some version is neither static nor private: calls may select it
	exposed  bool // some version is virtual and public or protected
	static   bool
	code     bool
	native   bool
	shape    Shape
	leaf     bool // of a skipped class: cannot call back
	calls    []callID
}

// hierarchy holds the contents of class files, independent of what was expanded.
type hierarchy struct {
	skip     func(class string) bool
	whole    bool // see Settings
	classes  []class
	sigs     []signature
	methods  []method
	calls    []call
	classIDs map[string]classID
	sigIDs   map[string]sigID
	callIDs  map[callKey]callID
	lambdas  map[string]bool
	sought   map[string]bool // names of methods that are looked up
	object   classID
	key      []byte // for composing keys
	walk     marks  // for the walk that is under way
	inner    marks  // for a walk within it
	open     openness
}

func newHierarchy(skip func(string) bool) *hierarchy {
	if skip == nil {
		skip = func(string) bool { return false }
	}
	h := &hierarchy{
		skip:     skip,
		classIDs: make(map[string]classID),
		sigIDs:   make(map[string]sigID),
		callIDs:  make(map[callKey]callID),
		lambdas:  make(map[string]bool),
		sought:   make(map[string]bool),
	}
	h.object = h.classNamed([]byte(objectName))
	return h
}

// classNamed returns the class of a name; where there is none, one that is not
// mirrored.
func (h *hierarchy) classNamed(name []byte) classID {
	if id, ok := h.classIDs[string(name)]; ok {
		return id
	}
	text := string(name)
	id := classID(len(h.classes))
	h.classIDs[text] = id
	h.classes = append(h.classes, class{name: text, skipped: h.skip(text)})
	return id
}

func (h *hierarchy) signature(name, descriptor []byte) sigID {
	// A name cannot hold a parenthesis, a descriptor begins with one.
	h.key = append(append(h.key[:0], name...), descriptor...)
	if id, ok := h.sigIDs[string(h.key)]; ok {
		return id
	}
	id := sigID(len(h.sigs))
	h.sigIDs[string(h.key)] = id
	h.sigs = append(h.sigs, signature{name: string(name), descriptor: string(descriptor)})
	return id
}

// declaration finds what a class itself declares.
func (h *hierarchy) declaration(c classID, s sigID) (methodID, bool) {
	rows := h.classes[c].methods
	i, ok := slices.BinarySearchFunc(rows, s, func(d declared, s sigID) int { return cmp.Compare(d.sig, s) })
	if !ok {
		return 0, false
	}
	return rows[i].id, true
}

// declare finds what a class itself declares, or adds it.
func (h *hierarchy) declare(c classID, s sigID) methodID {
	if id, ok := h.declaration(c, s); ok {
		return id
	}
	id := methodID(len(h.methods))
	h.methods = append(h.methods, method{class: c, sig: s})
	owner := &h.classes[c]
	if owner.skipped {
		h.methods[id].leaf = isLeaf(owner.name, h.sigs[s].name, h.sigs[s].descriptor)
	} else {
		h.sigs[s].declared = append(h.sigs[s].declared, id)
	}
	i, _ := slices.BinarySearchFunc(owner.methods, s, func(d declared, s sigID) int { return cmp.Compare(d.sig, s) })
	owner.methods = slices.Insert(owner.methods, i, declared{s, id})
	return id
}

// inherit makes one class a direct subtype of another.
func (h *hierarchy) inherit(sub, super classID) {
	if !slices.Contains(h.classes[sub].supers, super) {
		h.classes[sub].supers = append(h.classes[sub].supers, super)
		h.classes[super].subs = append(h.classes[super].subs, sub)
	}
}

// named is a method as callers of the package know it.
func (h *hierarchy) named(id methodID) classfile.MethodRef {
	return h.ref(h.methods[id].class, h.methods[id].sig)
}

func (h *hierarchy) ref(c classID, s sigID) classfile.MethodRef {
	return classfile.MethodRef{Class: h.classes[c].name, Name: h.sigs[s].name, Descriptor: h.sigs[s].descriptor}
}

// find is the inverse of named. Unlike the rest it adds no names.
func (h *hierarchy) find(m classfile.MethodRef) (methodID, bool) {
	c, ok := h.classIDs[m.Class]
	if !ok {
		return 0, false
	}
	s, ok := h.sigIDs[m.Name+m.Descriptor]
	if !ok {
		return 0, false
	}
	return h.declaration(c, s)
}

// callKind is how a call finds its targets.
type callKind uint8

const (
	// exact calls the declaration in the owner, or the nearest above it: invokestatic,
	// invokespecial.
	exact callKind = iota
	// virtual also calls what subtypes of the owner declare or inherit.
	virtual
	// initialize runs the static initialisers of the owner and of its supertypes. It
	// has no signature.
	initialize
)

// callKey identifies a call as the constant pool describes it, without its caller.
type callKey struct {
	kind  callKind
	owner classID
	sig   sigID
}

type call struct {
	callKey
	leaves   bool // goes into a skipped class, which may call back
	reflects bool
	handles  bool
}

// call returns the call of a key. What follows from names alone is found here.
func (h *hierarchy) call(kind callKind, owner classID, s sigID) callID {
	key := callKey{kind, owner, s}
	if id, ok := h.callIDs[key]; ok {
		return id
	}
	c := call{callKey: key}
	to := &h.classes[owner]
	if kind == initialize {
		// Classes of the JDK with leaves are simple, and initialised early: that runs no code of the program.
		_, hasLeaves := leaves[to.name]
		c.leaves = to.skipped && !hasLeaves
	} else {
		name, descriptor := h.sigs[s].name, h.sigs[s].descriptor
		c.leaves = to.skipped && !isLeaf(to.name, name, descriptor)
		c.reflects = reflections[to.name][name]
		c.handles = isPolymorphic(to.name, name)
	}
	id := callID(len(h.calls))
	h.callIDs[key] = id
	h.calls = append(h.calls, c)
	return id
}

// change describes the effect of a class file on a class.
type change struct {
	class classID
	grown []methodID // methods whose bodies make further calls
	seeks bool       // further names are looked up
}

// commit makes a draft part of the hierarchy. It returns the classes that changed:
// the class itself and its new lambdas; none where the file was known.
func (h *hierarchy) commit(d *draft) []change {
	if slices.Contains(h.classes[d.class].versions, d.sum) {
		return nil
	}
	h.classes[d.class].versions = append(h.classes[d.class].versions, d.sum)
	for _, super := range d.supers {
		h.inherit(d.class, super)
	}
	changed := change{class: d.class}
	declared := make(map[methodID]bool, len(d.methods))
	for _, m := range d.methods {
		id := h.declare(d.class, m.sig)
		// Nothing overrides a constructor or static initialiser.
		named := !strings.HasPrefix(h.sigs[m.sig].name, "<")
		if h.methods[id].merge(m, named, !declared[id]) {
			changed.grown = append(changed.grown, id)
		}
		declared[id] = true
	}
	h.classes[d.class].outward = union(h.classes[d.class].outward, d.outward)
	for _, name := range d.sought {
		changed.seeks = changed.seeks || !h.sought[name]
		h.sought[name] = true
	}
	changes := []change{changed}
	for i := range d.lambdas {
		l := &d.lambdas[i]
		if key := fmt.Sprint(l.supers, l.sigs, l.calls); !h.lambdas[key] {
			h.lambdas[key] = true
			made := h.addLambda(d.class, l, len(h.lambdas))
			h.classes[d.class].lambdas = append(h.classes[d.class].lambdas, made)
			changes = append(changes, change{class: made})
		}
	}
	for _, c := range changes {
		h.noteOpen(c.class)
	}
	return changes
}

// merge adds what one version says of a method, and reports whether it brings
// further calls. A version counts once, though a damaged one declares it twice.
func (m *method) merge(d draftMethod, named, first bool) bool {
	instance := named && !d.access.Has(classfile.AccStatic) && !d.access.Has(classfile.AccPrivate)
	if first {
		m.versions++
		if instance {
			m.selected++
		}
	}
	m.static = m.static || d.access.Has(classfile.AccStatic)
	m.virtual = m.virtual || instance
	m.exposed = m.exposed || instance && (d.access.Has(classfile.AccPublic) || d.access.Has(classfile.AccProtected))
	m.native = m.native || d.access.Has(classfile.AccNative)
	m.shape = m.shape.or(d.shape)
	m.code = m.code || !d.access.Has(classfile.AccNative) && !d.access.Has(classfile.AccAbstract)
	before := len(m.calls)
	m.calls = union(m.calls, d.calls)
	return len(m.calls) > before
}

// addLambda adds a class without a file. Its name is none that a class file can have.
func (h *hierarchy) addLambda(maker classID, l *draftLambda, number int) classID {
	id := h.classNamed(fmt.Appendf(nil, "%s%s%d", h.classes[maker].name, lambdaMark, number))
	c := &h.classes[id]
	c.lambda = true
	c.skipped = h.classes[maker].skipped
	c.versions = append(c.versions, [sha256.Size]byte{})
	for _, super := range l.supers {
		h.inherit(id, super)
	}
	for _, s := range l.sigs {
		m := &h.methods[h.declare(id, s)]
		m.versions, m.selected, m.virtual, m.exposed = 1, 1, true, true
		m.calls = union(m.calls, l.calls)
	}
	return id
}

// addProxy adds a class without a file whose methods all call a decider.
func (h *hierarchy) addProxy(name string, supers []string, decider classfile.MethodRef) classID {
	id := h.classNamed([]byte(name))
	if h.classes[id].mirrored() {
		return id
	}
	h.classes[id].lambda, h.classes[id].proxy = true, true
	h.classes[id].versions = append(h.classes[id].versions, [sha256.Size]byte{})
	for _, super := range supers {
		h.inherit(id, h.classNamed([]byte(super)))
	}
	decided := h.call(virtual, h.classNamed([]byte(decider.Class)), h.signature([]byte(decider.Name), []byte(decider.Descriptor)))
	for _, super := range h.supertypes(id) {
		if super == id || super == h.object {
			continue
		}
		for _, row := range slices.Clone(h.classes[super].methods) {
			if h.methods[row.id].virtual {
				m := &h.methods[h.declare(id, row.sig)]
				m.versions, m.selected, m.virtual, m.exposed = 1, 1, true, true
				m.calls = []callID{decided}
			}
		}
	}
	h.noteOpen(id)
	return id
}

// union returns the calls of both, in order.
func union(a, b []callID) []callID {
	if len(b) == 0 {
		return a
	}
	if len(a) == 0 {
		return slices.Clone(b)
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Clip(slices.Compact(all))
}

// marks remembers which classes a walk has met. Supertypes form a net, and in
// damaged class files a circle.
type marks struct {
	round uint32
	met   []uint32
}

func (m *marks) begin(classes int) {
	if m.round++; m.round == 0 { // the counter came round: old marks would count
		clear(m.met)
		m.round = 1
	}
	if missing := classes - len(m.met); missing > 0 {
		m.met = append(m.met, make([]uint32, missing)...)
	}
}

// meet reports whether the walk meets c for the first time.
func (m *marks) meet(c classID) bool {
	if m.met[c] == m.round {
		return false
	}
	m.met[c] = m.round
	return true
}

// supertypes returns c and everything above it, mirrored or not.
func (h *hierarchy) supertypes(c classID) []classID { return h.closure(supersOf, c) }

// subtypes returns c and everything below it.
func (h *hierarchy) subtypes(c classID) []classID { return h.closure(subsOf, c) }

// closure returns some classes and everything reached from them by steps.
func (h *hierarchy) closure(step func(*class) []classID, from ...classID) (found []classID) {
	h.inner.begin(len(h.classes))
	add := func(classes []classID) {
		for _, c := range classes {
			if h.inner.meet(c) {
				found = append(found, c)
			}
		}
	}
	add(from)
	for next := 0; next < len(found); {
		c := found[next]
		next++
		add(step(&h.classes[c])) // makes found longer
	}
	return found
}

func supersOf(c *class) []classID { return c.supers }

func subsOf(c *class) []classID { return c.subs }

// resolve visits the methods that a reference to a method of c may resolve to: the nearest
// declarations on all paths up. It does not decide between several, which are rare. It
// ends early when visit returns false, and reports whether it ran to the end.
func (h *hierarchy) resolve(c classID, s sigID, visit func(methodID) bool) bool {
	h.inner.begin(len(h.classes))
	return h.upward(c, s, false, visit)
}

// choose visits the methods that a virtual call may select for an object of class c.
// It ignores private and static methods.
func (h *hierarchy) choose(c classID, s sigID, visit func(methodID) bool) bool {
	h.inner.begin(len(h.classes))
	return h.upward(c, s, true, visit)
}

func (h *hierarchy) upward(c classID, s sigID, onlyVirtual bool, visit func(methodID) bool) bool {
	if !h.inner.meet(c) {
		return true
	}
	if id, ok := h.declaration(c, s); ok && (!onlyVirtual || h.methods[id].virtual) {
		if !visit(id) {
			return false
		}
		// A version of the class that does not declare it inherits it.
		declaring := h.methods[id].versions
		if onlyVirtual {
			declaring = h.methods[id].selected
		}
		if declaring == len(h.classes[c].versions) {
			return true
		}
	}
	for _, super := range h.classes[c].supers {
		if !h.upward(super, s, onlyVirtual, visit) {
			return false
		}
	}
	return true
}

// targets visits the methods that a call may reach, some more than once. It ends early
// when visit returns false.
func (h *hierarchy) targets(c *call, visit func(methodID) bool) {
	if c.kind == initialize {
		h.initialisers(c.owner, visit)
		return
	}
	found, overridable := false, false
	if !h.resolve(c.owner, c.sig, func(id methodID) bool {
		found = true
		overridable = overridable || h.methods[id].virtual
		return visit(id)
	}) || c.kind == exact || found && !overridable {
		return
	}
	h.walk.begin(len(h.classes))
	h.walk.meet(c.owner)
	ahead := []classID{c.owner}
	for len(ahead) > 0 {
		last := len(ahead) - 1
		at := ahead[last]
		ahead = ahead[:last]
		if !h.choose(at, c.sig, visit) {
			return
		}
		for _, sub := range h.classes[at].subs {
			if h.walk.meet(sub) {
				ahead = append(ahead, sub)
			}
		}
	}
	for _, id := range h.sigs[c.sig].declared {
		if h.methods[id].exposed && h.isOpen(h.methods[id].class) && !visit(id) {
			return
		}
	}
}

func (h *hierarchy) initialisers(c classID, visit func(methodID) bool) {
	s, ok := h.sigIDs["<clinit>()V"]
	if !ok {
		return
	}
	for _, super := range h.supertypes(c) {
		if id, ok := h.declaration(super, s); ok && !visit(id) {
			return
		}
	}
}

// openness records which classes may be subtypes of any class: the classes with a
// supertype that is not mirrored, and all above them, whose methods they inherit.
type openness struct {
	stale bool
	open  []bool
}

// isOpen reports whether a method of c may override one of a class that c is not
// known to be a subtype of.
func (h *hierarchy) isOpen(c classID) bool {
	if h.open.stale {
		h.findOpen()
	}
	return int(c) < len(h.open.open) && h.open.open[c]
}

// noteOpen marks the open classes as stale if a class that was added or changed may
// affect them. Most classes are added after their supertypes and before their subtypes,
// which changes nothing.
func (h *hierarchy) noteOpen(c classID) {
	h.open.stale = h.open.stale || len(h.classes[c].subs) > 0
	for _, super := range h.classes[c].supers {
		h.open.stale = h.open.stale || super != h.object && (!h.classes[super].mirrored() || h.isOpen(super))
	}
}

// findOpen goes down from every supertype that is missing, and up again from all
// below it. That java/lang/Object is missing leaves nothing open: there is nothing
// above it.
func (h *hierarchy) findOpen() {
	h.open.stale = false
	var missing []classID
	for id := range h.classes {
		if h.isMissing(classID(id)) && classID(id) != h.object {
			missing = append(missing, classID(id))
		}
	}
	below := h.closure(func(c *class) []classID {
		if !h.whole {
			return c.subs
		}
		return slices.DeleteFunc(slices.Clone(c.subs), func(sub classID) bool { return h.classes[sub].lambda })
	}, missing...)
	h.open.open = make([]bool, len(h.classes))
	for _, c := range h.closure(supersOf, below...) {
		h.open.open[c] = true
	}
}

// isMissing reports whether c is a supertype of a mirrored class but not mirrored.
func (h *hierarchy) isMissing(c classID) bool {
	return !h.classes[c].mirrored() && len(h.classes[c].subs) > 0
}

// maySkip reports whether a call may resolve to a method of a skipped class that is
// not mirrored.
func (h *hierarchy) maySkip(c *call) bool {
	if c.kind == initialize || !h.classes[c.owner].mirrored() {
		return false
	}
	if !h.resolve(c.owner, c.sig, func(methodID) bool { return false }) {
		return false
	}
	return slices.ContainsFunc(h.supertypes(c.owner), h.isMissing)
}
