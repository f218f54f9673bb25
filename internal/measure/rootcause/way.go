package rootcause

import (
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// A method is one of the program. Its strings are as class files have them.
type method struct{ class, name, descriptor string }

func methodOf(m *jfr.Method) method { return method{m.Class, m.Name, m.Descriptor} }

// A way is a method on the way up from a hot spot. The hot spot itself is one that
// calls nothing on it.
type way struct {
	method  method
	below   *way // what it calls; nil in the hot spot
	level   int
	weight  float64 // samples that came this way
	entries float64 // of those, with nothing above: a thread begins here
	cut     float64 // of those, with more above than the recorder kept
	callers map[method]*way
}

func newWay(m method) *way { return &way{method: m, callers: make(map[method]*way)} }

// add puts a stack on a way: what is above this method, the innermost first.
func (w *way) add(above []method, weight float64, truncated bool) {
	w.weight += weight
	if len(above) == 0 {
		if truncated {
			w.cut += weight
		} else {
			w.entries += weight
		}
		return
	}
	w.caller(above[0]).add(above[1:], weight, truncated)
}

// caller is the way on through a caller.
func (w *way) caller(m method) *way {
	next := w.callers[m]
	if next == nil {
		next = newWay(m)
		next.below, next.level = w, w.level+1
		w.callers[m] = next
	}
	return next
}

// holds reports whether a method is on the way from the hot spot up to here.
func (w *way) holds(m method) bool {
	for at := w; at != nil; at = at.below {
		if at.method == m {
			return true
		}
	}
	return false
}

// each visits a way and all above it whose weight is at least a part of the hot
// spot's.
func (w *way) each(least float64, visit func(*way)) {
	if w.weight < least {
		return
	}
	visit(w)
	for _, next := range w.callers {
		next.each(least, visit)
	}
}

// straighten gives the methods of a stack, the innermost first, as a program's author
// would tell them: what only carries a call is left out, and a circle is cut, so that
// no method is met twice.
func straighten(stack []*jfr.Method) []method {
	var straight []method
	at := make(map[method]int)
	for _, one := range stack[ours(len(stack), func(i int) string { return stack[i].Class }):] {
		m := methodOf(one)
		if carries(m) || len(straight) > 0 && m.bridges(straight[len(straight)-1]) {
			continue
		}
		if before, met := at[m]; met {
			for _, gone := range straight[before+1:] {
				delete(at, gone)
			}
			straight = straight[:before+1]
			continue
		}
		at[m] = len(straight)
		straight = append(straight, m)
	}
	return straight
}

// ours is how many of the innermost frames of a stack are Sonde's own: its hooks, and
// what those call.
func ours(frames int, class func(int) string) int {
	for i := frames - 1; i >= 0; i-- {
		if strings.HasPrefix(class(i), "java/lang/SondeHooks") {
			return i + 1
		}
	}
	return 0
}

// bridges reports whether a method is there only to call another that returns
// something else.
func (m method) bridges(other method) bool {
	parameters := func(m method) string { return m.descriptor[:strings.LastIndexByte(m.descriptor, ')')+1] }
	return m != other && m.class == other.class && m.name == other.name && parameters(m) == parameters(other)
}

// carriers are where methods are that only carry a call: to a lambda, a member, a
// handle.
var carriers = []string{"java/lang/invoke/", "java/lang/reflect/", "jdk/internal/reflect/", "jdk/internal/vm/Continuation"}

// carries reports whether a method is none that someone wrote, or does nothing but
// call another.
func carries(m method) bool {
	if strings.Contains(m.class, "$$Lambda") {
		return true
	}
	for _, prefix := range carriers {
		if strings.HasPrefix(m.class, prefix) {
			return true
		}
	}
	return false
}

// library are the packages of the JDK.
var library = []string{"java/", "javax/", "jdk/", "sun/", "com/sun/"}

func isLibrary(class string) bool {
	for _, prefix := range library {
		if strings.HasPrefix(class, prefix) {
			return true
		}
	}
	return false
}
