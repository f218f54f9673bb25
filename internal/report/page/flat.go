package page

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// A flatMethod is a method over all contexts it was called in.
type flatMethod struct {
	method int
	calls  uint64
	timed  uint64
	self   cct.Time
}

// flatten sums a tree by method, the longest self time first.
func flatten(top *cct.Node, methods int) []flatMethod {
	sums := make([]flatMethod, methods)
	visit(top, func(n *cct.Node) {
		if n.Method < 0 || n.Method >= methods {
			return
		}
		sum := &sums[n.Method]
		sum.calls += n.Calls
		sum.timed += n.Timed
		sum.self.Nanos += n.Self.Nanos
		sum.self.Low += n.Self.Low
		sum.self.High += n.Self.High
	})
	called := make([]flatMethod, 0, methods)
	for i, sum := range sums {
		if sum.calls > 0 {
			sum.method = i
			called = append(called, sum)
		}
	}
	slices.SortStableFunc(called, func(a, b flatMethod) int { return cmp.Compare(b.self.Nanos, a.self.Nanos) })
	return called
}

// visit calls do for each node of a tree, callers before callees.
func visit(top *cct.Node, do func(*cct.Node)) {
	if top == nil {
		return
	}
	waiting := []*cct.Node{top}
	for len(waiting) > 0 {
		last := len(waiting) - 1
		n := waiting[last]
		waiting = waiting[:last]
		do(n)
		waiting = append(waiting, n.Children...)
	}
}

// sumTotal is the time of a tree: that of its roots.
func sumTotal(top *cct.Node) float64 {
	if top == nil {
		return 0
	}
	if top.Method >= 0 {
		return top.Total.Nanos
	}
	var sum float64
	for _, root := range top.Children {
		sum += root.Total.Nanos
	}
	return sum
}

// errorOf is how far the truth may be from a time.
func errorOf(t cct.Time) float64 {
	return max(math.Abs(t.Nanos-t.Low), math.Abs(t.High-t.Nanos))
}

// A name is a method's name for people, in the parts that are set apart.
type name struct {
	Package, Class, Method string
}

// nameOf takes a method's name apart.
func nameOf(m cct.Method) name {
	class := strings.ReplaceAll(m.Class, "/", ".")
	if dot := strings.LastIndexByte(class, '.'); dot >= 0 {
		return name{Package: class[:dot+1], Class: class[dot+1:], Method: m.Name}
	}
	return name{Class: class, Method: m.Name}
}
