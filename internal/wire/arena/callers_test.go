package arena

import (
	"errors"
	"testing"
)

// drawn counts, or times, a call by its caller, as hooks do beside counting it in
// its method's node.
func (t *modelThread) drawn(caller, id uint32, nanos int64) {
	w, root := t.arena.memory, t.arena.memory.u32(t.block+blockRoot)
	flat := t.child(root, id)
	w.put64(flat+nodeCalls, w.u64(flat+nodeCalls)+1)
	node := t.child(uint32(t.child(root, caller)/layoutUnit), id)
	w.put64(node+nodeCalls, w.u64(node+nodeCalls)+1)
	if nanos == 0 {
		return
	}
	for _, at := range []uint64{nodeNanos, nodeSelf} {
		w.put64(node+at, w.u64(node+at)+uint64(nanos))
	}
	w.put64(node+nodeTimed, w.u64(node+nodeTimed)+1)
	w.put64(node+nodeMax, max(w.u64(node+nodeMax), uint64(nanos)))
	if w.u32(node+nodeSpread) == 0 {
		w.put32(node+nodeSpread, t.take(spreadSize))
	}
	count := uint64(w.u32(node+nodeSpread))*layoutUnit + 4*uint64(bucketOf(uint64(nanos)))
	w.put32(count, w.u32(count)+1)
}

func TestEdgesAreAddedUpOverThreads(t *testing.T) {
	const (
		caller = layoutCallersFirst + 7
		other  = layoutCallersFirst + layoutCallersMost - 1
		method = layoutFirstMethodId
	)
	m := newModel(t, 1<<16)
	one, two := m.thread(1, false), m.thread(2, true)
	one.enter(method+1, On|Timed|Flat)
	one.drawn(caller, method, 0)
	one.drawn(CallerEntry, method, 0)
	two.drawn(caller, method, 10)
	two.drawn(caller, method, 30)
	two.drawn(other, method, 7)
	two.drawn(caller, method+2, 0)
	two.enter(method, On|Flat)
	threads, err := m.arena.Threads()
	if err != nil {
		t.Fatal(err)
	}
	edges := Edges(threads)
	want := []Edge{
		{Caller: CallerEntry, Method: method, Calls: 1},
		{Caller: caller, Method: method, Calls: 3, Timed: 2, Nanos: 40, Self: 40, Max: 30},
		{Caller: other, Method: method, Calls: 1, Timed: 1, Nanos: 7, Self: 7, Max: 7},
		{Caller: caller, Method: method + 2, Calls: 1},
	}
	if len(edges) != len(want) {
		t.Fatalf("%+v", edges)
	}
	for i, edge := range edges {
		if (edge.Spread != nil) != (edge.Timed > 0) || edge.Spread != nil && edge.Spread.Count() != edge.Timed {
			t.Errorf("%+v has the spread %+v", edge, edge.Spread)
		}
		if edge.Spread = nil; edge != want[i] {
			t.Errorf("%+v, not %+v", edge, want[i])
		}
	}
	// Every call is of its method's node.
	totals := sum(t, m)
	if spread := totals[method].Spread; spread == nil || spread.Count() != 3 {
		t.Errorf("the spread of all callers is %+v", spread)
	}
	expect(t, totals, map[uint32]Totals{
		method:     {Calls: 6, Timed: 3, Nanos: 47, Self: 47, Max: 30, Spread: totals[method].Spread},
		method + 1: {Calls: 1, Active: 1},
		method + 2: {Calls: 1},
	})
}

func TestCallersAreToldFromMethods(t *testing.T) {
	for id, want := range map[uint32]bool{
		CalibrationID: false, layoutCallersFirst - 1: false, CallerUnknown: true, CallerEntry: true,
		layoutCallersFirst + layoutCallersMost - 1: true, layoutCallersFirst + layoutCallersMost: false, layoutFirstMethodId: false,
	} {
		if IsCaller(id) != want {
			t.Errorf("%d is a caller: %v", id, !want)
		}
	}
}

func TestSpreadThatLeadsOutOfTheArena(t *testing.T) {
	m := newModel(t, 1<<16)
	thread := m.thread(1, false)
	thread.enter(layoutFirstMethodId, On)
	node := thread.child(m.arena.memory.u32(thread.block+blockRoot), layoutFirstMethodId)
	m.arena.memory.put32(node+nodeSpread, (1<<16-64)/layoutUnit)
	if _, err := m.arena.Threads(); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}
