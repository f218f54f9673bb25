package main

import (
	"context"
	"math"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// A sampled is what many sampled profiles said of one row.
type sampled struct {
	Row      row
	Readings []reading
}

// sure is in what part of all profiles the truth must be within the interval.
const sure = 0.95

func (r *report) measureSampled(ctx context.Context, p *program, o options) error {
	all, err := p.profiled(ctx, r.sampledRows(), cct.Sampled, o.short, o.repeats)
	if err != nil {
		return err
	}
	for _, readings := range all {
		for i, reading := range readings {
			r.Sampled[i].Readings = append(r.Sampled[i].Readings, reading)
		}
	}
	return nil
}

func (s sampled) insideRuns() int { return countInside(s.Readings) }

// met reports whether a row holds as often as it should, but for chance: of intervals
// that hold 95 times of 100, one row in a hundred would be worse. All rows together must
// hold 95 times of 100 without that.
func (s sampled) met() bool {
	chance := atMost(s.insideRuns(), len(s.Readings), sure)
	return chance >= oddest
}

// oddest is the chance below which something is no accident.
const oddest = 0.01

// atMost is the chance of so few hits, or fewer, of n, each as likely as is said.
func atMost(hits, n int, likely float64) float64 {
	one := math.Pow(1-likely, float64(n)) // of no hit
	all := one
	for k := 1; k <= hits; k++ {
		one *= float64(n-k+1) / float64(k) * likely / (1 - likely)
		all += one
	}
	return min(all, 1)
}

// figures are one figure of each profile.
func (s sampled) figures(figure func(reading) float64) []float64 {
	var figures []float64
	for _, r := range s.Readings {
		figures = append(figures, figure(r))
	}
	return figures
}

func countInside(readings []reading) int {
	inside := 0
	for _, r := range readings {
		if r.inside() {
			inside++
		}
	}
	return inside
}
