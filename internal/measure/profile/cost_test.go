package profile

import (
	"math"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

var knownCosts = cct.Calibration{Inner: cct.Span{Median: 40}, Outer: cct.Span{Median: 60}, Count: cct.Span{Median: 10}}

// TestSeldomCallsCostMore than a loop tells, and very frequent ones no more than that.
func TestSeldomCallsCostMore(t *testing.T) {
	seldom, often := tariffAt(knownCosts, 0), tariffAt(knownCosts, 1e9)
	if seldom.timed != 100+coldTiming || seldom.counted != 10+coldCounting {
		t.Errorf("seldom: %+v", seldom)
	}
	if math.Abs(often.timed-100) > 1 || math.Abs(often.counted-10) > 1 {
		t.Errorf("often: %+v", often)
	}
	if kept := careful(knownCosts, 0); kept.timed <= seldom.timed || kept.counted <= seldom.counted {
		t.Errorf("who keeps a budget reckons with %+v", kept)
	}
}

// TestPriceIsOfAllCalls: those that are timed, for their own sake or their caller's, and the others.
func TestPriceIsOfAllCalls(t *testing.T) {
	threads := []arena.Thread{{Root: 1, Nodes: []arena.Node{
		{Ref: 2, Parent: 1, ID: 10, Calls: 10, Timed: 5},
		{Ref: 3, Parent: 2, ID: 11, Calls: 100},
	}}}
	timed, counted := 5+50.0, 5+50.0
	each := tariffAt(knownCosts, 0)
	want := timed*each.timed + counted*each.counted
	if got := price(knownCosts, threads, 1e9); math.Abs(got-want) > 0.01*want {
		t.Errorf("%g, not %g", got, want)
	}
}
