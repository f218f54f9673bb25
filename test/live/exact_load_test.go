package live_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// until asks again and again whether something has come about. It is bounded,
// so that a failure ends; how long it takes does not matter.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(jvmtest.RunLimit / 5); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come about", what)
		}
	}
}

// goesOn waits until the program's load has run more rounds.
func (c *counting) goesOn(rounds int64) {
	c.t.Helper()
	enough := c.p.Rounds() + rounds
	until(c.t, "another round", func() bool { return c.p.Rounds() >= enough })
}

// withoutConstructors is atRest where calls further out may have begun without
// hooks, or without being timed.
func (c *counting) withoutConstructors(when string) {
	c.t.Helper()
	c.allEnded(when, slices.DeleteFunc(c.Methods(), func(m session.Method) bool { return m.Name == "<init>" }))
}

// TestCountsAreExactThroughSwitchesUnderLoad puts hooks in, and changes what they
// do, in the middle of a program's work: from one moment of rest to another not a
// call is lost or counted twice.
func TestCountsAreExactThroughSwitchesUnderLoad(t *testing.T) {
	byBothDoors(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, append(slices.Clone(live.Everyday), live.Hammer)...)
		before := p.Check()
		c := enter(t, p)
		p.StartLoad(2)
		c.goesOn(1)
		c.instrument(settings[0].flags, ofTheProgram...)
		c.goesOn(1)
		p.StopLoad()
		// Calls that were under way when hooks came in are counted by nobody.
		c.withoutConstructors("hooks put in under load")
		c.begin()
		p.StartLoad(2)
		for _, setting := range settings {
			c.toggle(setting.flags)
			c.goesOn(1)
		}
		p.StopLoad()
		c.compare("switched under load")
		c.withoutConstructors("switched under load")

		p.StartLoad(2)
		c.toggle(0)
		c.goesOn(1)
		p.StopLoad()
		c.withoutConstructors("switched off under load")
		told := c.read()
		p.Run(1)
		off := c.read()
		for _, line := range told.Diff(off) {
			t.Errorf("switched off: %s", line)
		}
		c.toggle(arena.On | arena.Timed)
		c.begin()
		p.Run(1)
		c.compare("switched on again")
		if after := p.Check(); after != before {
			t.Errorf("the program's results are %s, were %s", after, before)
		}
	})
}
