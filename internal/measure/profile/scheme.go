package profile

import (
	"fmt"
	"math"

	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

const (
	// Up to so many methods hooks always go in at once: a second redefinition of a
	// class that is hot costs a program more than hooks that are not needed.
	fewMethods = 300
	// So many classes are never changed at once.
	mostClasses = 3000
	// fan is how many targets a call may have that is likely made to all of them.
	fan = 4
)

// decide chooses the scheme where that is left to Sonde.
func (r *run) decide(roots []callgraph.Method) {
	size, likely := r.graph.Closure(roots), r.graph.Likely(roots, fan)
	r.lock.Lock()
	defer r.lock.Unlock()
	r.closure = size.Methods
	reach := fmt.Sprintf("%s can be reached in %s", format.Plural(size.Methods, "method"), format.Plural(size.Classes, "class"))
	switch {
	case r.Timing == cct.Auto:
		r.scheme, r.why = Lazy, reach+"; hooks are added as the budget allows"
	case r.Scheme != "":
		r.scheme, r.why = r.Scheme, "asked for; "+reach
	case len(roots) == 0:
		r.scheme, r.why = Lazy, "the root's class is not loaded yet, so what it reaches is not known"
	case size.Methods <= fewMethods:
		r.scheme, r.why = Eager, reach+": one round of hooks costs the target less than several"
	case 3*likely.Methods > size.Methods && size.Classes <= mostClasses:
		r.scheme, r.why = Eager, fmt.Sprintf("%s, most of them likely (%d): one round of hooks costs the target less than several", reach, likely.Methods)
	default:
		r.scheme, r.why = Lazy, fmt.Sprintf("%s, few of them likely (%d): hooks in those that are entered cost the target less than hooks in all", reach, likely.Methods)
	}
}

// unlimited looks at all there is.
var unlimited = callgraph.Limits{Depth: math.MaxInt, Methods: math.MaxInt, Fan: math.MaxInt}

// ahead bounds how far a lazy round looks. The further a run is, the further: the
// price of a round is the round.
func ahead(rounds int) callgraph.Limits {
	if rounds >= manyRounds {
		return callgraph.Limits{Depth: math.MaxInt, Methods: math.MaxInt, Fan: 4 * fan}
	}
	return callgraph.Limits{Depth: 2 + 2*rounds, Methods: 128 << rounds, Fan: fan}
}

// manyRounds is after how many a program has shown that it goes everywhere.
const manyRounds = 6
