package session

import (
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestMoreIsAskedForLater puts hooks in twice: into other classes, and into
// another method of a class that has one.
func TestMoreIsAskedForLater(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach, live.Calls, live.Recursion)
		p.Run(1)
		s := open(t, p)
		put(t, s, arena.On|arena.Timed|arena.Flat, "calls.Plain.addInts")
		if len(s.Methods()) != 1 || s.Classes() != 1 {
			t.Errorf("hooks are in %v", s.Methods())
		}
		p.Run(1)
		put(t, s, arena.On|arena.Flat, "calls.Plain.*", "recursion.**")
		p.Run(1)
		// What was asked for first goes on as it was asked for.
		if first := told(t, s, "calls.Plain.addInts"); first.Calls != 20 || first.Timed != 20 {
			t.Errorf("addInts: %+v, want 20 calls, all timed", first)
		}
		if later := told(t, s, "calls.Plain.inner"); later.Calls != 60 || later.Timed != 0 {
			t.Errorf("inner: %+v, want 60 calls, none timed", later)
		}
		if later := told(t, s, "recursion.Main.isOdd"); later.Calls != 100 {
			t.Errorf("isOdd: %+v, want 100 calls", later)
		}
		p.Check()
		if farewell, err := s.Close(t.Context()); err != nil || farewell.Restored.Classes != uint32(2) || !farewell.Restored.Unmapped {
			t.Errorf("leaving: %+v, %v; want 2 classes put back", farewell, err)
		}
	})
}

// TestPatternsThatMatchNothingYet asks for what is not there: nothing is woven,
// until a class loads that is meant.
func TestPatternsThatMatchNothingYet(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach, live.Construction)
		s := open(t, p)
		installation := put(t, s, arena.On, "no.such.Thing.*", "construction.fresh.**")
		if installation.Matched != 0 || len(installation.Batches) != 0 || installation.Loaded < 100 {
			t.Errorf("%+v, want nothing matched", installation)
		}
		if len(s.Methods()) != 0 || len(s.LeftAlone()) != 0 || s.Classes() != 0 {
			t.Errorf("hooks are in %v, not in %v", s.Methods(), s.LeftAlone())
		}
		p.Run(2)
		if made := told(t, s, "construction.fresh.Constants.made"); made.Calls != 2 {
			t.Errorf("made: %+v, want 2 calls", made)
		}
		if failed := told(t, s, "construction.fresh.Failing.<clinit>"); failed.Calls != 2 || failed.Threw != 2 {
			t.Errorf("an initialiser that fails: %+v, want 2 calls that throw", failed)
		}
		for _, m := range s.Methods() {
			if m.Class != "construction/fresh/Constants" && m.Class != "construction/fresh/Sound" && m.Class != "construction/fresh/Failing" {
				t.Errorf("%s has a hook", m)
			}
		}
	})
}

// TestARefusedClassIsFoundAndNamed has a class in the batch whose initialiser has
// failed: a JVM refuses the whole batch for it.
func TestARefusedClassIsFoundAndNamed(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach.With("-XX:-ClassUnloading"), live.Construction, live.Calls)
		p.Run(1)
		s := open(t, p)
		installation := put(t, s, arena.On, "construction.**", "calls.**")
		if n := len(installation.Batches); n < 3 {
			t.Errorf("%d batches, want the first and its parts", n)
		}
		// The last part of what was halved again and again is the class alone.
		if alone := smallest(installation.Batches); alone != 1 {
			t.Errorf("the smallest batch has %d classes", alone)
		}
		if left := s.LeftAlone(); len(left) != 1 || left[0].Class != "construction/fresh/Failing" || left[0].Method != "" ||
			!strings.HasPrefix(left[0].Reason, "the JVM refused it: ") || strings.Contains(left[0].Reason, "\n") {
			t.Errorf("left alone: %q", left)
		}
		before := p.Counts()
		p.Run(2)
		have := make(live.Counts)
		for _, m := range s.Methods() {
			totals := told(t, s, m.String())
			have[m.Class+"."+m.Name+m.Descriptor] = live.Count{Entered: int64(totals.Calls), Threw: int64(totals.Threw)}
		}
		for _, line := range p.Counts().Minus(before).Diff(have) {
			t.Error(line)
		}
		if !hooked(s, "construction.fresh.Failing.<clinit>") {
			t.Error("a class of the name that was loaded later has no hooks")
		}
	})
}

func smallest(batches []Batch) int {
	least := batches[0].Classes
	for _, batch := range batches {
		least = min(least, batch.Classes)
	}
	return least
}

// TestWhatCannotHaveHooksIsNamed asks for classes of each kind that has none.
func TestWhatCannotHaveHooksIsNamed(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach.With("-XX:-ClassUnloading"), live.Dynamic, live.Loading)
		p.Run(1)
		s := open(t, p)
		put(t, s, arena.On, "dynamic.**", "loading.**", "java.lang.Thread.getName", "java.lang.Object.*", "jdk.internal.misc.Unsafe.putInt")
		for class, reason := range map[string]string{
			"dynamic/Secret/":           "the JVM does not allow it to be changed",
			"dynamic/Lambdas$$Lambda":   "the JVM does not allow it to be changed",
			"loading/fresh/Confined":    "its class loader cannot find Sonde's hook classes: it does not find java.lang.SondeHooks",
			"java/lang/Thread":          "hooks call it to find their thread",
			"java/lang/Object":          "every constructor calls it",
			"jdk/internal/misc/Unsafe":  "hooks use it",
			"loading/fresh/Isolated":    "",
			"loading/fresh/Delegated":   "",
			"dynamic/Generated$Handler": "",
		} {
			if told := reasonFor(s, class); !strings.HasPrefix(told, reason) || reason == "" && told != "" {
				t.Errorf("%s was left alone: %q, want %q", class, told, reason)
			}
		}
		for _, m := range s.Methods() {
			whole := LeftAlone{Class: m.Class, Reason: reasonFor(s, m.Class)}
			if slices.Contains(s.LeftAlone(), whole) {
				t.Errorf("%s has a hook, and is said to be left alone: %s", m, whole.Reason)
			}
		}
		p.Check()
	})
}

// TestHooksDoAsTheyAreSwitched changes what hooks do from round to round, which
// has ten thousand calls of a method each, without weaving again.
func TestHooksDoAsTheyAreSwitched(t *testing.T) {
	const round, period = 10_000, 7
	const method, other = "hammer.Main.tinyVirtual", "hammer.Main.callsTwoTiny"
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach, live.Hammer)
		p.Run(1)
		s := open(t, p)
		put(t, s, arena.On|arena.Flat, "hammer.**")
		classes := s.Classes()
		for _, test := range []struct {
			name                       string
			flags                      arena.Flags
			calls, leastTimed, atTimed uint64
		}{
			{"counted", arena.On | arena.Flat, round, 0, 0},
			{"off", 0, 0, 0, 0},
			{"timed", arena.On | arena.Timed | arena.Flat, round, round, round},
			{"off, though timed", arena.Timed, 0, 0, 0},
			// A skip is at least 1 and less than twice the period.
			{"sampled", arena.On | arena.Sampled | arena.Flat, round, round/(2*period) - 1, round / 2},
			{"timed by context", arena.On | arena.Timed, round, round, round},
			{"counted by context", arena.On, round, 0, 0},
		} {
			if err := s.Switch(t.Context(), patterns(t, "hammer.Main.tinyVirtual"), test.flags, period); err != nil {
				t.Fatal(err)
			}
			before, beside := told(t, s, method), told(t, s, other)
			p.Run(1)
			after := told(t, s, method)
			calls, timed := after.Calls-before.Calls, after.Timed-before.Timed
			if calls != test.calls || timed < test.leastTimed || timed > test.atTimed {
				t.Errorf("%s: %d calls, %d of them timed", test.name, calls, timed)
			}
			if (timed > 0) != (after.Nanos > before.Nanos) {
				t.Errorf("%s: %d calls took %d ns", test.name, timed, after.Nanos-before.Nanos)
			}
			if now := told(t, s, other); now.Calls-beside.Calls != round || now.Timed != beside.Timed {
				t.Errorf("%s: another method changed from %+v to %+v", test.name, beside, now)
			}
		}
		if s.Classes() != classes {
			t.Errorf("%d classes have hooks, before %d", s.Classes(), classes)
		}
	})
}
