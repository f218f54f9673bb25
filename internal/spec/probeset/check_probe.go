package probeset

import (
	"fmt"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

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
