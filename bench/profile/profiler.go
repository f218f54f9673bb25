package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/bench/jfluid"
	"github.com/sonde-jvm/sonde/internal/cct"
	"github.com/sonde-jvm/sonde/internal/profile"
)

// A profiler profiles a program until it has measured for a time with all hooks in.
type profiler interface {
	name() string
	profile(ctx context.Context, pid int, s subject, measuring time.Duration) (*course, error)
}

// A course is how a profile went. Moments are those of the monotonic clock.
type course struct {
	began    time.Duration // it entered the program
	woven    time.Duration // the last hooks had gone in
	leaving  time.Duration // it began to take them out
	gone     time.Duration
	settled  bool // false if hooks never ceased to go in
	hooks    int
	rounds   int
	pause    time.Duration // as the profiler tells it
	waited   time.Duration
	steady   float64 // its own account of what hooks take; 0 where it keeps none
	budget   float64
	rootSeen bool
}

// quiet is how long no hooks go in before they are taken to be all in, and weaving
// how long that may take.
const (
	quiet   = 2 * time.Second
	weaving = 40 * time.Second
)

func now() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // there always is one
	return time.Duration(t.Nano())
}

// sonde is ours.
type sonde struct {
	timing cct.Timing
	budget float64
	scheme profile.Scheme
}

func (s sonde) name() string { return "Sonde " + string(s.timing) }

func (s sonde) profile(ctx context.Context, pid int, target subject, measuring time.Duration) (*course, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &course{began: now()}
	var lock sync.Mutex
	rounds, grew := 0, time.Duration(0)
	watch := func(p profile.Progress) {
		lock.Lock()
		defer lock.Unlock()
		switch at := now(); {
		case p.Stage == profile.Leaving && c.leaving == 0:
			c.leaving = at
		case p.Stage == profile.Running && (grew == 0 || p.Rounds != rounds):
			rounds, grew = p.Rounds, at
		case p.Stage != profile.Running:
		case !c.settled && (at-grew > quiet || at-c.began > weaving):
			c.settled, c.woven = at-grew > quiet, grew
			time.AfterFunc(measuring, cancel)
		}
	}
	result, err := profile.Run(ctx, profile.Options{
		PID: pid, Roots: target.patterns(), Into: []string{target.into}, Timing: s.timing, Budget: s.budget, Scheme: s.scheme,
		Duration: weaving + measuring, Command: "bench/profile", Progress: watch,
	})
	if err != nil && (result == nil || !errors.Is(err, context.Canceled)) {
		return nil, err
	}
	lock.Lock()
	defer lock.Unlock()
	c.gone = now()
	if c.woven == 0 {
		c.woven = grew
	}
	if c.leaving == 0 {
		c.leaving = c.gone
	}
	c.hooks, c.rounds, c.pause, c.waited = result.Cost.Hooks, result.Cost.Rounds, result.Cost.Pause, result.Cost.Waited
	c.steady, c.budget = result.Cost.Steady, result.Cost.Budget
	c.rootSeen = result.Merged != nil && len(result.Merged.Children) > 0
	return c, nil
}

// visualvm is JFluid.
type visualvm struct {
	engine *jfluid.Engine
	scheme jfluid.Scheme
}

func (v visualvm) name() string { return "JFluid " + string(v.scheme) }

func (v visualvm) profile(ctx context.Context, pid int, target subject, measuring time.Duration) (*course, error) {
	result, err := v.engine.Profile(ctx, jfluid.Request{
		PID: pid, Roots: target.roots, Into: target.into, Scheme: v.scheme, Duration: measuring, Weaving: weaving,
	})
	if err != nil {
		return nil, err
	}
	c := &course{
		began: result.Began, woven: result.Woven - quiet, leaving: result.Fetched, gone: result.Gone, settled: result.Woven != 0,
		hooks: result.Hooks, rounds: result.Rounds, pause: result.HotSwap, rootSeen: len(result.Methods) > 0,
	}
	if !c.settled {
		c.woven = result.Fetched - measuring
	}
	return c, nil
}
