package liveprobes

import (
	"fmt"
	"slices"

	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
)

// A RuleError says that a rule of the set leaves a class alone.
type RuleError struct {
	When  probeset.When
	Rule  string // as messages have it
	Packs bool   // no JVM has loaded it: it would have gone into a pack
}

func (e *RuleError) Error() string {
	switch {
	case e.When != probeset.Never && e.Packs:
		return e.Rule + ", so it is not packed"
	case e.When == probeset.Load:
		return e.Rule + ", and it was loaded already"
	case e.When == probeset.Dynamic:
		return e.Rule + ", so the next sonde apply puts hooks in"
	}
	return e.Rule
}

// ruled says why a rule leaves a class alone; nil where none does. Hooks go into classes
// by name, so those of one name share what one of them may have.
func (c *compiler) ruled(name string) error {
	when, rule := c.set.When(name)
	isLeft := false
	switch when {
	case probeset.Never:
		isLeft = true
	case probeset.Load:
		isLeft = c.universe.IsAhead || !slices.ContainsFunc(c.universe.Named(name), func(c *universe.Class) bool { return c.Origin != universe.Listed })
	case probeset.Dynamic:
		isLeft = c.universe.IsAhead || !slices.ContainsFunc(c.universe.Named(name), func(c *universe.Class) bool { return c.Origin != universe.Fresh })
	}
	if !isLeft {
		return nil
	}
	return &RuleError{When: when, Rule: rule, Packs: c.universe.IsAhead}
}

// mayTouch reports whether a class that is loaded may be redefined to see what is in it.
func (r *request) mayTouch(class string) bool {
	when, _ := r.set.When(class)
	return when != probeset.Never && when != probeset.Load
}

// forbidsHandOff is the rule that keeps hooks from what takes tasks from thread to
// thread; empty where none does.
func (r *request) forbidsHandOff() string {
	for _, class := range instrument.HandOffClasses() {
		if when, rule := r.set.When(class); when == probeset.Never {
			return rule
		}
	}
	return ""
}

// leaveByRule names a class that a rule leaves alone where it is named, and notes which
// sequences miss it. Where it is not known what is in the class it is named for what may be.
func (c *compiler) leaveByRule(class *universe.Class, why error) {
	if _, is := c.spared[class.Name]; is {
		return
	}
	isOwed := false
	methods := c.universe.Methods(class)
	isOpen := c.universe.Open(class) != nil
	named := func(p *pattern.Pattern) bool {
		is := !isOpen && p.MatchClass(class.Name) ||
			slices.ContainsFunc(methods, func(m universe.Method) bool { return p.Match(class.Name, m.Name, m.Descriptor) })
		isOwed = isOwed || is
		return is
	}
	left := LeftOut{Method: dotted(class.Name), Err: why}
	for _, p := range c.probes {
		s := c.probeSums[p.Name]
		isNamed := !isOpen && p.methods.MatchClass(class.Name) ||
			slices.ContainsFunc(methods, func(m universe.Method) bool { return p.methods.Match(class.Name, m.Name, m.Descriptor) })
		if isNamed {
			s.spare(left)
		}
		for _, pattern := range p.methods.Includes() {
			if named(pattern) {
				delete(s.missing, pattern.String())
			}
		}
		for _, q := range p.within {
			c.spareAnchors(s, q, left, named)
		}
	}
	for _, t := range c.tags {
		if named(t.At) {
			c.tagSums[t.Name].spare(left)
			delete(c.tagSums[t.Name].missing, t.At.String())
		}
	}
	c.spared[class.Name] = isOwed
}

// spareAnchors notes that a sequence, nil for none, misses the methods of a class.
func (c *compiler) spareAnchors(s *summary, q *pattern.Sequence, left LeftOut, named func(*pattern.Pattern) bool) {
	if q == nil {
		return
	}
	for _, e := range q.Elements {
		text := e.Pattern.String()
		if !named(e.Pattern) {
			continue
		}
		delete(s.missing, text)
		if _, is := s.gaps[text]; !is {
			s.gaps[text] = left
		}
		s.LeftOut = append(s.LeftOut, LeftOut{Method: left.Method, Err: fmt.Errorf("%w: within %s does not hold by it", left.Err, q)})
	}
}

// spare names a class that is left alone.
func (s *summary) spare(left LeftOut) {
	s.LeftOut = append(s.LeftOut, left)
	s.spared = append(s.spared, left)
}

// gaps tells what comes of classes that rules leave alone, each once until a set is
// applied again: sequences that do not hold, and tags that have no value, because nothing
// else has their hooks.
func (w *Watch) gaps(p *plan) (texts []string) {
	tell := func(text string) {
		if !w.toldGaps[text] {
			w.toldGaps[text] = true
			texts = append(texts, text)
		}
	}
	for _, probe := range p.probes {
		s := p.probeSums[probe.Name]
		for _, q := range probe.within {
			if q == nil {
				continue
			}
			for _, e := range q.Elements {
				pattern := e.Pattern.String()
				if left, is := s.gaps[pattern]; is && !s.anchored[pattern] {
					tell(fmt.Sprintf("probe %s does not act within %s: %s, which %s names, has no hooks: %v", probe.Name, q, left.Method, pattern, left.Err))
				}
			}
		}
	}
	for _, t := range p.tags {
		if s := p.tagSums[t.Name]; len(s.Methods) == 0 && len(s.spared) > 0 {
			tell(fmt.Sprintf("tag %s has no value: %s, where it is taken, has no hooks: %v", t.Name, s.spared[0].Method, s.spared[0].Err))
		}
	}
	if rule := p.forbidsHandOff(); rule != "" && p.set.HandOff && p.hasContext() {
		tell("context and tags do not go along with tasks: " + rule)
	}
	return texts
}

// Awaits is how many classes have loaded that get their hooks when a set is applied
// again, because a rule says so.
func (w *Watch) Awaits() (n int) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.plan == nil {
		return 0
	}
	for name, isOwed := range w.plan.spared {
		if when, _ := w.plan.set.When(name); isOwed && when == probeset.Dynamic {
			n++
		}
	}
	return n
}

// LeftOut is all in which probes and tags do not act, each once: also what has loaded
// since they were applied.
func (w *Watch) LeftOut() (all []LeftOut) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.plan == nil {
		return nil
	}
	probes, tags := w.plan.report()
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

// settle has no class count as one that has just loaded, and what rules keep from acting
// told again.
func (w *Watch) settle() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.toldGaps = make(map[string]bool)
	w.universe.Settle()
}
