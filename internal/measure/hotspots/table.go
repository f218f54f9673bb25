package hotspots

import (
	"cmp"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// A Table is where time was spent in a window.
type Table struct {
	From, To time.Time
	Samples  int           // that count
	Waiting  int           // of threads that wait in native code
	Unit     time.Duration // for which a weight of one stands
	Methods  []Method      // by self time
	Threads  []Thread      // by share

	whole   float64
	count   float64
	names   map[identity]int
	samples []jfr.Sample
	weights []float64
}

// A Method is one that was met on a stack.
type Method struct {
	*jfr.Method
	Self, Total Share
	Samples     int                // in which it was on top
	Lines       []Line             // of its samples on top, most first
	Kinds       map[string]float64 // of its samples on top, the part of each kind of frame
}

// A Line is a part of a method's self time.
type Line struct {
	Line int     // 0 where the class file has none
	Part float64 // of the method's self time
}

// A Thread is one that ran.
type Thread struct {
	*jfr.Thread
	Share   Share
	Samples int
	Waiting int
	CPU     float64 // of one processor; negative where not known
	Top     *jfr.Method
}

// identity is what makes two methods one: chunks of a recording have their own
// pointers.
type identity struct{ class, name, descriptor string }

func identityOf(m *jfr.Method) identity { return identity{m.Class, m.Name, m.Descriptor} }

// Table sums up the window as it is at a moment.
func (w *Window) Table(now time.Time) *Table {
	from, to := w.bounds(now)
	t := &Table{From: from, To: to, names: map[identity]int{}}
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

// A sum is a method's weight while it is added up.
type sum struct {
	method      *jfr.Method
	self, total float64
	samples     int
	lines       map[int]float64
	kinds       map[string]float64
	last        int // the sample that counted for its total last
}

func (t *Table) sumMethods() {
	var sums []*sum
	pointers := map[*jfr.Method]*sum{}
	find := func(m *jfr.Method) *sum {
		if s := pointers[m]; s != nil {
			return s
		}
		id := identityOf(m)
		at, known := t.names[id]
		if !known {
			at = len(sums)
			t.names[id] = at
			sums = append(sums, &sum{method: m, lines: map[int]float64{}, kinds: map[string]float64{}, last: -1})
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
			if s.last != i { // once, however often it calls itself
				s.last = i
				s.total += weight
			}
			if depth == 0 {
				s.self += weight
				s.samples++
				s.lines[frame.Line] += weight
				s.kinds[frame.Kind.String()] += weight
			}
		}
	}
	t.Methods = make([]Method, 0, len(sums))
	for _, s := range sums {
		t.Methods = append(t.Methods, s.row(t))
	}
	slices.SortFunc(t.Methods, BySelf)
	for i, m := range t.Methods {
		t.names[identityOf(m.Method)] = i
	}
}

func (s *sum) row(t *Table) Method {
	m := Method{
		Method: s.method, Samples: s.samples, Kinds: s.kinds,
		Self: ShareOf(s.self, t.whole, t.count), Total: ShareOf(s.total, t.whole, t.count),
	}
	for line, weight := range s.lines {
		m.Lines = append(m.Lines, Line{line, weight / s.self})
	}
	slices.SortFunc(m.Lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(b.Part, a.Part), cmp.Compare(a.Line, b.Line))
	})
	for kind := range s.kinds {
		s.kinds[kind] /= s.self
	}
	return m
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
	return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Descriptor, b.Descriptor))
}
