package live_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// settings are what hooks can be told to do, with a name for each.
var settings = []struct {
	name  string
	flags arena.Flags
}{
	{"timed, flat", arena.On | arena.Timed | arena.Flat},
	{"counted, flat", arena.On | arena.Flat},
	{"sampled, flat", arena.On | arena.Sampled | arena.Flat},
	{"timed, by context", arena.On | arena.Timed},
	{"counted, by context", arena.On},
	{"sampled, by context", arena.On | arena.Sampled},
}

// representatives are methods of the kinds that counts must be right for: each
// must have been called, or their rightness shows nothing.
var representatives = map[string]string{
	"calls/Guarded.staticSynchronized":            "a synchronized method",
	"calls/Guarded.throwsWhileHolding":            "one that throws",
	"construction/Chains$Leaf.<init>(I)V":         "a constructor",
	"construction/fresh/Sound.<clinit>":           "a static initialiser",
	"construction/fresh/Failing.<clinit>":         "one that fails",
	"dynamic/Lambdas.lambda$":                     "a lambda's body",
	"dynamic/Reflective.invokedByReflection":      "one called by reflection",
	"dynamic/Reflective.handledVirtual":           "one called by a handle",
	"dynamic/Generated$Handler.invoke":            "one called by a proxy",
	"exceptions/Through.withoutHandler":           "one an exception passes",
	"recursion/Main.deepThenThrows":               "a deep recursion",
	"threads/Main.tinyCall":                       "one of many threads",
	"loading/fresh/Isolated.step":                 "one of a loader that does not delegate",
	"shapes/":                                     "nested classes",
	"hammer/Main$Pair.<init>":                     "an object that compilers do without",
	"reflected/Main$Point.<init>(JLjava/util/Lis": "a record's constructor",
}

// TestCountsAreExact has every workload counted by hooks of every kind, and the
// program's own results the same before, meanwhile and afterwards.
func TestCountsAreExact(t *testing.T) {
	byBothDoors(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, append(slices.Clone(live.Everyday), live.Hammer)...)
		before := p.Check()
		c := observe(t, p, settings[0].flags, ofTheProgram...)
		for _, setting := range settings {
			c.toggle(setting.flags)
			c.begin()
			p.Run(1)
			if during := p.Check(); during != before {
				t.Errorf("%s: the program's results are %s, were %s", setting.name, during, before)
			}
			c.compare(setting.name)
			c.withoutConstructors(setting.name) // of calls that are sampled those further out often are not
			c.allCalled(setting.name)
		}
		c.checkLeftAlone()
		told := c.read()
		if farewell, err := c.Close(t.Context()); err != nil || !farewell.Restored.Unmapped {
			t.Errorf("leaving: %+v, %v", farewell, err)
		}
		if after := p.Check(); after != before {
			t.Errorf("afterwards the program's results are %s, were %s", after, before)
		}
		later := c.read()
		for _, line := range told.Diff(later) {
			t.Errorf("afterwards %s", line)
		}
	})
}

func (c *counting) allCalled(when string) {
	c.t.Helper()
	told := c.read()
	since := told.Minus(c.told)
	for prefix, kind := range representatives {
		called := false
		for method, count := range since {
			called = called || strings.HasPrefix(method, prefix) && count.Entered > 0
		}
		if !called {
			c.t.Errorf("%s: %s, %s, was not called", when, prefix, kind)
		}
	}
}

// TestCountsAreExactFromTheFirstLoad puts hooks in before any class of the
// workloads has run, so that most load through Sonde.
func TestCountsAreExactFromTheFirstLoad(t *testing.T) {
	byBothDoors(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Everyday...)
		c := observe(t, p, arena.On|arena.Timed, ofTheProgram...)
		p.Run(2)
		c.compare("hooks first")
		c.atRest("hooks first")
		c.checkLeftAlone()
		for _, left := range c.LeftAlone() {
			if strings.HasPrefix(left.Class, "construction/fresh/") {
				t.Errorf("%s was left alone: %s", left.Class, left.Reason)
			}
		}
	})
}

// TestCountsAreExactInANamedModule shows that hooks are seen from a module that
// reads nothing of Sonde.
func TestCountsAreExactInANamedModule(t *testing.T) {
	byBothDoors(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Modular)
		before := p.Check()
		c := observe(t, p, arena.On|arena.Timed|arena.Flat, "modular.**")
		p.Run(3)
		if during := p.Check(); during != before {
			t.Errorf("the program's results are %s, were %s", during, before)
		}
		c.compare("modular")
		if c.totals("modular/Main.virtualInModule").Calls != 40 {
			t.Errorf("virtualInModule was called %d times, want 40", c.totals("modular/Main.virtualInModule").Calls)
		}
	})
}
