package main

import (
	"context"
	"errors"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// gapRates are samples a second, in the order in which a turn has them.
var gapRates = []int{20, judgedAt, 1000}

// gapWindow is how long the thread has a processor while it is sampled, or left alone.
const gapWindow = time.Second

// A gap is what a thread that only reads the clock lost in a window.
type gap struct {
	lost    float64 // part of the time that it had a processor
	samples float64 // for each second of that time
}

// ranFor returns for how many nanoseconds the program Gaps had a processor between two answers.
func ranFor(before, after []float64) (float64, error) {
	if len(before) != 3 || len(after) != 3 {
		return 0, errors.New("the program Gaps answered by other numbers than three")
	}
	return (after[0] - before[0]) - (after[2] - before[2]), nil
}

// gapsOf compares two answers.
func gapsOf(before, after []float64, samples int) (g gap, err error) {
	ran, err := ranFor(before, after)
	if err != nil {
		return g, err
	}
	return gap{lost: (after[1] - before[1]) / ran, samples: float64(samples) / ran * 1e9}, nil
}

// A sampledGap is a window with samples, and what the windows before and after it lost.
type sampledGap struct {
	gap
	alone float64
}

func (g sampledGap) loss() float64 { return g.lost - g.alone }

// An interruption is what was found on one JDK.
type interruption struct {
	jdk  int
	gaps map[int][]sampledGap // by rate
}

type interruptions []*interruption

// measure samples the thread and leaves it alone, by turns.
func (all *interruptions) measure(ctx context.Context, jdk jvmtest.JDK, classes string) error {
	p, err := harness.Start(jdk, "-Xmx64m", "-XX:+UseSerialGC", "-cp", classes, "Gaps")
	if err != nil {
		return err
	}
	defer p.Close()
	found := &interruption{jdk: jdk.Major, gaps: map[int][]sampledGap{}}
	*all = append(*all, found)
	const warm = 2 * gapWindow // until it is compiled
	if _, err := gapsIn(ctx, p, warm, 0); err != nil {
		return err
	}
	before, err := gapsIn(ctx, p, gapWindow, 0)
	for range *gapTurns {
		for _, rate := range gapRates {
			var during, after gap
			if err == nil {
				during, err = gapsIn(ctx, p, gapWindow, rate)
			}
			if err == nil {
				after, err = gapsIn(ctx, p, gapWindow, 0)
			}
			if err != nil {
				return err
			}
			found.gaps[rate] = append(found.gaps[rate], sampledGap{during, (before.lost + after.lost) / 2})
			before = after
		}
	}
	return err
}

// gapsIn lets the program run, and samples it unless the rate is 0.
func gapsIn(ctx context.Context, p *harness.Program, length time.Duration, rate int) (g gap, err error) {
	var kernel *sampler.Sampler
	if rate > 0 {
		if kernel, err = sampler.Start(ctx, p.PID(), sampler.Options{Source: sampler.Kernel, Period: time.Second / time.Duration(rate)}); err != nil {
			return g, err
		}
		defer func() { err = errors.Join(err, kernel.Close(ctx)) }()
		if _, err := kernel.Poll(ctx); err != nil {
			return g, err
		}
	}
	before, err := p.Ask("gaps")
	if err != nil {
		return g, err
	}
	var after []float64
	for ran := 0.0; ran < float64(length); {
		select {
		case <-time.After(length / 10):
		case <-ctx.Done():
			return g, ctx.Err()
		}
		if after, err = p.Ask("gaps"); err != nil {
			return g, err
		}
		if ran, err = ranFor(before, after); err != nil {
			return g, err
		}
	}
	samples := 0
	if kernel != nil {
		batch, err := kernel.Poll(ctx)
		if err != nil {
			return g, err
		}
		for _, s := range batch.Samples {
			if s.Thread.Name == "reader" {
				samples++
			}
		}
	}
	return gapsOf(before, after, samples)
}

func (all interruptions) report(r *harness.Report) {
	table := r.Table("JDK", "samples a second", "samples taken a second", "lost without samples", "lost with samples", "difference", "for each sample", "windows")
	r.Note(gapLegend, gapWindow)
	for _, found := range all {
		for _, rate := range gapRates {
			gaps := found.gaps[rate]
			if len(gaps) == 0 {
				continue
			}
			percent := func(value func(sampledGap) float64) harness.Spread { return harness.Over(gaps, value).Times(100) }
			loss := percent(sampledGap.loss)
			each := harness.Over(gaps, func(g sampledGap) float64 { return g.loss() / max(1, g.samples) }).Times(1e6)
			table.Row(found.jdk, rate, harness.Over(gaps, func(g sampledGap) float64 { return g.samples }).Text("%.0f"),
				percent(func(g sampledGap) float64 { return g.alone }).Text("%.3f")+" %", percent(func(g sampledGap) float64 { return g.lost }).Text("%.3f")+" %",
				loss.Text("%+.3f")+" %", each.Text("%.1f")+" µs", len(gaps))
			if rate != gapRates[len(gapRates)-1] {
				continue
			}
			// At the highest rate a sample's cost stands out most from other interrupts.
			loss = each.Times(judgedAt / 1e4)
			verdict := harness.Unclear
			switch {
			case loss.High <= 100*mostLost:
				verdict = harness.Met
			case loss.Low > 100*mostLost:
				verdict = harness.Missed
			}
			r.Bar(verdict, "JDK %d: a thread loses %s %% of its time at %d samples a second, by what a sample costs at %d (at most %.1f %%)",
				found.jdk, loss.Text("%.3f"), judgedAt, rate, 100*mostLost)
		}
	}
}

const gapLegend = `A thread with more than 32 KiB of stack, which is what the kernel copies, only reads the clock. Lost: gaps of 2 to 200 µs between two readings,
as a part of the time that it had a processor; longer ones, in which another thread had it, do not count. It is sampled for %v of that time and left alone for as
long, by turns; the difference is to the windows just before and just after. Medians and quartiles.`
