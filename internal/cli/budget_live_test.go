package cli

import (
	"strings"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestBudgetOfAllLooks: a budget that one command has holds for the hooks of all. What is
// thinned is reported to each command concerned, and calls stay counted.
func TestBudgetOfAllLooks(t *testing.T) {
	t.Parallel()
	p := live.Start(t, jvmtest.JDKs(t)[0], live.Attach, live.Hammer)
	without := startSonde(t, append(countArgs(p.PID, "hammer.**"), "--json")...)
	with := startSonde(t, append(countArgs(p.PID, "hammer.Main.tiny*"), "--json", "--budget", "0.0001%")...)
	before := p.Counts()
	p.StartLoad(1)
	const message = "note: hooks cost "
	with.await(t, message)
	without.await(t, message)
	p.StopLoad()
	p.Run(2)
	truth := p.Counts().Minus(before)
	for _, one := range []*runningSonde{with, without} {
		one.signal(t, syscall.SIGINT)
		if code := one.end(t); code != exitOK {
			t.Errorf("exit code %d: %s", code, one.stderr.String())
		}
		if !strings.Contains(one.stderr.String(), "of the program's CPU time, and the budget is < 0.01 %: ") {
			t.Errorf("%s", one.stderr.String())
		}
		thinned := 0
		result := one.result(t)
		for name, calls := range countsOf(&result) {
			if want, isKnown := truth[name]; isKnown && calls.Entered != want.Entered {
				t.Errorf("%v calls of %s, want %v", calls.Entered, name, want.Entered)
			}
		}
		for _, m := range result.Methods {
			if m.Timed < m.Calls {
				thinned++
			}
		}
		if thinned == 0 || result.Timing != string(results.Exact) {
			t.Errorf("timing is %s, and %d methods are thinned", result.Timing, thinned)
		}
	}
}
