package rootcause

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// calls is what stacks show of the program beside the ways: who calls whom from
// where, and what is compiled into what.
type calls struct {
	edges  map[edge]map[int]bool      // offsets of the calls, in the caller's code
	into   map[string]map[method]bool // by class: the methods that have code of it compiled into them
	code   map[string]map[method]bool // by class: all methods whose compiled code goes with it, its own among them
	seen   map[method]*kinds          // how often methods were met as what
	known  map[method]bool            // native methods
	loops  map[method]bool            // methods that were seen to call themselves
	pieces []piece
	shed   map[string]bool // classes that are left alone for that
}

// kinds are how often a method was met compiled, for itself or into its caller.
type kinds struct{ apart, inlined int }

// A piece is the code that ran: the innermost frames of a stack, as far as they are
// compiled together.
type piece struct {
	classes map[string]bool // to redefine one of them throws it away
	root    string          // the class whose method was compiled
}

// An edge is a call of one method by another.
type edge struct{ caller, callee method }

func newCalls() *calls {
	return &calls{edges: make(map[edge]map[int]bool), into: make(map[string]map[method]bool), code: make(map[string]map[method]bool), seen: make(map[method]*kinds), known: make(map[method]bool), loops: make(map[method]bool)}
}

const accNative = 0x0100

// add learns from a stack.
func (c *calls) add(stack *jfr.Stack) {
	var below *method
	var inlined []string // classes of frames that are compiled into the next that is not
	own := ours(len(stack.Frames), func(i int) string {
		if m := stack.Frames[i].Method; m != nil {
			return m.Class
		}
		return ""
	})
	code, whole := piece{classes: make(map[string]bool)}, false
	for _, frame := range stack.Frames[own:] {
		if frame.Method == nil {
			continue
		}
		if !whole {
			code.classes[frame.Method.Class], code.root = true, frame.Method.Class
			whole = frame.Kind != jfr.Inlined
		}
		m := methodOf(frame.Method)
		if frame.Method.Modifiers&accNative != 0 || frame.Kind == jfr.Native {
			c.known[m] = true
		}
		c.meet(m, frame.Kind)
		if frame.Kind == jfr.Inlined {
			inlined = append(inlined, m.class)
		} else {
			for _, class := range inlined {
				note(c.into, class, m)
				note(c.code, class, m)
			}
			inlined = inlined[:0]
			if frame.Kind == jfr.Compiled {
				note(c.code, m.class, m)
			}
		}
		if carries(m) {
			continue
		}
		if below != nil && *below == m {
			c.loops[m] = true
		}
		if below != nil && *below != m {
			e := edge{m, *below}
			if c.edges[e] == nil {
				c.edges[e] = make(map[int]bool)
			}
			c.edges[e][frame.BCI] = true
		}
		below = &m
	}
	if len(c.pieces) == mostPieces {
		c.pieces = append(c.pieces[:0], c.pieces[mostPieces/2:]...)
	}
	c.pieces = append(c.pieces, code)
}

func (c *calls) meet(m method, kind jfr.FrameKind) {
	met := c.seen[m]
	if met == nil {
		met = &kinds{}
		c.seen[m] = met
	}
	switch kind {
	case jfr.Inlined:
		met.inlined++
	case jfr.Compiled:
		met.apart++
	}
}

// isInlined reports whether compilers put a method into its callers more often than not.
func (c *calls) isInlined(m method) bool {
	met := c.seen[m]
	return met != nil && met.inlined > met.apart
}

func note(of map[string]map[method]bool, class string, m method) {
	if of[class] == nil {
		of[class] = make(map[method]bool)
	}
	of[class][m] = true
}

// mostPieces is how many are kept: the newest say what is hot now.
const mostPieces = 2000

// heat is the part of what ran that is compiled together with some of the classes.
func (c *calls) heat(classes map[string]bool) float64 {
	return c.part(func(p piece) bool {
		for class := range p.classes {
			if classes[class] {
				return true
			}
		}
		return false
	})
}

// lent is the part of what ran that has code of a class compiled into methods of others.
func (c *calls) lent(class string) float64 {
	return c.part(func(p piece) bool { return p.classes[class] && p.root != class })
}

// part is the part of what ran of which something is true.
func (c *calls) part(is func(piece) bool) float64 {
	if len(c.pieces) == 0 {
		return 0
	}
	hits := 0
	for _, p := range c.pieces {
		if is(p) {
			hits++
		}
	}
	return float64(hits) / float64(len(c.pieces))
}

const (
	// Of a few classes all may be redefined; of many only so many of the coolest that
	// this part of what runs is thrown away.
	fewClasses = 8
	mostHeat   = 0.35
	// mostCode is how many compiled methods may be thrown away for a climb. Compilers
	// work for tens of milliseconds on each, in which the program does with slower code.
	mostCode = 24
	// mostLent is how much of what runs may have code of a class in methods of others.
	// A class that is redefined forgets what was learnt of it, those methods do not and
	// are compiled again at once: without what made the code fast, and for good.
	mostLent = 0.02
)

// judge decides which classes are left alone because they are compiled into too much of
// what runs. Weights are what lies on the ways through each: those come first that tell
// most for the code that is thrown away.
func (c *calls) judge(weights map[string]float64) {
	classes := slices.Collect(maps.Keys(weights))
	worth := func(class string) float64 { return weights[class] / float64(1+len(c.code[class])) }
	slices.SortFunc(classes, func(a, b string) int { return cmp.Or(cmp.Compare(worth(b), worth(a)), strings.Compare(a, b)) })
	c.shed = make(map[string]bool)
	chosen, code := make(map[string]bool), make(map[method]bool)
	for _, class := range classes {
		chosen[class] = true
		more := maps.Clone(code)
		maps.Copy(more, c.code[class])
		if len(more) > mostCode || c.lent(class) > mostLent || len(chosen) > fewClasses && c.heat(chosen) > mostHeat {
			delete(chosen, class)
			c.shed[class] = true
			continue
		}
		code = more
	}
}

// tooCentral is into how many methods a class may be compiled for it to be redefined:
// all of them are thrown away then.
const tooCentral = 16

// isCentral reports whether to redefine a class would cost the program dear.
func (c *calls) isCentral(class string) bool {
	return isLibrary(class) || c.shed[class] || len(c.into[class]) > tooCentral
}
