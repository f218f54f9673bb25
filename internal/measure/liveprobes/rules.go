package liveprobes

import (
	"fmt"
	"slices"

	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
)

// A RuleError says that a rule of the set excludes a class.
type RuleError struct {
	When  probeset.When
	Rule  string // as shown in messages
	Packs bool   // no JVM has loaded the class: it would have been packed
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

// ruled returns the reason why a rule excludes a class, or nil. Hooks go into classes by
// name, so if one class of a name may have hooks, all may.
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

// mayTouch reports whether a loaded class may be redefined to read its file.
func (r *request) mayTouch(class string) bool {
	when, _ := r.set.When(class)
	return when != probeset.Never && when != probeset.Load
}

// forbidsHandOff returns the rule that excludes the classes which take tasks from thread
// to thread, or "".
func (r *request) forbidsHandOff() string {
	for _, class := range instrument.HandOffClasses() {
		if when, rule := r.set.When(class); when == probeset.Never {
			return rule
		}
	}
	return ""
}

// leaveByRule reports a class that a rule excludes to the probes, tags and sequences that
// name it. If its methods are not known, a pattern that may match one of them counts.
func (c *compiler) leaveByRule(class *universe.Class, why error) {
	if _, is := c.spared[class.Name]; is {
		return
	}
	isNamed := false
	methods := c.universe.Methods(class)
	isOpen := c.universe.Open(class) != nil
	named := func(p *pattern.Pattern) bool {
		is := !isOpen && p.MatchClass(class.Name) ||
			slices.ContainsFunc(methods, func(m universe.Method) bool { return p.Match(class.Name, m.Name, m.Descriptor) })
		isNamed = isNamed || is
		return is
	}
	left := LeftOut{Method: dotted(class.Name), Err: why}
	for _, p := range c.probes {
		s := c.probeSums[p.Name]
		isOwn := !isOpen && p.methods.MatchClass(class.Name) ||
			slices.ContainsFunc(methods, func(m universe.Method) bool { return p.methods.Match(class.Name, m.Name, m.Descriptor) })
		if isOwn {
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
	c.spared[class.Name] = isNamed
}

// spareAnchors records that a sequence, which may be nil, has no hooks in a class.
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
		s.LeftOut = append(s.LeftOut, LeftOut{Method: left.Method, Err: fmt.Errorf("%w: its methods do not count for within %s", left.Err, q)})
	}
}

// spare records a class that a rule excludes.
func (s *summary) spare(left LeftOut) {
	s.LeftOut = append(s.LeftOut, left)
	s.spared = append(s.spared, left)
}

// gaps returns warnings about classes that rules exclude: sequences that never hold and
// tags that have no value because all their methods are in such classes. Each warning is
// returned once until a set is applied again.
func (w *Watch) gaps(p *plan) (texts []string) {
	warn := func(text string) {
		if !w.reported[text] {
			w.reported[text] = true
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
					warn(fmt.Sprintf("probe %s does not act within %s: %s, which %s names, has no hooks: %v", probe.Name, q, left.Method, pattern, left.Err))
				}
			}
		}
	}
	for _, t := range p.tags {
		if s := p.tagSums[t.Name]; len(s.Methods) == 0 && len(s.spared) > 0 {
			warn(fmt.Sprintf("tag %s has no value: %s, where it is read, has no hooks: %v", t.Name, s.spared[0].Method, s.spared[0].Err))
		}
	}
	if rule := p.forbidsHandOff(); rule != "" && p.set.HandOff && p.hasContext() {
		warn("context and tags do not follow tasks to other threads: " + rule)
	}
	return texts
}

// Awaits returns how many loaded classes get their hooks only when a set is applied again,
// because a rule says so.
func (w *Watch) Awaits() (n int) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.plan == nil {
		return 0
	}
	for name, isNamed := range w.plan.spared {
		if when, _ := w.plan.set.When(name); isNamed && when == probeset.Dynamic {
			n++
		}
	}
	return n
}

// LeftOut returns the methods and classes in which probes and tags do not act, each once,
// including classes that have loaded since they were applied.
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

// settle makes no class count as just loaded, and lets warnings about rules be reported
// again.
func (w *Watch) settle() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.reported = make(map[string]bool)
	w.universe.Settle()
}
