package wanted_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/wanted"
)

func TestDiff(t *testing.T) {
	have := &wanted.Set{HandOff: true,
		Tags: []wanted.Tag{{Name: "a", Value: "$1", At: "x.Y.z"}, {Name: "b", Value: "$1", At: "x.Y.z"}},
		Probes: []wanted.Probe{
			{Name: "stays", Methods: []string{"a.B.c"}, Within: []string{"a.B.c>b.C.d"}},
			{Name: "goes", Methods: []string{"a.B.c"}},
			{Name: "changes", Methods: []string{"a.B.c"}, When: "$1 > 3", Level: wanted.Time},
		},
	}
	want := &wanted.Set{
		Tags: []wanted.Tag{{Name: "b", Value: "$2", At: "x.Y.z"}, {Name: "a", Value: "$1", At: "x.Y.y"}},
		Probes: []wanted.Probe{
			{Name: "comes", Methods: []string{"a.B.c", "!a.B.d"}, Sample: 5},
			{Name: "changes", Methods: []string{"a.B.c", "a.B.d"}, Level: wanted.Trace, For: 10 * time.Minute},
			{Name: "stays", Methods: []string{"a.B.c"}, Within: []string{"a.B.c > b.C.d"}, Sample: 1},
		},
	}
	expected := []wanted.Change{
		{wanted.Remove, wanted.OfProbe, "goes", []wanted.Field{{"methods", "a.B.c", ""}, {"level", "count", ""}}},
		{wanted.Add, wanted.OfProbe, "comes", []wanted.Field{{"methods", "", "a.B.c, !a.B.d"}, {"level", "", "count"}, {"sample", "", "1/5"}}},
		{wanted.Alter, wanted.OfProbe, "changes", []wanted.Field{
			{"methods", "a.B.c", "a.B.c, a.B.d"}, {"level", "time", "trace"}, {"for", "", "10m"}, {"when", "$1 > 3", ""},
		}},
		{wanted.Remove, wanted.OfTag, "a", []wanted.Field{{"value", "$1", ""}, {"at", "x.Y.z", ""}}},
		{wanted.Alter, wanted.OfTag, "b", []wanted.Field{{"value", "$1", "$2"}}},
		{wanted.Add, wanted.OfTag, "a", []wanted.Field{{"value", "", "$1"}, {"at", "", "x.Y.y"}}},
		{wanted.Alter, wanted.OfSet, "", []wanted.Field{{"hand-off", "true", "false"}}},
	}
	if changes := wanted.Diff(have, want); !reflect.DeepEqual(changes, expected) {
		t.Errorf("have %v\nwant %v", changes, expected)
	}
	if changes := wanted.Diff(nil, &wanted.Set{HandOff: true}); len(changes) != 0 {
		t.Errorf("an empty set is to be had by %v", changes)
	}
}

func TestDurationText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		10 * time.Minute: "10m", time.Hour: "1h", 90 * time.Minute: "1h30m", time.Hour + time.Second: "1h0m1s",
		10 * time.Second: "10s", 250 * time.Millisecond: "250ms", 0: "0s", 20 * time.Hour: "20h",
	} {
		if have := wanted.DurationText(d); have != want {
			t.Errorf("%v: have %q, want %q", int64(d), have, want)
		}
	}
}

// TestCheckFlags: a set without a file is told without lines.
func TestCheckFlags(t *testing.T) {
	set := &wanted.Set{
		Tags: []wanted.Tag{{Name: "t", Value: "$1", At: "a\xff.B.c"}},
		Probes: []wanted.Probe{{
			Name: "p", Methods: []string{"a.B.c"}, Context: -1, Levels: -1, Sample: wanted.MostSample + 1, SlowerThan: -1, For: -1,
			Level: wanted.Capture + 1, Within: []string{strings.Repeat("a.B.c >> ", 20), strings.Repeat("a.B.d >> ", 20)},
		}},
	}
	err := set.Check()
	var bad *wanted.Error
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
		set, err := wanted.Parse([]byte(text), "f")
		if err != nil {
			var bad *wanted.Error
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
		again, err := wanted.Parse(set.YAML(), "f")
		if err != nil || !reflect.DeepEqual(set, again) {
			t.Fatalf("%q: %v: have %+v, want %+v", text, err, again, set)
		}
	})
}
