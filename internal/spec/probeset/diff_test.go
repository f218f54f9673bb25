package probeset_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

func TestDiff(t *testing.T) {
	have := &probeset.Set{HandOff: true,
		Tags: []probeset.Tag{{Name: "a", Value: "$1", At: "x.Y.z"}, {Name: "b", Value: "$1", At: "x.Y.z"}},
		Probes: []probeset.Probe{
			{Name: "stays", Methods: []string{"a.B.c"}, Within: []string{"a.B.c>b.C.d"}},
			{Name: "goes", Methods: []string{"a.B.c"}},
			{Name: "changes", Methods: []string{"a.B.c"}, When: "$1 > 3", Level: probeset.Time},
		},
	}
	want := &probeset.Set{
		Tags: []probeset.Tag{{Name: "b", Value: "$2", At: "x.Y.z"}, {Name: "a", Value: "$1", At: "x.Y.y"}},
		Probes: []probeset.Probe{
			{Name: "comes", Methods: []string{"a.B.c", "!a.B.d"}, Sample: 5},
			{Name: "changes", Methods: []string{"a.B.c", "a.B.d"}, Level: probeset.Trace, For: 10 * time.Minute},
			{Name: "stays", Methods: []string{"a.B.c"}, Within: []string{"a.B.c > b.C.d"}, Sample: 1},
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
		10 * time.Second: "10s", 250 * time.Millisecond: "250ms", 0: "0s", 20 * time.Hour: "20h",
	} {
		if have := probeset.DurationText(d); have != want {
			t.Errorf("%v: have %q, want %q", int64(d), have, want)
		}
	}
}

// TestCheckFlags: a set without a file is told without lines.
func TestCheckFlags(t *testing.T) {
	set := &probeset.Set{
		Tags: []probeset.Tag{{Name: "t", Value: "$1", At: "a\xff.B.c"}},
		Probes: []probeset.Probe{{
			Name: "p", Methods: []string{"a.B.c"}, Context: -1, Levels: -1, Sample: probeset.MostSample + 1, SlowerThan: -1, For: -1,
			Level: probeset.Capture + 1, Within: []string{strings.Repeat("a.B.c >> ", 20), strings.Repeat("a.B.d >> ", 20)},
		}},
	}
	err := set.Check()
	var bad *probeset.Error
	if !errors.As(err, &bad) {
		t.Fatal(err)
	}
	for _, want := range []string{
		`tag t, at: "a\xff.B.c" is not UTF-8; write it in UTF-8`,
		"probe p, within: with this the sequences of the set have more than 28 methods in all; leave out outer ones",
		"probe p, context: is out of bounds; write a number from 1 to 8",
		"probe p, level: is out of bounds; write count, time, trace or capture",
		"probe p, levels: is out of bounds", "probe p, sample: is out of bounds",
		"probe p, slower-than: is out of bounds", "probe p, for: is out of bounds",
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
