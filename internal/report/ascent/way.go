package ascent

import (
	"github.com/sonde-jvm/sonde/internal/measure/climb"
)

// A Way is one from a hot spot up to where it was followed to.
type Way struct {
	Methods []int // the hot spot first
	Part    float64
}

// WaysOf are all ways up from a hot spot, each with what of the hot spot's time came
// just this way: what no caller accounts for ends where it is known to. The parts
// add up to 1, but for what shares that are estimates leave.
func WaysOf(s *climb.Spot) []Way {
	var ways []Way
	var follow func(callers []*climb.Caller, path []int, part float64)
	follow = func(callers []*climb.Caller, path []int, part float64) {
		var above float64
		for _, caller := range callers {
			above += caller.Share.Part
		}
		if rest := part - above; rest > 0 {
			ways = append(ways, Way{Methods: append([]int(nil), path...), Part: rest})
		}
		for _, caller := range callers {
			follow(caller.Above, append(path, caller.Method), caller.Share.Part)
		}
	}
	follow(s.Callers, []int{s.Method}, 1)
	return ways
}
