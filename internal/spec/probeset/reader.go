package probeset

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// reader turns nodes into a set. It goes on after a problem, so that all are told, and
// notes where each value stands, and which of them are no more to be spoken of.
type reader struct {
	file     string
	problems []Problem
	lines    map[place]int
	broken   map[place]bool
}

// place is a value of a set: probes[2].methods[0].
type place string

func (p place) key(name string) place { return p + "." + place(name) }
func (p place) index(i int) place     { return place(fmt.Sprintf("%s[%d]", p, i)) }

// outer is what the value is in.
func (p place) outer() (place, bool) {
	end := strings.LastIndexAny(string(p), ".[")
	if end < 0 {
		return "", false
	}
	return p[:end], true
}

func (r *reader) seen(n *yaml.Node, at place) { r.lines[at] = n.Line }

func (r *reader) problem(n *yaml.Node, at place, where, detail, remedy string) {
	r.broken[at] = true
	r.problems = append(r.problems, Problem{File: r.file, Line: n.Line, Where: where, Detail: detail, Remedy: remedy})
}

// field is a key that a mapping may have.
type field struct {
	name string
	read func(n *yaml.Node, at place, where string)
}

// mapping reads a mapping of known keys, each at most once.
func (r *reader) mapping(n *yaml.Node, at place, where string, fields []field) {
	r.seen(n, at)
	if !r.is(n, yaml.MappingNode, at, where, "keys with values, such as 'name: checkout'") {
		return
	}
	found := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		known := slices.IndexFunc(fields, func(f field) bool { return f.name == key.Value })
		switch line := found[key.Value]; {
		case key.Kind != yaml.ScalarNode || known < 0:
			r.problem(key, at.key(key.Value), where, fmt.Sprintf("unknown key %q", key.Value), nearKey(key.Value, fields))
		case line > 0:
			r.problem(key, at.key(key.Value), where, fmt.Sprintf("%s is stated twice, first in line %d", key.Value, line), "take one out")
		default:
			found[key.Value] = key.Line
			r.seen(value, at.key(key.Value))
			fields[known].read(value, at.key(key.Value), join(where, key.Value))
		}
	}
}

// is checks the kind of a node, and says what should be there instead.
func (r *reader) is(n *yaml.Node, kind yaml.Kind, at place, where, wanted string) bool {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.problem(n, at, where, "& and * at the beginning mean something else in YAML", quoteRemedy)
	case strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!"):
		r.problem(n, at, where, fmt.Sprintf("%q at the beginning means something else in YAML", n.Tag), quoteRemedy)
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		r.problem(n, at, where, "has no value", "write "+wanted+orNothing(at))
	case n.Kind != kind:
		r.problem(n, at, where, "is "+kindText(n), "write "+wanted)
	default:
		return true
	}
	return false
}

func kindText(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.Tag {
	case "!!int", "!!float":
		return fmt.Sprintf("the number %s", n.Value)
	case "!!bool":
		return fmt.Sprintf("the truth value %s", n.Value)
	}
	return fmt.Sprintf("%q", n.Value)
}

// scalar reads a value of one of the tags.
func (r *reader) scalar(n *yaml.Node, at place, where, wanted string, tags ...string) (string, bool) {
	if !r.is(n, yaml.ScalarNode, at, where, wanted) {
		return "", false
	}
	if !slices.Contains(tags, n.Tag) {
		r.problem(n, at, where, "is "+kindText(n), "write "+wanted)
		return "", false
	}
	return n.Value, true
}

// text reads a text, without blanks around it.
func (r *reader) text(n *yaml.Node, at place, where, wanted string) (string, bool) {
	value, ok := r.scalar(n, at, where, wanted, "!!str")
	value = strings.TrimSpace(value)
	if ok && value == "" {
		r.problem(n, at, where, "is empty", "write "+wanted+orNothing(at))
		return "", false
	}
	return value, ok
}

// texts reads a list of texts, or a single one.
func (r *reader) texts(n *yaml.Node, at place, where, wanted string) []string {
	if n.Kind != yaml.SequenceNode {
		r.seen(n, at.index(0))
		value, ok := r.text(n, at, where, wanted+", or a list")
		if !ok {
			return nil
		}
		return []string{value}
	}
	if len(n.Content) == 0 {
		r.problem(n, at, where, "is an empty list", "write "+wanted+orNothing(at))
	}
	var list []string
	for _, item := range n.Content {
		place := at.index(len(list))
		r.seen(item, place)
		value, ok := r.text(item, place, where, wanted)
		if ok && slices.Contains(list, value) {
			r.problem(item, place, where, fmt.Sprintf("%q is in the list twice", value), "take one out")
		}
		// One that is wrong keeps its place, so that what follows keeps its line.
		list = append(list, value)
	}
	return list
}

func join(where, name string) string {
	if where == "" {
		return name
	}
	return where + ", " + name
}

// orNothing says that a key can be left out, where it can.
func orNothing(at place) string {
	key := string(at[strings.LastIndexByte(string(at), '.')+1:])
	if strings.HasPrefix(string(at), "weave[") || key == "name" || key == "methods" || key == "value" || key == "at" || strings.HasSuffix(key, "]") {
		return ""
	}
	return ", or leave the key out"
}
