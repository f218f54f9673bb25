package main

import (
	"errors"
	"math"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

func TestRowReadsItsMethodsInAllContexts(t *testing.T) {
	down := &cct.Node{Method: 1, Calls: 10, Timed: 10, Self: cct.Time{Nanos: 2000, Low: 1900, High: 2100}, Raw: 2500}
	again := &cct.Node{Method: 1, Calls: 30, Timed: 15, Self: cct.Time{Nanos: 6000, Low: 5700, High: 6300}, Raw: 3750}
	other := &cct.Node{Method: 2, Calls: 7, Timed: 7, Self: cct.Time{Nanos: 1e9, High: 2e9}, Raw: 1e9}
	down.Children = []*cct.Node{again, other}
	profile := &cct.Profile{
		Methods: []cct.Method{{Class: "woven/Recursion", Name: "root"}, {Class: "woven/Recursion", Name: "down"}, {Class: "woven/Us1", Name: "down"}},
		Merged:  &cct.Node{Method: -1, Children: []*cct.Node{{Method: 0, Children: []*cct.Node{down}}}},
	}
	row := row{Case: "Recursion", Methods: []string{"down"}, Per: "down"}
	have, err := row.read(profile.Merged, profile.Methods)
	if want := (reading{Told: 200, Low: 190, High: 210, Raw: 250}); err != nil || have != want {
		t.Errorf("read %+v, %v; want %+v", have, err, want)
	}
	row.Case = "Us10"
	if _, err := row.read(profile.Merged, profile.Methods); !errors.Is(err, errUnread) {
		t.Errorf("of a method without a timed call: %v", err)
	}
}

func TestTruthIsOfOneCall(t *testing.T) {
	parts := []float64{20_000, 8000}
	for _, test := range []struct {
		row  row
		want float64
	}{
		{row{Part: 0, Without: none, Each: 1}, 2000},
		{row{Part: 0, Without: 1, Each: 1}, 1200},
		{row{Part: 1, Without: none, Each: 100}, 8},
	} {
		if have := test.row.truth(parts, 10); have != test.want {
			t.Errorf("%+v: %g, want %g", test.row, have, test.want)
		}
	}
}

func TestInsideCountsTheBounds(t *testing.T) {
	readings := []reading{{Truth: 1, Low: 1, High: 2}, {Truth: 2, Low: 1, High: 2}, {Truth: 2.1, Low: 1, High: 2}}
	if have := countInside(readings); have != 2 {
		t.Errorf("%d readings are inside, want 2", have)
	}
}

func TestFiguresOfColumns(t *testing.T) {
	batches := [][]float64{{1, 10}, {2, 20}, {9, 60}}
	if m := medians(batches); m[0] != 2 || m[1] != 20 {
		t.Errorf("medians %v", m)
	}
	if m := means(batches); m[0] != 4 || m[1] != 30 {
		t.Errorf("means %v", m)
	}
}

func TestRowsAreAllowedTheirChance(t *testing.T) {
	for _, test := range []struct {
		hits, n int
		want    float64
	}{{60, 60, 1}, {57, 60, 0.5826}, {55, 60, 0.1803}, {52, 60, 0.0098}, {0, 2, 0.0025}} {
		if got := atMost(test.hits, test.n, sure); math.Abs(got-test.want) > 1e-4 {
			t.Errorf("%d of %d or fewer: %.4f, want %.4f", test.hits, test.n, got, test.want)
		}
	}
}
