// Package probeset holds what a user asks for: probes, tags, goals, and rules for when classes
// get hooks. A set comes from flags or from a file, probes.yaml, whose schema is in
// docs/formats/probes.md.
//
// [Parse] is strict: unknown keys are errors, and all errors are reported at once, each
// with its line and a remedy. [Set.Check] checks sets made from flags. Both check as much
// as is possible without class files. [Set.YAML] writes the canonical text, which parses
// to an equal set, and [Diff] compares two sets.
package probeset

import (
	"fmt"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// Set is everything that is asked for in one JVM.
type Set struct {
	Probes []Probe
	Tags   []Tag
	Goals  []Goal // each is measured by one of the probes
	// HandOff makes transactions keep their context and tags when they continue in
	// another thread. It is the default in a file.
	HandOff bool
	// Weave says when classes may get hooks; the first rule that matches a class applies.
	Weave []Rule
	// Optional means that probes and tags which fit none of their methods are left out. It is
	// the case for Sonde's own rules, because most programs lack most of the libraries.
	Optional bool
}

// Probe is a set of methods and what to do when they are called.
type Probe struct {
	Name    string              // of its results and in changes
	Methods []*pattern.Pattern  // including exclusions
	Within  []*pattern.Sequence // each has results of its own; empty: everywhere
	Context int                 // group results by this number of callers, at most MaxContext; 0: not by callers
	When    *expr.Expr          // nil: always
	Fails   *expr.Expr          // calls that count as errors though they return; nil: none
	// Category is the kind of call, such as db. A probe with a category measures only the
	// outermost call of the category and direction in each thread.
	Category  string
	Direction Direction
	MayCall   []*pattern.Pattern // methods that conditions may call though they are not proven to be pure
	Level     Level
	Template  Template
	Own       *OwnTemplate // Java code of the user around the methods; nil for none
	Captures  []*expr.Expr // at most MaxCaptures
	Allow     []string     // names that are not redacted

	Levels     int           // of a trace: levels of calls below that are traced, too; 0: the default
	SlowerThan time.Duration // faster calls are ignored, and their transactions not kept
	Sample     uint32        // of this number of calls, one is measured; 0: every call
	GroupBy    []string      // tags by whose values results are grouped
	For        time.Duration // the probe ends after this time; 0: no limit
	Calls      uint64        // the probe ends after this number of calls; 0: no limit

	Goal bool // it measures a goal, and no file states it
	// Inside means that calls are recorded only in transactions of other probes. The tags of GroupBy
	// say what is called. No file states it.
	Inside bool
}

// Tag is a named value that everything below a method can read. A name may be set at
// several methods: the innermost one on the stack applies.
type Tag struct {
	Name  string
	Value *expr.Expr // a path such as $1.customer.tier; nil with Of This
	At    *pattern.Pattern
	As    Form
	Of    Object
	// MayCall are methods that the value may call though they are not proven to be pure.
	MayCall []*pattern.Pattern
	// Optional means that the tag is left out without a word where it fits none of its methods.
	Optional bool
}

// Form is how the text of a value becomes the value of a tag.
type Form uint8

// The forms.
const (
	AsIs   Form = iota // cut if it is long
	AsSQL              // a statement: without literals and comments
	AsPath             // of a URL: without query; numbers and the like become {}
	AsName             // such as that of a host
	// AsTrace is the id of a trace of others, alone or in a W3C traceparent. Transactions get it
	// as theirs. It is no tag that conditions can read or results can be grouped by, because
	// every request has another one.
	AsTrace
)

var formNames = []string{"", "sql", "path", "name", "trace"}

func (f Form) String() string { return nameOf(formNames, f) }

// Object is the object that the value of a tag belongs to.
type Object uint8

// The objects.
const (
	OfCall   Object = iota // none: the value is that of the call and everything below it
	OfReturn               // the returned object: the value is remembered with it
	OfThis                 // the object of the call: the tag gets the value that was remembered with it
)

var objectNames = []string{"", "$return", "$this"}

func (o Object) String() string { return nameOf(objectNames, o) }

// Direction says whether calls of a category come into the program or go out of it.
type Direction uint8

// The directions.
const (
	Undirected Direction = iota
	In
	Out
)

var directionNames = []string{"", "in", "out"}

func (d Direction) String() string { return nameOf(directionNames, d) }

// Mark returns a sequence that stands for the category of a probe among sequences: nothing
// matches it. It is nil where the probe has no category.
func (p *Probe) Mark() *pattern.Sequence {
	if p.Category == "" {
		return nil
	}
	mark, err := pattern.ParseSequence(fmt.Sprintf("sonde.category.%s.%v", strings.ReplaceAll(p.Category, "-", "_"), p.Direction))
	if err != nil {
		return nil // the category is not a name, which Check reports
	}
	return mark
}

// Limits of a set. Hooks have no room for more.
const (
	MaxContext  = 8
	MaxCaptures = 8
	MaxTags     = 16 // names
	MaxProbes   = 1000
	MaxLevels   = 1000
	MaxSample   = 1 << 20
	MaxRules    = 1000
)

// defaultLevel returns the lowest level that uses everything the probe states.
func (p *Probe) defaultLevel() Level {
	switch {
	case len(p.Captures) > 0:
		return Capture
	case p.Levels > 0, p.SlowerThan > 0:
		return Trace
	}
	return Time
}

// Level is how much a probe records about each call. It can be changed without weaving
// again.
type Level uint8

// The levels. Each includes the previous ones.
const (
	Count   Level = iota // calls are counted
	Time                 // and timed
	Trace                // and recorded as transactions
	Capture              // with values
)

var levelNames = []string{"count", "time", "trace", "capture"}

func (l Level) String() string { return nameOf(levelNames, l) }

// Template is the kind of hook that the methods of a probe get. A richer one can do more
// and adds more code to the methods.
type Template uint8

// The templates. Each can do everything the previous ones can.
const (
	ByNeed          Template = iota // the smallest that the probe needs
	PlainTemplate                   // a condition at the entry
	LateTemplate                    // one at the exit as well
	CaptureTemplate                 // and values
)

var templateNames = []string{"", "plain", "late", "capture"}

func (t Template) String() string { return nameOf(templateNames, t) }

// OwnTemplate is a template that the user has written.
type OwnTemplate struct {
	File    string // as stated: FILE.java or FILE.class, relative to the file of probes, or followed by :METHOD
	Class   []byte // the compiled class, so that the set needs no other file; empty in a file
	Trusted bool   // it may call anything and loop without bounds
}

// Method returns the name of the template method; empty if the class has only one.
func (t *OwnTemplate) Method() string {
	if at := strings.LastIndexByte(t.File, ':'); at >= 0 && isTemplateFile(t.File[:at]) {
		return t.File[at+1:]
	}
	return ""
}

// Source returns the file.
func (t *OwnTemplate) Source() string {
	if method := t.Method(); method != "" {
		return strings.TrimSuffix(t.File, ":"+method)
	}
	return t.File
}

func isTemplateFile(name string) bool {
	return strings.HasSuffix(name, ".java") || strings.HasSuffix(name, ".class")
}

// own returns the user's template, which is made if there is none.
func (p *Probe) own() *OwnTemplate {
	if p.Own == nil {
		p.Own = &OwnTemplate{}
	}
	return p.Own
}

// MaxTemplate is the largest class file of a template.
const MaxTemplate = 64 << 10

// When is when the classes of a rule may get hooks.
type When uint8

// The times. Classes without a rule are Unstated and may get hooks at any time.
const (
	Unstated When = iota
	Static        // ahead of time, in a pack; without a pack as Unstated
	Load          // when they load while a Sonde is connected
	Dynamic       // on demand, after they were loaded
	Never
)

var whenNames = []string{"unstated", "static", "load", "dynamic", "never"}

func (w When) String() string { return nameOf(whenNames, w) }

// MarshalText returns the name, for JSON.
func (w When) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// nameOf returns the name of a value, or its type and number if it has no name.
func nameOf[T ~uint8](names []string, value T) string {
	if int(value) < len(names) {
		return names[value]
	}
	return fmt.Sprintf("%s(%d)", strings.TrimPrefix(fmt.Sprintf("%T", value), "probeset."), uint8(value))
}

// Rule says when classes may get hooks.
type Rule struct {
	Classes []*pattern.ClassPattern
	When    When
}

// When returns when a class, given by its internal name, may get hooks: the first rule
// that matches it applies. The text describes that rule for messages, such as "rule
// com.acme.gen.** says never"; it is empty where no rule matches.
func (s *Set) When(class string) (when When, rule string) {
	for _, r := range s.Weave {
		for _, p := range r.Classes {
			if p.Match(class) {
				return r.When, fmt.Sprintf("rule %s says %v", p, r.When)
			}
		}
	}
	return Unstated, ""
}
