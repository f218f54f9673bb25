package rootcause

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
)

// stacks is what all sampled stacks show: which method calls which from where, and which
// code is compiled together.
type stacks struct {
	edges     map[edge]map[int]bool                   // offsets of the calls in the caller's code
	inlined   map[string]map[classfile.MethodRef]bool // by class: the methods into which its code is inlined
	code      map[string]map[classfile.MethodRef]bool // by class: the compiled methods that contain its code
	kinds     map[classfile.MethodRef]*kinds
	native    map[classfile.MethodRef]bool
	recursive map[classfile.MethodRef]bool
	pieces    []piece
	shed      map[string]bool // classes that are left alone because too much code depends on them
}

// An edge is a call of one method by another.
type edge struct{ caller, callee classfile.MethodRef }

// kinds are how often a method was seen compiled by itself, or inlined.
type kinds struct{ apart, inlined int }

// A piece is the code that ran: the innermost frames of a stack, as far as they are
// compiled together.
type piece struct {
	classes map[string]bool // redefining one of them discards the piece
	root    string          // the class whose method was compiled
}

func newStacks() *stacks {
	return &stacks{
		edges: make(map[edge]map[int]bool), inlined: make(map[string]map[classfile.MethodRef]bool),
		code: make(map[string]map[classfile.MethodRef]bool), kinds: make(map[classfile.MethodRef]*kinds),
		native: make(map[classfile.MethodRef]bool), recursive: make(map[classfile.MethodRef]bool),
	}
}

func (s *stacks) add(stack *jfr.Stack) {
	code, isComplete := piece{classes: make(map[string]bool)}, false
	var callee *classfile.MethodRef
	var inlined []string // classes of frames that are inlined into the next one that is not
	for _, frame := range stack.Frames {
		if !frame.IsJava() {
			continue
		}
		if !isComplete {
			code.classes[frame.Method.Class], code.root = true, frame.Method.Class
			isComplete = frame.Kind != jfr.Inlined
		}
		m := frame.Method.Ref()
		if frame.Method.Modifiers&int(classfile.AccNative) != 0 || frame.Kind == jfr.Native {
			s.native[m] = true
		}
		if s.kinds[m] == nil {
			s.kinds[m] = &kinds{}
		}
		switch frame.Kind {
		case jfr.Inlined:
			s.kinds[m].inlined++
			inlined = append(inlined, m.Class)
		case jfr.Compiled, jfr.C1, jfr.C2:
			s.kinds[m].apart++
			addTo(s.code, m.Class, m)
		}
		if frame.Kind != jfr.Inlined {
			for _, class := range inlined {
				addTo(s.inlined, class, m)
				addTo(s.code, class, m)
			}
			inlined = inlined[:0]
		}
		if hotspots.PassesOn(m.Class) {
			continue
		}
		if callee != nil && *callee == m {
			s.recursive[m] = true
		} else if callee != nil {
			addTo(s.edges, edge{m, *callee}, frame.BCI)
		}
		callee = &m
	}
	if len(s.pieces) == maxPieces {
		s.pieces = append(s.pieces[:0], s.pieces[maxPieces/2:]...)
	}
	s.pieces = append(s.pieces, code)
}

// maxPieces is how many pieces are kept: the newest show what is hot now.
const maxPieces = 2000

func addTo[K, V comparable](sets map[K]map[V]bool, key K, value V) {
	if sets[key] == nil {
		sets[key] = make(map[V]bool)
	}
	sets[key][value] = true
}

// isInlined reports whether compilers inline a method more often than not.
func (s *stacks) isInlined(m classfile.MethodRef) bool {
	seen := s.kinds[m]
	return seen != nil && seen.inlined > seen.apart
}

// heat returns the part of the running code that is compiled together with some of the
// classes.
func (s *stacks) heat(classes map[string]bool) float64 {
	return s.part(func(p piece) bool {
		for class := range p.classes {
			if classes[class] {
				return true
			}
		}
		return false
	})
}

// lent returns the part of the running code that has code of a class inlined into methods
// of others.
func (s *stacks) lent(class string) float64 {
	return s.part(func(p piece) bool { return p.classes[class] && p.root != class })
}

func (s *stacks) part(is func(piece) bool) float64 {
	hits := 0
	for _, p := range s.pieces {
		if is(p) {
			hits++
		}
	}
	return float64(hits) / float64(max(len(s.pieces), 1))
}

const (
	// A few classes may all be redefined; of many only those by which no more than maxHeat
	// of the running code is discarded.
	fewClasses = 8
	maxHeat    = 0.35
	// maxCode is how many compiled methods may be discarded for a climb. Compilers work for
	// tens of milliseconds on each, in which the program runs slower code.
	maxCode = 24
	// maxLent is how much of the running code may have code of a class inlined into methods
	// of others. Redefining a class resets its profile; those methods keep theirs and are
	// compiled again at once, without the data that made them fast, and for good.
	maxLent = 0.02
	// maxInlined is the number of methods into which a class may be inlined and still be
	// redefined: all of them are discarded.
	maxInlined = 16
)

// judge decides which classes are left alone because too much of the running code depends
// on them. The weights are those of the paths through each class: classes that explain
// most for the code that is discarded come first.
func (s *stacks) judge(weights map[string]float64) {
	worth := func(class string) float64 { return weights[class] / float64(1+len(s.code[class])) }
	classes := slices.SortedFunc(maps.Keys(weights), func(a, b string) int {
		return cmp.Or(cmp.Compare(worth(b), worth(a)), strings.Compare(a, b))
	})
	s.shed = make(map[string]bool)
	chosen, code := make(map[string]bool), make(map[classfile.MethodRef]bool)
	for _, class := range classes {
		chosen[class] = true
		more := maps.Clone(code)
		maps.Copy(more, s.code[class])
		if len(more) > maxCode || s.lent(class) > maxLent || len(chosen) > fewClasses && s.heat(chosen) > maxHeat {
			delete(chosen, class)
			s.shed[class] = true
			continue
		}
		code = more
	}
}

// isCentral reports whether redefining a class would cost the program too much.
func (s *stacks) isCentral(class string) bool {
	return callgraph.IsJDK(class) || s.shed[class] || len(s.inlined[class]) > maxInlined
}
