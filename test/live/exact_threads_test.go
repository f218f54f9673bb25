package live_test

import (
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestThousandsOfThreadsAtOnce has more threads inside counted methods than
// hooks have places for at first.
func TestThousandsOfThreadsAtOnce(t *testing.T) {
	const many = 5_000
	byBothDoors(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Threads)
		before := p.Check()
		c := observe(t, p, arena.On|arena.Timed, "threads.**")
		p.Block(many)
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
	byBothDoors(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
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
