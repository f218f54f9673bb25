package probes

import (
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

func sequences(t *testing.T, texts ...string) (all []*pattern.Sequence) {
	t.Helper()
	for _, text := range texts {
		s, err := pattern.ParseSequence(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func TestPositions(t *testing.T) {
	all := sequences(t, "a.A.a >> a.B.b", "a.A.a >> a.B.b > a.C.c", "a.A.a > a.B.b", "a.A.a >> a.B.b >")
	p := &Positions{}
	if !p.place(all) {
		t.Fatal("there is no space")
	}
	// The first and the last are the beginning of the second; the third is not.
	for i, want := range []uint32{1 << 1, 1 << 2, 1 << 4, 1 << 1} {
		if got := p.last(all[i]); got != want {
			t.Errorf("%s: %b, want %b", all[i], got, want)
		}
	}
	for member, want := range map[string]masks{
		"a": {first: 1 | 1<<3}, "b": {below: 1 << 1, direct: 1 << 4}, "c": {direct: 1 << 2}, "d": {},
	} {
		if got := p.match(classfile.MethodRef{Class: "a/" + strings.ToUpper(member), Name: member, Descriptor: "()V"}); got != want {
			t.Errorf("%s: %+v, want %+v", member, got, want)
		}
	}
	// What is used no more is not matched, and its place is taken last.
	p.Keep(all[:1])
	if got := p.match(classfile.MethodRef{Class: "a/C", Name: "c", Descriptor: "()V"}); !got.none() {
		t.Errorf("%+v", got)
	}
	more := sequences(t, "a.A.a >> a.B.b", "x.Y.z")
	if !p.place(more) {
		t.Fatal("there is no space")
	}
	if got := p.last(more[1]); got != 1<<5 {
		t.Errorf("%b", got)
	}
}

// TestNextPositions applies sets one after the other: all elements that a set may have get
// a position, whatever was used before.
func TestNextPositions(t *testing.T) {
	if pattern.MaxElements != mostPositions {
		t.Errorf("a set may have %d elements, and a path has %d", pattern.MaxElements, mostPositions)
	}
	long := func(class string, count int) string {
		return strings.TrimSuffix(strings.Repeat(class+".m >> ", count), " >> ")
	}
	p := &Positions{}
	for _, step := range []struct {
		sequences []string
		used      uint32
		reset     bool
	}{
		{[]string{"a.A.a"}, 1, false},
		{[]string{"a.A.a", "b.B.b >> b.C.c"}, 0b111, false},
		{[]string{"b.B.b >> b.C.c"}, 0b110, false},
		{[]string{"b.B.b >> b.C.c", long("a.L", 14)}, 0b110 | bits(3, 14), false},
		{[]string{long("a.L", 14), long("a.M", 14)}, bits(0, 28), true}, // the free positions are not consecutive
		{[]string{"x.X.x"}, 1, true},
	} {
		wanted := sequences(t, step.sequences...)
		next, reset := p.Next(wanted, nil)
		next.Keep(wanted)
		if next.used() != step.used || reset != step.reset {
			t.Errorf("%q: positions %b, reset %t; want %b, %t", step.sequences, next.used(), reset, step.used, step.reset)
		}
		p = next
	}
}
