package wanted_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/wanted"
)

// TestTheFirstRuleCounts: those behind it are not asked.
func TestTheFirstRuleCounts(t *testing.T) {
	set := &wanted.Set{Weave: []wanted.Rule{
		{[]string{"com.acme.dao.Hot", "com.acme.dao.Cold*"}, wanted.Load},
		{[]string{"com.acme.dao.**"}, wanted.Static},
		{[]string{"**.*$$*"}, wanted.Never},
		{[]string{"com.acme.Order$**"}, wanted.Dynamic},
	}}
	for class, want := range map[string]struct {
		when wanted.When
		rule string
	}{
		"com/acme/dao/Hot":                {wanted.Load, "rule com.acme.dao.Hot says load"},
		"com/acme/dao/ColdStore":          {wanted.Load, "rule com.acme.dao.Cold* says load"},
		"com/acme/dao/Hot$Inner":          {wanted.Static, "rule com.acme.dao.** says static"},
		"com/acme/dao/Order$$Proxy":       {wanted.Static, "rule com.acme.dao.** says static"},
		"com/acme/Order$$EnhancerByCGLIB": {wanted.Never, "rule **.*$$* says never"},
		"com/acme/Order$Item":             {wanted.Dynamic, "rule com.acme.Order$** says dynamic"},
		"com/acme/Order":                  {wanted.Unstated, ""},
		"Top":                             {wanted.Unstated, ""},
	} {
		if when, rule := set.When(class); when != want.when || rule != want.rule {
			t.Errorf("%s: have %v, %q, want %v, %q", class, when, rule, want.when, want.rule)
		}
	}
	if when, rule := (&wanted.Set{}).When("a/B"); when != wanted.Unstated || rule != "" {
		t.Errorf("no rules: %v, %q", when, rule)
	}
}

func TestDiffOfRules(t *testing.T) {
	rule := func(when wanted.When, classes ...string) wanted.Rule {
		return wanted.Rule{Classes: classes, When: when}
	}
	have := &wanted.Set{Weave: []wanted.Rule{rule(wanted.Static, "a.**"), rule(wanted.Never, "b.**", "c.D"), rule(wanted.Load, "e.F")}}
	for _, test := range []struct {
		want     []wanted.Rule
		expected []wanted.Change
	}{
		{[]wanted.Rule{rule(wanted.Static, " a.**"), rule(wanted.Never, "b.**", "c.D"), rule(wanted.Load, "e.F")}, nil},
		{[]wanted.Rule{rule(wanted.Dynamic, "a.**"), rule(wanted.Never, "b.**", "c.D"), rule(wanted.Never, "g.H")}, []wanted.Change{
			{wanted.Remove, wanted.OfRule, "e.F", []wanted.Field{{"when", "load", ""}}},
			{wanted.Alter, wanted.OfRule, "a.**", []wanted.Field{{"when", "static", "dynamic"}}},
			{wanted.Add, wanted.OfRule, "g.H", []wanted.Field{{"when", "", "never"}}},
		}},
		{[]wanted.Rule{rule(wanted.Load, "e.F"), rule(wanted.Static, "a.**"), rule(wanted.Never, "b.**", "c.D")}, []wanted.Change{
			{wanted.Alter, wanted.OfSet, "", []wanted.Field{{"weave", "a.**; b.**, c.D; e.F", "e.F; a.**; b.**, c.D"}}},
		}},
	} {
		if changes := wanted.Diff(have, &wanted.Set{Weave: test.want}); !reflect.DeepEqual(changes, test.expected) {
			t.Errorf("%v: have %v\nwant %v", test.want, changes, test.expected)
		}
	}
}

// TestRulesWithoutEffect are refused, also where they do not come from a file.
func TestRulesWithoutEffect(t *testing.T) {
	for _, test := range []struct {
		rules []wanted.Rule
		want  string
	}{
		{[]wanted.Rule{{[]string{"**"}, wanted.Never}, {[]string{"a.B"}, wanted.Load}}, "rule 2: has no effect: ** of rule 1 names every class, and the first rule counts; put that one last"},
		{[]wanted.Rule{{[]string{"a.B", "a.B"}, wanted.Never}}, `rule 1, classes: "a.B" has no effect: it is in rule 1`},
		{[]wanted.Rule{{[]string{"a.B"}, wanted.Never + 1}}, "rule 1, when: is out of bounds; write static, load, dynamic or never"},
		{[]wanted.Rule{{nil, wanted.Never}}, "rule 1: classes is missing; write a pattern such as"},
		{[]wanted.Rule{{[]string{"a\xff"}, wanted.Never}}, "is not UTF-8"},
		{make([]wanted.Rule, wanted.MostRules+1), "1001 rules are more than 1000; join some"},
	} {
		err := (&wanted.Set{Weave: test.rules}).Check()
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("have %.300v, want %q", err, test.want)
		}
	}
}
