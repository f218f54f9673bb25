package arena

import (
	"errors"
	"slices"
	"testing"
)

func TestThreadsHaveTreesAndStacks(t *testing.T) {
	m := newModel(t, 1<<20)
	first := m.thread(7, false)
	second := m.thread(8, true)
	first.enter(10, On|Timed)
	m.now += 4
	first.enter(20, On)
	first.enter(30, On|Timed)
	second.enter(10, On|Flat)
	second.exit(true)
	threads, err := m.arena.Threads()
	if err != nil || len(threads) != 2 {
		t.Fatalf("%d threads, %v", len(threads), err)
	}
	newest, oldest := threads[0], threads[1]
	if newest.ID != 8 || !newest.Virtual || newest.Owners != 1 || len(newest.Stack) != 0 {
		t.Errorf("the second thread is %+v", newest)
	}
	if n := newest.Nodes; len(n) != 1 || n[0].ID != 10 || n[0].Threw != 1 || n[0].Parent != newest.Root {
		t.Errorf("the second thread has nodes %+v", n)
	}
	if oldest.ID != 7 || oldest.Virtual {
		t.Errorf("the first thread is %+v", oldest)
	}
	ids := make(map[uint32]uint32)
	for _, n := range oldest.Nodes {
		ids[n.Ref] = n.ID
	}
	var path []uint32
	for _, n := range oldest.Nodes {
		path = append(path, ids[n.Parent], n.ID)
	}
	if !slices.Equal(path, []uint32{0, 10, 10, 20, 20, 30}) {
		t.Errorf("parents and children are %v", path)
	}
	wantStack := []Frame{{ID: 10, Start: 1000}, {ID: 30, Start: 1004}}
	for i := range oldest.Stack {
		oldest.Stack[i].Node = 0
	}
	if !slices.Equal(oldest.Stack, wantStack) {
		t.Errorf("the stack is %+v", oldest.Stack)
	}
}

// TestThreadsThatAreAway checks that waiting threads are marked, in both forms.
func TestThreadsThatAreAway(t *testing.T) {
	m := newModel(t, 1<<20)
	for tid, flags := range []uint32{0, layoutBlockAway, layoutBlockAway | layoutBlockVirtual} {
		thread := m.thread(uint64(tid), false)
		thread.enter(10, On|Timed)
		m.arena.memory.put32(thread.block+blockFlags, flags)
	}
	for _, read := range []func() ([]Thread, error){m.arena.Threads, m.arena.Stacks} {
		threads, err := read()
		if err != nil || len(threads) != 3 {
			t.Fatalf("%d threads, %v", len(threads), err)
		}
		for _, thread := range threads {
			if thread.Away != (thread.ID > 0) || thread.Virtual != (thread.ID == 2) {
				t.Errorf("%+v", thread)
			}
		}
	}
}

// TestDeepStacksAreRead goes through several pieces of frames and of nodes.
func TestDeepStacksAreRead(t *testing.T) {
	const depth = 5000
	m := newModel(t, 2<<20)
	thread := m.thread(7, false)
	for i := range uint32(depth) {
		thread.enter(layoutFirstMethodId+i, On|Timed)
		m.now++
	}
	threads, err := m.arena.Threads()
	if err != nil {
		t.Fatal(err)
	}
	if len(threads[0].Nodes) != depth || len(threads[0].Stack) != depth {
		t.Fatalf("%d nodes, %d frames", len(threads[0].Nodes), len(threads[0].Stack))
	}
	for i, frame := range threads[0].Stack {
		if frame.ID != uint32(layoutFirstMethodId+i) || frame.Start != int64(1000+i) {
			t.Fatalf("frame %d is %+v", i, frame)
		}
	}
}

// TestReadingWhileAThreadWrites sees counts grow and never fall, through growing
// trees and stacks.
func TestReadingWhileAThreadWrites(t *testing.T) {
	const rounds, depth = 200, 30
	m := newModel(t, 1<<20)
	thread := m.thread(1, false)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for round := range uint32(rounds) {
			for i := range uint32(depth) {
				thread.enter(3+(i+round)%40, On|Timed)
			}
			for range depth {
				thread.exit(false)
			}
		}
	}()
	var calls uint64
	for writing := true; writing; {
		select {
		case <-ended:
			writing = false
		default:
		}
		s, err := m.arena.Sum(1000)
		if err != nil {
			t.Fatal(err)
		}
		var now uint64
		for _, totals := range s.Methods {
			now += totals.Calls
		}
		if now < calls {
			t.Fatalf("%d calls, and %d before", now, calls)
		}
		calls = now
	}
	if calls != rounds*depth {
		t.Errorf("%d calls of %d", calls, rounds*depth)
	}
}

// TestHandedWorkNamesItsOrigin has a thread that works for a node of another one, whose ref is also the id of a method.
func TestHandedWorkNamesItsOrigin(t *testing.T) {
	m := newModel(t, 1<<20)
	first, second := m.thread(7, false), m.thread(8, false)
	first.enter(10, On|Timed)
	from := uint32(first.open[0].node / layoutUnit)
	root := m.arena.memory.u32(second.block + blockRoot)
	part := second.child(uint32(second.child(root, layoutHandedId)/layoutUnit), from)
	second.open = append(second.open, modelCall{node: part})
	for _, id := range []uint32{10, from} {
		second.enter(id, On|Timed)
		m.now += 5
		second.exit(false)
	}
	threads, err := m.arena.Threads()
	if err != nil {
		t.Fatal(err)
	}
	var got []Node
	for _, n := range threads[0].Nodes {
		got = append(got, Node{ID: n.ID, From: n.From, Parent: n.Parent, Calls: n.Calls})
	}
	ref := uint32(part / layoutUnit)
	if want := []Node{{ID: HandedID, From: from, Parent: root}, {ID: 10, Parent: ref, Calls: 1}, {ID: from, Parent: ref, Calls: 1}}; !slices.Equal(got, want) {
		t.Errorf("nodes %+v, want %+v", got, want)
	}
	sum, err := m.arena.Sum(m.now)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[uint32]uint64{10: 5, from: 5} {
		if got := sum.Methods[id]; got == nil || got.Nanos != want {
			t.Errorf("method %d: %+v, want %d ns", id, got, want)
		}
	}
	if len(sum.Methods) != 2 {
		t.Errorf("%d methods, want 2", len(sum.Methods))
	}
}

// drawn counts, or times, a call by its caller, as hooks do in addition to counting it in
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
		{CallerEntry, method, Totals{Calls: 1}},
		{caller, method, Totals{Calls: 3, Timed: 2, Nanos: 40, Self: 40, Max: 30}},
		{other, method, Totals{Calls: 1, Timed: 1, Nanos: 7, Self: 7, Max: 7}},
		{caller, method + 2, Totals{Calls: 1}},
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

func TestCallersAreNoMethods(t *testing.T) {
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

func TestLabelsAreNoMethods(t *testing.T) {
	for id, want := range map[uint32]bool{
		layoutLabelsFirst - 1: false, LabelOther: true, layoutLabelsFirst + layoutLabelsMost - 1: true,
		layoutLabelsFirst + layoutLabelsMost: false, layoutCallersFirst + layoutCallersMost: false, layoutFirstMethodId: false,
	} {
		if IsLabel(id) != want || want && !ReservedID(id) {
			t.Errorf("%d is a label: %v", id, IsLabel(id))
		}
	}
}

// What a spot did under labels is added up; the labels themselves did nothing.
func TestLabelledCallsAreSummed(t *testing.T) {
	const spot, label = layoutFirstMethodId + 1, LabelOther + 3
	m := newModel(t, 1<<16)
	for i := range uint64(2) {
		thread := m.thread(i+1, false)
		root := thread.arena.memory.u32(thread.block + blockRoot)
		for _, number := range []uint32{LabelOther, label} {
			node := thread.child(uint32(thread.child(root, number)/layoutUnit), spot)
			thread.arena.memory.put64(node+nodeCalls, 5+i)
		}
		below := thread.child(root, spot)
		thread.arena.memory.put64(below+nodeUndecided, 4)
		thread.arena.memory.put64(below+nodeThrew, 1)
	}
	expect(t, sum(t, m), map[uint32]Totals{spot: {Calls: 22, Undecided: 8, Threw: 2}})
}
