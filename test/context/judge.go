package context

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// row names what is counted apart: a probe, one of its sequences, a method, and the
// values of the tags that the probe groups by.
type row struct {
	probe, sequence string
	method          string // app.C3.s30
	// label has a line for each tag: tier=gold, "tier" of a null, none of one that is not
	// set. Or it has a line for each caller, innermost first, up to what is not the
	// program's.
	label string
}

func (r row) String() string {
	return fmt.Sprintf("%s within %q of %s [%s]", r.probe, r.sequence, r.method, strings.ReplaceAll(r.label, "\n", " "))
}

// judgement is what the reference says of a program's run.
type judgement struct {
	calls  int // of probed methods
	asked  int // questions: a call of a probed method, and a sequence
	held   int // of those, such as have the answer yes
	counts map[row]uint64
	first  map[row]string // the stack of the first call of each
}

// spotted is a probe with one of its sequences, as it meets one method.
type spotted struct {
	row
	probe    *wishedProbe
	sequence []element
}

// judge replays logs and counts what a wish asks for.
func (w *wish) judge(p *program, threads []*thread) (*judgement, error) {
	j := &judgement{counts: make(map[row]uint64), first: make(map[row]string)}
	spots := w.spots(p)
	in := &interpreter{methods: p.methods, tags: w.tagPoints(p)}
	in.judge = func(c call) {
		if len(spots[c.method.number]) > 0 {
			j.calls++
		}
		for _, s := range spots[c.method.number] {
			j.ask(w, s, c)
		}
	}
	return j, in.replay(threads)
}

func (j *judgement) ask(w *wish, s spotted, c call) {
	j.asked++
	sees := func(tag int) *string {
		value, _ := seen(tag, c.frame)
		return value
	}
	if !holds(s.sequence, c.frame) || s.probe.when != nil && !s.probe.when.true(c.facts, sees) {
		return
	}
	j.held++
	r := s.row
	r.label = w.label(s.probe, c.frame)
	j.counts[r]++
	if j.counts[r] == 1 {
		j.first[r] = fmt.Sprintf("call %d: %s", c.number, trail(c.frame))
	}
}

// label is the values of the tags a probe groups by, or the callers.
func (w *wish) label(p *wishedProbe, call *frame) string {
	var lines []string
	for f := call.outer; f != nil && f.method != nil && len(lines) < p.context; f = f.outer {
		lines = append(lines, f.method.String())
	}
	for _, tag := range p.groups {
		switch value, set := seen(tag, call); {
		case value != nil:
			lines = append(lines, w.tags[tag].name+"="+*value)
		case set:
			lines = append(lines, w.tags[tag].name)
		}
	}
	return strings.Join(lines, "\n")
}

// spots are those of each method, by its number.
func (w *wish) spots(p *program) [][]spotted {
	all := make([][]spotted, len(p.methods))
	for i := range w.probes {
		probe := &w.probes[i]
		for _, m := range p.methods {
			if !slices.ContainsFunc(probe.methods, func(p pattern) bool { return p.matches(m) }) {
				continue
			}
			sequences := probe.within
			if len(sequences) == 0 {
				sequences = [][]element{nil}
			}
			for _, sequence := range sequences {
				r := row{probe: probe.name, sequence: sequenceText(sequence), method: m.String()}
				all[m.number] = append(all[m.number], spotted{r, probe, sequence})
			}
		}
	}
	return all
}

// tagPoints are those of each method, by its number.
func (w *wish) tagPoints(p *program) [][]tagPoint {
	all := make([][]tagPoint, len(p.methods))
	for number, tag := range w.tags {
		for _, m := range p.methods {
			if w.isTagged(tag, m) {
				all[m.number] = append(all[m.number], tagPoint{number, tag.value})
			}
		}
	}
	return all
}

// isTagged reports whether a method sets a tag. The number of each call is set by
// every method that is probed.
func (w *wish) isTagged(tag wishedTag, m *method) bool {
	if tag.name != callTag {
		return tag.at.matches(m)
	}
	return slices.ContainsFunc(w.probes, func(probe wishedProbe) bool {
		return slices.ContainsFunc(probe.methods, func(p pattern) bool { return p.matches(m) })
	})
}

// value is what a path leads to: a number, a text, or nothing.
type value struct {
	missing bool
	isText  bool
	number  int
	text    string
}

func number(n int) value { return value{number: n} }

func text(s *string) value {
	if s == nil {
		return value{missing: true, isText: true}
	}
	return value{isText: true, text: *s}
}

// literal is a constant as conditions write it.
func (v value) literal() string {
	switch {
	case v.missing:
		return "null"
	case v.isText:
		return strconv.Quote(v.text)
	}
	return strconv.Itoa(v.number)
}

// accessor is a path with what it means.
type accessor struct {
	path   string
	isText bool
	ofThis bool // only methods of an object have it
	read   func(f facts) value
}

// accessors are all paths that conditions, tags and captures use; tags are read apart.
var accessors = []accessor{
	{path: "$2", read: func(f facts) value { return number(f.amount) }},
	{path: "$amount", read: func(f facts) value { return number(f.amount) }},
	{path: "$3.amount", read: func(f facts) value {
		if f.order == nil {
			return value{missing: true}
		}
		return number(f.order.amount)
	}},
	{path: "$order.getTier()", isText: true, read: func(f facts) value {
		if f.order == nil {
			return text(nil)
		}
		return text(f.order.tier)
	}},
	{path: "$order.customer.rank", read: func(f facts) value {
		if f.order == nil || f.order.customer == nil {
			return value{missing: true}
		}
		return number(f.order.customer.rank)
	}},
	{path: "$3.customer.name", isText: true, read: func(f facts) value {
		if f.order == nil || f.order.customer == nil {
			return text(nil)
		}
		return text(f.order.customer.name)
	}},
	{path: "$4", isText: true, read: func(f facts) value { return text(f.text) }},
	{path: "$this.weight", ofThis: true, read: func(f facts) value { return number(f.weight) }},
}

// numberAccessor is the path of a call's own number.
var numberAccessor = accessor{path: "$1", read: func(f facts) value { return number(f.number) }}

// condition is a tree of comparisons.
type condition struct {
	join  string // "&&", "||" or "!"; "" for a comparison
	parts []condition

	tag    int // to be compared, by number; -1: path
	name   string
	path   accessor
	op     string
	values []value // more than one for "in"
}

func (c condition) String() string {
	switch c.join {
	case "":
		left := c.path.path
		if c.tag >= 0 {
			left = "tx." + c.name
		}
		if c.op == "in" {
			return fmt.Sprintf("%s in (%s)", left, strings.Join(literals(c.values), ", "))
		}
		return fmt.Sprintf("%s %s %s", left, c.op, c.values[0].literal())
	case "!":
		return "!(" + c.parts[0].String() + ")"
	}
	texts := make([]string, len(c.parts))
	for i, part := range c.parts {
		texts[i] = "(" + part.String() + ")"
	}
	return strings.Join(texts, " "+c.join+" ")
}

func literals(values []value) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = v.literal()
	}
	return all
}

// asksThis reports whether only methods of an object can be asked.
func (c condition) asksThis() bool {
	return c.path.ofThis || slices.ContainsFunc(c.parts, condition.asksThis)
}

// true reports whether it holds of a call that sees tags.
func (c condition) true(f facts, tag func(number int) *string) bool {
	holds := func(part condition) bool { return part.true(f, tag) }
	fails := func(part condition) bool { return !part.true(f, tag) }
	switch c.join {
	case "&&":
		return !slices.ContainsFunc(c.parts, fails)
	case "||":
		return slices.ContainsFunc(c.parts, holds)
	case "!":
		return fails(c.parts[0])
	}
	left := value{}
	if c.tag >= 0 {
		left = text(tag(c.tag))
	} else {
		left = c.path.read(f)
	}
	return slices.ContainsFunc(c.values, func(right value) bool { return compare(left, c.op, right) })
}

// compare is the language's: what is missing is equal to null, and no comparison with
// anything else is true of it.
func compare(left value, op string, right value) bool {
	if right.missing {
		return (op == "==") == left.missing
	}
	if left.missing {
		return false
	}
	order := left.number - right.number
	if left.isText {
		order = strings.Compare(left.text, right.text)
	}
	switch op {
	case "==", "in":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}
