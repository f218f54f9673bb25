package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/bench/spread"
)

// The bars.
const (
	mostExact     = 1.35    // times two readings of the clock
	mostSampled   = 1.0 / 8 // of exact
	mostOutside   = 2.0     // ns
	mostAttached  = 0.5     // percent of the program's speed
	mostAllocated = 0       // bytes
)

// A bar is a value that must not be more than wanted.
type bar struct {
	Name    string
	Have    spread.Spread
	Want    float64
	Met     bool
	Unclear bool // not met, nor missed: what was measured has too wide an interval
	Note    string
}

func (r *report) judge() {
	for _, exact := range []string{modeFlat, modeTree} {
		r.bars(exact+" / two nanoTime", exact, mostExact, func(nanos map[string]float64, shape string) float64 {
			return added(nanos, exact, shape) / added(nanos, modeClocks, shape)
		})
	}
	if r.ran(modeFlat) {
		r.bars(modeSampled+" / "+modeFlat, modeSampled, mostSampled, func(nanos map[string]float64, shape string) float64 {
			return added(nanos, modeSampled, shape) / added(nanos, modeFlat, shape)
		})
	}
	r.bars(modeOutside+", ns", modeOutside, mostOutside, func(nanos map[string]float64, shape string) float64 {
		return added(nanos, modeOutside, shape)
	})
	if len(r.Attached.Phases) > 0 {
		r.attachedBar()
	}
	if r.Allocated != nil {
		r.allocationBar()
	}
}

func (r *report) ran(name string) bool {
	return len(r.Rounds) > 0 && slices.ContainsFunc(r.modes, func(m mode) bool { return m.name == name })
}

// bars adds one bar for every shape that a mode runs.
func (r *report) bars(name, mode string, want float64, value func(nanos map[string]float64, shape string) float64) {
	for _, m := range r.modes {
		if m.name != mode || !r.ran(mode) {
			continue
		}
		for _, shape := range m.allShapes() {
			have := r.over(func(nanos map[string]float64) float64 { return value(nanos, shape) })
			r.Bars = append(r.Bars, bar{
				Name: fmt.Sprintf("%s, %s", name, strings.ToLower(shape)),
				Have: have, Want: want, Met: have.Median <= want,
			})
		}
	}
}

// attachedBar has the 95 % interval of the mean in the place of quartiles. What
// the agent's threads use is added: they may run on a processor that a busier
// program would want.
func (r *report) attachedBar() {
	a := r.Attached
	cost := a.Mean + a.AgentCPU
	b := bar{
		Name: "attached, nothing woven: slower by, %",
		Have: spread.Spread{Median: cost, Low: cost - a.Within, High: cost + a.Within},
		Want: mostAttached, Met: cost <= mostAttached,
		Note: fmt.Sprintf(" (95 %% interval of %d phases; %.3f of it the agent's threads)", len(a.Phases), a.AgentCPU),
	}
	if a.Within > mostAttached && b.Have.Low <= mostAttached {
		b.Met, b.Unclear = false, true
	}
	r.Bars = append(r.Bars, b)
}

// allocationBar compares with what the same calls allocate without hooks.
func (r *report) allocationBar() {
	var most int64
	for _, m := range r.modes {
		for _, shape := range m.allShapes() {
			most = max(most, r.Allocated[key(m.name, shape)]-r.Allocated[key(modeBare, shape)])
		}
	}
	have := float64(most)
	r.Bars = append(r.Bars, bar{
		Name: "Java heap by a million calls, most of any mode, bytes",
		Have: spread.Spread{Median: have, Low: have, High: have}, Want: mostAllocated, Met: most <= mostAllocated,
	})
}
