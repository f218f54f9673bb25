package liveprobes

import (
	"errors"
	"strings"
	"testing"

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
	p := &positions{}
	if err := p.place(all); err != nil {
		t.Fatal(err)
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
		if got := p.match("a/"+strings.ToUpper(member), member, "()V"); got != want {
			t.Errorf("%s: %+v, want %+v", member, got, want)
		}
	}
	// What is used no more is not matched, and its place is taken last.
	p.keep(all[:1])
	if got := p.match("a/C", "c", "()V"); !got.none() {
		t.Errorf("%+v", got)
	}
	more := sequences(t, "a.A.a >> a.B.b", "x.Y.z")
	if err := p.place(more); err != nil {
		t.Fatal(err)
	}
	if got := p.last(more[1]); got != 1<<5 {
		t.Errorf("%b", got)
	}
}

func TestTooManyPositions(t *testing.T) {
	long := strings.Repeat("a.A.a >> ", 20) + "a.A.a"
	p := &positions{}
	err := p.place(sequences(t, long, "b.B.b >> "+long))
	var many *PositionsError
	if !errors.As(err, &many) || many.Elements != 43 || len(many.Sequences) != 2 || !strings.Contains(err.Error(), "28 is the maximum") {
		t.Error(err)
	}
}
