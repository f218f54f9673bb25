package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
)

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
		Command: "bench/profile", Progress: w.see,
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
