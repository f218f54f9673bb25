package arena

import (
	"slices"
	"testing"
)

func TestThreadsTellTreesAndStacks(t *testing.T) {
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

// TestThreadsThatAreAway tells those whose time is being taken, in both forms.
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
		thread.enter(3+i, On|Timed)
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
		if frame.ID != uint32(3+i) || frame.Start != int64(1000+i) {
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
