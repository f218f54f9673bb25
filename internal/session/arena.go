package session

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/ledger"
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

// SetRings says how much a thread's ring of traced calls holds, in bytes, and how far
// below their root calls are traced; 0 is as far as they go. Rings that are there keep
// their size.
func (s *Session) SetRings(bytes, levels uint32) error { return s.arena.SetRings(bytes, levels) }

// Rings are where threads write the calls that are traced. Who reads them makes room:
// there must be one reader.
func (s *Session) Rings() ([]*arena.Ring, error) { return s.arena.Rings() }

// Ringless is how many calls were only counted, as there was no room for a ring.
func (s *Session) Ringless() (uint64, error) { return s.arena.Ringless() }

// Discover has hooks with arena.Discover wait for an answer when their first
// calls arrive, at most for so long; 0 has none wait.
func (s *Session) Discover(wait time.Duration) error {
	if err := s.arena.MakeArrivals(); err != nil {
		return err
	}
	s.arena.SetWait(wait)
	return nil
}

// SetWait changes how long calls wait at most.
func (s *Session) SetWait(wait time.Duration) { s.arena.SetWait(wait) }

// Arrivals are the calls that wait for an answer, those with a ticket above one.
func (s *Session) Arrivals(after uint64) ([]arena.Arrival, error) { return s.arena.Arrivals(after) }

// Answer lets go on all that wait with a ticket up to one.
func (s *Session) Answer(ticket uint64) { s.arena.Answer(ticket) }

// ArrivalsLost is how many methods called by reflection could not be told of.
func (s *Session) ArrivalsLost() uint64 { return s.arena.ArrivalsLost() }

// Now is what the target's clock reads.
func (s *Session) Now() int64 { return ledger.Monotonic() + s.clock }

// ThreadNames are the names of the threads that live, by their ids.
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

// SplitMember takes class.name(descriptor) apart, as arrivals spell it.
func SplitMember(text string) (class, name, descriptor string, ok bool) {
	head, tail, found := strings.Cut(text, "(")
	dot := strings.LastIndexByte(head, '.')
	if !found || dot <= 0 {
		return "", "", "", false
	}
	return head[:dot], head[dot+1:], "(" + tail, true
}
