package session

import (
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A keeper allocates more of an arena's file before the target has used up what
// there is. The target cannot wait for it: what finds no room is counted without
// its time.
type keeper struct {
	arena   *arena.Arena
	file    *targetfs.Arena
	ended   chan struct{}
	stopped sync.WaitGroup
	once    sync.Once
	full    error // why it does not grow any more
	lock    sync.Mutex
}

const (
	keepEvery = 20 * time.Millisecond
	headroom  = 4 << 20
	stepSize  = 8 << 20
)

func keep(a *arena.Arena, file *targetfs.Arena) *keeper {
	k := &keeper{arena: a, file: file, ended: make(chan struct{})}
	k.stopped.Add(1)
	go k.run()
	return k
}

func (k *keeper) run() {
	defer k.stopped.Done()
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		select {
		case <-k.ended:
			return
		case <-tick.C:
		}
		if !k.look() {
			return
		}
	}
}

// look allocates more where little is left; false where that cannot be.
func (k *keeper) look() bool {
	k.lock.Lock()
	defer k.lock.Unlock()
	used, limit := k.arena.Room()
	if limit-used >= headroom+used/4 || limit >= k.arena.Length() {
		return k.full == nil
	}
	return k.grow(limit + max(stepSize, used/2))
}

// provide allocates what is about to be taken at once, which may be more than
// the target needs meanwhile.
func (k *keeper) provide(bytes int64) {
	k.lock.Lock()
	defer k.lock.Unlock()
	if used, limit := k.arena.Room(); k.full == nil && limit-used < bytes+headroom && limit < k.arena.Length() {
		k.grow(used + bytes + headroom)
	}
}

// grow is called with the lock held.
func (k *keeper) grow(wanted int64) bool {
	if k.full = k.file.Grow(min(wanted, k.arena.Length())); k.full != nil {
		return false
	}
	k.arena.Raise(k.file.Allocated())
	return true
}

// Full says why the arena does not grow any more; nil while it does.
func (s *Session) Full() error {
	s.keeper.lock.Lock()
	defer s.keeper.lock.Unlock()
	return s.keeper.full
}

func (k *keeper) stop() {
	k.once.Do(func() { close(k.ended) })
	k.stopped.Wait()
}
