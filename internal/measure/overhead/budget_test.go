package overhead

import (
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// TestThin: the most expensive spots are thinned first, only as far as the budget asks, and no
// call stops being counted.
func TestThin(t *testing.T) {
	const exact, sampled = arena.On | arena.Flat | arena.Timed, arena.On | arena.Flat | arena.Sampled
	spot := func(id uint32, calls uint64, flags arena.Flags, now float64) spotCost {
		return spotCost{SpotUse: session.SpotUse{ID: id, Setting: arena.Probe{Flags: flags}}, calls: calls, now: now, sampled: 10, counted: 5}
	}
	spots := []spotCost{
		spot(1, 1_000_000, exact, 100),             // 100 ms
		spot(2, 4_000_000, exact, 100),             // 400 ms
		spot(3, 2_000_000, sampled, 10),            // 20 ms
		spot(4, 0, exact, 100),                     // not called
		spot(5, 9_000_000, arena.On|arena.Flat, 5), // 45 ms, which cannot be less
	}
	for _, tt := range []struct {
		budget float64
		want   map[uint32]arena.Flags
	}{
		{0.6, map[uint32]arena.Flags{}},
		{0.25, map[uint32]arena.Flags{2: sampled}},
		{0.15, map[uint32]arena.Flags{2: sampled, 1: sampled}},
		{0.05, map[uint32]arena.Flags{2: sampled, 1: sampled, 3: arena.On | arena.Flat}},
	} {
		changes, share := thin(append([]spotCost{}, spots...), time.Second, tt.budget)
		if share < 0.564 || share > 0.566 {
			t.Errorf("budget %v: the spots cost %v, want 0.565", tt.budget, share)
		}
		if len(changes) != len(tt.want) {
			t.Errorf("budget %v: %d changes, want %d", tt.budget, len(changes), len(tt.want))
		}
		for _, c := range changes {
			if want, is := tt.want[c.ID]; !is || c.to.Flags != want || c.to.Flags&arena.On == 0 || want&arena.Sampled != 0 && c.to.Period != thinPeriod {
				t.Errorf("budget %v: spot %d becomes %+v", tt.budget, c.ID, c.to)
			}
		}
	}
}
