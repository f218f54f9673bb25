// Package twin runs a program beside an untouched twin: what the twin does meanwhile
// tells how fast the machine is.
package twin

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Every is how often programs are asked how far they are.
const Every = 200 * time.Millisecond

// A Progress is how far a program is.
type Progress struct {
	Done float64 // operations
	CPU  time.Duration
}

// A Program is one of the two.
type Program interface {
	Progress() (Progress, error)
	Close()
}

// A Reading is both programs' progress at a moment.
type Reading struct {
	At            time.Time
	Touched, Twin Progress
}

// A Pair is a program and its twin, both followed until Close.
type Pair[P Program] struct {
	Touched, Twin P

	stop    context.CancelFunc
	stopped chan struct{}

	lock  sync.Mutex
	track Track
	err   error
}

// Start starts both, the touched one first.
func Start[P Program](ctx context.Context, start func(name string) (P, error)) (*Pair[P], error) {
	touched, err := start("touched")
	if err != nil {
		return nil, err
	}
	twin, err := start("twin")
	if err != nil {
		touched.Close()
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	p := &Pair[P]{Touched: touched, Twin: twin, stop: stop, stopped: make(chan struct{})}
	go p.follow(ctx)
	return p, nil
}

// follow asks both programs, again and again.
func (p *Pair[P]) follow(ctx context.Context) {
	defer close(p.stopped)
	ticker := time.NewTicker(Every)
	defer ticker.Stop()
	for {
		r := Reading{At: time.Now()}
		var err error
		if r.Touched, err = p.Touched.Progress(); err == nil {
			r.Twin, err = p.Twin.Progress()
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

// Seen is what was read so far.
func (p *Pair[P]) Seen() (Track, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.track[:len(p.track):len(p.track)], p.err
}

// last is the newest reading; the zero one where there is none yet.
func (p *Pair[P]) last() (Reading, error) {
	track, err := p.Seen()
	if err != nil || len(track) == 0 {
		return Reading{}, err
	}
	return track[len(track)-1], nil
}

var errStopped = errors.New("the programs are followed no more")

// Run lets both run until each has had so much processor time more, however busy the
// machine is, and gives when that was.
func (p *Pair[P]) Run(ctx context.Context, used time.Duration) (Span, error) {
	s := Span{From: time.Now()}
	first, err := p.last()
	for now := first; err == nil; now, err = p.last() {
		switch {
		case first.At.Before(s.From):
			first = now // what was read before it began does not count
		case now.Touched.CPU-first.Touched.CPU >= used && now.Twin.CPU-first.Twin.CPU >= used:
			s.Until = time.Now()
			return s, nil
		}
		select {
		case <-time.After(Every):
		case <-p.stopped:
			if _, err := p.Seen(); err != nil {
				return s, err
			}
			return s, errStopped
		case <-ctx.Done():
			return s, ctx.Err()
		}
	}
	return s, err
}

// Close ends both.
func (p *Pair[P]) Close() {
	p.stop()
	<-p.stopped
	p.Touched.Close()
	p.Twin.Close()
}
