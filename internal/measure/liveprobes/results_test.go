package liveprobes

import (
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/spec/spectest"
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

func TestEnds(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	byCalls, byTime := probeOf("calls", "shop.Pay.charge"), probeOf("time", "shop.Pay.charge")
	byCalls.Calls, byTime.For = 10, time.Minute
	f.sum.Methods[100_000] = &arena.Totals{Calls: 5}
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{byCalls, byTime}})
	now := time.Now()
	if due := w.due(now); len(due) != 0 {
		t.Errorf("%v", due)
	}
	f.sum.Methods[f.SpotID(f.spot(t, "shop/Pay.charge", "probe|calls"))] = &arena.Totals{Calls: 15}
	if due := w.due(now); len(due) != 1 || due[0] != (End{Probe: "calls", Why: EndedByCalls, Limit: 10}) {
		t.Errorf("%v", due)
	}
	if due := w.due(now.Add(time.Hour)); len(due) != 2 || due[1] != (End{Probe: "time", Why: EndedByTime}) {
		t.Errorf("%v", due)
	}
}

// TestACallCountsOnceForAProbe: both sequences of a probe hold for one call.
func TestACallCountsOnceForAProbe(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	p := probeOf("pay", "shop.Pay.charge")
	p.Calls, p.Within = 10, spectest.Sequences("shop.Web.handle", "shop.Order.place")
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
	ids := 0
	for id, name := range w.names {
		if name.Probe == "pay" {
			f.sum.Methods[id] = &arena.Totals{Calls: 6}
			ids++
		}
	}
	if due := w.due(time.Now()); ids != 2 || len(due) != 0 {
		t.Errorf("%d spots with 6 calls each: %v", ids, due)
	}
}
