package overhead

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

const (
	exactly   = arena.On | arena.Flat | arena.Timed
	sometimes = arena.On | arena.Flat | arena.Sampled
	counting  = arena.On | arena.Flat
)

func spotOf(id uint32, calls uint64, setting arena.Probe, now float64, looks ...*session.Look) spotCost {
	return spotCost{SpotUse: session.SpotUse{ID: id, Setting: setting, Looks: looks, Measures: true}, calls: calls, now: now, sampled: 10, counted: 5}
}

// TestThin: the most expensive spots of a look are thinned first, only as far as the budget asks, and no
// call stops being counted while one can be timed less.
func TestThin(t *testing.T) {
	look := &session.Look{}
	spots := []spotCost{
		spotOf(1, 1_000_000, arena.Probe{Flags: exactly}, 100, look),                      // 100 ms
		spotOf(2, 4_000_000, arena.Probe{Flags: exactly}, 100, look),                      // 400 ms
		spotOf(3, 2_000_000, arena.Probe{Flags: sometimes, Period: thinPeriod}, 10, look), // 20 ms
		spotOf(4, 0, arena.Probe{Flags: exactly}, 100, look),                              // not called
		spotOf(5, 9_000_000, arena.Probe{Flags: counting}, 5, look),                       // 45 ms, which cannot be less
		spotOf(6, 500_000, arena.Probe{Flags: sometimes, Period: 16}, 20, look),           // 10 ms
		spotOf(7, 100_000, arena.Probe{Flags: exactly | arena.Traced}, 100, look),         // 10 ms, which cannot be less
	}
	for _, tt := range []struct {
		allowed time.Duration
		want    map[uint32]arena.Flags
	}{
		{600 * time.Millisecond, map[uint32]arena.Flags{}},
		{250 * time.Millisecond, map[uint32]arena.Flags{2: sometimes}},
		{170 * time.Millisecond, map[uint32]arena.Flags{2: sometimes, 1: sometimes}},
		{50 * time.Millisecond, map[uint32]arena.Flags{2: sometimes, 1: sometimes, 3: counting, 6: sometimes}},
	} {
		plan := relieve(slices.Clone(spots), nil, float64(tt.allowed))
		if want := float64(585 * time.Millisecond); plan.total != want {
			t.Errorf("allowed %v: the spots cost %v ns, want %v", tt.allowed, plan.total, want)
		}
		have := make(map[uint32]arena.Flags)
		for _, c := range plan.spots {
			have[c.ID] = c.to.Flags
			if c.to.Flags&arena.Sampled != 0 && c.to.Period != thinPeriod {
				t.Errorf("allowed %v: spot %d becomes %+v", tt.allowed, c.ID, c.to)
			}
		}
		if !maps.Equal(have, tt.want) {
			t.Errorf("allowed %v: spots become %v, want %v", tt.allowed, have, tt.want)
		}
	}
}

// TestSwitchOff: hooks that only count are switched off if that costs too much and nothing else can be thinned, the most
// expensive ones first, but not those that find contexts.
func TestSwitchOff(t *testing.T) {
	look := &session.Look{}
	anchor := spotOf(3, 9_000_000, arena.Probe{Flags: counting}, 5, look) // 45 ms
	anchor.Measures = false
	spots := []spotCost{
		spotOf(1, 1_000_000, arena.Probe{Flags: counting}, 5, look), // 5 ms
		spotOf(2, 4_000_000, arena.Probe{Flags: counting}, 5, look), // 20 ms
		anchor,
		spotOf(4, 2_000_000, arena.Probe{Flags: arena.On | arena.Flat | arena.Inside | arena.Traced}, 5, look), // 10 ms, of a transaction that is running
	}
	for _, tt := range []struct {
		allowed time.Duration
		want    []uint32
	}{{80 * time.Millisecond, nil}, {70 * time.Millisecond, []uint32{2}}, {55 * time.Millisecond, []uint32{2, 4}}, {0, []uint32{2, 4, 1}}} {
		var have []uint32
		for _, c := range relieve(slices.Clone(spots), nil, float64(tt.allowed)).spots {
			if have = append(have, c.ID); c.to != (arena.Probe{}) {
				t.Errorf("allowed %v: spot %d becomes %+v, want it off", tt.allowed, c.ID, c.to)
			}
		}
		if !slices.Equal(have, tt.want) {
			t.Errorf("allowed %v: got spots %v off, want %v", tt.allowed, have, tt.want)
		}
	}
}

// TestTagsCostThinnedCalls: giving tags values costs as much if a call is timed rarely, or only counted.
func TestTagsCostThinnedCalls(t *testing.T) {
	const timing, seconds = 80, 1
	for _, setting := range []arena.Probe{{Flags: exactly}, {Flags: sometimes, Period: 16}, {Flags: counting}} {
		plain := spotOf(1, 100_000, setting, 0)
		tagged := plain
		tagged.Tags = 2
		plain.price(timing, seconds)
		tagged.price(timing, seconds)
		const want = 2 * tagCost * countingFactor
		for _, got := range []float64{tagged.now - plain.now, tagged.sampled - plain.sampled, tagged.counted - plain.counted} {
			if math.Abs(got-want) > 1e-9 {
				t.Errorf("%+v: tags cost %v ns, want %v", setting, got, want)
			}
		}
		_, with := tagged.less(0)
		if _, without := plain.less(0); math.Abs(with-without) > 1e-9 {
			t.Errorf("%+v: thinning saves %v ns with tags and %v without", setting, with, without)
		}
	}
}

// TestResultsAreLostLast: hooks are switched off at the budget itself if samples show more than is computed, otherwise below it, as other
// changes are made.
func TestResultsAreLostLast(t *testing.T) {
	budget := 0.05
	for _, tt := range []struct {
		factor float64
		isLast bool
		want   float64
	}{{0, true, MayCost * budget}, {0.8, true, MayCost * budget}, {1.5, true, budget}, {1.5, false, MayCost * budget}} {
		if got := (&sighting{factor: tt.factor}).allowed(budget, tt.isLast); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// TestThinTraces: a root of traces pays for what is traced below it, and fewer of its calls are traced, as many as the budget
// allows.
func TestThinTraces(t *testing.T) {
	look := &session.Look{}
	const root, below = arena.On | arena.Flat | arena.Root | arena.Traced, arena.On | arena.Flat | arena.Inside | arena.Traced
	traced := func(id uint32, calls uint64, setting arena.Probe, now float64) spotCost {
		s := spotOf(id, calls, setting, now, look)
		s.recorded = 200
		return s
	}
	const ms = float64(time.Millisecond)
	for _, tt := range []struct {
		name          string
		period        uint32
		calls, inside uint64
		allowed       float64 // ms
		total         float64 // ms
		want          uint32  // the new period; 0 if it does not change
	}{
		{"enough", 0, 1000, 100_000, 30, 20.2, 0},
		{"half of them", 0, 1000, 100_000, 10.1, 20.2, 3},
		{"much too many", 0, 1000, 100_000, 0.1, 20.2, 13},
		// Hooks below calls that are not traced take 16.2 ms.
		{"again", 13, 1000, 100_000, 26.3, 20.2 + 100_000/77.0*12/13*13.5/1000, 33},
		{"the largest", 900, 1000, 100, 1.4, 0.22 + 100*899/900.0*13.5/1000, thinPeriod},
		{"no help", 900, 1000, 100_000, 0.1, 20.2 + 100_000*899/900.0*13.5/1000, 0}, // hooks below other calls cost nearly all of it
		{"no more", thinPeriod, 1000, 100_000, 0.1, 1368.85, 0},
	} {
		setting := arena.Probe{Flags: root}
		if tt.period > 0 {
			setting = arena.Probe{Flags: root | arena.Sampled, Period: tt.period}
		}
		opens := traced(1, tt.calls, setting, 200)
		opens.ended = uint64(math.Round(float64(tt.calls) / float64(max(1, tt.period))))
		plan := relieve(foldTraces([]spotCost{opens, traced(2, tt.inside, arena.Probe{Flags: below}, 200)}, &descent{}), nil, tt.allowed*ms)
		have := uint32(0)
		for _, c := range plan.spots {
			if have = c.to.Period; c.ID != 1 || c.to.Flags != root|arena.Sampled {
				t.Errorf("%s: spot %d becomes %+v, want only fewer traces", tt.name, c.ID, c.to)
			}
		}
		if have != tt.want || math.Abs(plan.total-tt.total*ms) > 1 {
			t.Errorf("%s: got a period of %d and a cost of %v ms, want %d and %v ms", tt.name, have, plan.total/ms, tt.want, tt.total)
		}
	}
}

// TestRareTraces: if one of a thousand calls is traced, a step may have none of them or one. The hooks below the others cost the same.
func TestRareTraces(t *testing.T) {
	look, d := &session.Look{}, &descent{}
	setting := arena.Probe{Flags: arena.On | arena.Flat | arena.Root | arena.Traced | arena.Sampled, Period: thinPeriod}
	for _, traced := range []uint64{1, 0, 0, 1, 0} {
		root, below := spotOf(1, 100, setting, 200, look), spotOf(2, traced*5000, arena.Probe{Flags: arena.On | arena.Flat | arena.Inside | arena.Traced}, 200, look)
		root.recorded, root.ended, below.recorded = 200, traced, 200
		found := foldTraces([]spotCost{root, below}, d)
		if want := 5000 * 0.999 * Off * idleFactor; len(found) != 1 || math.Abs(found[0].idle-want) > 1 || found[0].busiest != below.Method {
			t.Errorf("after a step with %d traced calls: got %+v, want %v ns for the hooks below a call", traced, found, want)
		}
	}
}

// TestThinnedFirst: the look that costs most for each method that it measures is thinned first. A look
// with call trees gets less of its own budget, but never too little, and one that measures every call
// is left alone.
func TestThinnedFirst(t *testing.T) {
	one, many, tree, exact := &session.Look{}, &session.Look{}, &session.Look{}, &session.Look{}
	spots := []spotCost{
		spotOf(1, 1_000_000, arena.Probe{Flags: exactly}, 40, one, many), // 20 ms for each
		spotOf(2, 200_000, arena.Probe{Flags: exactly}, 50, many),        // 10 ms
		spotOf(3, 200_000, arena.Probe{Flags: exactly}, 50, many),        // 10 ms
	}
	const millis = 1e6
	trees := func(cost float64, hooks int) shareCost {
		return shareCost{look: tree, share: &Share{}, cost: cost * millis, hooks: hooks, allowed: 30 * millis, least: 2 * millis}
	}
	for _, tt := range []struct {
		name    string
		share   shareCost
		allowed float64 // ms
		spots   []uint32
		tree    float64 // ms that it is allowed; 0 if that does not change
	}{
		{"enough", trees(15, 30), 75, nil, 0},
		{"one method that costs much", trees(15, 30), 70, []uint32{1}, 0},
		{"a tree with many hooks comes last", trees(15, 30), 25, []uint32{1, 2, 3}, 11},
		{"a tree with few hooks comes first", trees(25, 1), 84, nil, 24},
		{"a tree is not cut to nothing", trees(15, 30), 1, []uint32{1, 2, 3}, 2},
		{"a tree that costs more than it may is cutting already", trees(40, 30), 95, nil, 0},
		{"an exact tree", shareCost{look: exact, share: &Share{}, cost: 500 * millis, hooks: 9, isFixed: true}, 60, nil, 0},
	} {
		plan := relieve(slices.Clone(spots), []shareCost{tt.share}, tt.allowed*millis)
		var have []uint32
		for _, c := range plan.spots {
			have = append(have, c.ID)
		}
		left := 0.0
		for _, c := range plan.shares {
			left = c.allowed / millis
		}
		if !slices.Equal(have, tt.spots) || math.Abs(left-tt.tree) > 1e-6 || (plan.fixed == exact) != tt.share.isFixed {
			t.Errorf("%s: spots %v, the tree may cost %v ms; want %v and %v ms", tt.name, have, left, tt.spots, tt.tree)
		}
	}
}

// TestLimit: a stated budget is stronger than a usual one, and a look's own limit is none for others.
func TestLimit(t *testing.T) {
	having := func(budget float64, isStated bool) *member { return &member{budget: budget, isStated: isStated} }
	tree := &member{budget: 0.02, share: &Share{}}
	for _, tt := range []struct {
		name          string
		members       []*member
		budget        float64
		isStated, has bool
	}{
		{"none", nil, 1, false, false},
		{"a tree", []*member{tree}, 1, false, false},
		{"the usual one", []*member{tree, having(0.05, false)}, 0.05, false, true},
		{"a stated one", []*member{having(0.05, false), having(0.2, true), having(0.05, false)}, 0.2, true, true},
		{"the smallest", []*member{having(0.3, true), having(0.1, true), having(0.05, false)}, 0.1, true, true},
	} {
		g := &governor{members: make(map[*session.Look]*member)}
		for _, m := range tt.members {
			g.members[&session.Look{}] = m
		}
		if budget, isStated, has := g.limit(); budget != tt.budget || isStated != tt.isStated || has != tt.has {
			t.Errorf("%s: %v, %v, %v; want %v, %v, %v", tt.name, budget, isStated, has, tt.budget, tt.isStated, tt.has)
		}
	}
}

func TestSighting(t *testing.T) {
	p := &Pace{}
	var s sighting
	s.restart(p)
	step := func(hooks, samples int, computed, passed float64) float64 {
		p.whole.inHooks += hooks
		p.whole.samples += samples
		return s.add(computed, passed)
	}
	if got := step(0, 0, 5, 100); got != 1 {
		t.Errorf("without samples: %g times as much, want 1", got)
	}
	if got := step(leastSeen/2-1, leastSeen-1, 1, 100); got != 1 {
		t.Errorf("with too few samples: %g times as much, want 1", got)
	}
	// Half of 2,000 samples, at least 0.478 of the time, and 1 % were computed.
	if got := step(1001-leastSeen/2, 2001-leastSeen, 1, 100); got < 45 || got > 50 {
		t.Errorf("half of the time instead of a hundredth: %g times as much, want 45 to 50", got)
	}
	s.restart(p)
	if got := step(10, 10, 1, 100); got < 45 || got > 50 {
		t.Errorf("hooks have just changed: %g times as much, want the former 45 to 50", got)
	}
	if got := step(0, 2000, 30, 100); got != 1 {
		t.Errorf("less than computed: %g times as much, want 1", got)
	}
	p.whole = tally{} // results begin again
	if got := step(400, 400, 100, 100); got != 1 {
		t.Errorf("all of the time, as computed: %g times as much, want 1", got)
	}
}
