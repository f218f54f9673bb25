package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
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

// warmFor is for how long each case works before anything is kept: code that has
// just got hooks is interpreted first, and so, on some JDKs, is all other code.
const warmFor = 400 * time.Millisecond

// profiled profiles the program while each case works for a time, so many times in
// turn, each on a thread of its own: each thread's tree is a profile by itself.
func (p *program) profiled(ctx context.Context, rows []row, timing cct.Timing, length time.Duration, times int) ([][]reading, error) {
	ctx, cancel := context.WithCancel(ctx)
	started, ended := make(chan struct{}), make(chan struct{})
	defer func() { cancel(); <-ended }() // however this ends, hooks are out
	var result *cct.Profile
	var failed error
	go func() {
		defer close(ended)
		result, failed = profile.Run(ctx, profile.Options{
			PID: p.PID(), Roots: []string{woven + ".*.root"}, Skip: []string{"truth.**"}, Timing: timing, Whole: true,
			Command: "bench/truth", Started: func() { close(started) },
		})
	}()
	select {
	case <-started:
	case <-ended:
		return nil, failed
	}
	if _, err := p.workOn("warm", rows, warmFor); err != nil {
		return nil, err
	}
	p.profiles++
	worked := make(map[string]map[string]turns)
	for i := range times {
		name := fmt.Sprintf("kept-%d-%d", p.profiles, i)
		var err error
		if worked[name], err = p.workOn(name, rows, length); err != nil {
			return nil, err
		}
	}
	cancel()
	<-ended
	if failed != nil {
		return nil, failed
	}
	return p.read(result, rows, worked)
}

// workOn has each case work for a time, on a thread of its own.
func (p *program) workOn(thread string, rows []row, length time.Duration) (map[string]turns, error) {
	if _, err := p.Ask("on", thread); err != nil {
		return nil, err
	}
	worked := make(map[string]turns)
	for _, name := range casesOf(rows) {
		t, err := p.turns(name, max(int(length/batch), 1))
		if err != nil {
			return nil, err
		}
		worked[name] = t
	}
	return worked, nil
}

// read reads the rows of each thread that worked.
func (p *program) read(result *cct.Profile, rows []row, worked map[string]map[string]turns) ([][]reading, error) {
	var all [][]reading
	for _, thread := range result.Threads {
		work, kept := worked[thread.Name]
		if !kept {
			continue
		}
		var readings []reading
		for _, row := range rows {
			r, err := row.read(thread.Top, result.Methods)
			if err != nil {
				return nil, &rowError{row, err}
			}
			r.Truth = row.truth(means(work[row.Case].parts), p.calls[row.Case])
			r.Ran = work[row.Case].ran
			readings = append(readings, r)
		}
		all = append(all, readings)
	}
	if len(all) != len(worked) {
		return nil, fmt.Errorf("the profile tells of %d threads, %d worked", len(all), len(worked))
	}
	return all, nil
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
func (r row) read(top *cct.Node, methods []cct.Method) (reading, error) {
	var sum reading
	var calls float64
	var visit func(*cct.Node)
	visit = func(node *cct.Node) {
		if node.Method >= 0 {
			m := methods[node.Method]
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
	visit(top)
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
