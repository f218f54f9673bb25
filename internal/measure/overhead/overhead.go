// Package overhead estimates what measuring costs a program: for each call of a method with a hook,
// and for each redefinition, after which the program is slower until the JIT compilers have replaced
// the discarded code.
//
// Costs per call have two parts. What a hook costs in a loop is measured in the target
// (Calibrator, MeasureProbe). If other code runs between two calls, the hook and its counters
// are in no cache, and a call costs more. This part cannot be measured in the target. It is a constant
// in Plain (hooks of profiles) and in Probe (hooks of probe sets), measured by running programs with and
// without hooks.
package overhead

import (
	"context"
	"math"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A Hook is a kind of hook. Its fields are the nanoseconds that a call costs beyond its cost
// in a loop, if the method is called rarely, so that nothing is cached.
type Hook struct {
	coldTimed, coldCounted float64
}

// The figures are from runs of bench/profile and bench/observe that are not kept; the
// pages named below compare the resulting costs with later runs.
var (
	// Plain are the hooks of profiles. Eleven of them in H2 cost 2.3 ± 1.0 %, about 400 ns a
	// call; the cost in a loop predicts 0.6 % (docs/measurements/profile.md).
	Plain = Hook{coldTimed: 300, coldCounted: 100}

	// Probe are the hooks of probe sets. Five of them in Tomcat, with 6,000 calls a second
	// each on ten threads, cost a microsecond a call and a quarter of that in a loop. That
	// includes what a probe costs while it is switched off (docs/measurements/observe.md).
	Probe = Hook{coldTimed: 700, coldCounted: 300}
)

// warmRate is the rate of calls per second at which half of the cold cost is gone. It is an
// estimate: no benchmark varies the rate.
const warmRate = 100_000

// Cold returns what a call costs beyond its cost in a loop, in nanoseconds, for a method
// that is called rate times a second and of whose calls the part timed is timed.
func (h Hook) Cold(rate, timed float64) float64 {
	return (h.coldCounted + timed*(h.coldTimed-h.coldCounted)) / (1 + rate/warmRate)
}

// Costs that are not measured in each target, in nanoseconds.
const (
	// HotCount is the cost of a call that is counted, in hot code: 4.5 on JDK 17 and 7.3 on
	// JDK 25 (docs/measurements/overhead.md, counted leaf).
	HotCount = 6
	// tagCost is the cost of giving a tag a value, in hot code: 18 on both (docs/measurements/context.md).
	tagCost = 18
	// Off is the cost of a call whose hook is switched off: 2.8 and 2.6 where 200 methods are
	// called in turn (docs/measurements/overhead.md).
	Off = 3
	// HandOver is the cost of handing a task to another thread with its context, and of beginning it there: 115 in a loop on
	// JDK 25.
	HandOver = 120
	// CallerLookup is the cost of identifying a caller, until the target has shown its own:
	// an estimate.
	CallerLookup = 5000
	// MaxCallerLookup bounds what the target shows: beyond it the thread had no processor.
	// Twice the estimate.
	MaxCallerLookup = 10_000
)

// InlinedCode is the size in bytes up to which HotSpot inlines a method into every caller
// (MaxInlineSize). A hook in such a method costs more than the method does, unless it has
// a loop.
const InlinedCode = 35

const (
	// Counting costs a program several times what the hook takes in a loop, because the code
	// around it is compiled less well: 26 ns instead of 4.5 to 7.3 where 200 methods are called
	// in turn (docs/measurements/overhead.md). The factor is an estimate within that range.
	countingFactor = 3
	// crowdedFactor is beyond that range, where many hooks only count because the budget is exceeded already: 29 to 44 ns, as
	// HotSpot happens to compile the code around them (docs/measurements/budget.md).
	crowdedFactor = 7
	// idleFactor is the same for hooks that find nothing to do.
	idleFactor = 4.5
	// The clock hides that from timed calls: 96 to 113 ns there instead of 84 to 88.
	timingFactor = 1.25
)

// A CallCost is what one call of a hooked method costs the program, in nanoseconds.
type CallCost struct {
	Counted, Timed float64
}

// Expected returns the cost of a call of a method that is called rate times a second.
func Expected(known cct.Calibration, rate float64) CallCost {
	return CallCost{
		Counted: known.Count.Median + Plain.Cold(rate, 0),
		Timed:   known.Inner.Median + known.Outer.Median + Plain.Cold(rate, 1),
	}
}

// InLoops is Expected for methods that are called so often that everything is cached.
func InLoops(known cct.Calibration) CallCost { return Expected(known, math.Inf(1)) }

// Pessimistic is Expected for callers that must stay within a budget.
func Pessimistic(known cct.Calibration, rate float64) CallCost {
	known.Count.Median *= countingFactor
	known.Inner.Median *= timingFactor
	known.Outer.Median *= timingFactor
	return Expected(known, rate)
}

// Of returns the cost of a number of calls of which at most some are timed.
func (c CallCost) Of(calls, timed float64) float64 {
	timed = min(calls, timed)
	return (calls-timed)*c.Counted + timed*c.Timed
}

const (
	// ThinPeriod is the sampling period of thinned probes: all their calls are counted and
	// one in ThinPeriod is timed.
	ThinPeriod = 16
	// probeFactor is what a probe's hook costs compared with a plain one: it reads a switch
	// table of its own, and its method is compiled less well. It is an estimate: no benchmark
	// compares the two.
	probeFactor = 1.5
)

// A ProbeCost is what a call of a probed method costs in a loop, in nanoseconds.
type ProbeCost struct {
	Timed float64
	Thin  float64 // one call in ThinPeriod is timed
}

// MeasureProbe measures what calls of probed methods cost in a JVM now.
func MeasureProbe(ctx context.Context, s *session.Look) (ProbeCost, error) {
	thin, err := s.HookCost(ctx, arena.On|arena.Sampled|arena.Flat|arena.Spreads, ThinPeriod)
	if err != nil {
		return ProbeCost{}, err
	}
	timed, err := s.HookCost(ctx, arena.On|arena.Timed|arena.Flat|arena.Spreads, 0)
	return ProbeCost{Timed: timed.Median * probeFactor, Thin: thin.Median * probeFactor}, err
}

// Least returns the lower of two measurements: other programs on the machine may have
// added to either.
func (p ProbeCost) Least(other ProbeCost) ProbeCost {
	return ProbeCost{Timed: min(p.Timed, other.Timed), Thin: min(p.Thin, other.Thin)}
}

// Call returns the cost of a call of a method that is called rate times a second.
func (p ProbeCost) Call(rate float64, thin bool) float64 {
	if thin {
		return p.Thin + Probe.Cold(rate, 1.0/ThinPeriod)
	}
	return p.Timed + Probe.Cold(rate, 1)
}

// How much work a program loses while discarded code is compiled again (RATIONALE, "How
// does --timing auto choose the methods that get hooks?"). There is no recorded measurement
// of usualRecompiled: it is an estimate.
const (
	// recompiledPart is the lost work as a part of the processor time that the compilers
	// have used so far, if all hot code is discarded. It is bounded because most of what
	// compilers have produced in days is not hot any more.
	recompiledPart = 0.4
	maxRecompiled  = 30 * time.Second
	// usualRecompiled is assumed where the compilers' processor time is not known.
	usualRecompiled = 11 * time.Second
)

// RecompileLoss returns the work that is lost if all hot code is discarded, for a JVM
// whose compilers have used so much processor time.
func RecompileLoss(compiled time.Duration, known bool) time.Duration {
	if !known {
		return usualRecompiled
	}
	return min(time.Duration(recompiledPart*float64(compiled)), maxRecompiled)
}

// Loss estimates the work that a JVM loses when the first of its classes is changed; 0 if only code
// that depends on that class is discarded. known is false if the work of its compilers is not known,
// so that the estimate is that of a usual program. A JVM to which Sonde has attached before has
// lost its code already, so this must be asked before attaching.
func Loss(jvm *process.JVM) (work time.Duration, known bool) {
	if !process.Local.DiscardsAll(jvm) {
		return 0, true
	}
	meter := cost.Watch(jvm)
	defer meter.Close()
	now, _ := meter.Read() // in an empty reading the compilers' time is unknown
	compiled, known := now.Compiled()
	return RecompileLoss(compiled, known), known
}

// RedefinitionLoss returns the work that is lost by redefining classes to put hooks in and
// again to take them out. Heat is the part of the running code that depends on the
// classes, and all the loss if all hot code is discarded, which the first redefinition does
// in some JVMs (process.Host.DiscardsAll).
func RedefinitionLoss(discardsAll bool, heat float64, all time.Duration) time.Duration {
	once := time.Duration(heat * float64(all))
	if discardsAll {
		return all + once
	}
	return 2 * once
}

const (
	// LossPart is the part of a budget that is for putting hooks in and taking them out.
	LossPart = 0.4
	// Amortised is the time over which that cost is spread, also in shorter runs.
	Amortised = 5 * time.Minute
)

// LossLimit returns the work that may be lost to redefinitions with a budget, which is a part
// of the program's time, and a command that takes so long.
func LossLimit(budget float64, duration time.Duration) time.Duration {
	return time.Duration(LossPart * budget * float64(max(duration, Amortised)))
}
