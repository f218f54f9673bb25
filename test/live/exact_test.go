package live_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// ofTheProgram is every method of a program but those that count for it.
var ofTheProgram = []string{"**", "!java.**", "!javax.**", "!jdk.**", "!sun.**", "!com.sun.**", "!harness.**"}

// byBothDoors runs a test on each JDK, by each door, all at once.
func byBothDoors(t *testing.T, test func(t *testing.T, jdk jvmtest.JDK, door live.Door)) {
	t.Helper()
	jar := filepath.Join(t.TempDir(), "sonde-agent.jar")
	if err := os.WriteFile(jar, agent.AgentJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, jdk := range jvmtest.JDKs(t) {
		for _, door := range []live.Door{live.Attach, live.JavaAgent(jar)} {
			t.Run(fmt.Sprintf("jdk%d by %s", jdk.Major, door.Name), func(t *testing.T) {
				t.Parallel()
				test(t, jdk, door)
			})
		}
	}
}

// A counting is a program under observation, with what it and Sonde counted
// when they were last compared.
type counting struct {
	*session.Session
	t       *testing.T
	p       *live.Program
	lock    sync.Mutex
	notices []string

	truth, told live.Counts
}

// observe enters a program and puts hooks in. The program must be at rest.
func observe(t *testing.T, p *live.Program, flags arena.Flags, patterns ...string) *counting {
	t.Helper()
	c := enter(t, p)
	c.instrument(flags, patterns...)
	c.begin()
	return c
}

func enter(t *testing.T, p *live.Program) *counting {
	t.Helper()
	c := &counting{t: t, p: p}
	var err error
	c.Session, err = session.Open(t.Context(), p.PID, session.Settings{Command: "sonde test", Notice: c.notice})
	if err != nil {
		t.Fatalf("%v\nstderr: %s", err, p.Stderr())
	}
	t.Cleanup(func() {
		_, _ = c.Close(context.Background())
		_ = c.Release()
	})
	return c
}

func (c *counting) instrument(flags arena.Flags, patterns ...string) {
	c.t.Helper()
	wanted := session.Wanted{Methods: patternSet(c.t, patterns...), Flags: flags, Period: period}
	if _, err := c.Instrument(c.t.Context(), wanted); err != nil {
		c.t.Fatal(err)
	}
}

// period is of hooks that sample; prime, so that no loop of a program has it.
const period = 7

func (c *counting) toggle(flags arena.Flags) {
	c.t.Helper()
	if err := c.Switch(c.t.Context(), patternSet(c.t, "**"), flags, period); err != nil {
		c.t.Fatal(err)
	}
}

func patternSet(t *testing.T, patterns ...string) *pattern.Set {
	t.Helper()
	set, err := pattern.ParseSet(patterns...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func (c *counting) notice(text string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.notices = append(c.notices, text)
}

// begin notes a moment from which on both count. The program must be at rest.
func (c *counting) begin() {
	c.t.Helper()
	c.truth = c.p.Counts()
	c.told = c.read()
}

// compare demands that Sonde counted since begin what the program counted, but
// for classes that it names as left alone. The program must be at rest.
func (c *counting) compare(when string) {
	c.t.Helper()
	told := c.read()
	truth := c.p.Counts().Minus(c.truth)
	told = told.Minus(c.told)
	for _, line := range truth.Diff(told) {
		class, _, _ := strings.Cut(line, ".")
		if count := told[methodOf(line)]; count.Entered != 0 || !c.mayBeLeft(class) {
			c.t.Errorf("%s: %s", when, line)
		}
	}
}

func methodOf(line string) string {
	method, _, _ := strings.Cut(line, ": ")
	return method
}

// read is what Sonde has counted.
func (c *counting) read() live.Counts {
	c.t.Helper()
	sum := c.sum()
	told := make(live.Counts)
	for _, m := range c.Methods() {
		if totals := sum.Methods[m.ID]; totals != nil {
			told[nameOf(m)] = live.Count{Entered: int64(totals.Calls), Threw: int64(totals.Threw)}
		}
	}
	return told
}

func (c *counting) sum() *arena.Summary {
	c.t.Helper()
	sum, err := c.Sum()
	if err != nil {
		c.t.Fatal(err)
	}
	if sum.Dropped != 0 || c.Full() != nil {
		c.t.Errorf("%d calls were counted nowhere, the arena is full: %v", sum.Dropped, c.Full())
	}
	return sum
}

// nameOf is a method's name as programs that count have it.
func nameOf(m session.Method) string { return m.Class + "." + m.Name + m.Descriptor }

// totals is what Sonde says about the methods whose names begin like this.
func (c *counting) totals(prefix string) arena.Totals {
	c.t.Helper()
	sum := c.sum()
	var all arena.Totals
	methods := slices.DeleteFunc(c.Methods(), func(m session.Method) bool { return !strings.HasPrefix(nameOf(m), prefix) })
	if len(methods) == 0 {
		c.t.Fatalf("no method %s has a hook", prefix)
	}
	for _, m := range methods {
		if one := sum.Methods[m.ID]; one != nil {
			all.Calls += one.Calls
			all.Timed += one.Timed
			all.Nanos += one.Nanos
			all.Self += one.Self
			all.Threw += one.Threw
			all.Active += one.Active
			all.Running += one.Running
			all.Untimed += one.Untimed
		}
	}
	return all
}

// atRest demands that no call is under way, as far as hooks know. Of calls that
// an exception ended before the constructor they began with was done with
// super(...), hooks learn by an end further out: there must be one.
func (c *counting) atRest(when string) {
	c.t.Helper()
	c.allEnded(when, c.Methods())
}

func (c *counting) allEnded(when string, methods []session.Method) {
	c.t.Helper()
	sum := c.sum()
	for _, m := range methods {
		if totals := sum.Methods[m.ID]; totals != nil && (totals.Active != 0 || totals.Running != 0) {
			c.t.Errorf("%s: %d calls of %s are under way for %d ns", when, totals.Active, m, totals.Running)
		}
	}
}
