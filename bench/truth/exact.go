package main

import (
	"context"

	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// An exact is what exact profiles said of one row, run by run.
type exact struct {
	Row           row
	Readings      []reading
	Before, After float64  // of the twin with hooks, before they were in and after they were out; medians
	Beside        *reading // by another engine; nil where that has none
}

const aloneBatches = 41

func (r *report) measureExact(ctx context.Context, p *program, o options) error {
	rows := r.exactRows()
	before, err := p.aloneRows(rows)
	if err != nil {
		return err
	}
	all, err := p.profiled(ctx, rows, cct.Exact, o.time, o.runs)
	if err != nil {
		return err
	}
	for _, readings := range all {
		for i, reading := range readings {
			r.Exact[i].Readings = append(r.Exact[i].Readings, reading)
		}
	}
	// What had hooks is compiled anew.
	if err := p.warm(casesOf(rows)); err != nil {
		return err
	}
	after, err := p.aloneRows(rows)
	if err != nil {
		return err
	}
	for i := range r.Exact {
		r.Exact[i].Before, r.Exact[i].After = before[i], after[i]
	}
	return nil
}

// aloneRows times the twin that gets hooks while it has none.
func (p *program) aloneRows(rows []row) ([]float64, error) {
	nanos := make(map[string][]float64)
	for _, name := range casesOf(rows) {
		for range 2 { // the first is only to warm
			batches, err := p.alone(name, aloneBatches)
			if err != nil {
				return nil, err
			}
			nanos[name] = medians(batches)
		}
	}
	var times []float64
	for _, row := range rows {
		times = append(times, row.truth(nanos[row.Case], p.calls[row.Case]))
	}
	return times, nil
}

// median is one figure of all runs.
func (e exact) median(figure func(reading) float64) float64 {
	var figures []float64
	for _, r := range e.Readings {
		figures = append(figures, figure(r))
	}
	return spread.Median(figures)
}

// insideRuns is in how many runs the truth was within the stated error.
func (e exact) insideRuns() int { return countInside(e.Readings) }

// unclear is whether the machine was too busy to tell: a profile's clock goes on
// while a thread waits for a processor.
func (e exact) unclear() bool {
	return e.median(func(r reading) float64 { return r.Ran }) < leastRun
}

// leastRun is the part of its time that a program must have had a processor.
const leastRun = 0.99

func (e exact) met() bool {
	if e.Row.Demand == within {
		off := e.median(reading.off)
		return off <= mostOff && off >= -mostOff
	}
	return 2*e.insideRuns() > len(e.Readings)
}
