package ascent

import (
	"github.com/sonde-jvm/sonde/internal/measure/climb"
)

// A Box is a method on the way up as it is drawn: the hot spot lies at the bottom,
// callers above what they call, as wide as what of its time came through them.
type Box struct {
	*climb.Caller         // nil for the hot spot, and for methods that are left out
	Level         int     // 0 is the hot spot
	At, Width     float64 // of the whole
	Main          bool
	Again         bool
	LeftOut       int // so many methods of a straight way stand for this box
}

const (
	leastWidth   = 0.002 // narrower boxes are not drawn
	longestChain = 9     // of a way that goes straight up; of longer ones the middle is left out
	chainFoot    = 4
	chainHead    = 3
)

// BoxesOf are a hot spot's boxes, from the bottom up, and how many levels they have.
func BoxesOf(s *climb.Spot) (boxes []Box, levels int) {
	r := &rise{on: map[int]int{s.Method: 1}, levels: 1, boxes: []Box{{Width: 1, Main: true}}}
	r.above(s.Callers, 1, 0, 1, true)
	return r.boxes, r.levels
}

type rise struct {
	boxes  []Box
	levels int
	on     map[int]int // methods of the way that is followed
}

// above places callers from a place on, none beyond what is below them.
func (r *rise) above(callers []*climb.Caller, level int, at, width float64, main bool) {
	end := at + width
	for i, caller := range callers {
		wide := min(caller.Share.Part, end-at)
		if wide < leastWidth {
			continue
		}
		r.chain(caller, level, at, wide, main && i == 0)
		at += wide
	}
}

// chain places a caller with all of the straight way above it.
func (r *rise) chain(caller *climb.Caller, level int, at, width float64, main bool) {
	way := []*climb.Caller{caller}
	for last := caller; len(last.Above) == 1 && last.Above[0].Share.Part >= 0.98*last.Share.Part; {
		last = last.Above[0]
		way = append(way, last)
	}
	for i, one := range way {
		again := r.on[one.Method] > 0
		r.on[one.Method]++
		if len(way) > longestChain && i >= chainFoot && i < len(way)-chainHead {
			if i == chainFoot {
				r.add(Box{Level: level, At: at, Width: width, Main: main, LeftOut: len(way) - chainFoot - chainHead})
				level++
			}
			continue
		}
		r.add(Box{Caller: one, Level: level, At: at, Width: width, Main: main, Again: again})
		level++
	}
	r.above(way[len(way)-1].Above, level, at, width, main)
	for _, one := range way {
		r.on[one.Method]--
	}
}

func (r *rise) add(b Box) {
	r.levels = max(r.levels, b.Level+1)
	r.boxes = append(r.boxes, b)
}
