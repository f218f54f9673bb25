package session

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
	"github.com/sonde-jvm/sonde/test/live"
)

// join begins another look.
func join(t *testing.T, l *Look, command string) *Look {
	t.Helper()
	another := l.Session.look(Settings{Command: command})
	if another == nil {
		t.Fatal("the session is ending")
	}
	return another
}

// calls returns the calls of all methods of a look, by name.
func calls(t *testing.T, l *Look) map[string]uint64 {
	t.Helper()
	sum, err := l.Sum()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]uint64)
	for _, m := range l.MethodsSoFar() {
		if totals := sum.Methods[m.ID]; totals != nil && totals.Calls > 0 {
			all[m.String()] += totals.Calls
		}
	}
	return all
}

// TestLooksShareHooks: looks with overlapping patterns begin and end in random order, and each
// counts exactly the calls of its own time.
func TestLooksShareHooks(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach, live.Calls)
		p.Run(1)
		first := open(t, p)
		put(t, first, arena.On|arena.Flat, "calls.**")
		p.Run(1)
		round := calls(t, first) // of one round
		if len(round) < 3 {
			t.Fatalf("a round calls %v", round)
		}
		type one struct {
			*Look
			want   map[string]uint64
			passes func(name string) bool
		}
		isPart := func(name string) bool { return strings.HasPrefix(name, "calls.Plain.o") }
		kinds := []struct {
			patterns []string
			passes   func(name string) bool
			flags    arena.Flags
		}{
			{[]string{"calls.**"}, func(string) bool { return true }, arena.On | arena.Flat},
			{[]string{"calls.**", "!calls.Plain.o*"}, func(name string) bool { return !isPart(name) }, arena.On | arena.Flat | arena.Timed},
			{[]string{"calls.Plain.o*"}, isPart, arena.On | arena.Flat | arena.Timed | arena.Spreads},
			{[]string{"calls.**"}, func(string) bool { return true }, arena.On | arena.Flat | arena.Sampled},
		}
		random := rand.New(rand.NewPCG(1, uint64(jdk.Major)))
		var looks []*one
		end := func(at int) {
			l := looks[at]
			looks = append(looks[:at:at], looks[at+1:]...)
			if _, err := l.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if have := calls(t, l.Look); fmt.Sprint(have) != fmt.Sprint(l.want) {
				t.Fatalf("a look counted %v, want %v", have, l.want)
			}
			if err := l.Release(); err != nil {
				t.Fatal(err)
			}
		}
		for range jvmtest.Times(40, 400) {
			switch {
			case len(looks) > 0 && random.IntN(3) == 0:
				end(random.IntN(len(looks)))
			case len(looks) < 5:
				kind := kinds[random.IntN(len(kinds))]
				l := &one{join(t, first, "sonde count"), make(map[string]uint64), kind.passes}
				put(t, l.Look, kind.flags, kind.patterns...)
				looks = append(looks, l)
			}
			rounds := random.IntN(3)
			p.Run(rounds)
			for _, l := range looks {
				for name, n := range round {
					if l.passes(name) && rounds > 0 {
						l.want[name] += n * uint64(rounds)
					}
				}
			}
		}
		for len(looks) > 0 {
			end(len(looks) - 1)
		}
	})
}

// TestOnlyOuterHooksAreKept: hooks of calls below other methods go out, whether they are on or off, and the others count on.
func TestOnlyOuterHooksAreKept(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach, live.Calls)
		p.Run(1)
		l := open(t, p)
		put(t, l, arena.On|arena.Flat, "calls.Plain.o*")
		outer := l.Outer()
		p.Run(1)
		round, err := l.CallsOf(outer)
		if err != nil || round == 0 || l.HasOthers(outer) {
			t.Fatalf("a round makes %d calls, other hooks %t: %v", round, l.HasOthers(outer), err)
		}
		inner := []string{"calls.**", "!calls.Plain.o*"}
		put(t, l, arena.On|arena.Flat|arena.Inside, inner...)
		p.Run(1)
		put(t, l, 0, inner...) // as those are that cost too much
		all := l.wovenClasses()
		if !maps.Equal(l.Outer(), outer) || !l.HasOthers(outer) {
			t.Errorf("outer hooks %v, want %v; others %t", l.Outer(), outer, l.HasOthers(outer))
		}
		if err := l.Keep(t.Context(), outer); err != nil {
			t.Fatal(err)
		}
		if left := l.wovenClasses(); left != 1 || all <= left || l.HasOthers(outer) {
			t.Errorf("%d classes have hooks, %d before, want 1; others %t", left, all, l.HasOthers(outer))
		}
		l.load(control.Transform{Name: "calls/Late"}) // the agent may still show it
		p.Run(1)
		if have, err := l.CallsOf(outer); err != nil || have != 3*round {
			t.Errorf("%d calls in three rounds, want %d: %v", have, 3*round, err)
		}
		if farewell, err := l.Close(t.Context()); err != nil || int(farewell.Restored.Classes) != all {
			t.Errorf("in all, %d classes were restored, want %d: %v", farewell.Restored.Classes, all, err)
		}
	})
}

// TestOneTree: only one look can have hooks that keep trees.
func TestOneTree(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach, live.Calls)
		first := open(t, p)
		second := join(t, first, "sonde walk")
		put(t, first, arena.On|arena.Flat, "calls.**")
		m := first.Methods()[0].MethodRef
		request := Request{Hooks: []Hook{{MethodRef: m, Flags: arena.On}}}
		if _, err := first.Hook(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		var busy *BusyError
		if _, err := second.Hook(t.Context(), request); !errors.As(err, &busy) || busy.Command != "sonde test" {
			t.Fatalf("have %v", err)
		}
		if _, err := second.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// TestOneTrace: only one look can trace, and no other look reads or counts its rings.
func TestOneTrace(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach, live.Calls)
		first := open(t, p)
		second := join(t, first, "sonde apply")
		const bytes, levels = 64 << 10, 2
		if err := first.SetRings(bytes, levels); err != nil {
			t.Fatal(err)
		}
		put(t, first, arena.On|arena.Timed|arena.Root|arena.Traced, "calls.Plain.**")
		p.Run(1)
		if rings, err := first.Rings(); err != nil || len(rings) == 0 {
			t.Fatalf("%d rings, %v", len(rings), err)
		}
		if rings, err := second.Rings(); err != nil || len(rings) > 0 {
			t.Errorf("another look gets %d rings, %v", len(rings), err)
		}
		if counters, err := second.RingCounters(); err != nil || counters != (RingCounters{}) {
			t.Errorf("another look counts %+v, %v", counters, err)
		}
		var busy *BusyError
		if err := second.SetRings(bytes, levels); !errors.As(err, &busy) || busy.Command != "sonde test" {
			t.Fatalf("have %v", err)
		}
		before, err := first.RingCounters()
		if err := errors.Join(err, first.EndRings()); err != nil {
			t.Fatal(err)
		}
		if after, err := first.RingCounters(); err != nil || after != before || before.Opened == 0 {
			t.Errorf("%+v after the end, %v, want %+v", after, err, before)
		}
		if err := second.SetRings(bytes, levels); err != nil {
			t.Errorf("after another look has ended to trace: %v", err)
		}
		if _, err := second.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// TestSessionsAreForgotten: a process that runs for long does not keep sessions that have ended.
func TestSessionsAreForgotten(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach, live.Calls)
		sessions := &Sessions{Command: "sonde test"}
		for _, closes := range []bool{true, false} { // or hangs up
			var looks []*Look
			for range 2 {
				l, err := Open(t.Context(), p.PID, Settings{In: sessions})
				if err != nil {
					t.Fatal(err)
				}
				looks = append(looks, l)
			}
			if looks[0].Session != looks[1].Session || len(sessions.open) != 1 {
				t.Errorf("two looks have %d sessions", len(sessions.open))
			}
			path := looks[0].file.Path
			for _, l := range looks {
				if closes {
					if _, err := l.Close(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if err := l.Release(); err != nil {
					t.Fatal(err)
				}
			}
			if len(sessions.open) != 0 {
				t.Errorf("%d sessions are kept", len(sessions.open))
			}
			if err := AwaitDeparture(t.Context(), looks[0].JVM(), path); err != nil {
				t.Fatal(err)
			}
		}
	})
}
