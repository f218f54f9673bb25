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

// traceLimits returns the limits of the tree that contains the methods of traces.
func traceLimits(levels int) calltree.Limits {
	return calltree.Limits{Levels: levels, Overrides: 40, Breadth: 200, Nodes: 8000}
}

func (p *probeRequest) traceLevels() int {
	if p.Levels == 0 {
		return defaultLevels
	}
	return p.Levels
}

// addTraces adds the methods that the roots of traces can call. Methods that belonged to a
// trace before stay, switched off, so that raising the level again needs no weaving.
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

// rootsOf returns the methods in which a probe acts.
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

// mirror returns the calls in the loaded classes.
func (w *Watch) mirror() *calltree.World {
	if count := w.universe.Len(); w.calls == nil || w.mirrored != count {
		w.calls, w.mirrored = calltree.NewWorld(w.universe), count
	}
	return w.calls
}

// addTrace adds the methods of a tree that are worth tracing, the nearest first. Methods
// of other projects rank lower: if the limit is reached, the program's own methods are
// more useful than those of a library.
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
	sum := c.probeSums[p.Name]
	for _, m := range slices.Concat(ranks...) {
		if c.inside(m.MethodRef) == nil && c.insides >= mostInside {
			sum.Untraced++
			continue
		}
		sum.Traced++
		c.addInside(m, isOn)
	}
}

// expect records that traced methods may call a method, with so many levels left from it
// on.
func (p *plan) expect(m classfile.MethodRef, left int) {
	if known, is := p.calls[m]; !is || known < left {
		p.calls[m] = left
	}
}

// isWorth reports whether a method is worth tracing: no condition calls it, it is not too
// small, and no probe records its calls already. A probe whose level was raised replaces
// the spot that exists, which is switched off.
func (w *Watch) isWorth(c *compiler, m universe.Method) bool {
	if c.relied[m.MethodRef] || m.Owner.Reason != "" || c.ruled(m.Owner.Name) != nil || !w.options.Small && isSmall(m) {
		return false
	}
	inside := instrument.Spot{MethodRef: m.MethodRef, Key: insideKey}
	_, isThere := w.applied[spotName(&inside)]
	return isThere || !c.isTraced(m)
}

// isTraced reports whether a probe records the calls of a method.
func (p *plan) isTraced(m universe.Method) bool {
	return slices.ContainsFunc(p.probes, func(r *probeRequest) bool {
		return r.Level >= probeset.Trace && r.methods.Match(m.Class, m.Name, m.Descriptor)
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

// inside returns the spot by which a method belongs to traces, or nil.
func (p *plan) inside(m classfile.MethodRef) *planned {
	return p.spots[spotName(&instrument.Spot{MethodRef: m, Key: insideKey})]
}

// addInside adds a method to traces. Its spot is on if one of these traces is.
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

// taskMethods are names of methods by which the JDK runs a task.
var taskMethods = []string{"run", "call", "get", "apply", "accept", "compute", "exec", "handle"}

// tasksOf returns the methods of tasks that the methods of a tree create for an executor
// or a stage. The tree does not follow the JDK's own code, so it has only the constructors
// of tasks. It contains lambdas already.
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
