package ascent

import (
	"cmp"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/climb"
)

// A Level is the hooks of one hot spot that were on at one height, in lanes: those
// of a lane come one after the other.
type Level struct {
	Level int
	Lanes [][]climb.Live
}

// LevelsOf are the levels of a hot spot, the highest first. Hooks that are near each
// other on the scale come into different lanes, so that each has room for its name.
func LevelsOf(c *climb.Climb, spot int, scale *Scale, room float64) []Level {
	byLevel := map[int][]climb.Live{}
	for _, h := range c.Hooks {
		if h.Spot == spot {
			byLevel[h.Level] = append(byLevel[h.Level], h)
		}
	}
	var levels []Level
	for level, hooks := range byLevel {
		slices.SortStableFunc(hooks, func(a, b climb.Live) int { return cmp.Compare(a.From, b.From) })
		levels = append(levels, Level{level, lanes(c, hooks, scale, room)})
	}
	slices.SortFunc(levels, func(a, b Level) int { return cmp.Compare(b.Level, a.Level) })
	return levels
}

func lanes(c *climb.Climb, hooks []climb.Live, scale *Scale, room float64) [][]climb.Live {
	var list [][]climb.Live
	var ends []float64
	for _, h := range hooks {
		from := scale.At(h.From)
		end := max(scale.At(EndOf(c, h.Until)), from+room)
		lane := slices.IndexFunc(ends, func(taken float64) bool { return taken <= from })
		if lane < 0 {
			lane = len(list)
			list, ends = append(list, nil), append(ends, 0)
		}
		list[lane], ends[lane] = append(list[lane], h), end
	}
	return list
}

// A Count is how many hooks were on from a moment on.
type Count struct {
	From time.Duration
	Live int
}

// LiveOver is how many hooks were on, over time. A hook that goes on when another
// goes off takes its place.
func LiveOver(c *climb.Climb) []Count {
	changes := map[time.Duration]int{}
	for _, h := range c.Hooks {
		changes[h.From]++
		changes[EndOf(c, h.Until)]--
	}
	moments := make([]time.Duration, 0, len(changes))
	for moment := range changes {
		moments = append(moments, moment)
	}
	slices.Sort(moments)
	list := []Count{{}}
	for _, moment := range moments {
		list = append(list, Count{moment, list[len(list)-1].Live + changes[moment]})
	}
	return list
}
