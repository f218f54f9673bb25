package profile

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

var knownCosts = cct.Calibration{Inner: cct.Span{Median: 40}, Outer: cct.Span{Median: 60}, Count: cct.Span{Median: 10}}

// hooksOf returns a governor with hooks that are on, the first of which is the root's. Their
// ids are 10, 11 and so on.
func hooksOf(names ...string) (*governor, []*governed) {
	g := newGovernor(0.02, 0)
	g.rootCalled = true
	for i, name := range names {
		g.add(classfile.MethodRef{Class: "a/B", Name: name, Descriptor: "()V"}, uint32(10+i), i == 0)
		g.order[i].mode = on
	}
	return g, g.order
}

// at returns a reading of a program that has used a second of processor time in a second,
// of which hooks took a part.
func at(part float64) reading {
	return reading{
		now: time.Unix(1000, 0), known: knownCosts, settled: true, affordable: true,
		bill: bill{seconds: 1, program: 1e9, allowed: 20e6, part: part, timing: part * 1e9, cost: map[uint32]float64{}, share: map[uint32]float64{}},
	}
}

func (d decision) String() string {
	var parts []string
	if d.apply {
		parts = append(parts, "apply")
	}
	names := func(hooks []*governed) string {
		var all []string
		for _, h := range hooks {
			all = append(all, h.method.Name)
		}
		return strings.Join(all, ",")
	}
	if len(d.try) > 0 {
		parts = append(parts, "try "+names(d.try))
	}
	for _, m := range d.below {
		parts = append(parts, "below "+m.Name)
	}
	if len(d.remove) > 0 {
		parts = append(parts, "remove "+names(d.remove))
	}
	return strings.Join(parts, "; ")
}

// TestStep has a governor of a root and three hooks decide in one situation after the
// other.
func TestStep(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*governor, *reading)
		part   float64
		want   string
		phase  phase
	}{
		"over budget": {
			change: func(g *governor, r *reading) {
				r.bill.least, r.bill.cost[11] = 1e9, 20e6
			},
			part: 0.03, want: "apply", phase: choosing,
		},
		"over budget, nothing to switch off": {
			change: func(g *governor, r *reading) {
				g.pace = minPace
				for _, h := range g.order[1:] {
					h.mode = untried
				}
			},
			part: 0.03, want: "", phase: choosing,
		},
		"root not called": {
			change: func(g *governor, _ *reading) { g.rootCalled = false },
			want:   "", phase: choosing,
		},
		"not settled": {
			change: func(_ *governor, r *reading) { r.settled = false },
			want:   "", phase: choosing,
		},
		"between ample and full": {part: 0.011, want: "", phase: choosing},
		"room, hooks to try": {
			change: func(g *governor, _ *reading) { g.order[2].mode, g.order[3].mode = untried, untried },
			want:   "apply; try b,c", phase: choosing,
		},
		"room, fewer tried at a time": {
			change: func(g *governor, _ *reading) {
				g.order[2].mode, g.order[3].mode, g.trialSize = untried, untried, 1
			},
			want: "apply; try b", phase: choosing,
		},
		"room, all tried, time below a": {
			change: func(_ *governor, r *reading) { r.bill.share[11] = 0.5 },
			want:   "apply; below a", phase: choosing,
		},
		"room, but another round is too costly": {
			change: func(_ *governor, r *reading) { r.bill.share[11], r.affordable = 0.5, false },
			want:   "apply", phase: chosen,
		},
		"room, first hooks chosen by samples": {
			change: func(g *governor, r *reading) { r.bill.share[11], g.sampled = 0.5, true },
			want:   "apply", phase: chosen,
		},
		"room, no method holds much": {
			change: func(_ *governor, r *reading) { r.bill.share[11] = 0.04 },
			want:   "apply", phase: chosen,
		},
		"too late": {
			change: func(g *governor, r *reading) {
				g.trying = r.now.Add(-maxChoosing - 1)
				g.order[3].mode = untried
			},
			want: "remove c", phase: pruned,
		},
		"chosen, pace can rise": {
			change: func(g *governor, _ *reading) { g.phase, g.pace = chosen, 10 },
			want:   "apply", phase: chosen,
		},
		"chosen, pace can rise in part": {
			change: func(g *governor, r *reading) {
				g.phase, g.pace = chosen, 10
				for _, h := range g.order {
					h.rate = 1000
				}
				for r.bill.allowed = 1; !g.canTime(*r, 300); r.bill.allowed *= 1.01 {
				}
			},
			want: "apply", phase: chosen,
		},
		"chosen, pace can hardly rise": {
			change: func(g *governor, r *reading) {
				g.phase, g.pace = chosen, 10
				for _, h := range g.order {
					h.rate = 1000
				}
				for r.bill.allowed = 1; !g.canTime(*r, 25); r.bill.allowed *= 1.01 {
				}
			},
			want: "", phase: chosen,
		},
		"chosen, pace cannot rise": {
			change: func(g *governor, _ *reading) {
				g.phase, g.pace = chosen, 10
				for _, h := range g.order {
					h.rate = 1e6
				}
			},
			want: "", phase: chosen,
		},
		"chosen, hooks that are off cost much": {
			change: func(g *governor, r *reading) {
				g.phase, r.bill.resting = chosen, 3e6
				g.order[1].mode, g.order[1].rate = off, 1e6
				g.order[2].mode, g.order[2].rate = off, 10 // hardly called
			},
			want: "remove a", phase: pruned,
		},
		"chosen, hooks that are off cost little": {
			change: func(g *governor, r *reading) {
				g.phase, r.bill.resting = chosen, 1e6
				g.order[1].mode, g.order[1].rate = off, 1e6
			},
			want: "", phase: chosen,
		},
		"pruned, another round is too costly": {
			change: func(g *governor, r *reading) {
				g.phase, r.bill.resting, r.affordable = pruned, 3e6, false
				g.order[1].mode, g.order[1].rate = off, 1e6
			},
			want: "", phase: pruned,
		},
	} {
		g, _ := hooksOf("root", "a", "b", "c")
		r := at(tt.part)
		if tt.change != nil {
			tt.change(g, &r)
		}
		if got := g.step(r).String(); got != tt.want || g.phase != tt.phase {
			t.Errorf("%s: %q in phase %d, want %q in phase %d", name, got, g.phase, tt.want, tt.phase)
		}
	}
}

func TestPaceRisesWhileThereIsRoom(t *testing.T) {
	g, _ := hooksOf("root", "a")
	g.pace = 1500
	for _, want := range []float64{3000, maxPace, maxPace} {
		g.phase = choosing
		if g.step(at(0)); g.pace != want {
			t.Errorf("pace %g, want %g", g.pace, want)
		}
	}
}

func TestChoosingTakesAFifthOfTheRun(t *testing.T) {
	for duration, want := range map[time.Duration]time.Duration{
		0: maxChoosing, time.Second: minChoosing, 30 * time.Second: 6 * time.Second, time.Hour: maxChoosing,
	} {
		if got := newGovernor(0.02, duration).choosing; got != want {
			t.Errorf("a run of %v chooses for %v, want %v", duration, got, want)
		}
	}
}

// TestTheWorstHookGoesFirst checks that an expensive hook that explains half the time
// stays, and a cheaper one that explains nothing goes.
func TestTheWorstHookGoesFirst(t *testing.T) {
	g, hooks := hooksOf("root", "hot", "chatty", "c", "d", "e", "f", "g", "h")
	r := at(0)
	r.bill.cost = map[uint32]float64{10: 9e6, 11: 5e6, 12: 3e6, 13: 1}
	r.bill.share = map[uint32]float64{11: 0.5, 12: 0.001}
	if saved := g.switchOffWorst(r); saved != 3e6 || hooks[2].mode != off || hooks[2].reason == "" || hooks[2].offAt != r.now {
		t.Errorf("saved %g; the chatty hook: %+v", saved, hooks[2])
	}
	if !g.changed {
		t.Error("figures would go on as if nothing had happened")
	}
}

// TestFewHooksAreTimedLessOften checks that few hooks are timed less often first, and are
// switched off if even counting their calls costs too much.
func TestFewHooksAreTimedLessOften(t *testing.T) {
	for _, tt := range []struct {
		least float64
		on    int
	}{{1e6, 3}, {1e9, 1}} {
		g, hooks := hooksOf("root", "a", "b")
		for _, h := range hooks {
			h.rate = maxPace
		}
		r := at(0.09)
		r.bill.least, r.bill.cost = tt.least, map[uint32]float64{10: 30e6, 11: 30e6, 12: 30e6}
		if !g.cut(r) || g.hooksOn() != tt.on || tt.on == 3 && g.pace != maxPace/4 {
			t.Errorf("%g to count all: %d hooks are on, %g timed in a second", tt.least, g.hooksOn(), g.pace)
		}
	}
}

func TestManyHooksAreSwitchedOff(t *testing.T) {
	g, hooks := hooksOf("root", "a", "b", "c", "d", "e", "f", "g", "h", "i")
	r := at(0.018)
	for i := range hooks {
		r.bill.cost[uint32(10+i)] = 2e6
	}
	// 18e6 are spent, ample are 10e6: four of 2e6 have to go, but with fewHooks left those
	// are timed less often.
	if !g.cut(r) || g.hooksOn() != fewHooks || g.pace >= maxPace {
		t.Errorf("%d hooks are on, %g timed in a second", g.hooksOn(), g.pace)
	}
}

// TestRatesChangeSeldom checks the periods: calls timed at different rates must not be
// mixed.
func TestRatesChangeSeldom(t *testing.T) {
	g, hooks := hooksOf("m")
	h := hooks[0]
	h.rate = 1000
	if flags, period := g.setting(h); period != 1 || flags&arena.Sampled == 0 {
		t.Errorf("with room for all, one in %d is timed", period)
	}
	g.pace = 10
	if _, period := g.setting(h); period != 128 || !g.changed {
		t.Errorf("one in %d, changed %t", period, g.changed)
	}
	g.changed = false
	h.rate = 1500
	if _, period := g.setting(h); period != 128 || g.changed {
		t.Errorf("one in %d, changed %t: that was no reason", period, g.changed)
	}
	g.phase, h.rate = chosen, 500
	if _, period := g.setting(h); period != 128 || g.changed {
		t.Errorf("one in %d, changed %t: the choice was made", period, g.changed)
	}
	h.mode = off
	if flags, _ := g.setting(h); flags != 0 {
		t.Errorf("a hook that is off has %v", flags)
	}
}

// TestJudge checks that a trial keeps the hooks that are called least, as far as the budget
// goes.
func TestJudge(t *testing.T) {
	g, hooks := hooksOf("root", "often", "rare", "never")
	r := at(0)
	g.switchOn(hooks[1:], r.now)
	calls := map[uint32]uint64{11: 5000, 12: 10}
	kept := g.judge(slices.Clone(hooks[1:]), calls, 5*time.Millisecond, r)
	if len(kept) != 2 || kept[0] != hooks[3] || kept[1] != hooks[2] || hooks[1].mode != off || !strings.HasPrefix(hooks[1].reason, "at 1,000,000 calls per second its hook would cost ") {
		t.Errorf("kept %s; %+v", decision{try: kept}, hooks[1])
	}
	if hooks[2].rate != 2000 || hooks[2].onAt != r.now || !g.changed {
		t.Errorf("%+v", hooks[2])
	}
	if g.trialSize != 2*minTrial {
		t.Errorf("the next trial has %d hooks", g.trialSize)
	}
	if g.judge(nil, nil, time.Second, r); g.trialSize != maxTrial {
		t.Errorf("the next trial has %d hooks", g.trialSize)
	}
	each := overhead.Pessimistic(knownCosts, 2000).Of(2000, maxPace)
	r.bill.timing = r.bill.allowed*ample - each/2
	hooks[2].mode = on
	if kept := g.judge(hooks[2:3], calls, 5*time.Millisecond, r); len(kept) > 0 {
		t.Error("a hook is kept that does not fit what others have left")
	}
}

func TestAffords(t *testing.T) {
	for _, tt := range []struct {
		rounds   int
		compile  time.Duration
		paused   time.Duration
		use      float64
		duration time.Duration
		want     bool
	}{
		{0, time.Hour, 0, 1, 0, true},                      // nothing is known yet
		{1, 2 * time.Second, 0, 1, 0, true},                // 6 s of 2 % of 5 minutes
		{1, 2 * time.Second, time.Second, 1, 0, false},     // 9 s
		{2, 2 * time.Second, time.Second, 1, 0, true},      // 6 s
		{1, 2 * time.Second, 0, 0.1, 0, false},             // an idle program counts as half a processor
		{1, time.Second, 0, 0.1, 0, true},                  // 3 s
		{1, 10 * time.Second, 0, 1, time.Hour, true},       // 30 s of 2 % of an hour
		{1, 30 * time.Second, 0, 1, time.Hour, false},      // 90 s
		{1, 2 * time.Second, 0, 4, 10 * time.Second, true}, // four processors have more time
	} {
		g := newGovernor(0.02, tt.duration)
		since := cost.Cost{Elapsed: 10 * time.Second, Rest: time.Duration(tt.use * 10e9), CompileCPU: tt.compile}
		if got := g.affords(since, tt.rounds, tt.paused, tt.duration); got != tt.want {
			t.Errorf("%+v: %t", tt, got)
		}
	}
}

func TestBill(t *testing.T) {
	g, hooks := hooksOf("root", "timed", "counted", "off", "removed")
	g.rootCalled = false
	hooks[3].mode, hooks[3].rate = off, 1e6
	hooks[4].mode, hooks[4].rate, hooks[4].removed = off, 1e6, true
	before := map[uint32]sum{10: {calls: 10, timed: 10}, 11: {calls: 1000}}
	after := map[uint32]sum{
		10: {calls: 20, timed: 20, self: 20 * 140}, 11: {calls: 3000, timed: 1000, self: 1000 * 240}, 12: {calls: 4000, nested: 500},
	}
	b := g.price(cost.Cost{Elapsed: 2 * time.Second, Rest: time.Second}, before, after, knownCosts)
	if !g.rootCalled || hooks[1].rate != 1000 || hooks[2].rate != 2000 || hooks[3].rate != 1e6 {
		t.Errorf("root called %t; rates %g, %g, %g", g.rootCalled, hooks[1].rate, hooks[2].rate, hooks[3].rate)
	}
	each := func(rate float64) overhead.CallCost { return overhead.Pessimistic(knownCosts, rate) }
	want := map[uint32]float64{10: each(5).Of(10, 10), 11: each(1000).Of(2000, 1000), 12: each(2000).Of(4000, 500), 13: 0, 14: 0}
	for id, price := range want {
		if math.Abs(b.cost[id]-price) > 1e-6*price {
			t.Errorf("method %d costs %g, want %g", id, b.cost[id], price)
		}
	}
	if b.resting != 2e6*overhead.Off || b.allowed != 20e6 || b.seconds != 2 {
		t.Errorf("%+v", b)
	}
	// 20 calls of 100 ns and 3,000 of 200 ns of their own time.
	if share := fmt.Sprintf("%.4f %.4f", b.share[10], b.share[11]); share != "0.0033 0.9967" {
		t.Errorf("shares %s", share)
	}
	if sum := (b.counting + b.timing + b.resting) / 1e9; math.Abs(b.part-sum) > 1e-9 || b.least >= b.counting+b.timing {
		t.Errorf("part %g, want %g; at least %g", b.part, sum, b.least)
	}
	if idle := g.price(cost.Cost{Elapsed: time.Second}, after, after, knownCosts); idle.program != minProgram {
		t.Errorf("an idle program used %g", idle.program)
	}
}

// TestCalleesOfTimedCallsAreBilled checks that if half of the parent's calls are timed,
// half of the child's are.
func TestCalleesOfTimedCallsAreBilled(t *testing.T) {
	sums := sumByMethod([]arena.Thread{{Root: 1, Nodes: []arena.Node{
		{Ref: 2, Parent: 1, ID: 10, Calls: 10, Timed: 5, Self: 500},
		{Ref: 3, Parent: 2, ID: 11, Calls: 100, Self: 0},
		{Ref: 4, Parent: 3, ID: arena.AdjustmentID, Calls: 1, Timed: 1, Self: 1e9},
	}}}, 0)
	if s := sums[11]; s.calls != 100 || s.timed != 0 || s.nested != 50 {
		t.Errorf("%+v", s)
	}
	if _, is := sums[arena.AdjustmentID]; is {
		t.Error("what Sonde took is billed as a method")
	}
}

// TestPriceIsOfAllCalls checks that timed calls, callees of timed calls and counted calls
// are in the price.
func TestPriceIsOfAllCalls(t *testing.T) {
	threads := []arena.Thread{{Root: 1, Nodes: []arena.Node{
		{Ref: 2, Parent: 1, ID: 10, Calls: 10, Timed: 5},
		{Ref: 3, Parent: 2, ID: 11, Calls: 100},
	}}}
	timed, counted := 5+50.0, 5+50.0
	each := overhead.Expected(knownCosts, 0)
	want := timed*each.Timed + counted*each.Counted
	if got := price(knownCosts, threads, 1e9); math.Abs(got-want) > 0.01*want {
		t.Errorf("%g, not %g", got, want)
	}
}
