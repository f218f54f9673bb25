package probeset

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Version is that of the file format.
const Version = 1

// Parse reads a set. The name is that of the file, for messages. The error is an
// [Error] that holds all problems found.
func Parse(text []byte, name string) (*Set, error) {
	root, problem := document(text, name)
	if problem != nil {
		return nil, failure([]Problem{*problem})
	}
	if root == nil {
		return nil, failure([]Problem{{File: name, Detail: "states nothing", Remedy: "a set that wants nothing is 'version: 1' with 'probes: []'"}})
	}
	r := &reader{file: name, lines: map[place]int{}, broken: map[place]bool{}}
	set := r.set(root)
	inFile := checker{set: set, say: func(at place, where, detail, remedy string) {
		if !r.spokenOf(at) {
			r.problems = append(r.problems, Problem{File: name, Line: r.line(at), Where: where, Detail: detail, Remedy: remedy})
		}
	}}
	inFile.check()
	if err := failure(r.problems); err != nil {
		return nil, err
	}
	set.tidy()
	return set, nil
}

// set reads the whole.
func (r *reader) set(root *yaml.Node) *Set {
	set := &Set{HandOff: true}
	stated := false
	r.mapping(root, "set", "", []field{
		{"version", func(n *yaml.Node, at place, where string) {
			stated = true
			if value, ok := r.scalar(n, at, where, "1", "!!int"); ok && value != strconv.Itoa(Version) {
				r.problem(n, at, where, value+" is not known to this Sonde", fmt.Sprintf("write %d, or use a newer Sonde", Version))
			}
		}},
		{"hand-off", func(n *yaml.Node, at place, where string) {
			if value, ok := r.scalar(n, at, where, "true or false", "!!bool"); ok {
				set.HandOff = strings.EqualFold(value, "true")
			}
		}},
		{"tags", func(n *yaml.Node, at place, where string) {
			for i, item := range r.list(n, at, where, "a list of tags, each '- name: …'") {
				set.Tags = append(set.Tags, r.tag(item, place("tags").index(i)))
			}
		}},
		{"probes", func(n *yaml.Node, at place, where string) {
			for i, item := range r.list(n, at, where, "a list of probes, each '- name: …'") {
				set.Probes = append(set.Probes, r.probe(item, place("probes").index(i)))
			}
		}},
		{"weave", func(n *yaml.Node, at place, where string) {
			for i, item := range r.list(n, at, where, "a list of rules, each '- classes: …' with 'when: …'") {
				set.Weave = append(set.Weave, r.rule(item, i))
			}
		}},
	})
	if !stated && !r.broken["set"] && !r.broken["set.version"] {
		r.problem(root, "set.version", "", "version is missing", "write 'version: 1' as the first line")
	}
	return set
}

// list reads a list of mappings.
func (r *reader) list(n *yaml.Node, at place, where, wanted string) []*yaml.Node {
	if !r.is(n, yaml.SequenceNode, at, where, wanted) {
		return nil
	}
	return n.Content
}

// line is that of a value, or of what it should be in.
func (r *reader) line(at place) int {
	for {
		if line := r.lines[at]; line > 0 {
			return line
		}
		outer, ok := at.outer()
		if !ok {
			return 0
		}
		at = outer
	}
}

// spokenOf reports whether a value, or what it is in, was found wrong already.
func (r *reader) spokenOf(at place) bool {
	for ok := true; ok; at, ok = at.outer() {
		if r.broken[at] {
			return true
		}
	}
	return false
}
