package rootcause

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/session"
)

const (
	pollEvery   = 500 * time.Millisecond // the JVM writes once a second
	reportEvery = 250 * time.Millisecond
	// unbounded is a window's length that no look reaches: looks follow one another.
	unbounded = 24 * time.Hour
	// cooled is the part of what made a method hot below which it surely is not any
	// more.
	cooled = 0.5
	// fewSamples say little of what is hot: a program that runs now and then is looked
	// at for longer, up to so many times as long.
	fewSamples = 100
	longLook   = 4
)

// pause lets time pass, in which samples are read and progress is told.
func (w *walker) pause(ctx context.Context, long time.Duration) error {
	end := time.Now().Add(long)
	for {
		left := time.Until(end)
		if left <= 0 {
			return ctx.Err()
		}
		timer := time.NewTimer(min(left, reportEvery))
		var done <-chan struct{}
		if w.session != nil {
			done = w.session.Done()
		}
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-done:
			timer.Stop()
			return w.session.Err()
		case <-timer.C:
		}
		if time.Since(w.polled) >= pollEvery {
			if err := w.poll(ctx); err != nil {
				return err
			}
		}
		if time.Since(w.reported) >= reportEvery {
			w.report()
		}
	}
}

// poll reads the samples that have come.
func (w *walker) poll(ctx context.Context) error {
	w.polled = time.Now()
	batch, err := w.sampler.Poll(ctx)
	if err != nil {
		if errors.Is(err, sampler.ErrEnded) && w.session != nil {
			return session.ErrExited
		}
		return err
	}
	for _, note := range batch.Notes {
		if !slices.Contains(w.notes, note) {
			w.notes = append(w.notes, note)
		}
	}
	w.times = batch
	samples := slices.DeleteFunc(batch.Samples, func(s flightSample) bool { return s.At.Before(w.looked) })
	w.window.Add(batch.At, samples, batch.Period, batch.Times)
	for _, s := range samples {
		if s.Stack != nil {
			w.calls.add(s.Stack)
		}
	}
	// A look is as long as the first: hot spots come and go.
	if w.stage != Sampling && !w.settling && time.Since(w.looked) >= w.Sampling {
		w.look()
	}
	return nil
}

// startLook begins to count samples anew. What processor time threads have had until
// now goes along: without it nothing tells threads that wait in native code.
func (w *walker) startLook() {
	w.window, w.looked = hotspots.NewWindow(unbounded), time.Now()
	if w.times.Times != nil {
		w.window.Add(w.times.At, nil, w.times.Period, w.times.Times)
	}
}

// look takes in what samples have said since the last look: which spots are hot, and
// which ways lead there. Only the first look takes spots that are not hot by
// themselves.
func (w *walker) look() {
	t := tallyOf(w.window.Table(time.Now()))
	if t.count == 0 || t.count < fewSamples && len(w.spots) > 0 {
		if time.Since(w.looked) > longLook*w.Sampling {
			w.startLook() // the program idles
		}
		return // what they say is heard with the next
	}
	w.sampled += time.Since(w.looked)
	w.samples += t.count
	w.startLook()
	first, joins := len(w.spots) == 0, w.mayJoin()
	few := 0
	if first {
		few = w.Top
	}
	for _, m := range t.hottest(w.Hot, few) {
		share := t.share(m)
		if (first || joins && share.Low >= w.Hot) && w.spotAt(m) == nil {
			w.spots = append(w.spots, &spot{top: newWay(m), share: share, from: w.elapsed(), floor: min(w.Hot, share.Part) * cooled})
		}
	}
	for _, s := range w.spots {
		share := t.share(s.top.method)
		switch {
		case !s.isHot():
		case s.cools(share, t.count):
			s.until = w.elapsed()
		default:
			t.feed(s)
		}
	}
}

// mayJoin reports whether a spot that is hot now may join: not in a walk that ends
// with its first climb, and not while compilers still have to do with what Sonde
// redefined, as code that waits for them is slow.
func (w *walker) mayJoin() bool {
	if w.Duration == 0 || w.session == nil {
		return false
	}
	now, err := w.session.Read()
	if err != nil {
		return false
	}
	since := w.last.Until(now)
	w.last = now
	return since.Elapsed > 0 && since.CompilersIdle()
}

// spotAt is the spot at a method that is hot, or whose ways are known.
func (w *walker) spotAt(m method) *spot {
	for _, s := range w.spots {
		if s.top.method == m {
			s.until = 0 // it may have cooled down before
			return s
		}
	}
	return nil
}
