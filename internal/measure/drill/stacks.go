package drill

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// enoughStacks is how many samples show where the time goes.
const enoughStacks = 200

// Stacks are samples of threads that execute a method without a hook. They show where the time of its calls goes, but
// not which calls are slow.
type Stacks struct {
	isRoot  func(classfile.MethodRef) bool
	samples []sampledStack // at most mostSamples
	times   map[classfile.MethodRef]time.Duration
	lost    int // stacks that are not complete, and do not show the method
}

// A sampledStack is a sample with the methods below the outermost root that could have hooks, callers before callees. The
// first one is the root.
type sampledStack struct {
	jfr.Sample
	methods []classfile.MethodRef
	inside  []jfr.Frame // Java frames inside the last method, the innermost first
}

// NewStacks returns a collection of samples below certain methods.
func NewStacks(isRoot func(classfile.MethodRef) bool) *Stacks {
	return &Stacks{isRoot: isRoot, times: make(map[classfile.MethodRef]time.Duration)}
}

// Add adds samples. each is the time for which a sample stands that does not say it.
func (s *Stacks) Add(samples []jfr.Sample, each time.Duration) {
	for _, one := range samples {
		if one.Stack == nil || len(s.samples) == mostSamples {
			continue
		}
		below := s.below(one.Stack.Frames)
		if below.methods == nil {
			if one.Stack.Broken || one.Stack.Truncated {
				s.lost++
			}
			continue
		}
		one.Period = max(cmp.Or(one.Period, each), time.Microsecond)
		below.Sample = one
		s.samples = append(s.samples, below)
		s.times[below.methods[0]] += one.Period
	}
}

// below returns what is on a stack from the outermost root on; no methods if there is no root.
func (s *Stacks) below(frames []jfr.Frame) (b sampledStack) {
	for i, f := range slices.Backward(frames) {
		if !f.IsJava() {
			continue
		}
		if isBegun := b.methods != nil; isBegun && canHaveHook(f.Method.Class) || !isBegun && s.isRoot(f.Method.Ref()) {
			b.methods = append(b.methods, f.Method.Ref())
			b.inside = frames[:i]
		}
	}
	b.inside = slices.DeleteFunc(slices.Clone(b.inside), func(f jfr.Frame) bool { return !f.IsJava() })
	return b
}

// canHaveHook reports whether the methods of a class would get hooks in a JVM that allows them.
func canHaveHook(class string) bool { return !callgraph.HasPrefix(class, ofJDK) && !isHidden(class) }

// IsEnough reports whether the samples show where the time goes, after they were awaited for a time.
func (s *Stacks) IsEnough(waited time.Duration) bool {
	return len(s.samples) >= enoughStacks && waited >= Patience/2
}

// Lost returns how many stacks do not show the method, but are not complete.
func (s *Stacks) Lost() int { return s.lost }

// Describe adds to a result where the time goes, for the root that has most of it: down to the method or wait that
// dominates. It returns the last method of the path, the zero value if no sample shows a root.
func (s *Stacks) Describe(r *Result) (last classfile.MethodRef) {
	root, most := s.slowest()
	if most == 0 {
		return last
	}
	t, methods := s.tree(root)
	choice := t.Choose(nil, func(*Node) bool { return true }, false)
	r.Unhooked.Samples, r.Unhooked.Threads = t.Slow, float64(most)/float64(max(r.Took, time.Millisecond))
	r.Path = t.sampledLevels(choice)
	r.Cause = t.Explain(choice, statesOf(s.in(choice.Path, methods)), 0)
	if r.Cause.Kind == Divided {
		r.Cause.Text = fmt.Sprintf("several callees of %s.%s have a part of the time, and none has most of it", r.Cause.Class, r.Cause.Method)
	}
	return methods[choice.Last().Spot]
}

// slowest returns the root that has most of the time.
func (s *Stacks) slowest() (root classfile.MethodRef, most time.Duration) {
	for m, sum := range s.times {
		if sum > most || sum == most && m.Compare(root) < 0 {
			root, most = m, sum
		}
	}
	return root, most
}

// tree returns the methods below a root, and what the spots of its nodes stand for. Each sample counts as a call that takes
// the time for which the sample stands.
func (s *Stacks) tree(root classfile.MethodRef) (t *Tree, methods []classfile.MethodRef) {
	t = &Tree{Root: &Node{}}
	numbers := make(map[classfile.MethodRef]uint32)
	for _, one := range s.samples {
		if one.methods[0] != root {
			continue
		}
		t.Slow++
		n := t.Root
		for depth, m := range one.methods {
			spot, is := numbers[m]
			if !is {
				spot = uint32(len(methods))
				numbers[m], methods = spot, append(methods, m)
			}
			if depth > 0 {
				n = n.child(spot, false)
			}
			n.Spot, n.Class, n.Method, n.Descriptor = spot, m.ClassName(), m.Name, m.Descriptor
			n.Slow.Calls++
			n.Slow.Time += float64(one.Period)
		}
		n.Slow.Self += float64(one.Period)
	}
	return t, methods
}

// in yields the samples in the own time of the last method of a path, with the frames inside it.
func (s *Stacks) in(path []*Node, methods []classfile.MethodRef) iter.Seq2[jfr.Sample, []jfr.Frame] {
	isSame := func(m classfile.MethodRef, n *Node) bool { return m == methods[n.Spot] }
	return func(yield func(jfr.Sample, []jfr.Frame) bool) {
		for _, one := range s.samples {
			if slices.EqualFunc(one.methods, path, isSame) && !yield(one.Sample, one.inside) {
				return
			}
		}
	}
}

// sampledLevels describes a path by its shares of the time. The time of single calls is not known.
func (t *Tree) sampledLevels(choice Choice) []Level {
	levels := t.Levels(choice)
	whole := levels[0].Slow
	share := func(c *Contrast) { *c = Contrast{Share: cct.ShareOf(c.Slow, whole, float64(t.Slow))} }
	for i := range levels {
		l := &levels[i]
		share(&l.Contrast)
		share(&l.Own)
		for other := range l.Others {
			share(&l.Others[other].Contrast)
		}
		l.SlowCalls, l.NormalCalls, l.Samples = 0, 0, int(choice.Path[i].Slow.Calls)
	}
	return levels
}
