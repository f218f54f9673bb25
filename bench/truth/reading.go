package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/cct"
	"github.com/sonde-jvm/sonde/internal/profile"
)

// A reading is what one profile said of a row, and what was true meanwhile. All
// are nanoseconds a call.
type reading struct {
	Truth     float64
	Told      float64 // calibrated
	Low, High float64 // the error that the profile states
	Raw       float64 // by the clock, without calibration
	Ran       float64 // no time: the part of it in which the program had a processor
}

func (r reading) off() float64    { return r.Told/r.Truth - 1 }
func (r reading) rawOff() float64 { return r.Raw/r.Truth - 1 }
func (r reading) inside() bool    { return r.Low <= r.Truth && r.Truth <= r.High }

// errUnread says that a profile has nothing on a method that was called.
var errUnread = errors.New("the profile has no timed call of it")

// profiled profiles the program while each case works for a time, and reads rows.
func (p *program) profiled(ctx context.Context, rows []row, timing cct.Timing, length time.Duration) ([]reading, error) {
	ctx, cancel := context.WithCancel(ctx)
	started, ended := make(chan struct{}), make(chan struct{})
	defer func() { cancel(); <-ended }() // however this ends, hooks are out
	var result *cct.Profile
	var failed error
	go func() {
		defer close(ended)
		result, failed = profile.Run(ctx, profile.Options{
			PID: p.pid(), Roots: []string{woven + ".*.root"}, Skip: []string{"truth.**"}, Timing: timing,
			Command: "bench/truth", Started: func() { close(started) },
		})
	}()
	worked := make(map[string]turns)
	select {
	case <-started:
	case <-ended:
		return nil, failed
	}
	for _, name := range casesOf(rows) {
		t, err := p.turns(name, max(int(length/batch), 1))
		if err != nil {
			return nil, err
		}
		worked[name] = t
	}
	cancel()
	<-ended
	if failed != nil {
		return nil, failed
	}
	return p.read(result, rows, worked)
}

func (p *program) read(result *cct.Profile, rows []row, worked map[string]turns) ([]reading, error) {
	var readings []reading
	for _, row := range rows {
		r, err := row.read(result)
		if err != nil {
			return nil, &rowError{row, err}
		}
		r.Truth = row.truth(means(worked[row.Case].parts), p.calls[row.Case])
		r.Ran = worked[row.Case].ran
		readings = append(readings, r)
	}
	return readings, nil
}

// truth is a row's time by those of its case's parts.
func (r row) truth(nanos []float64, calls int) float64 {
	time := nanos[r.Part]
	if r.Without != none {
		time -= nanos[r.Without]
	}
	return time / (float64(calls) * r.Each)
}

// read sums what a profile has on a row's methods, in all contexts.
func (r row) read(result *cct.Profile) (reading, error) {
	var sum reading
	var calls float64
	var visit func(*cct.Node)
	visit = func(node *cct.Node) {
		if node.Method >= 0 {
			m := result.Methods[node.Method]
			if m.Class == woven+"/"+r.Case && slices.Contains(r.Methods, m.Name) && node.Timed > 0 {
				sum.Told += node.Self.Nanos
				sum.Low += node.Self.Low
				sum.High += node.Self.High
				sum.Raw += float64(node.Raw) / float64(node.Timed) * float64(node.Calls)
				if m.Name == r.Per {
					calls += float64(node.Calls)
				}
			}
		}
		for _, child := range node.Children {
			visit(child)
		}
	}
	visit(result.Merged)
	if calls == 0 {
		return reading{}, errUnread
	}
	return reading{Told: sum.Told / calls, Low: sum.Low / calls, High: sum.High / calls, Raw: sum.Raw / calls}, nil
}

// A rowError says which time could not be read.
type rowError struct {
	row row
	err error
}

func (e *rowError) Error() string {
	return woven + "." + e.row.Case + "." + e.row.Per + ": " + e.err.Error()
}
func (e *rowError) Unwrap() error { return e.err }
