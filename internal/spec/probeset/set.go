// Package wanted holds what is wanted of a JVM as data: probes, tags, and their file,
// probes.yaml, whose schema is told in docs/formats/probes.md. It reads and writes the
// text, checks it as far as that can be without classes, and tells two sets apart.
//
// [Parse] is strict: what it does not know is an error, and all errors are told at
// once, each with its line and what to do. [Set.YAML] writes the canonical text, which
// parses back to the same set. Sets that were made of flags are checked by [Set.Check].
package probeset

import (
	"fmt"
	"time"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

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

// Level is how much a probe does of each call. They are raised and lowered without
// weaving again.
type Level uint8

// The levels, each doing what those before it do and more.
const (
	Count   Level = iota // calls are counted
	Time                 // and timed
	Trace                // and written down as transactions
	Capture              // with values
)

var levelNames = [...]string{"count", "time", "trace", "capture"}

func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// ParseLevel reads a level's name.
func ParseLevel(name string) (Level, bool) {
	for l, known := range levelNames {
		if name == known {
			return Level(l), true
		}
	}
	return 0, false
}

// Template is which hook a probe's methods get. A richer one can do more, and is more
// code in the program's methods.
type Template uint8

// The templates, each able to do what those before it can and more.
const (
	ByNeed          Template = iota // the leanest that does what the probe states
	PlainTemplate                   // a condition at the entry
	LateTemplate                    // one at the exit as well
	CaptureTemplate                 // and values
)

var templateNames = [...]string{"", "plain", "late", "capture"}

func (t Template) String() string {
	if int(t) < len(templateNames) {
		return templateNames[t]
	}
	return fmt.Sprintf("Template(%d)", uint8(t))
}

// ParseTemplate reads a template's name.
func ParseTemplate(name string) (Template, bool) {
	for t, known := range templateNames {
		if t > 0 && name == known {
			return Template(t), true
		}
	}
	return 0, false
}

// When is when the classes of a rule may get hooks.
type When uint8

// The answers. A class that no rule names is woven whenever it can be.
const (
	Unstated When = iota
	Static        // beforehand, into a pack; where there is none, as if nothing were stated
	Load          // as it loads, while a Sonde is there
	Dynamic       // on demand, when it is loaded
	Never
)

var whenNames = [...]string{"unstated", "static", "load", "dynamic", "never"}

func (w When) String() string {
	if int(w) < len(whenNames) {
		return whenNames[w]
	}
	return fmt.Sprintf("When(%d)", uint8(w))
}

// MarshalText is the name, for JSON.
func (w When) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// ParseWhen reads a name that a rule may state.
func ParseWhen(name string) (When, bool) {
	for w, known := range whenNames {
		if When(w) != Unstated && name == known {
			return When(w), true
		}
	}
	return Unstated, false
}

// Rule says when classes may get hooks.
type Rule struct {
	Classes []string // patterns, as package probe reads those of classes
	When    When
}

// Rules answer for classes. They are made once of a set that was checked, where many
// classes are asked about.
type Rules struct{ patterns []rulePattern }

type rulePattern struct {
	*pattern.ClassPattern
	when When
}

// Rules are those of the set, in their order. What is no pattern names no class.
func (s *Set) Rules() *Rules {
	rules := &Rules{}
	for _, r := range s.Weave {
		for _, text := range r.Classes {
			if p, err := pattern.ParseClass(text); err == nil {
				rules.patterns = append(rules.patterns, rulePattern{p, r.When})
			}
		}
	}
	return rules
}

// When says when a class, given by its internal name, may get hooks: the first rule
// counts that names it. The text is that rule as messages have it, such as "rule
// com.acme.gen.** says never"; empty where none names the class.
func (r *Rules) When(class string) (when When, rule string) {
	for i := range r.patterns {
		if p := &r.patterns[i]; p.Match(class) {
			return p.when, fmt.Sprintf("rule %s says %v", p, p.when)
		}
	}
	return Unstated, ""
}

// When is [Rules.When] for a single class.
func (s *Set) When(class string) (when When, rule string) { return s.Rules().When(class) }
