package overhead

import (
	"math"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/session"
)

var known = cct.Calibration{Inner: cct.Span{Median: 40}, Outer: cct.Span{Median: 60}, Count: cct.Span{Median: 10}}

// TestRareCallsCostMore checks that rare calls cost more than calls in a loop, and very
// frequent ones the same.
func TestRareCallsCostMore(t *testing.T) {
	rare, frequent := Expected(known, 0), Expected(known, 1e9)
	if want := (CallCost{Counted: 110, Timed: 400}); rare != want {
		t.Errorf("rare calls cost %+v, want %+v", rare, want)
	}
	if math.Abs(frequent.Timed-100) > 1 || math.Abs(frequent.Counted-10) > 1 {
		t.Errorf("frequent calls cost %+v", frequent)
	}
	if half := Expected(known, warmRate); half.Timed != 100+150 || half.Counted != 10+50 {
		t.Errorf("at the warm rate calls cost %+v", half)
	}
	if want, got := (CallCost{Counted: 30 + 100, Timed: 125 + 300}), Pessimistic(known, 0); got != want {
		t.Errorf("pessimistic cost %+v, want %+v", got, want)
	}
}

func TestCostOfCalls(t *testing.T) {
	each := CallCost{Counted: 10, Timed: 100}
	for _, tt := range []struct{ calls, timed, want float64 }{
		{100, 0, 1000}, {100, 10, 1900}, {100, 100, 10_000}, {100, 4000, 10_000}, {0, 4000, 0},
	} {
		if got := each.Of(tt.calls, tt.timed); got != tt.want {
			t.Errorf("%g calls of which %g are timed cost %g, want %g", tt.calls, tt.timed, got, tt.want)
		}
	}
}

func TestProbeCost(t *testing.T) {
	loop := ProbeCost{Timed: 150, Thin: 30}
	if got := loop.Call(0, false); got != 850 {
		t.Errorf("a rare timed call costs %g", got)
	}
	if got := loop.Call(0, true); got != 30+300+400.0/ThinPeriod {
		t.Errorf("a rare thinned call costs %g", got)
	}
	if got := loop.Call(warmRate, false); got != 150+350 {
		t.Errorf("at the warm rate a timed call costs %g", got)
	}
	if got := loop.Least(ProbeCost{Timed: 140, Thin: 40}); got != (ProbeCost{Timed: 140, Thin: 30}) {
		t.Errorf("the lower of two is %+v", got)
	}
}

func TestRedefinitionLoss(t *testing.T) {
	if got := RecompileLoss(0, false); got != usualRecompiled {
		t.Errorf("loss %v where the compilers' time is not known", got)
	}
	if got := RecompileLoss(10*time.Second, true); got != 4*time.Second {
		t.Errorf("loss %v after 10 s of compiling", got)
	}
	if got := RecompileLoss(time.Hour, true); got != maxRecompiled {
		t.Errorf("loss %v after an hour of compiling", got)
	}
	if got := RedefinitionLoss(true, 0.25, 4*time.Second); got != 5*time.Second {
		t.Errorf("a JVM that discards all code loses %v", got)
	}
	if got := RedefinitionLoss(false, 0.25, 4*time.Second); got != 2*time.Second {
		t.Errorf("a JVM that discards dependent code loses %v", got)
	}
	for duration, want := range map[time.Duration]time.Duration{0: 2400 * time.Millisecond, 10 * time.Minute: 4800 * time.Millisecond} {
		if got := LossLimit(0.02, duration); got != want {
			t.Errorf("in %v, %v may be lost, want %v", duration, got, want)
		}
	}
}

func TestSettling(t *testing.T) {
	look := func(busy float64, wait time.Duration) cost.Cost {
		return cost.Cost{Elapsed: SettleInterval, CompileCPU: time.Duration(busy * float64(SettleInterval)), CompileWait: wait, Rest: SettleInterval}
	}
	repeat := func(n int, c cost.Cost) (all []cost.Cost) {
		for range n {
			all = append(all, c)
		}
		return all
	}
	idle, busy, waiting := look(0, 0), look(0.9, 0), look(0, SettleInterval)
	const never = -1
	for name, tt := range map[string]struct {
		rule  Rule
		looks []cost.Cost
		want  int // looks until the wait is over
		state State
	}{
		"profile: idle at once":                 {ForProfile, repeat(9, idle), 3, Settled},
		"profile: busy, then idle":              {ForProfile, append(repeat(5, busy), repeat(9, look(0.15, 0))...), 8, Settled},
		"profile: waiting compilers are idle":   {ForProfile, repeat(9, waiting), 3, Settled},
		"profile: always busy":                  {ForProfile, repeat(50, busy), 24, Overdue},
		"root cause: always busy":               {ForRootCause, repeat(50, busy), 32, Overdue},
		"suggest: idle at once":                 {ForSuggest, repeat(9, idle), 3, Settled},
		"suggest: waiting compilers are busy":   {ForSuggest, repeat(9, waiting), never, Unsettled},
		"suggest: busy for 8 s of its own time": {ForSuggest, repeat(99, busy), 32, Overdue},
		"results: idle at once":                 {ForResults, repeat(9, idle), 8, Settled},
		"results: busy, then idle":              {ForResults, append(repeat(5, busy), repeat(9, look(0.04, 0))...), 13, Settled},
		"results: idle in between":              {ForResults, append(append(repeat(2, idle), busy), repeat(9, idle)...), 11, Settled},
		"results: a little to do":               {ForResults, repeat(9, look(0.1, 0)), never, Unsettled},
		"results: waiting for a processor":      {ForResults, repeat(9, waiting), never, Unsettled},
		"results: always busy":                  {ForResults, repeat(200, busy), 180, Overdue},
	} {
		s := Settling{Rule: tt.rule}
		got := never
		for i, c := range tt.looks {
			if s.Add(c) != Unsettled {
				got = i + 1
				break
			}
		}
		if got != tt.want || s.State != tt.state {
			t.Errorf("%s: state %d after %d looks, want %d after %d", name, s.State, got, tt.state, tt.want)
		}
		if got != never && s.Took != time.Duration(got)*SettleInterval {
			t.Errorf("%s: took %v", name, s.Took)
		}
	}
}

func TestAnOverdueProgramMaySettle(t *testing.T) {
	s := Settling{Rule: ForProfile}
	for s.State == Unsettled {
		s.Add(cost.Cost{Elapsed: time.Second, CompileCPU: time.Second})
	}
	took := s.Took
	if s.State != Overdue || s.Add(cost.Cost{Elapsed: time.Second}) != Settled || s.Took != took {
		t.Errorf("%+v", s)
	}
}

func TestSpanLeavesOutInterruptedRuns(t *testing.T) {
	s := figures{30, 31, 29, 30, 4000, 30, 31, 29, 30, 1}.span()
	if s.Median != 30 || s.Low != 29 || s.High != 31 {
		t.Errorf("%+v", s)
	}
}

func TestCostsAreNotNegative(t *testing.T) {
	noisy := figures{-3, -2, -1, 0.5, 1}.span()
	if noisy.Low != 0 || noisy.Median != 0 || noisy.High != 1 {
		t.Errorf("noise around 0 is a cost of %+v", noisy)
	}
}

func TestCalibration(t *testing.T) {
	c := &Calibrator{memory: 80}
	timing := func(plain, hooked, measured float64) []session.Timing {
		return []session.Timing{{Plain: plain, Hooked: hooked, Measured: measured}}
	}
	c.add(calibrationRuns{timed: timing(200, 300, 240)})
	if c.Calibration().Times != 0 {
		t.Error("a calibration without counted and nested runs counts")
	}
	c.add(calibrationRuns{
		timed: timing(200, 300, 240), independent: timing(200, 300, 245), counted: timing(5, 15, 0), drawn: timing(200, 220, 230), nested: timing(400, 600, 300),
	})
	got := c.Calibration()
	if got.Times != 1 || got.Inner.Median != 40 || got.Outer.Median != 300-40-200 || got.Count.Median != 10 || got.Drawn.Median != 30 || got.Overlap != 80 {
		t.Errorf("%+v", got)
	}
	for range 2 * maxFigures {
		c.inner.add(50)
	}
	if len(c.inner) != maxFigures || c.Calibration().Inner.Low != 50 {
		t.Errorf("%d figures are kept: %+v", len(c.inner), c.Calibration().Inner)
	}
}
