package session

import (
	"context"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// A Body is what calls do that are made to learn what hooks cost.
type Body uint8

// The bodies.
const (
	Empty       Body = 0
	Dependent   Body = 1 // each step needs the one before
	Independent Body = 2 // a processor does the steps of several calls at once
	Nested      Body = 3 // dependent steps, then one call of as many more; the outer calls are measured
)

// A Trial is how calls are made to learn what hooks cost.
type Trial struct {
	Flags  arena.Flags
	Period uint32
	Body   Body
	Steps  uint32 // how long the body is
	Rounds uint32 // calls of a run
}

// A Timing is what a call of a run took on average, in nanoseconds.
type Timing struct {
	Plain    float64 // without hooks
	Hooked   float64 // with them
	Measured float64 // what the hooks say one took, of those they timed
}

// Measure has the target make calls with and without hooks, several runs of them.
// It gives none where the JVM was too busy for it, or hooks went in meanwhile.
func (s *Session) Measure(ctx context.Context, trial Trial) ([]Timing, error) {
	setting := arena.Probe{Flags: trial.Flags, Period: trial.Period}.Setting()
	runs, err := s.peer.Calibrate(ctx, control.Calibration{
		Rounds: trial.Rounds, Setting: setting, Body: uint8(trial.Body), Steps: trial.Steps,
	})
	if err != nil {
		return nil, s.explain(err)
	}
	timings := make([]Timing, len(runs))
	for i, run := range runs {
		n := float64(trial.Rounds)
		timings[i] = Timing{Plain: float64(run.Plain) / n, Hooked: float64(run.Hooked) / n}
		if run.Timed > 0 {
			timings[i].Measured = float64(run.Measured) / float64(run.Timed)
		}
	}
	return timings, nil
}

// Read is where the target's own counters stand.
func (s *Session) Read() (cost.Reading, error) { return s.meter.Read() }

// Stacks are the threads with the calls they are in, without their trees.
func (s *Session) Stacks() ([]arena.Thread, error) { return s.arena.Stacks() }

// Method is the method of an id that has a hook.
func (s *Session) Method(id uint32) (Method, bool) {
	s.book.lock.Lock()
	defer s.book.lock.Unlock()
	m, known := s.book.methods[id]
	return m, known
}

// ReflectiveClasses are those that Request.Reflection puts hooks into.
func ReflectiveClasses() []string {
	names := make([]string, 0, len(reflective))
	for name := range reflective {
		names = append(names, name)
	}
	return names
}
