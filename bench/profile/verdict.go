package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/spread"
)

// A cost is the part of its work that a program lost, with how far that may be off:
// by the spread of windows, and by half of what the programs drifted apart.
type cost struct {
	part, within float64
}

// judge holds it against a budget.
func (c cost) judge(budget float64) string {
	switch {
	case math.IsNaN(c.part):
		return "not measured against"
	case c.part-c.within > budget:
		return "OUTSIDE"
	case c.part+c.within > budget:
		return "within noise of"
	}
	return "inside"
}

// woven is the hooks' steady cost, by processor time, which others on the machine
// disturb least.
func (r row) woven() cost {
	slower, within := spread.Mean(r.windows())
	return cost{slower - 1, within + math.Abs(r.drift())/2}
}

// allTold is what a long run cost from its beginning to its end, weaving and
// un-weaving included: by the clock, and by processor time.
func (r row) allTold() (clock, cpu cost) {
	f := r.figures[0]
	return cost{f.all.Seconds() / f.span.Seconds(), math.Abs(f.drift.wall) / 2}, cost{f.allCPU, math.Abs(f.drift.cpu) / 2}
}

// auto is whether a budget was kept in it.
func (r row) auto() bool { return r.long || strings.HasSuffix(r.profiler, "auto") }

// verdicts hold auto against its budget.
func (r row) verdicts() []string {
	if !r.auto() || len(r.figures) == 0 {
		return nil
	}
	c, windows := r.woven(), spread.Of(r.windows())
	all := []string{fmt.Sprintf("%s on JDK %s, %s: once woven %+.1f %% ± %.1f (%d windows, middle half %+.1f to %+.1f): %s its budget of %.0f %%",
		r.program, r.jdk, r.profiler, 100*c.part, 100*c.within, len(r.windows()), 100*(windows.Low-1), 100*(windows.High-1),
		c.judge(r.wanted), 100*r.wanted)}
	if r.long {
		f := r.figures[0]
		clock, cpu := r.allTold()
		all = append(all, fmt.Sprintf("%s on JDK %s, %s: all told, over %s, %.1f %% ± %.1f of its work (%.2f s; %.2f s to hooks going in, %.2f s out): "+
			"%s its budget of %.0f %%; by processor time %.1f %% ± %.1f: %s; %s", r.program, r.jdk, r.profiler, f.span.Round(time.Second),
			100*clock.part, 100*clock.within, f.all.Seconds(), f.in.Seconds(), f.out.Seconds(), clock.judge(r.wanted), 100*r.wanted,
			100*cpu.part, 100*cpu.within, cpu.judge(r.wanted), f.warm))
	}
	return all
}
