package live_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// A lone program is one without the harness.
type lone struct {
	*jvmtest.Running
	t   *testing.T
	jvm int
}

// lone starts a class of a testdata folder, under a shell that says last by
// which code it ended.
func startLone(t *testing.T, jdk jvmtest.JDK, folder, class string, options ...string) *lone {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources: []string{filepath.Join("testdata", folder, class+".java")}, Flags: []string{"--release", "17", "-Xlint:-options"},
	})
	args := append(append(crashOptions(t), options...), "-cp", classes, folder+"."+class)
	r := jvmtest.Start(t, jdk, jvmtest.Launch{Wrap: []string{"sh", "-c", `"$@"; echo "exit $?"`, "sh"}, Args: args})
	return &lone{r, t, r.Child(t)}
}

func (l *lone) tell(words string) {
	l.t.Helper()
	if _, err := fmt.Fprintln(l.Stdin, words); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lone) hooked(flags arena.Flags, pattern string) *visit {
	l.t.Helper()
	opened, err := session.Open(context.Background(), l.jvm, session.Settings{Command: "guest"})
	if err != nil {
		l.t.Fatal(err)
	}
	v := visiting(l.t, opened)
	v.hook(flags, pattern)
	return v
}

// TestProgramEndsWithHooksIn has a program end in every way it can: exit code and
// output are what they are without hooks, and Sonde tells what it measured.
func TestProgramEndsWithHooksIn(t *testing.T) {
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		for name, end := range map[string]func(l *lone){
			"exit":    func(l *lone) { l.tell("exit") },
			"throw":   func(l *lone) { l.tell("throw") },
			"eof":     func(l *lone) { _ = l.Stdin.Close() },
			"SIGTERM": func(l *lone) { _ = syscall.Kill(l.jvm, syscall.SIGTERM) },
		} {
			t.Run(name, func(t *testing.T) {
				var plain, hooked, plainErrors, hookedErrors string
				without := startLone(t, jdk, "ending", "Ending")
				end(without)
				<-without.Ended()
				plain, plainErrors = without.Stdout(), without.Stderr()
				if !strings.Contains(plain, "\nlast words ") || !strings.Contains(plain, "\nexit ") {
					t.Fatalf("it said %q without hooks", plain)
				}
				l := startLone(t, jdk, "ending", "Ending")
				visit := l.hooked(arena.Timed, "ending.Ending$Work.*")
				seen := visit.calls()
				eventually(t, "hooks count", func() bool { return visit.calls() > seen })
				end(l)
				<-l.Ended()
				<-visit.Done()
				hooked, hookedErrors = l.Stdout(), withoutWarnings(l.Stderr())
				if hooked != plain || hookedErrors != plainErrors {
					t.Errorf("with hooks it said %q %q, without %q %q", hooked, hookedErrors, plain, plainErrors)
				}
				if visit.calls() <= seen {
					t.Error("what was measured is lost")
				}
				if farewell, err := visit.close(); err != nil || len(farewell.Remarks) > 0 {
					t.Errorf("leaving: %v, %q", err, farewell.Remarks)
				}
				filesOf(t, l.jvm)
			})
		}
	})
}

// withoutWarnings drops what a JDK itself says of an agent that was loaded.
func withoutWarnings(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "WARNING: ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// TestThreadsAreStoppedInHooks interrupts and stops threads that are in hooks
// most of the time.
func TestThreadsAreStoppedInHooks(t *testing.T) {
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		l := startLone(t, jdk, "ending", "Ending")
		for range 3 {
			visit := l.hooked(arena.Timed, "ending.Ending$Work.*")
			l.tell("interrupt 100")
			if answer := l.Await(t, "ended"); answer != "ended 200" {
				t.Errorf("it said %q", answer)
			}
			if visit.calls() == 0 {
				t.Error("hooks have seen nothing")
			}
			visit.leave()
		}
	})
}

// TestStacksOverflowInHooks has the end of the stack be met in hooks: the program
// gets its StackOverflowError and nothing else, and the arena can be unmapped.
func TestStacksOverflowInHooks(t *testing.T) {
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		for options, times := range map[string]int{"-Xmixed": 100, "-Xint": 10} {
			t.Run(options, func(t *testing.T) {
				l := startLone(t, jdk, "overflow", "Overflow", options)
				overflows := func() string {
					l.tell(fmt.Sprintf("overflow %d", times))
					return l.Await(t, "overflowed")
				}
				plain := overflows()
				for _, flags := range []arena.Flags{0, arena.Timed, arena.Timed | arena.Flat} {
					visit := l.hooked(flags, "overflow.*.*")
					if got := overflows(); got != plain {
						t.Errorf("with hooks %q, without %q", got, plain)
					}
					if visit.calls() == 0 {
						t.Error("hooks have seen nothing")
					}
					visit.leave()
				}
				if got := overflows(); got != plain {
					t.Errorf("after hooks %q, before %q", got, plain)
				}
			})
		}
	})
}

// TestClassesAreUnloadedWhileWoven has loaders come and go with hooks in their
// classes, which do not keep them alive.
func TestClassesAreUnloadedWhileWoven(t *testing.T) {
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.Attach, live.Loading, live.Hammer)
		s.Run(1)
		oracle := live.NewOracle(t, s.Program)
		visit := s.enter("guest")
		visit.hook(0, "loading.**", "hammer.**")
		since := s.Counts()
		s.StartLoad(2)
		for range 5 {
			s.GC()
			s.moves()
		}
		s.StopLoad()
		s.Keep()
		s.Again()
		visit.exact(s, since)
		s.Drop()
		if alive := oracle.Live("loading.fresh."); len(alive.Classes) > 0 {
			t.Errorf("woven classes stay: %v, held by %q", alive.Classes, alive.Held)
		}
		visit.leave()
		s.Check()
		s.gone()
	})
}
