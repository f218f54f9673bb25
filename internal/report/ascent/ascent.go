// Package ascent reads a climb for those who show it: which way up is the main one,
// who of the program causes a hot spot, where the way divides, and how all of it lies
// in time. It writes nothing.
package ascent

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
)

// A Cause is what is to be said first of a hot spot: who of the program has it run.
type Cause struct {
	// By is the lowest method of the program itself on the main way up; nil where
	// there is none.
	By *rootcause.Caller
	// Way are the methods from the hot spot up to By, both included; where there is
	// no By, those of the whole main way.
	Way []int
	// End is the last method of the main way; nil where the hot spot has no caller.
	End *rootcause.Caller
	// Divides is where the main way first divides; nil where it does not.
	Divides *Division
}

// A Division is a method that is called in several ways, each of which matters.
type Division struct {
	Above int // the method that is called
	Ways  []*rootcause.Caller
}

// platform are the packages that are of the JDK.
var platform = []string{"java/", "javax/", "jdk/", "sun/", "com/sun/"}

// OfProgram tells whether a method is of the program itself, not of the JDK.
func OfProgram(m rootcause.Method) bool {
	for _, prefix := range platform {
		if strings.HasPrefix(m.Class, prefix) {
			return false
		}
	}
	return true
}

// CauseOf reads the main way up from a hot spot, on which each step goes to the
// caller with the largest share. The hot spot is not its own cause, nor is it by
// recursion.
func CauseOf(c *rootcause.Climb, s *rootcause.Spot) Cause {
	cause := Cause{Way: []int{s.Method}}
	below, share := s.Method, 1.0
	for callers := s.Callers; len(callers) > 0; callers = callers[0].Above {
		main := callers[0]
		if ways := matter(callers, share); len(ways) > 1 && cause.Divides == nil {
			cause.Divides = &Division{Above: below, Ways: ways}
		}
		if cause.By == nil {
			cause.Way = append(cause.Way, main.Method)
			if main.Method != s.Method && OfProgram(c.Methods[main.Method]) {
				cause.By = main
			}
		}
		cause.End = main
		below, share = main.Method, main.Share.Part
	}
	return cause
}

// leastWay is the part of what comes through a method that a caller must have to be
// a way of its own.
const leastWay = 0.02

// matter are the callers that a way divides into. Recursion is no way of its own.
func matter(callers []*rootcause.Caller, share float64) []*rootcause.Caller {
	var ways []*rootcause.Caller
	for _, caller := range callers {
		if caller.Share.Part >= leastWay*share {
			ways = append(ways, caller)
		}
	}
	return ways
}

// A Way is one from a hot spot up to where it was followed to.
type Way struct {
	Methods []int // the hot spot first
	Part    float64
}

// WaysOf are all ways up from a hot spot, each with what of the hot spot's time came
// just this way: what no caller accounts for ends where it is known to. The parts
// add up to 1, but for what shares that are estimates leave.
func WaysOf(s *rootcause.Spot) []Way {
	var ways []Way
	var follow func(callers []*rootcause.Caller, path []int, part float64)
	follow = func(callers []*rootcause.Caller, path []int, part float64) {
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

// A Row is a method on the way up from a hot spot, in the order of reading: a caller
// comes right behind what it calls, the largest share first.
type Row struct {
	*rootcause.Caller
	Below int  // index of the row of what it calls; -1 where that is the hot spot
	Depth int  // 1 is a direct caller
	Again bool // it is on the way below already: recursion
	Main  bool // it is on the main way
	Last  bool // no caller of the same method comes behind it
}

// RowsOf are the rows of a hot spot that have at least a share of it, and how many
// have not. What is above one that has not is not counted.
func RowsOf(s *rootcause.Spot, least float64) (rows []Row, left int) {
	on := map[int]int{s.Method: 1}
	var add func(callers []*rootcause.Caller, below, depth int, main bool)
	add = func(callers []*rootcause.Caller, below, depth int, main bool) {
		last := -1
		for i, caller := range callers {
			if caller.Share.Part < least {
				left++
				continue
			}
			last = len(rows)
			rows = append(rows, Row{
				Caller: caller, Below: below, Depth: depth, Again: on[caller.Method] > 0, Main: main && i == 0,
			})
			on[caller.Method]++
			add(caller.Above, last, depth+1, main && i == 0)
			on[caller.Method]--
		}
		if last >= 0 {
			rows[last].Last = true
		}
	}
	add(s.Callers, -1, 1, true)
	return rows, left
}

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
func ScaleOf(c *rootcause.Climb) *Scale {
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
func busyWhiles(c *rootcause.Climb) []span {
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
func EndOf(c *rootcause.Climb, until time.Duration) time.Duration {
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

// A Box is a method on the way up as it is drawn: the hot spot lies at the bottom,
// callers above what they call, as wide as what of its time came through them.
type Box struct {
	*rootcause.Caller         // nil for the hot spot, and for methods that are left out
	Level             int     // 0 is the hot spot
	At, Width         float64 // of the whole
	Main              bool
	Again             bool
	LeftOut           int // so many methods of a straight way stand for this box
}

const (
	leastWidth   = 0.002 // narrower boxes are not drawn
	longestChain = 9     // of a way that goes straight up; of longer ones the middle is left out
	chainFoot    = 4
	chainHead    = 3
)

// BoxesOf are a hot spot's boxes, from the bottom up, and how many levels they have.
func BoxesOf(s *rootcause.Spot) (boxes []Box, levels int) {
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
func (r *rise) above(callers []*rootcause.Caller, level int, at, width float64, main bool) {
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
func (r *rise) chain(caller *rootcause.Caller, level int, at, width float64, main bool) {
	way := []*rootcause.Caller{caller}
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

// A Level is the hooks of one hot spot that were on at one height, in lanes: those
// of a lane come one after the other.
type Level struct {
	Level int
	Lanes [][]rootcause.Live
}

// LevelsOf are the levels of a hot spot, the highest first. Hooks that are near each
// other on the scale come into different lanes, so that each has room for its name.
func LevelsOf(c *rootcause.Climb, spot int, scale *Scale, room float64) []Level {
	byLevel := map[int][]rootcause.Live{}
	for _, h := range c.Hooks {
		if h.Spot == spot {
			byLevel[h.Level] = append(byLevel[h.Level], h)
		}
	}
	var levels []Level
	for level, hooks := range byLevel {
		slices.SortStableFunc(hooks, func(a, b rootcause.Live) int { return cmp.Compare(a.From, b.From) })
		levels = append(levels, Level{level, lanes(c, hooks, scale, room)})
	}
	slices.SortFunc(levels, func(a, b Level) int { return cmp.Compare(b.Level, a.Level) })
	return levels
}

func lanes(c *rootcause.Climb, hooks []rootcause.Live, scale *Scale, room float64) [][]rootcause.Live {
	var list [][]rootcause.Live
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
func LiveOver(c *rootcause.Climb) []Count {
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
