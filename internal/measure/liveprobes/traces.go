package liveprobes

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/measure/calltree"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Limits of traces.
const (
	// mostInside is the maximum number of methods traced below roots. Each of their
	// classes is redefined, and each call takes some 100 ns inside a transaction.
	mostInside = 400
	// farther is the number of levels that a method of another project is ranked below
	// its own level.
	farther = 6
	// defaultLevels is the depth below a root to which calls are traced by default.
	defaultLevels = 3
)

// traceLimits returns the limits of the tree that contains the methods of traces. A call of a wide
// type is followed into the program's own classes, and where stacks have shown it: most that it could
// reach is never called there. A proxy is followed into own classes only.
func (w *Probes) traceLimits(p *plan, f *focus, levels int) calltree.Limits {
	limits := calltree.Limits{Levels: levels, Overrides: 40, Breadth: 200, Nodes: 8000}
	limits.Follow = func(caller classfile.MethodRef, call calltree.Via, callee classfile.MethodRef) bool {
		if w.isOwn(p, callee.Class) {
			return true
		}
		if _, isProxy := universe.Proxied(caller.Class); isProxy {
			return false // what makes proxies work would hide what they stand for
		}
		return !isWide(call.Declared.Class) || w.options.Seen[Call{caller, callee}]
	}
	switch {
	case f != nil:
		limits.Levels = focusLevels
		limits.Open = func(n *calltree.Node) bool { return f.opens(n, w.internalIn(p)) }
	case w.isLazy:
		limits.Open = func(n *calltree.Node) bool { return w.called[n.MethodRef] || w.isInternal(p, n) }
	}
	return limits
}

// isOfLibrary reports whether a class is not one of the program's own packages, if those are known.
func (w *Probes) isOfLibrary(class string) bool {
	own := w.Own()
	return (own.Rest || len(own.Names) > 0) && !own.Has(class)
}

// wideTypes are prefixes of the names of types that classes of all kinds implement, such as Iterator,
// Runnable and Function. Those of other packages of the JDK have one purpose, such as Statement.
var wideTypes = []string{"java/lang/", "java/util/", "java/io/", "java/nio/"}

func isWide(class string) bool { return callgraph.HasPrefix(class, wideTypes) }

// isOwn reports whether a class is the program's own, or of the project of a traced method.
func (w *Probes) isOwn(p *plan, class string) bool {
	return p.projects[callgraph.Project(class)] || w.Own().Has(class)
}

// isInternal reports whether a library calls a method of a library. Such methods have no hooks: they are many, and the
// program's own methods are what its users know. They are followed for those that libraries call back.
func (w *Probes) isInternal(p *plan, n *calltree.Node) bool {
	return n.Parent != nil && w.isForeign(p, n.Class) && w.isForeign(p, n.Parent.Class)
}

// isForeign reports whether a class is of a library, and not of the project of a traced method.
func (w *Probes) isForeign(p *plan, class string) bool {
	return w.isOfLibrary(class) && !w.isOwn(p, class)
}

func traceLevels(p *probes.Probe) int { return cmp.Or(p.Levels, defaultLevels) }

// addTraces adds the methods that the roots of traces can call. Methods that belonged to a
// trace before stay, switched off, so that raising the level again needs no weaving.
func (w *Probes) addTraces(p *plan) {
	for _, probe := range p.Probes {
		if probe.Inside {
			continue
		}
		isOn := probe.Level >= probeset.Trace
		if !isOn && !w.traced[probe.Name] {
			continue
		}
		if isOn {
			p.levels = max(p.levels, traceLevels(probe))
		}
		roots := p.rootsOf(probe)
		if len(roots) == 0 {
			continue
		}
		for _, root := range roots {
			p.projects[callgraph.Project(root.Class)] = true
		}
		f := w.focusOf(probe)
		tree := w.mirror().Tree(append(roots, w.focused(p, f, roots)...), w.traceLimits(p, f, traceLevels(probe)))
		w.addTrace(p, probe, tree, isOn)
		if tasks := w.tasksOf(p, tree); len(tasks) > 0 && traceLevels(probe) > 1 {
			p.tasks = append(p.tasks, tasks...)
			w.addTrace(p, probe, w.mirror().Tree(tasks, w.traceLimits(p, f, traceLevels(probe)-1)), isOn)
		}
	}
	w.keepUnfocused(p)
}

// rootsOf returns the methods in which a probe acts.
func (p *plan) rootsOf(probe *probes.Probe) (roots []classfile.MethodRef) {
	for _, name := range slices.Sorted(maps.Keys(p.Spots)) {
		s := p.Spots[name]
		m := s.MethodRef
		if s.Probe == probe && !slices.Contains(roots, m) {
			roots = append(roots, m)
		}
	}
	return roots
}

// mirror returns the calls in the loaded classes.
func (w *Probes) mirror() *calltree.World {
	if count := w.classes.Len(); w.calls == nil || w.mirrored != count {
		w.calls, w.mirrored = calltree.NewWorld(w.classes.Universe), count
	}
	return w.calls
}

// addTrace adds the methods of a tree that are worth tracing, the nearest first. Methods
// of other projects rank lower: if the limit is reached, the program's own methods are
// more useful than methods of a library.
func (w *Probes) addTrace(p *plan, probe *probes.Probe, tree *calltree.Tree, isOn bool) {
	f := w.focusOf(probe)
	met := make(map[classfile.MethodRef]bool)
	for _, root := range p.rootsOf(probe) {
		met[root] = true
	}
	var ranks [][]universe.Method
	tree.Each(func(n *calltree.Node) {
		id := n.MethodRef
		if n.Stop == calltree.Closed {
			p.closed[id] = true
		}
		if w.isInternal(p, n) || f != nil && (w.excluded[id] || !f.keeps(n, w.internalIn(p))) {
			return
		}
		p.bodiless = p.bodiless || n.Bytes == 0 && !n.JDK && slices.ContainsFunc(n.Via, func(v calltree.Via) bool { return v.Kind == callgraph.Interface })
		left := traceLevels(probe) - n.Level
		if f != nil {
			left = 0 // what a class that loads later calls is not in focus
		}
		p.expect(id, left)
		for _, via := range n.Via {
			p.expect(via.Declared, left)
		}
		if met[id] || n.State != calltree.NotWatched || n.JDK || n.Name == "<clinit>" {
			return
		}
		met[id] = true
		m, is := w.classes.Find(id)
		if !is || !w.isWorth(p, m) {
			return
		}
		rank := n.Level
		if !w.isOwn(p, n.Class) {
			rank += farther
		}
		for len(ranks) <= rank {
			ranks = append(ranks, nil)
		}
		ranks[rank] = append(ranks[rank], m)
	})
	for _, m := range slices.Concat(ranks...) {
		if p.inside(m.MethodRef) == nil && p.insides >= mostInside {
			p.CountTraced(probe, 0, 1)
			continue
		}
		p.CountTraced(probe, 1, 0)
		p.addInside(m, isOn)
	}
}

// expect records that traced methods may call a method, with left levels to be
// traced from it on.
func (p *plan) expect(m classfile.MethodRef, left int) {
	if known, is := p.calls[m]; !is || known < left {
		p.calls[m] = left
	}
}

// isWorth reports whether a method is worth tracing: no condition calls it, it is not too
// small or a constructor of a library, and no probe records its calls already. A probe whose level was raised replaces
// the spot that exists, which is switched off.
func (w *Probes) isWorth(p *plan, m universe.Method) bool {
	if p.Relied[m.MethodRef] || m.Owner.Reason != "" || p.Excluded(m.Owner.Name) != nil || !w.options.Small && (isSmall(m) || m.Name == "<init>" && w.isOfLibrary(m.Class)) {
		return false
	}
	inside := instrument.Spot{MethodRef: m.MethodRef, Key: insideKey}
	_, isThere := w.applied[inside.FullName()]
	return isThere || !p.isTraced(m)
}

// isTraced reports whether a probe records the calls of a method.
func (p *plan) isTraced(m universe.Method) bool {
	return slices.ContainsFunc(p.Probes, func(r *probes.Probe) bool {
		return r.Level >= probeset.Trace && r.Matches(m.MethodRef)
	})
}

// Sizes in bytes of code up to which methods are too small to trace: getters, setters, and
// constructors that only call another one.
const (
	smallLeaf        = 8
	smallConstructor = 5
)

func isSmall(m universe.Method) bool {
	code := m.Code()
	if code == nil {
		return true
	}
	if m.Name == "<init>" && len(code.Bytes) <= smallConstructor {
		return true
	}
	// An operand may look like a call; then a small method is traced needlessly.
	const invokevirtual, invokedynamic = 0xb6, 0xba
	return len(code.Bytes) <= smallLeaf && !slices.ContainsFunc(code.Bytes, func(b byte) bool {
		return b >= invokevirtual && b <= invokedynamic
	})
}

// insideKey and insideFlags are the key and the flags of spots by which methods belong to
// traces of other methods.
const (
	insideKey   = "inside"
	insideFlags = arena.On | arena.Flat | arena.Inside | arena.Traced
)

// inside returns the spot by which a method belongs to traces, or nil.
func (p *plan) inside(m classfile.MethodRef) *probes.Spot {
	spot := instrument.Spot{MethodRef: m, Key: insideKey}
	return p.Spots[spot.FullName()]
}

// addInside adds a method to traces. Its spot is on if one of these traces is.
func (p *plan) addInside(m universe.Method, isOn bool) *probes.Spot {
	s := p.inside(m.MethodRef)
	if s == nil {
		s = &probes.Spot{
			Spot:   instrument.Spot{MethodRef: m.MethodRef, Key: insideKey, Kind: instrument.Watches, Form: instrument.Plain},
			Method: m,
		}
		p.Put(s)
		p.insides++
	}
	if isOn && !p.isTraced(m) {
		s.Flags = insideFlags
	}
	return s
}

// taskMethods are names of methods by which the JDK runs a task.
var taskMethods = []string{"run", "call", "get", "apply", "accept", "compute", "exec", "handle"}

// tasksOf returns the methods of the program's own tasks that the methods of a tree create for an
// executor or a stage. The tree does not follow the JDK's own code, so it has only the constructors
// of tasks. It contains lambdas already.
func (w *Probes) tasksOf(p *plan, tree *calltree.Tree) (tasks []classfile.MethodRef) {
	met := make(map[string]bool)
	tree.Each(func(n *calltree.Node) {
		if n.Name != "<init>" || n.JDK || met[n.Class] || !w.isOwn(p, n.Class) {
			return
		}
		met[n.Class] = true
		for _, c := range w.classes.Named(n.Class) {
			if file := w.classes.Open(c); file == nil || !isGivenToJDK(file) {
				continue
			}
			for _, m := range w.classes.Methods(c) {
				if slices.Contains(taskMethods, m.Name) {
					tasks = append(tasks, m.MethodRef)
				}
			}
		}
	})
	return tasks
}

// isGivenToJDK reports whether a class extends Thread or a type of java.util.concurrent or
// java.util.function, or is a Runnable.
func isGivenToJDK(c *classfile.Class) bool {
	isTask := func(name string) bool {
		return name == "java/lang/Runnable" || name == "java/lang/Thread" ||
			strings.HasPrefix(name, "java/util/concurrent/") || strings.HasPrefix(name, "java/util/function/")
	}
	if isTask(c.SuperName()) {
		return true
	}
	return slices.ContainsFunc(c.Interfaces, func(index uint16) bool {
		name, err := c.Pool.ClassName(index)
		return err == nil && isTask(string(name))
	})
}
