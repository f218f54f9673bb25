package session

import (
	"context"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/ledger"
)

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
