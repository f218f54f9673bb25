package live

import "testing"

func TestDiffTrustsAsFarAsItMay(t *testing.T) {
	own := Counts{
		"exact":   {5, 2, Exact},
		"entries": {5, 2, Entries},
		"about":   {5, 2, About},
		"hidden":  {5, 2, Hidden},
	}
	for _, test := range []struct {
		name  string
		other Counts
		lines int
	}{
		{"the same", own, 0},
		{"more than the program knows", Counts{"exact": {5, 2, ""}, "entries": {5, 9, ""}, "more": {1, 0, ""}}, 0},
		{"an exception missed", Counts{"exact": {5, 1, ""}, "entries": {5, 2, ""}}, 1},
		{"entries missed", Counts{"exact": {4, 2, ""}, "entries": {4, 2, ""}, "about": {4, 2, ""}}, 2},
		{"nothing", nil, 2},
	} {
		if lines := own.Diff(test.other); len(lines) != test.lines {
			t.Errorf("%s: %q, want %d lines", test.name, lines, test.lines)
		}
	}
}

func TestMinusKeepsTrust(t *testing.T) {
	since := Counts{"a": {5, 2, Exact}, "b": {1, 0, About}}.Minus(Counts{"a": {3, 2, Exact}})
	if since["a"] != (Count{2, 0, Exact}) || since["b"] != (Count{1, 0, About}) {
		t.Errorf("got %v", since)
	}
}

func TestSnapshotsAreComparedAsMultisets(t *testing.T) {
	one := Method{Class: "a.B", Loader: "boot", Name: "m", Descriptor: "()V", Code: "code=1", Meaning: "meaning=1"}
	other := one
	other.Code = "code=2"
	if lines := (Snapshot{one, one}).Diff(Snapshot{one}); len(lines) != 1 {
		t.Errorf("one less: %q", lines)
	}
	if lines := (Snapshot{one}).Diff(Snapshot{other}); len(lines) != 2 {
		t.Errorf("other bytes: %q", lines)
	}
	if lines := (Snapshot{one}).DiffMeaning(Snapshot{other}); len(lines) != 0 {
		t.Errorf("the same meaning: %q", lines)
	}
}
