package main

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// A profiler profiles a program for as long as the stay wants.
type profiler interface {
	name() string
	profile(ctx context.Context, pid int, s subject, stay stay) (*course, error)
}

// A stay is waited for when hooks have ceased to go in, or do not; it is told when
// they had.
type stay func(ctx context.Context, woven time.Duration) error

// A course is how a profile went. Moments are those of the monotonic clock.
type course struct {
	began    time.Duration   // it entered the program
	grew     []time.Duration // hooks had gone in, or out again
	woven    time.Duration   // the last of those, before hooks were taken to be all in
	leaving  time.Duration   // it began to take them out
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
