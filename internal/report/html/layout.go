package html

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
)

// A scale maps the time of a search to places from 0 to 1. Long times in which nothing
// changed are shortened to breaks, so that hooks of a second after a minute of sampling
// can still be seen.
type scale struct {
	spans []span
}

// A span is an interval of time and its place.
type span struct {
	from, until time.Duration
	at, width   float64
	isBreak     bool
}

const (
	breakWidth = 0.05 // of the scale, for each break
	leastBreak = 0.12 // of the whole time: shorter breaks are not shortened
	mostBreaks = 6
)

func newScale(c *rootcause.Climb) *scale {
	busy := busySpans(c)
	var spans []span
	at := time.Duration(0)
	breaks := 0
	idle := func(until time.Duration) {
		if until <= at {
			return
		}
		isBreak := float64(until-at) > leastBreak*float64(c.Took) && breaks < mostBreaks && len(busy) > 0
		if isBreak {
			breaks++
		}
		spans = append(spans, span{from: at, until: until, isBreak: isBreak})
	}
	for _, s := range busy {
		idle(s.from)
		spans = append(spans, s)
		at = s.until
	}
	idle(max(c.Took, at))
	return place(spans, 1-breakWidth*float64(breaks))
}

// place assigns places to spans: breaks have a fixed width, and the others share the rest
// by their lengths.
func place(spans []span, room float64) *scale {
	var long time.Duration
	for _, s := range spans {
		if !s.isBreak {
			long += s.until - s.from
		}
	}
	at := 0.0
	for i := range spans {
		s := &spans[i]
		s.at, s.width = at, breakWidth
		if !s.isBreak {
			s.width = room * float64(s.until-s.from) / float64(max(long, 1))
		}
		at += s.width
	}
	return &scale{spans}
}

// busySpans returns the intervals in which hooks or hot spots changed, with a margin, in
// order and without overlaps.
func busySpans(c *rootcause.Climb) []span {
	var all []span
	add := func(from, until time.Duration) { all = append(all, span{from: from, until: until}) }
	for _, h := range c.Hooks {
		add(h.From, endOf(c, h.Until))
	}
	for _, b := range c.Batches {
		add(b.At, b.At+b.Pause)
	}
	for _, s := range c.Spots {
		if s.From > 0 {
			add(s.From, s.From)
		}
		if s.Until > 0 {
			add(s.Until, s.Until)
		}
	}
	var sum time.Duration
	for _, s := range all {
		sum = max(sum, s.until-s.from)
	}
	around := max(sum/10, c.Took/400)
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var apart []span
	for _, s := range all {
		s.from, s.until = max(0, s.from-around), min(max(c.Took, s.until), s.until+around)
		if last := len(apart) - 1; last >= 0 && s.from <= apart[last].until {
			apart[last].until = max(apart[last].until, s.until)
			continue
		}
		apart = append(apart, s)
	}
	return apart
}

// endOf returns a time, or the end of the search if the time is 0.
func endOf(c *rootcause.Climb, until time.Duration) time.Duration {
	if until == 0 {
		return c.Took
	}
	return until
}

// at returns the place of a time.
func (s *scale) at(moment time.Duration) float64 {
	for _, one := range s.spans {
		if moment <= one.until && one.until > one.from {
			return one.at + one.width*float64(max(0, moment-one.from))/float64(one.until-one.from)
		}
	}
	return 1
}

// breaks returns the shortened spans.
func (s *scale) breaks() []span {
	var list []span
	for _, one := range s.spans {
		if one.isBreak {
			list = append(list, one)
		}
	}
	return list
}

// ticks returns round times that are about a part of the scale apart, none in a break.
func (s *scale) ticks(apart float64) []time.Duration {
	var density float64 // time per unit of the scale
	for _, one := range s.spans {
		if !one.isBreak && one.width > 0 {
			density = max(density, float64(one.until-one.from)/one.width)
		}
	}
	step := roundUp(time.Duration(density * apart))
	if step <= 0 {
		return nil
	}
	var ticks []time.Duration
	for _, one := range s.spans {
		if one.isBreak {
			continue
		}
		for at := (one.from + step - 1) / step * step; at <= one.until; at += step {
			if len(ticks) == 0 || s.at(at)-s.at(ticks[len(ticks)-1]) >= apart*0.6 {
				ticks = append(ticks, at)
			}
		}
	}
	return ticks
}

// roundUp returns the next duration that is 1, 2 or 5 times a power of ten nanoseconds.
func roundUp(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	power := time.Duration(1)
	for power*10 <= d {
		power *= 10
	}
	for _, times := range []time.Duration{1, 2, 5} {
		if power*times >= d {
			return power * times
		}
	}
	return power * 10
}

// A box is a method in the drawing of callers: the hot spot is at the bottom, callers are
// above their callees, and the width is the share of the hot spot's time.
type box struct {
	*rootcause.Caller         // nil for the hot spot, and for methods that are left out
	Level             int     // 0 is the hot spot
	At, Width         float64 // of the whole
	Main              bool    // on the main call path
	Again             bool    // recursion
	LeftOut           int     // the number of methods that this box stands for; 0 if it is one method
}

const (
	leastWidth   = 0.002 // narrower boxes are not drawn
	longestChain = 9     // the middle of a longer path without a split is left out
	chainFoot    = 4
	chainHead    = 3
)

// boxesOf returns the boxes of a hot spot from the bottom up, and the number of levels.
func boxesOf(s *rootcause.Spot) (boxes []box, levels int) {
	r := &stack{on: map[int]int{s.Method: 1}, levels: 1, boxes: []box{{Width: 1, Main: true}}}
	r.above(s.Callers, 1, 0, 1, true)
	return r.boxes, r.levels
}

type stack struct {
	boxes  []box
	levels int
	on     map[int]int // methods of the current path
}

// above places callers above their callee, from a place on and within a width.
func (r *stack) above(callers []*rootcause.Caller, level int, at, width float64, main bool) {
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

// chain places a caller and all callers above it up to the next split.
func (r *stack) chain(caller *rootcause.Caller, level int, at, width float64, main bool) {
	path := []*rootcause.Caller{caller}
	for last := caller; len(last.Above) == 1 && last.Above[0].Share.Part >= 0.98*last.Share.Part; {
		last = last.Above[0]
		path = append(path, last)
	}
	for i, one := range path {
		again := r.on[one.Method] > 0
		r.on[one.Method]++
		if len(path) > longestChain && i >= chainFoot && i < len(path)-chainHead {
			if i == chainFoot {
				r.add(box{Level: level, At: at, Width: width, Main: main, LeftOut: len(path) - chainFoot - chainHead})
				level++
			}
			continue
		}
		r.add(box{Caller: one, Level: level, At: at, Width: width, Main: main, Again: again})
		level++
	}
	r.above(path[len(path)-1].Above, level, at, width, main)
	for _, one := range path {
		r.on[one.Method]--
	}
}

func (r *stack) add(b box) {
	r.levels = max(r.levels, b.Level+1)
	r.boxes = append(r.boxes, b)
}

// A hookLevel holds the hooks of one hot spot at one level. The hooks of a lane do not
// overlap.
type hookLevel struct {
	Level int
	Lanes [][]rootcause.Live
}

// levelsOf returns the levels of a hot spot, the highest first. Hooks that are close to each
// other on the scale are in different lanes, so that each has room for its name.
func levelsOf(c *rootcause.Climb, spot int, scale *scale, room float64) []hookLevel {
	byLevel := map[int][]rootcause.Live{}
	for _, h := range c.Hooks {
		if h.Spot == spot {
			byLevel[h.Level] = append(byLevel[h.Level], h)
		}
	}
	var levels []hookLevel
	for level, hooks := range byLevel {
		slices.SortStableFunc(hooks, func(a, b rootcause.Live) int { return cmp.Compare(a.From, b.From) })
		levels = append(levels, hookLevel{level, lanes(c, hooks, scale, room)})
	}
	slices.SortFunc(levels, func(a, b hookLevel) int { return cmp.Compare(b.Level, a.Level) })
	return levels
}

func lanes(c *rootcause.Climb, hooks []rootcause.Live, scale *scale, room float64) [][]rootcause.Live {
	var list [][]rootcause.Live
	var ends []float64
	for _, h := range hooks {
		from := scale.at(h.From)
		end := max(scale.at(endOf(c, h.Until)), from+room)
		lane := slices.IndexFunc(ends, func(taken float64) bool { return taken <= from })
		if lane < 0 {
			lane = len(list)
			list, ends = append(list, nil), append(ends, 0)
		}
		list[lane], ends[lane] = append(list[lane], h), end
	}
	return list
}

// A liveCount is the number of hooks that were on from a time on.
type liveCount struct {
	From time.Duration
	Live int
}

// liveOver returns how many hooks were on over time. A hook that is switched on when another
// is switched off takes its place.
func liveOver(c *rootcause.Climb) []liveCount {
	changes := map[time.Duration]int{}
	for _, h := range c.Hooks {
		changes[h.From]++
		changes[endOf(c, h.Until)]--
	}
	list := []liveCount{{}}
	for _, moment := range slices.Sorted(maps.Keys(changes)) {
		list = append(list, liveCount{moment, list[len(list)-1].Live + changes[moment]})
	}
	return list
}
