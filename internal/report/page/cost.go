package page

import (
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// A costView is what the run cost the target.
type costView struct {
	Steady  string
	Budget  string  // empty where none was kept
	Filled  float64 // of the bar that shows Steady against Budget, in percent
	Over    bool    // Steady is past Budget
	Hooks   string
	Closure string // empty where every reachable method has a hook
	Classes string
	Rounds  string
	Pause   string
	Compile string
	Waited  string
	Quiet   string // hooks the budget thinned or switched off; empty for none
}

func newCostView(c cct.Cost, quiet int) costView {
	v := costView{
		Steady:  share(c.Steady),
		Hooks:   format.Plural(c.Hooks, "hook"),
		Classes: format.Plural(c.Classes, "class"),
		Rounds:  format.Plural(c.Rounds, "round"),
		Pause:   duration(c.Pause),
		Compile: duration(c.Compile),
		Waited:  duration(c.Waited),
	}
	if c.Closure > c.Hooks {
		v.Closure = format.Grouped(uint64(c.Closure))
	}
	if quiet > 0 {
		v.Quiet = format.Plural(quiet, "hook") + " off, thinned or on for a part of the time"
	}
	if c.Budget > 0 {
		v.Budget = share(c.Budget)
		v.Filled = min(100, 100*c.Steady/c.Budget)
		v.Over = c.Steady > c.Budget
	}
	return v
}
