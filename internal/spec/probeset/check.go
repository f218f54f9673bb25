package probeset

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/sequence"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
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
	_, err := condition.Parse(text)
	var bad *condition.Error
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
	s, err := sequence.Parse(text)
	if err != nil {
		c.say(at, where, err.Error(), "")
		return ""
	}
	whole := s.String()
	elements := len(s.Elements)
	s.Last = sequence.Below
	if key := s.String(); !c.sequences[key] {
		c.sequences[key] = true
		if c.positions += elements; c.positions > sequence.MostElements && c.positions-elements <= sequence.MostElements {
			c.say(at, where, fmt.Sprintf("with this the sequences of the set have more than %d methods in all", sequence.MostElements), "leave out outer ones")
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
