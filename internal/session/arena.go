package session

import (
	"context"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// An arenaGrower allocates more of an arena's file before the target has used it up. The
// target cannot wait: calls that find no room are counted without their times.
type arenaGrower struct {
	arena   *arena.Arena
	file    *targetfs.Arena
	ended   chan struct{}
	stopped sync.WaitGroup
	once    sync.Once
	lock    sync.Mutex
	full    error // why the arena cannot grow any more
}

const (
	growEvery = 20 * time.Millisecond
	headroom  = 4 << 20
	stepSize  = 8 << 20
)

func growArena(a *arena.Arena, file *targetfs.Arena) *arenaGrower {
	g := &arenaGrower{arena: a, file: file, ended: make(chan struct{})}
	g.stopped.Add(1)
	go g.run()
	return g
}

func (g *arenaGrower) run() {
	defer g.stopped.Done()
	tick := time.NewTicker(growEvery)
	defer tick.Stop()
	for {
		select {
		case <-g.ended:
			return
		case <-tick.C:
		}
		if !g.check() {
			return
		}
	}
}

// check allocates more where little is left. It reports whether the arena can still grow.
func (g *arenaGrower) check() bool {
	g.lock.Lock()
	defer g.lock.Unlock()
	used, limit := g.arena.Room()
	if limit-used >= headroom+used/4 || limit >= g.arena.Length() {
		return g.full == nil
	}
	return g.grow(limit + max(stepSize, used/2))
}

// provide allocates bytes that are about to be used at once, which may be more than the
// target needs meanwhile.
func (g *arenaGrower) provide(bytes int64) {
	g.lock.Lock()
	defer g.lock.Unlock()
	if used, limit := g.arena.Room(); g.full == nil && limit-used < bytes+headroom && limit < g.arena.Length() {
		g.grow(used + bytes + headroom)
	}
}

// grow is called with the lock held.
func (g *arenaGrower) grow(wanted int64) bool {
	if g.full = g.file.Grow(min(wanted, g.arena.Length())); g.full != nil {
		return false
	}
	g.arena.Raise(g.file.Allocated())
	return true
}

func (g *arenaGrower) stop() {
	g.once.Do(func() { close(g.ended) })
	g.stopped.Wait()
}

// Full returns why the arena cannot grow any more; nil while it can.
func (s *Session) Full() error {
	s.grower.lock.Lock()
	defer s.grower.lock.Unlock()
	return s.grower.full
}

// SetRings sets how many bytes a thread's ring of traced calls holds, and how many levels
// below their root calls are traced; 0 is without limit. Existing rings keep their size.
func (s *Session) SetRings(bytes, levels uint32) error { return s.arena.SetRings(bytes, levels) }

// Rings returns the rings into which threads write traced calls. Reading makes room, so
// there must be one reader.
func (s *Session) Rings() ([]*arena.Ring, error) { return s.arena.Rings() }

// Ringless returns how many calls were only counted because there was no room for a ring.
func (s *Session) Ringless() (uint64, error) { return s.arena.Ringless() }

// Discover makes hooks with arena.Discover wait for an answer at their first calls, at
// most for this long; with 0 none waits.
func (s *Session) Discover(wait time.Duration) error {
	if err := s.arena.MakeArrivals(); err != nil {
		return err
	}
	s.arena.SetWait(wait)
	return nil
}

// SetWait changes how long calls wait at most.
func (s *Session) SetWait(wait time.Duration) { s.arena.SetWait(wait) }

// Arrivals returns the calls that wait for an answer and have a higher ticket.
func (s *Session) Arrivals(after uint64) ([]arena.Arrival, error) { return s.arena.Arrivals(after) }

// Answer releases all calls that wait with a ticket up to this one.
func (s *Session) Answer(ticket uint64) { s.arena.Answer(ticket) }

// ArrivalsLost returns how many methods called by reflection could not be reported.
func (s *Session) ArrivalsLost() uint64 { return s.arena.ArrivalsLost() }

// Stacks returns the threads with their current calls, without their trees.
func (s *Session) Stacks() ([]arena.Thread, error) { return s.arena.Stacks() }

// Now returns the time of the target's clock.
func (s *Session) Now() int64 { return arena.Monotonic() + s.clock }

// ThreadNames returns the names of the live threads, by id.
func (s *Session) ThreadNames(ctx context.Context) (map[uint64]string, error) {
	named, err := s.peer.Threads(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	names := make(map[uint64]string, len(named))
	for _, t := range named {
		names[t.ID] = t.Name
	}
	return names, nil
}
