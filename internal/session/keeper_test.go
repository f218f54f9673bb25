package session

import (
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestTheArenaGrowsAsItFills has deep trees on ever new threads use up more than
// an arena has at first. No call is lost over that.
func TestTheArenaGrowsAsItFills(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach, live.Recursion)
		p.Run(1)
		s := open(t, p)
		put(t, s, arena.On|arena.Timed, "recursion.**")
		rounds := uint64(0)
		used, limit := s.arena.Room()
		for rounds < 1000 && used <= firstRoom {
			p.Run(5)
			rounds += 5
			used, limit = s.arena.Room()
		}
		if used <= firstRoom || limit < used || limit <= firstRoom || limit > s.arena.Length() {
			t.Errorf("after %d rounds %d bytes are used, %d allocated", rounds, used, limit)
		}
		for method, calls := range map[string]uint64{
			"recursion.Main.deep(": 5001, "recursion.Main.fibonacci": 1973, "recursion.Main.afterOverflow": 10,
		} {
			if totals := told(t, s, method); totals.Calls != rounds*calls {
				t.Errorf("%s: %+v in %d rounds, want %d calls", method, totals, rounds, rounds*calls)
			}
		}
		if s.Full() != nil {
			t.Error(s.Full())
		}
		p.Check()
	})
}
