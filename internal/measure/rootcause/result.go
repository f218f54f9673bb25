package rootcause

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

func (s *search) index(m classfile.MethodRef) int {
	at, known := s.indexes[m]
	if !known {
		at = len(s.methods)
		s.indexes[m] = at
		s.methods = append(s.methods, cct.Method{Class: m.Class, Name: m.Name, Descriptor: m.Descriptor, Native: s.stacks.native[m]})
	}
	return at
}

func (s *search) result() *Climb {
	c := &Climb{
		Began: s.began, Took: s.elapsed(), Own: s.own, Hooks: slices.Clone(s.lives), Batches: slices.Clone(s.batches), Cost: s.cost(), Notes: slices.Clone(s.notes),
		Sampled: Sampled{Samples: s.samples, Over: s.sampled, Outside: s.owners.other / max(s.owners.whole+s.owners.other, 1e-9)},
	}
	c.Target = cct.Target{PID: s.PID}
	if s.sampler != nil {
		jvm := s.sampler.JVM()
		c.Target.Command, c.Target.JDK = jvm.Main, jvm.Version
		source := s.sampler.Source()
		c.Sampled.By, c.Sampled.Biased = source.String(), source == sampler.ThreadDumps
		if bias := s.sampler.Bias(); bias != "" {
			c.Notes = append(c.Notes, "samples are taken "+bias)
		}
	}
	c.Owners = s.ownerResults()
	for _, spot := range s.spots {
		c.Spots = append(c.Spots, s.spotResult(spot))
	}
	slices.SortStableFunc(c.Spots, func(a, b Spot) int { return cmp.Compare(b.Share.Part, a.Share.Part) })
	s.renumber(c)
	c.List = s.list()
	c.Methods = slices.Clone(s.methods)
	if s.session != nil {
		if sum, err := s.session.Sum(); err == nil { // otherwise the JVM is left, and nothing was counted
			s.markLowerBounds(c, sum.Methods)
		}
	}
	return c
}

// markLowerBounds marks methods whose hooks may have missed calls, and says why.
func (s *search) markLowerBounds(c *Climb, counted map[uint32]*arena.Totals) {
	isMarked := false
	for _, one := range s.order {
		at, isNamed := s.indexes[one.MethodRef]
		if totals := counted[one.id]; isNamed && totals != nil && totals.LowerBound && one.calls > 0 {
			c.Methods[at].LowerBound, isMarked = true, true
		}
	}
	if isMarked {
		c.Notes = append(c.Notes, "≥: "+session.WhyLowerBound)
	}
}

const (
	minOwned   = 0.01 // the share from which on an owner is in the result
	mostOwners = 30
)

func (s *search) ownerResults() (results []Owner) {
	for owner, ran := range s.owners.weights {
		var sum, most float64
		var in classfile.MethodRef
		for m, weight := range ran {
			sum += weight
			if weight > most || weight == most && m.Compare(in) < 0 {
				in, most = m, weight
			}
		}
		if sum < minOwned*s.owners.whole {
			continue
		}
		result := Owner{Method: -1, Share: cct.ShareOf(sum, s.owners.whole, float64(s.samples)), In: s.index(in), InPart: most / max(sum, 1e-9)}
		if owner != (classfile.MethodRef{}) {
			result.Method = s.index(owner)
		}
		results = append(results, result)
	}
	slices.SortFunc(results, func(a, b Owner) int {
		return cmp.Or(cmp.Compare(b.Share.Part, a.Share.Part), cmp.Compare(a.Method, b.Method))
	})
	return results[:min(len(results), mostOwners)]
}

// renumber makes hooks refer to the spots in the order of the result.
func (s *search) renumber(c *Climb) {
	place := make(map[int]int)
	for i, spot := range s.spots {
		at := s.index(spot.top.method)
		place[i] = slices.IndexFunc(c.Spots, func(one Spot) bool { return one.Method == at })
	}
	for i := range c.Hooks {
		c.Hooks[i].Spot = place[c.Hooks[i].Spot]
		if c.Hooks[i].Until == 0 {
			c.Hooks[i].Until = c.Took
		}
	}
}

func (s *search) spotResult(spot *spot) Spot {
	result := Spot{
		Method: s.index(spot.top.method), Libraries: spot.isOwner, Share: spot.share, Kind: spot.kind, Line: spot.line, From: spot.from, Until: spot.until, Above: spot.above,
	}
	if known := s.subjects[spot.top.method]; known != nil {
		result.Own = known.measured
	}
	result.Callers = s.callersOf(spot, spot.top, 1)
	return result
}

// minShown is the part of a hot spot's time that a path must have to be in the result.
const minShown = 0.01

// callersOf returns the callers of a node with their shares of the hot spot's time. Where
// stacks were cut off, the times that hooks have measured divide the rest.
func (s *search) callersOf(spot *spot, at *node, part float64) []*Caller {
	if at.level >= s.Levels || s.isBoundary(at.method) {
		return nil
	}
	known := s.subjects[at.method]
	weights, cut := s.weigh(at, known)
	timed := at.level == 0 && isTimed(known)
	var callers []*Caller
	for m, weight := range weights {
		through := part * weight / max(at.weight, 1e-9)
		if through < minShown {
			continue
		}
		next := at.callers[m]
		caller := &Caller{Method: s.index(m), By: BySamples, State: Seen}
		switch {
		case timed:
			caller.By = ByHooks
		case next == nil || cut > next.weight:
			caller.By = Estimated
		}
		count := float64(spot.samples)
		switch {
		case timed:
			count = float64(known.measured.Timed)
		case caller.By == Estimated && s.stacks.recursive[at.method]:
			count = hardlyKnown
		case caller.By == Estimated && known != nil:
			count = min(count, float64(known.drawn))
		}
		caller.Share = cct.ShareOf(through, 1, count)
		if known != nil {
			caller.Calls = known.callers[m]
		}
		s.describe(caller, m)
		if next != nil {
			caller.Above = s.callersOf(spot, next, through)
			caller.Top = len(caller.Above) == 0
			caller.Reason = cmp.Or(s.whyTop(caller, next), caller.Reason)
		} else {
			caller.Above = s.estimate(m, through, at, 0)
			caller.Top = len(caller.Above) == 0
		}
		callers = append(callers, caller)
	}
	slices.SortFunc(callers, byShare)
	return callers
}

// hardlyKnown is the number of samples that an estimated share counts as if the callee
// calls itself: who began the recursion is seen only near its beginning.
const hardlyKnown = 4

// maxEstimated is how far up callers are shown that only hooks have seen.
const maxEstimated = 16

// estimate returns the callers of a method that is on no stack, by what its hook has seen.
func (s *search) estimate(m classfile.MethodRef, part float64, from *node, depth int) []*Caller {
	known := s.subjects[m]
	if known == nil || depth == maxEstimated || s.isBoundary(m) {
		return nil
	}
	whole := known.methodNanos()
	var callers []*Caller
	for next, nanos := range known.nanos {
		through := part * float64(nanos) / float64(max(whole, 1))
		if !isMethod(next) || through < minShown || from.reaches(next) {
			continue
		}
		caller := &Caller{Method: s.index(next), By: Estimated, State: Seen, Calls: known.callers[next]}
		caller.Share = cct.ShareOf(through, 1, float64(known.drawn))
		s.describe(caller, next)
		caller.Above = s.estimate(next, through, from, depth+1)
		caller.Top = len(caller.Above) == 0
		callers = append(callers, caller)
	}
	slices.SortFunc(callers, byShare)
	return callers
}

// byShare orders callers by their part of the hot spot's time, the largest first.
func byShare(a, b *Caller) int {
	return cmp.Or(cmp.Compare(b.Share.Part, a.Share.Part), cmp.Compare(a.Method, b.Method))
}

// With enoughTimed calls of the hot spot, its hook shows better than samples how its time
// divides among its callers.
const enoughTimed = 300

// isTimed reports whether enough calls of a hot spot were timed.
func isTimed(known *subject) bool {
	return known != nil && known.measured != nil && known.measured.Timed >= enoughTimed
}

// weigh divides the weight of a node among its callers, and returns how much of it was cut
// off above the node.
func (s *search) weigh(at *node, known *subject) (weights map[classfile.MethodRef]float64, cut float64) {
	weights = make(map[classfile.MethodRef]float64, len(at.callers))
	for m, next := range at.callers {
		weights[m] = next.weight
	}
	rest := at.cut
	if at.level == 0 && isTimed(known) {
		clear(weights)
		rest = at.weight
	}
	if known == nil || rest == 0 {
		return weights, 0
	}
	whole := known.methodNanos()
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

// methodNanos returns the time of the calls whose caller is a method.
func (s *subject) methodNanos() (sum uint64) {
	for m, nanos := range s.nanos {
		if isMethod(m) {
			sum += nanos
		}
	}
	return sum
}

// describe fills in what is known about a caller itself.
func (s *search) describe(caller *Caller, m classfile.MethodRef) {
	if known := s.subjects[m]; known != nil {
		caller.State, caller.Reason, caller.Own = known.state, "", known.measured
		if known.state == Left {
			caller.Reason = known.reason
		}
	}
}

func (s *search) whyTop(caller *Caller, at *node) string {
	switch {
	case !caller.Top:
		return ""
	case s.isBoundary(at.method):
		return "the boundary"
	case at.level >= s.Levels:
		return "the limit of --levels is reached"
	case at.cut > at.entries:
		return "the rest of the stack is not known"
	}
	return "a thread's entry"
}

func (s *search) list() []Entry {
	callees := make(map[classfile.MethodRef]map[classfile.MethodRef]bool)
	callers := make(map[classfile.MethodRef]map[classfile.MethodRef]bool)
	link := func(caller, callee classfile.MethodRef) {
		addTo(callers, callee, caller)
		addTo(callees, caller, callee)
	}
	for _, spot := range s.spots {
		spot.visit(func(at *node) {
			if at.callee != nil {
				link(at.method, at.callee.method)
			}
		})
	}
	for _, one := range s.order {
		for m := range one.callers {
			if m != noCaller && m != unknownCaller {
				link(m, one.MethodRef)
			}
		}
	}
	entries := make([]Entry, 0, len(s.order))
	for _, one := range s.order {
		entries = append(entries, Entry{
			Method: s.index(one.MethodRef), State: one.state, Reason: one.reason, Hits: one.calls,
			Callers: s.indexesOf(callers[one.MethodRef]), Callees: s.indexesOf(callees[one.MethodRef]),
		})
	}
	return entries
}

func (s *search) indexesOf(methods map[classfile.MethodRef]bool) []int {
	sorted := slices.SortedFunc(maps.Keys(methods), classfile.MethodRef.Compare)
	indexes := make([]int, len(sorted))
	for i, m := range sorted {
		indexes[i] = s.index(m)
	}
	return indexes
}

// cost returns what the search cost the program.
func (s *search) cost() Cost {
	cost := Cost{MostLive: s.mostLive, LiveLimit: s.Hooks, Budget: s.Budget, Redefined: s.worst, Steady: s.steady, Compile: s.compile}
	for _, one := range s.order {
		if one.calls > 0 || one.state == Woven || one.state == Watched || one.state == Done {
			cost.Hooked++
		}
		cost.Executed += one.calls
	}
	for _, b := range s.batches {
		cost.Pause += b.Pause
	}
	if s.session != nil {
		weavings := s.session.Weavings()
		cost.Woven, cost.Cached = weavings.Woven, weavings.Cached
	}
	return cost
}

// computeCost takes the last reading before the JVM is left: what the hooks took by their
// counts, and what compilers did since the first hook went in.
func (s *search) computeCost() {
	now, err := s.session.Read()
	if err != nil {
		return
	}
	since := s.first.Until(now)
	s.compile = since.CompileCPU
	if since.Rest > 0 {
		s.steady = s.spent(s.order) / float64(since.Rest)
	}
}
