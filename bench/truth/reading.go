package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/bench/jfluid"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
	"github.com/sonde-jvm/sonde/internal/session"
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

// profiled profiles the program while each case works for the given length, several
// times. Every run has its own thread, so each thread's tree is a profile by itself.
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
			Settings: session.Settings{Command: "bench/truth"}, Started: func() { close(started) },
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
		return nil, fmt.Errorf("the profile has %d threads, but %d worked", len(all), len(worked))
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

// An exact is what exact profiles said of one row, run by run.
type exact struct {
	Row           row
	Readings      []reading
	Before, After float64  // of the twin with hooks, before they were in and after they were out; medians
	Beside        *reading // by another engine; nil where that has none
}

const aloneBatches = 41

func (r *report) measureExact(ctx context.Context, p *program) error {
	rows := r.exactRows()
	before, err := p.aloneRows(rows)
	if err != nil {
		return err
	}
	all, err := p.profiled(ctx, rows, cct.Exact, *length, *runs)
	if err != nil {
		return err
	}
	for _, readings := range all {
		for i, reading := range readings {
			r.Exact[i].Readings = append(r.Exact[i].Readings, reading)
		}
	}
	// What had hooks is compiled again.
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

// median is the median of one figure over all runs.
func (e exact) median(figure func(reading) float64) float64 {
	return harness.Over(e.Readings, figure).Median
}

// insideRuns is in how many runs the truth was within the stated error.
func (e exact) insideRuns() int { return countInside(e.Readings) }

// unclear is whether the machine was too busy for a verdict: a profile's clock goes on
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

// A sampled is what many sampled profiles said of one row.
type sampled struct {
	Row      row
	Readings []reading
}

// sure is in what part of all profiles the truth must be within the interval.
const sure = 0.95

func (r *report) measureSampled(ctx context.Context, p *program) error {
	all, err := p.profiled(ctx, r.sampledRows(), cct.Sampled, *short, *repeats)
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

// median is the median of one figure over all profiles.
func (s sampled) median(figure func(reading) float64) float64 {
	return harness.Over(s.Readings, figure).Median
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

// An engine is a profiler that Sonde is compared with. It profiles a JVM whose methods are
// compiled and running, and returns self times in nanoseconds and numbers of calls by
// method names such as woven.Us1.work.
type engine interface {
	Options() []string // of the JVM
	profile(ctx context.Context, pid int, roots []string, length time.Duration) (selves, calls map[string]float64, err error)
}

// measureBeside has another engine profile a program of its own, which is compared
// with what it needed before.
func (r *report) measureBeside(ctx context.Context, e engine, jdk jvmtest.JDK, classes string) error {
	p, err := start(jdk, classes, e.Options()...)
	if err != nil {
		return err
	}
	defer p.Close()
	rows := r.exactRows()
	names := casesOf(rows)
	if err := p.warm(names); err != nil {
		return err
	}
	truths, err := p.aloneRows(rows)
	if err != nil {
		return err
	}
	var load []any
	for _, name := range names {
		load = append(load, name, p.calls[name])
	}
	if _, err := p.Ask("load", load...); err != nil {
		return err
	}
	selves, calls, err := e.profile(ctx, p.PID(), names, *length*time.Duration(len(names)))
	if err != nil {
		return err
	}
	for i, row := range rows {
		if n := calls[woven+"."+row.Case+"."+row.Per]; n > 0 {
			var sum float64
			for _, method := range row.Methods {
				sum += selves[woven+"."+row.Case+"."+method]
			}
			r.Exact[i].Beside = &reading{Truth: truths[i], Told: sum / n}
		}
	}
	_, err = p.Ask("rest")
	return err
}

// visualVM is VisualVM's engine.
type visualVM struct{ *jfluid.Engine }

// measureVisualVM adds figures of VisualVM's engine, or the reason why there are none.
func (r *report) measureVisualVM(ctx context.Context, jdk jvmtest.JDK, classes string) error {
	e, err := jfluid.Available(ctx, jdk)
	switch {
	case errors.Is(err, jfluid.ErrMissing), errors.Is(err, jfluid.ErrUnsupported):
		r.Note("JDK %s: %v", r.jdk, err)
		return nil
	case err != nil:
		return err
	}
	return r.measureBeside(ctx, visualVM{e}, jdk, classes)
}

func (v visualVM) profile(ctx context.Context, pid int, roots []string, length time.Duration) (selves, calls map[string]float64, err error) {
	request := jfluid.Request{PID: pid, Into: woven + ".**", Scheme: jfluid.Eager, Duration: length}
	for _, root := range roots {
		request.Roots = append(request.Roots, jfluid.Root{Class: woven + "." + root, Method: "root", Descriptor: "(JI)J"})
	}
	result, err := v.Profile(ctx, request)
	if err != nil {
		return nil, nil, err
	}
	selves, calls = make(map[string]float64), make(map[string]float64)
	for _, m := range result.Methods {
		selves[m.Name] += float64(m.Self)
		calls[m.Name] += float64(m.Calls)
	}
	return selves, calls, nil
}
