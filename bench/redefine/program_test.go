package main

import (
	"testing"
	"time"
)

// notesAt is the account of two threads, with the given steps in each stretch
// of 10 ms.
func notesAt(steps ...int64) []note {
	notes := []note{{}}
	for i, n := range steps {
		last := notes[len(notes)-1]
		at := time.Duration(i+1) * 10 * time.Millisecond
		notes = append(notes, note{at, last.done + n, 2 * at})
	}
	return notes
}

func repeat(n int, steps int64) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = steps
	}
	return all
}

func TestDip(t *testing.T) {
	steps := append(repeat(100, 1000), repeat(20, 0)...) // a second, then nothing for 0.2 s,
	steps = append(steps, repeat(40, 500)...)            // half speed for 0.4 s,
	steps = append(steps, repeat(240, 1000)...)          // and full speed
	d, err := dipOf(notesAt(steps...), time.Second, 3*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if want := 800 * time.Millisecond; (d.Lost - want).Abs() > time.Microsecond {
		t.Errorf("lost %v, want %v", d.Lost, want)
	}
	if want := 400 * time.Millisecond; d.Slow != want {
		t.Errorf("slow for %v, want %v", d.Slow, want)
	}
	// Half a second with 5 stretches at half speed has 95 % of all steps.
	if want := 550 * time.Millisecond; d.Back != want {
		t.Errorf("back at %v, want %v", d.Back, want)
	}
	if d.Rate != 50_000 || d.After != d.Rate {
		t.Errorf("rates %v, %v", d.Rate, d.After)
	}
}

func TestDipAsksForNotesOnBothSides(t *testing.T) {
	for _, moments := range [][2]time.Duration{{0, time.Second}, {time.Second, 2 * time.Second}, {9 * time.Second, 10 * time.Second}} {
		if d, err := dipOf(notesAt(repeat(150, 10)...), moments[0], moments[1]); err == nil {
			t.Errorf("%v: %+v", moments, d)
		}
	}
}

func TestParseNotes(t *testing.T) {
	got, err := parseNotes([]string{"10", "1", "9", "20", "5", "18", "at", "30"})
	if err != nil || len(got) != 2 || got[1] != (note{20, 5, 18}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, words := range [][]string{nil, {"1", "at", "2"}, {"x", "1", "1", "at", "2"}, {"1", "1", "x", "at", "2"}} {
		if got, err := parseNotes(words); err == nil {
			t.Errorf("%q: %v", words, got)
		}
	}
}
