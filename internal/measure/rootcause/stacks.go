package rootcause

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// stacks is what all sampled stacks show: which method calls which from where, and which
// code is compiled together.
type stacks struct {
	edges     map[edge]map[int]bool // offsets of the calls in the caller's code
	kinds     map[classfile.MethodRef]*kinds
	native    map[classfile.MethodRef]bool
	recursive map[classfile.MethodRef]bool
	pieces    []piece
	shed      map[string]string // by class: why it is left alone
}

type edge struct{ caller, callee classfile.MethodRef }

// kinds are how often a method was seen compiled by itself, or inlined.
type kinds struct{ apart, inlined int }

// A piece is the code that ran: the innermost frames of a stack, as far as they are compiled
// together. It is empty where an interpreter ran.
type piece struct {
	classes map[string]bool // redefining one of them discards the piece
	root    string          // the class whose method was compiled
}

func newStacks() *stacks {
	return &stacks{
		edges: make(map[edge]map[int]bool), kinds: make(map[classfile.MethodRef]*kinds),
		native: make(map[classfile.MethodRef]bool), recursive: make(map[classfile.MethodRef]bool),
	}
}

func (s *stacks) add(stack *jfr.Stack) {
	var callee *classfile.MethodRef
	for _, frame := range stack.Frames {
		if !frame.IsJava() {
			continue
		}
		m := frame.Method.Ref()
		if isNative(frame) {
			s.native[m] = true
		}
		if s.kinds[m] == nil {
			s.kinds[m] = &kinds{}
		}
		switch frame.Kind {
		case jfr.Inlined:
			s.kinds[m].inlined++
		case jfr.Compiled, jfr.C1, jfr.C2:
			s.kinds[m].apart++
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
	s.pieces = append(s.pieces, pieceOf(stack))
}

func isNative(f jfr.Frame) bool {
	return f.Method.Modifiers&int(classfile.AccNative) != 0 || f.Kind == jfr.Native
}

// pieceOf returns the code that ran. The caller of a native method counts as running.
func pieceOf(stack *jfr.Stack) piece {
	code := piece{classes: make(map[string]bool)}
	for _, frame := range stack.Frames {
		if !frame.IsJava() || isNative(frame) {
			continue
		}
		if frame.Kind == jfr.Interpreted {
			return piece{}
		}
		code.classes[frame.Method.Class], code.root = true, frame.Method.Class
		if frame.Kind != jfr.Inlined {
			break
		}
	}
	return code
}

// named returns a method as stacks name it: thread dumps have no descriptors.
func (s *stacks) named(m classfile.MethodRef) classfile.MethodRef {
	short := classfile.MethodRef{Class: m.Class, Name: m.Name}
	if s.kinds[m] == nil && s.kinds[short] != nil {
		return short
	}
	return m
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

// lent returns the part of the running code that has code of a class inlined into methods of
// classes that are not redefined.
func (s *stacks) lent(class string, redefined map[string]bool) float64 {
	return s.part(func(p piece) bool { return p.classes[class] && !redefined[p.root] })
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

// maxLent is how much of the running code may have code of a class inlined into methods of
// classes that stay as they are. Redefining a class resets its profile. Those methods keep theirs
// and are compiled again at once, without the data that made them fast, and for good: streams
// over a class became slower by a third on JDK 25.
const maxLent = 0.02

// judge decides which classes are left alone because redefining them would cost too much. The
// weights are the weights of the paths through each class: classes that explain most for the code
// that is discarded come first, after the program's own, in which causes are searched.
func (s *stacks) judge(weights map[string]float64, price price, isOwn func(class string) bool) {
	const least = 0.01 // of the running code: what less depends on costs next to nothing
	worth := make(map[string]float64, len(weights))
	for class, weight := range weights {
		worth[class] = weight / max(least, s.heat(map[string]bool{class: true}))
	}
	classes := slices.SortedFunc(maps.Keys(weights), func(a, b string) int {
		return cmp.Or(trueFirst(isOwn(a), isOwn(b)), cmp.Compare(worth[b], worth[a]), strings.Compare(a, b))
	})
	s.shed = make(map[string]string)
	chosen := make(map[string]bool)
	for range 2 { // what is inlined into a class that is chosen later may be redefined with it
		for _, class := range classes {
			if chosen[class] {
				continue
			}
			chosen[class] = true
			if s.shed[class] = s.whyNot(class, chosen, price); s.shed[class] != "" {
				delete(chosen, class)
			}
		}
	}
}

// trueFirst compares two conditions so that values for which they hold come first.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// whyNot returns why a class may not be redefined with all that are chosen; "" if it may.
func (s *stacks) whyNot(class string, chosen map[string]bool, price price) string {
	if lent := s.lent(class, chosen); lent > maxLent {
		return fmt.Sprintf("in %s of the samples, methods of its class are inlined into methods of other classes; if its class were changed, HotSpot would compile the methods of the other classes again without its profile of the inlined ones", format.Percent(lent))
	}
	if price.of(s.heat(chosen)) > price.limit {
		return fmt.Sprintf("%s of the samples are in code that contains methods of its class: changing it, with the classes of heavier call paths, would cost more work than the %s that --budget allows (compiling all code again costs about %s)",
			format.Percent(s.heat(map[string]bool{class: true})), format.Duration(price.limit), format.Duration(price.all))
	}
	return ""
}
