package walk

import (
	"github.com/sonde-jvm/sonde/internal/flight"
)

// calls is what stacks show of the program beside the ways: who calls whom from
// where, and what is compiled into what.
type calls struct {
	edges map[edge]map[int]bool      // offsets of the calls, in the caller's code
	into  map[string]map[method]bool // by class: the methods that have code of it compiled into them
	known map[method]bool            // native methods
}

// An edge is a call of one method by another.
type edge struct{ caller, callee method }

func newCalls() *calls {
	return &calls{edges: make(map[edge]map[int]bool), into: make(map[string]map[method]bool), known: make(map[method]bool)}
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
	for _, frame := range stack.Frames[own:] {
		if frame.Method == nil {
			continue
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
		if below != nil && *below != m {
			e := edge{m, *below}
			if c.edges[e] == nil {
				c.edges[e] = make(map[int]bool)
			}
			c.edges[e][frame.BCI] = true
		}
		below = &m
	}
}

// tooCentral is into how many methods a class may be compiled for it to be redefined:
// all of them are thrown away then.
const tooCentral = 16

// isCentral reports whether to redefine a class would cost the program dear.
func (c *calls) isCentral(class string) bool {
	return isLibrary(class) || len(c.into[class]) > tooCentral
}
