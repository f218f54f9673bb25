package profile

import (
	"context"
	"errors"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

const (
	serveEvery     = 400 * time.Microsecond // a call of the program may wait for it
	lookEvery      = 50 * time.Millisecond
	reportEvery    = 250 * time.Millisecond
	calibrateEvery = 5 * time.Second
	governEvery    = 250 * time.Millisecond
)

// errLeft says that the session ended by itself; the session says why.
var errLeft = errors.New("the session has ended")

// watch serves the calls that wait until the run is to end.
func (r *run) watch(ctx context.Context) error {
	serve, look := time.NewTicker(serveEvery), time.NewTicker(lookEvery)
	defer serve.Stop()
	defer look.Stop()
	var end <-chan time.Time
	if r.Duration > 0 {
		timer := time.NewTimer(r.Duration)
		defer timer.Stop()
		end = timer.C
	}
	chores := r.chores()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.session.Done():
			return errLeft
		case <-end:
			return nil
		case <-serve.C:
			if _, err := r.serve(ctx); err != nil {
				return err
			}
		case now := <-look.C:
			if r.Calls > 0 && r.rootCalls() >= r.Calls {
				return nil
			}
			for i := range chores {
				if err := chores[i].doWhenDue(ctx, now); err != nil {
					return err
				}
			}
		}
	}
}

// A chore is something done every now and then, more seldom the longer it takes:
// trees of a large program take long to read.
type chore struct {
	every time.Duration
	next  time.Time
	do    func(context.Context) error
}

// restFor is how many times as long as it took a chore rests.
const restFor = 20

func (c *chore) doWhenDue(ctx context.Context, now time.Time) error {
	if now.Before(c.next) {
		return nil
	}
	began := time.Now()
	err := c.do(ctx)
	c.next = now.Add(max(c.every, restFor*time.Since(began)))
	return err
}

func (r *run) chores() []chore {
	now := time.Now()
	chores := []chore{
		{reportEvery, now.Add(reportEvery), func(context.Context) error { r.report(); return nil }},
		{calibrateEvery, now.Add(calibrateEvery), func(ctx context.Context) error { return r.scales.measure(ctx, r) }},
	}
	if r.budget != nil || !r.Whole {
		chores = append(chores, chore{governEvery, now, r.settler.look})
	}
	if r.budget != nil {
		chores = append(chores, chore{governEvery, now, r.budget.govern})
	}
	return chores
}

// rootCalls is how many calls of roots have ended, whatever the context.
func (r *run) rootCalls() uint64 {
	sum, err := r.session.Sum()
	if err != nil {
		return 0
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	var calls uint64
	for m := range r.roots {
		if t := sum.Methods[r.session.ID(m.Class, m.Name, m.Descriptor)]; t != nil {
			calls += t.Calls - min(t.Calls, t.Active)
		}
	}
	return calls
}

func (r *run) enter(stage Stage) {
	r.lock.Lock()
	r.stage = stage
	r.lock.Unlock()
	r.report()
}

// report tells how far the run has come.
func (r *run) report() {
	if r.Progress == nil {
		return
	}
	r.lock.Lock()
	p := Progress{Stage: r.stage, Mirrored: r.mirrored, Steady: -1}
	r.lock.Unlock()
	if !r.began.IsZero() {
		p.Elapsed = time.Since(r.began)
	}
	if r.session != nil {
		p.Hooks, p.Classes, p.Rounds = len(r.session.Methods()), r.session.Classes(), r.ledger.rounds()
		weavings := r.session.Weavings()
		p.Woven, p.Cached = weavings.Woven, weavings.Cached
		r.ledger.lock.Lock()
		p.Pause = r.ledger.pause
		r.ledger.lock.Unlock()
	}
	if p.Stage == Running || p.Stage == Waiting {
		if threads, err := r.session.Threads(); err == nil {
			p.RootCalls, p.Waited, p.Steady = r.callsIn(threads), taken(threads), r.steady(threads)
			if p.Stage == Waiting && p.RootCalls > 0 {
				p.Stage = Running
			}
		}
		p.Tree = func() (*cct.Profile, error) { return r.result(context.Background()) }
	}
	if r.budget != nil {
		p.Budget = r.Budget
	}
	r.Progress(p)
}

func (r *run) callsIn(threads []arena.Thread) uint64 {
	r.lock.Lock()
	ids := make(map[uint32]bool, len(r.roots))
	for m := range r.roots {
		ids[r.session.ID(m.Class, m.Name, m.Descriptor)] = true
	}
	r.lock.Unlock()
	var calls uint64
	for _, t := range threads {
		for _, n := range t.Nodes {
			if ids[n.ID] {
				calls += n.Calls
			}
		}
	}
	return calls
}
