package main

import (
	"context"

	"github.com/sonde-jvm/sonde/internal/cct"
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

func (s sampled) met() bool { return float64(s.insideRuns()) >= sure*float64(len(s.Readings)) }

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
