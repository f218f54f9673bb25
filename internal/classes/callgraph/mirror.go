package callgraph

import (
	"cmp"
	"crypto/sha256"
	"slices"
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
	lambda   bool // stands for a lambda: its methods are the calls it makes
	versions []([sha256.Size]byte)
	supers   []classID // superclass and interfaces of all versions
	subs     []classID // the inverse
	methods  []declared
	outward  []callID // of a skipped class: calls of what is not skipped
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

// hierarchy is what class files say: it does not know what was expanded.
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
func (h *hierarchy) named(id methodID) Method {
	m := &h.methods[id]
	return Method{h.classes[m.class].name, h.sigs[m.sig].name, h.sigs[m.sig].descriptor}
}

// find is the inverse of named. Unlike the rest it adds no names.
func (h *hierarchy) find(m Method) (methodID, bool) {
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
