package probes

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/spec/categories"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A Plan holds the spots of a set in the loaded classes.
type Plan struct {
	*Request
	Positions *Positions
	Spots     map[string]*Spot // by full name

	classes *Classes
	shown   []*pattern.Pattern // the patterns to which classes are shown
	doubted []universe.Method  // methods that patterns match until what is above their classes has loaded
	flags   arena.Flags        // added to hooks that time calls
	bridges map[string]bool
	Hooked  map[classfile.MethodRef]bool // methods that have a spot
	Relied  map[classfile.MethodRef]bool // methods that conditions call
	sums    map[string]*summary          // of probes and tags, by namer.what
	spared  map[string]bool              // classes that rules exclude, and whether they would have hooks otherwise
	unfit   []match                      // methods in which probes and tags do not act
	lacking map[string]bool              // classes that conditions and values need, and that are not known
}

// A Spot is a spot of a plan.
type Spot struct {
	instrument.Spot
	Method      universe.Method
	Probe       *Probe            // nil for anchors, tags and spots that belong to traces
	tag         *tagRequest       // nil for others
	sequence    *pattern.Sequence // nil where the probe acts everywhere
	captures    []CaptureName
	depends     []condition.Depends
	conditional bool
	record      weave.Record // of a user's template; its name is empty for others
	answers     string       // the category of the incoming calls that the method answers; "" for none
	status      *status      // of the answer, where a call answers a request; nil if it is not read
	Off         string       // why it was switched off; "" while it is on
}

// hasContext reports whether there is a context that tasks could take to other threads.
func (p *Plan) hasContext() bool {
	for _, s := range p.Spots {
		isUsers := s.Kind == instrument.Templates || s.Kind == instrument.Records
		if s.Kind != instrument.Watches && !isUsers || s.Flags&arena.Traced != 0 {
			return true
		}
	}
	return false
}

// HandsOff reports whether tasks have to take contexts to other threads.
func (p *Plan) HandsOff() bool {
	return p.Set.HandOff && p.hasContext() && p.forbidsHandOff() == ""
}

// TimesTasks reports whether the time that tasks wait in a queue is measured.
func (p *Plan) TimesTasks() bool {
	return slices.ContainsFunc(p.Probes, (*Probe).isOfTasks) && p.forbidsHandOff() == ""
}

// isOfTasks reports whether calls are tasks of executors.
func (p *Probe) isOfTasks() bool {
	return p.Category == categories.Tasks && p.Direction == probeset.In
}

// Bridges returns the bridge methods that do not count as callers.
func (p *Plan) Bridges() []string { return slices.Sorted(maps.Keys(p.bridges)) }

// OpenTypes returns the types whose new subtypes may invalidate conditions of the plan.
func (p *Plan) OpenTypes() []string {
	open := make(map[string]bool)
	for _, s := range p.Spots {
		for _, name := range s.OpenTypes() {
			open[name] = true
		}
	}
	return slices.Sorted(maps.Keys(open))
}

// CountTraced adds numbers of methods to the report of a probe: methods that belong to its
// traces, and methods that exceed the limit.
func (p *Plan) CountTraced(probe *Probe, traced, untraced int) {
	p.sums[probe.what].Traced += traced
	p.sums[probe.what].Untraced += untraced
}

// anchors returns how many methods are elements of sequences.
func (p *Plan) anchors() (n int) {
	for _, s := range p.Spots {
		if s.Kind == instrument.Anchors {
			n++
		}
	}
	return n
}

// A summary collects the effect of a probe or a tag.
type summary struct {
	Applied
	missing  map[string]bool    // patterns that have matched no method so far
	taken    map[string]bool    // methods it acts in
	found    int                // methods that were named
	unfit    LeftOut            // the first of them in which it does not act
	spared   []LeftOut          // classes that rules exclude
	anchored map[string]bool    // patterns of sequences that match methods with hooks
	gaps     map[string]LeftOut // patterns of sequences that match in excluded classes, with the first such class
}

// sum returns the summary of a probe or a tag.
func (p *Plan) sum(n *namer) *summary {
	s := p.sums[n.what]
	if s == nil {
		s = &summary{missing: make(map[string]bool), taken: make(map[string]bool), anchored: make(map[string]bool), gaps: make(map[string]LeftOut)}
		p.sums[n.what] = s
	}
	return s
}

func newPlan(c *Classes, r *Request, p *Positions, flags arena.Flags) *Plan {
	return &Plan{
		// Elements may belong to another set with the same sequence.
		shown:   slices.Concat(r.learners, p.learners()),
		Request: r, Positions: p, Spots: make(map[string]*Spot), classes: c, flags: flags, bridges: make(map[string]bool),
		Hooked: make(map[classfile.MethodRef]bool), Relied: make(map[classfile.MethodRef]bool),
		sums: make(map[string]*summary), spared: make(map[string]bool), lacking: make(map[string]bool),
	}
}

// anchorKey and the keys of probes and tags distinguish the spots of a method. They are
// derived from the definition of the spot, so it has the same id in every run.
const anchorKey = "anchor"

func (p *Probe) key(s *pattern.Sequence) string {
	words := []string{"probe", p.Name}
	if s != nil {
		words = append(words, "within "+s.String())
	}
	if p.When != nil {
		words = append(words, "when "+p.When.Text())
	}
	if p.Fails != nil {
		words = append(words, "fails "+p.Fails.Text())
	}
	if p.mark != nil {
		words = append(words, "outermost of "+p.mark.String())
	}
	if p.SlowerThan > 0 {
		words = append(words, fmt.Sprintf("slower %dns", p.SlowerThan.Nanoseconds()))
	}
	for _, value := range p.Captures {
		words = append(words, "capture "+value.Text())
	}
	if len(p.Allow) > 0 {
		words = append(words, "allow "+strings.Join(p.Allow, ","))
	}
	if len(p.GroupBy) > 0 {
		words = append(words, "by "+strings.Join(p.GroupBy, ","))
	}
	if p.Context > 0 {
		words = append(words, "context "+strconv.Itoa(p.Context))
	}
	if p.Quota > 0 { // no other look may have the spot
		words = append(words, "quota "+strconv.Itoa(int(p.Quota)))
	}
	return strings.Join(words, "|")
}

func (t *tagRequest) key() string {
	words := []string{"tag", t.Name}
	if t.Value != nil {
		words = append(words, t.Value.Text())
	}
	if t.As != probeset.AsIs {
		words = append(words, "as "+t.As.String())
	}
	if t.Of != probeset.OfCall {
		words = append(words, "of "+t.Of.String())
	}
	return strings.Join(words, "|")
}

// setting returns the flags and the sampling period of a probe's hooks at a level.
func (p *Probe) setting(level probeset.Level, more arena.Flags) (arena.Flags, uint32) {
	flags := arena.On
	period := uint32(0)
	if p.exit != nil {
		flags |= arena.Late
	}
	if p.Inside {
		return flags | arena.Flat | arena.Inside | arena.Traced | arena.Here, 0
	}
	if level >= probeset.Trace {
		flags |= arena.Flat | arena.Root | arena.Traced
		if level == probeset.Trace {
			flags |= arena.Here // capture no values
		}
		if p.Goal { // its figures go on as before
			flags |= more | arena.Timed
		}
		if p.Sample > 1 {
			flags, period = flags|arena.Sampled, p.Sample
		}
		return flags, period
	}
	flags |= arena.Flat
	if level == probeset.Time {
		flags |= more
		if p.Sample > 1 {
			flags, period = flags|arena.Sampled, p.Sample
		} else {
			flags |= arena.Timed
		}
	}
	return flags, period
}

// Put adds a spot to the plan.
func (p *Plan) Put(s *Spot) {
	p.Spots[s.FullName()] = s
	p.Hooked[s.MethodRef] = true
	for _, d := range s.depends {
		for _, m := range d.Methods {
			p.Relied[m] = true
		}
	}
}

// Describe returns the description of a spot that has an id.
func (s *Spot) Describe(id uint32) SpotName {
	n := SpotName{
		ID: id, Class: s.Class, Name: s.Name, Descriptor: s.Descriptor, Conditional: s.conditional, Captures: s.captures,
		Inside: s.Kind == instrument.Watches && s.Probe == nil, Grouped: s.Groups != 0 || s.Context != 0,
	}
	if s.Probe != nil {
		n.Probe, n.GroupBy, n.Category, n.Inside = s.Probe.Name, s.Probe.GroupBy, s.Probe.Category, s.Probe.Inside
	}
	if s.answers != "" {
		n.Category, n.Answers = s.answers, true
	}
	if s.sequence != nil {
		n.Sequence = s.sequence.String()
	}
	switch s.Kind {
	case instrument.Templates:
		n.Template = true
	case instrument.Records:
		if n.Record = s.record; s.record.Kind == weave.Event {
			n.GroupBy = append(slices.Clone(n.GroupBy), s.record.Name)
		}
	}
	return n
}

// Report returns the effect of probes and tags, in the order of the set, without optional tags and probes inside others.
func (p *Plan) Report() (probes, tags []Applied) {
	for _, probe := range p.Probes {
		if !probe.Inside {
			probes = append(probes, p.applied(&probe.namer, probe.Name))
		}
	}
	for _, tag := range p.tags {
		if !tag.Optional && !slices.ContainsFunc(tags, func(a Applied) bool { return a.Name == tag.Name }) {
			tags = append(tags, p.applied(&tag.namer, tag.Name))
		}
	}
	return probes, tags
}

func (p *Plan) applied(n *namer, name string) Applied {
	a := p.sum(n).applied(name)
	for _, one := range p.patterns {
		text := one.String()
		if _, is := a.Hints[text]; is || !slices.Contains(a.Unmatched, text) {
			continue
		}
		hint := Hint{Near: one.Near(p.classNames)}
		if !one.IsByName() {
			hint.Lack = one.Lack()
		}
		if a.Hints == nil {
			a.Hints = make(map[string]Hint)
		}
		a.Hints[text] = hint
	}
	return a
}

func (p *Plan) classNames(yield func(string) bool) {
	for class := range p.classes.All() {
		if !yield(class.Name) {
			return
		}
	}
}

func (s *summary) applied(name string) Applied {
	a := s.Applied
	a.Name, a.Unmatched = name, slices.Sorted(maps.Keys(s.missing))
	slices.Sort(a.Methods)
	return a
}

// OpenTypes returns the types whose new subtypes may invalidate the spot's conditions.
func (s *Spot) OpenTypes() (names []string) {
	for _, d := range s.depends {
		names = append(names, d.Open...)
	}
	return names
}

// Owner names the probe or tag of a spot.
func (s *Spot) Owner() string {
	if s.tag != nil {
		return s.tag.what
	}
	return s.Probe.what
}

// Applied is the effect of a probe or a tag.
type Applied struct {
	Name      string
	Methods   []string // methods it acts in, as class.Name(descriptor), by name
	Anchors   int      // methods of its sequences
	LeftOut   []LeftOut
	Unmatched []string        // patterns and elements of sequences that match no loaded method
	Hints     map[string]Hint // by unmatched pattern
	Redacted  []string        // captures whose values are not read
	Traced    int             // methods called by its methods that are also traced
	Untraced  int             // methods of the same levels that exceed the limit
}

// A Hint helps with a pattern that matches nothing.
type Hint struct {
	Lack string   // what no loaded class has, if the pattern selects methods by more than names
	Near []string // similar names
}

// A LeftOut is a method or class that a probe names and in which it does not act.
type LeftOut struct {
	Method string // class.Name(descriptor), or a class
	Err    error
}

// A SpotName describes a spot.
type SpotName struct {
	ID         uint32
	Probe      string // empty for spots that only belong to a trace
	Sequence   string // empty where the probe acts everywhere
	Class      string // internal
	Name       string
	Descriptor string
	// Inside says that the spot exists for traces of other methods.
	Inside bool
	// Conditional says that the spot acts only in a context or on a condition.
	Conditional bool
	Captures    []CaptureName
	Template    bool         // it is a template of the user, whose failures are undecided calls
	Record      weave.Record // what a template of the user records; the name is empty for other spots
	Grouped     bool         // its results have labels
	GroupBy     []string     // names of the tags in the labels
	Category    string       // of the calls of its probe, such as db, or of the incoming calls that it answers
	Answers     bool         // its calls answer incoming ones
}

// A CaptureName is an expression whose value is captured. Its index contains ExitCapture
// if the value is read at the exit.
type CaptureName struct {
	Index    int
	Text     string
	Redacted bool // the value is never read
}

// ExitCapture is the bit in the index of values that are read at the exit.
const ExitCapture = 1 << 7

// Redacted is shown in place of a value that is not read.
const Redacted = "(redacted)"
