package session

import (
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestHooksDoAsTheyAreSwitched changes what hooks do from round to round, which
// has ten thousand calls of a method each, without weaving again.
func TestHooksDoAsTheyAreSwitched(t *testing.T) {
	const round, period = 10_000, 7
	const method, other = "hammer.Main.tinyVirtual", "hammer.Main.callsTwoTiny"
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach, live.Hammer)
		p.Run(1)
		s := open(t, p)
		put(t, s, arena.On|arena.Flat, "hammer.**")
		classes := s.Classes()
		for _, test := range []struct {
			name                       string
			flags                      arena.Flags
			calls, leastTimed, atTimed uint64
		}{
			{"counted", arena.On | arena.Flat, round, 0, 0},
			{"off", 0, 0, 0, 0},
			{"timed", arena.On | arena.Timed | arena.Flat, round, round, round},
			{"off, though timed", arena.Timed, 0, 0, 0},
			// A skip is at least 1 and less than twice the period.
			{"sampled", arena.On | arena.Sampled | arena.Flat, round, round/(2*period) - 1, round / 2},
			{"timed by context", arena.On | arena.Timed, round, round, round},
			{"counted by context", arena.On, round, 0, 0},
		} {
			if err := s.Switch(t.Context(), patterns(t, "hammer.Main.tinyVirtual"), test.flags, period); err != nil {
				t.Fatal(err)
			}
			before, beside := told(t, s, method), told(t, s, other)
			p.Run(1)
			after := told(t, s, method)
			calls, timed := after.Calls-before.Calls, after.Timed-before.Timed
			if calls != test.calls || timed < test.leastTimed || timed > test.atTimed {
				t.Errorf("%s: %d calls, %d of them timed", test.name, calls, timed)
			}
			if (timed > 0) != (after.Nanos > before.Nanos) {
				t.Errorf("%s: %d calls took %d ns", test.name, timed, after.Nanos-before.Nanos)
			}
			if now := told(t, s, other); now.Calls-beside.Calls != round || now.Timed != beside.Timed {
				t.Errorf("%s: another method changed from %+v to %+v", test.name, beside, now)
			}
		}
		if s.Classes() != classes {
			t.Errorf("%d classes have hooks, before %d", s.Classes(), classes)
		}
	})
}
