package hotspots

import (
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

// Filled tells for how long samples were taken, up to the length of the window.
func (w *Window) Filled(now time.Time) time.Duration {
	if w.began.IsZero() {
		return 0
	}
	return min(w.length, now.Sub(w.began))
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
