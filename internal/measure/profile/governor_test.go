package profile

import (
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

func hooksOf(names ...string) (*governor, []*governed) {
	g := &governor{pace: mostPace}
	for i, name := range names {
		g.order = append(g.order, &governed{method: classfile.MethodRef{Class: "a/B", Name: name, Descriptor: "()V"}, id: uint32(10 + i), mode: on})
	}
	return g, g.order
}

// TestThinningTakesWhatCostsMostForWhatItTells: a dear hook that holds half the time
// stays, a cheaper one that tells nothing goes.
func TestThinningTakesWhatCostsMostForWhatItTells(t *testing.T) {
	g, hooks := hooksOf("root", "hot", "chatty", "c", "d", "e", "f", "g", "h")
	hooks[0].root = true
	b := bill{
		program: 1e9, cost: map[uint32]float64{10: 9e6, 11: 5e6, 12: 3e6, 13: 1},
		share: map[uint32]float64{11: 0.5, 12: 0.001},
	}
	if spared := g.thin(b); spared != 3e6 || hooks[2].mode != quiet || hooks[2].reason == "" {
		t.Errorf("spared %g; the chatty hook: %+v", spared, hooks[2])
	}
	if !g.changed {
		t.Error("figures would go on as if nothing had happened")
	}
}

// TestFewHooksAreTimedByLotFirst, and go where even to count their calls costs too much.
func TestFewHooksAreTimedByLotFirst(t *testing.T) {
	for _, tt := range []struct {
		least float64
		on    int
	}{{1e6, 3}, {1e9, 1}} {
		g, hooks := hooksOf("root", "a", "b")
		hooks[0].root = true
		for _, h := range hooks {
			h.rate = mostPace
		}
		b := bill{
			program: 1e9, allowed: 20e6, timing: 90e6, least: tt.least,
			cost: map[uint32]float64{10: 30e6, 11: 30e6, 12: 30e6},
		}
		if !g.cut(b) || g.hooksOn() != tt.on || tt.on == 3 && g.pace >= mostPace {
			t.Errorf("%g to count all: %d hooks are on, %g timed in a second", tt.least, g.hooksOn(), g.pace)
		}
	}
}

// TestRatesChangeSeldom: calls that are timed at different rates do not mix.
func TestRatesChangeSeldom(t *testing.T) {
	g, hooks := hooksOf("m")
	h := hooks[0]
	h.rate = 1000
	if flags, period := g.flagsOf(h); period != 1 || flags&arena.Sampled == 0 {
		t.Errorf("with room for all, one in %d is timed", period)
	}
	g.pace = 10
	if _, period := g.flagsOf(h); period != 128 || !g.changed {
		t.Errorf("one in %d, changed %t", period, g.changed)
	}
	g.changed = false
	h.rate = 1500
	if _, period := g.flagsOf(h); period != 128 || g.changed {
		t.Errorf("one in %d, changed %t: that was no reason", period, g.changed)
	}
	g.chosen, h.rate = true, 500
	if _, period := g.flagsOf(h); period != 128 || g.changed {
		t.Errorf("one in %d, changed %t: the choice was made", period, g.changed)
	}
	h.mode = quiet
	if flags, _ := g.flagsOf(h); flags != 0 {
		t.Errorf("a quiet hook has %v", flags)
	}
}

// TestCallsBesideATimedOneAreBilled: half of the parent's calls are timed, so half of
// the child's are, though none for its own sake.
func TestCallsBesideATimedOneAreBilled(t *testing.T) {
	sums := addUp([]arena.Thread{{Root: 1, Nodes: []arena.Node{
		{Ref: 2, Parent: 1, ID: 10, Calls: 10, Timed: 5, Self: 500},
		{Ref: 3, Parent: 2, ID: 11, Calls: 100, Self: 0},
		{Ref: 4, Parent: 3, ID: arena.AdjustmentID, Calls: 1, Timed: 1, Self: 1e9},
	}}}, 0)
	if s := sums[11]; s.calls != 100 || s.timed != 0 || s.beside != 50 {
		t.Errorf("%+v", s)
	}
	if _, is := sums[arena.AdjustmentID]; is {
		t.Error("what Sonde took is billed as a method")
	}
}

func TestSpanLeavesOutWhatWasInterrupted(t *testing.T) {
	s := span([]float64{30, 31, 29, 30, 4000, 30, 31, 29, 30, 1})
	if s.Median != 30 || s.Low != 29 || s.High != 31 {
		t.Errorf("%+v", s)
	}
}
