package hotspots

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

const (
	// enough is how many samples of threads that run Java alone say how much time
	// one stands for.
	enough = 20
	// least is the weight below which a sample shows a thread that waits.
	least = 0.05
	// idle is the part of the time below which a thread in a dump does not run.
	idle = 0.01
)

// A tally is what is known of a thread before its samples are weighed.
type tally struct {
	java, native int
	used         time.Duration
	timed        bool
}

// weigh gives each sample its weight: how many samples of Java code it is worth.
// Those with none show threads that wait. unit is the time for which one stands.
func weigh(samples []jfr.Sample, period time.Duration, used map[int64]time.Duration) (weights []float64, unit time.Duration) {
	threads := map[int64]*tally{}
	of := func(s jfr.Sample) *tally {
		t := threads[key(s.Thread)]
		if t == nil {
			t = &tally{}
			t.used, t.timed = used[s.Thread.OSID]
			t.timed = t.timed && !s.Thread.Virtual // its carrier's time is not its own
			threads[key(s.Thread)] = t
		}
		return t
	}
	for _, s := range samples {
		switch {
		case s.Source == jfr.Execution:
			of(s).java++
		case s.Source == jfr.NativeCode && !IsWait(s.Stack.Frames[0].Method):
			of(s).native++
		}
	}
	unit = unitOf(threads, period)
	most := 1.0
	for _, t := range threads {
		if t.native > 0 {
			most++
		}
	}
	weights = make([]float64, len(samples))
	for i, s := range samples {
		switch {
		case s.Source == jfr.Execution && of(s).idles(s, unit):
		case s.Source != jfr.NativeCode:
			weights[i] = 1
		case !IsWait(s.Stack.Frames[0].Method):
			weights[i] = of(s).nativeWeight(unit, most)
		}
	}
	return weights, unit
}

// unitOf is the processor time for which a sample of Java code stands: more than
// the period where the JVM cannot look at all threads each time. Threads that were
// never seen in native code tell.
func unitOf(threads map[int64]*tally, period time.Duration) time.Duration {
	var samples int
	var used time.Duration
	for _, t := range threads {
		if t.timed && t.native == 0 {
			samples += t.java
			used += t.used
		}
	}
	if samples < enough || used <= 0 {
		return period
	}
	return used / time.Duration(samples)
}

// nativeWeight is that of each native sample of a thread: together they have the
// time that Java code does not account for. The JVM looks at one thread in native
// code at a time, so a sample is worth at most as many as there are.
func (t *tally) nativeWeight(unit time.Duration, most float64) float64 {
	if !t.timed || unit <= 0 {
		return 1
	}
	rest := float64(t.used)/float64(unit) - float64(t.java)
	weight := min(most, rest/float64(t.native))
	if weight < least {
		return 0
	}
	return weight
}

// idles tells of a thread in a dump, which calls some runnable that wait inside the
// JVM: it used next to no processor time. The recorder tells those apart itself,
// and knows the kind of each frame.
func (t *tally) idles(s jfr.Sample, unit time.Duration) bool {
	return s.Stack.Frames[0].Kind == jfr.UnknownKind && t.timed && float64(t.used) < idle*float64(t.java)*float64(unit)
}

// key tells threads apart, also those that are only Java's.
func key(t *jfr.Thread) int64 {
	if t.JavaID != 0 {
		return t.JavaID
	}
	return -1 - t.OSID
}
