package probeset_test

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/spec/spectest"
)

func example(t *testing.T) *probeset.Set {
	t.Helper()
	text, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	set, err := probeset.Parse(text, "example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestExample(t *testing.T) {
	want := &probeset.Set{
		HandOff: true,
		Tags: []probeset.Tag{
			{Name: "tenant", Value: spectest.Expr("$1.tenant.name"), At: spectest.Pattern("com.acme.web.Handler.handle")},
			{Name: "tenant", Value: spectest.Expr(`$1.headers["tenant"]`), At: spectest.Pattern("com.acme.queue.Listener.onMessage")},
			{Name: "query", Value: spectest.Expr("$1"), As: probeset.AsSQL, Of: probeset.OfReturn, At: spectest.Pattern("com.acme.db.Session.prepare")},
			{Name: "query", Of: probeset.OfThis, At: spectest.Pattern("com.acme.db.Query.run")},
		},
		Probes: []probeset.Probe{
			{Name: "dao", Methods: spectest.Patterns("com.acme.dao.**", "!**.get*")},
			{
				Name: "charge", Methods: spectest.Patterns("com.acme.Pay.charge"), Level: probeset.Time,
				Within: spectest.Sequences("com.acme.web.Handler.handle >> com.acme.Order.*", "com.acme.batch.Job.run >"),
			},
			{
				Name: "slow-gold", Methods: spectest.Patterns("com.acme.Shop.checkout"), Level: probeset.Capture,
				When: spectest.Expr(`$1.tier == "gold" && tx.tenant != null`), Captures: spectest.Exprs("$1.id", "$return"), Allow: []string{"tokenCount"},
				Levels: 4, SlowerThan: 250 * time.Millisecond, Sample: 10, GroupBy: []string{"tenant"}, For: 10 * time.Minute, Calls: 1000,
			},
			{
				Name: "queries", Methods: spectest.Patterns("com.acme.db.Query.run", "com.acme.db.Pool.run"), Level: probeset.Time,
				Category: "db", Direction: probeset.Out, Fails: spectest.Expr("$return.status >= 500"), GroupBy: []string{"query"},
			},
			{Name: "who-asks", Methods: spectest.Patterns("com.acme.Cache.load"), Level: probeset.Time, Context: 3},
			{Name: "goal-Shop.checkout", Methods: spectest.Patterns("com.acme.Shop.checkout"), Level: probeset.Time, Levels: 100, Goal: true},
		},
		Goals: []probeset.Goal{{
			Method: spectest.Pattern("com.acme.Shop.checkout"), Over: 5 * time.Minute, Recovered: probeset.Recovery{Time: time.Minute},
			Bounds: []*probeset.Bound{
				{Text: "p95 < 200ms", Quantity: "p", Quantile: 0.95, Less: true, Limit: 200e6},
				{Text: "errors < 1%", Quantity: "errors", Less: true, Limit: 0.01, IsShare: true},
			},
			OnMiss: probeset.OnMiss{Run: []string{"./notify", "checkout"}}, Probe: "goal-Shop.checkout",
		}},
		Weave: []probeset.Rule{
			{Classes: spectest.Classes("com.acme.dao.**"), When: probeset.Static},
			{Classes: spectest.Classes("com.acme.gen.**", "**.*$$*"), When: probeset.Never},
		},
	}
	if have := example(t); !reflect.DeepEqual(have, want) {
		t.Errorf("have %+v\nwant %+v", have, want)
	}
	if err := want.Check(); err != nil {
		t.Error(err)
	}
}

// TestDocumented: the example of the documentation is the one that is tested.
func TestDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/formats/probes.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), "```yaml\n"+string(text)+"```\n") {
		t.Error("docs/formats/probes.md does not hold testdata/example.yaml as it is")
	}
}

func TestUsualLevel(t *testing.T) {
	for line, want := range map[string]probeset.Level{
		"":                    probeset.Time,
		"levels: 2":           probeset.Trace,
		"slower-than: 1s":     probeset.Trace,
		"captures: $1":        probeset.Capture,
		"level: count":        probeset.Count,
		"sample: 1/1":         probeset.Time,
		"when: >-\n   $1 > 3": probeset.Time,
	} {
		set, err := probeset.Parse([]byte("version: 1\nprobes:\n- name: p\n  methods: a.B.c\n  "+line+"\n"), "f")
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		if have := set.Probes[0]; have.Level != want || have.Sample != 0 || have.When != nil && have.When.Text() != "$1 > 3" {
			t.Errorf("%q: have %+v", line, have)
		}
	}
}

// TestAllAtOnce: each problem is told with its line, in their order.
func TestAllAtOnce(t *testing.T) {
	text, err := os.ReadFile("testdata/wrong.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = probeset.Parse(text, "wrong.yaml")
	var bad *probeset.Error
	if !errors.As(err, &bad) {
		t.Fatalf("have %v, want an *Error", err)
	}
	if os.Getenv("SONDE_UPDATE") != "" {
		if err := os.WriteFile("testdata/wrong.txt", []byte(bad.Error()+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/wrong.txt")
	if err != nil {
		t.Fatal(err)
	}
	if have := bad.Error() + "\n"; have != string(want) {
		t.Errorf("have\n%s\nwant\n%s", have, want)
	}
	for _, p := range bad.Problems {
		if p.Line == 0 {
			t.Errorf("%s: has no line", p)
		}
	}
}

// TestBroken: what is not YAML at all is told with the line that ends it.
func TestBroken(t *testing.T) {
	const top = "version: 1\nprobes:\n  - name: p\n"
	for _, test := range []struct{ text, want string }{
		{"", "f: is empty"},
		{"# nothing\n", "f: is empty"},
		{"[]\n", "f:1: is a list; write keys"},
		{"probes: []\n", "f:1: version is missing; write 'version: 1'"},
		{"version: 2\n", "f:1: version: 2 is not supported by this Sonde; write 1"},
		{"version: 1\n---\nversion: 1\n", "f:2: a second document begins here"},
		{top + "    methods: **.pay\n", "f:4: not YAML: did not find expected alphabetic or numeric character; put a text that begins with *"},
		{top + "    methods: *pay\n", "f:4: not YAML: unknown anchor 'pay' referenced; put a text that begins with *"},
		{top + "    methods: !**.pay\n", `f:4: probe p, methods: a leading "!**.pay" has another meaning in YAML; put`},
		{top + "    when: \"x\" == $1.y\n", "f:4: not YAML: did not find expected key; put the whole text in single quotes"},
		{top + "    when: !($1 == 3)\n", "has another meaning"},
		{top + "\tmethods: a.B.c\n", "f:4: not YAML: found a tab character that violates indentation; indent with blanks, not with tabs"},
		{top + "    methods: [a.B.c\n    level: time\n", "f:4: not YAML"},
		{top + "    methods: a.B.c: x\n", "f:4: not YAML: mapping values are not allowed in this context; put a text that contains ': '"},
		{"version: 1\nprobes: \xff\n", "f:2: not YAML"},
		{"version: 1\nprobes: \x01\n", "f:2: not YAML"},
		{"version: 1\nprobes: &a [*a]\n", "f:2: probes: a leading & or *"},
		{strings.Repeat("#", probeset.MaxBytes+1), "f: the file is longer than"},
	} {
		_, err := probeset.Parse([]byte(test.text), "f")
		var bad *probeset.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.60q: have %v, want %q", test.text, err, test.want)
		}
	}
}

func TestManyProblems(t *testing.T) {
	_, err := probeset.Parse([]byte("version: 1\nprobes:\n"+strings.Repeat("- nme: x\n", 500)), "f")
	var bad *probeset.Error
	if !errors.As(err, &bad) || len(bad.Problems) != 101 {
		t.Fatalf("have %d problems", len(bad.Problems))
	}
	if last := bad.Problems[100].String(); last != "f: and 1400 more problems" {
		t.Errorf("have %q", last)
	}
}

// TestTheFirstRuleCounts: those behind it are not asked.
func TestTheFirstRuleCounts(t *testing.T) {
	set := &probeset.Set{Weave: []probeset.Rule{
		{spectest.Classes("com.acme.dao.Hot", "com.acme.dao.Cold*"), probeset.Load},
		{spectest.Classes("com.acme.dao.**"), probeset.Static},
		{spectest.Classes("**.*$$*"), probeset.Never},
		{spectest.Classes("com.acme.Order$**"), probeset.Dynamic},
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
		return probeset.Rule{Classes: spectest.Classes(classes...), When: when}
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
		{[]probeset.Rule{{spectest.Classes("**"), probeset.Never}, {spectest.Classes("a.B"), probeset.Load}}, "rule 2: has no effect: rule 1 matches every class, and the first matching rule applies; move that rule to the end"},
		{[]probeset.Rule{{spectest.Classes("a.B", "a.B"), probeset.Never}}, `rule 1, classes: "a.B" has no effect: it is in rule 1`},
		{[]probeset.Rule{{spectest.Classes("a.B"), probeset.Never + 1}}, "rule 1, when: the value is unknown; write static, load, dynamic or never"},
		{[]probeset.Rule{{nil, probeset.Never}}, "rule 1: classes is missing; write a pattern such as"},
		{[]probeset.Rule{{spectest.Classes("a\xff"), probeset.Never}}, "is not UTF-8"},
		{make([]probeset.Rule, probeset.MaxRules+1), "there are 1001 rules, at most 1000 are allowed; combine some"},
	} {
		err := (&probeset.Set{Weave: test.rules}).Check()
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("have %.300v, want %q", err, test.want)
		}
	}
}
