package cost

import (
	"fmt"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/perfdata"
)

// counters are the published counters of pauses and compilations.
type counters struct {
	safepoints  int64
	pause       time.Duration // with the wait until all threads have stopped
	compileTime time.Duration
}

// collectionsFrom returns how many collections of garbage have ended, and how long they took: of most collectors, the pauses for them.
func collectionsFrom(c *perfdata.Counters) (n int64, took time.Duration, ok bool) {
	frequency, ok := c.Number("sun.os.hrt.frequency")
	if !ok || frequency <= 0 {
		return 0, 0, false
	}
	var all int64
	collector := 0
	for ; ; collector++ {
		prefix := fmt.Sprintf("sun.gc.collector.%d.", collector)
		count, hasCount := c.Number(prefix + "invocations")
		ticks, hasTicks := c.Number(prefix + "time")
		if !hasCount || !hasTicks || count < 0 || ticks < 0 {
			break
		}
		n, all = n+count, all+ticks
	}
	return n, time.Duration(float64(all) / float64(frequency) * float64(time.Second)), collector > 0
}

// countersFrom converts published counters, whose times are in ticks of the JVM's clock.
//
// A safepoint is counted when it begins, the wait until all threads have stopped when they
// have, the rest when it ends; a compilation and its time when it ends. On JDK 17 and 25
// the two times add up to what -Xlog:safepoint calls the total. JDK 8 is said to have the
// wait in both, so its pauses would be too long by the wait.
func countersFrom(c *perfdata.Counters) (found counters, pauses, compiles bool) {
	frequency, ok := c.Number("sun.os.hrt.frequency")
	if !ok || frequency <= 0 {
		return counters{}, false, false
	}
	whole := true
	number := func(name string) int64 {
		n, ok := c.Number(name)
		whole = whole && ok && n >= 0
		return n
	}
	duration := func(name string) time.Duration {
		return time.Duration(float64(number(name)) / float64(frequency) * float64(time.Second))
	}
	found.safepoints = number("sun.rt.safepoints")
	found.pause = duration("sun.rt.safepointSyncTime") + duration("sun.rt.safepointTime")
	pauses, whole = whole, true
	found.compileTime = duration("java.ci.totalTime")
	return found, pauses, whole
}
