package callgraph

import (
	"slices"
	"strings"
	"sync"
)

// Method names a method: internal class name, name, descriptor.
type Method struct {
	Class, Name, Descriptor string
}

func (m Method) String() string { return m.Class + "." + m.Name + m.Descriptor }

// compare orders methods by class, name and descriptor.
func (m Method) compare(other Method) int {
	if c := strings.Compare(m.Class, other.Class); c != 0 {
		return c
	}
	if c := strings.Compare(m.Name, other.Name); c != 0 {
		return c
	}
	return strings.Compare(m.Descriptor, other.Descriptor)
}

// Site is a call of a native method in the body of an expanded method.
type Site struct {
	Caller                  Method
	Owner, Name, Descriptor string // as the constant pool of the caller has it
	Native                  Method // what it may reach
	Mixed                   bool   // as known now, it may also reach methods that are not native
}

// Expansion is what became callable.
type Expansion struct {
	Methods []Method // that have code and are not of skipped classes
	Sites   []Site
	// Reflects and Handles say that an expanded method uses reflection, or invokes
	// method handles: what they reach is told by Reflected. CallsBack says that one
	// calls into skipped classes, which may do either.
	Reflects, Handles, CallsBack bool
}

// Settings of a Graph.
type Settings struct {
	// Skip tells classes whose methods are of no interest, by internal name. They
	// are mirrored, as others are subtypes of them, but their bodies are not read.
	// It must always give the same answer and not use the graph. nil skips none.
	Skip func(class string) bool
	// Whole says that every class that is loaded gets added, as far as it can be. A
	// lambda whose interface is not mirrored has not been made then, and opens nothing.
	Whole bool
}

// Graph is a growing set of mirrored classes and what can be called in them. It is
// safe for use by several goroutines.
type Graph struct {
	mu        sync.Mutex
	hierarchy *hierarchy
	reader    reader
	reach     *reach
}

// New makes a graph without classes.
func New(s Settings) *Graph {
	h := newHierarchy(s.Skip)
	h.whole = s.Whole
	return &Graph{hierarchy: h, reader: reader{h: h}, reach: newReach(h)}
}

// Add mirrors a class file and returns what becomes callable by it, given what was
// expanded. The same file again changes nothing; another one of the same name is
// united with those before. data is not kept. A damaged file gives an error and
// changes nothing.
func (g *Graph) Add(data []byte) (Expansion, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d, err := g.reader.read(data)
	if err != nil {
		return Expansion{}, err
	}
	for _, changed := range g.hierarchy.commit(d) {
		g.reach.react(changed)
	}
	return g.reach.take(), nil
}

// Has reports whether a class is mirrored.
func (g *Graph) Has(class string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	id, ok := g.hierarchy.classIDs[class]
	return ok && g.hierarchy.classes[id].mirrored()
}

// Missing returns the supertypes of mirrored classes, and the functional interfaces
// of their lambdas, that are not mirrored. While one is missing, what is below it is
// taken to override anything: the caller should add it if the JVM has it.
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
func (g *Graph) Find(match func(class, name, descriptor string) bool) []Method {
	g.mu.Lock()
	defer g.mu.Unlock()
	var found []Method
	for id := range g.hierarchy.methods {
		if !g.hierarchy.methods[id].code {
			continue
		}
		if m := g.hierarchy.named(methodID(id)); match(m.Class, m.Name, m.Descriptor) {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, Method.compare)
	return found
}

// Expand returns what becomes callable by the bodies of methods. The methods
// themselves count as callable from now on, and are not returned. Those that are not
// mirrored are passed over. To expand a method of a skipped class is to let it call
// back.
func (g *Graph) Expand(methods ...Method) Expansion {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range g.hierarchy.known(methods) {
		g.reach.expand(id)
	}
	return g.reach.take()
}

// ExpandAll is Expand of methods, of what becomes callable by them, and so on until
// nothing does.
func (g *Graph) ExpandAll(methods []Method) Expansion {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reach.expandAll(g.hierarchy.known(methods))
	return g.reach.take()
}

// Reflected marks callable what a call of a method by reflection, or by a method
// handle, may reach: the method it resolves to, overrides of it, and, where it is
// static or a constructor, static initialisers. It returns those that were not.
func (g *Graph) Reflected(class, name, descriptor string) []Method {
	g.mu.Lock()
	defer g.mu.Unlock()
	owner := g.hierarchy.classNamed([]byte(class))
	s := g.hierarchy.signature([]byte(name), []byte(descriptor))
	g.reach.reflected(owner, s)
	return g.reach.take().Methods
}

// known returns the mirrored ones among methods.
func (h *hierarchy) known(methods []Method) []methodID {
	var ids []methodID
	for _, m := range methods {
		if id, ok := h.find(m); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// FindIn returns the methods with code of one mirrored class that match.
func (g *Graph) FindIn(class string, match func(name, descriptor string) bool) []Method {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.hierarchy
	id, ok := h.classIDs[class]
	if !ok {
		return nil
	}
	var found []Method
	for _, d := range h.classes[id].methods {
		if m := h.named(d.id); h.methods[d.id].code && match(m.Name, m.Descriptor) {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, Method.compare)
	return found
}
