package probeset_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/spec/spectest"
)

func TestDiff(t *testing.T) {
	have := &probeset.Set{HandOff: true,
		Tags: []probeset.Tag{{Name: "a", Value: spectest.Expr("$1"), At: spectest.Pattern("x.Y.z")}, {Name: "b", Value: spectest.Expr("$1"), At: spectest.Pattern("x.Y.z")}},
		Probes: []probeset.Probe{
			{Name: "stays", Methods: spectest.Patterns("a.B.c"), Within: spectest.Sequences("a.B.c>b.C.d")},
			{Name: "goes", Methods: spectest.Patterns("a.B.c")},
			{Name: "changes", Methods: spectest.Patterns("a.B.c"), When: spectest.Expr("$1 > 3"), Level: probeset.Time},
		},
	}
	want := &probeset.Set{
		Tags: []probeset.Tag{{Name: "b", Value: spectest.Expr("$2"), At: spectest.Pattern("x.Y.z")}, {Name: "a", Value: spectest.Expr("$1"), At: spectest.Pattern("x.Y.y")}},
		Probes: []probeset.Probe{
			{Name: "comes", Methods: spectest.Patterns("a.B.c", "!a.B.d"), Sample: 5},
			{Name: "changes", Methods: spectest.Patterns("a.B.c", "a.B.d"), Level: probeset.Trace, For: 10 * time.Minute},
			{Name: "stays", Methods: spectest.Patterns("a.B.c"), Within: spectest.Sequences("a.B.c > b.C.d"), Sample: 1},
		},
	}
	expected := []probeset.Change{
		{probeset.Remove, probeset.OfProbe, "goes", []probeset.Field{{"methods", "a.B.c", ""}, {"level", "count", ""}}},
		{probeset.Add, probeset.OfProbe, "comes", []probeset.Field{{"methods", "", "a.B.c, !a.B.d"}, {"level", "", "count"}, {"sample", "", "1/5"}}},
		{probeset.Alter, probeset.OfProbe, "changes", []probeset.Field{
			{"methods", "a.B.c", "a.B.c, a.B.d"}, {"level", "time", "trace"}, {"for", "", "10m"}, {"when", "$1 > 3", ""},
		}},
		{probeset.Remove, probeset.OfTag, "a", []probeset.Field{{"value", "$1", ""}, {"at", "x.Y.z", ""}}},
		{probeset.Alter, probeset.OfTag, "b", []probeset.Field{{"value", "$1", "$2"}}},
		{probeset.Add, probeset.OfTag, "a", []probeset.Field{{"value", "", "$1"}, {"at", "", "x.Y.y"}}},
		{probeset.Alter, probeset.OfSet, "", []probeset.Field{{"hand-off", "true", "false"}}},
	}
	if changes := probeset.Diff(have, want); !reflect.DeepEqual(changes, expected) {
		t.Errorf("have %v\nwant %v", changes, expected)
	}
	if changes := probeset.Diff(nil, &probeset.Set{HandOff: true}); len(changes) != 0 {
		t.Errorf("an empty set is to be had by %v", changes)
	}
}

func TestDurationText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		10 * time.Minute: "10m", time.Hour: "1h", 90 * time.Minute: "1h30m", time.Hour + time.Second: "1h0m1s",
		10 * time.Second: "10s", 250 * time.Millisecond: "250ms", 0: "", 20 * time.Hour: "20h",
	} {
		if have := probeset.DurationText(d); have != want {
			t.Errorf("%v: have %q, want %q", int64(d), have, want)
		}
	}
}

// TestCheckFlags: a set without a file is told without lines.
func TestCheckFlags(t *testing.T) {
	set := &probeset.Set{
		Tags: []probeset.Tag{{Name: "t", Value: spectest.Expr("$1"), At: spectest.Pattern("a\xff.B.c")}},
		Probes: []probeset.Probe{{
			Name: "p", Methods: spectest.Patterns("a.B.c"), Context: -1, Levels: -1, Sample: probeset.MaxSample + 1, SlowerThan: -1, For: -1,
			Level: probeset.Capture + 1, Within: spectest.Sequences(strings.Repeat("a.B.c >> ", 20), strings.Repeat("a.B.d >> ", 20)),
		}},
	}
	err := set.Check()
	var bad *probeset.Error
	if !errors.As(err, &bad) {
		t.Fatal(err)
	}
	for _, want := range []string{
		`tag t, at: "a\xff.B.c" is not UTF-8; write it in UTF-8`,
		"probe p, within: the sequences and categories of all probes have more than 28 elements together; leave out outer methods of sequences, or categories",
		"probe p, context: the value is out of range; write a number from 1 to 8",
		"probe p, level: the value is out of range; write count, time, trace or capture",
		"probe p, levels: the value is out of range", "probe p, sample: the value is out of range",
		"probe p, slower-than: the value is out of range", "probe p, for: the value is out of range",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("have\n%v\nwithout %q", err, want)
		}
	}
	if len(bad.Problems) != 8 {
		t.Errorf("have %d problems:\n%v", len(bad.Problems), err)
	}
}

// FuzzParse: whatever the text, it is a set that is written and read back the same,
// or problems of one line each.
func FuzzParse(f *testing.F) {
	f.Add("version: 1\nprobes:\n- name: p\n  methods: ['**', '!a.B.c']\n  within: a.B.c >\n  when: $1 > 3\n  for: 10m\n  sample: 1/3\n")
	f.Add("version: 1\ntags:\n- {name: t, value: $1, at: a.B.c}\nprobes: []\nhand-off: no\n")
	f.Add("version: 1\nprobes: []\nweave:\n- {classes: [a.**, '**.*$$*'], when: never}\n- classes: '**'\n  when: load\n")
	f.Add("version: 1\ngoals:\n- {method: a.B.c, goal: [p95 < 200ms, errors < 1%], over: 5m, recovered-after: 20 calls, on-miss: {run: [./n, a, a]}}\n- {method: '**', goal: max<1s, on-miss: {post: 'http://h/'}}\n")
	f.Add("a: &b [*b]\n<<: {x: 1}\n? [k]\n: v\n")
	f.Fuzz(func(t *testing.T, text string) {
		set, err := probeset.Parse([]byte(text), "f")
		if err != nil {
			var bad *probeset.Error
			if !errors.As(err, &bad) || len(bad.Problems) == 0 {
				t.Fatalf("%q: error %v", text, err)
			}
			for _, p := range bad.Problems {
				if strings.ContainsAny(p.String(), "\n\r") || p.Detail == "" {
					t.Fatalf("%q: problem %q", text, p)
				}
			}
			return
		}
		if err := set.Check(); err != nil {
			t.Fatalf("%q was read, and is wrong: %v", text, err)
		}
		again, err := probeset.Parse(set.YAML(), "f")
		if err != nil || !reflect.DeepEqual(set, again) {
			t.Fatalf("%q: %v: have %+v, want %+v", text, err, again, set)
		}
	})
}

// texts of which every one can be taken for something else in YAML.
var (
	patterns   = []string{"**", "!**.get*", "a.B.c", "a.B.<init>", "a.B.c(int,..):void", "com.acme.**", "**.m(*[])", "ä.Ö.ü", "y.N.no", "@a.B", "!@a.B", "a.B+.c", "** calls a.B.c"}
	sequences  = []string{"a.B.c", "a.B.c >", "**.a >> b.C.d", "a.B.<init> > **.x >"}
	conditions = []string{`$1 > 3`, `!($1 == "x: y")`, `$1 matches "# no"`, "$1 == 'c' &&\n\n  $2 > 1\t", `$1 == "ü\u2028 \\"`, `"a" == $1`, `$x in ("on", "null")`, "$1 == \"\ufeff\u0085\r\""}
	values     = []string{"$1", "$1.a.b[0]", `$2["key: 1"]`, "$return", "tx.x", "$elapsed"}
	classes    = []string{"**", "a.B", "a.b.**", "**.*$$*", "a.B$C", "**.*Ö", "no", "null", "*"}
	words      = []string{"tier", "null", "true", "no", "x1", "_"}
)

// randomSet makes a set that is right.
func randomSet(r *rand.Rand) *probeset.Set {
	set := &probeset.Set{HandOff: r.IntN(2) == 0}
	var tags []string
	for i := range r.IntN(4) {
		name := words[r.IntN(len(words))]
		set.Tags = append(set.Tags, probeset.Tag{Name: name, Value: spectest.Expr(pick(r, values, 1)[0]), At: spectest.Pattern(fmt.Sprintf("a.B.m%d", i))})
		tags = append(tags, name)
	}
	for i := range r.IntN(5) {
		p := probeset.Probe{
			Name: fmt.Sprintf("%d-%s", i, words[r.IntN(len(words))]), Methods: spectest.Patterns(append(pick(r, patterns[2:], 2), patterns[r.IntN(2)])...),
			Within: spectest.Sequences(pick(r, sequences, r.IntN(2))...), Level: probeset.Level(r.IntN(3)), Template: probeset.CaptureTemplate * probeset.Template(r.IntN(2)),
			Levels: r.IntN(3), SlowerThan: time.Duration(r.IntN(3)) * 1500 * time.Millisecond, Sample: []uint32{0, 2, 100}[r.IntN(3)],
			For: []time.Duration{0, time.Hour, 90 * time.Second, time.Nanosecond, time.Hour + time.Millisecond}[r.IntN(5)], Calls: uint64(r.IntN(2)),
		}
		if r.IntN(2) == 0 {
			p.When = spectest.Expr(conditions[r.IntN(len(conditions))])
		}
		if r.IntN(2) == 0 {
			p.Level, p.Captures, p.Allow = probeset.Capture, spectest.Exprs(pick(r, values, 3)...), pick(r, words, r.IntN(3))
		}
		if r.IntN(2) == 0 {
			p.Context = r.IntN(probeset.MaxContext + 1)
		} else if len(tags) > 0 {
			p.GroupBy = tags[:1]
		}
		set.Probes = append(set.Probes, p)
	}
	// ** names every class, so it is the last if it is there.
	named := pick(r, classes[1:], r.IntN(len(classes)))
	if r.IntN(2) == 0 {
		named = append(named, classes[0])
	}
	for len(named) > 0 {
		n := 1 + r.IntN(len(named))
		set.Weave = append(set.Weave, probeset.Rule{Classes: spectest.Classes(named[:n:n]...), When: probeset.Static + probeset.When(r.IntN(4))})
		named = named[n:]
	}
	return set
}

// pick takes some of a list, each at most once.
func pick(r *rand.Rand, from []string, most int) []string {
	var list []string
	for _, i := range r.Perm(len(from))[:most] {
		list = append(list, from[i])
	}
	return list
}

// TestRoundTrip: what is written reads back as the same set, and is written the same.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	for range 500 {
		set := randomSet(r)
		if err := set.Check(); err != nil {
			t.Fatalf("%+v: %v", set, err)
		}
		text := set.YAML()
		again, err := probeset.Parse(text, "f")
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if changes := probeset.Diff(set, again); len(changes) > 0 {
			t.Fatalf("changed: %v\n%s", changes, text)
		}
		if second := again.YAML(); string(second) != string(text) {
			t.Fatalf("have\n%s\nthen\n%s", text, second)
		}
		third, err := probeset.Parse(again.YAML(), "f")
		if err != nil || !reflect.DeepEqual(third, again) {
			t.Fatalf("%v: have %+v, want %+v", err, third, again)
		}
	}
}

// TestDiffLeads: what a diff says is what differs. The names it leaves out are the same.
func TestDiffLeads(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 2))
	for range 500 {
		have, want := randomSet(r), randomSet(r)
		mentioned := map[string]bool{}
		for _, c := range probeset.Diff(have, want) {
			if c.Kind == probeset.OfProbe {
				mentioned[c.Name] = true
			}
			if len(c.Fields) == 0 {
				t.Fatalf("%v states no field", c)
			}
		}
		for _, h := range have.Probes {
			for _, w := range want.Probes {
				if h.Name != w.Name {
					continue
				}
				same := reflect.DeepEqual(readBack(t, h), readBack(t, w)) && slices.Equal(h.GroupBy, w.GroupBy)
				if same == mentioned[h.Name] {
					t.Fatalf("%s: the same %t, mentioned %t\n%+v\n%+v", h.Name, same, mentioned[h.Name], h, w)
				}
			}
		}
		if changes := probeset.Diff(have, have); len(changes) != 0 {
			t.Fatalf("a set differs from itself: %v", changes)
		}
	}
}

// readBack is a probe as its file says it.
func readBack(t *testing.T, p probeset.Probe) probeset.Probe {
	t.Helper()
	p.GroupBy = nil // its tags are not there
	set, err := probeset.Parse((&probeset.Set{Probes: []probeset.Probe{p}}).YAML(), "f")
	if err != nil {
		t.Fatal(err)
	}
	return set.Probes[0]
}
