package probeset

import (
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// Check checks a set that was made from flags, as [Parse] does with a file. The error is
// an [Error].
func (s *Set) Check() error {
	var problems []Problem
	c := checker{set: s, report: func(_ place, where, detail, remedy string) {
		problems = append(problems, Problem{Where: where, Detail: detail, Remedy: remedy})
	}}
	c.check()
	return failure(problems)
}

// checker reports the problems of a set. Values that could not be parsed are nil; they
// were reported before.
type checker struct {
	set       *Set
	report    func(at place, where, detail, remedy string)
	sequences map[string]bool // those found, without their last link
	positions int             // number of their elements
}

func (c *checker) check() {
	c.sequences = map[string]bool{}
	if n := len(c.set.stated()); n > MaxProbes {
		c.report("set.probes", "", fmt.Sprintf("there are %d probes, at most %d are allowed", n, MaxProbes), "combine some: a probe can have several patterns")
	}
	tags := map[string]bool{}
	seen := map[string]bool{}
	for i := range c.set.Tags {
		t := &c.set.Tags[i]
		at := place("tags").index(i)
		c.tag(t, at)
		if spot := fmt.Sprint(t.Name, " ", t.At); t.At != nil {
			if seen[spot] {
				c.report(at, "tag "+shortened(t.Name), fmt.Sprintf("is defined twice at %v", t.At), "remove one")
			}
			seen[spot] = true
		}
		if t.As != AsTrace {
			tags[t.Name] = true
		}
	}
	if len(tags) > MaxTags {
		c.report("set.tags", "", fmt.Sprintf("there are %d tags, at most %d are allowed", len(tags), MaxTags), "leave out tags that are not used")
	}
	names := map[string]bool{}
	for i := range c.set.Probes {
		p := &c.set.Probes[i]
		at := place("probes").index(i)
		c.probe(p, at, tags)
		if names[p.Name] {
			c.report(at.key("name"), "probe "+shortened(p.Name), "another probe has this name", "results are listed by name: use another one")
		}
		names[p.Name] = p.Name != ""
	}
	c.goals()
	c.rules()
}

var (
	probeName    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	categoryName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	tagName      = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
)

func (c *checker) tag(t *Tag, at place) {
	where := title("tag", t.Name)
	switch {
	case t.Name == "":
		c.report(at.key("name"), where, "name is missing", "write name: tier, and use tx.tier in conditions")
	case !tagName.MatchString(t.Name):
		c.report(at.key("name"), where, "is not a name for a tag", "use at most 64 letters, digits and _, no digit first")
	}
	switch {
	case t.Value == nil && t.Of != OfThis:
		c.report(at.key("value"), where, "value is missing", "write "+wantsValue)
	case t.Of == OfThis && (t.Value != nil || t.As != AsIs):
		c.report(at.key("of"), where, "of: $this takes the value that was remembered with the object", "leave out value and as")
	case t.As == AsTrace && t.Of != OfCall:
		c.report(at.key("of"), where, "as: trace is a value of the call, not of an object", "leave out of")
	}
	switch {
	case t.At == nil:
		c.report(at.key("at"), where, "at is missing", "write the method whose calls set the tag, as "+wantsMethods)
	case t.At.Excludes():
		c.report(at.key("at"), join(where, "at"), "the pattern excludes methods", "leave out the !")
	default:
		c.utf8(t.At.String(), at.key("at"), join(where, "at"))
	}
}

// utf8 rejects text that a file cannot contain.
func (c *checker) utf8(text string, at place, where string) {
	if !utf8.ValidString(text) {
		c.report(at, where, fmt.Sprintf("%q is not UTF-8", text), "write it in UTF-8")
	}
}

func (c *checker) probe(p *Probe, at place, tags map[string]bool) {
	where := title("probe", p.Name)
	switch {
	case p.Name == "":
		c.report(at.key("name"), where, "name is missing", "results are listed by name: write name: checkout")
	case !probeName.MatchString(p.Name):
		c.report(at.key("name"), where, "is not a name for a probe", "use at most 64 letters, digits, '.', '_' and '-'")
	}
	c.methods(p, at.key("methods"), where)
	c.within(p, at.key("within"), join(where, "within"))
	c.values(p, at, where)
	c.category(p, at, where)
	c.grouping(p, at, where, tags)
	c.ranges(p, at, where)
}

func (c *checker) category(p *Probe, at place, where string) {
	switch {
	case p.Category == "" && p.Direction != Undirected:
		c.report(at.key("direction"), where, "direction is stated without a category", "write category: web")
	case p.Category == "":
	case !categoryName.MatchString(p.Category):
		c.report(at.key("category"), where, fmt.Sprintf("%q is not a name for a category", shortened(p.Category)), "use at most 32 small letters, digits and '-', a letter first")
	case p.Direction == Undirected:
		c.report(at.key("direction"), where, "direction is missing", "write "+wantsDirection)
	default:
		if mark := p.Mark(); mark != nil && !c.sequences[mark.String()] {
			c.sequences[mark.String()] = true
			c.place(at.key("category"), where, 1)
		}
	}
	if p.Fails != nil && (p.SlowerThan > 0 || p.When != nil && p.When.ReadsExit()) {
		c.report(at.key("fails"), where, "fails cannot be combined with slower-than or with a condition that is checked at the exit", "use two probes")
	}
	if p.Fails != nil && p.Template == PlainTemplate {
		c.report(at.key("template"), where, "fails is checked at the method's exit, but \"template: plain\" checks at its entry", "write \"template: late\", or leave out template")
	}
}

// place counts the elements of a new sequence.
func (c *checker) place(at place, where string, elements int) {
	before := c.positions
	if c.positions += elements; c.positions > pattern.MaxElements && before <= pattern.MaxElements {
		c.report(at, where, fmt.Sprintf("the sequences and categories of all probes have more than %d elements together", pattern.MaxElements), "leave out outer methods of sequences, or categories")
	}
}

func (c *checker) methods(p *Probe, at place, where string) {
	if len(p.Methods) == 0 {
		c.report(at, where, "methods is missing", "write "+wantsMethods)
		return
	}
	if slices.Contains(p.Methods, nil) {
		return
	}
	for i, m := range p.Methods {
		c.utf8(m.String(), at.index(i), join(where, "methods"))
	}
	if _, err := pattern.NewSet(p.Methods...); err != nil {
		c.report(at, join(where, "methods"), err.Error(), "")
	}
}

func (c *checker) within(p *Probe, at place, where string) {
	seen := map[string]bool{}
	for i, s := range p.Within {
		if s == nil {
			continue
		}
		here, text := at.index(i), s.String()
		c.utf8(text, here, where)
		if seen[text] {
			c.report(here, where, fmt.Sprintf("%q is given twice", text), "remove one")
		}
		seen[text] = true
		path := pattern.Sequence{Elements: s.Elements}
		if key := path.String(); !c.sequences[key] {
			c.sequences[key] = true
			c.place(here, where, len(s.Elements))
		}
	}
}

func (c *checker) values(p *Probe, at place, where string) {
	if n := len(p.Captures); n > MaxCaptures {
		c.report(at.key("captures"), where, fmt.Sprintf("captures %d values, at most %d are allowed", n, MaxCaptures), "use a second probe for the others")
	}
	for i, name := range p.Allow {
		c.utf8(name, at.key("allow").index(i), join(where, "allow"))
	}
	if p.Template > CaptureTemplate {
		c.report(at.key("template"), where, fmt.Sprintf("%v is not a template", p.Template), "write "+wantsTemplate)
	}
	if len(p.Captures) > 0 && p.Template != ByNeed && p.Template < CaptureTemplate {
		c.report(at.key("template"), where, "captures need template capture", "write template: capture, or leave out template")
	}
	c.ownTemplate(p, at, where)
	if p.SlowerThan > 0 && p.Template == PlainTemplate {
		c.report(at.key("template"), where, "slower-than is checked at the method's exit, but \"template: plain\" checks at its entry", "write \"template: late\", or leave out template")
	}
	if p.Level == Capture && len(p.Captures) == 0 {
		c.report(at.key("level"), where, "has level capture but no captures", "add captures, such as captures: [$1], or write level: trace")
	}
	isAsked := func(t Tag) bool { return !t.Optional }
	if len(p.Allow) > 0 && len(p.Captures) == 0 && !slices.ContainsFunc(c.set.Tags, isAsked) {
		c.report(at.key("allow"), where, "allow has an effect only with captures or tags", "add captures, or leave it out")
	}
}

// ownTemplate checks what a template of the user can be combined with.
func (c *checker) ownTemplate(p *Probe, at place, where string) {
	if p.Own == nil {
		return
	}
	if p.Own.File == "" {
		c.report(at.key("template"), where, "template is missing", "name the file, such as template: Orders.java")
	}
	c.utf8(p.Own.File, at.key("template"), join(where, "template"))
	for _, one := range []struct {
		key string
		is  bool
	}{
		{"fails", p.Fails != nil}, {"slower-than", p.SlowerThan > 0}, {"captures", len(p.Captures) > 0}, {"category", p.Category != ""},
		{"sample", p.Sample > 1}, {"context", p.Context > 0}, {"level", p.Level > Time},
	} {
		if one.is {
			c.report(at.key(one.key), where, "a template of your own runs in every counted call, so "+one.key+" cannot be combined with it", "test it in the template, or use two probes")
		}
	}
	if _, late := expr.Split(p.When, 0); late != nil {
		c.report(at.key("when"), where, "when uses a value that exists only at the end of a call, but a template of your own runs from the beginning", "test it in the template, or use two probes")
	}
}

func (c *checker) grouping(p *Probe, at place, where string, tags map[string]bool) {
	seen := map[string]bool{}
	for i, name := range p.GroupBy {
		here := at.key("group-by").index(i)
		switch {
		case !tags[name] && slices.ContainsFunc(c.set.Tags, func(t Tag) bool { return t.Name == name }):
			c.report(here, join(where, "group-by"), fmt.Sprintf("%q is the id of a trace, which is different in each request", shortened(name)), "leave it out")
		case !tags[name] && slices.ContainsFunc(c.set.Probes, func(p Probe) bool { return p.Own != nil }): // a template may set it
		case !tags[name]:
			c.report(here, join(where, "group-by"), fmt.Sprintf("there is no tag %q", shortened(name)), "define it under tags, with its value and the method that sets it")
		case seen[name]:
			c.report(here, join(where, "group-by"), fmt.Sprintf("%q is given twice", name), "remove one")
		}
		seen[name] = true
	}
	if p.Context > 0 && len(p.GroupBy) > 0 {
		c.report(at.key("context"), where, "results are grouped by callers or by tags, not by both", "leave out context or group-by, or use two probes")
	}
}

// ranges checks numbers, which Parse has checked in a file.
func (c *checker) ranges(p *Probe, at place, where string) {
	for _, b := range []struct {
		key    string
		isOut  bool
		remedy string
	}{
		{"context", p.Context < 0 || p.Context > MaxContext, fmt.Sprintf("write a number from 1 to %d", MaxContext)},
		{"level", p.Level > Capture, "write " + wantsLevel},
		{"levels", p.Levels < 0 || p.Levels > MaxLevels, fmt.Sprintf("write a number from 1 to %d", MaxLevels)},
		{"sample", p.Sample > MaxSample, fmt.Sprintf("write 1/2 to 1/%d", MaxSample)},
		{"slower-than", p.SlowerThan < 0, "write " + wantsDuration},
		{"for", p.For < 0, "write " + wantsDuration},
		{"calls", p.Calls > 1<<63, "write a smaller number"},
	} {
		if b.isOut {
			c.report(at.key(b.key), join(where, b.key), "the value is out of range", b.remedy)
		}
	}
}

// rules checks when classes get hooks. A rule that can never apply is rejected, because it
// is most likely a mistake.
func (c *checker) rules() {
	if n := len(c.set.Weave); n > MaxRules {
		c.report("set.weave", "", fmt.Sprintf("there are %d rules, at most %d are allowed", n, MaxRules), "combine some: a rule can have several patterns")
	}
	ruleOf := map[string]int{} // number of the rule that has a pattern, from 1
	for i := range c.set.Weave {
		rule := &c.set.Weave[i]
		at, where := place("weave").index(i), ruleTitle(i)
		if len(rule.Classes) == 0 {
			c.report(at.key("classes"), where, "classes is missing", "write "+wantsClasses)
		}
		switch {
		case rule.When == Unstated:
			c.report(at.key("when"), where, "when is missing", "write "+wantsTime)
		case rule.When > Never:
			c.report(at.key("when"), join(where, "when"), "the value is unknown", "write "+wantsTime)
		}
		if before := ruleOf["**"]; before > 0 {
			c.report(at, where, fmt.Sprintf("has no effect: %s matches every class, and the first matching rule applies", ruleTitle(before-1)), "move that rule to the end")
			continue
		}
		for j, class := range rule.Classes {
			if class == nil {
				continue
			}
			here, text := at.key("classes").index(j), class.String()
			c.utf8(text, here, join(where, "classes"))
			if before := ruleOf[text]; before > 0 {
				c.report(here, join(where, "classes"), fmt.Sprintf("%q has no effect: it is in %s, and the first matching rule applies", text, ruleTitle(before-1)), "remove one")
				continue
			}
			ruleOf[text] = i + 1
		}
	}
}
