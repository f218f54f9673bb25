package profile

import (
	"context"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
)

// A settler opens the window once the compilers are done with what the last round of
// hooks undid.
type settler struct {
	run    *run
	rounds int // when it looked last
	last   cost.Reading
	lull   cost.Lull
	open   bool
	since  time.Time // of the last round
}

// mostSettling is after what time a program's compilers are taken to be busy for
// reasons of their own.
const mostSettling = 6 * time.Second

// isSettled reports whether code that got hooks runs as it will.
func (s *settler) isSettled() bool {
	return s.open || s.rounds > 0 && time.Since(s.since) > mostSettling
}

func (s *settler) look(context.Context) error {
	now, err := s.run.session.Read()
	if err != nil {
		return err
	}
	since := s.last.Until(now)
	s.last = now
	if rounds := s.run.ledger.rounds(); rounds != s.rounds {
		s.rounds, s.lull, s.since = rounds, cost.Lull{}, time.Now()
		if s.open {
			s.open = false
			s.run.window.shut()
		}
		return nil
	}
	if s.open || since.Elapsed <= 0 || !s.lull.Add(since) {
		return nil
	}
	s.open = true
	return s.run.window.open(s.run)
}
