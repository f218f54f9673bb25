package probeset

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// Check finds what is wrong with a set that was made of flags, as [Parse] does with a
// file. The error is an [Error].
func (s *Set) Check() error {
	var problems []Problem
	c := checker{set: s, say: func(_ place, where, detail, remedy string) {
		problems = append(problems, Problem{Where: where, Detail: detail, Remedy: remedy})
	}}
	c.check()
	return failure(problems)
}

// checker goes through a set and says what is wrong with it.
type checker struct {
	set       *Set
	say       func(at place, where, detail, remedy string)
	sequences map[string]bool // those met, without their last link
	positions int             // that they take
}

func (c *checker) check() {
	c.sequences = map[string]bool{}
	if n := len(c.set.Probes); n > MostProbes {
		c.say("set.probes", "", fmt.Sprintf("%d probes are more than %d", n, MostProbes), "join some: a probe takes many patterns")
	}
	names := map[string]bool{}
	seen := map[Tag]bool{}
	for i := range c.set.Tags {
		t := &c.set.Tags[i]
		c.tag(t, place("tags").index(i))
		spot := Tag{Name: t.Name, At: t.At}
		if seen[spot] {
			c.say(place("tags").index(i), "tag "+shortened(t.Name), "is stated twice at "+t.At, "take one out")
		}
		seen[spot], names[t.Name] = true, true
	}
	if len(names) > MostTags {
		c.say("set.tags", "", fmt.Sprintf("%d tags are more than %d", len(names), MostTags), "leave out those that nothing asks for")
	}
	taken := map[string]bool{}
	for i := range c.set.Probes {
		p := &c.set.Probes[i]
		at := place("probes").index(i)
		c.probe(p, at, names)
		if taken[p.Name] {
			c.say(at.key("name"), "probe "+shortened(p.Name), "another probe has this name", "results are told by name: give it another")
		}
		taken[p.Name] = p.Name != ""
	}
	c.rules()
}

var (
	probeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	tagName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
)

func (c *checker) tag(t *Tag, at place) {
	where := "tag"
	if t.Name != "" {
		where += " " + shortened(t.Name)
	}
	switch {
	case t.Name == "":
		c.say(at.key("name"), where, "name is missing", "write name: tier, and conditions can ask for tx.tier")
	case !tagName.MatchString(t.Name):
		c.say(at.key("name"), where, "is no name of a tag", "use letters, digits and _, 64 at most, no digit first")
	}
	if t.Value == "" {
		c.say(at.key("value"), where, "value is missing", "write "+wantsValue)
	} else {
		c.expression(t.Value, at.key("value"), join(where, "value"))
	}
	if t.At == "" {
		c.say(at.key("at"), where, "at is missing", "write the method whose calls give the tag its value, as "+wantsMethods)
	} else if p := c.pattern(t.At, at.key("at"), join(where, "at")); p != nil && p.Excludes() {
		c.say(at.key("at"), join(where, "at"), "only takes methods out", "leave the ! out")
	}
}

func (c *checker) pattern(text string, at place, where string) *pattern.Pattern {
	if !c.letters(text, at, where) {
		return nil
	}
	pattern, err := pattern.Parse(text)
	if err != nil {
		c.say(at, where, err.Error(), "")
		return nil
	}
	return pattern
}

func (c *checker) expression(text string, at place, where string) {
	if !c.letters(text, at, where) {
		return
	}
	_, err := expr.Parse(text)
	var bad *expr.Error
	switch {
	case errors.As(err, &bad):
		detail, _ := strings.CutPrefix(bad.Error(), "condition, ")
		c.say(at, where, fmt.Sprintf("%q, %s", bad.Text, detail), "")
	case err != nil:
		c.say(at, where, err.Error(), "")
	}
}

func (c *checker) sequence(text string, at place, where string) string {
	if !c.letters(text, at, where) {
		return ""
	}
	s, err := pattern.ParseSequence(text)
	if err != nil {
		c.say(at, where, err.Error(), "")
		return ""
	}
	whole := s.String()
	elements := len(s.Elements)
	s.Last = pattern.Below
	if key := s.String(); !c.sequences[key] {
		c.sequences[key] = true
		if c.positions += elements; c.positions > pattern.MaxElements && c.positions-elements <= pattern.MaxElements {
			c.say(at, where, fmt.Sprintf("with this the sequences of the set have more than %d methods in all", pattern.MaxElements), "leave out outer ones")
		}
	}
	return whole
}

// letters refuses what no file could hold.
func (c *checker) letters(text string, at place, where string) bool {
	if !utf8.ValidString(text) {
		c.say(at, where, fmt.Sprintf("%q is not UTF-8", text), "write it in UTF-8")
		return false
	}
	return true
}

func (c *checker) probe(p *Probe, at place, tags map[string]bool) {
	where := "probe"
	if p.Name != "" {
		where += " " + shortened(p.Name)
	}
	switch {
	case p.Name == "":
		c.say(at.key("name"), where, "name is missing", "results are told by name: write name: checkout")
	case !probeName.MatchString(p.Name):
		c.say(at.key("name"), where, "is no name of a probe", "use letters, digits, '.', '_' and '-', 64 at most")
	}
	c.methods(p, at.key("methods"), where)
	met := map[string]bool{}
	for i, text := range p.Within {
		here := at.key("within").index(i)
		whole := c.sequence(text, here, join(where, "within"))
		if met[whole] {
			c.say(here, join(where, "within"), fmt.Sprintf("%q is there twice", whole), "take one out")
		}
		met[whole] = whole != ""
	}
	if p.When != "" {
		c.expression(p.When, at.key("when"), join(where, "when"))
	}
	c.values(p, at, where)
	c.grouping(p, at, where, tags)
	c.bounds(p, at, where)
}

func (c *checker) methods(p *Probe, at place, where string) {
	if len(p.Methods) == 0 {
		c.say(at, where, "methods is missing", "write "+wantsMethods)
		return
	}
	patterns := make([]*pattern.Pattern, 0, len(p.Methods))
	for i, text := range p.Methods {
		if pattern := c.pattern(text, at.index(i), join(where, "methods")); pattern != nil {
			patterns = append(patterns, pattern)
		}
	}
	if len(patterns) < len(p.Methods) {
		return
	}
	if _, err := pattern.NewSet(patterns...); err != nil {
		c.say(at, join(where, "methods"), err.Error(), "")
	}
}

func (c *checker) values(p *Probe, at place, where string) {
	if n := len(p.Captures); n > MostCaptures {
		c.say(at.key("captures"), where, fmt.Sprintf("captures %d values, more than %d", n, MostCaptures), "use a second probe for the others")
	}
	for i, text := range p.Captures {
		c.expression(text, at.key("captures").index(i), join(where, "captures"))
	}
	for i, name := range p.Allow {
		c.letters(name, at.key("allow").index(i), join(where, "allow"))
	}
	if p.Template > CaptureTemplate {
		c.say(at.key("template"), where, fmt.Sprintf("%v is no template", p.Template), "write "+wantsTemplate)
	}
	if len(p.Captures) > 0 && p.Template != ByNeed && p.Template < CaptureTemplate {
		c.say(at.key("template"), where, "has captures, for which the template has no place", "write template: capture, or leave it out")
	}
	if p.SlowerThan > 0 && p.Template == PlainTemplate {
		c.say(at.key("template"), where, "has slower-than, which is known at the exit, where the template asks nothing", "write template: late, or leave it out")
	}
	if p.Level == Capture && len(p.Captures) == 0 {
		c.say(at.key("level"), where, "is to capture, and states no values", "add captures, such as captures: [$1], or write level: trace")
	}
	if len(p.Allow) > 0 && len(p.Captures) == 0 && len(c.set.Tags) == 0 {
		c.say(at.key("allow"), where, "allow is of use only with captures or tags", "add captures, or leave it out")
	}
}

func (c *checker) grouping(p *Probe, at place, where string, tags map[string]bool) {
	met := map[string]bool{}
	for i, name := range p.GroupBy {
		here := at.key("group-by").index(i)
		switch {
		case !tags[name]:
			c.say(here, join(where, "group-by"), fmt.Sprintf("there is no tag %q", shortened(name)), "state it under tags, with its value and where it is taken")
		case met[name]:
			c.say(here, join(where, "group-by"), fmt.Sprintf("%q is there twice", name), "take one out")
		}
		met[name] = true
	}
	if p.Context > 0 && len(p.GroupBy) > 0 {
		c.say(at.key("context"), where, "results are told apart by callers or by tags, not by both", "leave context or group-by out, or use two probes")
	}
}

// bounds checks numbers; those of a file are within them already.
func (c *checker) bounds(p *Probe, at place, where string) {
	for _, b := range []struct {
		key  string
		out  bool
		most string
	}{
		{"context", p.Context < 0 || p.Context > MostContext, fmt.Sprintf("write a number from 1 to %d", MostContext)},
		{"level", p.Level > Capture, "write " + wantsLevel},
		{"levels", p.Levels < 0 || p.Levels > MostLevels, fmt.Sprintf("write a number from 1 to %d", MostLevels)},
		{"sample", p.Sample > MostSample, fmt.Sprintf("write 1/2 to 1/%d", MostSample)},
		{"slower-than", p.SlowerThan < 0, "write " + wantsDuration},
		{"for", p.For < 0, "write " + wantsDuration},
		{"calls", p.Calls > 1<<63, "write a smaller number"},
	} {
		if b.out {
			c.say(at.key(b.key), join(where, b.key), "is out of bounds", b.most)
		}
	}
}
