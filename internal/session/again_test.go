package session

import (
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
