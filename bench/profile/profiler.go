package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/bench/jfluid"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
	"github.com/sonde-jvm/sonde/internal/session"
)

// A profiler profiles a program for as long as the stay wants.
type profiler interface {
	name() string
	profile(ctx context.Context, pid int, s subject, stay stay) (*course, error)
}

// A stay keeps the profile running once no more hooks go in, or once the profiler stops
// waiting for that. woven is the time of the last change of hooks.
type stay func(ctx context.Context, woven time.Duration) error

// A course is how a profile went. Moments are those of the monotonic clock.
type course struct {
	began    time.Duration   // Sonde entered the program
	grew     []time.Duration // times at which hooks were added or removed
	woven    time.Duration   // the last time in grew before all hooks counted as in
	leaving  time.Duration   // removal of the hooks began
	gone     time.Duration
	settled  bool // false if hooks were still being added at the end
	hooks    int
	rounds   int
	pause    time.Duration // as the profiler reports it
	waited   time.Duration
	steady   float64 // the profiler's own figure of what hooks cost; 0 if it has none
	budget   float64
	rootSeen bool
}

// weaving are the times in which hooks went in or out after they seemed to be all
// in, with the time in which the program settles after each.
func (c *course) weaving(settle time.Duration) [][2]time.Duration {
	var all [][2]time.Duration
	for _, at := range c.grew {
		if at > c.woven {
			all = append(all, [2]time.Duration{at - notice, at + settle})
		}
	}
	return all
}

// Times of profiles.
const (
	quiet   = 2 * time.Second  // no hooks went in for so long: they are all in
	weaving = 40 * time.Second // how long that may take; JFluid has longer
	notice  = time.Second      // how long after it has begun a round may be noticed
)

func now() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // there always is one
	return time.Duration(t.Nano())
}

// nothing is the profiler that does none: what it seems to cost is noise.
type nothing struct{}

func (nothing) name() string { return "nothing" }

func (nothing) profile(ctx context.Context, _ int, _ subject, stay stay) (*course, error) {
	c := &course{began: now(), settled: true, rootSeen: true}
	select {
	case <-time.After(quiet):
		c.woven = now()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	err := stay(ctx, c.woven)
	c.leaving = now()
	c.gone = c.leaving
	return c, err
}

// sonde is ours.
type sonde struct {
	timing cct.Timing
	budget float64
	scheme profile.Scheme
}

func (s sonde) name() string { return "Sonde " + string(s.timing) }

func (s sonde) profile(ctx context.Context, pid int, target subject, stay stay) (*course, error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	w := &watcher{course: course{began: now()}}
	w.stay = func(woven time.Duration) {
		go func() {
			_ = stay(ctx, woven) // it ends early only with the context
			end()
		}()
	}
	// Where no root is called nothing settles, and somebody has to end it.
	late := time.AfterFunc(2*weaving, w.settle)
	defer late.Stop()
	result, err := profile.Run(ctx, profile.Options{
		PID: pid, Roots: target.patterns(), Into: []string{target.into}, Timing: s.timing, Budget: s.budget, Scheme: s.scheme,
		Settings: session.Settings{Command: "bench/profile"}, Progress: w.see,
	})
	if err != nil && (result == nil || !errors.Is(err, context.Canceled)) {
		return nil, err
	}
	c := w.left()
	c.hooks, c.rounds, c.pause, c.waited = result.Cost.Hooks, result.Cost.Rounds, result.Cost.Pause, result.Cost.Waited
	c.steady, c.budget = result.Cost.Steady, result.Cost.Budget
	c.rootSeen = result.Merged != nil && len(result.Merged.Children) > 0
	return c, nil
}

// A watcher follows a profile of ours, and says once when its hooks are in.
type watcher struct {
	lock   sync.Mutex
	course course
	rounds int
	hooks  int
	stay   func(woven time.Duration) // nil when it was called
}

func (w *watcher) see(p profile.Progress) {
	w.lock.Lock()
	defer w.lock.Unlock()
	c, at := &w.course, now()
	switch {
	case p.Stage == profile.Leaving && c.leaving == 0:
		c.leaving = at
	case p.Stage != profile.Running:
	case len(c.grew) == 0 || p.Rounds != w.rounds || p.Hooks != w.hooks:
		w.rounds, w.hooks = p.Rounds, p.Hooks
		c.grew = append(c.grew, at)
	case w.stay != nil && (at-c.grew[len(c.grew)-1] > quiet || at-c.began > weaving):
		c.woven = c.grew[len(c.grew)-1]
		c.settled = at-c.woven > quiet
		w.stay(c.woven)
		w.stay = nil
	}
}

// settle takes hooks to be in, whatever was seen.
func (w *watcher) settle() {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.stay != nil {
		w.course.woven = now()
		w.stay(w.course.woven)
		w.stay = nil
	}
}

// left is the course when the profile is over.
func (w *watcher) left() *course {
	w.lock.Lock()
	defer w.lock.Unlock()
	c := &w.course
	c.gone = now()
	if c.leaving == 0 {
		c.leaving = c.gone
	}
	if c.woven == 0 {
		c.woven = c.leaving
	}
	return c
}

// visualvm is JFluid.
type visualvm struct {
	engine *jfluid.Engine
	scheme jfluid.Scheme
}

func (v visualvm) name() string { return "JFluid " + string(v.scheme) }

// itsWeaving is how long its hooks may take to go in: it does that in hundreds of
// rounds.
const itsWeaving = 90 * time.Second

func (v visualvm) profile(ctx context.Context, pid int, target subject, stay stay) (*course, error) {
	began := now()
	result, err := v.engine.Profile(ctx, jfluid.Request{
		PID: pid, Roots: target.roots, Into: target.into, Scheme: v.scheme, Weaving: itsWeaving, Stay: stay,
	})
	if err != nil {
		return nil, err
	}
	c := &course{
		began: max(result.Began, began), woven: result.Woven - quiet, leaving: result.Fetched, gone: result.Gone, settled: result.Woven != 0,
		hooks: result.Hooks, rounds: result.Rounds, pause: result.HotSwap, rootSeen: len(result.Methods) > 0,
	}
	if !c.settled {
		c.woven = result.Measuring
	}
	return c, nil
}
