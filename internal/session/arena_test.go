package session

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestTheArenaGrowsAsItFills has deep trees on ever new threads use up more than
// an arena has at first. No call is lost over that.
func TestTheArenaGrowsAsItFills(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach, live.Recursion)
		p.Run(1)
		s := open(t, p)
		put(t, s, arena.On|arena.Timed, "recursion.**")
		rounds := uint64(0)
		used, limit := s.Arena.Room()
		for rounds < 1000 && used <= firstRoom {
			p.Run(5)
			rounds += 5
			used, limit = s.Arena.Room()
		}
		if used <= firstRoom || limit < used || limit <= firstRoom || limit > s.Arena.Length() {
			t.Errorf("after %d rounds %d bytes are used, %d allocated", rounds, used, limit)
		}
		for method, calls := range map[string]uint64{
			"recursion.Main.deep(": 5001, "recursion.Main.fibonacci": 1973, "recursion.Main.afterOverflow": 10,
		} {
			if totals := told(t, s, method); totals.Calls != rounds*calls {
				t.Errorf("%s: %+v in %d rounds, want %d calls", method, totals, rounds, rounds*calls)
			}
		}
		if s.Full() != nil {
			t.Error(s.Full())
		}
		p.Check()
	})
}

// TestDeepVirtualThreads shows that a virtual thread keeps its place as long as
// it has calls under way, however deep: no other's calls appear below its own.
func TestDeepVirtualThreads(t *testing.T) {
	s, order := deepProgram(t)
	put(t, s, arena.On, "Deep.down", "Deep.plain", "Deep.turns")
	var downs, plains uint64
	if _, err := fmt.Sscanf(order("deep"), "done %d %d", &downs, &plains); err != nil {
		t.Fatal(err)
	}
	if have := told(t, s, "Deep.down").Calls; have != downs {
		t.Errorf("%d calls of down, want %d", have, downs)
	}
	if have := told(t, s, "Deep.plain").Calls; have != plains {
		t.Errorf("%d calls of plain, want %d", have, plains)
	}
	threads, err := s.Threads()
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[uint32]string)
	for _, m := range s.Methods() {
		names[m.ID] = m.Name
	}
	for _, thread := range threads {
		by := make(map[uint32]string)
		for _, node := range thread.Nodes {
			by[node.Ref] = names[node.ID]
		}
		for _, node := range thread.Nodes {
			// A call for which there was no room is not in the tree, and what it calls is at the root.
			if names[node.ID] != "down" && by[node.Parent] == "down" {
				t.Fatalf("%d calls of %s by down", node.Calls, names[node.ID])
			}
		}
	}
}

// TestDisplacedThreadsAreOutside shows that a thread whose place is not where it
// is looked for first is outside a context all the same.
func TestDisplacedThreadsAreOutside(t *testing.T) {
	s, order := deepProgram(t)
	put(t, s, arena.On, "Deep.plain")
	put(t, s, arena.On|arena.Inside, "Deep.inside")
	order("displaced")
	if have := told(t, s, "Deep.inside").Calls; have != 0 {
		t.Errorf("%d calls were counted outside the context", have)
	}
}

// deepProgram starts Deep, which needs virtual threads, and enters it.
func deepProgram(t *testing.T) (*Look, func(order string) string) {
	t.Helper()
	jdk := jvmtest.Need(t, 25)
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{filepath.Join("testdata", "Deep.java")}})
	p := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-Xss16m", "-cp", classes, "Deep"}})
	s, err := Open(t.Context(), p.PID, Settings{Command: "sonde test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = s.Close(t.Context())
		_ = s.Release()
	})
	return s, func(order string) string {
		t.Helper()
		if _, err := fmt.Fprintln(p.Stdin, order); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(p.Await(t, "done"))
	}
}
