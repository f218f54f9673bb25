package hotspots

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// A Table shows where time was spent in a window.
type Table struct {
	From, To time.Time
	Samples  int           // of running threads
	Waiting  int           // samples of threads that wait in native code
	Unit     time.Duration // processor time that a weight of one represents
	Methods  []Method      // by descending self time
	Threads  []Thread      // by descending share

	whole   float64
	count   float64
	names   map[classfile.MethodRef]int
	samples []jfr.Sample
	weights []float64
}

// A Method is a method on sampled stacks.
type Method struct {
	*jfr.Method
	Self, Total Share
	Samples     int                // with the method on top
	Lines       []Line             // of the samples with the method on top, most frequent first
	Kinds       map[string]float64 // of the same samples, the part of each kind of frame
}

// A Line is a part of a method's self time.
type Line struct {
	Line int     `json:"line"`  // 0 if the class file has none
	Part float64 `json:"share"` // of the method's self time
}

// A Thread is a sampled thread.
type Thread struct {
	*jfr.Thread
	Share   Share
	Samples int
	Waiting int
	CPU     float64 // part of one processor; negative if unknown
	Top     *jfr.Method
}

// Table summarizes the window at a given time.
func (w *Window) Table(now time.Time) *Table {
	from, to := w.bounds(now)
	t := &Table{From: from, To: to, names: map[classfile.MethodRef]int{}}
	for _, s := range w.samples {
		if s.At.After(from) && !s.At.After(to) {
			t.samples = append(t.samples, s)
		}
	}
	used := w.used(from, to)
	t.weights, t.Unit = weigh(t.samples, w.period, used)
	t.count = countOf(t.weights)
	for _, weight := range t.weights {
		t.whole += weight
		if weight > 0 {
			t.Samples++
		} else {
			t.Waiting++
		}
	}
	t.sumMethods()
	t.sumThreads(used)
	return t
}

// A sum is a method whose shares are still weights.
type sum struct {
	Method
	self, total float64
	lines       map[int]float64
	last        int // index of the last sample in total
}

func (t *Table) sumMethods() {
	var sums []*sum
	pointers := map[*jfr.Method]*sum{}
	find := func(m *jfr.Method) *sum {
		if s := pointers[m]; s != nil {
			return s
		}
		at, known := t.names[m.Ref()]
		if !known {
			at = len(sums)
			t.names[m.Ref()] = at
			sums = append(sums, &sum{Method: Method{Method: m, Kinds: map[string]float64{}}, lines: map[int]float64{}, last: -1})
		}
		pointers[m] = sums[at]
		return sums[at]
	}
	for i, sample := range t.samples {
		weight := t.weights[i]
		if weight == 0 {
			continue
		}
		for depth, frame := range sample.Stack.Frames {
			if frame.Method == nil {
				continue
			}
			s := find(frame.Method)
			if s.last != i { // once, also in recursions
				s.last = i
				s.total += weight
			}
			if depth == 0 {
				s.self += weight
				s.Samples++
				s.lines[frame.Line] += weight
				s.Kinds[frame.Kind.String()] += weight
			}
		}
	}
	t.Methods = make([]Method, 0, len(sums))
	for _, s := range sums {
		s.Self, s.Total = ShareOf(s.self, t.whole, t.count), ShareOf(s.total, t.whole, t.count)
		for line, weight := range s.lines {
			s.Lines = append(s.Lines, Line{line, weight / s.self})
		}
		slices.SortFunc(s.Lines, func(a, b Line) int { return cmp.Or(cmp.Compare(b.Part, a.Part), cmp.Compare(a.Line, b.Line)) })
		for kind := range s.Kinds {
			s.Kinds[kind] /= s.self
		}
		t.Methods = append(t.Methods, s.Method)
	}
	slices.SortFunc(t.Methods, BySelf)
	for i, m := range t.Methods {
		t.names[m.Method.Ref()] = i
	}
}

// BySelf orders methods by self time, then by total, then by name.
func BySelf(a, b Method) int {
	return cmp.Or(cmp.Compare(b.Self.Part, a.Self.Part), cmp.Compare(b.Total.Part, a.Total.Part), ByName(a, b))
}

// ByTotal orders methods by the time in them and all they called.
func ByTotal(a, b Method) int {
	return cmp.Or(cmp.Compare(b.Total.Part, a.Total.Part), cmp.Compare(b.Self.Part, a.Self.Part), ByName(a, b))
}

// ByName orders methods by class, name and descriptor.
func ByName(a, b Method) int {
	return a.Ref().Compare(b.Ref())
}

// A Share is a part of all samples with its 95 % interval, which assumes independent samples.
type Share struct {
	Part float64 `json:"share"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// ShareOf returns the share of a weight in a whole of n samples, with Wilson's interval, which is
// valid for small numbers, too.
func ShareOf(weight, whole, n float64) Share {
	if whole <= 0 || n <= 0 {
		return Share{}
	}
	const z = 1.96
	p := min(1, weight/whole)
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	spread := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return Share{Part: p, Low: max(0, min(p, middle-spread)), High: min(1, max(p, middle+spread))}
}

// countOf returns the effective sample size: the number of samples of equal weight with the same
// variance as these weights.
func countOf(weights []float64) float64 {
	var sum, squares float64
	for _, w := range weights {
		sum += w
		squares += w * w
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / squares
}

// sumThreads computes the share and processor time of each thread.
func (t *Table) sumThreads(used map[int64]time.Duration) {
	type sum struct {
		Thread
		weight float64
		tops   map[classfile.MethodRef]float64
		most   float64
	}
	sums := map[int64]*sum{}
	for i, sample := range t.samples {
		s := sums[key(sample.Thread)]
		if s == nil {
			s = &sum{Thread: Thread{Thread: sample.Thread, CPU: -1}, tops: map[classfile.MethodRef]float64{}}
			sums[key(sample.Thread)] = s
		}
		if t.weights[i] == 0 {
			s.Waiting++
			continue
		}
		s.Samples++
		s.weight += t.weights[i]
		if top := topOf(sample); top != nil {
			id := top.Ref()
			s.tops[id] += t.weights[i]
			if s.tops[id] > s.most {
				s.most, s.Top = s.tops[id], top
			}
		}
	}
	for _, s := range sums {
		s.Share = ShareOf(s.weight, t.whole, t.count)
		if had, known := used[s.OSID]; known && !s.Virtual && t.To.After(t.From) {
			s.CPU = float64(had) / float64(t.To.Sub(t.From))
		}
		t.Threads = append(t.Threads, s.Thread)
	}
	slices.SortFunc(t.Threads, func(a, b Thread) int {
		return cmp.Or(cmp.Compare(b.Share.Part, a.Share.Part), cmp.Compare(b.CPU, a.CPU), cmp.Compare(a.Name, b.Name), cmp.Compare(key(a.Thread), key(b.Thread)))
	})
}

func topOf(s jfr.Sample) *jfr.Method {
	if len(s.Stack.Frames) == 0 {
		return nil
	}
	return s.Stack.Frames[0].Method
}

// A Path is a way the program got somewhere: the Java methods of a stack, the innermost
// first.
type Path struct {
	Methods   []classfile.MethodRef
	Truncated bool // the outermost are missing
	Samples   int
	Weight    float64 // in samples of Java code
}

// Stacks returns the distinct stacks, the most frequent first. Line numbers do not distinguish them.
func (t *Table) Stacks() []Path {
	found := map[string]*Path{}
	var text strings.Builder
	for i, s := range t.samples {
		if t.weights[i] == 0 {
			continue
		}
		text.Reset()
		for _, frame := range s.Stack.Frames {
			if frame.IsJava() {
				text.WriteString(strconv.Itoa(t.names[frame.Method.Ref()]))
				text.WriteByte(' ')
			}
		}
		p := found[text.String()]
		if p == nil {
			p = &Path{Truncated: s.Stack.Truncated}
			for _, frame := range s.Stack.Frames {
				if frame.IsJava() {
					p.Methods = append(p.Methods, frame.Method.Ref())
				}
			}
			found[text.String()] = p
		}
		p.Samples++
		p.Weight += t.weights[i]
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

// A Node is a method in a calling context. The top has no method.
type Node struct {
	Method      *jfr.Method
	Self, Total float64 // weights, in samples of Java code
	Kinds       map[string]float64
	Children    []*Node // by total
}

// Tree returns all stacks as a tree from the outermost methods down. Truncated stacks begin with
// their outermost known method.
func (t *Table) Tree() *Node {
	type place struct {
		above  *Node
		method int
	}
	top := &Node{}
	nodes := map[place]*Node{}
	for i, s := range t.samples {
		weight := t.weights[i]
		if weight == 0 {
			continue
		}
		at := top
		at.Total += weight
		for _, frame := range slices.Backward(s.Stack.Frames) {
			if frame.Method == nil {
				continue
			}
			number := t.names[frame.Method.Ref()]
			below := nodes[place{at, number}]
			if below == nil {
				below = &Node{Method: t.Methods[number].Method, Kinds: map[string]float64{}}
				nodes[place{at, number}] = below
				at.Children = append(at.Children, below)
			}
			at = below
			at.Total += weight
			at.Kinds[frame.Kind.String()] += weight
		}
		at.Self += weight
	}
	sortChildren(top)
	return top
}

func sortChildren(n *Node) {
	slices.SortFunc(n.Children, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Method.Class, b.Method.Class), cmp.Compare(a.Method.Name, b.Method.Name))
	})
	for _, c := range n.Children {
		sortChildren(c)
	}
}
