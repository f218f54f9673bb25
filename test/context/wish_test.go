package context

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// TestSeedsSayEverything: the same seed gives the same program and the same wishes.
func TestSeedsSayEverything(t *testing.T) {
	one, two := generate(5), generate(5)
	if !reflect.DeepEqual(one.source, two.source) {
		t.Error("two programs of one seed differ")
	}
	if reflect.DeepEqual(one.source, generate(6).source) {
		t.Error("programs of two seeds are alike")
	}
	text := func(p *program) (all []string) {
		for _, probe := range wishFor(p, rand.New(rand.NewPCG(5, 7)), false).probes {
			for _, sequence := range probe.within {
				all = append(all, sequenceText(sequence))
			}
		}
		return all
	}
	if a, b := text(one), text(two); len(a) == 0 || !slices.Equal(a, b) {
		t.Errorf("two wishes of one seed differ: %q, %q", a, b)
	}
}

// TestWishesFit: no wish asks for more than one JVM has room for, nor what a method
// has not got.
func TestWishesFit(t *testing.T) {
	for seed := range uint64(30) {
		p := generate(seed)
		w := wishFor(p, rand.New(rand.NewPCG(seed, 7)), seed%3 == 0)
		positions := make(map[string]int)
		for _, probe := range w.probes {
			for _, sequence := range probe.within {
				positions[sequenceText(sequence)] = len(sequence)
			}
			for _, m := range p.methods {
				isProbed := slices.ContainsFunc(probe.methods, func(p pattern) bool { return p.matches(m) })
				if isProbed && probe.when != nil && (!m.hasArguments() || probe.when.asksThis() && !m.hasWeight()) {
					t.Errorf("seed %d: %s asks %s of %s", seed, probe.name, probe.when, m)
				}
			}
		}
		sum := 0
		for _, length := range positions {
			sum += length
		}
		if sum > mostPositions {
			t.Errorf("seed %d: %d positions", seed, sum)
		}
	}
}
