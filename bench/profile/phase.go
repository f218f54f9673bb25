package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// Lengths are how long the parts of a phase take.
type lengths struct {
	warm, before, measuring, settle, recovery time.Duration
}

// A figure is what one phase showed: the program without hooks, with them, and
// without them again.
type figure struct {
	course    *course
	slower    float64       // how many times, by the clock, with all hooks in
	windows   []float64     // the same by processor time, of single windows
	in        time.Duration // work lost until all hooks were in
	out       time.Duration // work lost from when they began to go out
	all       time.Duration // work lost from the beginning to the end, hooks included
	span      time.Duration // from the beginning to the end
	disturbed float64       // by how much the program and its twin drifted apart meanwhile
}

// A stand is a program with its twin, warm.
type stand struct {
	touched, twin *program
	lengths       lengths
	since         time.Duration // nobody touched the program since
}

func newStand(ctx context.Context, jdk jvmtest.JDK, s subject, classes string, l lengths, options ...string) (*stand, error) {
	touched, err := s.start(jdk, classes, options...)
	if err != nil {
		return nil, err
	}
	twin, err := s.start(jdk, classes, options...)
	if err != nil {
		touched.close()
		return nil, err
	}
	both := &stand{touched: touched, twin: twin, lengths: l}
	if err := both.warm(ctx); err != nil {
		both.close()
		return nil, err
	}
	both.since = now()
	return both, nil
}

// warm lets both run until each had enough processor time, however busy the
// machine is with other things.
func (s *stand) warm(ctx context.Context) error {
	const patience, look = 2 * time.Minute, 200 * time.Millisecond
	for limit := now() + s.lengths.warm + patience; now() < limit; {
		if s.touched.track().used() >= s.lengths.warm && s.twin.track().used() >= s.lengths.warm {
			return nil
		}
		if err := s.touched.run(ctx, look); err != nil {
			return err
		}
	}
	return errors.New("the program does not get the processor time to warm up: the machine is too busy")
}

func (s *stand) close() {
	s.touched.close()
	s.twin.close()
}

// phase lets the program run without hooks, profiles it, and lets it run again.
func (s *stand) phase(ctx context.Context, p profiler, target subject, measuring time.Duration) (*figure, error) {
	l := s.lengths
	if err := s.touched.run(ctx, l.before-min(l.before, now()-s.since)); err != nil {
		return nil, err
	}
	begin := now()
	c, err := p.profile(ctx, s.touched.pid(), target, l.settle+measuring)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name(), err)
	}
	if !c.rootSeen {
		return nil, fmt.Errorf("%s: it saw no call of the root", p.name())
	}
	if err := s.touched.run(ctx, l.recovery+l.before); err != nil {
		return nil, fmt.Errorf("after %s: %w", p.name(), err)
	}
	since := s.since
	s.since = c.gone + l.recovery
	return pair{s.touched.track(), s.twin.track()}.figure(c, since, begin, s.since, now(), l.settle)
}

// figure compares the time before, from since to begin, and the time after, from
// back to end, with what was between.
func (p pair) figure(c *course, since, begin, back, end, settle time.Duration) (*figure, error) {
	before, beforeCPU, err := p.part(since, begin)
	if err != nil {
		return nil, fmt.Errorf("before: %w", err)
	}
	after, afterCPU, err := p.part(back, end)
	if err != nil {
		return nil, fmt.Errorf("after: %w", err)
	}
	during, duringCPU, err := p.part(c.woven+settle, c.leaving)
	if err != nil {
		return nil, fmt.Errorf("with hooks: %w", err)
	}
	// What they differed by without hooks may drift: the mean holds in between.
	plain := (before + after) / 2
	f := &figure{course: c, slower: plain / during, disturbed: after/before - 1, span: back - c.began}
	parts := p.parts(c.woven+settle, c.leaving)
	if len(parts) == 0 { // no round is so short
		parts = append(parts, duringCPU)
	}
	for _, part := range parts {
		f.windows = append(f.windows, (beforeCPU+afterCPU)/2/part)
	}
	weaving, err := p.lost(c.began, c.woven, plain)
	if err != nil {
		return nil, err
	}
	settling, err := p.lost(c.woven, c.woven+settle, during)
	if err != nil {
		return nil, err
	}
	// What is missing while the program settles is counted in its own time, which
	// is slower with hooks.
	f.in = weaving + time.Duration(float64(settling)*during/plain)
	if f.out, err = p.lost(c.leaving, back, plain); err != nil {
		return nil, err
	}
	if f.all, err = p.lost(c.began, back, plain); err != nil {
		return nil, err
	}
	return f, nil
}
