// Package hotspots computes from samples where a program spends its time: by method, by
// thread and by stack, over a window of time. It does no I/O.
//
// A sample of Java code counts one. Samples of native code are also taken of threads that
// wait there, and at another rate: methods that are known to wait do not count, and the
// others share the processor time that their thread used beyond its samples of Java code.
// If that time is not known they count one each.
package hotspots

import (
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// lag is how late the JVM may tell of a sample: it writes once a second.
const lag = 2 * time.Second

// A Window keeps the samples of the last while.
type Window struct {
	length   time.Duration
	period   time.Duration
	began    time.Time
	newest   time.Time
	samples  []jfr.Sample
	readings []reading
}

// A reading is the processor time of each thread since it began.
type reading struct {
	at    time.Time
	times map[int64]time.Duration
}

// NewWindow makes a window of a length.
func NewWindow(length time.Duration) *Window { return &Window{length: length} }

// Add takes what came by a moment: samples of which each stands for a period, and
// the processor time of each thread so far, by its number for the JVM; nil where
// that is not known.
func (w *Window) Add(at time.Time, samples []jfr.Sample, period time.Duration, times map[int64]time.Duration) {
	if w.began.IsZero() {
		w.began = at
	}
	w.period = period
	for _, s := range samples {
		if s.Stack == nil || len(s.Stack.Frames) == 0 || s.Thread == nil {
			continue // it says nothing
		}
		w.samples = append(w.samples, s)
		if s.At.Before(w.began) {
			w.began = s.At
		}
		if s.At.After(w.newest) {
			w.newest = s.At
		}
	}
	if times != nil {
		w.readings = append(w.readings, reading{at, times})
	}
	w.forget(at)
}

// forget drops what no table will ask for.
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
	// The last reading before the oldest sample is where its time begins.
	first := 0
	for first+1 < len(w.readings) && !w.readings[first+1].at.After(oldest) {
		first++
	}
	w.readings = append(w.readings[:0], w.readings[first:]...)
}

// bounds is the span a table at a moment is about: as late as samples have come.
func (w *Window) bounds(now time.Time) (from, to time.Time) {
	to = now.Add(-lag)
	if w.newest.After(to) {
		to = w.newest
	}
	from = to.Add(-w.length)
	if from.Before(w.began) {
		from = w.began.Add(-1) // samples of that very moment are in it
	}
	return from, to
}

// used is the processor time of each thread between two moments, as far as
// readings reach; nil where there are not two.
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
	// Readings are where they are: a thread's time is scaled to the span asked for.
	span := float64(to.Sub(from)) / float64(end.at.Sub(begin.at))
	used := make(map[int64]time.Duration, len(end.times))
	for thread, after := range end.times {
		used[thread] = time.Duration(float64(max(0, after-begin.times[thread])) * span)
	}
	return used
}

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

// waits are native methods in which threads wait, whatever else they do: for
// events, connections, other threads, processes. What may as well work, as
// reading does, is not here: processor time tells.
var waits = map[string][]string{
	"java/lang/Object":                        {"wait", "wait0"},
	"java/lang/Thread":                        {"sleep", "sleep0", "sleepNanos0", "yield0"},
	"java/lang/ref/Reference":                 {"waitForReferencePendingList"},
	"java/lang/ProcessHandleImpl":             {"waitForProcessExit0"},
	"java/lang/UNIXProcess":                   {"waitForProcessExit"},
	"java/net/PlainSocketImpl":                {"socketAccept"},
	"java/net/PlainDatagramSocketImpl":        {"receive0", "peekData"},
	"jdk/internal/misc/Unsafe":                {"park"},
	"sun/misc/Unsafe":                         {"park"},
	"sun/nio/ch/EPoll":                        {"wait"},
	"sun/nio/ch/EPollArrayWrapper":            {"epollWait"},
	"sun/nio/ch/EPollPort":                    {"epollWait"},
	"sun/nio/ch/Net":                          {"poll", "accept", "pollConnect"},
	"sun/nio/ch/ServerSocketChannelImpl":      {"accept0"},
	"sun/nio/fs/LinuxWatchService":            {"poll"},
	"io/netty/channel/epoll/Native":           {"epollWait", "epollWait0", "epollBusyWait0"},
	"io/netty/channel/uring/Native":           {"ioUringEnter"},
	"io/netty/incubator/channel/uring/Native": {"ioUringEnter"},
}

// IsWait tells whether a method is known to wait. Shaded copies of a library
// count as the library.
func IsWait(m *jfr.Method) bool {
	if m == nil {
		return false
	}
	for _, name := range waits[m.Class] {
		if m.Name == name {
			return true
		}
	}
	if at := strings.Index(m.Class, "/io/netty/"); at >= 0 {
		return IsWait(&jfr.Method{Class: m.Class[at+1:], Name: m.Name})
	}
	return false
}
