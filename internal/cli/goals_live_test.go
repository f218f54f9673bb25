package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/report/document"
)

// TestGoalsLive: a method becomes slow and fast again, several times. What it calls has hooks while it is slow, and they cost no
// more than the budget: the program makes at most some thousand calls a second.
func TestGoalsLive(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/goals/Slowing.java"}})
			running := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "goals.Slowing"}})
			s := &watchedShop{t, running, strconv.Itoa(running.PID)}
			missed := filepath.Join(t.TempDir(), "missed.json")
			file := filepath.Join(t.TempDir(), "goals.yaml")
			const goal = "version: 1\nhand-off: false\ngoals:\n- method: goals.Slowing$Checkout.place\n  goal: p50 < 25ms\n  over: 1s\n  recovered-after: 20 calls\n  on-miss: {run: [tee, '%s']}\n"
			if err := os.WriteFile(file, fmt.Appendf(nil, goal, missed), 0o600); err != nil {
				t.Fatal(err)
			}
			apply := startSonde(t, "apply", s.pid, "-f", file, "--json")
			times := 2
			if jvmtest.Soak() {
				times = 10
			}
			for i := range times {
				s.do("slow")
				begins := "the goal is missed: "
				if i > 0 {
					begins = "in its callees, and on the path to the cause found on "
				}
				apply.awaitPart(t, begins)
				apply.awaitPart(t, "most of the excess: own time of goals.Slowing$Gateway.pause")
				apply.awaitPart(t, "on-miss: run tee ")
				s.do("fast")
				apply.awaitPart(t, "the goal has been met for 20 calls: the hooks below it are removed")
			}
			apply.signal(t, syscall.SIGINT)
			if code := apply.end(t); code != exitOK {
				t.Fatalf("exit code %d: %s", code, apply.stderr.String())
			}
			if !strings.Contains(apply.stderr.String(), "restored 1 class of process") {
				t.Errorf("at the end, only the method of the goal should have a hook: %s", apply.stderr.String())
			}
			result := parse[document.Applied](t, apply.out.String())
			if len(result.Goals) != 1 {
				t.Fatalf("got %+v, want one goal", result.Goals)
			}
			got := result.Goals[0]
			if got.State != "met" || got.Misses < times || got.Raised || len(got.Steps) < 4*times {
				t.Errorf("got %+v, want a goal that was missed %d times", got, times)
			}
			checkCourse(t, result.HookShares)
			checkMissed(t, missed)
			if code, out, stderr := sonde(t, "callees", s.pid, "goals.Slowing$Checkout.place", "--found"); code != exitOK || !strings.Contains(out, "goals.Slowing$Gateway.pause():void") {
				t.Errorf("what was found: exit code %d, %s%s", code, out, stderr)
			}
			checkUndrilled(t, s.pid)
		})
	}
}

// TestGoalsRemember: what was found below a missed goal is where the next search begins, also in another process that runs the
// same classes. There it is slow elsewhere, which fresh figures show.
func TestGoalsRemember(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "goals.yaml")
	const goal = "version: 1\nhand-off: false\ngoals:\n- method: goals.Slowing$Checkout.place\n  goal: p50 < 25ms\n  over: 1s\n  recovered-after: 20 calls\n"
	if err := os.WriteFile(file, []byte(goal), 0o600); err != nil {
		t.Fatal(err)
	}
	const offer, begins = "if the goal is missed, the search begins there", "in its callees, and on the path to the cause found on "
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			// Without -g, these are not the classes of TestGoalsLive, which runs at the same time.
			classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/goals/Slowing.java"}, Flags: []string{"-g:none"}})
			follow := func(order string, parts ...string) (stderr string, steps []document.GoalStep) {
				running := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "goals.Slowing"}})
				s := &watchedShop{t, running, strconv.Itoa(running.PID)}
				apply := startSonde(t, "apply", s.pid, "-f", file, "--json")
				s.do(order)
				for _, part := range parts {
					apply.awaitPart(t, part)
				}
				apply.signal(t, syscall.SIGINT)
				if code := apply.end(t); code != exitOK {
					t.Fatalf("exit code %d: %s", code, apply.stderr.String())
				}
				checkUndrilled(t, s.pid)
				return apply.stderr.String(), parse[document.Applied](t, apply.out.String()).Goals[0].Steps
			}
			if stderr, _ := follow("slow", "most of the excess: own time of goals.Slowing$Gateway.pause"); strings.Contains(stderr, offer) || strings.Contains(stderr, begins) {
				t.Errorf("nothing is known: got %s", stderr)
			}
			stderr, steps := follow("slow", offer, begins, "; the same method as on ")
			if len(steps) != 3 || !strings.Contains(steps[2].Done, "own time of goals.Slowing$Gateway.pause") {
				t.Errorf("the same cause: got %+v, want the offer, one step, and the cause; %s", steps, stderr)
			}
			stderr, steps = follow("elsewhere", offer, begins, "; it is not where it was on ")
			if last := steps[len(steps)-1].Done; len(steps) < 4 || !strings.Contains(last, "own time of goals.Slowing$Shelf.dust") || !strings.Contains(last, "Slowing$Gateway.pause") {
				t.Errorf("slow elsewhere: got %+v, want more steps, and the cause; %s", steps, stderr)
			}
		})
	}
}

// checkCourse checks that hooks have kept the budget all the time.
func checkCourse(t *testing.T, c *document.HookCourse) {
	t.Helper()
	if c == nil || c.Budget != overhead.Usual || c.Largest <= 0 || c.Largest > c.Budget || len(c.Course) > mostShares {
		t.Fatalf("got %+v, want what hooks have cost, and a budget of %v that is kept", c, overhead.Usual)
	}
	t.Logf("hooks cost at most %.2f %% of the program's CPU time in any ten seconds", 100*c.Largest)
	raised, last := 0, time.Time{}
	for _, s := range c.Course {
		if s.Share > c.Largest || !s.At.After(last) {
			t.Errorf("got a share of %v at %v after %v, want at most %v, in order", s.Share, s.At, last, c.Largest)
		}
		if last = s.At; s.Raised {
			raised++
		}
	}
	if raised == 0 || raised == len(c.Course) {
		t.Errorf("hooks are raised in %d of %d parts, want some", raised, len(c.Course))
	}
}

// TestAddShare: a time course of any length keeps its largest share and its end.
func TestAddShare(t *testing.T) {
	t.Parallel()
	var course []document.HookShare
	const parts = 10 * mostShares
	for i := range parts {
		course = addShare(course, document.HookShare{At: time.Unix(int64(i), 0), Share: float64(i % 1000), Raised: i == 77})
	}
	raised, largest := 0, 0.0
	for i, s := range course {
		if largest = max(largest, s.Share); s.Raised {
			raised++
		}
		if i > 0 && !s.At.After(course[i-1].At) {
			t.Errorf("part %d: got %v after %v, want them in order", i, s.At, course[i-1].At)
		}
	}
	if end := course[len(course)-1].At.Unix(); len(course) > mostShares || largest != 999 || raised != 1 || end != parts-1 {
		t.Errorf("got %d parts until %d, the largest %v, %d raised; want at most %d until %d, 999, 1", len(course), end, largest, raised, mostShares, parts-1)
	}
}

// checkMissed checks what the command of a missed goal has got.
func checkMissed(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	checkDocuments(t, string(text))
	d := parse[document.GoalMissed](t, string(text))
	var path []string
	for _, l := range d.Goal.Path {
		path = append(path, l.Method)
	}
	if want := []string{"place", "charge", "call", "send", "pause"}; !slices.Equal(path, want) || d.Goal.State != "missed" || !d.Goal.Raised {
		t.Errorf("got %q, %+v, want the path %q", path, d.Goal, want)
	}
	if len(d.Goal.Findings) != 1 || !strings.Contains(d.Goal.Findings[0], "own time of goals.Slowing$Gateway.pause") {
		t.Errorf("got %q, want the method that sleeps", d.Goal.Findings)
	}
}
