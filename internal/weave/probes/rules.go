package probes

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
)

// Excluded returns the reason why a rule excludes a class, or nil. Hooks go into classes by
// name, so if one class of a name may have hooks, all may.
func (p *Plan) Excluded(name string) error {
	when, rule := p.Set.When(name)
	isLeft := false
	switch when {
	case probeset.Never:
		isLeft = true
	case probeset.Load:
		isLeft = p.classes.IsAhead || !slices.ContainsFunc(p.classes.Named(name), func(c *universe.Class) bool { return c.Origin != universe.Listed })
	case probeset.Dynamic:
		isLeft = p.classes.IsAhead || !slices.ContainsFunc(p.classes.Named(name), func(c *universe.Class) bool { return c.Origin != universe.Fresh })
	}
	switch {
	case !isLeft:
		return nil
	case when != probeset.Never && p.classes.IsAhead:
		rule += ", so the class is not packed"
	case when == probeset.Load:
		rule += ", and the class was already loaded"
	case when == probeset.Dynamic:
		rule += ", so the class gets hooks at the next sonde apply"
	}
	return errors.New(rule)
}

// MayRedefine reports whether a loaded class may be redefined to read its file.
func (r *Request) MayRedefine(class string) bool {
	when, _ := r.Set.When(class)
	return when != probeset.Never && when != probeset.Load
}

// forbidsHandOff returns the rule that excludes the classes which take tasks from thread
// to thread, or "".
func (r *Request) forbidsHandOff() string {
	for _, class := range instrument.HandOffClasses() {
		if when, rule := r.Set.When(class); when == probeset.Never {
			return rule
		}
	}
	return ""
}

// leaveByRule reports a class that a rule excludes to the probes, tags and sequences that
// name it. If its methods are not known, a pattern that may match one of them counts.
func (p *Plan) leaveByRule(class *universe.Class, why error) {
	if _, is := p.spared[class.Name]; is {
		return
	}
	isNamed := false
	methods := p.classes.Methods(class)
	isOpen := p.classes.Open(class) != nil
	type matcher interface {
		MatchClass(class string) bool
		Match(m classfile.MethodRef) bool
	}
	names := func(one matcher) bool {
		return !isOpen && one.MatchClass(class.Name) ||
			slices.ContainsFunc(methods, func(m universe.Method) bool { return one.Match(m.MethodRef) })
	}
	left := LeftOut{Method: descriptor.ExternalName(class.Name), Err: why}
	for _, n := range p.namers {
		s := p.sum(n)
		if names(n.methods) {
			s.LeftOut = append(s.LeftOut, left)
			s.spared = append(s.spared, left)
		}
		for _, pattern := range n.methods.Includes() {
			if names(pattern) {
				isNamed = true
				delete(s.missing, pattern.String())
			}
		}
		for q, element := range n.elements() {
			if !names(element) {
				continue
			}
			isNamed = true
			text := element.String()
			delete(s.missing, text)
			if _, is := s.gaps[text]; !is {
				s.gaps[text] = left
			}
			s.LeftOut = append(s.LeftOut, LeftOut{Method: left.Method, Err: fmt.Errorf("%w; so methods of this class do not count as elements of the sequence %s", why, q)})
		}
	}
	p.spared[class.Name] = isNamed
}

// manyAnchors is the number of anchors above which there is a warning: each is a hook that
// is always on.
const manyAnchors = 1000

// Warnings returns warnings for the user about the effects of rules, and about sequences
// that name too many methods, which slows the program down.
func (p *Plan) Warnings() []string {
	texts := p.Gaps()
	if anchors := p.anchors(); anchors > manyAnchors {
		texts = append(texts, fmt.Sprintf("%d methods are named by sequences, and each gets a hook that is always on: narrower patterns cost the program less", anchors))
	}
	return texts
}

// Gaps returns warnings about classes that rules exclude: sequences that never hold and
// tags that have no value because all their methods are in such classes.
func (p *Plan) Gaps() (texts []string) {
	warn := func(format string, values ...any) {
		if text := fmt.Sprintf(format, values...); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	for _, n := range p.namers {
		s := p.sum(n)
		for q, element := range n.elements() {
			pattern := element.String()
			if left, is := s.gaps[pattern]; is && !s.anchored[pattern] {
				warn("%s measures nothing within %s, because %s (matched by %s) gets no hooks: %v", n.what, q, left.Method, pattern, left.Err)
			}
		}
	}
	for _, t := range p.tags {
		if s := p.sum(&t.namer); len(s.Methods) == 0 && len(s.spared) > 0 {
			warn("tag %s has no value: %s, where it is read, has no hooks: %v", t.Name, s.spared[0].Method, s.spared[0].Err)
		}
	}
	if rule := p.forbidsHandOff(); rule != "" && p.Set.HandOff && p.hasContext() {
		warn("context and tags do not follow tasks to other threads: %s", rule)
	}
	return texts
}

// ExcludedClasses returns how many classes rules have excluded so far.
func (p *Plan) ExcludedClasses() int { return len(p.spared) }

// Awaiting returns how many loaded classes get their hooks only when a set is applied
// again, because a rule says so.
func (p *Plan) Awaiting() (n int) {
	for name, isNamed := range p.spared {
		if when, _ := p.Set.When(name); isNamed && when == probeset.Dynamic {
			n++
		}
	}
	return n
}

// LeftOut returns the methods and classes in which probes and tags do not act, each once.
func (p *Plan) LeftOut() (all []LeftOut) {
	probes, tags := p.Report()
	met := make(map[string]bool)
	for _, applied := range slices.Concat(probes, tags) {
		for _, left := range applied.LeftOut {
			if key := left.Method + " " + left.Err.Error(); !met[key] {
				met[key] = true
				all = append(all, left)
			}
		}
	}
	return all
}
