package page

import (
	"github.com/sonde-jvm/sonde/internal/cct"
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
		Hooks:   plural(c.Hooks, "hook"),
		Classes: plural(c.Classes, "class"),
		Rounds:  plural(c.Rounds, "round"),
		Pause:   duration(c.Pause),
		Compile: duration(c.Compile),
		Waited:  duration(c.Waited),
	}
	if c.Closure > c.Hooks {
		v.Closure = count(uint64(c.Closure))
	}
	if quiet > 0 {
		v.Quiet = plural(quiet, "hook") + " thinned or off"
	}
	if c.Budget > 0 {
		v.Budget = share(c.Budget)
		v.Filled = min(100, 100*c.Steady/c.Budget)
		v.Over = c.Steady > c.Budget
	}
	return v
}
