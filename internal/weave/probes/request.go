package probes

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// mostValues is the maximum number of values that a template captures at the entry, and
// also at the exit.
const mostValues = arena.WatchValues

// A Request is a set in the form in which it is compiled. It depends on no class.
type Request struct {
	Set       *probeset.Set
	Probes    []*Probe
	tags      []*tagRequest
	namers    []*namer // probes, then tags
	Sequences []*pattern.Sequence
	Numbers   map[string]int32   // of tags
	patterns  []*pattern.Pattern // all patterns that name methods, without exclusions
	learners  []*pattern.Pattern // all patterns that depend on what classes contain
}

// A namer is the part of a probe or a tag that names methods.
type namer struct {
	what       string // "probe pay" or "tag tier"; tags may share it
	methods    *pattern.Set
	sequences  []*pattern.Sequence
	isOptional bool // it may fit none of its methods
}

// elements yields the elements of the sequences.
func (n *namer) elements() iter.Seq2[*pattern.Sequence, *pattern.Pattern] {
	return func(yield func(*pattern.Sequence, *pattern.Pattern) bool) {
		for _, q := range n.sequences {
			for _, e := range q.Elements {
				if !yield(q, e.Pattern) {
					return
				}
			}
		}
	}
}

// A Probe is a probe in the form in which it is compiled.
type Probe struct {
	probeset.Probe
	namer
	within      []*pattern.Sequence // a single nil where the probe acts everywhere
	entry, exit *expr.Expr
	mark        *pattern.Sequence // of the category; nil without one
	captures    []capture
	late        int // how many of them are read at the exit
	groups      uint16
	form        instrument.Form
	user        *instrument.User // nil without a template of the user
	Quota       uint16           // the number of the quota from which its spots take calls, to be set before Compile; 0 for none
}

// A status is how the status of an answer is read at the end of the call that gives it.
type status struct {
	value   *expr.Expr
	mayCall []*pattern.Pattern
}

// A capture is an expression whose value is recorded with a call.
type capture struct {
	expr  *expr.Expr
	index int // in records
	code  int // number in the template
}

type tagRequest struct {
	probeset.Tag
	namer
	number int32
}

// NewRequest prepares a set. Known tags keep their numbers. An error says what is wrong
// with the set.
func NewRequest(set *probeset.Set, known map[string]int32) (*Request, error) {
	if err := set.Check(); err != nil {
		return nil, err
	}
	r := &Request{Set: set, Numbers: make(map[string]int32)}
	if err := r.readTags(known); err != nil {
		return nil, err
	}
	users := make([]*instrument.User, len(set.Probes))
	for i := range set.Probes {
		var err error
		if users[i], err = r.readTemplate(&set.Probes[i], known); err != nil {
			return nil, err
		}
	}
	for i := range set.Probes {
		p, err := r.readProbe(set.Probes[i])
		if err != nil {
			return nil, fmt.Errorf("probe %s: %w", set.Probes[i].Name, err)
		}
		p.user = users[i]
		r.Probes = append(r.Probes, p)
	}
	r.gatherPatterns()
	return r, nil
}

func (r *Request) readTags(known map[string]int32) error {
	for _, tag := range r.Set.Tags {
		t := &tagRequest{Tag: tag}
		number, is := r.Numbers[tag.Name]
		switch {
		case tag.As == probeset.AsTrace:
			number = arena.TraceTag
		case !is:
			var err error
			if number, err = r.number(tag.Name, known); err != nil {
				return err
			}
		}
		t.number, t.what, t.isOptional = number, "tag "+tag.Name, tag.Optional || r.Set.Optional
		var err error
		if t.methods, err = pattern.NewSet(tag.At); err != nil {
			return fmt.Errorf("tag %s: %w", tag.Name, err)
		}
		r.tags = append(r.tags, t)
	}
	return nil
}

// number returns the number of a tag, which it gets if it has none.
func (r *Request) number(tag string, known map[string]int32) (int32, error) {
	number, is := r.Numbers[tag]
	if is {
		return number, nil
	}
	if number, is = known[tag]; !is {
		number = nextNumber(known, r.Numbers)
	}
	if number >= arena.MostTags {
		return 0, fmt.Errorf("tag %s: the limit of %d tags is reached: leave some out, or end this Sonde and start it again", tag, arena.MostTags)
	}
	r.Numbers[tag] = number
	return number, nil
}

// readTemplate compiles a user's template. Its tags get numbers, and so do its events, whose texts are values of tags.
func (r *Request) readTemplate(p *probeset.Probe, known map[string]int32) (*instrument.User, error) {
	own := p.Own
	if own == nil {
		return nil, nil
	}
	if len(own.Class) == 0 {
		return nil, fmt.Errorf("template %s is not compiled: use sonde apply, which compiles it", own.File)
	}
	user, err := instrument.NewUser(own.Class, own.Method(), weave.UserOptions{File: own.Source(), Trusted: own.Trusted, Conditional: p.When != nil})
	if err != nil {
		return nil, err
	}
	for i, record := range user.Records {
		if record.Kind != weave.Tag && record.Kind != weave.Event {
			continue
		}
		if user.Tags[i], err = r.number(record.Name, known); err != nil {
			return nil, err
		}
	}
	return user, nil
}

// nextNumber returns a number that no tag has had, since old results may still use theirs.
func nextNumber(known ...map[string]int32) (next int32) {
	for _, numbers := range known {
		for _, number := range numbers {
			next = max(next, number+1)
		}
	}
	return next
}

var errPlain = errors.New("the condition uses values that exist only at the method's exit, but \"template: plain\" checks at its entry: write \"template: late\", or leave out template")

func (r *Request) readProbe(stated probeset.Probe) (*Probe, error) {
	p := &Probe{Probe: stated, namer: namer{what: "probe " + stated.Name, sequences: stated.Within, isOptional: r.Set.Optional || stated.Inside}}
	var err error
	if p.methods, err = pattern.NewSet(stated.Methods...); err != nil {
		return nil, err
	}
	p.within = stated.Within
	r.Sequences = append(r.Sequences, p.within...)
	if p.mark = stated.Mark(); p.mark != nil {
		r.Sequences = append(r.Sequences, p.mark)
	}
	if len(p.within) == 0 {
		p.within = []*pattern.Sequence{nil}
	}
	p.entry, p.exit = expr.Split(stated.When, stated.SlowerThan)
	if err := p.readCaptures(); err != nil {
		return nil, err
	}
	for _, name := range stated.GroupBy {
		number, is := r.Numbers[name]
		if !is {
			return nil, fmt.Errorf("group-by: there is no tag %q: define it under tags, or set it in a template", name)
		}
		if !stated.Inside {
			p.groups |= 1 << number
		}
	}
	switch {
	case len(p.captures) > 0 || stated.Template == probeset.CaptureTemplate:
		p.form = instrument.Capturing
	case p.exit != nil && stated.Template == probeset.PlainTemplate:
		return nil, errPlain
	case p.exit != nil || p.Fails != nil || stated.Template == probeset.LateTemplate:
		p.form = instrument.Late
	}
	return p, nil
}

// The template's numbers of conditions and values.
const (
	entryCondition = 0
	exitCondition  = 1
	entryValues    = instrument.FirstAtEntry
	exitValues     = instrument.FirstAtExit
	allCode        = exitValues + mostValues
)

func (p *Probe) readCaptures() error {
	early := 0
	for _, value := range p.Captures {
		c := capture{expr: value, index: early, code: entryValues + early}
		count := &early
		if value.ReadsExit() {
			c.index, c.code, count = p.late|ExitCapture, exitValues+p.late, &p.late
		}
		if *count++; *count > mostValues {
			return fmt.Errorf("capture %s: at most %d values can be captured at the entry of a call and %d at its exit: leave some out, or add a second probe", value.Text(), mostValues, mostValues)
		}
		p.captures = append(p.captures, c)
	}
	return nil
}

// gatherPatterns collects all patterns. A set without probes has none: nothing reads its
// tags.
func (r *Request) gatherPatterns() {
	for _, p := range r.Probes {
		r.namers = append(r.namers, &p.namer)
	}
	for _, t := range r.tags {
		r.namers = append(r.namers, &t.namer)
	}
	if len(r.Probes) == 0 {
		return
	}
	for _, n := range r.namers {
		r.patterns = append(r.patterns, n.methods.Includes()...)
		r.learners = append(r.learners, n.methods.Patterns()...)
		for _, element := range n.elements() {
			r.patterns = append(r.patterns, element)
			r.learners = append(r.learners, element)
		}
	}
	r.learners = slices.DeleteFunc(r.learners, func(p *pattern.Pattern) bool { return !p.Learns() })
}

// NeedsTypes reports whether a pattern selects methods by type or annotation, so that all
// classes have to be read.
func (r *Request) NeedsTypes() bool {
	return slices.ContainsFunc(r.learners, (*pattern.Pattern).NeedsTypes)
}

// ReadsClass reports whether a class has to be read to know which of its methods the set names.
func (r *Request) ReadsClass(class string) bool {
	return slices.ContainsFunc(r.patterns, func(p *pattern.Pattern) bool { return p.ReadsClass(class) })
}

// Bounds yields a prefix and a suffix for each pattern: see [pattern.Pattern.ClassBounds].
func (r *Request) Bounds() iter.Seq2[string, string] {
	return func(yield func(prefix, suffix string) bool) {
		for _, p := range r.patterns {
			if !yield(p.ClassBounds()) {
				return
			}
		}
	}
}

// Resolve finds out which named methods have no code, as far as their classes are known, and so
// stand for their implementations.
func (r *Request) Resolve(u *universe.Universe) { pattern.ResolveAll(u, r.learners) }

// Learn shows the known classes to the patterns. MatchClass answers for these classes then.
func (r *Request) Learn(u *universe.Universe) { pattern.LearnAll(u, r.learners) }

// MatchClass reports whether a class may have a method that the set names. For patterns that
// select by type it answers for the classes that Learn has shown.
func (r *Request) MatchClass(class string) bool {
	return slices.ContainsFunc(r.patterns, func(p *pattern.Pattern) bool { return p.MatchClass(class) })
}

// NamesClass reports whether a pattern names a class without wildcards. Such a class may be
// redefined to read its file.
func (r *Request) NamesClass(class string) bool {
	return slices.ContainsFunc(r.patterns, func(p *pattern.Pattern) bool {
		head, _, _ := strings.Cut(p.String(), "(")
		return p.MatchClass(class) && !strings.Contains(head[:max(0, strings.LastIndexByte(head, '.'))], "*")
	})
}

// NeedsAll reports whether the set needs more classes than it names: classes that
// conditions read, that traced methods call, and that have bridge methods.
func (r *Request) NeedsAll() bool {
	isDirect := func(s *pattern.Sequence) bool {
		return s.Last == pattern.Directly || slices.ContainsFunc(s.Elements, func(e pattern.Element) bool { return e.Link == pattern.Directly })
	}
	return len(r.tags) > 0 || slices.ContainsFunc(r.Sequences, isDirect) || slices.ContainsFunc(r.Probes, func(p *Probe) bool {
		return p.entry != nil || p.exit != nil || p.Fails != nil || len(p.captures) > 0 || p.Level >= probeset.Trace
	})
}

// IsLate reports whether the condition of a probe is decided when a call returns.
func (p *Probe) IsLate() bool { return p.exit != nil }

// Matches reports whether a probe names a method.
func (p *Probe) Matches(m classfile.MethodRef) bool {
	return p.methods.Match(m)
}

// jdkPackages are the prefixes of the JDK's own classes.
var jdkPackages = []string{"java/", "javax/", "jdk/", "sun/", "com/sun/"}

// UnneededPackages returns prefixes of the JDK's classes that need not be reported when
// they load: the JDK's packages that no pattern names. There are none if a condition
// depends on the subtypes of a JDK class.
func (r *Request) UnneededPackages(open []string) (prefixes []string) {
	for _, prefix := range jdkPackages {
		if slices.ContainsFunc(open, func(name string) bool { return strings.HasPrefix(name, prefix) }) {
			return nil
		}
		isNamed := slices.ContainsFunc(r.patterns, func(p *pattern.Pattern) bool {
			own, _ := p.ClassBounds()
			return strings.HasPrefix(own, prefix) || strings.HasPrefix(prefix, own)
		})
		if !isNamed {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}
