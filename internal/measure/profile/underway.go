package profile

import (
	"slices"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// underWay is what calls under way have taken themselves so far, by node: each was
// at work from its start until now, or until the next timed one started, but for
// callees that have ended.
func underWay(t arena.Thread, now int64) map[uint32]int64 {
	soFar := make(map[uint32]int64, len(t.Stack))
	until := now
	for _, f := range slices.Backward(t.Stack) {
		if f.Start != 0 {
			soFar[f.Node] += max(0, until-f.Start-f.Child)
			until = f.Start
		}
	}
	return soFar
}
