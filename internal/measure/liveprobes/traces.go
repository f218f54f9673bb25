package liveprobes

import (
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/measure/calltree"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
)

// Bounds of what belongs to traces.
const (
	// mostInside is how many methods below roots are traced. Each class among theirs is
	// redefined, and each call of them takes some 100 ns inside a transaction.
	mostInside = 400
	// farther is how many levels a method of another project is taken to be below the
	// one it is on.
	farther = 6
	// defaultLevels is how far below a root calls are traced where a set does not say.
	defaultLevels = 3
)

// traceLimits bound the tree in which the methods of traces are found.
func traceLimits(levels int) calltree.Limits {
	return calltree.Limits{Levels: levels, Overrides: 40, Breadth: 200, Nodes: 8000}
}

func (p *probeRequest) traceLevels() int {
	if p.Levels == 0 {
		return defaultLevels
	}
	return p.Levels
}

// addTraces adds what can be called below the roots of traces. What belonged to a trace
// once stays, switched off, so that raising the level again takes no weaving.
func (w *Watch) addTraces(c *compiler) {
	for _, p := range c.probes {
		isOn := p.Level >= probeset.Trace
		if !isOn && !w.traced[p.Name] {
			continue
		}
		if isOn {
			c.levels = max(c.levels, p.traceLevels())
		}
		roots := c.rootsOf(p)
		if len(roots) == 0 {
			continue
		}
		tree := w.mirror().Tree(roots, traceLimits(p.traceLevels()))
		w.addTrace(c, p, tree, isOn)
		if tasks := w.tasksOf(tree); len(tasks) > 0 && p.traceLevels() > 1 {
			w.addTrace(c, p, w.mirror().Tree(tasks, traceLimits(p.traceLevels()-1)), isOn)
		}
	}
}

// rootsOf are the methods in which a probe acts.
func (p *plan) rootsOf(probe *probeRequest) (roots []classfile.MethodRef) {
	for _, name := range slices.Sorted(maps.Keys(p.spots)) {
		s := p.spots[name]
		m := s.MethodRef
		if s.probe == probe && !slices.Contains(roots, m) {
			roots = append(roots, m)
		}
	}
	return roots
}

// mirror is what is known of calls in the loaded classes.
func (w *Watch) mirror() *calltree.World {
	if count := w.universe.Len(); w.calls == nil || w.mirrored != count {
		w.calls, w.mirrored = calltree.NewWorld(w.universe), count
	}
	return w.calls
}

// addTrace adds the methods of a tree that are worth tracing, the nearest first. Those
// of other people's code count as farther: where there is not room for all, the inside
// of a library tells less than the program's own.
func (w *Watch) addTrace(c *compiler, p *probeRequest, tree *calltree.Tree, isOn bool) {
	own := make(map[string]bool)
	met := make(map[classfile.MethodRef]bool)
	for _, root := range c.rootsOf(p) {
		own[callgraph.Project(root.Class)] = true
		met[root] = true
	}
	var ranks [][]universe.Method
	tree.Each(func(n *calltree.Node) {
		id := n.MethodRef
		left := p.traceLevels() - n.Level
		c.expect(id, left)
		for _, via := range n.Via {
			c.expect(via.Declared, left)
		}
		if met[id] || n.State != calltree.NotWatched || n.JDK || n.Name == "<clinit>" {
			return
		}
		met[id] = true
		m, is := w.universe.Find(id)
		if !is || !w.isWorth(c, m) {
			return
		}
		rank := n.Level
		if !own[callgraph.Project(n.Class)] {
			rank += farther
		}
		for len(ranks) <= rank {
			ranks = append(ranks, nil)
		}
		ranks[rank] = append(ranks[rank], m)
	})
	told := c.probeSums[p.Name]
	for _, m := range slices.Concat(ranks...) {
		if c.inside(m.MethodRef) == nil && c.insides >= mostInside {
			told.Untraced++
			continue
		}
		told.Traced++
		c.addInside(m, isOn)
	}
}

// expect notes that a method may be called by traced ones, with so many levels left
// from its own on.
func (p *plan) expect(m classfile.MethodRef, left int) {
	if known, is := p.calls[m]; !is || known < left {
		p.calls[m] = left
	}
}

// isWorth reports whether a method is one to trace: no condition runs it, it is not too
// small to tell anything, and no probe writes its calls already. One that does so since
// its level was raised takes over from the spot that there is, which goes off.
func (w *Watch) isWorth(c *compiler, m universe.Method) bool {
	if c.relied[m.MethodRef] || m.Owner.Reason != "" || c.ruled(m.Owner.Name) != nil || !w.options.Small && isSmall(m) {
		return false
	}
	inside := instrument.Spot{MethodRef: m.MethodRef, Key: insideKey}
	_, isThere := w.applied[spotName(&inside)]
	return isThere || !c.isTraced(m)
}

// isTraced reports whether a probe writes the calls of a method.
func (p *plan) isTraced(m universe.Method) bool {
	return slices.ContainsFunc(p.probes, func(r *probeRequest) bool {
		return r.Level >= probeset.Trace && r.methods.Match(m.Class, m.Name, m.Descriptor)
	})
}

// Bounds of methods that are too small to trace: getters, setters, constructors that
// only call another.
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
	// An operand that looks like a call makes a small method pass for one that calls.
	const invokevirtual, invokedynamic = 0xb6, 0xba
	return len(code.Bytes) <= smallLeaf && !slices.ContainsFunc(code.Bytes, func(b byte) bool {
		return b >= invokevirtual && b <= invokedynamic
	})
}

// inside is the spot by which a method belongs to traces; nil where it has none.
func (p *plan) inside(m classfile.MethodRef) *planned {
	return p.spots[spotName(&instrument.Spot{MethodRef: m, Key: insideKey})]
}

// addInside has a method's calls belong to traces; one that does already is switched on
// where one of its traces is.
func (p *plan) addInside(m universe.Method, isOn bool) *planned {
	s := p.inside(m.MethodRef)
	if s == nil {
		s = &planned{
			Spot:   instrument.Spot{MethodRef: m.MethodRef, Key: insideKey, Kind: instrument.Watches, Form: instrument.Plain},
			method: m,
		}
		p.put(s)
		p.insides++
		p.hooked[m.MethodRef] = true
	}
	if isOn && !p.isTraced(m) {
		s.Flags = insideFlags
	}
	return s
}

// taskMethods are the names of what the JDK calls of an object that it is given to run.
var taskMethods = []string{"run", "call", "get", "apply", "accept", "compute", "exec", "handle"}

// tasksOf are what the JDK may call of objects that methods of a tree make, to be run
// by an executor or as a stage: the tree, which does not follow the JDK, has only their
// constructors. Lambdas are in it already.
func (w *Watch) tasksOf(tree *calltree.Tree) (tasks []classfile.MethodRef) {
	met := make(map[string]bool)
	tree.Each(func(n *calltree.Node) {
		if n.Name != "<init>" || n.JDK || met[n.Class] {
			return
		}
		met[n.Class] = true
		for _, c := range w.universe.Named(n.Class) {
			if file := w.universe.Open(c); file == nil || !isGivenToJDK(file) {
				continue
			}
			for _, m := range w.universe.Methods(c) {
				if slices.Contains(taskMethods, m.Name) {
					tasks = append(tasks, m.MethodRef)
				}
			}
		}
	})
	return tasks
}

// isGivenToJDK reports whether a class extends or implements one of the JDK's
// java.util.concurrent or java.util.function, or is a Runnable.
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
