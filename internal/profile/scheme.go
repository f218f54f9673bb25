package profile

import (
	"fmt"
	"math"

	"github.com/sonde-jvm/sonde/internal/callgraph"
	"github.com/sonde-jvm/sonde/internal/cct"
)

// eagerMost is up to how many methods, in how many classes, hooks go in at once by
// default. A second redefinition of a class that is hot costs a program more than
// hooks that turn out not to be needed; thousands of them no longer do.
const (
	eagerMethods = 2000
	eagerClasses = 400
)

// decide chooses the scheme where that is left to Sonde.
func (r *run) decide(roots []callgraph.Method) {
	size := r.graph.Closure(roots)
	r.lock.Lock()
	defer r.lock.Unlock()
	r.closure = size.Methods
	reach := fmt.Sprintf("%s can be reached in %s", plural(size.Methods, "method"), plural(size.Classes, "class"))
	switch {
	case r.Timing == cct.Auto:
		r.scheme = Lazy
		r.why = reach + "; hooks are added as the budget allows"
		if r.Scheme != "" {
			r.scheme, r.why = r.Scheme, "asked for; "+r.why
		}
	case r.Scheme != "":
		r.scheme, r.why = r.Scheme, "asked for; "+reach
	case len(roots) == 0:
		r.scheme, r.why = Lazy, "the root's class is not loaded yet, so what it reaches is not known"
	case size.Methods <= eagerMethods && size.Classes <= eagerClasses:
		r.scheme, r.why = Eager, reach+": one round of hooks costs the target less than several"
	default:
		r.scheme, r.why = Lazy, reach+": hooks in those that are entered cost the target less than hooks in all"
	}
}

func plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case noun[len(noun)-1] == 's':
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// unlimited looks at all there is.
var unlimited = callgraph.Limits{Depth: math.MaxInt, Methods: math.MaxInt, Fan: math.MaxInt}

// ahead bounds how far a lazy round looks. The further a run is, the further: the
// price of a round is the round.
func ahead(rounds int) callgraph.Limits {
	return callgraph.Limits{Depth: 2 + rounds, Methods: min(64<<min(rounds, 6), 2048), Fan: 4}
}
