package cli

import (
	"fmt"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// overdueText says why the wait ended although the program has not settled; empty if it
// has.
func overdueText(s overhead.Settling, calls uint64) string {
	switch {
	case s.State != overhead.Overdue:
		return ""
	case calls < s.Rule.Calls:
		return fmt.Sprintf("only %s in %s: the first transactions kept may be slow because the JVM still compiles the hooked methods",
			format.Count(int(calls), "call began", "calls began"), format.Duration(s.Rule.Limit))
	}
	return fmt.Sprintf("the compilers are still busy after %s: calls may be slow because the JVM still compiles the hooked methods", format.Duration(s.Rule.Limit))
}

// keepsSlow reports whether a trace keeps calls because they are slow.
func (c *tracing) keepsSlow() bool {
	when := c.wanted.Probes[0].When
	return c.slowerThan > 0 || when != nil && when.ReadsElapsed()
}

// lookAtCompilers keeps on waiting for the program to settle. What is kept, and the time
// it is kept for, begins when it has.
func (r *traceRun) lookAtCompilers() {
	if r.settling.State != overhead.Unsettled || time.Since(r.looked.At) < overhead.SettleInterval {
		return
	}
	now, err := r.visit.session.Read()
	if err != nil {
		return // the end will say it
	}
	since := r.looked.Until(now)
	r.looked = now
	sum, err := r.rings.Sum()
	if err != nil || r.settling.Add(since, sum.Opened) == overhead.Unsettled {
		return
	}
	r.began = time.Now()
	if text := overdueText(r.settling, sum.Opened); text != "" {
		r.remark(text)
	}
	r.screen.say("settled after %s: slow calls are kept from now on", format.Duration(r.settling.Took.Round(100*time.Millisecond)))
}

// isDisturbed reports whether a transaction began before the program had settled.
func (r *traceRun) isDisturbed(t *trace.Transaction) bool {
	return r.settling.State == overhead.Unsettled || r.settling.Took > 0 && t.Begin.Before(r.began)
}
