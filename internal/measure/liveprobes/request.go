package liveprobes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Bounds of a set.
const (
	mostTags = arena.MostTags
	// mostValues is how many values a template captures at the entry, and as many at the
	// exit.
	mostValues = arena.WatchValues
)

// A request is a set that was read: everything that can be known of it without a JVM.
type request struct {
	set       *probeset.Set
	probes    []*probeRequest
	tags      []*tagRequest
	sequences []*pattern.Sequence
	numbers   map[string]int32   // of tags
	patterns  []*pattern.Pattern // all by which methods are named, exclusions left out
}

// A probeRequest is a probe that was read.
type probeRequest struct {
	probeset.Probe
	methods     *pattern.Set
	within      []*pattern.Sequence // one that is nil where the probe acts everywhere
	entry, exit *expr.Expr
	captures    []capture
	groups      uint16
	form        instrument.Form
}

// A capture is an expression whose value is written down with a call.
type capture struct {
	expr  *expr.Expr
	index int // as records have it
	code  int // as the template has it
}

// A tagRequest is a tag that was read.
type tagRequest struct {
	probeset.Tag
	number int32
}

// read reads a set. Tags that are known keep their numbers.
func read(set *probeset.Set, known map[string]int32) (*request, error) {
	if err := set.Check(); err != nil {
		return nil, err
	}
	r := &request{set: set, numbers: make(map[string]int32)}
	if err := r.readTags(known); err != nil {
		return nil, err
	}
	for i := range set.Probes {
		p, err := r.readProbe(set.Probes[i])
		if err != nil {
			return nil, fmt.Errorf("probe %s: %w", set.Probes[i].Name, err)
		}
		r.probes = append(r.probes, p)
	}
	r.gatherPatterns()
	return r, nil
}

func (r *request) readTags(known map[string]int32) error {
	for _, tag := range r.set.Tags {
		t := &tagRequest{Tag: tag}
		number, is := r.numbers[tag.Name]
		if !is {
			if number, is = known[tag.Name]; !is {
				number = nextNumber(known, r.numbers)
			}
			if number >= mostTags {
				return fmt.Errorf("tag %s: there have been %d tags, and more cannot be told apart: leave some out, or begin anew", tag.Name, mostTags)
			}
			r.numbers[tag.Name] = number
		}
		t.number = number
		r.tags = append(r.tags, t)
	}
	return nil
}

// nextNumber is one that no tag has had: results by old ones may still be there.
func nextNumber(known ...map[string]int32) (next int32) {
	for _, numbers := range known {
		for _, number := range numbers {
			next = max(next, number+1)
		}
	}
	return next
}

var errPlain = errors.New("its condition is known at the exit, where template plain asks nothing: write template: late, or leave it out")

func (r *request) readProbe(stated probeset.Probe) (*probeRequest, error) {
	p := &probeRequest{Probe: stated}
	var err error
	if p.methods, err = pattern.NewSet(stated.Methods...); err != nil {
		return nil, err
	}
	p.within = stated.Within
	r.sequences = append(r.sequences, p.within...)
	if len(p.within) == 0 {
		p.within = []*pattern.Sequence{nil}
	}
	p.entry, p.exit = expr.Split(stated.When, stated.SlowerThan)
	if err := p.readCaptures(); err != nil {
		return nil, err
	}
	for _, name := range stated.GroupBy {
		p.groups |= 1 << r.numbers[name]
	}
	switch {
	case len(p.captures) > 0 || stated.Template == probeset.CaptureTemplate:
		p.form = instrument.Capturing
	case p.exit != nil && stated.Template == probeset.PlainTemplate:
		return nil, errPlain
	case p.exit != nil || stated.Template == probeset.LateTemplate:
		p.form = instrument.Late
	}
	return p, nil
}

// The numbers that the template has for conditions and values.
const (
	entryCondition = 0
	exitCondition  = 1
	entryValues    = instrument.FirstAtEntry
	exitValues     = instrument.FirstAtExit
	allCode        = exitValues + mostValues
)

func (p *probeRequest) readCaptures() error {
	var early, late int
	for _, value := range p.Captures {
		c := capture{expr: value, index: early, code: entryValues + early}
		count := &early
		if value.ReadsExit() {
			c.index, c.code, count = late|ExitCapture, exitValues+late, &late
		}
		if *count++; *count > mostValues {
			return fmt.Errorf("capture %s: %d values can be captured at the entry of a call and %d at its exit: leave some out, or state a second probe", value.Text(), mostValues, mostValues)
		}
		p.captures = append(p.captures, c)
	}
	return nil
}

// gatherPatterns finds all patterns. A set without probes asks for nothing.
func (r *request) gatherPatterns() {
	for _, p := range r.probes {
		r.patterns = append(r.patterns, p.methods.Includes()...)
	}
	if len(r.probes) == 0 {
		return
	}
	for _, t := range r.tags {
		r.patterns = append(r.patterns, t.At)
	}
	for _, s := range r.sequences {
		for _, e := range s.Elements {
			r.patterns = append(r.patterns, e.Pattern)
		}
	}
}

// matchClass reports whether a class may hold a method that is named.
func (r *request) matchClass(class string) bool {
	return slices.ContainsFunc(r.patterns, func(p *pattern.Pattern) bool { return p.MatchClass(class) })
}

// nameClass reports whether a class is named itself, and not only among others: then it
// may be redefined to see what is in it.
func (r *request) nameClass(class string) bool {
	return slices.ContainsFunc(r.patterns, func(p *pattern.Pattern) bool {
		head, _, _ := strings.Cut(p.String(), "(")
		return p.MatchClass(class) && !strings.Contains(head[:max(0, strings.LastIndexByte(head, '.'))], "*")
	})
}

// needsAll reports whether classes beyond those that are named have to be known: what
// conditions may read, what traced methods call, and from where bridges come.
func (r *request) needsAll() bool {
	isDirect := func(s *pattern.Sequence) bool {
		return s.Last == pattern.Directly || slices.ContainsFunc(s.Elements, func(e pattern.Element) bool { return e.Link == pattern.Directly })
	}
	return len(r.tags) > 0 || slices.ContainsFunc(r.sequences, isDirect) || slices.ContainsFunc(r.probes, func(p *probeRequest) bool {
		return p.entry != nil || p.exit != nil || len(p.captures) > 0 || p.Level >= probeset.Trace
	})
}
