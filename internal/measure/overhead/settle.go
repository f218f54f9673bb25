package overhead

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
)

// A Rule says when a program runs again as it did before classes were redefined: when the
// compilers have been idle for a while. Commands differ in what an early answer costs
// them, so each has its own rule.
type Rule struct {
	Busy  float64       // compilers that use less of a processor are idle
	Quiet time.Duration // how long they must be idle
	// CountWaiting counts compilers that wait for a processor as busy.
	CountWaiting bool
	// The wait is given up after Limit, or after the program has used WorkLimit of
	// processor time (0: no such limit). Some programs keep their compilers busy.
	Limit     time.Duration
	WorkLimit time.Duration
}

// The rules. That of results is stricter: compilers that are nearly done pause often while the
// program is still several times slower. It is used where there are no samples (Pace).
var (
	ForResults   = Rule{Busy: 0.05, Quiet: 2 * time.Second, CountWaiting: true, Limit: 45 * time.Second}
	ForProfile   = Rule{Busy: 0.15, Quiet: 750 * time.Millisecond, Limit: 6 * time.Second}
	ForRootCause = Rule{Busy: 0.15, Quiet: 750 * time.Millisecond, Limit: 8 * time.Second}
	ForSuggest   = Rule{Busy: 0.15, Quiet: 750 * time.Millisecond, CountWaiting: true, Limit: 24 * time.Second, WorkLimit: 8 * time.Second}
)

// SettleInterval is the time between two looks at the compilers.
const SettleInterval = 250 * time.Millisecond

// Idle reports whether the compilers were idle in an interval.
func (r Rule) Idle(since cost.Cost) bool {
	busy := since.CompileCPU
	if r.CountWaiting {
		busy += since.CompileWait
	}
	return busy.Seconds() <= r.Busy*since.Elapsed.Seconds()
}

// A State is how far a program has settled.
type State int

// The states. A program that is Overdue may still become Settled.
const (
	Unsettled State = iota
	Settled
	Overdue // the wait is over although the rule is not met
)

// A Settling follows a program after its classes were redefined.
type Settling struct {
	Rule  Rule
	State State
	Took  time.Duration // until State left Unsettled

	idle, elapsed, worked time.Duration
}

// Add takes in what happened since the last look, and returns the new state.
func (s *Settling) Add(since cost.Cost) State {
	if s.State == Settled {
		return Settled
	}
	s.elapsed += since.Elapsed
	s.worked += since.Rest
	s.idle += since.Elapsed
	if !s.Rule.Idle(since) {
		s.idle = 0
	}
	before := s.State
	switch {
	case s.idle >= s.Rule.Quiet:
		s.State = Settled
	case s.elapsed >= s.Rule.Limit, s.Rule.WorkLimit > 0 && s.worked >= s.Rule.WorkLimit:
		s.State = Overdue
	}
	if before == Unsettled {
		s.Took = s.elapsed
	}
	return s.State
}

// Wait looks at the compilers until the program has settled or the wait is over.
func (r Rule) Wait(read func() (cost.Reading, error), pause func(time.Duration) error) error {
	last, err := read()
	if err != nil {
		return err
	}
	for s := (Settling{Rule: r}); s.State == Unsettled; {
		if err := pause(SettleInterval); err != nil {
			return err
		}
		now, err := read()
		if err != nil {
			return err
		}
		s.Add(last.Until(now))
		last = now
	}
	return nil
}
