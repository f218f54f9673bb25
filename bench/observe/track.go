package main

import (
	"context"
	"sync"
	"time"
)

// every is how often programs are asked how far they are, and window how much of their
// processor time the pieces have in which speeds are compared.
const (
	every  = 200 * time.Millisecond
	window = time.Second
)

// A reading is both programs' progress at a moment.
type reading struct {
	at            time.Time
	touched, twin progress
}

// A pair is a program and its twin, which nobody touches: what it does meanwhile tells
// how fast the machine is.
type pair struct {
	touched, twin *program
	stop          context.CancelFunc
	stopped       chan struct{}

	lock  sync.Mutex
	track []reading
	err   error
}

func startPair(ctx context.Context, start starter, folder string) (*pair, error) {
	var both [2]*program
	for i, name := range []string{"touched", "twin"} {
		place, err := placeFor(folder, name)
		if err == nil {
			both[i], err = start(place)
		}
		if err != nil {
			if both[0] != nil {
				both[0].close()
			}
			return nil, err
		}
	}
	ctx, stop := context.WithCancel(ctx)
	p := &pair{touched: both[0], twin: both[1], stop: stop, stopped: make(chan struct{})}
	go p.follow(ctx)
	return p, nil
}

// follow asks both programs, again and again.
func (p *pair) follow(ctx context.Context) {
	defer close(p.stopped)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		r := reading{at: time.Now()}
		var err error
		if r.touched, err = p.touched.progress(); err == nil {
			r.twin, err = p.twin.progress()
		}
		p.lock.Lock()
		p.err = err
		if err == nil {
			p.track = append(p.track, r)
		}
		p.lock.Unlock()
		if err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// run lets both run until each has had so much processor time more, however busy the
// machine is, and gives when that was.
func (p *pair) run(ctx context.Context, used time.Duration) (from, until time.Time, err error) {
	from = time.Now()
	var first *reading
	for {
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return from, time.Now(), ctx.Err()
		case <-p.stopped:
			p.lock.Lock()
			defer p.lock.Unlock()
			return from, time.Now(), p.err
		}
		p.lock.Lock()
		last := p.track[max(0, len(p.track)-1):]
		p.lock.Unlock()
		switch {
		case len(last) == 0 || last[0].at.Before(from):
		case first == nil:
			first = &last[0]
		case last[0].touched.cpu-first.touched.cpu >= used && last[0].twin.cpu-first.twin.cpu >= used:
			return from, time.Now(), nil
		}
	}
}

// shares are what the touched program did of what its twin did, each for the same
// processor time, in the windows between two moments.
func (p *pair) shares(from, until time.Time) []float64 {
	p.lock.Lock()
	defer p.lock.Unlock()
	return sharesOf(p.track, from, until)
}

func sharesOf(track []reading, from, until time.Time) (shares []float64) {
	var begin *reading
	for i := range track {
		r := &track[i]
		if r.at.Before(from) || r.at.After(until) {
			continue
		}
		if begin == nil {
			begin = r
			continue
		}
		touched, twin := r.touched.cpu-begin.touched.cpu, r.twin.cpu-begin.twin.cpu
		if min(touched, twin) < window {
			continue
		}
		did, twinDid := (r.touched.done-begin.touched.done)/touched.Seconds(), (r.twin.done-begin.twin.done)/twin.Seconds()
		if twinDid > 0 {
			shares = append(shares, did/twinDid)
		}
		begin = r
	}
	return shares
}

func (p *pair) close() {
	p.stop()
	<-p.stopped
	p.touched.close()
	p.twin.close()
}
