package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/jfluid"
	"github.com/sonde-jvm/sonde/internal/cct"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/profile"
)

// measure has all profilers profile one program on one JDK, and returns verdicts.
// The error tells what ours could not do; what came before it is printed.
func measure(ctx context.Context, jdk jvmtest.JDK, s subject, classes string, o options) ([]string, error) {
	verdicts, failed := ours(ctx, jdk, s, classes, o)
	for _, scheme := range o.theirs() {
		r := row{jdk: jdk.Version, program: s.name, profiler: visualvm{scheme: scheme}.name()}
		f, err := beside(ctx, jdk, s, classes, scheme, o)
		if ctx.Err() != nil {
			return verdicts, ctx.Err()
		}
		// What another's engine cannot do is a result, not a failure of ours.
		if r.refusal = err; err == nil {
			r.figures = []*figure{f}
		}
		r.print()
	}
	return verdicts, failed
}

// ours has Sonde profile a program, in all the ways asked for.
func ours(ctx context.Context, jdk jvmtest.JDK, s subject, classes string, o options) ([]string, error) {
	profilers := o.ours()
	if len(profilers) == 0 && o.minutes == 0 {
		return nil, nil
	}
	both, err := newStand(ctx, jdk, s, classes, o.lengths)
	if err != nil {
		return nil, err
	}
	defer both.close()
	var verdicts []string
	for _, p := range profilers {
		r := row{jdk: jdk.Version, program: s.name, profiler: p.name()}
		for range o.phases {
			f, err := both.phase(ctx, p, s, o.lengths.measuring)
			if err != nil {
				return verdicts, err
			}
			r.figures = append(r.figures, f)
		}
		r.print()
		if p == o.auto() {
			verdicts = append(verdicts, r.verdict(o.budget))
		}
	}
	if o.minutes > 0 {
		f, err := both.phase(ctx, o.auto(), s, time.Duration(o.minutes)*time.Minute)
		if err != nil {
			return verdicts, err
		}
		r := row{jdk: jdk.Version, program: s.name, profiler: fmt.Sprintf("auto, %d min", o.minutes), figures: []*figure{f}}
		r.print()
		verdicts = append(verdicts, r.total(o.budget))
	}
	return verdicts, nil
}

// beside has VisualVM's engine do the job, on a program of its own.
func beside(ctx context.Context, jdk jvmtest.JDK, s subject, classes string, scheme jfluid.Scheme, o options) (*figure, error) {
	engine, err := jfluid.Available(ctx, jdk)
	if err != nil {
		return nil, err
	}
	both, err := newStand(ctx, jdk, s, classes, o.lengths, engine.Options()...)
	if err != nil {
		return nil, err
	}
	defer both.close()
	return both.phase(ctx, visualvm{engine, scheme}, s, o.lengths.measuring)
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
