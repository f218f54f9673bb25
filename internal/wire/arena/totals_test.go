package arena

import (
	"maps"
	"math/rand"
	"slices"
	"testing"
)

func sum(t *testing.T, m *model) map[uint32]Totals {
	t.Helper()
	s, err := m.arena.Sum(m.now)
	if err != nil {
		t.Fatal(err)
	}
	totals := make(map[uint32]Totals)
	for id, method := range s.Methods {
		totals[id] = *method
	}
	return totals
}

func expect(t *testing.T, have, want map[uint32]Totals) {
	t.Helper()
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if have[id] != want[id] {
			t.Errorf("method %d:\nhave %+v\nwant %+v", id, have[id], want[id])
		}
	}
	if len(have) != len(want) {
		t.Errorf("%d methods, not %d", len(have), len(want))
	}
}

func TestAnEmptyArenaSumsToNothing(t *testing.T) {
	s, err := newModel(t, 1<<16).arena.Sum(0)
	if err != nil || len(s.Methods) != 0 || s.Threads != 0 || s.Dropped != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestCallsAreTimedByOutermost(t *testing.T) {
	for name, flags := range map[string]Flags{"flat": On | Timed | Flat, "tree": On | Timed} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, 1<<16)
			thread := m.thread(7, false)
			thread.enter(10, flags) // 10 → 20 → 10, which throws
			m.now += 5
			thread.enter(20, flags)
			m.now += 3
			thread.enter(10, flags)
			m.now += 2
			thread.exit(true)
			thread.exit(false)
			m.now++
			thread.exit(false)
			expect(t, sum(t, m), map[uint32]Totals{
				10: {Calls: 2, Timed: 2, Nanos: 11, Self: 8, Threw: 1},
				20: {Calls: 1, Timed: 1, Nanos: 5, Self: 3},
			})
		})
	}
}

func TestCallsUnderWayAreRunning(t *testing.T) {
	m := newModel(t, 1<<16)
	thread := m.thread(7, false)
	thread.enter(10, On|Timed)
	m.now += 5
	thread.enter(10, On|Timed) // not told twice
	m.now += 5
	thread.enter(20, On) // only counted
	expect(t, sum(t, m), map[uint32]Totals{
		10: {Calls: 2, Active: 2, Running: 10},
		20: {Calls: 1},
	})
}

func TestSpilledAndDroppedCallsAreTold(t *testing.T) {
	m := newModel(t, 1<<16)
	for range 2 { // of a later table, and of the one before
		if err := m.arena.MakeSpill(10); err != nil {
			t.Fatal(err)
		}
		m.spill(5)
		m.spill(5 + 64) // has the same home
	}
	m.thread(1, false).enter(5, On|Flat)
	m.arena.memory.put64(headerDropped, 3)
	s, err := m.arena.Sum(m.now)
	if err != nil || s.Dropped != 3 || s.Threads != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	expect(t, sum(t, m), map[uint32]Totals{5: {Calls: 3, Untimed: 2}, 5 + 64: {Calls: 2, Untimed: 2}})
}

func TestCalibrationIsNoMethod(t *testing.T) {
	m := newModel(t, 1<<16)
	m.thread(1, false).enter(CalibrationID, On|Flat)
	s, err := m.arena.Sum(m.now)
	if err != nil || len(s.Methods) != 0 || s.Threads != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestSumIsWhatWasDone has threads call and return at random, and keeps its own
// account.
func TestSumIsWhatWasDone(t *testing.T) {
	for _, mode := range []Flags{On | Flat, On, On | Timed | Flat, On | Timed} {
		random := rand.New(rand.NewSource(int64(mode)))
		m := newModel(t, 4<<20)
		account := make(map[uint32]Totals)
		var threads []*accountedThread
		for i := range 5 {
			threads = append(threads, &accountedThread{modelThread: m.thread(uint64(i+1), i%2 == 0), account: account})
		}
		for range 20_000 {
			m.now += int64(random.Intn(9))
			thread := threads[random.Intn(len(threads))]
			if len(thread.calls) > 0 && random.Intn(20) < 9 {
				thread.leave(random.Intn(4) == 0)
			} else {
				thread.call(3+uint32(random.Intn(7)), mode)
			}
		}
		for _, thread := range threads {
			thread.running(mode)
		}
		t.Logf("mode %d: %d frames deep, %d bytes", mode, len(threads[0].calls), m.arena.memory.u64(headerNext))
		expect(t, sum(t, m), account)
	}
}

// An accountedThread keeps books on what it has the model write.
type accountedThread struct {
	*modelThread
	account map[uint32]Totals
	calls   []accountedCall
}

type accountedCall struct {
	id           uint32
	start, child int64
}

func (a *accountedThread) call(id uint32, flags Flags) {
	a.enter(id, flags)
	a.calls = append(a.calls, accountedCall{id: id, start: a.now})
	totals := a.account[id]
	totals.Calls++
	a.account[id] = totals
}

func (a *accountedThread) leave(threw bool) {
	last := len(a.calls) - 1
	call := a.calls[last]
	a.calls = a.calls[:last]
	framed := a.open[last].framed
	a.exit(threw)
	totals := a.account[call.id]
	if threw {
		totals.Threw++
	}
	if framed {
		took := a.now - call.start
		totals.Timed++
		totals.Self += took - call.child
		if last > 0 {
			a.calls[last-1].child += took
		}
		if !slices.ContainsFunc(a.calls, func(outer accountedCall) bool { return outer.id == call.id }) {
			totals.Nanos += uint64(took)
		}
	}
	a.account[call.id] = totals
}

// running adds what is under way at the end.
func (a *accountedThread) running(flags Flags) {
	if flags&Timed == 0 {
		return
	}
	for i, call := range a.calls {
		totals := a.account[call.id]
		totals.Active++
		if !slices.ContainsFunc(a.calls[:i], func(outer accountedCall) bool { return outer.id == call.id }) {
			totals.Running += uint64(a.now - call.start)
		}
		a.account[call.id] = totals
	}
}

func TestAdd(t *testing.T) {
	one := Totals{1, 2, 3, -4, 5, 6, 7, 8, 9, 10, nil, false}
	added := one
	added.Add(&one)
	if want := (Totals{2, 4, 6, -8, 10, 12, 14, 16, 9, 20, nil, false}); added != want {
		t.Errorf("%+v", added)
	}
	spread := &Spread{}
	spread.Add(spread)
	added.Add(&Totals{Max: 11, Spread: spread})
	if added.Max != 11 || added.Spread == nil || added.Spread == spread {
		t.Errorf("%+v", added)
	}
}
