package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/jfluid"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
)

// A bed is one program on one JDK, for all profilers.
type bed struct {
	jdk     jvmtest.JDK
	subject subject
	classes string
	options options
}

// measure has all profilers profile one program on one JDK. The error tells what
// ours could not do.
func measure(ctx context.Context, jdk jvmtest.JDK, s subject, classes string, o options) ([]row, error) {
	b := bed{jdk, s, classes, o}
	var rows []row
	var failures []error
	add := func(r row, ours bool) {
		if r.refusal != nil && ours {
			failures = append(failures, r.refusal)
		}
		r.print()
		rows = append(rows, r)
	}
	for _, p := range o.ours() {
		if ctx.Err() == nil {
			add(b.phases(ctx, p, o.phases), true)
		}
	}
	for _, scheme := range o.theirs() {
		if ctx.Err() == nil {
			add(b.beside(ctx, scheme), false) // what another's engine cannot do is a result, not a failure of ours
		}
	}
	if o.minutes > 0 && ctx.Err() == nil {
		add(b.long(ctx, o.auto()), true)
	}
	return rows, errors.Join(append(failures, ctx.Err())...)
}

func (b bed) row(p string) row {
	fmt.Fprintf(os.Stderr, "%s JDK %s, %s, %s\n", time.Now().Format("15:04:05"), b.jdk.Version, b.subject.name, p)
	return row{jdk: b.jdk.Version, program: b.subject.name, profiler: p, wanted: b.options.budget}
}

// phases has a profiler profile a fresh program some times.
func (b bed) phases(ctx context.Context, p profiler, times int, more ...string) row {
	r := b.row(p.name())
	both, err := newStand(ctx, b, b.options.lengths, more...)
	if err != nil {
		r.refusal = err
		return r
	}
	defer both.close()
	for range times {
		f, err := both.phase(ctx, p, b.subject)
		if err != nil {
			r.refusal = err
			break
		}
		r.figures = append(r.figures, f)
	}
	return r
}

// beside has VisualVM's engine do the job, once. It loses its target at times,
// so it may try twice.
func (b bed) beside(ctx context.Context, scheme jfluid.Scheme) row {
	const tries = 2
	engine, err := jfluid.Available(ctx, b.jdk)
	v := visualvm{engine, scheme}
	if err != nil {
		r := b.row(v.name())
		r.refusal = err
		return r
	}
	var r row
	for try := 1; try <= tries && ctx.Err() == nil; try++ {
		r = b.phases(ctx, v, 1, engine.Options()...)
		r.tries = try
		if r.refusal == nil || errors.Is(r.refusal, jfluid.ErrUnsupported) {
			break
		}
	}
	return r
}

// long has a profiler profile a fresh program for minutes.
func (b bed) long(ctx context.Context, p profiler) row {
	// The budget is small against noise, and there is time for all to be compiled.
	const longer, calmer = 6, 3
	r := b.row(fmt.Sprintf("auto, %d min", b.options.minutes))
	r.long = true
	l := b.options.lengths
	l.before *= longer
	l.settle *= calmer
	both, err := newStand(ctx, b, l)
	if err != nil {
		r.refusal = err
		return r
	}
	defer both.close()
	f, err := both.long(ctx, p, b.subject, time.Duration(b.options.minutes)*time.Minute)
	if r.refusal = err; err == nil {
		r.figures = []*figure{f}
	}
	return r
}

func (o options) auto() profiler {
	return sonde{timing: cct.Auto, budget: o.budget, scheme: profile.Scheme(o.scheme)}
}

// ours are the profilers asked for, in a fixed order.
func (o options) ours() []profiler {
	wanted := strings.Split(o.profilers, ",")
	var all []profiler
	if slices.Contains(wanted, "nothing") {
		all = append(all, nothing{})
	}
	for _, timing := range []cct.Timing{cct.Exact, cct.Sampled} {
		if slices.Contains(wanted, string(timing)) {
			all = append(all, sonde{timing: timing, scheme: profile.Scheme(o.scheme)})
		}
	}
	if slices.Contains(wanted, string(cct.Auto)) {
		all = append(all, o.auto())
	}
	return all
}

func (o options) theirs() []jfluid.Scheme {
	var all []jfluid.Scheme
	for _, word := range strings.Split(o.profilers, ",") {
		switch word {
		case "jfluid":
			all = append(all, jfluid.Lazy)
		case "jfluid-sampled":
			all = append(all, jfluid.Sampled)
		case "jfluid-eager":
			all = append(all, jfluid.Eager)
		}
	}
	return all
}
