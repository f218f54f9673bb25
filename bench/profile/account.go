package main

import (
	"math"
	"slices"
	"time"
)

// A pair is a program and its twin, which nobody touches: what it does meanwhile
// tells how fast the machine is.
type pair struct {
	touched, twin track
}

// part is what the touched program did of what its twin did, by the clock and by
// processor time.
func (p pair) part(from, until time.Duration) (wall, cpu float64, err error) {
	touched, err := p.touched.pace(from, until)
	if err != nil {
		return 0, 0, err
	}
	twin, err := p.twin.pace(from, until)
	if err != nil {
		return 0, 0, err
	}
	return touched.wall / twin.wall, touched.cpu / twin.cpu, nil
}

// parts are those of single windows, by processor time.
func (p pair) parts(from, until time.Duration) []float64 {
	const window = time.Second
	var all []float64
	for _, w := range p.touched.windows(from, until, window) {
		if _, cpu, err := p.part(w[0], w[1]); err == nil && !math.IsNaN(cpu) && !math.IsInf(cpu, 0) {
			all = append(all, cpu)
		}
	}
	return all
}

// lost is the work, in time of the untouched program, that is missing between two
// moments if a part of its twin's was to be expected. It counts operations, not
// rounds, as one may be under way for all that time.
func (p pair) lost(from, until time.Duration, expected float64) (time.Duration, error) {
	did, err := p.touched.between(from, until)
	if err != nil {
		return 0, err
	}
	twin, err := p.twin.between(from, until)
	if err != nil {
		return 0, err
	}
	return time.Duration((1 - did/twin/expected) * float64(until-from)), nil
}

// A spread is the median of several figures with the quartiles.
type spread struct {
	median, low, high float64
}

func spreadOf(values []float64) spread {
	return spread{quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75)}
}

// quantile interpolates between the two values nearest to it; NaN of none.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}
