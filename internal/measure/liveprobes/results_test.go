package liveprobes

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/spec/spectest"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

func TestResults(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	plain, grouped, chained := probeOf("plain", "shop.Pay.charge"), probeOf("grouped", "shop.Pay.charge"), probeOf("chained", "shop.Pay.charge")
	grouped.GroupBy, chained.Context = []string{"tier", "kind"}, 2
	apply(t, w, &probeset.Set{
		Probes: []probeset.Probe{plain, grouped, chained},
		Tags:   []probeset.Tag{{Name: "kind", Value: spectest.Expr("$2"), At: spectest.Pattern("shop.Web.handle")}, {Name: "tier", Value: spectest.Expr("$1.tier"), At: spectest.Pattern("shop.Web.handle")}},
	})
	id := func(probe string) uint32 { return f.SpotID(f.spot(t, "shop/Pay.charge", "probe|"+probe)) }
	const first, second, third = arena.LabelOther + 7, arena.LabelOther + 8, arena.LabelOther + 9
	f.arrivals = []arena.Arrival{{Ticket: 1, ID: first, Text: "T0=7\n1=gold"}, {Ticket: 2, ID: second, Text: "T0"}, {Ticket: 3, ID: third, Text: "Cshop/Order.place(Lshop/Customer;I)Z\nshop/Web.handle(Lshop/Customer;I)Z"}}
	f.sum.Methods[id("plain")] = &arena.Totals{Calls: 5}
	f.sum.Methods[id("grouped")] = &arena.Totals{Calls: 10}
	f.sum.Methods[id("chained")] = &arena.Totals{Calls: 4}
	f.threads = []arena.Thread{{
		Root: 1, Nodes: []arena.Node{
			{Ref: 2, Parent: 1, ID: first}, {Ref: 3, Parent: 2, ID: id("grouped"), Calls: 3, Timed: 3, Nanos: 30},
			{Ref: 4, Parent: 1, ID: second}, {Ref: 5, Parent: 4, ID: id("grouped"), Calls: 1},
			{Ref: 6, Parent: 1, ID: arena.LabelOther}, {Ref: 7, Parent: 6, ID: id("grouped"), Calls: 2},
			{Ref: 8, Parent: 1, ID: id("grouped"), Undecided: 6},
			{Ref: 9, Parent: 1, ID: third}, {Ref: 10, Parent: 9, ID: id("chained"), Calls: 4},
		},
		Stack: []arena.Frame{{Node: 3, ID: id("grouped"), Start: 900_000}},
	}}
	results, err := w.Results()
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		probe, label              string
		calls, undecided, running uint64
	}
	var got []line
	ids := make(map[uint32]bool)
	for _, r := range results.Rows {
		got = append(got, line{r.Probe, r.Label.String(), r.Calls, r.Undecided, r.Running})
		if ids[r.ID] {
			t.Errorf("two rows are %d", r.ID)
		}
		ids[r.ID] = true
	}
	want := []line{
		{"chained", "< shop.Order.place < shop.Web.handle", 4, 0, 0},
		{"grouped", "", 4, 6, 0},
		{"grouped", "(other)", 2, 0, 0},
		{"grouped", "tier=(none) kind=(null)", 1, 0, 0},
		{"grouped", "tier=gold kind=7", 3, 0, 100_000},
		{"plain", "", 5, 0, 0},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
	if results.Ambiguous != 3 || results.ContextsLost != 4 {
		t.Errorf("%+v", results)
	}
	if label := w.Names().Labels[first]; label.String() != "kind=7 tier=gold" {
		t.Errorf("%v", label)
	}
	stacks, err := w.Stacks()
	if err != nil || !ids[stacks[0].Stack[0].ID] || stacks[0].Stack[0].ID == id("grouped") {
		t.Errorf("%v, %+v", err, stacks)
	}
}

// call lets a spot count calls as its hook does, as far as its quota goes.
func (f *fake) call(s instrument.Spot, calls uint64) {
	if s.Quota > 0 {
		calls = min(calls, f.most[s.Quota]-f.taken[s.Quota])
		f.taken[s.Quota] += calls
	}
	id := f.SpotID(s)
	if f.sum.Methods[id] == nil {
		f.sum.Methods[id] = &arena.Totals{}
	}
	f.sum.Methods[id].Calls += calls
}

func TestEnds(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	byCalls, byTime := probeOf("calls", "shop.Pay.charge"), probeOf("time", "shop.Pay.charge")
	byCalls.Calls, byTime.For = 10, time.Minute
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{byCalls, byTime}})
	limited, unlimited := f.spot(t, "shop/Pay.charge", "probe|calls"), f.spot(t, "shop/Pay.charge", "probe|time")
	if limited.Quota != 1 || unlimited.Quota != 0 {
		t.Errorf("got quotas %d and %d, want 1 and none", limited.Quota, unlimited.Quota)
	}
	now := time.Now()
	totals := func() *arena.Totals { return f.sum.Methods[f.SpotID(limited)] }
	ended := []End{{Probe: "calls", Why: EndedByCalls}}
	for _, step := range []struct {
		name string
		do   func()
		at   time.Duration
		want []End
	}{
		{"some calls", func() { f.call(limited, 9); f.call(unlimited, 100) }, 0, nil},
		{"the last is taken and not counted yet", func() { f.taken[1]++ }, 0, nil},
		{"it is counted and runs", func() { totals().Calls++; totals().Active = 1 }, lastCalls - 1, nil},
		{"it runs for long", func() {}, lastCalls, ended},
		{"it has returned", func() { totals().Active = 0 }, lastCalls - 1, ended},
		{"time is over, too", func() {}, time.Minute + time.Second, append(ended, End{Probe: "time", Why: EndedByTime})},
	} {
		step.do()
		if got := w.due(now.Add(step.at)); !slices.Equal(got, step.want) {
			t.Errorf("%s: got %v, want %v", step.name, got, step.want)
		}
	}
}

// TestQuotas checks which calls a probe may still count when its limit or the set changes, and that nobody else has its spots.
func TestQuotas(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	p := probeOf("pay", "shop.Pay.charge")
	p.Within = spectest.Sequences("shop.Web.handle", "shop.Order.place")
	set := func(calls uint64) *probeset.Set {
		p.Calls = calls
		return &probeset.Set{Probes: []probeset.Probe{p}}
	}
	first := func() instrument.Spot { return f.spot(t, "shop/Pay.charge", "probe|pay|within shop.Web.handle") }
	second := func() instrument.Spot { return f.spot(t, "shop/Pay.charge", "probe|pay|within shop.Order.place") }
	left := func() uint64 { return f.most[first().Quota] - f.taken[first().Quota] }
	for _, step := range []struct {
		name         string
		do           func()
		quota        uint16
		left, counts uint64
	}{
		{"no limit", func() { apply(t, w, set(0)); f.call(first(), 3); f.call(second(), 1) }, 0, 0, 4},
		{"calls before the limit count", func() { apply(t, w, set(10)) }, 1, 6, 4},
		{"both sequences take from it", func() { f.call(first(), 2); f.call(second(), 3) }, 1, 1, 9},
		{"a higher limit", func() { apply(t, w, set(12)) }, 1, 3, 9},
		{"a lower one", func() { apply(t, w, set(9)) }, 1, 0, 9},
		{"none is left", func() { f.call(first(), 5); f.call(second(), 5) }, 1, 0, 9},
		{"another level", func() { p.Level = probeset.Count; apply(t, w, set(12)) }, 1, 3, 9},
		{"ended and applied again", func() { apply(t, w, &probeset.Set{}); apply(t, w, set(12)) }, 2, 12, 9},
	} {
		step.do()
		if got := first().Quota; got != step.quota || second().Quota != got || step.quota > 0 && left() != step.left || w.callsOf("pay") != step.counts {
			t.Errorf("%s: quota %d, %d calls left, %d counted; want %d, %d, %d", step.name, got, left(), w.callsOf("pay"), step.quota, step.left, step.counts)
		}
	}
	other := newProbes(f, theLibrary(f.image), w.shared, Options{Held: true})
	spot := first()
	name := spot.FullName()
	apply(t, other, set(12))
	if got := f.spot(t, "shop/Pay.charge", "probe|pay|within shop.Web.handle|quota 3"); got.FullName() == name || f.most[3] != 0 || len(other.due(time.Now())) != 0 {
		t.Errorf("another look has spot %s with %d calls, want one of its own with none", got.FullName(), f.most[3])
	}
	if other.Begin(); f.most[3] != 12 {
		t.Errorf("a quota of %d calls has begun, want 12", f.most[3])
	}
	other.shared.freeQuotas(other, nil)
	if got := w.shared.quotas; len(got) != 1 || got[2] != w {
		t.Errorf("quotas in use: %v, want the second", got)
	}
}

// TestTooManyQuotas checks that a set with more limits than hooks have room for is refused, and changes nothing.
func TestTooManyQuotas(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	for number := range uint16(arena.MostQuotas) {
		w.shared.quotas[number+1] = &Probes{}
	}
	p := probeOf("pay", "shop.Pay.charge")
	p.Calls = 1
	if _, err := w.Apply(t.Context(), &probeset.Set{Probes: []probeset.Probe{p}}); err == nil || !strings.Contains(err.Error(), "at most 1024 probes") || len(f.spots) > 0 {
		t.Errorf("got %v and %d spots, want an error and none", err, len(f.spots))
	}
}
