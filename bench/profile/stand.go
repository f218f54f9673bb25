package main

import (
	"context"
	"fmt"
	"time"
)

// Lengths are how long the parts of a phase take.
type lengths struct {
	warm      time.Duration // processor time each program has at least before its first phase
	warmest   time.Duration // how long they are waited for to become steady
	before    time.Duration // without hooks, before and after
	settle    time.Duration // with all hooks in, before that counts
	measuring time.Duration
	recovery  time.Duration // after hooks went out, at least before that counts
	patience  time.Duration // how long a whole round is waited for in each part, and recovery
}

// A stand is a program with its twin, side by side, warm.
type stand struct {
	touched, twin *program
	lengths       lengths
	warmed        string
	since         time.Duration // nobody touched the program since
}

// newStand starts both and warms them up, after the one was profiled where it is to be again.
func newStand(ctx context.Context, b bed, l lengths, options ...string) (*stand, error) {
	touched, err := b.subject.start(b.jdk, b.classes, options...)
	if err != nil {
		return nil, err
	}
	twin, err := b.subject.start(b.jdk, b.classes, options...)
	if err != nil {
		touched.close()
		return nil, err
	}
	both := &stand{touched: touched, twin: twin, lengths: l}
	if b.options.together {
		err = both.shareProcessor(ctx)
	}
	if b.options.again && err == nil {
		leave := func(context.Context, time.Duration) error { return nil }
		_, err = b.options.auto().profile(ctx, touched.pid(), b.subject, leave)
	}
	if err == nil {
		err = both.warm(ctx)
	}
	if err != nil {
		both.close()
		return nil, err
	}
	both.since = now()
	return both, nil
}

func (s *stand) close() {
	s.touched.close()
	s.twin.close()
}

func (s *stand) pair() pair { return pair{s.touched.track(), s.twin.track()} }

// wait lets both run until a moment, and on until each has ended a whole round
// since another, but not for longer than there is patience.
func (s *stand) wait(ctx context.Context, from, until time.Duration) error {
	const look = 100 * time.Millisecond
	for {
		at := now()
		if p := s.pair(); at >= until && (at >= until+s.lengths.patience || len(p.touched.ends(from, at)) > 1 && len(p.twin.ends(from, at)) > 1) {
			return nil
		}
		if err := s.touched.run(ctx, look); err != nil {
			return err
		}
		if err := s.twin.run(ctx, 0); err != nil {
			return fmt.Errorf("twin: %w", err)
		}
	}
}

// recover waits until the program goes at its old pace again, for the processor
// time it has, and says since when. What it has lost until then is the profiler's
// doing; a program that does not recover is taken as it is.
func (s *stand) recover(ctx context.Context, gone, since, begin time.Duration) (time.Duration, error) {
	const look, enough = 2 * time.Second, 0.95
	before, err := s.pair().share(since, begin)
	if err != nil {
		return 0, fmt.Errorf("before: %w", err)
	}
	for back := gone + s.lengths.recovery; ; {
		if err := s.wait(ctx, back, back+look); err != nil {
			return 0, err
		}
		after, err := s.pair().share(back, now())
		if err == nil && after.cpu >= enough*before.cpu || now() > gone+s.lengths.recovery+s.lengths.patience {
			return back, nil
		}
		back = now()
	}
}

// phase profiles the program for as long as single figures need.
func (s *stand) phase(ctx context.Context, p profiler, target subject) (*figure, error) {
	return s.profiled(ctx, p, target, time.Second, func(time.Duration) stay {
		return func(ctx context.Context, woven time.Duration) error {
			if woven == 0 {
				woven = now()
			}
			from := woven + s.lengths.settle
			return s.wait(ctx, from, from+s.lengths.measuring)
		}
	})
}

// long has a profiler stay so long, from when it came.
func (s *stand) long(ctx context.Context, p profiler, target subject, length time.Duration) (*figure, error) {
	const windows = 20
	return s.profiled(ctx, p, target, length/windows, func(began time.Duration) stay {
		return func(ctx context.Context, _ time.Duration) error {
			return s.touched.run(ctx, max(began+length-now(), 0))
		}
	})
}

// profiled lets the program run without hooks, profiles it, and lets it run again.
func (s *stand) profiled(ctx context.Context, p profiler, target subject, window time.Duration, from func(began time.Duration) stay) (*figure, error) {
	l := s.lengths
	if err := s.wait(ctx, s.since, s.since+l.before); err != nil {
		return nil, err
	}
	begin := now()
	c, err := p.profile(ctx, s.touched.pid(), target, from(begin))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name(), err)
	}
	if !c.rootSeen {
		return nil, fmt.Errorf("%s: it saw no call of the root", p.name())
	}
	back, err := s.recover(ctx, c.gone, s.since, begin)
	if err != nil {
		return nil, fmt.Errorf("after %s: %w", p.name(), err)
	}
	if err := s.wait(ctx, back, back+l.before); err != nil {
		return nil, fmt.Errorf("after %s: %w", p.name(), err)
	}
	since := s.since
	s.since = back
	f, err := s.pair().figure(c, plan{since: since, begin: begin, back: back, end: now(), settle: l.settle, window: window})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name(), err)
	}
	f.warm = s.warmed
	return f, nil
}
