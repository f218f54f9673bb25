package main

import (
	"context"
	"errors"
	"time"

	"github.com/sonde-jvm/sonde/bench/jfluid"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// An engine is another profiler beside Sonde. It is given a JVM whose methods are
// compiled and at work, and gives the self times of methods, in nanoseconds, and
// their calls, by names like woven.Us1.work.
type engine interface {
	Options() []string // of the JVM
	profile(ctx context.Context, pid int, roots []string, length time.Duration) (selves, calls map[string]float64, err error)
}

// measureBeside has another engine profile a program of its own, which is compared
// with what it needed before.
func (r *report) measureBeside(ctx context.Context, e engine, jdk jvmtest.JDK, classes string, o options) error {
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
	selves, calls, err := e.profile(ctx, p.PID(), names, o.time*time.Duration(len(names)))
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

// measureVisualVM puts VisualVM's engine beside, or says why there is none.
func (r *report) measureVisualVM(ctx context.Context, jdk jvmtest.JDK, classes string, o options) error {
	e, err := jfluid.Available(ctx, jdk)
	switch {
	case errors.Is(err, jfluid.ErrMissing), errors.Is(err, jfluid.ErrUnsupported):
		r.NoEngine = err.Error()
		return nil
	case err != nil:
		return err
	}
	return r.measureBeside(ctx, visualVM{e}, jdk, classes, o)
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
