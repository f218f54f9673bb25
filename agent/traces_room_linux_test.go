package agent_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"testing"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// stateOf is that of the arena's only ring.
func stateOf(t *testing.T, a *arena.Arena) arena.RingState {
	t.Helper()
	rings, err := a.Rings()
	if err != nil || len(rings) != 1 {
		t.Fatalf("%d rings, %v", len(rings), err)
	}
	state, err := rings[0].State()
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func tracedTotals(t *testing.T, a *arena.Arena, name string) *arena.Totals {
	t.Helper()
	sum, err := a.Sum(0)
	if err != nil {
		t.Fatal(err)
	}
	if totals := sum.Methods[traced[name].ID]; totals != nil {
		return totals
	}
	return &arena.Totals{}
}

// TestTracesHaveBounds asks of one program after the other, in one JVM.
func TestTracesHaveBounds(t *testing.T) {
	everyTracer(t, func(t *testing.T, g *guest) {
		for _, test := range []func(*testing.T, *guest){
			fullRingsDropAndCount, fullRingsAreLeftAlone, tracesEndAtALevel, someRootsOpenTransactions,
			arenasWithoutRoomForARing, transactionsOutliveNoArena, fullRingsKeepWhatHasRoom,
		} {
			test(t, g)
		}
		g.leave()
	})
}

// fullRingsDropAndCount has more calls than a ring has room for: outer calls are
// kept, what is lost is counted, and there is room again when Sonde has read.
func fullRingsDropAndCount(t *testing.T, g *guest) {
	for _, root := range []string{"root", "lroot"} {
		a := g.mapTraces(1024, 0)
		const calls = 1000
		for round := range 5 {
			became := g.steps("a", fmt.Sprintf("e%s ein c0:%064d h%d:in x x", root, 0, calls))
			var framed int
			if _, err := fmt.Sscanf(became, "F F - %d - -", &framed); err != nil || framed < 10 || framed > 20 {
				t.Fatalf("%s: %s", root, became)
			}
			got := readTraces(t, a)["A"]
			transaction := fmt.Sprint("A", round+1)
			if want := fmt.Sprintf("%s %s 0 root lost %d", transaction, root, calls-framed); len(got) != framed+3 || got[len(got)-1] != want {
				t.Fatalf("%s: %d records for %d calls, the last %q, want %q", root, len(got), framed+2, got[len(got)-1], want)
			}
			if !slices.Contains(got, transaction+" in 1") {
				t.Errorf("%s: the outer call is lost: %q", root, got)
			}
			state := stateOf(t, a)
			if in := tracedTotals(t, a, "in"); in.Calls != uint64(round+1)*(calls+1) || in.Calls-in.Timed != state.Dropped {
				t.Errorf("%s: %d calls, of which %d were timed and %d dropped", root, in.Calls, in.Timed, state.Dropped)
			}
			if state.Opened != uint64(round+1) || state.Transaction != 0 || state.Unread != 0 {
				t.Errorf("%s: %+v", root, state)
			}
		}
		g.unmap()
		g.order("a .")
	}
}

// fullRingsAreLeftAlone has roots that find no room: they are counted, and nothing
// is traced below them.
func fullRingsAreLeftAlone(t *testing.T, g *guest) {
	a := g.mapTraces(1024, 0)
	framed, err := strconv.Atoi(g.steps("a", "h500:root"))
	if err != nil || framed < 15 || framed > 21 {
		t.Fatalf("%d roots traced, %v", framed, err)
	}
	if got := g.steps("a", "eroot ein x x elroot d ein x s1"); got != "1 0 - - F true 0 - -" {
		t.Error(got)
	}
	if state := stateOf(t, a); state.Dropped != uint64(500-framed)+2 || state.Opened != uint64(framed) {
		t.Errorf("%+v", state)
	}
	if root, late := tracedTotals(t, a, "root"), tracedTotals(t, a, "lroot"); root.Calls != 501 || late.Calls != 1 {
		t.Errorf("%+v, %+v", root, late)
	}
	if got := len(readTraces(t, a)["A"]); got != framed {
		t.Errorf("%d records, want %d", got, framed)
	}
	if got := g.steps("a", "eroot ein x x"); got != "F F - -" {
		t.Error(got)
	}
	g.unmap()
	g.order("a .")
}

func tracesEndAtALevel(t *testing.T, g *guest) {
	a := g.mapTraces(1<<17, 1)
	if got := g.steps("a", "eroot ein ein elin s1 x x elin elin s0 s1 x"); got != "F F 1 F - - - F F - - -" {
		t.Error(got)
	}
	want := []string{"A1 in 1", "A1 lin 1", "A1 root 0 root"}
	if got := readTraces(t, a)["A"]; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if in, late := tracedTotals(t, a, "in"), tracedTotals(t, a, "lin"); in.Calls != 2 || late.Calls != 2 || stateOf(t, a).Dropped != 0 {
		t.Errorf("%+v, %+v", in, late)
	}
	g.unmap()
	g.order("a .")
}

// someRootsOpenTransactions draws one in ten by lot, so that at most 19 calls lie
// between two.
func someRootsOpenTransactions(t *testing.T, g *guest) {
	a := g.mapTraces(1<<20, 0)
	framed, err := strconv.Atoi(g.steps("a", "h2000:some"))
	if err != nil || framed < 2000/19 || framed > 1000 {
		t.Errorf("%d transactions, %v", framed, err)
	}
	if state, calls := stateOf(t, a), tracedTotals(t, a, "some"); state.Opened != uint64(framed) || calls.Calls != 2000 || calls.Timed != uint64(framed) {
		t.Errorf("%+v, %+v", state, calls)
	}
	g.unmap()
	g.order("a .")
}

// arenasWithoutRoomForARing count calls, and say how many they did not trace.
func arenasWithoutRoomForARing(t *testing.T, g *guest) {
	a := g.mapTraces(1<<26, 0)
	if got := g.steps("a", "eroot ein x x elroot s1 elroot s0"); got != "1 0 - - F - F -" {
		t.Error(got)
	}
	if rings, err := a.Rings(); len(rings) != 0 || err != nil {
		t.Errorf("%d rings, %v", len(rings), err)
	}
	if missed, err := a.Ringless(); missed != 3 || err != nil {
		t.Errorf("%d, %v", missed, err)
	}
	if root, late := tracedTotals(t, a, "root"), tracedTotals(t, a, "lroot"); root.Calls != 1 || late.Calls != 1 {
		t.Errorf("%+v, %+v", root, late)
	}
	g.unmap()
	g.order("a .")
}

// transactionsOutliveNoArena has the arena go while calls are under way.
func transactionsOutliveNoArena(t *testing.T, g *guest) {
	g.mapTraces(1<<17, 0)
	if got := g.steps("a", "eroot elin ein t1"); got != "F F F T" {
		t.Error(got)
	}
	g.unmap()
	if got := g.steps("a", "q d c0:x x s0 x eroot x"); got != "false false - - - - 0 -" {
		t.Error(got)
	}
	a := g.mapTraces(1<<17, 0)
	if got := g.steps("a", "ein x eroot ein x x"); got != "0 - F F - -" {
		t.Error(got)
	}
	if got, want := readTraces(t, a)["A"], []string{"A1 in 1", "A1 root 0 root"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	g.unmap()
	g.order("a .")
}

// fullRingsKeepWhatHasRoom is TestRandomTraces with rings that are full most of the
// time, and read now and then.
func fullRingsKeepWhatHasRoom(t *testing.T, g *guest) {
	a := g.mapTraces(1024, 0)
	random := rand.New(rand.NewSource(1))
	play := newPlay(random, []string{"v", "w"})
	play.ask = func(actor, step string) string { return g.steps(actor, step) }
	play.probes = slices.DeleteFunc(play.probes, func(name string) bool { return name == "bare" })
	read := make(map[string][]string)
	for turn := range 60 {
		play.next()
		if turn%4 != 0 {
			continue
		}
		for ring, texts := range readTraces(t, a) {
			read[ring] = append(read[ring], texts...)
		}
		for _, actor := range play.actors {
			if want := actor.thread.published(); !slices.Equal(read[actor.thread.ring], want) {
				t.Fatalf("turn %d, ring %s\n%s", turn, actor.thread.ring, firstDifference(read[actor.thread.ring], want))
			}
		}
	}
	dropped := uint64(0)
	rings, err := a.Rings()
	if err != nil {
		t.Fatal(err)
	}
	for _, ring := range rings {
		state, err := ring.State()
		if err != nil {
			t.Fatal(err)
		}
		dropped += state.Dropped
	}
	if dropped < 50 {
		t.Errorf("only %d calls found no room", dropped)
	}
	g.unmap()
}
