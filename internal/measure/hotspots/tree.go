package hotspots

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/spec/categories"
)

// A Path is a way the program got somewhere: the Java methods of a stack, the innermost
// first.
type Path struct {
	Methods   []classfile.MethodRef
	Truncated bool // the outermost are missing
	Samples   int
	Weight    float64 // in samples of Java code
}

// Stacks returns the distinct stacks of running threads, the most frequent first. Line numbers do
// not distinguish them.
func (t *Table) Stacks() []Path {
	found, numbers := map[string]*Path{}, map[classfile.MethodRef]int{}
	var text strings.Builder
	for i := range t.groups {
		g := &t.groups[i]
		if g.weight == 0 {
			continue
		}
		text.Reset()
		for _, frame := range g.Stack.Frames {
			if frame.IsJava() {
				ref := frame.Method.Ref()
				number, known := numbers[ref]
				if !known {
					number = len(numbers)
					numbers[ref] = number
				}
				text.WriteString(strconv.Itoa(number))
				text.WriteByte(' ')
			}
		}
		p := found[text.String()]
		if p == nil {
			p = &Path{Truncated: g.Stack.Truncated || g.Stack.Broken}
			for _, frame := range g.Stack.Frames {
				if frame.IsJava() {
					p.Methods = append(p.Methods, frame.Method.Ref())
				}
			}
			found[text.String()] = p
		}
		p.Samples += g.sampled()
		p.Weight += g.weight
	}
	paths := make([]Path, 0, len(found))
	for _, p := range found {
		paths = append(paths, *p)
	}
	slices.SortFunc(paths, func(a, b Path) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), slices.CompareFunc(a.Methods, b.Methods, classfile.MethodRef.Compare))
	})
	return paths
}

// A Tree is all stacks, from the outermost methods down.
type Tree struct {
	Methods []cct.Method
	Top     *cct.Node // times are estimates; calls are samples
}

// Tree returns the stacks of running threads, with wall also of waiting threads. Truncated
// stacks begin with their outermost known method, those that could not be walked with unknown code,
// and those of the threads of the JVM with their kind.
func (t *Table) Tree(wall bool) *Tree {
	if t.tree != nil {
		return t.tree
	}
	type place struct {
		above  *cct.Node
		method int
	}
	tree := &Tree{Top: &cct.Node{Method: -1}}
	nodes, numbers, pointers := map[place]*cct.Node{}, map[cct.Method]int{}, map[*jfr.Method]int{}
	find := func(f jfr.Frame) int {
		m := methodOf(f)
		if number, known := pointers[m]; known {
			return number
		}
		label := Label(f)
		number, known := numbers[label]
		if !known {
			number = len(tree.Methods)
			numbers[label] = number
			shown := label
			shown.Category = categoryOf(label)
			tree.Methods = append(tree.Methods, shown)
		}
		pointers[m] = number
		return number
	}
	for i := range t.groups {
		g := &t.groups[i]
		weight := g.weight
		if wall {
			weight += g.wait
		}
		if weight == 0 {
			continue
		}
		time := weight * float64(t.Unit)
		at, frames := tree.Top, g.whole()
		for _, frame := range slices.Backward(frames) {
			number := find(frame)
			below := nodes[place{at, number}]
			if below == nil {
				below = &cct.Node{Method: number, Kinds: map[string]float64{}}
				nodes[place{at, number}] = below
				at.Children = append(at.Children, below)
			}
			at = below
			at.Kinds[frame.Kind.String()] += time
		}
		at.Self = at.Self.Plus(cct.Exactly(time))
		at.Timed += uint64(g.sampled())
		addLine(at, frames[0].Line, uint64(g.sampled()), time)
	}
	tree.addUp(tree.Top)
	return tree
}

// categoryOf returns the category of a method by its name; "" if it has none.
func categoryOf(label cct.Method) string {
	if label.Class == "" && label.Name == WaitText(jfr.Monitor) {
		return categories.Locks
	}
	return categories.Of(label.Ref(), nil)
}

// whole returns all frames of a stack, and frames that stand for missing parts.
func (g *group) whole() []jfr.Frame {
	var inner, outer []jfr.Frame
	if g.wait > 0 {
		inner = []jfr.Frame{waitFrame(g.Wait)}
	}
	switch {
	case g.kind != jfr.ProgramThread:
		outer = []jfr.Frame{vmFrames[g.kind]}
	case g.Stack.Broken || len(g.Stack.Frames) == 0:
		outer = []jfr.Frame{unknown}
	}
	return slices.Concat(inner, g.Stack.Frames, outer)
}

// addLine adds samples of a node's own time at a line.
func addLine(n *cct.Node, line int, samples uint64, time float64) {
	at := slices.IndexFunc(n.Lines, func(l cct.Line) bool { return l.Line == line })
	if at < 0 {
		at = len(n.Lines)
		n.Lines = append(n.Lines, cct.Line{Line: line})
	}
	n.Lines[at].Samples += samples
	n.Lines[at].Nanos += time
}

// addUp computes the totals, and sorts children and lines by their times.
func (tree *Tree) addUp(n *cct.Node) {
	n.Total, n.Calls = n.Self, n.Timed
	for _, c := range n.Children {
		tree.addUp(c)
		n.Total = n.Total.Plus(c.Total)
		n.Calls += c.Calls
	}
	for kind := range n.Kinds {
		n.Kinds[kind] /= n.Total.Nanos
	}
	if len(n.Lines) == 1 && n.Lines[0].Line == 0 {
		n.Lines = nil
	}
	slices.SortFunc(n.Lines, func(a, b cct.Line) int { return cmp.Or(cmp.Compare(b.Nanos, a.Nanos), cmp.Compare(a.Line, b.Line)) })
	slices.SortFunc(n.Children, func(a, b *cct.Node) int {
		ma, mb := tree.Methods[a.Method], tree.Methods[b.Method]
		return cmp.Or(cmp.Compare(b.Total.Nanos, a.Total.Nanos), cmp.Compare(ma.Class, mb.Class), cmp.Compare(ma.Name, mb.Name), cmp.Compare(ma.Descriptor, mb.Descriptor))
	})
}

// A Place is where threads run, or wait for something.
type Place struct {
	Label   cct.Method
	Wait    jfr.Wait
	Threads float64 // that are there on average
	Part    float64 // of the time of all threads, running and waiting
	Samples int
	Locks   []Lock // that they wait for there, by descending part; empty if none is known
}

// A Lock is an object that threads wait for at a place, and where it is held.
type Lock struct {
	Class string     // of the object, in the form of class files; "" if it is not known
	In    cct.Method // where the holder was; the zero value if that is not known
	Part  float64    // of the time of the place
}

// heldIn returns a lock as results show it: the holder is in the innermost method that is not of the JDK.
func heldIn(lock *jfr.Lock) (h Lock) {
	if lock == nil {
		return h
	}
	h.Class = withoutAddress(lock.Class)
	if lock.Held != nil && len(lock.Held.Frames) > 0 {
		h.In = Label(waitsIn(lock.Held.Frames))
	}
	return h
}

// Places returns where threads run and wait, by descending number of threads. A thread waits in the
// innermost method that is not of the JDK: the methods of the JDK in which threads wait are always
// the same.
func (t *Table) Places() []Place {
	if t.tree != nil {
		return t.places
	}
	type id struct {
		label cct.Method
		wait  jfr.Wait
	}
	found := map[id]*Place{}
	locks := map[id]map[Lock]float64{}
	var all float64
	for i := range t.groups {
		g := &t.groups[i]
		if g.weight+g.wait == 0 {
			continue
		}
		frame, wait := g.frames()[0], jfr.Running
		if g.wait > 0 {
			frame, wait = waitsIn(g.frames()), g.Wait
		}
		which := id{Label(frame), wait}
		if found[which] == nil {
			found[which] = &Place{Label: which.label, Wait: wait}
			locks[which] = map[Lock]float64{}
		}
		if g.held != (Lock{}) {
			locks[which][g.held] += g.wait
		}
		found[which].Part += g.weight + g.wait
		found[which].Samples += g.sampled()
		all += g.weight + g.wait
	}
	places := make([]Place, 0, len(found))
	for which, p := range found {
		for lock, part := range locks[which] {
			p.Locks = append(p.Locks, Lock{lock.Class, lock.In, part / p.Part})
		}
		slices.SortFunc(p.Locks, func(a, b Lock) int {
			return cmp.Or(cmp.Compare(b.Part, a.Part), cmp.Compare(a.Class, b.Class), cmp.Compare(a.In.Key(), b.In.Key()))
		})
		p.Threads = t.threads(p.Part)
		p.Part /= all
		places = append(places, *p)
	}
	slices.SortFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(b.Part, a.Part), cmp.Compare(a.Label.Key(), b.Label.Key()), cmp.Compare(a.Wait, b.Wait))
	})
	return places
}

// Contended returns the samples of threads that wait for a lock that another thread has.
func Contended(samples []jfr.Sample) []jfr.Sample {
	return slices.DeleteFunc(slices.Clone(samples), func(s jfr.Sample) bool {
		isHeld := s.Lock != nil && s.Lock.Holder != nil && s.Wait == jfr.Parked
		return s.Source != jfr.WallClock || s.Wait != jfr.Monitor && !isHeld
	})
}

// waiting are prefixes of classes of the JDK whose methods only lead to a wait.
var waiting = []string{"java/lang/", "java/util/concurrent/locks/", "java/util/concurrent/ForkJoinPool", "jdk/internal/", "sun/"}

// waitsIn returns the frame in which a thread waits: the innermost that is not of the JDK, or else
// the innermost that does more than wait.
func waitsIn(frames []jfr.Frame) jfr.Frame {
	program := func(f jfr.Frame) bool {
		return f.IsJava() && !callgraph.IsJDK(f.Method.Class) && !PassesOn(f.Method.Class)
	}
	library := func(f jfr.Frame) bool { return f.IsJava() && !callgraph.HasPrefix(f.Method.Class, waiting) }
	for _, is := range []func(jfr.Frame) bool{program, library, jfr.Frame.IsJava} {
		if at := slices.IndexFunc(frames, is); at >= 0 {
			return frames[at]
		}
	}
	return frames[0]
}
