package probeset_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// TestTheFirstRuleCounts: those behind it are not asked.
func TestTheFirstRuleCounts(t *testing.T) {
	set := &probeset.Set{Weave: []probeset.Rule{
		{[]string{"com.acme.dao.Hot", "com.acme.dao.Cold*"}, probeset.Load},
		{[]string{"com.acme.dao.**"}, probeset.Static},
		{[]string{"**.*$$*"}, probeset.Never},
		{[]string{"com.acme.Order$**"}, probeset.Dynamic},
	}}
	for class, want := range map[string]struct {
		when probeset.When
		rule string
	}{
		"com/acme/dao/Hot":                {probeset.Load, "rule com.acme.dao.Hot says load"},
		"com/acme/dao/ColdStore":          {probeset.Load, "rule com.acme.dao.Cold* says load"},
		"com/acme/dao/Hot$Inner":          {probeset.Static, "rule com.acme.dao.** says static"},
		"com/acme/dao/Order$$Proxy":       {probeset.Static, "rule com.acme.dao.** says static"},
		"com/acme/Order$$EnhancerByCGLIB": {probeset.Never, "rule **.*$$* says never"},
		"com/acme/Order$Item":             {probeset.Dynamic, "rule com.acme.Order$** says dynamic"},
		"com/acme/Order":                  {probeset.Unstated, ""},
		"Top":                             {probeset.Unstated, ""},
	} {
		if when, rule := set.When(class); when != want.when || rule != want.rule {
			t.Errorf("%s: have %v, %q, want %v, %q", class, when, rule, want.when, want.rule)
		}
	}
	if when, rule := (&probeset.Set{}).When("a/B"); when != probeset.Unstated || rule != "" {
		t.Errorf("no rules: %v, %q", when, rule)
	}
}

func TestDiffOfRules(t *testing.T) {
	rule := func(when probeset.When, classes ...string) probeset.Rule {
		return probeset.Rule{Classes: classes, When: when}
	}
	have := &probeset.Set{Weave: []probeset.Rule{rule(probeset.Static, "a.**"), rule(probeset.Never, "b.**", "c.D"), rule(probeset.Load, "e.F")}}
	for _, test := range []struct {
		want     []probeset.Rule
		expected []probeset.Change
	}{
		{[]probeset.Rule{rule(probeset.Static, " a.**"), rule(probeset.Never, "b.**", "c.D"), rule(probeset.Load, "e.F")}, nil},
		{[]probeset.Rule{rule(probeset.Dynamic, "a.**"), rule(probeset.Never, "b.**", "c.D"), rule(probeset.Never, "g.H")}, []probeset.Change{
			{probeset.Remove, probeset.OfRule, "e.F", []probeset.Field{{"when", "load", ""}}},
			{probeset.Alter, probeset.OfRule, "a.**", []probeset.Field{{"when", "static", "dynamic"}}},
			{probeset.Add, probeset.OfRule, "g.H", []probeset.Field{{"when", "", "never"}}},
		}},
		{[]probeset.Rule{rule(probeset.Load, "e.F"), rule(probeset.Static, "a.**"), rule(probeset.Never, "b.**", "c.D")}, []probeset.Change{
			{probeset.Alter, probeset.OfSet, "", []probeset.Field{{"weave", "a.**; b.**, c.D; e.F", "e.F; a.**; b.**, c.D"}}},
		}},
	} {
		if changes := probeset.Diff(have, &probeset.Set{Weave: test.want}); !reflect.DeepEqual(changes, test.expected) {
			t.Errorf("%v: have %v\nwant %v", test.want, changes, test.expected)
		}
	}
}

// TestRulesWithoutEffect are refused, also where they do not come from a file.
func TestRulesWithoutEffect(t *testing.T) {
	for _, test := range []struct {
		rules []probeset.Rule
		want  string
	}{
		{[]probeset.Rule{{[]string{"**"}, probeset.Never}, {[]string{"a.B"}, probeset.Load}}, "rule 2: has no effect: ** of rule 1 names every class, and the first rule counts; put that one last"},
		{[]probeset.Rule{{[]string{"a.B", "a.B"}, probeset.Never}}, `rule 1, classes: "a.B" has no effect: it is in rule 1`},
		{[]probeset.Rule{{[]string{"a.B"}, probeset.Never + 1}}, "rule 1, when: is out of bounds; write static, load, dynamic or never"},
		{[]probeset.Rule{{nil, probeset.Never}}, "rule 1: classes is missing; write a pattern such as"},
		{[]probeset.Rule{{[]string{"a\xff"}, probeset.Never}}, "is not UTF-8"},
		{make([]probeset.Rule, probeset.MostRules+1), "1001 rules are more than 1000; join some"},
	} {
		err := (&probeset.Set{Weave: test.rules}).Check()
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("have %.300v, want %q", err, test.want)
		}
	}
}
