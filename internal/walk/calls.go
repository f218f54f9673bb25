package walk

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/flight"
)

// calls is what stacks show of the program beside the ways: who calls whom from
// where, and what is compiled into what.
type calls struct {
	edges map[edge]map[int]bool      // offsets of the calls, in the caller's code
	into  map[string]map[method]bool // by class: the methods that have code of it compiled into them
	known map[method]bool            // native methods
	loops map[method]bool            // methods that were seen to call themselves
	// pieces are the classes of the innermost frames of stacks, as far as they are
	// compiled into one piece: to redefine one of them throws it away.
	pieces []map[string]bool
	shed   map[string]bool // classes that are left alone for that
}

// An edge is a call of one method by another.
type edge struct{ caller, callee method }

func newCalls() *calls {
	return &calls{edges: make(map[edge]map[int]bool), into: make(map[string]map[method]bool), known: make(map[method]bool), loops: make(map[method]bool)}
}

const accNative = 0x0100

// add learns from a stack.
func (c *calls) add(stack *flight.Stack) {
	var below *method
	var inlined []string // classes of frames that are compiled into the next that is not
	own := ours(len(stack.Frames), func(i int) string {
		if m := stack.Frames[i].Method; m != nil {
			return m.Class
		}
		return ""
	})
	piece, whole := make(map[string]bool), false
	for _, frame := range stack.Frames[own:] {
		if frame.Method == nil {
			continue
		}
		if !whole {
			piece[frame.Method.Class] = true
			whole = frame.Kind != flight.Inlined
		}
		m := methodOf(frame.Method)
		if frame.Method.Modifiers&accNative != 0 || frame.Kind == flight.Native {
			c.known[m] = true
		}
		if frame.Kind == flight.Inlined {
			inlined = append(inlined, m.class)
		} else {
			for _, class := range inlined {
				if c.into[class] == nil {
					c.into[class] = make(map[method]bool)
				}
				c.into[class][m] = true
			}
			inlined = inlined[:0]
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
	c.pieces = append(c.pieces, piece)
}

// mostPieces is how many are kept: the newest say what is hot now.
const mostPieces = 2000

// heat is the part of what ran that is compiled together with some of the classes.
func (c *calls) heat(classes map[string]bool) float64 {
	if len(c.pieces) == 0 {
		return 0
	}
	hit := 0
	for _, piece := range c.pieces {
		for class := range piece {
			if classes[class] {
				hit++
				break
			}
		}
	}
	return float64(hit) / float64(len(c.pieces))
}

const (
	// Of a few classes all may be redefined; of many only so many of the coolest that
	// this part of what runs is thrown away.
	fewClasses = 8
	mostHeat   = 0.35
)

// judge decides which classes of some methods are left alone because they are
// compiled into too much of what runs.
func (c *calls) judge(methods []method) {
	var classes []string
	for _, m := range methods {
		if !isLibrary(m.class) && !slices.Contains(classes, m.class) {
			classes = append(classes, m.class)
		}
	}
	c.shed = make(map[string]bool)
	if len(classes) <= fewClasses {
		return
	}
	heat := make(map[string]float64, len(classes))
	for _, class := range classes {
		heat[class] = c.heat(map[string]bool{class: true})
	}
	slices.SortStableFunc(classes, func(a, b string) int { return cmp.Or(cmp.Compare(heat[a], heat[b]), strings.Compare(a, b)) })
	chosen := make(map[string]bool)
	for i, class := range classes {
		chosen[class] = true
		if i >= fewClasses && c.heat(chosen) > mostHeat {
			delete(chosen, class)
			c.shed[class] = true
		}
	}
}

// tooCentral is into how many methods a class may be compiled for it to be redefined:
// all of them are thrown away then.
const tooCentral = 16

// isCentral reports whether to redefine a class would cost the program dear.
func (c *calls) isCentral(class string) bool {
	return isLibrary(class) || c.shed[class] || len(c.into[class]) > tooCentral
}
