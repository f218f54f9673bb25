package overhead

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/session"
)

// An account is what a Pace has seen of a program in the phases of a command: while its hooks went
// in, while it was measured, and after its hooks were removed.
type account struct {
	changing     time.Time // when its classes began to change
	firstChanged time.Time // when the first of them had hooks
	goingIn      tally

	results time.Time // when they began
	soFar   uint64    // calls of hooked methods until then
	by      string    // which samples are compared
	was     Slowness  // before
	lock    sync.Mutex
	during  tally // of the samples that are compared
	whole   tally // of all samples
	calls   rates
	endDone func() // ends the goroutine that follows the program; nil if there is none

	// Calls of the outer methods for a second of the program's processor time: of results, and with only their own hooks.
	look        *session.Look
	outer       map[uint32]bool // the ids of these hooks
	work, alone rates

	left        time.Time // when the hooks began to be removed
	comingOut   tally
	out         *cost.Loss
	isRecovered bool // the program ran as before while only outer methods had hooks
}

const (
	followEvery = 500 * time.Millisecond
	// aloneEvery is the interval in which the program is measured with the hooks of outer methods only: leastAlone times, and up to mostAlone
	// times until the mean is known to exactAlone.
	aloneEvery = 250 * time.Millisecond
	leastAlone = 12
	mostAlone  = 40
	exactAlone = 0.02
	// leastWork is the processor time of an interval in which a program is measured: the kernel counts it in steps of 10 ms.
	leastWork = 100 * time.Millisecond
	// mostUncertain is how wide the interval of a measured speed may be so that it counts more than one by samples, which do not
	// show that compiled code is worse than before.
	mostUncertain = 0.2
	// mostFaster is how much faster than without most of its hooks a program may seem. If it seems faster still, it does other work by now.
	mostFaster = 0.05
	// leaveLimit bounds how long a program is watched after its hooks were removed, and interruptedLimit
	// how long after a Ctrl-C.
	leaveLimit       = 15 * time.Second
	interruptedLimit = 2 * time.Second
	// idleLimit is how long enough samples of a busy program take at most.
	idleLimit = time.Second
)

// Follow says that results begin now, after soFar calls of the hooked methods. It watches the program
// until Leave, or until classes change again. calls returns the calls of hooked methods since any moment.
func (p *Pace) Follow(ctx context.Context, l *session.Look, isHooked func(classfile.MethodRef) bool, soFar uint64, calls func() (uint64, error)) {
	if p == nil {
		return
	}
	p.end()
	if p.by == "" || p.by == ByCompilers {
		p.by = ByProgram
	}
	p.results, p.soFar, p.during, p.whole, p.calls = time.Now(), soFar, tally{}, tally{}, rates{}
	p.look, p.outer, p.work = l, nil, rates{}
	if l != nil {
		p.outer = l.Outer()
	}
	p.was = slownessOf(inScope(p.before, p.by, isHooked))
	p.during.add(window(inScope(p.after, p.by, isHooked), 0))
	p.after = nil
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if p.sampler != nil {
		p.sample(ctx, sampler.Steady(false))
	}
	done := make(chan struct{})
	p.endDone = func() { cancel(); <-done }
	go func() {
		defer close(done)
		last, err := calls()
		at, worked := time.Now(), p.workSoFar()
		for process.Pause(ctx, followEvery) == nil && err == nil {
			var now uint64
			if now, err = calls(); err != nil {
				return
			}
			fresh, worksNow := p.poll(ctx), p.workSoFar()
			p.lock.Lock()
			worked = p.work.addWork(worked, worksNow)
			p.whole.add(fresh)
			p.during.add(inScope(fresh, p.by, isHooked))
			p.calls.add(float64(now-min(now, last)) / time.Since(at).Seconds())
			p.lock.Unlock()
			last, at = now, time.Now()
		}
	}()
}

func (p *Pace) isFollowing() bool { return p.endDone != nil }

func (p *Pace) end() {
	if p.endDone != nil {
		p.endDone()
		p.endDone = nil
	}
}

// End says that results have ended.
func (p *Pace) End() {
	if p != nil {
		p.end()
	}
}

// Leave says that results have ended, and that the hooks are about to be removed.
func (p *Pace) Leave(ctx context.Context) {
	if p == nil {
		return
	}
	p.end()
	if p.sampler != nil {
		p.sample(context.WithoutCancel(ctx), settling)
	}
	p.left = time.Now()
}

// Alone removes all hooks but those of outer methods, and measures what the program does for its processor time then. HotSpot compiles
// methods with hooks less well, and without this nobody would know by how much they slowed the program.
func (p *Pace) Alone(ctx context.Context, limit time.Duration, progress func(Recovery)) {
	if p == nil || len(p.outer) == 0 || p.work.n < leastIntervals || !p.canRecover() || ctx.Err() != nil || !p.look.HasOthers(p.outer) {
		return
	}
	if err := p.look.Keep(ctx, p.outer); err != nil {
		return // whoever closes the look reports it
	}
	if p.isRecovered = p.recover(ctx, limit, progress); !p.isRecovered {
		return
	}
	last := p.workSoFar()
	for i := 0; i < leastAlone || i < mostAlone && 1.96*p.alone.off() > exactAlone; i++ {
		if process.Pause(ctx, aloneEvery) != nil {
			return
		}
		last = p.alone.addWork(last, p.workSoFar())
	}
}

func (p *Pace) canRecover() bool {
	return p.sampler != nil && !p.left.IsZero() && len(p.before) >= enoughNow
}

// Recover waits until the program runs as before, after its hooks were removed. It does not wait for a
// program without samples, and not long after an interruption. progress is called at each look. It
// returns the work that was lost; nil if that is not known.
func (p *Pace) Recover(ctx context.Context, limit time.Duration, progress func(Recovery)) *cost.Loss {
	if p != nil && !p.isRecovered && p.canRecover() {
		p.recover(ctx, limit, progress)
	}
	if p == nil {
		return nil
	}
	return p.out
}

func (p *Pace) recover(ctx context.Context, limit time.Duration, progress func(Recovery)) (isFormer bool) {
	limit = min(limit, leaveLimit)
	if ctx.Err() != nil {
		ctx, limit = context.WithoutCancel(ctx), min(limit, interruptedLimit)
	}
	p.changed, p.after, p.runs = p.left, nil, 0
	for process.Pause(ctx, SettleInterval) == nil {
		found := p.Look(ctx, func(classfile.MethodRef) bool { return false }, cost.Cost{})
		if p.sampler == nil || found.Now == nil && found.Took >= idleLimit {
			return false
		}
		if isFormer = found.Settled; isFormer || found.Took >= limit {
			break
		}
		progress(found)
	}
	p.out = lostBySamples(time.Since(p.left), slownessOf(p.before), p.comingOut)
	return isFormer
}

// inHooks returns in how many samples hooks were executing, and in how many the program or its hooks were, since any moment.
// A nil Pace has none.
func (p *Pace) inHooks() (hooks, samples int) {
	if p == nil {
		return 0, 0
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.whole.inHooks, p.whole.samples
}

// leastSeen is how many samples show what hooks cost.
const leastSeen = 200

// seenShare returns the part of a program's time that hooks take at least, by samples; false if there are too few.
func seenShare(hooks, samples int) (share cct.Share, known bool) {
	n := float64(samples)
	return cct.ShareOf(float64(hooks), n, n), samples >= leastSeen
}

// Disturbance returns what measuring has done to the program so far. hooks is the part of its
// processor time that hooks took, by what a call costs; nil if it is not known. If samples show that they
// took more, or if only samples show it, that counts.
func (p *Pace) Disturbance(hooks *cost.Estimate) *cost.Disturbance {
	d := &cost.Disturbance{Hooks: hooks}
	if hooks != nil {
		d.Subtracted = hooks.Low
	}
	if p == nil {
		d.Unknown = "it was not watched before it had hooks"
		return d
	}
	if seen, known := seenShare(p.inHooks()); known && (hooks == nil || seen.Low > hooks.Value) {
		high := seen.High
		if hooks != nil {
			high = max(high, hooks.High)
		}
		hooks = &cost.Estimate{Value: seen.Part, Low: seen.Low, High: high}
		d.Hooks = hooks
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	was, during := p.was, p.during
	if p.results.IsZero() { // it never ran as before: results cover the time in which it did not
		was, during = slownessOf(p.before), p.goingIn
	}
	switch {
	case hooks == nil:
		d.Unknown = "how much of its time hooks took is not known"
	case was.Samples < enoughNow || during.samples < enoughNow:
		d.Unknown = "too few samples of it"
	default:
		speed := speedOf(was, during.slowness())
		d.Speed = &cost.Estimate{Value: speed.Value * (1 - hooks.Value), Low: speed.Low * (1 - hooks.High), High: speed.High * (1 - hooks.Low)}
		d.SpeedBy = cost.BySamples
	}
	if d.Compared = p.measuredSpeed(); d.Compared != nil && d.Compared.High-d.Compared.Low <= mostUncertain {
		d.Speed = &cost.Estimate{Value: min(d.Compared.Value, 1), Low: min(d.Compared.Low, 1), High: min(d.Compared.High, 1)}
		d.SpeedBy, d.Unknown = cost.ByCalls, ""
	}
	d.GoingIn, d.ComingOut = p.lostGoingIn(), p.out
	return d
}

// speedOf returns the speed of a program relative to before, at least: what ran compiled before and
// does so now takes the same time for the same work, so its share of the time falls by as much as the
// program as a whole becomes slower. It falls further if less runs compiled.
func speedOf(before, now Slowness) cost.Estimate {
	ratio := func(now, before float64) float64 {
		if before <= 0 {
			return 1
		}
		return min(1, max(0, now/before))
	}
	return cost.Estimate{
		Value: ratio(1-now.Slow.Part, 1-before.Slow.Part),
		Low:   ratio(1-now.Slow.High, 1-before.Slow.Low),
		High:  1,
	}
}

// measuredSpeed returns what the program did for its processor time while it was measured, relative to what it did when only outer
// methods had hooks; nil if that was not measured.
func (p *Pace) measuredSpeed() *cost.Estimate {
	if p.work.n < leastIntervals || p.alone.n < leastIntervals || p.work.mean <= 0 || p.alone.mean <= 0 {
		return nil
	}
	ratio := p.work.mean / p.alone.mean
	spread := 1.96 * ratio * math.Hypot(p.work.off(), p.alone.off())
	if ratio-spread > 1+mostFaster {
		return nil
	}
	return &cost.Estimate{Value: ratio, Low: max(0, ratio-spread), High: ratio + spread}
}

// lostBySamples returns the work that a program has lost at most in some time; nil if there are too
// few samples.
func lostBySamples(took time.Duration, before Slowness, now tally) *cost.Loss {
	if before.Samples < enoughNow || now.samples < enoughNow {
		return nil
	}
	speed := speedOf(before, now.slowness())
	return &cost.Loss{By: cost.BySamples, Estimate: cost.Estimate{Value: took.Seconds() * (1 - speed.Value), High: took.Seconds() * (1 - speed.Low)}}
}

// lostGoingIn returns the work that was lost until results began. Calls show how much, samples only
// how much at most. Before the first hook there were no calls to count.
func (p *Pace) lostGoingIn() *cost.Loss {
	before := slownessOf(p.before)
	if p.results.IsZero() {
		return lostBySamples(time.Since(p.changing), before, p.goingIn)
	}
	lost, known := p.calls.lost(p.results.Sub(p.firstChanged), p.soFar)
	if !known {
		return lostBySamples(p.results.Sub(p.changing), before, p.goingIn)
	}
	weaving := p.firstChanged.Sub(p.changing)
	if first := lostBySamples(weaving, before, p.goingIn); first != nil {
		lost.Value += first.Value
		lost.High += first.High
	} else {
		lost.High += weaving.Seconds()
	}
	return &cost.Loss{By: cost.ByCalls, Estimate: lost}
}

// rates are rates of calls per second in intervals: their number, mean and sum of squared deviations.
type rates struct{ n, mean, squares float64 }

func (r *rates) add(rate float64) {
	r.n++
	off := rate - r.mean
	r.mean += off / r.n
	r.squares += off * (rate - r.mean)
}

// off is the standard error of the mean, relative to it.
func (r *rates) off() float64 { return math.Sqrt(r.squares/(r.n-1)/r.n) / r.mean }

// A work is what a program has done so far, and the processor time that it has used.
type work struct {
	calls uint64 // of outer methods
	at    cost.Reading
	known bool
}

func (p *Pace) workSoFar() (w work) {
	if len(p.outer) == 0 {
		return w
	}
	calls, err := p.look.CallsOf(p.outer)
	if err != nil {
		return w // the session has ended
	}
	at, err := p.look.Read()
	return work{calls, at, err == nil}
}

// addWork adds the work from one moment to another for a second of processor time, and returns when the next interval begins: the
// same moment if the program has hardly run since.
func (r *rates) addWork(from, to work) work {
	if !from.known || !to.known || to.calls < from.calls {
		return to
	}
	since := from.at.Until(to.at)
	switch {
	case !since.Known.Process:
		return to
	case since.Rest < leastWork:
		return from
	}
	r.add(float64(to.calls-from.calls) / since.Rest.Seconds())
	return to
}

const (
	leastIntervals = 4
	leastCalls     = 30
)

// lost returns for how much of a time the program did nothing, if it made a number of calls in that time and otherwise
// had these rates.
func (r *rates) lost(took time.Duration, calls uint64) (lost cost.Estimate, known bool) {
	if r.n < leastIntervals || r.mean*r.n*followEvery.Seconds() < leastCalls {
		return lost, false
	}
	const z = 1.96
	seconds, spread := took.Seconds(), math.Sqrt(r.squares/(r.n-1))/r.mean // of an interval, relative
	worked := float64(calls) / r.mean
	// The rate is known from n intervals, and would have varied in this time as well.
	off := z * spread * math.Hypot(worked/math.Sqrt(r.n), math.Sqrt(seconds*followEvery.Seconds()))
	bound := func(value float64) float64 { return min(max(value, 0), seconds) }
	return cost.Estimate{Value: bound(seconds - worked), Low: bound(seconds - worked - off), High: bound(seconds - worked + off)}, true
}

// Means are mean times of a method's calls in intervals.
type Means struct {
	rates
	nanos, calls uint64 // at the last reading
}

// Add takes in the time of all calls so far, and their number.
func (m *Means) Add(nanos, calls uint64) {
	if m.calls > 0 && calls > m.calls && nanos >= m.nanos {
		m.add(float64(nanos-m.nanos) / float64(calls-m.calls))
	}
	m.nanos, m.calls = nanos, calls
}

// Mean returns the mean of all intervals.
func (m *Means) Mean() float64 { return m.mean }

// Times returns the means of a part of each time.
func (m *Means) Times(part float64) *Means {
	return &Means{rates: rates{n: m.n, mean: part * m.mean, squares: part * part * m.squares}}
}

// IsEnough reports whether there are enough intervals.
func (m *Means) IsEnough() bool { return m.n >= leastIntervals }

// SlowedBy returns the part of a method's time that hooks in its callees take: how much less its calls
// take without them. nil if there are too few intervals.
func SlowedBy(with, without *Means) *cost.Estimate {
	if !with.IsEnough() || !without.IsEnough() || with.mean <= 0 || without.mean <= 0 {
		return nil
	}
	const z = 1.96
	ratio := without.mean / with.mean
	spread := z * ratio * math.Hypot(with.off(), without.off())
	part := func(rest float64) float64 { return min(max(1-rest, 0), 1) }
	return &cost.Estimate{Value: part(ratio), Low: part(ratio + spread), High: part(ratio - spread)}
}

// slowerPart is how much longer than others traced calls may take.
const slowerPart = 0.05

// SlowerThan says that traced calls, without the cost of their hooks, take longer than calls without hooks below them; "" if that can be
// chance. HotSpot compiles what hooks do in traced calls for the other calls, if few are traced.
func SlowerThan(traced, without *Means) string {
	if !traced.IsEnough() || !without.IsEnough() || without.mean <= 0 {
		return ""
	}
	const z = 1.96
	ratio := traced.mean / without.mean
	spread := z * ratio * math.Hypot(traced.off(), without.off())
	if ratio-spread <= 1+slowerPart {
		return ""
	}
	return fmt.Sprintf("DISTURBED: traced calls took %.2g times as long as calls without hooks below (%.2g to %.2g times): use fewer --levels", ratio, ratio-spread, ratio+spread)
}

// A Used is what the calls of one method with a hook are.
type Used struct{ Calls, Timed uint64 }

// HookShare returns the part of a program's processor time that hooks of a kind took: by what a
// call costs in a loop, and beyond that if it is called rarely (Hook). The first is the lower bound. nil if it is not known.
func HookShare(h Hook, each *session.HookCost, methods []Used, since cost.Cost) *cost.Estimate {
	if each == nil || !since.Known.Process || since.Rest <= 0 || since.Elapsed <= 0 {
		return nil
	}
	var share cost.Estimate
	for _, m := range methods {
		calls, timed := float64(m.Calls), float64(min(m.Timed, m.Calls))
		if calls == 0 {
			continue
		}
		counted := calls - timed
		cold := calls * h.Cold(calls/since.Elapsed.Seconds(), timed/calls)
		share.Low += timed*each.Low + counted*min(each.Low, HotCount)
		share.Value += timed*each.Median + counted*min(each.Median, HotCount) + cold
		share.High += timed*each.High*timingFactor + counted*min(each.High, HotCount)*countingFactor + cold
	}
	part := func(nanos float64) float64 { return min(1, nanos/float64(since.Rest)) }
	return &cost.Estimate{Value: part(share.Value), Low: part(share.Low), High: part(share.High)}
}
