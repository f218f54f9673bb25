package waterfall

import (
	"fmt"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// hottest is the method with most time of its own.
type hottest struct{ Name, Full, Self, Share, Calls string }

func hottestOf(t *trace.Trace) *hottest {
	type sum struct {
		first *trace.Call
		self  time.Duration
		calls uint64
	}
	sums := map[string]*sum{}
	var all time.Duration
	var most *sum
	for _, one := range t.Transactions {
		for c := range one.All() {
			s := sums[c.Name()]
			if s == nil {
				s = &sum{first: c}
				sums[c.Name()] = s
			}
			s.self += c.Self
			s.calls++
			all += c.Self
			if most == nil || s.self > most.self {
				most = s
			}
		}
	}
	if most == nil || all == 0 {
		return nil
	}
	return &hottest{
		Name: shortName(most.first.Class, most.first.Method), Full: most.first.Name(), Self: format.Duration(most.self),
		Share: fmt.Sprintf("%.0f %%", 100*float64(most.self)/float64(all)), Calls: format.Count(most.calls, "call", "calls"),
	}
}
