package profile

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A budget keeps a run within its budget: it reads what hooks cost, asks the governor, and
// does what that decides.
type budget struct {
	run        *run
	past       []moment                     // since the last change
	governor   *governor                    // guarded by the run's lock
	seeded     map[classfile.MethodRef]bool // roots below which hooks were put in
	tooSmall   map[classfile.MethodRef]bool // methods not worth a hook
	tooCentral map[classfile.MethodRef]bool // methods of classes that cost too much to redefine

	staysOnThread bool // the JDK's classes that hand work over cost too much to redefine
}

// A moment is the state of the counters at one time.
type moment struct {
	reading cost.Reading
	sums    map[uint32]sum
}

const (
	// A bill covers this much: less means nothing, as processor time comes in steps of
	// 10 ms; more would be the past.
	minCovered = 300 * time.Millisecond
	maxCovered = 2 * time.Second

	tryFor = 5 * time.Millisecond

	// firstHooks is how many methods get hooks at once before the first root call. More
	// would save rounds, but hooks that are in and off are not free where calls are short.
	firstHooks = 32
	// handedHooks is how many of them may be methods that roots hand to other threads.
	handedHooks = 16
	// moreHooks bounds a later round.
	moreHooks = 50
	// maxTargets is the number of methods up to which a call is followed to all of them.
	maxTargets = 12
	// otherProject is the distance of a call into another project than the root's.
	otherProject = 4
)

func newBudget(r *run) *budget {
	return &budget{
		run: r, governor: newGovernor(r.Budget, r.Duration), seeded: make(map[classfile.MethodRef]bool),
		tooSmall: make(map[classfile.MethodRef]bool), tooCentral: make(map[classfile.MethodRef]bool),
	}
}

// setting returns what the hook of a method is to do. The caller holds the run's lock.
func (b *budget) setting(m classfile.MethodRef, root bool) (arena.Flags, uint32) {
	h := b.governor.hooks[m]
	if h == nil {
		h = b.governor.add(m, b.run.session.ID(m), root)
	}
	return b.governor.setting(h)
}

// govern reads what the hooks cost and does what the governor decides.
func (b *budget) govern(ctx context.Context) error {
	if err := b.seed(ctx); err != nil {
		return err
	}
	r, ok, err := b.read()
	if err != nil || !ok {
		return err
	}
	b.run.lock.Lock()
	b.governor.budget = b.run.Share.Allowance(b.run.Budget)
	next := b.governor.step(r)
	b.run.lock.Unlock()
	if err := b.do(ctx, next, r); err != nil {
		return err
	}
	b.run.lock.Lock()
	changed := b.governor.changed
	b.governor.changed = false
	b.run.lock.Unlock()
	if !changed {
		return nil
	}
	b.past = nil
	return b.run.window.open(b.run)
}

// read makes out the bill of the last seconds; false where there is nothing to go by yet.
func (b *budget) read() (r reading, ok bool, err error) {
	now, err := b.run.session.Read()
	if err != nil {
		return r, false, err
	}
	threads, err := b.run.session.Threads()
	if err != nil {
		return r, false, err
	}
	b.past = append(b.past, moment{now, sumByMethod(threads, b.run.session.Now())})
	for len(b.past) > 1 && b.past[1].reading.Until(now).Elapsed >= maxCovered {
		b.past = b.past[1:]
	}
	since := b.past[0].reading.Until(now)
	if since.Elapsed < minCovered {
		return r, false, nil
	}
	known := b.run.calibrator.Calibration()
	b.run.lock.Lock()
	defer b.run.lock.Unlock()
	return reading{
		now: time.Now(), known: known, settled: b.run.settler.settling.State != overhead.Unsettled,
		bill:       b.governor.price(since, b.past[0].sums, b.past[len(b.past)-1].sums, known),
		affordable: b.governor.affords(b.run.first.Until(now), b.run.batches, b.run.pause, b.run.Duration),
	}, true, nil
}

func (b *budget) do(ctx context.Context, next decision, r reading) error {
	if next.apply {
		if err := b.apply(ctx); err != nil {
			return err
		}
	}
	switch {
	case len(next.try) > 0:
		return b.try(ctx, next.try, r)
	case len(next.below) > 0:
		if fresh := b.below(next.below); len(fresh) > 0 {
			return b.install(ctx, fresh)
		}
		b.run.lock.Lock()
		next = b.governor.finish(r)
		b.run.lock.Unlock()
	}
	if len(next.remove) == 0 {
		return nil
	}
	var request session.Request
	for _, h := range next.remove {
		request.Hooks = append(request.Hooks, session.Hook{MethodRef: h.method})
	}
	before := b.run.places()
	taken, err := b.run.session.Unhook(ctx, request)
	b.run.account(taken, before)
	return err
}

func (b *budget) apply(ctx context.Context) error {
	var request session.Request
	b.run.lock.Lock()
	for _, h := range b.governor.order {
		if h.removed {
			continue
		}
		flags, period := b.governor.setting(h)
		switch {
		case h.root:
			flags |= arena.Root
		case flags != 0:
			flags |= arena.Inside
		}
		request.Hooks = append(request.Hooks, session.Hook{MethodRef: h.method, Flags: flags, Period: period})
	}
	b.run.lock.Unlock()
	_, err := b.run.session.Hook(ctx, request)
	return err
}

// try lets hooks count for a moment and has the governor judge them.
func (b *budget) try(ctx context.Context, trial []*governed, r reading) error {
	before, err := b.run.session.Sum()
	if err != nil {
		return err
	}
	began := time.Now()
	b.run.lock.Lock()
	b.governor.switchOn(trial, began)
	b.run.lock.Unlock()
	var request session.Request
	for _, h := range trial {
		request.Hooks = append(request.Hooks, session.Hook{MethodRef: h.method, Flags: arena.On | arena.Inside})
	}
	if _, err := b.run.session.Hook(ctx, request); err != nil {
		return err
	}
	select {
	case <-time.After(tryFor):
	case <-ctx.Done():
	}
	after, err := b.run.session.Sum()
	if err != nil {
		return err
	}
	took := time.Since(began)
	calls := make(map[uint32]uint64, len(trial))
	for _, h := range trial {
		if t := after.Methods[h.id]; t != nil {
			calls[h.id] = t.Calls
		}
		if t := before.Methods[h.id]; t != nil {
			calls[h.id] -= t.Calls
		}
	}
	b.run.lock.Lock()
	kept := b.governor.judge(trial, calls, took, r)
	b.run.lock.Unlock()
	for _, h := range kept {
		b.run.late(h.method)
	}
	return b.apply(ctx)
}

// seed puts the first hooks below roots that have none there yet.
func (b *budget) seed(ctx context.Context) error {
	var fresh []classfile.MethodRef
	b.run.lock.Lock()
	for m := range b.run.roots {
		if !b.seeded[m] {
			b.seeded[m] = true
			fresh = append(fresh, m)
		}
	}
	b.run.lock.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	fresh = append(fresh, b.first(fresh)...)
	b.limitHandOff(fresh)
	return b.install(ctx, fresh)
}

// limitHandOff does not follow tasks if changing the JDK's classes for that, in addition to those of some methods, would cost
// too much.
func (b *budget) limitHandOff(methods []classfile.MethodRef) {
	roots, all := make(map[string]bool), make(map[string]bool)
	b.run.lock.Lock()
	isFirst := len(b.governor.hooks) == 0
	for m := range b.run.roots {
		roots[m.Class] = true
	}
	b.run.lock.Unlock()
	for _, m := range methods {
		all[m.Class] = true
	}
	for _, class := range instrument.HandOffClasses() {
		all[class] = true
	}
	if b.run.HandOff && isFirst && b.loss(all) > b.maxLoss(roots) {
		b.run.HandOff, b.staysOnThread = false, true
	}
}

// first returns the methods below roots that get the first hooks: those that were seen to
// hold the time, or the nearest ones where too little was seen.
func (b *budget) first(roots []classfile.MethodRef) []classfile.MethodRef {
	holders, seen := b.run.peek.holders(roots)
	if !seen {
		return b.nearest(roots, firstHooks)
	}
	b.governor.sampled = true
	if b.run.HandOff {
		handed := b.run.peek.handed(roots)
		holders = slices.Concat(handed[:min(len(handed), handedHooks)], holders)
	}
	classes := make(map[string]bool)
	for _, m := range roots {
		classes[m.Class] = true
	}
	limit := b.maxLoss(classes)
	var first []classfile.MethodRef
	for _, m := range holders {
		switch {
		case slices.Contains(roots, m) || slices.Contains(first, m) || len(first) == firstHooks:
		case b.isTooSmall(m):
			b.tooSmall[m] = true
		case !b.mayRedefine(classes, m.Class, limit):
			b.tooCentral[m] = true
		default:
			classes[m.Class] = true
			first = append(first, m)
		}
	}
	return first
}

// mayRedefine reports whether one more class can be redefined within a limit of lost work.
// A class that is inlined into hot code loses much.
func (b *budget) mayRedefine(classes map[string]bool, class string, limit time.Duration) bool {
	if classes[class] {
		return true
	}
	with := maps.Clone(classes)
	with[class] = true
	return b.loss(with) <= limit
}

// maxLoss returns the work that may be lost to redefinitions. The loss of the roots'
// classes cannot be avoided, and without some other classes a profile is of no use.
func (b *budget) maxLoss(roots map[string]bool) time.Duration {
	room := overhead.LossLimit(b.run.Budget, b.run.Duration)
	return max(room, b.loss(roots)+room/4)
}

// loss returns the work that is lost by redefining classes to put hooks in and take them
// out.
func (b *budget) loss(classes map[string]bool) time.Duration {
	all := overhead.RecompileLoss(b.run.first.Compiled())
	return overhead.RedefinitionLoss(b.run.discardsAll, b.run.peek.heat(classes), all)
}

// isTooSmall reports whether a method is too small to be worth a hook: compilers inline
// it, and it has no loop and calls nothing.
func (b *budget) isTooSmall(m classfile.MethodRef) bool {
	shape, known := b.run.graph.Nature(m)
	return known && shape.Code && !shape.Loops && !shape.Calls && shape.Bytes <= overhead.InlinedCode
}

func (b *budget) install(ctx context.Context, methods []classfile.MethodRef) error {
	var request session.Request
	b.run.lock.Lock()
	for _, m := range methods {
		if b.run.canHook(m) {
			request.Hooks = append(request.Hooks, b.run.hook(m))
		}
	}
	b.run.lock.Unlock()
	return b.run.install(ctx, request)
}

// below returns methods without a hook that others call, nearest first.
func (b *budget) below(methods []classfile.MethodRef) []classfile.MethodRef {
	near := b.nearest(methods, math.MaxInt)
	b.run.lock.Lock()
	defer b.run.lock.Unlock()
	fresh := slices.DeleteFunc(near, func(m classfile.MethodRef) bool { return b.governor.hooks[m] != nil })
	return fresh[:min(len(fresh), moreHooks)]
}

// nearest returns methods that some methods call, directly or not, nearest first. Calls
// into other projects count as farther. Methods that are too small are looked through.
func (b *budget) nearest(from []classfile.MethodRef, most int) []classfile.MethodRef {
	var found []classfile.MethodRef
	met := make(map[classfile.MethodRef]bool)
	own := make(map[string]bool)
	for _, m := range from {
		met[m] = true
		own[callgraph.Project(m.Class)] = true
	}
	levels := [][]classfile.MethodRef{from}
	for depth := 0; depth < len(levels); depth++ {
		for _, m := range levels[depth] {
			switch {
			case depth == 0:
			case b.isTooSmall(m):
				b.tooSmall[m] = true
			case len(found) == most:
				return found
			default:
				found = append(found, m)
			}
			for _, callee := range b.callees(m) {
				if met[callee] {
					continue
				}
				met[callee] = true
				at := depth + 1
				if !own[callgraph.Project(callee.Class)] {
					at = depth + otherProject
				}
				for len(levels) <= at {
					levels = append(levels, nil)
				}
				levels[at] = append(levels[at], callee)
			}
		}
	}
	return found
}

// callees returns what a method calls, and the lambdas it makes, which are usually called
// on its behalf.
func (b *budget) callees(m classfile.MethodRef) []classfile.MethodRef {
	direct := b.run.graph.Ahead([]classfile.MethodRef{m}, callgraph.Limits{Depth: 1, Methods: math.MaxInt, Fan: maxTargets})
	prefix := "lambda$" + m.Name + "$"
	lambdas := b.run.graph.FindIn(m.Class, func(m classfile.MethodRef) bool { return strings.HasPrefix(m.Name, prefix) })
	return append(direct, lambdas...)
}

// explain adds to a profile of a view what the budget left out.
func (b *budget) explain(p *cct.Profile, v view) {
	b.run.lock.Lock()
	defer b.run.lock.Unlock()
	waiting := 0
	index := make(map[classfile.MethodRef]int, len(p.Methods))
	for i, m := range p.Methods {
		index[m.Ref()] = i
	}
	for _, h := range b.governor.order {
		i, is := index[h.method]
		if !is {
			p.Methods = append(p.Methods, cct.Method{Class: h.method.Class, Name: h.method.Name, Descriptor: h.method.Descriptor})
			i = len(p.Methods) - 1
		}
		q := cct.Quiet{Method: i, On: v.onFor(h.onAt, h.offAt), Reason: h.reason}
		switch {
		case h.mode == untried:
			waiting++
			q.Reason = "there was no time to try its hook, so it stayed off; the method's time is included in that of its callers"
		case h.mode == on && (h.root || q.On >= v.took()):
			continue
		case h.mode == on:
			q.Reason = "its hook was switched on during the run; the method's earlier time is included in that of its callers"
		}
		p.Quiet = append(p.Quiet, q)
	}
	note := func(format string, args ...any) { p.Notes = append(p.Notes, fmt.Sprintf(format, args...)) }
	where := "their time is included in that of their callers"
	if b.run.stacks != nil {
		where = "sampled stacks show their time"
	}
	if allowed := b.run.Share.Allowance(b.run.Budget); allowed < b.run.Budget {
		note("other commands measure this JVM within the same budget: at the end of this profile, %s of the program's CPU time was left for it, so it shows less than it would without those commands", format.Percent(allowed))
	}
	if b.governor.denied {
		note("some callees have no hooks, because installing more would exceed the budget (--timing exact installs all)")
	}
	if b.governor.denied || waiting > 0 || len(b.tooCentral) > 0 || len(b.tooSmall) > 0 {
		note("calls that go through methods without a hook are shown directly below the nearest caller with one")
	}
	if b.staysOnThread {
		note("work that is handed to other threads is not followed, because the JDK's classes that hand it over are inlined into much of the running code and changing them would exceed the budget (raise --budget, or use --timing exact)")
	}
	if waiting > 0 {
		note("there was no time to try the hooks of %s; %s", format.Plural(waiting, "method"), where)
	}
	if len(b.tooCentral) > 0 {
		note("%s got no hooks, because their classes are inlined into much of the running code and changing them would exceed the budget (raise --budget, or use --timing exact); %s", format.Plural(len(b.tooCentral), "method"), where)
	}
	if len(b.tooSmall) > 0 {
		note("%s got no hooks: too small to be worth one; %s", format.Plural(len(b.tooSmall), "method"), where)
	}
}

// counted returns the methods that are never timed.
func (b *budget) counted() map[uint32]bool {
	b.run.lock.Lock()
	defer b.run.lock.Unlock()
	counted := make(map[uint32]bool)
	for _, h := range b.governor.order {
		if h.mode == off {
			counted[h.id] = true
		}
	}
	return counted
}
