package probeset

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Diff returns the changes that lead from one set, which may be nil, to another: removals
// first, then alterations and additions in the order of the sets. Probes are identified
// by name, tags by name and place, goals by their method, rules by their classes.
func Diff(have, want *Set) []Change {
	if have == nil {
		have = &Set{HandOff: want.HandOff}
	}
	var changes []Change
	changes = append(changes, differences(OfProbe, probesOf(have), probesOf(want))...)
	changes = append(changes, differences(OfTag, tagsOf(have), tagsOf(want))...)
	changes = append(changes, differences(OfGoal, goalsOf(have), goalsOf(want))...)
	changes = append(changes, differences(OfRule, rulesOf(have), rulesOf(want))...)
	var whole []Field
	if have.HandOff != want.HandOff {
		whole = append(whole, Field{"hand-off", strconv.FormatBool(have.HandOff), strconv.FormatBool(want.HandOff)})
	}
	if had, wants := orderOf(have, want), orderOf(want, have); had != wants {
		whole = append(whole, Field{"weave", had, wants})
	}
	if len(whole) > 0 {
		changes = append(changes, Change{Action: Alter, Kind: OfSet, Fields: whole})
	}
	return changes
}

// entry is a probe, a tag, a goal or a rule to compare.
type entry struct {
	key, name string
	fields    []field
}

// entries returns what to compare. The first field, which identifies the entry, is left out.
func entries[T any](list []T, fields func(*T, *reader) []field, identify func(*T) (key, name string)) (all []entry) {
	for i := range list {
		key, name := identify(&list[i])
		all = append(all, entry{key, name, fields(&list[i], nil)[1:]})
	}
	return all
}

func probesOf(s *Set) []entry {
	fields := func(p *Probe, r *reader) []field {
		all := p.fields(r)
		for i := range all {
			if all[i].name == "template-class" && len(all[i].values) > 0 {
				all[i].values = []string{fmt.Sprintf("%x", sha256.Sum256(p.Own.Class))[:12]} // instead of all of it
			}
		}
		return all
	}
	return entries(s.stated(), fields, func(p *Probe) (string, string) { return p.Name, p.Name })
}

func tagsOf(s *Set) []entry {
	return entries(s.Tags, (*Tag).fields, func(t *Tag) (string, string) { return t.Name + " at " + t.At.String(), t.Name })
}

func goalsOf(s *Set) []entry {
	return entries(s.Goals, (*Goal).fields, func(g *Goal) (string, string) { return g.Method.String(), g.Method.String() })
}

func rulesOf(s *Set) []entry {
	return entries(s.Weave, (*Rule).fields, func(r *Rule) (string, string) { return r.name(), r.name() })
}

func (u *Rule) name() string { return strings.Join(textsOf(u.Classes), ", ") }

// orderOf returns the order of the rules that another set has, too. It matters because the
// first rule that matches a class applies.
func orderOf(s, other *Set) string {
	shared := byKey(rulesOf(other))
	var names []string
	for i := range s.Weave {
		if _, is := shared[s.Weave[i].name()]; is {
			names = append(names, s.Weave[i].name())
		}
	}
	return strings.Join(names, "; ")
}

func differences(kind Kind, have, want []entry) []Change {
	had, wanted := byKey(have), byKey(want)
	var changes []Change
	for _, e := range have {
		if _, stays := wanted[e.key]; !stays {
			changes = append(changes, Change{Remove, kind, e.name, fieldsBetween(e.fields, nil)})
		}
	}
	for _, e := range want {
		old, there := had[e.key]
		fields := fieldsBetween(old.fields, e.fields)
		switch {
		case !there:
			changes = append(changes, Change{Add, kind, e.name, fields})
		case len(fields) > 0:
			changes = append(changes, Change{Alter, kind, e.name, fields})
		}
	}
	return changes
}

func byKey(entries []entry) map[string]entry {
	keyed := make(map[string]entry, len(entries))
	for _, e := range entries {
		keyed[e.key] = e
	}
	return keyed
}

// fieldsBetween returns the fields that differ, in their order; removed ones are last. Both
// lists have all fields, or one is nil.
func fieldsBetween(have, want []field) (changed []Field) {
	var removed []Field
	for i := range max(len(have), len(want)) {
		var h, w field
		if have != nil {
			h = have[i]
		}
		if want != nil {
			w = want[i]
		}
		f := Field{cmp.Or(h.name, w.name), strings.Join(h.values, ", "), strings.Join(w.values, ", ")}
		switch {
		case slices.Equal(h.values, w.values):
		case len(w.values) == 0:
			removed = append(removed, f)
		default:
			changed = append(changed, f)
		}
	}
	return append(changed, removed...)
}

// Action is the kind of a change.
type Action uint8

// The actions.
const (
	Add Action = iota
	Alter
	Remove
)

var actionNames = [...]string{"add", "alter", "remove"}

// Sign returns +, ~ or -.
func (a Action) Sign() string { return [...]string{"+", "~", "-"}[min(a, Remove)] }

func (a Action) String() string { return actionNames[min(a, Remove)] }

// MarshalText returns the name, for JSON.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText parses a name.
func (a *Action) UnmarshalText(text []byte) error { return unmarshal(a, actionNames[:], text) }

func unmarshal[T ~uint8](to *T, names []string, text []byte) error {
	i := slices.Index(names, string(text))
	if i < 0 {
		return fmt.Errorf("%q must be one of %v", text, names)
	}
	*to = T(i)
	return nil
}

// Kind is the kind of thing that changes.
type Kind uint8

// The kinds.
const (
	OfProbe Kind = iota
	OfTag
	OfSet  // the set as a whole
	OfRule // its name is its classes
	OfGoal // its name is its method
)

var kindNames = [...]string{"probe", "tag", "set", "rule", "goal"}

func (k Kind) String() string { return kindNames[min(k, OfGoal)] }

// MarshalText returns the name, for JSON.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText parses a name.
func (k *Kind) UnmarshalText(text []byte) error { return unmarshal(k, kindNames[:], text) }

// Change is one difference between two sets.
type Change struct {
	Action Action  `json:"action"`
	Kind   Kind    `json:"kind"`
	Name   string  `json:"name,omitempty"` // of the probe or tag, method of the goal, or classes of the rule; empty for the set
	Fields []Field `json:"fields"`         // that differ; all of them for an addition or removal
}

// Field is a value that differs, as the file states it; empty where it is not stated.
type Field struct {
	Name string `json:"name"`
	Have string `json:"have,omitempty"`
	Want string `json:"want,omitempty"`
}
