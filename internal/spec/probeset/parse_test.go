package probeset_test

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
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
			{Name: "tenant", Value: "$1.tenant.name", At: "com.acme.web.Handler.handle"},
			{Name: "tenant", Value: `$1.headers["tenant"]`, At: "com.acme.queue.Listener.onMessage"},
		},
		Probes: []probeset.Probe{
			{Name: "dao", Methods: []string{"com.acme.dao.**", "!**.get*"}},
			{
				Name: "charge", Methods: []string{"com.acme.Pay.charge"}, Level: probeset.Time,
				Within: []string{"com.acme.web.Handler.handle >> com.acme.Order.*", "com.acme.batch.Job.run >"},
			},
			{
				Name: "slow-gold", Methods: []string{"com.acme.Shop.checkout"}, Level: probeset.Capture,
				When: `$1.tier == "gold" && tx.tenant != null`, Captures: []string{"$1.id", "$return"}, Allow: []string{"tokenCount"},
				Levels: 4, SlowerThan: 250 * time.Millisecond, Sample: 10, GroupBy: []string{"tenant"}, For: 10 * time.Minute, Calls: 1000,
			},
			{Name: "who-asks", Methods: []string{"com.acme.Cache.load"}, Level: probeset.Time, Context: 3},
		},
		Weave: []probeset.Rule{
			{Classes: []string{"com.acme.dao.**"}, When: probeset.Static},
			{Classes: []string{"com.acme.gen.**", "**.*$$*"}, When: probeset.Never},
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
		if have := set.Probes[0]; have.Level != want || have.Sample != 0 || have.When != "" && have.When != "$1 > 3" {
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
		{"", "f: states nothing"},
		{"# nothing\n", "f: states nothing"},
		{"[]\n", "f:1: is a list; write keys"},
		{"probes: []\n", "f:1: version is missing; write 'version: 1'"},
		{"version: 2\n", "f:1: version: 2 is not known to this Sonde; write 1"},
		{"version: 1\n---\nversion: 1\n", "f:2: a second document begins here"},
		{top + "    methods: **.pay\n", "f:4: not YAML: did not find expected alphabetic or numeric character; put a text that begins with *"},
		{top + "    methods: *pay\n", "f:4: not YAML: unknown anchor 'pay' referenced; put a text that begins with *"},
		{top + "    methods: !**.pay\n", `f:4: probe p, methods: "!**.pay" at the beginning means something else in YAML; put`},
		{top + "    when: \"x\" == $1.y\n", "f:4: not YAML: did not find expected key; put the whole text in single quotes"},
		{top + "    when: !($1 == 3)\n", "at the beginning means something else"},
		{top + "\tmethods: a.B.c\n", "f:4: not YAML: found a tab character that violates indentation; indent with blanks, not with tabs"},
		{top + "    methods: [a.B.c\n    level: time\n", "f:4: not YAML"},
		{top + "    methods: a.B.c: x\n", "f:4: not YAML: mapping values are not allowed in this context; put a text that holds ': '"},
		{"version: 1\nprobes: \xff\n", "f:2: not YAML"},
		{"version: 1\nprobes: \x01\n", "f:2: not YAML"},
		{"version: 1\nprobes: &a [*a]\n", "f:2: probes: & and *"},
		{strings.Repeat("#", probeset.MostBytes+1), "f: longer than"},
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
