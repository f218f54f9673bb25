package profile

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A governor decides how a profile stays within its budget: which hooks are on, and how
// often they time a call. It begins with the roots alone, tries the hooks that are in for
// a moment each, and keeps those on whose calls the budget covers, nearest to where the
// time goes first. When nothing more can be added the choice is made: from then on hooks
// are only switched off, and hooks that are off are removed.
//
// A governor does no I/O and reads no clock: step gets a reading and returns what is to be
// done. Type budget does it.
type governor struct {
	budget   float64       // part of the program's time that hooks may take
	choosing time.Duration // how long hooks are chosen at most

	hooks      map[classfile.MethodRef]*governed
	order      []*governed // as they came: callers before callees
	pace       float64     // calls of each method that are timed in a second
	trialSize  int         // how many hooks are tried at a time
	phase      phase
	rootCalled bool
	trying     time.Time // when the first hooks could be tried

	sampled bool // the first hooks were chosen by samples of where the time is
	denied  bool // another round of hooks would not have fitted the budget
	changed bool // other hooks are on, or they time at another rate, than when the window began
}

// A phase is how far a governor has come.
type phase int

const (
	choosing phase = iota // hooks are added and switched off
	chosen                // hooks are only switched off
	pruned                // hooks that were off were taken out
)

// A governed is a hook under a governor.
type governed struct {
	method  classfile.MethodRef
	id      uint32
	mode    mode
	root    bool
	removed bool // it was taken out again
	period  uint32
	rate    float64   // calls a second, when it was on last
	reason  string    // why it is off
	onAt    time.Time // zero for a root: its hook is on before its first call
	offAt   time.Time // zero while it is on
	hasty   bool      // it went off before the program ran as it will
}

type mode int

const (
	untried mode = iota // in, and switched off
	on
	off // because it costs too much
)

const (
	// About how many calls of a method are timed in a second: no more than are useful, as a
	// timed call costs as much as several counted ones, and fewer where few hooks would cost
	// too much.
	minPace = 2
	maxPace = 4000

	maxPeriod = 1 << 20

	// Parts of the budget for hooks that are on.
	full    = 1 - overhead.LossPart // above it hooks are switched off
	ample   = 0.5                   // up to it hooks are added, down to it they are switched off
	offPart = 0.1                   // hooks that are in and off may cost this

	// How many hooks are tried at a time: more, the less the last ones have cost.
	minTrial = 24
	maxTrial = 96

	// fewHooks are kept if the budget covers counting their calls: they are timed less often
	// instead.
	fewHooks = 8

	// worthALook is the part of the root's time for which a method's callees get hooks.
	worthALook = 0.05

	// Hooks are chosen for a fifth of a run, within these bounds.
	minChoosing = 3 * time.Second
	maxChoosing = 15 * time.Second
)

func newGovernor(budget float64, duration time.Duration) *governor {
	g := &governor{budget: budget, choosing: maxChoosing, hooks: make(map[classfile.MethodRef]*governed), pace: maxPace, trialSize: minTrial}
	if duration > 0 {
		g.choosing = min(max(duration/5, minChoosing), maxChoosing)
	}
	return g
}

// add registers the hook of a method. Roots are on at once.
func (g *governor) add(m classfile.MethodRef, id uint32, root bool) *governed {
	h := &governed{method: m, id: id, root: root}
	if root {
		h.mode = on
	}
	g.hooks[m] = h
	g.order = append(g.order, h)
	return h
}

// setting returns what a hook does by its mode and period. Hooks that are on are always
// sampled, if need be with a period of 1, so that all nodes hold the same data.
func (g *governor) setting(h *governed) (arena.Flags, uint32) {
	if h.mode != on {
		return 0, 0
	}
	// Calls timed at different rates must not be mixed: figures start again when the rate
	// changes, so it changes seldom, and even less once the choice is made.
	ideal, far := h.rate/g.pace, 2.0
	if g.phase >= chosen {
		far = 3
	}
	if h.period == 0 || ideal > far*float64(h.period) || far*ideal < float64(h.period) && h.period > 1 {
		period := uint32(1)
		for float64(period) < ideal && period < maxPeriod {
			period *= 2
		}
		g.changed = g.changed || h.period != 0 && h.period != period
		h.period = period
	}
	return arena.On | arena.Sampled, h.period
}

// A reading is what a governor decides by.
type reading struct {
	now        time.Time
	known      cct.Calibration
	bill       bill
	settled    bool // the compilers are done with what the hooks made them do
	affordable bool // another round of hooks fits the budget
}

// A decision is what a governor wants done, in the order of the fields.
type decision struct {
	apply  bool                  // set all switches
	try    []*governed           // switch these on for a moment, count their calls, and call judge
	below  []classfile.MethodRef // put hooks into what these call, or call finish if that is nothing
	remove []*governed           // take these hooks out
}

// step switches hooks off that cost too much, or adds some; where none can be added the
// choice is made, and hooks that are off are removed.
func (g *governor) step(r reading) decision {
	b := r.bill
	if r.settled && g.phase < chosen {
		g.reconsider()
	}
	switch {
	case b.part > full*g.budget && g.cut(r):
		return decision{apply: true}
	case !g.rootCalled:
		return decision{} // nothing is known yet about the methods below the root
	case g.phase >= chosen && g.canTimeMore(r):
		return decision{apply: true}
	case g.phase >= chosen:
		return decision{remove: g.prune(r)}
	case !r.settled:
		return decision{} // code that got hooks does not run yet as it will
	case g.isLate(r.now):
		return g.finish(r)
	case b.part < ample*g.budget:
		g.pace = min(2*g.pace, maxPace)
		next := g.more(r)
		next.apply = true
		return next
	}
	return decision{}
}

// reconsider lets hooks be tried again that went off before the program had settled: calls in the
// interpreter cost many times as much.
func (g *governor) reconsider() {
	for _, h := range g.order {
		if h.hasty && h.mode == off && !h.removed {
			h.mode, h.hasty, h.offAt, h.reason = untried, false, time.Time{}, ""
		}
	}
}

// more adds hooks: first those that are in and untried, then more below the methods that
// hold the time.
func (g *governor) more(r reading) decision {
	var trial []*governed
	for _, h := range g.order {
		if h.mode == untried && len(trial) < g.trialSize {
			trial = append(trial, h)
		}
	}
	if len(trial) > 0 {
		return decision{try: trial}
	}
	var below []classfile.MethodRef
	for _, h := range g.order {
		if h.mode == on && r.bill.share[h.id] >= worthALook {
			below = append(below, h.method)
		}
	}
	if len(below) > 0 && !g.sampled {
		if g.denied = !r.affordable; !g.denied {
			return decision{below: below}
		}
	}
	return g.finish(r)
}

// isLate reports whether hooks have been chosen for long enough.
func (g *governor) isLate(now time.Time) bool {
	if g.trying.IsZero() {
		g.trying = now
	}
	return now.Sub(g.trying) > g.choosing
}

func (g *governor) finish(r reading) decision {
	g.phase = max(g.phase, chosen)
	return decision{remove: g.prune(r)}
}

// prune returns the hooks that are off and are to be removed, where leaving them in would
// cost more than their part of the budget. Removing them is one more round of
// redefinitions, so all go at once, except hooks that are hardly called.
func (g *governor) prune(r reading) (out []*governed) {
	isWaiting := func(h *governed) bool { return h.mode == untried && !h.removed }
	allowed := offPart * r.bill.allowed
	if r.bill.resting <= allowed && !slices.ContainsFunc(g.order, isWaiting) || g.phase == pruned && !r.affordable {
		return nil
	}
	for _, h := range g.order {
		isIdle := h.mode == off && h.rate*r.bill.seconds*overhead.Off < offPart*allowed
		if h.mode != on && !h.removed && !isIdle {
			h.removed = true
			out = append(out, h)
		}
	}
	if len(out) > 0 {
		g.phase = pruned
	}
	return out
}

// cut switches hooks off until the others fit the budget; false where they do, or nothing
// more can be done.
func (g *governor) cut(r reading) (isChanged bool) {
	b := r.bill
	for over := b.counting + b.timing - ample*b.allowed; over > 0; {
		saved := 0.0
		if g.hooksOn() > fewHooks || b.least > ample*b.allowed {
			saved = g.switchOffWorst(r)
		}
		if saved == 0 {
			slower := max(min(g.pace, g.fastest())/4, minPace)
			isChanged = isChanged || slower < g.pace
			g.pace = slower
			break
		}
		isChanged, over = true, over-saved
	}
	return isChanged
}

// canTimeMore raises the pace, which was lowered while hooks were tried, or before code was compiled. Figures begin again
// then, so a small step is not worth it.
func (g *governor) canTimeMore(r reading) bool {
	pace := g.pace
	for pace < maxPace && g.canTime(r, min(2*pace, maxPace)) {
		pace = min(2*pace, maxPace)
	}
	if pace == g.pace || pace < maxPace && pace < 4*g.pace {
		return false
	}
	g.pace = pace
	return true
}

// canTime reports whether pace calls of each method could be timed in a second.
func (g *governor) canTime(r reading, pace float64) bool {
	sum := r.bill.resting
	for _, h := range g.order {
		if h.mode == on {
			sum += overhead.Pessimistic(r.known, h.rate).Of(h.rate, pace) * r.bill.seconds
		}
	}
	return sum <= ample*r.bill.allowed
}

func (g *governor) hooksOn() (n int) {
	for _, h := range g.order {
		if h.mode == on {
			n++
		}
	}
	return n
}

// fastest is the highest rate of calls of a method whose hook is on.
func (g *governor) fastest() float64 {
	rate := float64(minPace)
	for _, h := range g.order {
		if h.mode == on {
			rate = max(rate, h.rate)
		}
	}
	return rate
}

// switchOffWorst switches off the hook that costs most for the time it explains, and
// returns what it cost; 0 where there is none to switch off.
func (g *governor) switchOffWorst(r reading) float64 {
	var worst *governed
	var worth float64
	for _, h := range g.order {
		price := r.bill.cost[h.id]
		each := price / (0.01 + r.bill.share[h.id])
		if h.mode == on && !h.root && price > 0 && (worst == nil || each > worth) {
			worst, worth = h, each
		}
	}
	if worst == nil {
		return 0
	}
	worst.hasty = !r.settled
	g.switchOff(worst, r.now, r.bill.cost[worst.id]/r.bill.program)
	return r.bill.cost[worst.id]
}

func (g *governor) switchOff(h *governed, now time.Time, part float64) {
	h.mode, h.offAt = off, now
	g.changed = true
	h.reason = fmt.Sprintf("at %s calls per second its hook would cost %.2g %%, so it was switched off; the method's time is included in that of its callers", format.Rate(h.rate), 100*part)
}

func (g *governor) switchOn(trial []*governed, now time.Time) {
	for _, h := range trial {
		h.mode, h.onAt = on, now
	}
}

// judge keeps the cheapest hooks of a trial as far as the budget goes, and switches the
// others off. Calls are the calls counted during the trial.
func (g *governor) judge(trial []*governed, calls map[uint32]uint64, took time.Duration, r reading) (kept []*governed) {
	left := r.bill.allowed*ample - r.bill.counting - r.bill.timing
	slices.SortStableFunc(trial, func(a, b *governed) int { return cmp.Compare(calls[a.id], calls[b.id]) })
	spent := 0.0
	for _, h := range trial {
		h.rate = float64(calls[h.id]) / took.Seconds()
		price := overhead.Pessimistic(r.known, h.rate).Of(h.rate, g.pace) * r.bill.seconds
		if price > left-spent {
			g.switchOff(h, r.now, price/r.bill.program)
			continue
		}
		spent += price
		kept = append(kept, h)
	}
	if spent < r.bill.allowed/8 {
		g.trialSize = min(2*g.trialSize, maxTrial)
	}
	g.changed = true
	return kept
}

// affords reports whether another round of hooks fits the budget, by what all rounds have
// cost since the first hook: most of it is compiling, which goes on after a round.
func (g *governor) affords(since cost.Cost, rounds int, paused, duration time.Duration) bool {
	if rounds == 0 {
		return true
	}
	// The processors the program uses, and at least half of one: an idle program has time.
	seconds := since.Elapsed.Seconds()
	use := max(since.Rest.Seconds()/max(seconds, 0.1), 0.5)
	spent := (since.CompileCPU + paused).Seconds()
	next := spent / float64(rounds)
	// Taking the hooks out is one more round.
	return spent+2*next <= g.budget*use*max(duration.Seconds(), overhead.Amortised.Seconds(), seconds)
}

// A bill is what hooks took of a program's processor time in an interval, in nanoseconds,
// computed from counts and what each call costs.
type bill struct {
	seconds  float64 // length of the interval
	program  float64 // processor time of the program
	allowed  float64
	counting float64
	timing   float64
	least    float64            // if no call were timed
	resting  float64            // of hooks that are in and off
	part     float64            // of the program's time
	cost     map[uint32]float64 // by method
	share    map[uint32]float64 // part of the root's time that is a method's own time
}

// minProgram is the processor time below which a program is idle: a part of it would mean
// nothing.
const minProgram = 20e6

// price makes out the bill of an interval, from what had been counted before and after it.
func (g *governor) price(since cost.Cost, before, after map[uint32]sum, known cct.Calibration) bill {
	b := bill{
		seconds: since.Elapsed.Seconds(), program: max(float64(since.Rest), minProgram),
		cost: make(map[uint32]float64), share: make(map[uint32]float64),
	}
	b.allowed = g.budget * b.program
	var whole float64
	for _, h := range g.order {
		was, is := before[h.id], after[h.id]
		calls := is.calls - was.calls
		g.rootCalled = g.rootCalled || h.root && is.calls > 0
		timed := max(0, min(calls, is.timed-was.timed+is.nested-was.nested))
		each := overhead.Pessimistic(known, calls/b.seconds)
		counting, timing := (calls-timed)*each.Counted, timed*each.Timed
		b.counting += counting
		b.timing += timing
		b.least += calls * each.Counted
		b.cost[h.id] = counting + timing
		switch {
		case h.mode == on:
			h.rate = calls / b.seconds
		case !h.removed:
			b.resting += h.rate * b.seconds * overhead.Off
		}
		if is.timed > 0 {
			self := is.self/is.timed - known.Inner.Median
			b.share[h.id] = max(0, self) * is.calls
			whole += b.share[h.id]
		}
	}
	for id := range b.share {
		b.share[id] /= max(whole, 1)
	}
	b.part = (b.counting + b.timing + b.resting) / b.program
	return b
}

// A sum is what all nodes of a method hold.
type sum struct {
	calls, timed float64
	self         float64 // of the timed calls
	nested       float64 // calls that are timed because their caller is
}

// sumByMethod sums nodes by method, with calls under way as far as they have come. The
// callees of a call that is timed at random are timed as well.
func sumByMethod(threads []arena.Thread, now int64) map[uint32]sum {
	sums := make(map[uint32]sum)
	for _, t := range threads {
		soFar := underWay(t, now)
		timed := make(map[uint32]float64, len(t.Nodes)) // the part of a node's calls that is timed
		for _, n := range t.Nodes {
			if n.Calls > 0 {
				timed[n.Ref] = float64(min(n.Timed, n.Calls)) / float64(n.Calls)
			}
		}
		for _, n := range t.Nodes {
			if n.ID == arena.CalibrationID || n.ID == arena.AdjustmentID || n.ID == arena.HandedID {
				continue
			}
			s := sums[n.ID]
			s.calls += float64(n.Calls)
			s.timed += float64(n.Timed)
			s.self += float64(n.Self + soFar[n.Ref])
			if soFar[n.Ref] > 0 {
				s.timed++
			}
			s.nested += float64(n.Calls) * (1 - timed[n.Ref]) * timed[n.Parent]
			sums[n.ID] = s
		}
	}
	return sums
}
