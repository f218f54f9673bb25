package probeset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
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

// What belongs into the fields.
const (
	wantsMethods  = "a pattern such as com.acme.Order.pay"
	wantsSequence = "methods such as 'com.acme.Web.handle >> com.acme.Order.pay'"
	wantsWhen     = `a condition such as '$1.tier == "gold"'`
	wantsValue    = "a value such as $1.customer.tier"
	wantsLevel    = "count, time, trace or capture"
	wantsTemplate = "plain, late or capture"
	wantsDuration = "a time with its unit, such as 10m or 250ms"
	wantsSample   = "a part of the calls, such as 1/100"
	wantsNumber   = "a whole number"
	wantsClasses  = "a pattern such as com.acme.dao.** or com.acme.Order"
	wantsTime     = "static, load, dynamic or never"
)

func (r *reader) tag(n *yaml.Node, at place) (tag Tag) {
	where := r.called(n, "tag")
	r.mapping(n, at, where, []field{
		{"name", func(n *yaml.Node, at place, where string) { tag.Name, _ = r.text(n, at, where, "a name") }},
		{"value", func(n *yaml.Node, at place, where string) { tag.Value, _ = r.text(n, at, where, wantsValue) }},
		{"at", func(n *yaml.Node, at place, where string) { tag.At, _ = r.text(n, at, where, wantsMethods) }},
	})
	return tag
}

func (r *reader) probe(n *yaml.Node, at place) (p Probe) {
	leveled := false
	where := r.called(n, "probe")
	texts := func(to *[]string, wanted string) func(*yaml.Node, place, string) {
		return func(n *yaml.Node, at place, where string) { *to = r.texts(n, at, where, wanted) }
	}
	duration := func(to *time.Duration) func(*yaml.Node, place, string) {
		return func(n *yaml.Node, at place, where string) { *to = r.duration(n, at, where) }
	}
	r.mapping(n, at, where, []field{
		{"name", func(n *yaml.Node, at place, where string) { p.Name, _ = r.text(n, at, where, "a name") }},
		{"methods", texts(&p.Methods, wantsMethods)},
		{"within", texts(&p.Within, wantsSequence)},
		{"context", func(n *yaml.Node, at place, where string) { p.Context = int(r.number(n, at, where, MostContext)) }},
		{"when", func(n *yaml.Node, at place, where string) { p.When, _ = r.text(n, at, where, wantsWhen) }},
		{"level", func(n *yaml.Node, at place, where string) { p.Level, leveled = r.level(n, at, where), true }},
		{"template", func(n *yaml.Node, at place, where string) { p.Template = r.template(n, at, where) }},
		{"captures", texts(&p.Captures, wantsValue)},
		{"allow", texts(&p.Allow, "a name such as password")},
		{"levels", func(n *yaml.Node, at place, where string) { p.Levels = int(r.number(n, at, where, MostLevels)) }},
		{"slower-than", duration(&p.SlowerThan)},
		{"sample", func(n *yaml.Node, at place, where string) { p.Sample = r.sample(n, at, where) }},
		{"group-by", texts(&p.GroupBy, "the name of a tag")},
		{"for", duration(&p.For)},
		{"calls", func(n *yaml.Node, at place, where string) { p.Calls = r.number(n, at, where, 1<<63) }},
	})
	if !leveled {
		p.Level = p.usualLevel()
	}
	return p
}

// called is how a probe or tag is spoken of: by its name, where it has one.
func (r *reader) called(n *yaml.Node, what string) string {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if name := n.Content[i+1]; n.Content[i].Value == "name" && name.Kind == yaml.ScalarNode && name.Value != "" {
				return what + " " + shortened(name.Value)
			}
		}
	}
	return what
}

// shortened keeps a message readable whose subject is not.
func shortened(name string) string {
	const most = 60
	if letters := []rune(name); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return name
}

func (r *reader) level(n *yaml.Node, at place, where string) Level {
	name, ok := r.text(n, at, where, wantsLevel)
	if !ok {
		return 0
	}
	level, known := ParseLevel(name)
	if !known {
		r.problem(n, at, where, fmt.Sprintf("%q is no level", name), "write "+wantsLevel)
	}
	return level
}

func (r *reader) template(n *yaml.Node, at place, where string) Template {
	name, ok := r.text(n, at, where, wantsTemplate)
	if !ok {
		return 0
	}
	template, known := ParseTemplate(name)
	if !known {
		r.problem(n, at, where, fmt.Sprintf("%q is no template", name), "write "+wantsTemplate)
	}
	return template
}

func (r *reader) duration(n *yaml.Node, at place, where string) time.Duration {
	text, ok := r.text(n, at, where, wantsDuration)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		r.problem(n, at, where, fmt.Sprintf("%q is no time", text), "write "+wantsDuration)
		return 0
	}
	return d
}

func (r *reader) sample(n *yaml.Node, at place, where string) uint32 {
	text, ok := r.text(n, at, where, wantsSample)
	if !ok {
		return 0
	}
	one, of, parted := strings.Cut(text, "/")
	period, err := strconv.ParseUint(strings.TrimSpace(of), 10, 32)
	if !parted || strings.TrimSpace(one) != "1" || err != nil || period == 0 || period > MostSample {
		r.problem(n, at, where, fmt.Sprintf("%q is no part of the calls", text), fmt.Sprintf("write one in so many, such as 1/100, up to 1/%d", MostSample))
		return 0
	}
	return uint32(period)
}

// number reads a whole number from 1 on.
func (r *reader) number(n *yaml.Node, at place, where string, most uint64) uint64 {
	text, ok := r.scalar(n, at, where, wantsNumber, "!!int")
	if !ok {
		return 0
	}
	var value uint64
	if err := n.Decode(&value); err != nil || value == 0 || value > most {
		r.problem(n, at, where, text+" is out of bounds", fmt.Sprintf("write a number from 1 to %d, or leave the key out", most))
		return 0
	}
	return value
}

// ruleCalled is how a rule is spoken of: it has no name.
func ruleCalled(i int) string { return fmt.Sprintf("rule %d", i+1) }

func (r *reader) rule(n *yaml.Node, i int) (rule Rule) {
	r.mapping(n, place("weave").index(i), ruleCalled(i), []field{
		{"classes", func(n *yaml.Node, at place, where string) { rule.Classes = r.texts(n, at, where, wantsClasses) }},
		{"when", func(n *yaml.Node, at place, where string) { rule.When = r.when(n, at, where) }},
	})
	return rule
}

func (r *reader) when(n *yaml.Node, at place, where string) When {
	name, ok := r.text(n, at, where, wantsTime)
	if !ok {
		return Unstated
	}
	when, known := ParseWhen(name)
	if !known {
		remedy := "write " + wantsTime
		if best := near(name, whenNames[Static:], timeWords); best != "" {
			remedy = "did you mean " + best + "?"
		}
		r.problem(n, at, where, fmt.Sprintf("%q is not known", shortened(name)), remedy)
	}
	return when
}

// rules checks when classes get hooks. What can never count is most likely not what was
// meant, so it is refused.
func (c *checker) rules() {
	if n := len(c.set.Weave); n > MostRules {
		c.say("set.weave", "", fmt.Sprintf("%d rules are more than %d", n, MostRules), "join some: a rule takes many patterns")
	}
	named := map[string]int{} // the rule that has a pattern
	for i := range c.set.Weave {
		rule := &c.set.Weave[i]
		at, where := place("weave").index(i), ruleCalled(i)
		if len(rule.Classes) == 0 {
			c.say(at.key("classes"), where, "classes is missing", "write "+wantsClasses)
		}
		switch {
		case rule.When == Unstated:
			c.say(at.key("when"), where, "when is missing", "write "+wantsTime)
		case rule.When > Never:
			c.say(at.key("when"), join(where, "when"), "is out of bounds", "write "+wantsTime)
		}
		if before := named["**"]; before > 0 {
			c.say(at, where, fmt.Sprintf("has no effect: ** of %s names every class, and the first rule counts", ruleCalled(before-1)), "put that one last")
			continue
		}
		for j, text := range rule.Classes {
			c.class(text, i, at.key("classes").index(j), join(where, "classes"), named)
		}
	}
}

func (c *checker) class(text string, i int, at place, where string, named map[string]int) {
	if !c.letters(text, at, where) {
		return
	}
	if strings.HasPrefix(text, "!") {
		c.say(at, where, fmt.Sprintf("%q takes classes out, which a rule cannot", text), "leave the ! out, and state them in a rule before this one")
		return
	}
	pattern, err := pattern.ParseClass(text)
	if err != nil {
		c.say(at, where, err.Error(), "")
		return
	}
	if before := named[pattern.String()]; before > 0 {
		c.say(at, where, fmt.Sprintf("%q has no effect: it is in %s, and the first rule counts", pattern, ruleCalled(before-1)), "take one out")
		return
	}
	named[pattern.String()] = i + 1
}

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
