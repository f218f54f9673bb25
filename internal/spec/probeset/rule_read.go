package probeset

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

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
