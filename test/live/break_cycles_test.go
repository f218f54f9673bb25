package live_test

import (
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// variants are JVMs that treat hooks, the places they write to, or the moments
// at which a JVM stands still, in ways of their own.
var variants = []struct {
	name    string
	options string
	cycles  int
	first   int // version that has it
	last    int
}{
	{"as it comes", "", 20, 17, 99},
	{"interpreted", "-Xint", 4, 17, 99},
	{"compiled at once", "-Xcomp -XX:TieredStopAtLevel=1", 3, 17, 99},
	{"safepoints all the time", "-XX:+UnlockDiagnosticVMOptions -XX:GuaranteedSafepointInterval=1", 4, 17, 99},
	{"safepoints a lot", "-XX:+UnlockDiagnosticVMOptions -XX:+SafepointALot -XX:GuaranteedSafepointInterval=1", 4, 17, 17},
	{"z", "-XX:+UseZGC", 4, 17, 99},
	{"parallel", "-XX:+UseParallelGC -Xmx48m", 4, 17, 99},
	{"serial", "-XX:+UseSerialGC -Xmx48m", 4, 17, 99},
	{"wide references", "-XX:-UseCompressedOops", 4, 17, 17},
	{"compact headers", "-XX:+UseCompactObjectHeaders", 4, 25, 99},
}

// TestHooksComeAndGoUnderThreadsThatHammerThem weaves, measures, undoes and
// unmaps while threads are in the hooks, with collections in between; then
// counts are exact and the code is what it was.
func TestHooksComeAndGoUnderThreadsThatHammerThem(t *testing.T) {
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		for _, v := range variants {
			if jdk.Major < v.first || jdk.Major > v.last {
				continue
			}
			t.Run(v.name, func(t *testing.T) {
				s := stage(t, jdk, live.Attach.With(strings.Fields(v.options)...), live.Hammer, live.Recursion, live.Neighbour, live.Calls)
				s.Run(1)
				before := s.remember()
				s.StartLoad(2)
				for i := range v.cycles {
					comeAndGo(s, i)
				}
				s.StopLoad()
				s.gone()
				since := s.Counts()
				visit := s.enter("exact")
				visit.hook(arena.Timed, fixtures...)
				s.Run(1)
				visit.exact(s, since)
				visit.leave()
				s.Check()
				s.asItWas(before)
			})
		}
	})
}

// comeAndGo is one cycle; what the hooks do differs from cycle to cycle.
func comeAndGo(s *scene, cycle int) {
	s.t.Helper()
	modes := []arena.Flags{arena.Timed | arena.Flat, 0, arena.Flat, arena.Timed}
	visit := s.enter("cycle")
	visit.hook(modes[cycle%len(modes)], "hammer.**", "recursion.**")
	s.moves()
	if visit.calls() == 0 {
		s.t.Error("hooks are in and on, and have seen nothing")
	}
	if cycle%5 == 0 {
		s.GC()
	}
	visit.switchTo(0, "hammer.**")
	visit.switchTo(arena.On|arena.Sampled, "hammer.**")
	visit.leave()
	if err := visit.Release(); err != nil {
		s.t.Error(err)
	}
	s.moves()
}
