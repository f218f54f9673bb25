// Package hotspots computes from samples where a program spends its time: by method, by
// thread and by stack, over a window of time. It does no I/O.
//
// A sample by the kernel counts its period. If the JVM samples itself, a sample of Java code counts one. Samples of
// native code are then taken at another rate, and also show threads that wait: native methods that are known to wait
// do not count, and the others share the processor time that their thread used beyond its samples of Java code. If
// that time is not known, they count one each.
package hotspots

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// lag is how late a sample may arrive: the JVM writes once a second.
const lag = 2 * time.Second

// A Window holds the most recent samples.
type Window struct {
	length   time.Duration
	period   time.Duration
	began    time.Time
	newest   time.Time
	samples  []jfr.Sample
	readings []reading
}

// A reading is the processor time of each thread since its start.
type reading struct {
	at    time.Time
	times map[int64]time.Duration
}

// NewWindow returns a window of a given length.
func NewWindow(length time.Duration) *Window { return &Window{length: length} }

// Add adds samples, each of which represents a period, and the processor time of each thread so
// far, by its OS ID; nil if that is unknown.
func (w *Window) Add(at time.Time, samples []jfr.Sample, period time.Duration, times map[int64]time.Duration) {
	if w.began.IsZero() {
		w.began = at
	}
	w.period = period
	for _, s := range samples {
		if s.Stack == nil || s.Thread == nil {
			continue
		}
		w.samples = append(w.samples, s)
		if s.At.Before(w.began) {
			w.began = s.At
		}
		if s.Source != jfr.Accounted && s.At.After(w.newest) { // other samples may come later
			w.newest = s.At
		}
	}
	if times != nil {
		w.readings = append(w.readings, reading{at, times})
	}
	w.forget(at)
}

// forget removes samples and readings that are too old for any table.
func (w *Window) forget(now time.Time) {
	oldest := now.Add(-w.length - 2*lag)
	kept := w.samples[:0]
	for _, s := range w.samples {
		if s.At.After(oldest) {
			kept = append(kept, s)
		}
	}
	clear(w.samples[len(kept):])
	w.samples = kept
	// Keep the last reading before the oldest sample.
	first := 0
	for first+1 < len(w.readings) && !w.readings[first+1].at.After(oldest) {
		first++
	}
	w.readings = append(w.readings[:0], w.readings[first:]...)
}

// bounds returns the interval of a table: it ends with the newest sample, or lag before now.
func (w *Window) bounds(now time.Time) (from, to time.Time) {
	to = now.Add(-lag)
	if w.newest.After(to) {
		to = w.newest
	}
	if to.Before(w.began) {
		to = w.began
	}
	from = to.Add(-w.length)
	if from.Before(w.began) {
		from = w.began.Add(-1) // includes samples of that moment
	}
	return from, to
}

// used returns the processor time of each thread between two moments; nil with fewer than two
// readings.
func (w *Window) used(from, to time.Time) map[int64]time.Duration {
	first, last := -1, -1
	for i, r := range w.readings {
		if first < 0 || !r.at.After(from) {
			first = i
		}
		if last < 0 || !r.at.After(to) || w.readings[last].at.Before(to) {
			last = i
		}
	}
	if first < 0 || last <= first {
		return nil
	}
	begin, end := w.readings[first], w.readings[last]
	// Scale from the interval of the readings to the requested one.
	span := float64(to.Sub(from)) / float64(end.at.Sub(begin.at))
	used := make(map[int64]time.Duration, len(end.times))
	for thread, after := range end.times {
		used[thread] = time.Duration(float64(max(0, after-begin.times[thread])) * span)
	}
	return used
}

// Table summarizes the window at a given time.
func (w *Window) Table(now time.Time) *Table {
	from, to := w.bounds(now)
	var groups []group
	for _, s := range w.samples {
		if s.At.After(from) && !s.At.After(to) {
			groups = append(groups, group{Sample: s, n: 1, period: s.Period, held: heldIn(s.Lock)})
		}
	}
	return newTable(from, to, groups, w.period, w.used(from, to))
}

const (
	// enough is how many samples of threads that run only Java code are needed to compute the unit.
	enough = 20
	// least is the weight below which a thread is considered waiting.
	least = 0.05
	// idle is the part of the time below which a thread in a dump is considered waiting.
	idle = 0.01
)

// A tally counts the samples of a thread.
type tally struct {
	java, native int
	used         time.Duration
	timed        bool
}

// usualPeriod is assumed where none is known: that of the JDK's own settings.
const usualPeriod = 20 * time.Millisecond

// weigh computes the weights of groups, in samples of Java code. unit is the processor time that a
// weight of one represents.
func weigh(groups []group, period time.Duration, used map[int64]time.Duration) (unit time.Duration) {
	threads := map[int64]*tally{}
	of := func(g *group) *tally {
		t := threads[key(g.Thread)]
		if t == nil {
			t = &tally{}
			t.used, t.timed = used[g.Thread.OSID]
			t.timed = t.timed && !g.Thread.Virtual // the time is that of its carrier
			threads[key(g.Thread)] = t
		}
		return t
	}
	for i := range groups {
		switch g := &groups[i]; {
		case waits(&g.Sample):
		case g.Source == jfr.Execution:
			of(g).java += g.n
		case g.Source == jfr.NativeCode:
			of(g).native += g.n
		}
	}
	unit = unitOf(threads, cmp.Or(period, usualPeriod))
	most := 1.0
	for _, t := range threads {
		if t.native > 0 {
			most++
		}
	}
	for i := range groups {
		switch g := &groups[i]; {
		case g.Source == jfr.WallClock:
			g.wait = g.periods(unit)
		case waits(&g.Sample):
		case g.Source == jfr.CPUTime || g.Source == jfr.Accounted:
			g.weight = g.periods(unit)
		case of(g).idles(g, unit):
		case g.Source == jfr.Execution:
			g.weight = float64(g.n)
		default:
			g.weight = float64(g.n) * of(g).nativeWeight(unit, most)
		}
	}
	return unit
}

// periods returns for how many units the samples of a group stand.
func (g *group) periods(unit time.Duration) float64 {
	if g.period > 0 {
		return float64(g.period) / float64(unit)
	}
	return float64(g.n)
}

// waits reports whether the thread of a sample is known to wait.
func waits(s *jfr.Sample) bool {
	return s.Wait != jfr.Running || s.Source == jfr.NativeCode && s.Stack.WaitIn() != jfr.Running
}

// unitOf returns the processor time that a sample of Java code represents: more than the period if
// the JVM cannot sample all threads each time. It is computed from threads without native samples.
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

// nativeWeight returns the weight of each native sample of a thread: together they have the time
// that Java samples do not account for. The JVM samples one thread in native code at a time, so a
// weight is at most the number of such threads.
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

// idles reports whether a thread of a thread dump used next to no processor time: dumps show some
// threads as runnable that wait inside the JVM. The flight recorder distinguishes them itself; its
// frames have a kind.
func (t *tally) idles(g *group, unit time.Duration) bool {
	return g.Source == jfr.Execution && len(g.Stack.Frames) > 0 && g.Stack.Frames[0].Kind == jfr.UnknownKind && t.timed && float64(t.used) < idle*float64(t.java)*float64(unit)
}

// key identifies a thread, also a virtual one.
func key(t *jfr.Thread) int64 {
	if t.JavaID != 0 {
		return t.JavaID
	}
	return -1 - t.OSID
}

// WithoutHooks returns samples without the frames of Sonde's hooks and what those call.
func WithoutHooks(samples []jfr.Sample) []jfr.Sample {
	isHook := func(f jfr.Frame) bool {
		return f.IsJava() && agent.IsHookClass(f.Method.Class)
	}
	for i, s := range samples {
		if s.Stack == nil || !slices.ContainsFunc(s.Stack.Frames, isHook) {
			continue
		}
		stack := *s.Stack // samples share it
		for slices.ContainsFunc(stack.Frames, isHook) {
			stack.Frames = stack.Frames[1:]
		}
		samples[i].Stack = &stack
	}
	return samples
}

// passOn are prefixes of classes whose methods only pass a call on: to a lambda, a member
// or a method handle.
var passOn = []string{"java/lang/invoke/", "java/lang/reflect/", "jdk/internal/reflect/", "jdk/internal/vm/"}

// PassesOn reports whether nobody wrote the methods of a class, or they do nothing but call
// another.
func PassesOn(class string) bool {
	return strings.Contains(class, "$$Lambda") || callgraph.HasPrefix(class, passOn)
}
