package rootcause

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sonde-jvm/sonde/internal/measure/overhead"
)

// index is a method's place in the result.
func (w *walker) index(m method) int {
	at, known := w.indexes[m]
	if !known {
		at = len(w.methods)
		w.indexes[m] = at
		w.methods = append(w.methods, Method{Class: m.class, Name: m.name, Descriptor: m.descriptor, Native: w.calls.known[m]})
	}
	return at
}

// result is what is known so far.
func (w *walker) result() *Climb {
	c := &Climb{
		Began: w.began, Took: w.elapsed(), Hooks: slices.Clone(w.lives), Batches: slices.Clone(w.batches), Cost: w.cost(), Notes: slices.Clone(w.notes),
		Sampled: Sampled{By: "the flight recorder", Samples: w.samples, Over: w.sampled},
	}
	c.Target = Target{PID: w.PID}
	if w.sampler != nil {
		jvm := w.sampler.JVM()
		c.Target.Command, c.Target.JDK = jvm.Main, w.jdk
		if bias := w.sampler.Bias(); bias != "" {
			c.Sampled.By, c.Sampled.Biased = "thread dumps", true
			c.Notes = append(c.Notes, bias)
		}
	}
	for _, s := range w.spots {
		c.Spots = append(c.Spots, w.spotResult(s))
	}
	slices.SortStableFunc(c.Spots, func(a, b Spot) int { return cmp.Compare(b.Share.Part, a.Share.Part) })
	w.renumber(c)
	c.List = w.list()
	c.Methods = slices.Clone(w.methods)
	return c
}

// renumber has hooks name the spots in the order in which the result has them.
func (w *walker) renumber(c *Climb) {
	place := make(map[int]int)
	for i, s := range w.spots {
		at := w.index(s.top.method)
		place[i] = slices.IndexFunc(c.Spots, func(one Spot) bool { return one.Method == at })
	}
	for i := range c.Hooks {
		c.Hooks[i].Spot = place[c.Hooks[i].Spot]
		if c.Hooks[i].Until == 0 {
			c.Hooks[i].Until = c.Took
		}
	}
}

func (w *walker) spotResult(s *spot) Spot {
	result := Spot{
		Method: w.index(s.top.method), Share: s.share, Kind: s.kind, Line: s.line, From: s.from, Until: s.until, Above: s.above,
	}
	if known := w.subjects[s.top.method]; known != nil {
		result.Own = known.measured
	}
	result.Callers = w.callersOf(s, s.top, 1)
	return result
}

// shown is the part of a hot spot's time that a way must have to be told of.
const shown = 0.01

// callersOf are the ways on from one, with their shares of the hot spot's time.
// Where stacks were cut off, what hooks have seen of the callers' times divides the
// rest.
func (w *walker) callersOf(s *spot, at *way, part float64) []*Caller {
	if at.level >= w.Levels || w.isBoundary(at.method) {
		return nil
	}
	known := w.subjects[at.method]
	weights, cut := w.weigh(at, known)
	timed := at.level == 0 && isTimed(known)
	var callers []*Caller
	for m, weight := range weights {
		through := part * weight / max(at.weight, 1e-9)
		if through < shown {
			continue
		}
		next := at.callers[m]
		caller := &Caller{Method: w.index(m), By: BySamples, State: Seen}
		switch {
		case timed:
			caller.By = ByHooks
		case next == nil || cut > next.weight:
			caller.By = Reckoned
		}
		count := float64(s.samples)
		switch {
		case timed:
			count = float64(known.measured.Timed)
		case caller.By == Reckoned && w.calls.loops[at.method]:
			count = hardlyKnown
		case caller.By == Reckoned && known != nil:
			count = min(count, float64(known.drawn))
		}
		caller.Share = shareOf(through, 1, count)
		if known != nil {
			caller.Calls = known.callers[m]
		}
		w.tell(caller, m)
		if next != nil {
			caller.Above = w.callersOf(s, next, through)
			caller.Top = len(caller.Above) == 0
			caller.Reason = cmp.Or(w.whyTop(caller, next), caller.Reason)
		} else {
			caller.Above = w.reckon(m, through, at, 0)
			caller.Top = len(caller.Above) == 0
		}
		callers = append(callers, caller)
	}
	slices.SortFunc(callers, byShare)
	return callers
}

// hardlyKnown is how many samples the share of a caller is worth that is reckoned from
// calls of a method that calls itself: who began it is seen only near its beginning.
const hardlyKnown = 4

// mostReckoned is how far up is told what only hooks have seen.
const mostReckoned = 16

// reckon tells who calls a method that is on no stack, by what its hook has seen.
func (w *walker) reckon(m method, part float64, from *way, depth int) []*Caller {
	known := w.subjects[m]
	if known == nil || depth == mostReckoned || w.isBoundary(m) {
		return nil
	}
	var whole uint64
	for caller, nanos := range known.nanos {
		if isMethod(caller) {
			whole += nanos
		}
	}
	var callers []*Caller
	for next, nanos := range known.nanos {
		through := part * float64(nanos) / float64(max(whole, 1))
		if !isMethod(next) || through < shown || from.holds(next) {
			continue
		}
		caller := &Caller{Method: w.index(next), By: Reckoned, State: Seen, Calls: known.callers[next]}
		caller.Share = shareOf(through, 1, float64(known.drawn))
		w.tell(caller, next)
		caller.Above = w.reckon(next, through, from, depth+1)
		caller.Top = len(caller.Above) == 0
		callers = append(callers, caller)
	}
	slices.SortFunc(callers, byShare)
	return callers
}

// byShare orders callers by the part of the hot spot's time that came through them.
func byShare(a, b *Caller) int {
	return cmp.Or(cmp.Compare(b.Share.Part, a.Share.Part), cmp.Compare(a.Method, b.Method))
}

// enoughTimed calls of the hot spot itself say more of how its time divides among its
// callers than samples do.
const enoughTimed = 300

// isTimed reports whether a hot spot's own calls were timed, by caller.
func isTimed(known *subject) bool {
	return known != nil && known.measured != nil && known.measured.Timed >= enoughTimed
}

// weigh divides what came through a method among its callers, and says how much of
// that was cut off above it.
func (w *walker) weigh(at *way, known *subject) (weights map[method]float64, cut float64) {
	weights = make(map[method]float64, len(at.callers))
	for m, next := range at.callers {
		weights[m] = next.weight
	}
	rest := at.cut
	if at.level == 0 && isTimed(known) {
		clear(weights)
		rest = at.weight
	}
	var whole uint64
	if known == nil || rest == 0 {
		return weights, 0
	}
	for m, nanos := range known.nanos {
		if isMethod(m) {
			whole += nanos
		}
	}
	if whole == 0 {
		return weights, 0
	}
	for m, nanos := range known.nanos {
		if isMethod(m) {
			weights[m] += rest * float64(nanos) / float64(whole)
		}
	}
	return weights, at.cut
}

// tell fills in what the walk knows of a caller itself.
func (w *walker) tell(caller *Caller, m method) {
	if known := w.subjects[m]; known != nil {
		caller.State, caller.Reason, caller.Own = known.state, "", known.measured
		if known.state == Left {
			caller.Reason = known.reason
		}
	}
}

// whyTop says why a way ends at a caller.
func (w *walker) whyTop(caller *Caller, at *way) string {
	switch {
	case !caller.Top:
		return ""
	case w.isBoundary(at.method):
		return "the boundary"
	case at.level >= w.Levels:
		return "as far as was asked for"
	case at.cut > at.entries:
		return "the recorder keeps no more of the stack"
	}
	return "a thread's entry"
}

// list is the caller list.
func (w *walker) list() []Entry {
	callees := make(map[method]map[method]bool)
	callers := make(map[method]map[method]bool)
	link := func(caller, callee method) {
		for _, one := range []struct {
			of   map[method]map[method]bool
			a, b method
		}{{callers, callee, caller}, {callees, caller, callee}} {
			if one.of[one.a] == nil {
				one.of[one.a] = make(map[method]bool)
			}
			one.of[one.a][one.b] = true
		}
	}
	for _, s := range w.spots {
		s.top.each(s.least(), func(at *way) {
			if at.below != nil {
				link(at.method, at.below.method)
			}
		})
	}
	for _, s := range w.order {
		for m := range s.callers {
			if m != noCaller && m != unknownCaller {
				link(m, s.method)
			}
		}
	}
	entries := make([]Entry, 0, len(w.order))
	for _, s := range w.order {
		entries = append(entries, Entry{
			Method: w.index(s.method), State: s.state, Reason: s.reason, Hits: s.calls,
			Callers: w.indexesOf(callers[s.method]), Callees: w.indexesOf(callees[s.method]),
		})
	}
	return entries
}

func (w *walker) indexesOf(methods map[method]bool) []int {
	sorted := slices.SortedFunc(maps.Keys(methods), method.compare)
	indexes := make([]int, len(sorted))
	for i, m := range sorted {
		indexes[i] = w.index(m)
	}
	return indexes
}

// cost is what the walk took of the program.
func (w *walker) cost() Cost {
	cost := Cost{MostLive: w.most, LiveLimit: w.Hooks, Budget: w.Budget, Redefined: w.worst, Steady: w.steady, Compile: w.compile}
	for _, s := range w.order {
		if s.calls > 0 || s.state == Woven || s.state == Watched || s.state == Done {
			cost.Hooked++
		}
		cost.Executed += s.calls
	}
	for _, b := range w.batches {
		cost.Pause += b.Pause
	}
	if w.session != nil {
		weavings := w.session.Weavings()
		cost.Woven, cost.Cached = weavings.Woven, weavings.Cached
	}
	return cost
}

// reckonCost takes the last reading before the JVM is left: what the hooks took by
// their counts, and what compilers did since the first went in.
func (w *walker) reckonCost() {
	now, err := w.session.Read()
	if err != nil {
		return
	}
	since := w.first.Until(now)
	w.compile = since.CompileCPU
	var nanos float64
	for _, s := range w.order {
		nanos += float64(s.calls)*overhead.HotCount + float64(s.drawn)*w.draw
	}
	if since.Rest > 0 {
		w.steady = nanos / float64(since.Rest)
	}
}
