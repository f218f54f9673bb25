package cost

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/perfdata"
)

// counters are the published counters of pauses and compilations.
type counters struct {
	safepoints  int64
	pause       time.Duration // with the wait until all threads have stopped
	compileTime time.Duration
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
