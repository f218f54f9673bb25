package live_test

import (
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestThousandsOfThreadsAtOnce keeps more threads inside counted methods than
// hooks have places for at first.
func TestThousandsOfThreadsAtOnce(t *testing.T) {
	many := uint64(manyThreads)
	byOneDoor(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Threads)
		before := p.Check()
		c := observe(t, p, arena.On|arena.Timed, "threads.**")
		p.Block(manyThreads)
		c.compare("all alive")
		stays := c.totals("threads/Main.staysInside")
		if stays.Calls != many || stays.Active != many-stays.Untimed {
			t.Errorf("staysInside: %+v, want %d calls, all under way", stays, many)
		}
		if sum := c.sum(); uint64(sum.Threads) < stays.Active {
			t.Errorf("%d threads, want %d at least", sum.Threads, stays.Active)
		}
		p.Run(1) // others find places beside them
		c.compare("beside them")
		p.Unblock()
		c.compare("let go")
		c.atRest("let go")
		if after := p.Check(); after != before {
			t.Errorf("the program's results are %s, were %s", after, before)
		}
	})
}

// TestThreadsInheritPlaces lets waves of threads come and go. What a thread that
// has ended left is another's, so that in the end a wave needs nothing new; and
// what both did is counted.
func TestThreadsInheritPlaces(t *testing.T) {
	const perRound = 104 // threads
	byOneDoor(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Threads)
		p.Run(1)
		c := observe(t, p, arena.On|arena.Timed|arena.Flat, "threads.**")
		blocks, owners, rounds := 0, 0, 0
		until(t, "a wave whose threads need no new blocks", func() bool {
			knownBlocks, knownOwners := blocks, owners
			p.Run(1)
			rounds++
			blocks, owners = c.turns()
			return blocks == knownBlocks && owners > knownOwners
		})
		c.compare("waves of threads")
		c.atRest("waves of threads")
		if untimed := int(c.totals("threads/Main.").Untimed); owners+untimed < rounds*perRound {
			t.Errorf("%d rounds had %d threads and %d calls without one, want %d threads", rounds, owners, untimed, rounds*perRound)
		}
		t.Logf("%d threads needed %d blocks", owners, blocks)
	})
}

// turns is how many blocks there are, and how many threads have had them.
func (c *counting) turns() (blocks, owners int) {
	c.t.Helper()
	threads := c.threads()
	for _, thread := range threads {
		owners += int(thread.Owners)
	}
	return len(threads), owners
}

func (c *counting) threads() []arena.Thread {
	c.t.Helper()
	threads, err := c.Threads()
	if err != nil {
		c.t.Fatal(err)
	}
	return threads
}

// TestVirtualThreadsAreCounted counts ten thousand virtual threads a round, which
// change carriers inside counted methods, and many that are parked there. A call
// for which no place was free is counted too, without its time.
func TestVirtualThreadsAreCounted(t *testing.T) {
	const parked = 20_000
	byDoors(t, jvmtest.NewestJDK(t), func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
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

// TestMethodsStillRunning looks while threads are inside nested methods, before
// and after hooks came in.
func TestMethodsStillRunning(t *testing.T) {
	const inside = 3
	byOneDoor(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Blocking)
		p.Run(1)
		p.Block(2) // these are entered without hooks, and left with them
		c := observe(t, p, arena.On|arena.Timed, "blocking.**")
		c.atRest("entered before there were hooks")
		p.Block(inside)
		c.compare("still inside")
		for method, depth := range map[string]uint64{
			"blocking/Main.outermost": 1, "blocking/Main.recursiveMiddle": 4,
			"blocking/Main.catchesWhenLetGo": 1, "blocking/Main$Gate.holdsMonitorAndWaits": 1,
		} {
			if totals := c.totals(method); totals.Calls != inside*depth || totals.Active != inside*depth || totals.Timed != 0 {
				t.Errorf("%s: %+v, want %d calls, all under way", method, totals, inside*depth)
			}
		}
		c.runsLonger()
		p.Unblock()
		c.atRest("let go")
		outer, middle := c.totals("blocking/Main.outermost"), c.totals("blocking/Main.recursiveMiddle")
		inner, leaf := c.totals("blocking/Main.catchesWhenLetGo"), c.totals("blocking/Main$Gate.holdsMonitorAndWaits")
		if outer.Nanos < middle.Nanos || middle.Nanos < inner.Nanos || inner.Nanos < leaf.Nanos || leaf.Nanos == 0 {
			t.Errorf("callers took less than what they called: %+v, %+v, %+v, %+v", outer, middle, inner, leaf)
		}
		if leaf.Threw != inside || leaf.Timed != inside {
			t.Errorf("%+v, want %d calls that ended by an exception", leaf, inside)
		}
	})
}

// runsLonger demands that what is under way has taken time, outer calls more than
// inner ones and recursive ones once, and takes more as time goes by.
func (c *counting) runsLonger() {
	c.t.Helper()
	// Read innermost first: each is as of a later moment than the one before.
	leaf, inner := c.totals("blocking/Main$Gate.holdsMonitorAndWaits"), c.totals("blocking/Main.catchesWhenLetGo")
	middle, outer := c.totals("blocking/Main.recursiveMiddle"), c.totals("blocking/Main.outermost")
	if leaf.Running == 0 || inner.Running < leaf.Running || middle.Running < inner.Running || outer.Running < middle.Running {
		c.t.Errorf("under way for %d, %d, %d, %d ns, from the inside out", leaf.Running, inner.Running, middle.Running, outer.Running)
	}
	if later := c.totals("blocking/Main.recursiveMiddle"); later.Running <= middle.Running {
		c.t.Errorf("under way for %d ns, later for %d", middle.Running, later.Running)
	}
	c.stacks()
}

// stacks demands that each thread's calls under way are listed in their order.
func (c *counting) stacks() {
	c.t.Helper()
	names := c.names()
	threads, err := c.Threads()
	if err != nil {
		c.t.Fatal(err)
	}
	want := []string{
		"blocking/Main.lambda$block$0", "blocking/Main.outermost", "blocking/Main.recursiveMiddle", "blocking/Main.recursiveMiddle",
		"blocking/Main.recursiveMiddle", "blocking/Main.recursiveMiddle", "blocking/Main.catchesWhenLetGo", "blocking/Main$Gate.holdsMonitorAndWaits",
	}
	found := 0
	for _, thread := range threads {
		if len(thread.Stack) == 0 {
			continue
		}
		found++
		for i, frame := range thread.Stack {
			if i >= len(want) || frame.Start == 0 || i > 0 && frame.Start < thread.Stack[i-1].Start || !hasPrefix(names[frame.ID], want[i]) {
				c.t.Fatalf("frame %d is %s from %d, want %s", i, names[frame.ID], frame.Start, want)
			}
		}
		if len(thread.Stack) != len(want) {
			c.t.Errorf("a stack of %d calls, want %d", len(thread.Stack), len(want))
		}
	}
	if found != 3 {
		c.t.Errorf("%d threads have calls under way, want 3", found)
	}
}

// TestRecursionIsTimedOnce shows that the time of calls inside calls of the same
// method is in the outermost one's alone, however deep and by whatever detours.
func TestRecursionIsTimedOnce(t *testing.T) {
	byOneDoor(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Recursion, live.Hammer, live.Calls)
		p.Run(1)
		c := observe(t, p, arena.On|arena.Timed|arena.Flat, "recursion.**", "hammer.**", "calls.**")
		for _, setting := range []arena.Flags{arena.On | arena.Timed | arena.Flat, arena.On | arena.Timed} {
			c.toggle(setting)
			p.Run(2)
			round := c.totals("recursion/Main.round")
			for _, method := range []string{"factorial", "fibonacci", "isEven", "isOdd"} {
				if m := c.totals("recursion/Main." + method); m.Nanos == 0 || m.Nanos > round.Nanos || m.Timed != m.Calls || m.Self < 0 {
					t.Errorf("flags %d: %s %+v in rounds of %+v", setting, method, m, round)
				}
			}
			hammer := c.totals("hammer/Main.round")
			if m := c.totals("hammer/Main.recursesThrice"); m.Nanos > hammer.Nanos || m.Timed != 4*10_000*hammer.Calls {
				t.Errorf("flags %d: recursesThrice %+v in %+v", setting, m, hammer)
			}
			outer, middle, inner := c.totals("calls/Plain.outer"), c.totals("calls/Plain.middle"), c.totals("calls/Plain.inner")
			if outer.Nanos < middle.Nanos || middle.Nanos < inner.Nanos || outer.Self < 0 || middle.Self < 0 || inner.Self != int64(inner.Nanos) {
				t.Errorf("flags %d: %+v calls only %+v, which calls only %+v", setting, outer, middle, inner)
			}
			if setting&arena.Flat == 0 {
				continue // a tree is not as deep as these go
			}
			// deepOnes waits for nobody, and calls one and then the other.
			both := c.totals("recursion/Main.deep(").Nanos + c.totals("recursion/Main.deepThenThrows").Nanos
			if caller := c.totals("recursion/Main.deepOnes"); both == 0 || both > caller.Nanos {
				t.Errorf("flags %d: both deep ones took %d, their caller %+v", setting, both, caller)
			}
		}
	})
}
