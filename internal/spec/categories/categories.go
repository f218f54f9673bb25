// Package categories holds the rules for calls that come into a program or go out of it:
// web requests, statements of databases, messages. The rules are a probe set, rules.yaml. A second
// probe set, ids.yaml, reads the trace ids of incoming calls.
package categories

import (
	_ "embed" // of the names
	_ "embed" // of the rules
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

//go:embed rules.yaml
var rules []byte

// A Category is a kind of call in one direction.
type Category struct {
	Name      string // such as db
	Direction probeset.Direction
}

// String returns the name and the direction: web in.
func (c Category) String() string { return c.Name + " " + c.Direction.String() }

// Rules are the rules of some categories.
type Rules struct {
	// Set is the rules as a probe set. Its patterns learn about classes, so each command needs
	// its own.
	Set *probeset.Set
	// All are the categories; the categories with incoming calls come first.
	All []Category

	probes map[string]Category
	keys   map[Category][]string
}

// extra are the categories that have to be named: they cost more than others, or show work that others show, too.
var extra = []string{"tasks", "routes", "sockets", "files"}

// IsExtra reports whether a category is read only if it is named.
func IsExtra(category string) bool { return slices.Contains(extra, category) }

// Read returns the rules of categories; of all but the extra ones, if none is named.
func Read(names ...string) (*Rules, error) {
	set, err := probeset.ParseOwn(rules, "rules.yaml")
	if err != nil {
		return nil, err
	}
	isOfIncoming := incomingTags(set)
	if err := choose(set, names); err != nil {
		return nil, err
	}
	r := &Rules{Set: set, probes: make(map[string]Category), keys: make(map[Category][]string)}
	for _, direction := range []probeset.Direction{probeset.In, probeset.Out} {
		callers := r.Callers()
		for i := range set.Probes {
			p := &set.Probes[i]
			if p.Direction != direction {
				continue
			}
			key := slices.Clone(p.GroupBy)
			if direction == probeset.Out {
				p.GroupBy = slices.DeleteFunc(p.GroupBy, func(tag string) bool { return isOfIncoming[tag] && !slices.Contains(callers, tag) })
				key = slices.DeleteFunc(key, func(tag string) bool { return isOfIncoming[tag] })
			}
			r.add(p.Name, Category{p.Category, p.Direction}, key)
		}
	}
	set.Tags = slices.DeleteFunc(set.Tags, func(t probeset.Tag) bool {
		return !slices.ContainsFunc(set.Probes, func(p probeset.Probe) bool { return slices.Contains(p.GroupBy, t.Name) })
	})
	return r, set.Check()
}

// Roots returns patterns of the methods with which calls of categories begin: incoming calls, or outgoing ones if a category
// has no others.
func Roots(names ...string) (patterns []string, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	r, err := Read(names...)
	if err != nil {
		return nil, err
	}
	for _, p := range r.Set.Probes {
		if p.Direction == probeset.Out && slices.Contains(r.All, Category{p.Category, probeset.In}) {
			continue
		}
		for _, m := range p.Methods {
			if text := m.String(); !slices.Contains(patterns, text) {
				patterns = append(patterns, text)
			}
		}
	}
	return patterns, nil
}

// incomingTags returns the tags that identify incoming calls.
func incomingTags(set *probeset.Set) map[string]bool {
	is := make(map[string]bool)
	for _, p := range set.Probes {
		for _, tag := range p.GroupBy {
			is[tag] = is[tag] || p.Direction == probeset.In
		}
	}
	return is
}

// choose removes the rules of other categories.
func choose(set *probeset.Set, names []string) error {
	known := namesOf(set)
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no category %q: there are %s", name, strings.Join(known, ", "))
		}
	}
	set.Probes = slices.DeleteFunc(set.Probes, func(p probeset.Probe) bool {
		if len(names) == 0 {
			return IsExtra(p.Category)
		}
		return !slices.Contains(names, p.Category)
	})
	return nil
}

func namesOf(set *probeset.Set) (names []string) {
	for _, p := range set.Probes {
		if !slices.Contains(names, p.Category) {
			names = append(names, p.Category)
		}
	}
	return names
}

// Names returns the names of all categories: the default categories, and the extra ones.
func Names() (usual, others []string) { return allNames() }

// allNames parses the rules once: the help of several commands has the names.
var allNames = sync.OnceValues(func() (usual, others []string) {
	set, err := probeset.ParseOwn(rules, "rules.yaml")
	if err != nil {
		return nil, nil // Read reports it
	}
	for _, name := range namesOf(set) {
		if IsExtra(name) {
			others = append(others, name)
		} else {
			usual = append(usual, name)
		}
	}
	return usual, others
})

// add adds a probe, its category, and the tags that identify calls.
func (r *Rules) add(probe string, c Category, key []string) {
	r.probes[probe] = c
	if !slices.Contains(r.All, c) {
		r.All = append(r.All, c)
	}
	for _, tag := range key {
		if !slices.Contains(r.keys[c], tag) {
			r.keys[c] = append(r.keys[c], tag)
		}
	}
}

// Of returns the category of a probe.
func (r *Rules) Of(probe string) Category { return r.probes[probe] }

// Key returns the tags that identify the calls of a category. If there are none, the method does.
func (r *Rules) Key(c Category) []string { return r.keys[c] }

// Callers returns the tags that identify incoming calls. Outgoing calls have them, too, if
// an incoming call made them.
func (r *Rules) Callers() (tags []string) {
	for _, c := range r.All {
		if c.Direction == probeset.In {
			tags = append(tags, r.keys[c]...)
		}
	}
	return tags
}

//go:embed names.yaml
var names []byte

// Tasks is the category of what executors run.
const Tasks = "tasks"

// Locks is the category of waiting for locks. Only stacks show it.
const Locks = "locks"

// vague are the rules that select calls by data. Their methods can do other work, too.
var vague = []string{"netty-server", "tasks"}

var named = sync.OnceValue(func() (probes []probeset.Probe) {
	for _, text := range [][]byte{rules, names} {
		if set, err := probeset.ParseOwn(text, "names.yaml"); err == nil { // a test reads both
			probes = append(probes, set.Probes...)
		}
	}
	return slices.DeleteFunc(probes, func(p probeset.Probe) bool { return slices.Contains(vague, p.Name) })
})

// Of returns the category of a method that calls of a category begin with; "" for other methods. isSubtype reports whether a
// class is another or below it; if it is nil, only names count.
func Of(m classfile.MethodRef, isSubtype func(class, super string) bool) string {
	for _, p := range named() {
		if slices.ContainsFunc(p.Methods, func(at *pattern.Pattern) bool { return at.Names(m, isSubtype) }) {
			return p.Category
		}
	}
	return ""
}

var (
	//go:embed ids.yaml
	ids []byte
	//go:embed propagate.yaml
	propagate []byte
)

// Propagation returns tags without a value, whose hooks write the traceparent of the running traced call on the requests
// that it sends. Where there is no such thing they have no effect.
func Propagation() ([]probeset.Tag, error) {
	set, err := probeset.ParseOwn(propagate, "propagate.yaml")
	if err != nil {
		return nil, err
	}
	for i := range set.Tags {
		set.Tags[i].Optional = true
	}
	return set.Tags, nil
}

// OpenTelemetry's Java agent brings its own copy of the API, which every class of the program can use. The current span
// is that of the context of the calling thread.
const (
	agentAPI     = "io.opentelemetry.javaagent.shaded.io.opentelemetry.api.trace."
	currentTrace = "$(" + agentAPI + "Span).current().getSpanContext().getTraceId()"
)

var currentMayCall = []string{agentAPI + "Span.current()", agentAPI + "Span.getSpanContext()", agentAPI + "SpanContext.getTraceId()"}

// TraceIDs returns tags that are the trace of others: of requests that bring a traceparent, and, at the methods whose
// calls are transactions, of the current span of an OpenTelemetry agent. Where there is no such thing they have no effect.
func TraceIDs(roots []*pattern.Pattern) ([]probeset.Tag, error) {
	set, err := probeset.ParseOwn(ids, "ids.yaml")
	if err != nil {
		return nil, err
	}
	current := probeset.Tag{Name: "opentelemetry", As: probeset.AsTrace}
	if current.Value, err = expr.ParseOwn(currentTrace); err != nil {
		return nil, err
	}
	for _, text := range currentMayCall {
		method, err := pattern.Parse(text)
		if err != nil {
			return nil, err
		}
		current.MayCall = append(current.MayCall, method)
	}
	tags := set.Tags
	for i, root := range roots {
		isAgain := slices.ContainsFunc(roots[:i], func(p *pattern.Pattern) bool { return p.String() == root.String() })
		if current.At = root; !isAgain && !root.Excludes() {
			tags = append(tags, current)
		}
	}
	for i := range tags {
		tags[i].Optional = true
	}
	return tags, nil
}
