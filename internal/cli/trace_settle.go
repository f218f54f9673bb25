package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
)

const (
	// settleLook is how often a trace looks at the compilers.
	settleLook = 250 * time.Millisecond
	// settleCalls is how many calls must have begun: compilers are idle as well while
	// nobody calls what they are to compile.
	settleCalls = 10
	// Compilers are idle that use less of a processor than this for so long. Compilers that
	// are nearly done have many pauses, while the program is still several times slower.
	settledCompilers = 0.05
	settledFor       = 2 * time.Second
	// mostSettling bounds the wait: some programs keep their compilers busy all the time.
	mostSettling = 45 * time.Second
)

// A settling is the time in which calls are slow because of the hooks: putting them in
// made the JVM discard compiled code. A trace that keeps only slow calls keeps none of
// these.
type settling struct {
	idle  time.Duration // how long the compilers have been
	took  time.Duration
	ended bool
}

// add takes in what the compilers did since the last look, and how many calls have begun
// since the hooks are in. It reports whether the program has settled, or the wait is over.
func (s *settling) add(since cost.Cost, calls uint64) bool {
	busy := since.CompileCPU + since.CompileWait // compilers without a processor are not done
	s.took += since.Elapsed
	s.idle += since.Elapsed
	if busy.Seconds() > settledCompilers*since.Elapsed.Seconds() {
		s.idle = 0
	}
	s.ended = s.ended || s.idle >= settledFor && calls >= settleCalls || s.took >= mostSettling
	return s.ended
}

// overdue says why the wait ended without compilers at rest; empty where they are.
func (s *settling) overdue(calls uint64) string {
	switch {
	case s.took < mostSettling:
		return ""
	case calls < settleCalls:
		return fmt.Sprintf("only %s in %s: the first ones kept may be slow because the JVM compiles again what has hooks now",
			count(int(calls), "call began", "calls began"), durationText(mostSettling))
	}
	return fmt.Sprintf("the compilers are still busy after %s: calls may be slow because the JVM compiles again what has hooks now", durationText(mostSettling))
}

// keepsSlow reports whether a trace keeps calls because they are slow.
func (c *tracing) keepsSlow() bool {
	return c.slowerThan > 0 || strings.Contains(c.contexts.when, "$elapsed")
}

// lookAtCompilers keeps on waiting for the program to settle. What is kept, and the time
// it is kept for, begins when it has.
func (r *traceRun) lookAtCompilers() {
	if r.settling.ended || time.Since(r.looked.At) < settleLook {
		return
	}
	now, err := r.visit.session.Read()
	if err != nil {
		return // the end will say it
	}
	since := r.looked.Until(now)
	r.looked = now
	sum, err := r.rings.Sum()
	if err != nil || !r.settling.add(since, sum.Opened) {
		return
	}
	r.began = time.Now()
	if text := r.settling.overdue(sum.Opened); text != "" {
		r.remark(text)
	}
	r.screen.say("settled after %s: slow calls are kept from now on", durationText(r.settling.took.Round(100*time.Millisecond)))
}

// isDisturbed reports whether a transaction began before the program had settled.
func (r *traceRun) isDisturbed(t *trace.Transaction) bool {
	return !r.settling.ended || r.settling.took > 0 && t.Begin.Before(r.began)
}
