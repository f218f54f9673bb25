package suggest

import (
	"context"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Thinned is one in how many calls is timed of a method where to time all would cost too
// much; all are counted.
const Thinned = 16

const (
	// spotFactor is what a probe's hook costs more than a plain one that times: it asks
	// whether it is on by a table of its own, and what it stands in is compiled less well.
	spotFactor = 1.5
	// coldNanos is what a call costs beside, if others come between two of the same method:
	// processors have forgotten the hook by then, and what it writes to. Tomcat's probes, on ten
	// threads with 6,000 calls a second each, took a microsecond a call, and in a loop a quarter
	// of one. It becomes less the more often a method is called (toll.Cold).
	coldNanos = 700
	// coldCount is the same of a call that is counted and not timed. With hooks of seven methods
	// of Tomcat switched every quarter of a second, a counted call took 144 ± 125 ns, one of
	// which one in 16 is timed 208 ± 140, and a timed one 385 ± 140; what probes cost that are
	// woven and off is not in those.
	coldCount = 300
)

// A tariff is what a call of a method with a probe costs in a loop, in nanoseconds.
type tariff struct {
	timed float64
	thin  float64 // one in Thinned is timed
}

// tariffOf measures what calls cost in a JVM now.
func tariffOf(ctx context.Context, s *session.Session) (t tariff, err error) {
	thin, err := s.HookCost(ctx, arena.On|arena.Sampled|arena.Flat|arena.Spreads, Thinned)
	if err != nil {
		return t, err
	}
	timed, err := s.HookCost(ctx, arena.On|arena.Timed|arena.Flat|arena.Spreads, 0)
	return tariff{timed: timed.Median * spotFactor, thin: thin.Median * spotFactor}, err
}

// least is the lower of two: what else ran may have added to either.
func (t tariff) least(other tariff) tariff {
	return tariff{timed: min(t.timed, other.timed), thin: min(t.thin, other.thin)}
}

// call is what a call costs of a method that is called so often in a second.
func (t tariff) call(rate float64, thins bool) float64 {
	cold := cost.Cold(rate)
	if thins {
		return t.thin + cold*(coldCount+(coldNanos-coldCount)/Thinned)
	}
	return t.timed + cold*coldNanos
}
