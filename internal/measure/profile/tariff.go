package profile

import (
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

const (
	// Counting costs a program two to four times what the hook itself takes: code
	// around it is compiled less well. Timing hides that behind the clock.
	countingFactor = 3
	timingFactor   = 1.25

	// coldTiming and coldCounting are what a call costs beside, in nanoseconds, where
	// others come between two of a method. By what a hook takes in a loop, eleven hooks of
	// H2 were reckoned at 0.6 % of its time, and cost it 2.3 ± 1.0: 400 ns a call. In
	// Tomcat a timed call took 385 ± 140, a counted one 144 ± 125.
	coldTiming   = 300
	coldCounting = 100
)

// A tariff is what a call with a hook costs a program, in nanoseconds.
type tariff struct {
	counted, timed float64
}

// tariffAt is that of a method that is called so often in a second.
func tariffAt(known cct.Calibration, rate float64) tariff {
	cold := cost.Cold(rate)
	return tariff{
		counted: known.Count.Median + cold*coldCounting,
		timed:   known.Inner.Median + known.Outer.Median + cold*coldTiming,
	}
}

// at is what a second costs with so many calls, of which no more are timed than the pace says.
func (t tariff) at(rate, pace float64) float64 {
	timed := min(rate, pace)
	return (rate-timed)*t.counted + timed*t.timed
}

// careful is what who has to keep a budget reckons with.
func careful(known cct.Calibration, rate float64) tariff {
	known.Count.Median *= countingFactor
	known.Inner.Median *= timingFactor
	known.Outer.Median *= timingFactor
	return tariffAt(known, rate)
}

// price is what calls cost that the nodes of threads hold, in nanoseconds, if they came
// in so many seconds.
func price(known cct.Calibration, threads []arena.Thread, seconds float64) (nanos float64) {
	for _, s := range addUp(threads, 0) {
		each := tariffAt(known, s.calls/max(seconds, 1))
		nanos += each.at(s.calls, s.timed+s.beside)
	}
	return nanos
}
