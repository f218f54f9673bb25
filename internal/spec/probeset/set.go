package probeset

import "time"

// Set is what is wanted of one JVM.
type Set struct {
	Probes []Probe
	Tags   []Tag
	// HandOff has transactions keep context and tags where they go on in another
	// thread. A file that says nothing about it wants it.
	HandOff bool
	// Weave says when classes may get hooks; the first rule counts that names a class.
	Weave []Rule
}

// Probe is one thing that is asked for.
type Probe struct {
	Name     string   // by which results and changes are told
	Methods  []string // patterns, as package probe reads them; one with ! takes out
	Within   []string // sequences; each has its own results. None: everywhere
	Context  int      // results by so many callers, MostContext at most; 0: not by callers
	When     string   // a condition; empty: always
	Level    Level
	Template Template
	Captures []string // values, MostCaptures at most
	Allow    []string // names that are not redacted

	Levels     int           // of a trace: how many levels of calls below are traced, too; 0: as is usual
	SlowerThan time.Duration // calls that took less are not acted on; transactions are not kept
	Sample     uint32        // one call in so many is acted on; 0 and 1: every one
	GroupBy    []string      // tags by whose values results are told apart
	For        time.Duration // the probe ends after so long; 0: not by time
	Calls      uint64        // the probe ends after so many calls; 0: not by calls
}

// Tag is a value that all below a method sees by a name. A name may be given at
// several methods: the innermost that is on the stack counts.
type Tag struct {
	Name  string
	Value string // a path such as $1.customer.tier
	At    string // a pattern
}

// Limits of a set. A hook has room for no more.
const (
	MostContext  = 8
	MostCaptures = 8
	MostTags     = 16 // names
	MostProbes   = 1000
	MostLevels   = 1000
	MostSample   = 1 << 20
	MostRules    = 1000
)

// usualLevel is the level of a probe that states none: the least that uses what it
// states.
func (p *Probe) usualLevel() Level {
	switch {
	case len(p.Captures) > 0:
		return Capture
	case p.Levels > 0, p.SlowerThan > 0:
		return Trace
	}
	return Time
}
