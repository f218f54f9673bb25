package calltree

import (
	"cmp"
	"slices"

	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
)

// A Class is one that is loaded.
type Class struct {
	Name   string // internal
	Loader uint32 // 0 is the boot loader
	File   []byte // nil where it is not known
	Reason string // why it cannot have hooks; "" where it can
	JDK    bool
}

// A World is the loaded classes of a JVM. What was read of them once is not read again.
type World struct {
	graph   *callgraph.Graph
	classes map[string]*class
	bodies  map[string][]*callgraph.Bodies
	reached map[callgraph.DirectCall]reached
	loaders map[uint32]*Loader
	// fileless are classes of the program whose files are not known; unreadable those
	// whose are no class files.
	fileless, unreadable int
}

// class is all classes of one name.
type class struct {
	loaders []uint32
	files   [][]byte
	reason  string
	jdk     bool
}

// A Loader is a class loader.
type Loader struct {
	Number  uint32
	Classes int
	Example string // internal name of one of its classes
}

// NewWorld mirrors classes. Their files must not change while it is in use.
func NewWorld(classes []Class) *World {
	w := &World{
		graph: callgraph.New(callgraph.Settings{Whole: true}), classes: make(map[string]*class, len(classes)),
		bodies: make(map[string][]*callgraph.Bodies), reached: make(map[callgraph.DirectCall]reached), loaders: make(map[uint32]*Loader),
	}
	// By name, so that what is found does not depend on the order of loading.
	classes = slices.Clone(classes)
	slices.SortStableFunc(classes, func(a, b Class) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Loader, b.Loader))
	})
	for _, c := range classes {
		w.add(c)
	}
	return w
}

func (w *World) add(c Class) {
	if c.File == nil && c.Reason != "" {
		return // one that the JVM made, for a lambda most often: what that calls is known by who made it
	}
	known := w.classes[c.Name]
	if known == nil {
		known = &class{reason: c.Reason, jdk: c.JDK}
		w.classes[c.Name] = known
	}
	if c.Reason == "" {
		known.reason = ""
	}
	known.loaders = append(known.loaders, c.Loader)
	w.count(c)
	if c.File == nil {
		if c.Loader != 0 { // else the JDK has made it, for its own method handles
			w.fileless++
		}
		return
	}
	if slices.ContainsFunc(known.files, func(file []byte) bool { return string(file) == string(c.File) }) {
		return
	}
	if _, err := w.graph.Add(c.File); err != nil {
		w.unreadable++
		return
	}
	known.files = append(known.files, c.File)
}

func (w *World) count(c Class) {
	l := w.loaders[c.Loader]
	if l == nil {
		l = &Loader{Number: c.Loader, Example: c.Name}
		w.loaders[c.Loader] = l
	}
	l.Classes++
}

// mostBodies bounds how many classes are kept taken apart. Those of one level are often
// asked for one after the other; a large one takes megabytes.
const mostBodies = 32

// calls returns what a method's body calls, in whichever of the classes of that name.
func (w *World) calls(m callgraph.Method) (all []callgraph.DirectCall) {
	bodies, known := w.bodies[m.Class]
	if !known {
		if len(w.bodies) >= mostBodies {
			clear(w.bodies)
		}
		if c := w.classes[m.Class]; c != nil {
			for _, file := range c.files {
				if b, err := w.graph.Bodies(file); err == nil { // as it was added, there is none
					bodies = append(bodies, b)
				}
			}
		}
		w.bodies[m.Class] = bodies
	}
	met := make(map[callgraph.DirectCall]bool)
	for _, b := range bodies {
		calls, err := b.Calls(m.Name, m.Descriptor)
		if err != nil {
			continue // likewise
		}
		for _, call := range calls {
			if !met[call] {
				met[call] = true
				all = append(all, call)
			}
		}
	}
	return all
}

// reached is what a call reaches: the first few of all, the program's own before the
// JDK's.
type reached struct {
	first []callgraph.Target
	all   int
}

func (w *World) targets(call callgraph.DirectCall, caller callgraph.Method, most int) reached {
	known, is := w.reached[call]
	if is {
		return known
	}
	all := w.graph.Targets(call, caller)
	slices.SortStableFunc(all, func(a, b callgraph.Target) int { return cmp.Compare(w.rank(a), w.rank(b)) })
	r := reached{first: slices.Clone(all[:min(most, len(all))]), all: len(all)}
	if call.Kind != callgraph.Initializer { // those depend on who calls
		w.reached[call] = r
	}
	return r
}

func (w *World) rank(t callgraph.Target) int {
	if c := w.classes[t.Class]; c != nil && c.jdk {
		return 1
	}
	return 0
}

// Loaders are those of all loaded classes, by number.
func (w *World) Loaders() (all []Loader) {
	for _, l := range w.loaders {
		all = append(all, *l)
	}
	slices.SortFunc(all, func(a, b Loader) int { return cmp.Compare(a.Number, b.Number) })
	return all
}
