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
	cancel  context.CancelFunc
	stopped sync.WaitGroup
	lock    sync.Mutex
	full    error // why the arena cannot grow any more
}

const (
	growEvery = 20 * time.Millisecond
	headroom  = 4 << 20
	stepSize  = 8 << 20
)

func growArena(a *arena.Arena, file *targetfs.Arena) *arenaGrower {
	ctx, cancel := context.WithCancel(context.Background())
	g := &arenaGrower{arena: a, file: file, cancel: cancel}
	g.stopped.Go(func() {
		tick := time.NewTicker(growEvery)
		defer tick.Stop()
		for ctx.Err() == nil && g.check() {
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	return g
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
	g.cancel()
	g.stopped.Wait()
}

// Full returns why the arena cannot grow any more; nil while it can.
func (s *Session) Full() error {
	s.grower.lock.Lock()
	defer s.grower.lock.Unlock()
	return s.grower.full
}

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
