// Package callgraph computes, for each method of the classes that a JVM has loaded, which of these
// methods it can call. It only works on class files it is given: it fetches no class and reads no
// file.
//
// [Graph.Add] adds a class to the graph; classes that were added are called mirrored.
// [Graph.Expand] follows the calls in the body of a method: everything that the body can call
// becomes callable. Each callee is reported once: on expansion, or when its class is added later.
// The graph lacks the calls that are listed at the end; otherwise it is never too small, and often
// too large:
//
//   - A virtual call reaches the declaration and every override in a mirrored
//     subtype. Overriding goes by name and descriptor, whatever the package.
//   - A lambda or method reference, in any mirrored class, is treated as a class of its own that
//     implements the functional interface and calls the method of the lambda or reference.
//   - The bodies of some classes, such as those of the JDK, are not read (Settings.Skip). These
//     skipped classes may call back. After the first call into one, everything that overrides or
//     implements a method of a skipped class is callable. Calls of leaves, methods that are known
//     never to call back (known.go), have no such effect.
//   - If a supertype of a class is not mirrored, every method of the class may override a
//     method of that supertype.
//
// Methods are identified by class, name and descriptor. Classes with the same name, from
// different loaders or in different versions, are treated as one.
// Names are as in the class file: internal, in modified UTF-8.
//
// The graph does not contain:
//
//   - calls that native code makes, except calls of methods that override or implement a method of
//     a skipped class;
//   - calls by reflection and method handles, which the user of the package follows at run
//     time ([Graph.Reflected]);
//   - calls by the JVM of loadClass and other methods of the program's class loaders, until a call
//     into a skipped class makes them callable;
//   - calls of finalize() by the JVM, not even after a call into a skipped class.
package callgraph

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// Site is a call of a native method in the body of an expanded method.
type Site struct {
	Caller classfile.MethodRef
	Called classfile.MethodRef // as the constant pool of the caller names it
	Native classfile.MethodRef // what the call may reach
	Mixed  bool                // as known now, the call may also reach methods that are not native
}

// Expansion is what became callable.
type Expansion struct {
	Methods []classfile.MethodRef // that have code and are not of skipped classes
	Sites   []Site
	// Reflects and Handles report that an expanded method uses reflection, or invokes
	// method handles: Reflected adds their targets. CallsBack reports that one calls into
	// skipped classes, which may do either.
	Reflects, Handles, CallsBack bool
}

// Settings of a Graph.
type Settings struct {
	// Skip reports whether the methods of a class are of no interest, by internal name.
	// Skipped classes are mirrored, as others are subtypes of them, but their bodies are
	// not read. Skip must always give the same answer and not use the graph. nil skips
	// none.
	Skip func(class string) bool
	// Whole promises that every loaded class gets added, as far as possible. Then a lambda
	// whose interface is not mirrored has not been made, and opens nothing.
	Whole bool
	// Bodies keeps class files for Calls; they must not change.
	Bodies bool
}

// Graph is a growing set of mirrored classes and what can be called in them. It is
// safe for use by several goroutines.
type Graph struct {
	mu        sync.Mutex
	hierarchy *hierarchy
	reader    reader
	reach     *reach
	files     map[classID][][]byte // nil unless Settings.Bodies
	bodies    map[classID][]*bodies
}

// New makes a graph without classes.
func New(s Settings) *Graph {
	h := newHierarchy(s.Skip)
	h.whole = s.Whole
	g := &Graph{hierarchy: h, reader: reader{h: h}, reach: newReach(h), bodies: make(map[classID][]*bodies)}
	if s.Bodies {
		g.files = make(map[classID][][]byte)
	}
	return g
}

// Add mirrors a class file and returns what becomes callable by it, given what was
// expanded. The same file again changes nothing; another one of the same name is
// united with those before. data is kept only for Settings.Bodies. A damaged file gives an error and
// changes nothing.
func (g *Graph) Add(data []byte) (Expansion, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d, err := g.reader.read(data)
	if err != nil {
		return Expansion{}, err
	}
	changes := g.hierarchy.commit(d)
	if len(changes) > 0 && g.files != nil {
		g.files[d.class] = append(g.files[d.class], data)
		delete(g.bodies, d.class)
	}
	for _, changed := range changes {
		g.reach.react(changed)
	}
	return g.reach.take(), nil
}

// AddProxy adds a class that was made at run time and has no file, by the names of its superclass and
// its interfaces, which must have been added before. Its methods call what decides about calls of such
// objects. AddProxy reports whether it knows this kind of class.
func (g *Graph) AddProxy(name string, supers []string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(supers, func(super string) bool { _, is := deciders[super]; return is })
	if i < 0 {
		return false
	}
	g.reach.react(change{class: g.hierarchy.addProxy(name, supers, deciders[supers[i]])})
	g.reach.take()
	return true
}

// Has reports whether a class is mirrored.
func (g *Graph) Has(class string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	id, ok := g.hierarchy.classIDs[class]
	return ok && g.hierarchy.classes[id].mirrored()
}

// Missing returns the supertypes of mirrored classes, and the functional interfaces
// of their lambdas, that are not mirrored. While one is missing, the classes below it are
// assumed to override anything: the caller should add it if the JVM has it.
func (g *Graph) Missing() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var names []string
	for id := range g.hierarchy.classes {
		if g.hierarchy.isMissing(classID(id)) {
			names = append(names, g.hierarchy.classes[id].name)
		}
	}
	slices.Sort(names)
	return names
}

// Unknown returns the classes that expanded methods call and that are not mirrored.
// Which of their methods are native, and so sites, is known once they are added.
func (g *Graph) Unknown() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var names []string
	for id := range g.reach.byOwner {
		if c := &g.hierarchy.classes[id]; !c.mirrored() {
			names = append(names, c.name)
		}
	}
	slices.Sort(names)
	return names
}

// Find returns the methods with code, of all mirrored classes, that match.
func (g *Graph) Find(match func(classfile.MethodRef) bool) (found []classfile.MethodRef) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id := range g.hierarchy.methods {
		if !g.hierarchy.methods[id].code {
			continue
		}
		if m := g.hierarchy.named(methodID(id)); match(m) {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, classfile.MethodRef.Compare)
	return found
}

// FindIn returns the methods with code of one mirrored class that match.
func (g *Graph) FindIn(class string, match func(classfile.MethodRef) bool) []classfile.MethodRef {
	return slices.DeleteFunc(g.Declared(class), func(m classfile.MethodRef) bool {
		nature, _ := g.Nature(m)
		return !nature.Code || !match(m)
	})
}

// LambdaClass ends the names that the JVM gives to the classes of lambdas and method references, before
// numbers: com/acme/Shop$$Lambda.
const LambdaClass = "$$Lambda"

// A MadeMethod is a method of a class that the JVM makes for a lambda or method reference, and the method that
// it calls. Such a class has no file, and cannot be changed.
type MadeMethod struct {
	Made classfile.MethodRef // its class is named as LambdaClass says
	Body classfile.MethodRef
}

// Lambdas returns the lambdas and method references of mirrored classes that are not skipped, where the
// made method matches and only one method can be its body.
func (g *Graph) Lambdas(match func(classfile.MethodRef) bool) (found []MadeMethod) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id := range g.hierarchy.classes {
		found = append(found, g.hierarchy.lambdasOf(classID(id), match)...)
	}
	return found
}

// LambdasIn returns the lambdas and method references of one class: see Lambdas.
func (g *Graph) LambdasIn(class string, match func(classfile.MethodRef) bool) []MadeMethod {
	g.mu.Lock()
	defer g.mu.Unlock()
	id, ok := g.hierarchy.classIDs[class]
	if !ok {
		return nil
	}
	return g.hierarchy.lambdasOf(id, match)
}

func (h *hierarchy) lambdasOf(maker classID, match func(classfile.MethodRef) bool) (found []MadeMethod) {
	if h.classes[maker].skipped {
		return nil
	}
	for _, made := range h.classes[maker].lambdas {
		for _, declared := range h.classes[made].methods {
			ref := h.named(declared.id)
			ref.Class = h.classes[maker].name + LambdaClass
			if !match(ref) {
				continue
			}
			if body, ok := h.bodyOf(declared.id); ok {
				found = append(found, MadeMethod{ref, h.named(body)})
			}
		}
	}
	return found
}

// bodyOf returns the one method with code that a method of a lambda calls.
func (h *hierarchy) bodyOf(made methodID) (body methodID, ok bool) {
	bodies := make(map[methodID]bool)
	for _, id := range h.methods[made].calls {
		if h.calls[id].kind == initialize {
			continue
		}
		h.targets(&h.calls[id], func(target methodID) bool {
			m := &h.methods[target]
			if owner := &h.classes[m.class]; owner.lambda || owner.skipped || m.code {
				bodies[target] = m.code && !owner.skipped
				body = target
			}
			return len(bodies) < 2
		})
	}
	return body, len(bodies) == 1 && bodies[body]
}

// Expand returns what becomes callable by the bodies of methods. The methods themselves
// count as callable from now on, and are not returned. Methods that are not mirrored are
// ignored. Expanding a method of a skipped class lets it call back.
func (g *Graph) Expand(methods ...classfile.MethodRef) Expansion {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range g.hierarchy.known(methods) {
		g.reach.expand(id)
	}
	return g.reach.take()
}

// Reflected marks callable what a call of a method by reflection, or by a method
// handle, may reach: the method it resolves to, overrides of it, and, where it is
// static or a constructor, static initialisers. It returns the newly callable methods.
func (g *Graph) Reflected(m classfile.MethodRef) []classfile.MethodRef {
	g.mu.Lock()
	defer g.mu.Unlock()
	owner := g.hierarchy.classNamed([]byte(m.Class))
	s := g.hierarchy.signature([]byte(m.Name), []byte(m.Descriptor))
	g.reach.reflected(owner, s)
	return g.reach.take().Methods
}

// known returns the mirrored ones among methods.
func (h *hierarchy) known(methods []classfile.MethodRef) []methodID {
	var ids []methodID
	for _, m := range methods {
		if id, ok := h.find(m); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// A Target is a method that a call may reach.
type Target struct {
	classfile.MethodRef
	// ByLambda reports that the call goes through the object of a lambda or method
	// reference: it names the functional interface.
	ByLambda bool
	// ByProxy reports that the call goes through an object of a class that was made at run
	// time, and that the target may be what decides about such calls.
	ByProxy bool
}

// Targets returns all methods that a direct call may reach, in order of names: methods
// with code, native methods, and the targets of lambdas. If there is none it returns the
// abstract declaration, if any. It omits the static initialisers of the superclasses of
// caller, which have run, or begun, before caller runs.
func (g *Graph) Targets(call DirectCall, caller classfile.MethodRef) []Target {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.hierarchy
	type step struct {
		call    callID
		byProxy bool // what it goes through; a lambda otherwise, except for the first
	}
	found := make(map[methodID]Target)
	var abstract []methodID
	followed := map[callID]bool{call.id: true}
	calls := []step{{call: call.id}}
	for i := 0; i < len(calls); i++ {
		byProxy := calls[i].byProxy
		h.targets(&h.calls[calls[i].call], func(id methodID) bool {
			m := &h.methods[id]
			switch {
			case h.classes[m.class].lambda:
				for _, inner := range m.calls {
					if !followed[inner] && !h.hasBegun(inner, m.class) {
						followed[inner] = true
						calls = append(calls, step{inner, byProxy || h.classes[m.class].proxy})
					}
				}
			case m.code || m.native:
				if before, known := found[id]; !known || before.ByLambda || before.ByProxy {
					found[id] = Target{ByLambda: i > 0 && !byProxy, ByProxy: byProxy}
				}
			default:
				abstract = append(abstract, id)
			}
			return true
		})
	}
	if call.Kind == Initializer {
		for _, id := range h.begunWith(caller) {
			delete(found, id)
		}
	}
	var targets []Target
	for id, target := range found {
		target.MethodRef = h.named(id)
		targets = append(targets, target)
	}
	if len(found) == 0 && len(abstract) > 0 {
		targets = append(targets, Target{MethodRef: h.named(abstract[0])})
	}
	slices.SortFunc(targets, func(a, b Target) int { return a.Compare(b.MethodRef) })
	return targets
}

// hasBegun reports whether a call that a lambda makes is the initialisation of the class
// that made the lambda.
func (h *hierarchy) hasBegun(id callID, lambda classID) bool {
	maker, _, _ := strings.Cut(h.classes[lambda].name, lambdaMark)
	return h.calls[id].kind == initialize && h.classes[h.calls[id].owner].name == maker
}

// lambdaMark follows the name of the declaring class in the name of a lambda's class.
const lambdaMark = ";lambda;"

// begunWith are the static initialisers of a method's class and its superclasses.
func (h *hierarchy) begunWith(m classfile.MethodRef) (begun []methodID) {
	s, some := h.sigIDs["<clinit>()V"]
	at, known := h.classIDs[m.Class]
	for met := map[classID]bool{}; some && known && !met[at]; {
		met[at] = true
		if id, ok := h.declaration(at, s); ok {
			begun = append(begun, id)
		}
		if len(h.classes[at].supers) == 0 {
			break
		}
		at = h.classes[at].supers[0] // the superclass comes before interfaces
	}
	return begun
}

// A Nature describes a method by its class file.
type Nature struct {
	Code, Native bool // neither where it is abstract
	Shape             // of its code, the largest where several classes have its name
}

// Nature returns the nature of a method; false if its class is not mirrored or does not
// declare it.
func (g *Graph) Nature(m classfile.MethodRef) (Nature, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	id, ok := g.hierarchy.find(m)
	if !ok {
		return Nature{}, false
	}
	known := &g.hierarchy.methods[id]
	return Nature{Code: known.code, Native: known.native, Shape: known.shape}, true
}

// Declared returns the methods that a mirrored class declares, those without code too,
// in order of names.
func (g *Graph) Declared(class string) []classfile.MethodRef {
	g.mu.Lock()
	defer g.mu.Unlock()
	id, ok := g.hierarchy.classIDs[class]
	if !ok {
		return nil
	}
	var all []classfile.MethodRef
	for _, d := range g.hierarchy.classes[id].methods {
		all = append(all, g.hierarchy.named(d.id))
	}
	slices.SortFunc(all, classfile.MethodRef.Compare)
	return all
}

// IsSubtype reports whether a class is another, or below it, as far as is mirrored.
func (g *Graph) IsSubtype(class, super string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	sub, ok := g.hierarchy.classIDs[class]
	above, known := g.hierarchy.classIDs[super]
	return ok && known && slices.Contains(g.hierarchy.supertypes(sub), above)
}

// Shape describes a method's code, for an estimate of its run time.
type Shape struct {
	Bytes    int  // of instructions
	Loops    bool // some branch leads back
	Calls    bool // some instruction calls a method
	Monitors bool // some instruction enters a monitor
}

func (s Shape) or(other Shape) Shape {
	return Shape{Bytes: max(s.Bytes, other.Bytes), Loops: s.Loops || other.Loops, Calls: s.Calls || other.Calls, Monitors: s.Monitors || other.Monitors}
}

// shapeOf returns the shape of a body that scan has checked.
func shapeOf(attribute []byte) Shape {
	size := int(binary.BigEndian.Uint32(attribute[4:]))
	return ShapeOf(attribute[codeHeader : codeHeader+size])
}

// ShapeOf returns the shape of a method's instructions, which must be well-formed: in a
// class that the JVM has loaded they are.
func ShapeOf(body []byte) Shape {
	s := Shape{Bytes: len(body)}
	for at := 0; at < len(body); at += opcode.LengthAt(body, at) {
		switch op := opcode.Op(body[at]); {
		case op >= opcode.Ifeq && op <= opcode.Jsr, op == opcode.Ifnull, op == opcode.Ifnonnull:
			s.Loops = s.Loops || int16(binary.BigEndian.Uint16(body[at+1:])) < 0
		case op == opcode.GotoW:
			s.Loops = s.Loops || int32(binary.BigEndian.Uint32(body[at+1:])) < 0
		case op >= opcode.Invokevirtual && op <= opcode.Invokedynamic:
			s.Calls = true
		case op == opcode.Monitorenter:
			s.Monitors = true
		}
	}
	return s
}

// Project returns the part of a class's internal name that the classes of one project
// share: two segments if the first is a domain, else one.
func Project(class string) string {
	first, rest, _ := strings.Cut(class, "/")
	switch first {
	case "com", "org", "net", "io", "dev", "edu", "gov", "de", "uk", "fr", "jp", "cn", "ru", "ch", "nl", "eu":
		second, _, _ := strings.Cut(rest, "/")
		return first + "/" + second
	}
	return first
}
