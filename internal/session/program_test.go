package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// onJDKs runs a test on one JDK, in a soak on each, all at once.
func onJDKs(t *testing.T, test func(t *testing.T, jdk jvmtest.JDK)) {
	t.Helper()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			test(t, jdk)
		})
	}
}

// byDoors runs a test on one JDK by one door, in a soak on each JDK by each door, all at once.
func byDoors(t *testing.T, test func(t *testing.T, jdk jvmtest.JDK, door live.Door)) {
	t.Helper()
	jar := filepath.Join(t.TempDir(), "sonde-agent.jar")
	if err := os.WriteFile(jar, agent.AgentJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, door := range jvmtest.OneOf(t, []live.Door{live.Attach, live.JavaAgent(jar)}) {
		t.Run(door.Name, func(t *testing.T) {
			onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) { test(t, jdk, door) })
		})
	}
}

// open enters a program; the test's end leaves it.
func open(t *testing.T, p *live.Program) *Look {
	t.Helper()
	s, err := Open(t.Context(), p.PID, Settings{Command: "sonde test"})
	if err != nil {
		t.Fatalf("%v\nstderr: %s", err, p.Stderr())
	}
	t.Cleanup(func() {
		_, _ = s.Close(context.Background())
		_ = s.Release()
	})
	return s
}

func patterns(t *testing.T, texts ...string) *pattern.Set {
	t.Helper()
	set, err := pattern.ParseSet(texts...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func put(t *testing.T, s *Look, flags arena.Flags, texts ...string) *Installation {
	t.Helper()
	installation, err := s.Instrument(t.Context(), Wanted{Methods: patterns(t, texts...), Flags: flags, Period: 7})
	if err != nil {
		t.Fatal(err)
	}
	return installation
}

// told is what a session says about a method, by what its name begins with.
func told(t *testing.T, s *Look, prefix string) arena.Totals {
	t.Helper()
	sum, err := s.Sum()
	if err != nil {
		t.Fatal(err)
	}
	methods := s.Methods()
	i := slices.IndexFunc(methods, func(m Method) bool { return strings.HasPrefix(m.String(), prefix) })
	if i < 0 {
		t.Fatalf("no method %s has a hook", prefix)
	}
	if totals := sum.Methods[methods[i].ID]; totals != nil {
		return *totals
	}
	return arena.Totals{}
}

// hooked tells whether a method has a hook, by what its name begins with.
func hooked(s *Look, prefix string) bool {
	return slices.ContainsFunc(s.Methods(), func(m Method) bool { return strings.HasPrefix(m.String(), prefix) })
}

// reasonFor is why a class was left alone, by what its name begins with.
func reasonFor(s *Look, class string) string {
	for _, left := range s.LeftAlone() {
		if strings.HasPrefix(left.Class, class) {
			return left.Reason
		}
	}
	return ""
}
