package ascent

import (
	"cmp"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/climb"
)

// A Scale maps the time of a walk to places from 0 to 1. Long whiles in which nothing
// was switched are narrowed to breaks: a climb of a second after a minute's sampling
// is still seen.
type Scale struct {
	spans []span
}

// A span is a stretch of time and its place.
type span struct {
	from, until time.Duration
	at, width   float64
	isBreak     bool
}

// A Break is a while that is narrowed.
type Break struct {
	From, Until time.Duration
	At, Width   float64
}

const (
	breakWidth = 0.05 // of the scale, for each break
	leastBreak = 0.12 // of the walk: shorter whiles are drawn as they are
	mostBreaks = 6
)

// ScaleOf is the scale for a walk.
func ScaleOf(c *climb.Climb) *Scale {
	busy := busyWhiles(c)
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
	for _, while := range busy {
		idle(while.from)
		spans = append(spans, while)
		at = while.until
	}
	idle(max(c.Took, at))
	return place(spans, 1-breakWidth*float64(breaks))
}

// place gives spans their places: breaks have a width of their own, the others
// divide the rest by their length.
func place(spans []span, room float64) *Scale {
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
	return &Scale{spans}
}

// busyWhiles are when something was switched, with a little room around, in order
// and apart from each other.
func busyWhiles(c *climb.Climb) []span {
	var all []span
	add := func(from, until time.Duration) { all = append(all, span{from: from, until: until}) }
	for _, h := range c.Hooks {
		add(h.From, EndOf(c, h.Until))
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

// EndOf is a moment that is 0 where it has not come: then it is the end of the walk.
func EndOf(c *climb.Climb, until time.Duration) time.Duration {
	if until == 0 {
		return c.Took
	}
	return until
}

// At is the place of a moment.
func (s *Scale) At(moment time.Duration) float64 {
	for _, one := range s.spans {
		if moment <= one.until && one.until > one.from {
			return one.at + one.width*float64(max(0, moment-one.from))/float64(one.until-one.from)
		}
	}
	return 1
}

// Breaks are the whiles that are narrowed.
func (s *Scale) Breaks() []Break {
	var list []Break
	for _, one := range s.spans {
		if one.isBreak {
			list = append(list, Break{one.from, one.until, one.at, one.width})
		}
	}
	return list
}

// Ticks are round moments about a part of the scale apart, none in a break.
func (s *Scale) Ticks(apart float64) []time.Duration {
	var density float64 // time on a whole scale without breaks
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
			if len(ticks) == 0 || s.At(at)-s.At(ticks[len(ticks)-1]) >= apart*0.6 {
				ticks = append(ticks, at)
			}
		}
	}
	return ticks
}

// roundUp is the next length that is 1, 2 or 5 times a power of ten of nanoseconds.
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
