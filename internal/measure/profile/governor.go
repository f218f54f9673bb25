package profile

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A governor keeps a run within its budget. It has two means: which methods are
// counted, and how often one is timed. It begins with the root alone, tries the
// hooks that are in for a moment each, and keeps on those whose calls it can
// afford, those nearest to where the time goes first.
type governor struct {
	run *run

	lock    sync.Mutex
	hooks   map[classfile.MethodRef]*governed
	order   []*governed // as they came: callers before callees
	pace    float64     // calls of each method that are timed in a second
	past    []moment    // since the last change
	since   time.Time   // the root was called
	ready   time.Time   // since when hooks are tried
	bill    bill
	tried   int                          // how many hooks are tried at a time
	spared  map[classfile.MethodRef]bool // too small to be worth a hook
	central map[classfile.MethodRef]bool // of classes that cost too much to redefine
	seeded  map[classfile.MethodRef]bool // roots below which hooks were put in

	changed bool // other methods are on than when the window began
	broke   bool // another round of hooks would not fit the budget
	chosen  bool // no more hooks are added
	looked  bool // the first hooks were chosen by where the time is
	pruned  bool // hooks that were off were taken out
}

// A governed is a hook under a governor.
type governed struct {
	method classfile.MethodRef
	id     uint32
	mode   mode
	root   bool
	period uint32
	rate   float64   // calls a second, when it was last on
	reason string    // why it is quiet
	onAt   time.Time // of a root zero: its hook is on from before its first call
	offAt  time.Time // zero while it is on
	out    bool      // it was taken out again
}

type mode int

const (
	untried mode = iota // in, and off
	on
	quiet // off, because it costs too much
)

const (
	// How many calls of a method are timed in a second, about: no more than tell
	// something, as a timed call costs what several counted ones do, and fewer where
	// few hooks would cost too much.
	leastPace = 2
	mostPace  = 4000

	mostPeriod = 1 << 20

	// Parts of the budget: hooks have what putting them in and out leaves.
	full   = 1 - lossPart // beyond it hooks are taken away
	ample  = 0.5          // up to it hooks are added, down to it they are taken away
	tryout = 5 * time.Millisecond
	// How many hooks are tried at a time: more, the less the last have cost.
	firstTried = 24
	mostTried  = 96
)

func newGovernor(r *run) *governor {
	return &governor{
		run: r, hooks: make(map[classfile.MethodRef]*governed), pace: mostPace, tried: firstTried,
		spared: make(map[classfile.MethodRef]bool), central: make(map[classfile.MethodRef]bool), seeded: make(map[classfile.MethodRef]bool),
	}
}

// setting is what the hook of a method is to do.
func (g *governor) setting(m classfile.MethodRef, root bool) (arena.Flags, uint32) {
	g.lock.Lock()
	defer g.lock.Unlock()
	h := g.hooks[m]
	if h == nil {
		h = &governed{method: m, id: g.run.session.ID(m.Class, m.Name, m.Descriptor), root: root}
		if root {
			h.mode = on
		}
		g.hooks[m] = h
		g.order = append(g.order, h)
	}
	return g.flagsOf(h)
}

// flagsOf is what a hook does by its mode and period. It is timed by lot also where
// that means every call: so the same is kept of all.
func (g *governor) flagsOf(h *governed) (arena.Flags, uint32) {
	if h.mode != on {
		return 0, 0
	}
	// Calls timed at different rates do not mix: the rate changes seldom, and then
	// figures begin anew. When the choice is made it changes even less.
	ideal, far := h.rate/g.pace, 2.0
	if g.chosen {
		far = 3
	}
	if h.period == 0 || ideal > far*float64(h.period) || far*ideal < float64(h.period) && h.period > 1 {
		period := uint32(1)
		for float64(period) < ideal && period < mostPeriod {
			period *= 2
		}
		g.changed = g.changed || h.period != 0 && h.period != period
		h.period = period
	}
	return arena.On | arena.Sampled, h.period
}

// govern looks at what the hooks cost and thins or adds.
func (g *governor) govern(ctx context.Context) error {
	if err := g.seed(ctx); err != nil {
		return err
	}
	g.lock.Lock()
	defer g.lock.Unlock()
	bill, ok, err := g.account()
	if err != nil || !ok {
		return err
	}
	g.bill = bill
	if err := g.act(ctx, bill); err != nil {
		return err
	}
	if g.changed {
		g.changed, g.past = false, nil
		return g.run.window.open(g.run)
	}
	return nil
}

// act takes hooks away that cost too much, or adds some; where none can be added the
// choice is made, and hooks that are off go out.
func (g *governor) act(ctx context.Context, bill bill) error {
	switch {
	case bill.part > full*g.run.Budget && g.cut(bill):
		return g.apply(ctx)
	case g.since.IsZero():
		return nil // the root was not called yet, so nothing can be told of what is below it
	case g.chosen && g.pace < mostPace && g.canTime(bill, mostPace):
		g.pace = mostPace // it was slowed while hooks were tried, or code was not compiled yet
		return g.apply(ctx)
	case g.chosen:
		return g.prune(ctx, bill)
	case !g.run.settler.isSettled():
		return nil // code that got hooks does not run yet as it will
	case g.isLate():
		return g.choose(ctx, bill)
	case bill.part < ample*g.run.Budget:
		if g.pace < mostPace {
			g.pace = min(2*g.pace, mostPace)
		}
		if err := g.apply(ctx); err != nil {
			return err
		}
		if more, err := g.add(ctx, bill); more || err != nil {
			return err
		}
		return g.choose(ctx, bill)
	}
	return nil
}

// cut takes hooks away until the others fit the budget; false where they do, or
// nothing more can be done.
func (g *governor) cut(bill bill) (changed bool) {
	for over := bill.counting + bill.timing - ample*bill.allowed; over > 0; {
		spared := 0.0
		if g.hooksOn() > fewHooks || bill.least > ample*bill.allowed {
			spared = g.thin(bill)
		}
		if spared == 0 {
			slower := max(min(g.pace, g.fastest())/4, leastPace)
			changed = changed || slower < g.pace
			g.pace = slower
			break
		}
		changed, over = true, over-spared
	}
	return changed
}

// canTime reports whether so many calls of each method could be timed in a second.
func (g *governor) canTime(bill bill, pace float64) bool {
	known, cost := g.run.scales.calibration(), bill.resting
	for _, h := range g.order {
		if h.mode == on {
			cost += careful(known, h.rate).at(h.rate, pace) * bill.seconds
		}
	}
	return cost <= ample*bill.allowed
}

func (g *governor) hooksOn() (n int) {
	for _, h := range g.order {
		if h.mode == on {
			n++
		}
	}
	return n
}

// fastest is how often the method is called that is called most, of those that are on.
func (g *governor) fastest() float64 {
	most := float64(leastPace)
	for _, h := range g.order {
		if h.mode == on {
			most = max(most, h.rate)
		}
	}
	return most
}

// fewHooks are kept if counting alone can be afforded: rather are they timed by lot.
const fewHooks = 8

// thin switches off the hook that costs most for what it tells, and gives what it
// cost; 0 where there is none to switch off.
func (g *governor) thin(bill bill) float64 {
	var worst *governed
	var most float64
	for _, h := range g.order {
		worth := bill.cost[h.id] / (0.01 + bill.share[h.id])
		if h.mode == on && !h.root && bill.cost[h.id] > 0 && (worst == nil || worth > most) {
			worst, most = h, worth
		}
	}
	if worst == nil {
		return 0
	}
	g.silence(worst, bill.cost[worst.id]/bill.program)
	return bill.cost[worst.id]
}

func (g *governor) silence(h *governed, part float64) {
	h.mode, h.offAt = quiet, time.Now()
	g.changed = true
	h.reason = fmt.Sprintf("%s calls a second would cost %.2g %%: switched off, its time is with its callers", si(h.rate), 100*part)
}

// add tries hooks that are in and off. Where none is left it has more put in, below
// the methods that hold the time. It reports whether there was anything to add.
func (g *governor) add(ctx context.Context, bill bill) (bool, error) {
	var trial []*governed
	for _, h := range g.order {
		if h.mode == untried && len(trial) < g.tried {
			trial = append(trial, h)
		}
	}
	if len(trial) == 0 {
		return g.deepen(ctx, bill)
	}
	before, err := g.run.session.Sum()
	if err != nil {
		return false, err
	}
	began := time.Now()
	for _, h := range trial {
		h.mode, h.onAt = on, began
	}
	if err := g.tryOut(ctx, trial); err != nil {
		return false, err
	}
	after, err := g.run.session.Sum()
	if err != nil {
		return false, err
	}
	if g.judge(trial, before, after, time.Since(began), bill) < bill.allowed/8 {
		g.tried = min(2*g.tried, mostTried)
	}
	g.changed = true
	return true, g.apply(ctx)
}

// tryOut has hooks count for a moment.
func (g *governor) tryOut(ctx context.Context, trial []*governed) error {
	request := session.Request{}
	for _, h := range trial {
		request.Hooks = append(request.Hooks, g.hook(h, arena.On|arena.Inside, 0))
	}
	if _, err := g.run.session.Hook(ctx, request); err != nil {
		return err
	}
	timer := time.NewTimer(tryout)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

// judge keeps the cheapest of those that were tried, as far as the budget goes. It
// gives what those cost.
func (g *governor) judge(trial []*governed, before, after *arena.Summary, took time.Duration, bill bill) (kept float64) {
	known := g.run.scales.calibration()
	left := bill.allowed*ample - bill.counting - bill.timing
	slices.SortStableFunc(trial, func(a, b *governed) int {
		return int(calls(after, a.id)-calls(before, a.id)) - int(calls(after, b.id)-calls(before, b.id))
	})
	now := g.run.session.Now()
	for _, h := range trial {
		h.rate = float64(calls(after, h.id)-calls(before, h.id)) / took.Seconds()
		cost := careful(known, h.rate).at(h.rate, g.pace) * bill.seconds
		if cost > left {
			g.silence(h, cost/bill.program)
			continue
		}
		left -= cost
		kept += cost
		g.run.ledger.late(h.id, now)
	}
	return kept
}

func calls(s *arena.Summary, id uint32) uint64 {
	if t := s.Methods[id]; t != nil {
		return t.Calls
	}
	return 0
}

// apply sets the switches as they are to be.
func (g *governor) apply(ctx context.Context) error {
	request := session.Request{}
	for _, h := range g.order {
		if h.out {
			continue
		}
		flags, period := g.flagsOf(h)
		switch {
		case h.root:
			flags |= arena.Root
		case flags != 0:
			flags |= arena.Inside
		}
		request.Hooks = append(request.Hooks, g.hook(h, flags, period))
	}
	_, err := g.run.session.Hook(ctx, request)
	return err
}

func (g *governor) hook(h *governed, flags arena.Flags, period uint32) session.Hook {
	return session.Hook{Class: h.method.Class, Name: h.method.Name, Descriptor: h.method.Descriptor, Flags: flags, Period: period}
}

const (
	// offNanos is what a hook that is in and off costs a call, in code that is hot:
	// a load and a branch, and often that the method is no longer compiled into its
	// caller.
	offNanos = 3
	// dearRest is the part of the budget that hooks which are off may cost.
	dearRest = 0.1

	// Hooks are chosen for a fifth of a run at most, within these bounds.
	leastChoosing = 3 * time.Second
	mostChoosing  = 15 * time.Second
)

// isLate reports whether hooks have been chosen for long enough.
func (g *governor) isLate() bool {
	if g.ready.IsZero() {
		g.ready = time.Now()
	}
	long := mostChoosing
	if g.run.Duration > 0 {
		long = min(max(g.run.Duration/5, leastChoosing), mostChoosing)
	}
	return time.Since(g.ready) > long
}

// choose ends the choice. From here on hooks are only taken away.
func (g *governor) choose(ctx context.Context, b bill) error {
	g.chosen = true
	return g.prune(ctx, b)
}

// prune takes out hooks that are off, where leaving them in would cost more than
// their part of the budget. It is one more batch, so all go at once, but for those
// that are hardly called.
func (g *governor) prune(ctx context.Context, b bill) error {
	waiting := 0
	for _, h := range g.order {
		if h.mode == untried && !h.out {
			waiting++
		}
	}
	if b.resting <= dearRest*b.allowed && waiting == 0 || g.pruned && !g.canAfford() {
		return nil
	}
	var request session.Request
	for _, h := range g.order {
		idle := h.mode == quiet && h.rate*b.seconds*offNanos < dearRest*dearRest*b.allowed
		if h.mode == on || h.out || idle {
			continue
		}
		h.out = true
		request.Hooks = append(request.Hooks, g.hook(h, 0, 0))
	}
	if len(request.Hooks) == 0 {
		return nil
	}
	g.pruned = true
	g.lock.Unlock() // classes that load ask for settings meanwhile
	defer g.lock.Lock()
	before := g.run.ledger.look(g.run.session)
	taken, err := g.run.session.Unhook(ctx, request)
	g.run.ledger.add(g.run.session, taken, before)
	return err
}

// explain says what the budget did to a profile of a view.
func (g *governor) explain(p *cct.Profile, v view) {
	g.lock.Lock()
	defer g.lock.Unlock()
	waiting := 0
	index := make(map[classfile.MethodRef]int, len(p.Methods))
	for i, m := range p.Methods {
		index[classfile.MethodRef{Class: m.Class, Name: m.Name, Descriptor: m.Descriptor}] = i
	}
	for _, h := range g.order {
		i, is := index[h.method]
		if !is {
			p.Methods = append(p.Methods, cct.Method{Class: h.method.Class, Name: h.method.Name, Descriptor: h.method.Descriptor})
			i = len(p.Methods) - 1
		}
		q := cct.Quiet{Method: i, On: v.onFor(h.onAt, h.offAt), Reason: h.reason}
		switch {
		case h.mode == untried:
			waiting++
			q.Reason = "there was no time to try it: off, its time is with its callers"
		case h.mode == on && (h.root || q.On >= v.took()):
			continue
		case h.mode == on:
			q.Reason = "its hook was chosen during the run: what it took before is with its callers"
		}
		p.Quiet = append(p.Quiet, q)
	}
	if g.broke {
		p.Notes = append(p.Notes, "deeper calls have no hooks: another round of them would not fit the budget (--timing exact has them all)")
	}
	if waiting > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("there was no time to try the hooks of %s: their time is with their callers", format.Plural(waiting, "method")))
	}
	if len(g.central) > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%s in classes that are compiled into much of what runs: to put hooks there would cost the program more than the budget has (--budget, or --timing exact): their time is with their callers", format.Plural(len(g.central), "method")))
	}
	if len(g.spared) > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%s too small to be worth a hook: their time is with their callers", format.Plural(len(g.spared), "method")))
	}
}

// counted are the methods that are never timed.
func (g *governor) counted() map[uint32]bool {
	g.lock.Lock()
	defer g.lock.Unlock()
	counted := make(map[uint32]bool)
	for _, h := range g.order {
		if h.mode == quiet {
			counted[h.id] = true
		}
	}
	return counted
}

// si is a number with a unit prefix.
func si(n float64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.3g G", n/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.3g M", n/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.3g k", n/1e3)
	}
	return fmt.Sprintf("%.0f", n)
}
