package live_test

import (
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestVirtualThreadsAreCounted counts ten thousand virtual threads a round, which
// change carriers inside counted methods, and many that are parked there. A call
// for which no place was free is counted too, without its time.
func TestVirtualThreadsAreCounted(t *testing.T) {
	const parked = 20_000
	byBothDoors(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		if !live.Supports(jdk, live.Virtual) {
			t.Skipf("JDK %d has no virtual threads", jdk.Major)
		}
		p := live.Start(t, jdk, door, live.Virtual)
		before := p.Check()
		c := observe(t, p, settings[0].flags, "virtual.**")
		for _, setting := range settings {
			c.toggle(setting.flags)
			c.begin()
			p.Run(1)
			c.compare(setting.name)
			c.atRest(setting.name)
		}
		c.toggle(arena.On | arena.Timed)
		c.begin()
		p.Block(parked)
		c.compare("parked")
		for _, method := range []string{"virtual/Main.staysInside", "virtual/Main.parkedInnermost"} {
			totals := c.totals(method)
			if totals.Calls != parked || totals.Active != parked-totals.Untimed {
				t.Errorf("%s: %+v, want %d calls, all under way", method, totals, parked)
			}
			t.Logf("%s: %d calls found no room", method, totals.Untimed)
		}
		p.Run(1) // others come and go beside them
		c.compare("beside them")
		p.Unblock()
		c.compare("let go")
		c.atRest("let go")
		c.virtualBlocks()
		if after := p.Check(); after != before {
			t.Errorf("the program's results are %s, were %s", after, before)
		}
	})
}

// virtualBlocks demands that virtual threads took turns: a block for each of a
// hundred thousand would fill any arena.
func (c *counting) virtualBlocks() {
	c.t.Helper()
	blocks, owners := 0, 0
	for _, thread := range c.threads() {
		if thread.Virtual {
			blocks++
			owners += int(thread.Owners)
		}
	}
	if blocks == 0 || owners < 2*blocks {
		c.t.Errorf("%d virtual threads had %d blocks", owners, blocks)
	}
	c.t.Logf("%d virtual threads took turns in %d blocks", owners, blocks)
}
