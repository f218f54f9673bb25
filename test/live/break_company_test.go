package live_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestTwoSondes has a second Sonde come while a first is there: it is told who
// that is, the first does not notice, and the second can enter after it.
func TestTwoSondes(t *testing.T) {
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		for _, door := range []live.Door{live.Attach, live.JavaAgent(agentJar(t))} {
			t.Run(door.Name, func(t *testing.T) {
				s := stage(t, jdk, door, live.Hammer, live.Calls)
				s.Run(1)
				before := s.remember()
				first := s.enter("the first")
				first.hook(0, fixtures...)
				since := s.Counts()
				s.StartLoad(2)
				for range 3 {
					_, err := session.Open(context.Background(), s.jvm, session.Settings{Command: "the second"})
					var held *session.HeldError
					if !errors.As(err, &held) || held.Holder != fmt.Sprintf("the first, process %d", os.Getpid()) {
						t.Fatalf("the second was told: %v", err)
					}
					if strings.Contains(err.Error(), "\n") {
						t.Errorf("more than a line: %q", err)
					}
				}
				s.moves()
				s.StopLoad()
				first.exact(s, since)
				if err := first.Err(); err != nil {
					t.Error(err)
				}
				first.leave()
				second, err := session.Open(context.Background(), s.jvm, session.Settings{Command: "the second"})
				if err != nil {
					t.Fatalf("after the first has left: %v", err)
				}
				visit := visiting(t, second)
				visit.hook(0, fixtures...)
				since = s.Counts()
				s.Run(1)
				visit.exact(s, since)
				visit.leave()
				s.asItWas(before)
			})
		}
	})
}

// TestAnotherAgentChangesTheSameClasses has both come first, in both ways that
// an agent can take part, and either leave first: both effects are in force
// while both are there, ours are counted exactly, and each leaves the other's.
func TestAnotherAgentChangesTheSameClasses(t *testing.T) {
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		other := live.OtherAgent(t, jdk)
		for _, order := range []string{"change", "change-once"} {
			t.Run(order+" from the start", func(t *testing.T) {
				door := live.JavaAgent(other + "=" + order + " neighbour.Spoken original-word changed")
				s := stage(t, jdk, door, live.Neighbour, live.Hammer)
				s.Run(1)
				before := s.remember()
				says(s, "changed")
				visit := s.enter("guest")
				visit.hook(arena.Timed, "neighbour.**", "hammer.**")
				neighbours(s, visit, "changed", func() { s.Order(other, "retransform neighbour.Spoken") })
				visit.leave()
				says(s, "changed")
				s.asItWas(before)
				if order == "change" {
					s.Order(other, "forget;retransform neighbour.Spoken")
					says(s, "original-word")
				}
			})
		}
		t.Run("after us", func(t *testing.T) {
			s := stage(t, jdk, live.Attach, live.Neighbour, live.Hammer)
			s.Run(1)
			before := s.remember()
			visit := s.enter("guest")
			visit.hook(arena.Timed, "neighbour.**", "hammer.**")
			neighbours(s, visit, "original-word", func() {})
			s.Order(other, "change neighbour.Spoken original-word changed;retransform neighbour.Spoken")
			neighbours(s, visit, "changed", func() { s.Order(other, "retransform neighbour.Spoken") })
			// The other leaves, and we stay.
			s.Order(other, "forget;retransform neighbour.Spoken")
			neighbours(s, visit, "original-word", func() {})
			// It comes again, and we leave.
			s.Order(other, "change neighbour.Spoken original-word changed;retransform neighbour.Spoken")
			visit.leave()
			says(s, "changed")
			s.Order(other, "forget;retransform neighbour.Spoken")
			says(s, "original-word")
			s.asItWas(before)
		})
		t.Run("all the time", func(t *testing.T) {
			s := stage(t, jdk, live.Attach, live.Neighbour, live.Hammer)
			s.Run(1)
			before := s.remember()
			s.Order(other, "change neighbour.Spoken original-word changed")
			s.StartLoad(2)
			for range 5 {
				visit := s.enter("guest")
				visit.hook(0, "neighbour.**", "hammer.**")
				s.Order(other, "retransform neighbour.Spoken;retransform hammer.Main")
				says(s, "changed")
				calls := visit.calls()
				eventually(t, "hooks count on", func() bool { return visit.calls() > calls })
				visit.leave()
				s.Order(other, "retransform neighbour.Spoken;retransform hammer.Main")
				says(s, "changed")
			}
			s.StopLoad()
			s.Order(other, "forget;retransform neighbour.Spoken")
			s.Check()
			s.asItWas(before)
		})
	})
}

func says(s *scene, want string) {
	s.t.Helper()
	if word, number := s.Say(); word != want || number != 1_000_003 {
		s.t.Errorf("it says %s %d, want %s", word, number, want)
	}
}

// neighbours demands that both are in force, before and after something happens:
// the other's word is said, and our hooks count.
func neighbours(s *scene, visit *visit, word string, happens func()) {
	s.t.Helper()
	base := visit.measured()
	since := s.Counts()
	says(s, word)
	s.Run(2)
	happens()
	says(s, word)
	s.Run(2)
	compared(s.t, s.Counts().Minus(since), visit.measured().Minus(base))
}
