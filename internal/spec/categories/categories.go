// Package categories holds the rules for calls that come into a program or go out of it:
// web requests, statements of databases. The rules are a probe set, rules.yaml.
package categories

import (
	_ "embed" // of the rules
	"fmt"
	"slices"
	"strings"

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
	// All are the categories, those of incoming calls first.
	All []Category

	probes map[string]Category
	keys   map[Category][]string
}

// Read returns the rules of categories; of all, if none is named.
func Read(names ...string) (*Rules, error) {
	set, err := probeset.ParseOwn(rules, "rules.yaml")
	if err != nil {
		return nil, err
	}
	if err := choose(set, names); err != nil {
		return nil, err
	}
	r := &Rules{Set: set, probes: make(map[string]Category), keys: make(map[Category][]string)}
	for _, direction := range []probeset.Direction{probeset.In, probeset.Out} {
		for i := range set.Probes {
			p := &set.Probes[i]
			if c := (Category{p.Category, p.Direction}); p.Direction == direction {
				r.probes[p.Name] = c
				if r.add(c); direction == probeset.In {
					r.keys[c] = p.GroupBy
				}
			}
		}
	}
	callers := r.Callers()
	for i := range set.Probes {
		if p := &set.Probes[i]; p.Direction == probeset.Out {
			p.GroupBy = slices.DeleteFunc(p.GroupBy, func(tag string) bool { return isOfIncoming(tag) && !slices.Contains(callers, tag) })
			r.keys[r.probes[p.Name]] = slices.DeleteFunc(slices.Clone(p.GroupBy), isOfIncoming)
		}
	}
	set.Tags = slices.DeleteFunc(set.Tags, func(t probeset.Tag) bool {
		return !slices.ContainsFunc(set.Probes, func(p probeset.Probe) bool { return slices.Contains(p.GroupBy, t.Name) })
	})
	return r, set.Check()
}

// isOfIncoming reports whether a tag identifies incoming calls.
func isOfIncoming(tag string) bool { return tag == "method" || tag == "path" }

// choose removes the rules of other categories.
func choose(set *probeset.Set, names []string) error {
	known := namesOf(set)
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no category %q: there are %s", name, strings.Join(known, ", "))
		}
	}
	set.Probes = slices.DeleteFunc(set.Probes, func(p probeset.Probe) bool { return len(names) > 0 && !slices.Contains(names, p.Category) })
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

// Names returns the names of all categories.
func Names() []string {
	set, err := probeset.ParseOwn(rules, "rules.yaml")
	if err != nil {
		return nil // Read reports it
	}
	return namesOf(set)
}

func (r *Rules) add(c Category) {
	if !slices.Contains(r.All, c) {
		r.All = append(r.All, c)
	}
}

// Of returns the category of a probe.
func (r *Rules) Of(probe string) Category { return r.probes[probe] }

// Key returns the tags that identify the calls of a category.
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
