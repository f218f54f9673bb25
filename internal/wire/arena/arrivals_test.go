package arena

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// ticket is taken before the slot is written.
func (m *model) ticket() uint64 {
	ticket := m.arena.memory.u64(headerArrivalsNext) + 1
	m.arena.memory.put64(headerArrivalsNext, ticket)
	return ticket
}

func (m *model) announce(ticket uint64, id uint32, text string) {
	w := m.arena.memory
	slot := uint64(w.u32(headerArrivals))*layoutUnit + (ticket-1)%layoutArrivals*arrivalSize
	w.put32(slot+arrivalId, id)
	w.put32(slot+arrivalLength, uint32(len(text)))
	copy(w[slot+arrivalText:slot+arrivalSize], text)
	w.put64(slot+arrivalTicket, ticket)
}

func arrivals(t *testing.T, a *Arena, after uint64) []Arrival {
	t.Helper()
	got, err := a.Arrivals(after)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestArrivalsAreReturnedInOrder(t *testing.T) {
	m := newModel(t, 1<<18)
	if got := arrivals(t, m.arena, 0); got != nil {
		t.Errorf("%v where there is no ring", got)
	}
	if err := m.arena.MakeArrivals(); err != nil {
		t.Fatal(err)
	}
	first, second := m.ticket(), m.ticket()
	m.announce(second, 0, "a/B.c()V")
	if got := arrivals(t, m.arena, 0); got != nil {
		t.Errorf("%v, and the first is not written yet", got)
	}
	m.announce(first, 7, "")
	want := []Arrival{{1, 7, ""}, {2, 0, "a/B.c()V"}}
	if got := arrivals(t, m.arena, 0); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := arrivals(t, m.arena, 1); !slices.Equal(got, want[1:]) {
		t.Errorf("%v", got)
	}
	if got := arrivals(t, m.arena, 2); got != nil {
		t.Errorf("%v", got)
	}
}

func TestTheRingGoesRound(t *testing.T) {
	m := newModel(t, 1<<18)
	if err := m.arena.MakeArrivals(); err != nil {
		t.Fatal(err)
	}
	var after uint64
	for round := range uint32(5) {
		for i := range uint32(100) {
			m.announce(m.ticket(), 100*round+i+1, "")
		}
		got := arrivals(t, m.arena, after)
		for i, arrival := range got {
			if arrival.Ticket != after+uint64(i)+1 || uint64(arrival.ID) != arrival.Ticket {
				t.Fatalf("round %d: %+v", round, arrival)
			}
		}
		if len(got) != 100 {
			t.Fatalf("round %d: %d arrivals", round, len(got))
		}
		after += 100
		m.arena.Answer(after)
	}
}

// TestAFullRingIsNotHeldUp has a thread end between taking a ticket and writing
// its slot.
func TestAFullRingIsNotHeldUp(t *testing.T) {
	m := newModel(t, 1<<18)
	if err := m.arena.MakeArrivals(); err != nil {
		t.Fatal(err)
	}
	m.announce(m.ticket(), 5, "")
	m.ticket()
	for range layoutArrivals - 3 {
		m.announce(m.ticket(), 5, "")
	}
	if got := arrivals(t, m.arena, 0); len(got) != 1 {
		t.Errorf("%d arrivals, of which the second may still be written", len(got))
	}
	m.announce(m.ticket(), 6, "")
	if got := arrivals(t, m.arena, 0); len(got) != layoutArrivals-1 || got[1].Ticket != 3 {
		t.Errorf("%d arrivals", len(got))
	}
}

func TestAnswersOnlyGrow(t *testing.T) {
	m := newModel(t, 1<<18)
	m.arena.Answer(5)
	m.arena.Answer(3)
	m.arena.SetWait(time.Second)
	w := m.arena.memory
	if w.u64(headerArrivalsAnswered) != 5 || w.u64(headerWaitNanos) != 1e9 {
		t.Errorf("%d answered, a wait of %d", w.u64(headerArrivalsAnswered), w.u64(headerWaitNanos))
	}
	m.arena.SetWait(-1)
	w.put64(headerArrivalsLost, 4)
	if w.u64(headerWaitNanos) != 0 || m.arena.ArrivalsLost() != 4 {
		t.Errorf("a wait of %d, %d lost", w.u64(headerWaitNanos), m.arena.ArrivalsLost())
	}
}

func TestTextsEndWithTheirSlot(t *testing.T) {
	m := newModel(t, 1<<18)
	if err := m.arena.MakeArrivals(); err != nil {
		t.Fatal(err)
	}
	m.announce(m.ticket(), 0, strings.Repeat("x", 1000))
	if got := arrivals(t, m.arena, 0); len(got[0].Text) != arrivalSize-arrivalText {
		t.Errorf("%d bytes", len(got[0].Text))
	}
}

func TestAdjustmentsAreNoMethods(t *testing.T) {
	m := newModel(t, 1<<16)
	thread := m.thread(1, false)
	thread.enter(AdjustmentID, On|Timed)
	m.now += 5
	thread.exit(false)
	s, err := m.arena.Sum(m.now)
	if err != nil || len(s.Methods) != 0 || s.Threads != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	threads, err := m.arena.Threads()
	if err != nil || len(threads[0].Nodes) != 1 || threads[0].Nodes[0].Nanos != 5 || threads[0].Nodes[0].Born != 1000 {
		t.Errorf("%+v, %v", threads, err)
	}
}

func TestStacksHaveRunningCalls(t *testing.T) {
	m := newModel(t, 1<<16)
	idle, busy := m.thread(1, false), m.thread(2, false)
	idle.enter(10, On)
	busy.enter(10, On|Timed)
	m.now += 4
	busy.enter(20, On|Timed)
	m.now += 3
	busy.exit(false)
	stacks, err := m.arena.Stacks()
	if err != nil || len(stacks) != 1 || stacks[0].ID != 2 || len(stacks[0].Stack) != 1 {
		t.Fatalf("%+v, %v", stacks, err)
	}
	if frame := stacks[0].Stack[0]; frame.ID != 10 || frame.Start != 1000 || frame.Child != 3 {
		t.Errorf("%+v", frame)
	}
}

func TestContextLossesAreRead(t *testing.T) {
	m := newModel(t, 1<<18)
	m.arena.memory.put64(headerAmbiguous, 3)
	m.arena.memory.put64(headerContextsLost, 4)
	if ambiguous, lost := m.arena.ContextLosses(); ambiguous != 3 || lost != 4 {
		t.Errorf("%d tasks in two contexts, %d contexts without room; want 3 and 4", ambiguous, lost)
	}
}
