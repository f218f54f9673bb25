package main

import (
	"fmt"
	"math"
	"time"
)

// A pair is a program and its twin, which nobody touches: what it does meanwhile
// tells how fast the machine is.
type pair struct {
	touched, twin track
}

// A share is what the touched program did of what its twin did in the same time.
type share struct {
	wall float64 // by the clock
	cpu  float64 // for the same processor time
}

// share takes whole rounds.
func (p pair) share(from, until time.Duration) (share, error) {
	return p.compare(track.pace, from, until)
}

// cut takes what was done between two moments, of rounds too that had not ended.
func (p pair) cut(from, until time.Duration) (share, error) { return p.compare(track.cut, from, until) }

func (p pair) compare(by func(track, time.Duration, time.Duration) (pace, error), from, until time.Duration) (share, error) {
	touched, err := by(p.touched, from, until)
	if err != nil {
		return share{}, err
	}
	twin, err := by(p.twin, from, until)
	if err != nil {
		return share{}, err
	}
	if twin.wall == 0 || twin.cpu == 0 {
		return share{}, errNoSamples
	}
	return share{touched.wall / twin.wall, touched.cpu / twin.cpu}, nil
}

// shares are those of single windows, outside of times that do not count.
func (p pair) shares(from, until, length time.Duration, without [][2]time.Duration) []share {
	var all []share
	for _, w := range p.touched.windows(from, until, length) {
		counts := true
		for _, not := range without {
			counts = counts && (w[1] <= not[0] || w[0] >= not[1])
		}
		if s, err := p.share(w[0], w[1]); err == nil && counts && !math.IsNaN(s.cpu) {
			all = append(all, s)
		}
	}
	return all
}

// lost is the work, in time of the untouched program, that is missing between two
// moments if a share of its twin's was to be expected.
func (p pair) lost(from, until time.Duration, expected float64) (time.Duration, error) {
	if until <= from {
		return 0, nil
	}
	s, err := p.cut(from, until)
	return time.Duration((1 - s.wall/expected) * float64(until-from)), err
}

// A figure is what one phase showed: the program without hooks, with them, and
// without them again.
type figure struct {
	course  *course
	warm    string        // how the programs were warmed, before
	slower  float64       // how many times, by the clock, with all hooks in
	windows []float64     // the same by processor time, of single windows
	rough   bool          // no whole round ended while all hooks were in
	in      time.Duration // work lost until all hooks were in
	out     time.Duration // work lost from when they began to go out
	all     time.Duration // work lost from the beginning to the end, hooks included
	allCPU  float64       // the part of its work lost from the beginning to the end, for the same processor time
	span    time.Duration // from when the profiler came to when it had gone
	drift   share         // by how much the program and its twin drifted apart meanwhile, without hooks
}

// A plan is when a phase had which part.
type plan struct {
	since, begin time.Duration // without hooks, before
	back, end    time.Duration // and after
	settle       time.Duration // after hooks went in that does not count yet
	window       time.Duration
}

// figure compares the time before and the time after with what was between.
func (p pair) figure(c *course, l plan) (*figure, error) {
	before, err := p.share(l.since, l.begin)
	if err != nil {
		return nil, fmt.Errorf("before: %w", err)
	}
	after, err := p.share(l.back, l.end)
	if err != nil {
		return nil, fmt.Errorf("after: %w", err)
	}
	// What they differed by without hooks may drift: the mean holds in between. Of a
	// program that has not recovered only the time before tells.
	const recovered = 0.9
	plain := before
	if after.cpu >= recovered*before.cpu {
		plain = share{(before.wall + after.wall) / 2, (before.cpu + after.cpu) / 2}
	}
	f := &figure{
		course: c, span: c.gone - c.began,
		drift: share{after.wall/before.wall - 1, after.cpu/before.cpu - 1},
	}
	woven := min(c.woven+l.settle, c.leaving)
	during, err := p.share(woven, c.leaving)
	if err != nil {
		f.rough = true
		if during, err = p.cut(woven, c.leaving); err != nil {
			return nil, fmt.Errorf("with hooks: %w", err)
		}
	}
	f.slower = plain.wall / during.wall
	shares := p.shares(woven, c.leaving, l.window, c.weaving(l.settle))
	if len(shares) == 0 { // no round is so short
		shares = append(shares, during)
	}
	for _, s := range shares {
		f.windows = append(f.windows, plain.cpu/s.cpu)
	}
	return f, p.losses(f, c, l, plain, during, woven)
}

func (p pair) losses(f *figure, c *course, l plan, plain, during share, woven time.Duration) error {
	weaving, err := p.lost(c.began, c.woven, plain.wall)
	if err != nil {
		return err
	}
	settling, err := p.lost(c.woven, woven, during.wall)
	if err != nil {
		return err
	}
	// What is missing while the program settles is counted in its own time, which
	// is slower with hooks.
	f.in = weaving + time.Duration(float64(settling)*during.wall/plain.wall)
	if f.out, err = p.lost(c.leaving, l.back, plain.wall); err != nil {
		return err
	}
	if f.all, err = p.lost(c.began, l.back, plain.wall); err != nil {
		return err
	}
	whole, err := p.cut(c.began, l.back)
	f.allCPU = (1 - whole.cpu/plain.cpu) * float64(l.back-c.began) / float64(f.span)
	return err
}
