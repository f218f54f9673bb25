package overhead

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

const (
	// Usual is the budget of commands that run for long, if the user states none.
	Usual = 0.05
	// budgetEvery is how often the cost of hooks is compared with the budget: hooks that cost half of the program's
	// time are thinned before they have cost a twentieth of ten seconds.
	budgetEvery = 300 * time.Millisecond
	// soonEvery is how often that is compared while hooks are new, which is newFor long: nobody knows yet what they cost.
	soonEvery = 100 * time.Millisecond
	newFor    = 3 * time.Second
	// inARow is how many comparisons in a row must exceed the budget: a burst is over soon.
	inARow = 2
	// leastUse is the part of a processor that a program is assumed to use. Hooks in a program that
	// is almost idle cost a large part of almost nothing.
	leastUse = 0.25
	// burstPart is the part of the budget of ten seconds that a burst may use before hooks are thinned, newPart the same for
	// hooks that are new, and thinTo the part of the budget to which they are thinned then: until that moment, they have cost
	// more, and the code around new hooks is compiled again.
	burstPart = 0.125
	newPart   = 0.05
	thinTo    = 0.6
	// MayCost is the part of the budget that hooks may cost for long: what they cost is computed, and the code around them
	// may be compiled so that they cost half as much again.
	MayCost = 0.7
	// RecordPart is how many times a hook that writes a record costs what one costs that takes the time.
	RecordPart = 2
	// thinPeriod is the period of calls that are still timed after a spot was thinned once. It is the largest period of
	// traces, too: with a larger one, they would show too little for what they cost.
	thinPeriod = 1000
	// leastPart is the part of its own budget that a look with call trees always has: with less, it
	// would show nothing.
	leastPart = 0.1
)

// A governor keeps the hooks of looks at a JVM within one budget: the smallest that a user has
// stated for one of them, otherwise the smallest that one of them has. A stated budget holds for all
// looks, another one only for those that have a budget. The look that costs most for each method that
// it measures is thinned first. Its most expensive hooks then time one call in thinPeriod, and if that
// is not enough, they only count, and at last they are switched off. Of traces, one call of the root in a
// period is traced. A look that chooses its hooks by itself (Share) may cost less from then on.
type governor struct {
	session *session.Session

	lock    sync.Mutex
	members map[*session.Look]*member
	stop    context.CancelFunc // nil while no look has a budget

	// Used by the goroutine only.
	calls map[uint32]uint64 // at the last reading
	ended map[uint32]uint64 // the timed ones of them
	known map[uint32]bool   // hooks that were on then
	newAt time.Time         // when there were others for the last time
	below descent           // since then
	past  Shares
	over  int // how many times in a row the budget was exceeded

	timed   float64 // nanoseconds of a timed call in a loop; 0 if that is not known
	timedAt time.Time
	seen    sighting

	isReported bool // that the budget cannot be kept
}

// A member is a look under a governor.
type member struct {
	budget   float64 // 0 if it has none
	isStated bool    // by the user
	share    *Share  // nil if the governor sees and switches its hooks as spots
	spent    float64 // of the share, at the last reading
	timed    float64 // nanoseconds of a timed call before hooks went in; 0 if that is not known
	pace     *Pace   // nil if nobody samples the program for the look
}

// A sighting compares what hooks cost, by samples, with what is computed. Hooks that evaluate conditions and values cost more than
// others, and all cost more if the program leaves nothing of theirs in the caches of the processor.
type sighting struct {
	pace             *Pace
	hooks, samples   int     // at the beginning
	computed, passed float64 // nanoseconds since then, of hooks and of the program
	factor           float64 // by which they cost more; 0 if that is not known
}

// restart begins a comparison, because hooks have changed. What was known stays valid until there are enough samples.
func (s *sighting) restart(p *Pace) {
	hooks, samples := p.inHooks()
	*s = sighting{pace: p, hooks: hooks, samples: samples, factor: s.factor}
}

// add takes in what hooks have cost since the last step, as computed, and the CPU time of the program. It returns how many times as
// much they have cost at least.
func (s *sighting) add(computed, passed float64) float64 {
	hooks, samples := s.pace.inHooks()
	if samples < s.samples { // results began again
		s.restart(s.pace)
	}
	if samples == 0 {
		return max(1, s.factor)
	}
	s.computed += computed
	s.passed += passed
	if seen, known := seenShare(hooks-s.hooks, samples-s.samples); known && s.computed > 0 {
		s.factor = seen.Low * s.passed / s.computed
	}
	return max(1, s.factor)
}

// allowed returns the part of the program's CPU time up to which hooks stay as they are. Where samples show more than is computed, nothing is
// uncertain, and results are lost only if that exceeds the budget itself.
func (s *sighting) allowed(budget float64, isLast bool) float64 {
	if isLast && s.factor > 1 {
		return budget
	}
	return MayCost * budget
}

type governorKey struct{}

// Govern keeps the hooks of looks at the JVM within a budget, which is a part of the CPU time of the
// program, until the returned function is called. A stated budget holds for all looks. At first, timed
// calls are assumed to cost what the meter says: measuring takes long while code is compiled again. Later, samples of the
// pace show whether they cost more.
func Govern(l *session.Look, m *Meter, p *Pace, budget float64, isStated bool) (release func()) {
	joining := &member{budget: budget, isStated: isStated, pace: p}
	if known := m.Cost(); known != nil && m.flags&arena.Timed != 0 {
		joining.timed = known.Median
	}
	return join(l, joining)
}

func join(l *session.Look, m *member) (leave func()) {
	g := l.Attached(governorKey{}, func() any {
		return &governor{session: l.Session, members: make(map[*session.Look]*member)}
	}).(*governor)
	g.lock.Lock()
	defer g.lock.Unlock()
	g.members[l] = m
	g.startOrStop()
	return func() {
		g.lock.Lock()
		defer g.lock.Unlock()
		delete(g.members, l)
		g.startOrStop()
	}
}

// startOrStop lets the governor run while there is a budget. The lock is held.
func (g *governor) startOrStop() {
	switch _, _, has := g.limit(); {
	case has && g.stop == nil:
		ctx, stop := context.WithCancel(context.Background())
		g.stop = stop
		go g.run(ctx)
	case !has && g.stop != nil:
		g.stop()
		g.stop = nil
	}
}

// limit returns the budget, and whether it holds for all looks. The lock is held.
func (g *governor) limit() (budget float64, isStated, has bool) {
	budget = 1
	for _, m := range g.members {
		if m.budget == 0 || m.share != nil || isStated && !m.isStated {
			continue
		}
		if m.isStated && !isStated {
			isStated, budget = true, 1
		}
		has, budget = true, min(budget, m.budget)
	}
	return budget, isStated, has
}

// A Share is what a look with call trees costs its JVM, which it measures itself, and what it may cost.
// It is safe for use by several goroutines. A nil Share records nothing.
type Share struct {
	lock      sync.Mutex
	calls     uint64
	nanos     float64
	hooks     int
	allowance float64
}

// Join makes a look part of the one budget of its JVM until the returned function is called. budget is
// the part of the program's CPU time that it keeps to by itself; 0 if it measures every call whatever
// that costs.
func (s *Share) Join(l *session.Look, budget float64) (leave func()) {
	if s == nil {
		return func() {}
	}
	s.lock.Lock()
	s.allowance = budget
	s.lock.Unlock()
	return join(l, &member{budget: budget, share: s})
}

// Set records what the hooks of the look have cost so far, and how many are on.
func (s *Share) Set(calls uint64, nanos float64, hooks int) {
	if s == nil {
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.calls, s.nanos, s.hooks = calls, nanos, hooks
}

// Spent returns how many calls the hooks of the look have counted, and what that has cost, in
// nanoseconds.
func (s *Share) Spent() (calls uint64, nanos float64) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.calls, s.nanos
}

// Allowance returns the part of the program's CPU time that the look may cost: its own budget, or less
// if the hooks of all looks cost too much. Without a Share it is the budget.
func (s *Share) Allowance(budget float64) float64 {
	if s == nil {
		return budget
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	return min(s.allowance, budget)
}

func (g *governor) run(ctx context.Context) {
	before, err := g.session.Read()
	_, _ = g.read(ctx, 0) // hooks that exist do not cost now what they have cost so far
	for {
		every := budgetEvery
		if g.areNew() {
			every = soonEvery
		}
		select {
		case <-ctx.Done():
			return
		case <-g.session.Done():
			return
		case <-time.After(every):
		}
		now, reading := g.session.Read()
		if err == nil && reading == nil {
			g.step(ctx, now.At, before.Until(now))
		}
		before, err = now, reading
	}
}

// areNew reports whether there are hooks that have just gone in.
func (g *governor) areNew() bool { return time.Since(g.newAt) < newFor }

// ProgramNanos returns the processor time of the program and of what the JVM does for it, or that of leastUse.
func ProgramNanos(since cost.Cost) float64 {
	return float64(max(since.Rest+since.CompileCPU+since.VMThread, time.Duration(leastUse*float64(since.Elapsed))))
}

// step compares what hooks have cost since the last step with the CPU time of the program.
func (g *governor) step(ctx context.Context, now time.Time, since cost.Cost) {
	spots, err := g.read(ctx, since.Elapsed.Seconds())
	if err != nil {
		return // the session is ending
	}
	program := ProgramNanos(since)
	g.lock.Lock()
	budget, isStated, _ := g.limit()
	shares := g.readShares(isStated, program)
	if pace := g.pace(); pace != g.seen.pace {
		g.seen.restart(pace)
	}
	if !isStated {
		spots = slices.DeleteFunc(spots, func(s spotCost) bool { return slices.ContainsFunc(s.Looks, g.isExempt) })
	}
	g.lock.Unlock()
	spots = foldTraces(spots, &g.below)
	factor := g.seen.add(costOf(spots, shares), float64(since.Rest))
	for i := range spots {
		spots[i].multiply(factor)
	}
	for i := range shares {
		shares[i].cost *= factor
	}
	plan := relieve(spots, shares, thinTo*budget*program)
	part := min(plan.total/program, 1) // it is computed from what a call costs, and may be too much
	recent := g.past.Add(now, since.Elapsed, time.Duration(plan.total), time.Duration(program))
	if part <= g.seen.allowed(budget, plan.isLast) {
		g.over = 0
		return
	}
	mayUse := burstPart
	if g.areNew() {
		mayUse = newPart
	}
	if g.over++; g.over < inARow || recent <= mayUse*budget {
		return
	}
	if len(plan.spots)+len(plan.shares) == 0 {
		if !plan.isOpen {
			g.reportExceeded(&plan, part, budget)
		}
		return
	}
	settings := make(map[uint32]arena.Probe)
	for _, c := range plan.spots {
		settings[c.ID] = c.to
	}
	if err := g.session.Thin(ctx, settings); err != nil {
		return // the session is ending
	}
	g.seen.restart(g.seen.pace)
	notify(plan.spots, part, budget)
	for _, c := range plan.shares {
		allowance := c.allowed / program
		c.share.lock.Lock()
		c.share.allowance = allowance
		c.share.lock.Unlock()
		c.look.Notify(fmt.Sprintf("%s: this command may cost %s from now on, so it shows less", Exceeded(part, budget), format.Percent(allowance)))
	}
}

// pace returns what samples the program; nil if nothing does. The lock is held.
func (g *governor) pace() *Pace {
	var found *Pace
	for _, m := range g.members {
		if m.pace != nil {
			if found = m.pace; found == g.seen.pace {
				break
			}
		}
	}
	return found
}

// Exceeded says that hooks cost too much.
func Exceeded(part, budget float64) string {
	return fmt.Sprintf("hooks cost %s of the program's CPU time, %s at worst, and the budget is %s", format.Percent(part), format.Percent(min(part/MayCost, 1)), format.Percent(budget))
}

// isExempt reports whether a look has no budget. The lock is held.
func (g *governor) isExempt(l *session.Look) bool {
	m := g.members[l]
	return m == nil || m.budget == 0
}

// readShares returns what the shares have cost since the last reading. The lock is held.
func (g *governor) readShares(all bool, program float64) (shares []shareCost) {
	for l, m := range g.members {
		if m.share == nil {
			continue
		}
		m.share.lock.Lock()
		c := shareCost{
			look: l, share: m.share, cost: max(0, m.share.nanos-m.spent), hooks: m.share.hooks,
			isFixed: m.budget == 0, allowed: m.share.allowance * program, least: leastPart * m.budget * program,
		}
		m.spent = m.share.nanos
		m.share.lock.Unlock()
		if all || m.budget > 0 {
			shares = append(shares, c)
		}
	}
	return shares
}

// reportExceeded reports, once, a budget that cannot be kept, because calls are only counted
// already, or because a look measures every call.
func (g *governor) reportExceeded(plan *relief, part, budget float64) {
	if g.isReported {
		return
	}
	g.isReported = true
	advice := "exclude methods that are called very often"
	if plan.worst != "" {
		advice += ", such as " + plan.worst
	}
	if plan.fixed != nil {
		advice = fmt.Sprintf("end %s, which measures every call, or start it with --timing auto", plan.fixed.Command())
	}
	g.lock.Lock()
	defer g.lock.Unlock()
	for l, m := range g.members {
		if m.budget > 0 {
			l.Notify(Exceeded(part, budget) + ", which cannot be kept: " + advice)
		}
	}
}

// A shareCost is what a look with call trees has cost since the last reading.
type shareCost struct {
	look    *session.Look
	share   *Share
	cost    float64
	hooks   int
	isFixed bool    // it cannot be thinned
	allowed float64 // what it may cost
	least   float64 // it cannot be allowed less
}

// A spotCost is a spot with what it has cost since the last reading.
type spotCost struct {
	session.SpotUse
	calls uint64
	ended uint64 // the timed ones
	// nanos of a call as it is, timed one in thinPeriod, and only counted.
	now, sampled, counted float64
	recorded              float64 // if the call is traced
	idle                  float64 // of a root: of the hooks below it, if the call is not traced
	busiest               string  // the method below a root that is called most
}

func (s *spotCost) cost() float64 { return s.now * float64(s.calls) }

func (s *spotCost) multiply(factor float64) {
	for _, nanos := range []*float64{&s.now, &s.sampled, &s.counted, &s.recorded, &s.idle} {
		*nanos *= factor
	}
}

// costOf returns what hooks have cost since the last reading.
func costOf(spots []spotCost, shares []shareCost) (nanos float64) {
	for i := range spots {
		nanos += spots[i].cost()
	}
	for i := range shares {
		nanos += shares[i].cost
	}
	return nanos
}

// isRoot reports whether calls of the spot open transactions.
func (s *spotCost) isRoot() bool {
	return s.Setting.Flags&(arena.Traced|arena.Root) == arena.Traced|arena.Root
}

// period returns of how many calls one is timed, or of a root traced.
func (s *spotCost) period() uint32 {
	if s.Setting.Flags&arena.Sampled == 0 {
		return 1
	}
	return max(1, s.Setting.Period)
}

// A descent is what happened below traced calls. The calls there are counted only while they are traced, so that a short time in
// which one of a thousand calls is traced tells nothing of the others.
type descent struct {
	calls, traced float64
	busiest       string // the method with the most calls in a step
	most          uint64
}

// foldTraces makes the roots of traces pay for the calls that are traced below them, because both become fewer if fewer calls
// of the roots are traced. Below the others, hooks find out that there is nothing to do, as often as below those traced so far.
func foldTraces(spots []spotCost, d *descent) []spotCost {
	below, calls := 0.0, uint64(0)
	isBelow := func(s spotCost) bool { return s.recorded > 0 && !s.isRoot() }
	for i := range spots {
		switch s := &spots[i]; {
		case isBelow(*s):
			below += s.cost()
			d.calls += float64(s.calls)
			if s.calls > d.most {
				d.busiest, d.most = s.Method, s.calls
			}
		case s.isRoot() && s.period() == 1:
			calls += s.calls
			d.traced += float64(s.calls)
		case s.isRoot():
			calls += s.calls
			d.traced += float64(s.ended)
		}
	}
	if calls == 0 {
		return spots // a transaction is running
	}
	spots = slices.DeleteFunc(spots, isBelow)
	for i := range spots {
		if s := &spots[i]; s.isRoot() {
			s.idle = d.calls / max(1, d.traced) * (1 - 1/float64(s.period())) * Off * idleFactor
			s.now += below/float64(calls) + s.idle
			s.busiest = d.busiest
		}
	}
	return spots
}

// read returns what spots have cost in the last seconds.
func (g *governor) read(ctx context.Context, seconds float64) (spots []spotCost, err error) {
	sum, err := g.session.Counts()
	if err != nil {
		return nil, err
	}
	calls, ended, known := make(map[uint32]uint64), make(map[uint32]uint64), make(map[uint32]bool)
	for id, totals := range sum.Methods {
		calls[id], ended[id] = totals.Calls, totals.Timed
	}
	uses := g.session.SpotUses()
	for _, use := range uses {
		if known[use.ID] = true; !g.known[use.ID] {
			g.newAt, g.below = time.Now(), descent{}
		}
	}
	before, endedBefore := g.calls, g.ended
	g.calls, g.ended, g.known = calls, ended, known
	if before == nil || len(uses) == 0 {
		return nil, nil
	}
	timing, err := g.timing(ctx)
	if err != nil {
		return nil, err
	}
	for _, use := range uses {
		s := spotCost{SpotUse: use, calls: calls[use.ID] - min(before[use.ID], calls[use.ID]), ended: ended[use.ID] - min(endedBefore[use.ID], ended[use.ID])}
		s.price(timing, seconds)
		spots = append(spots, s)
	}
	return spots, nil
}

// price computes what a call costs if timing takes some nanoseconds in a loop, from the calls in some seconds.
func (s *spotCost) price(timing, seconds float64) {
	part, rate := 0.0, float64(s.calls)/seconds
	switch flags := s.Setting.Flags; {
	case flags&arena.Timed != 0:
		part = 1
	case flags&arena.Sampled != 0:
		part = 1 / float64(s.period())
	}
	tags := float64(s.Tags) * tagCost * countingFactor // which thinning does not save
	s.now, s.sampled, s.counted = tags+perCall(timing, rate, part), tags+perCall(timing, rate, 1.0/thinPeriod), tags+perCall(timing, rate, 0)
	if s.Setting.Flags&arena.Traced != 0 {
		if s.recorded = RecordPart * timing; s.isRoot() {
			s.now += s.recorded / float64(s.period())
		} else {
			s.now = s.recorded // its calls count only while they are traced
		}
	}
}

// perCall returns what a call costs, pessimistically, if the method is called rate times a second, a part of its calls is timed,
// and timing takes some nanoseconds in a loop.
func perCall(timing, rate, part float64) float64 {
	return part*(timing*timingFactor+Plain.Cold(rate, 1)) + (1-part)*min(timing, HotCount)*crowdedFactor
}

// timing returns how many nanoseconds timing a call takes in a loop. It is measured again and again, because at first hooks are
// not compiled yet; if the JVM is too busy for that, the last measurement counts.
func (g *governor) timing(ctx context.Context) (float64, error) {
	if g.timed == 0 {
		g.lock.Lock()
		for _, m := range g.members {
			g.timed, g.timedAt = max(g.timed, m.timed), time.Now()
		}
		g.lock.Unlock()
	}
	if g.timed > 0 && time.Since(g.timedAt) < meterEvery {
		return g.timed, nil
	}
	ctx, cancel := context.WithTimeout(ctx, meterLimit)
	defer cancel()
	measured, err := g.session.HookCost(ctx, arena.On|arena.Flat|arena.Timed|arena.Spreads, 0)
	switch {
	case err == nil:
		g.timed = measured.Median
	case g.timed == 0:
		return 0, err
	}
	g.timedAt = time.Now()
	return g.timed, nil
}

// A thinning changes what a spot measures.
type thinning struct {
	spotCost
	to arena.Probe
}

// A relief is what must change so that hooks cost less.
type relief struct {
	total  float64 // what they cost now, in nanoseconds
	spots  []thinning
	shares []shareCost   // with what they may cost from now on
	isOpen bool          // a hook could measure less, although that would save nothing as far as is known
	isLast bool          // spots are switched off, because nothing else is left
	worst  string        // the method whose hook costs most
	fixed  *session.Look // a look that costs something and cannot be thinned
}

// A party is a look with what it costs and how many methods it measures.
type party struct {
	cost    float64 // of a hook that several looks have, its part
	methods int     // with calls
	spots   []*spotCost
	share   *shareCost // nil if it has spots
}

// each returns what a look costs for each method that it measures.
func (p *party) each() float64 { return p.cost / float64(max(1, p.methods)) }

// parties returns looks in the order in which they are thinned.
func parties(spots []spotCost, shares []shareCost) []*party {
	of := make(map[*session.Look]*party)
	var all []*party
	get := func(l *session.Look) *party {
		if of[l] == nil {
			of[l] = &party{}
			all = append(all, of[l])
		}
		return of[l]
	}
	for i := range spots {
		s := &spots[i]
		for _, l := range s.Looks {
			p := get(l)
			p.spots = append(p.spots, s)
			p.cost += s.cost() / float64(len(s.Looks))
			if s.calls > 0 {
				p.methods++
			}
		}
	}
	for i := range shares {
		p := get(shares[i].look)
		p.share, p.cost, p.methods = &shares[i], shares[i].cost, shares[i].hooks
	}
	slices.SortStableFunc(all, func(a, b *party) int { return cmp.Compare(b.each(), a.each()) })
	return all
}

// relieve returns what must change so that hooks cost no more than allowed nanoseconds.
func relieve(spots []spotCost, shares []shareCost, allowed float64) (r relief) {
	slices.SortFunc(spots, func(a, b spotCost) int {
		return cmp.Or(-cmp.Compare(a.cost(), b.cost()), cmp.Compare(a.ID, b.ID))
	})
	if len(spots) > 0 {
		r.worst = cmp.Or(spots[0].busiest, spots[0].Method)
	}
	r.total = costOf(spots, shares)
	rest := costOf(spots, nil) // what can be thinned
	for i := range shares {
		s := &shares[i]
		switch {
		case !s.isFixed:
			rest += min(s.cost, s.allowed) // if it costs more than allowed, it is about to cost less
		case s.cost > 0:
			r.fixed = s.look
		}
	}
	isThinned := make(map[uint32]bool)
	for _, p := range parties(spots, shares) {
		if s := p.share; s != nil && !s.isFixed && rest > allowed {
			costs := min(s.cost, s.allowed)
			if to := max(s.least, costs-(rest-allowed)); to < costs {
				rest -= costs - to
				thinned := *s
				thinned.allowed = to
				r.shares = append(r.shares, thinned)
			}
		}
		for _, s := range p.spots {
			if rest <= allowed {
				break
			}
			to, saved := s.less(rest - allowed)
			r.isOpen = r.isOpen || to.Flags != 0 && s.calls > 0
			if saved > 0 && s.calls > 0 && !isThinned[s.ID] {
				isThinned[s.ID] = true
				r.spots = append(r.spots, thinning{*s, to})
				rest -= saved * float64(s.calls)
			}
		}
	}
	if len(r.spots)+len(r.shares) > 0 || r.isOpen {
		return r
	}
	r.isLast = true
	for _, s := range spots {
		if rest <= allowed {
			break
		}
		if s.Measures && !s.isRoot() && s.cost() > 0 {
			r.spots = append(r.spots, thinning{s, arena.Probe{}})
			rest -= s.cost()
		}
	}
	return r
}

// isIdle reports whether tracing fewer calls of a root is no help: hooks below calls that are not traced cost too much already, and most
// of all.
func (s *spotCost) isIdle(excess float64) bool {
	const most = 0.75
	return s.idle*float64(s.calls) > s.cost()-excess && s.counted+s.idle > most*s.now
}

// less returns the next setting of a spot that costs less, and what that saves for each call, if hooks cost
// too much by some nanoseconds; 0 if there is none.
func (s *spotCost) less(excess float64) (to arena.Probe, saved float64) {
	flags := s.Setting.Flags
	switch {
	case s.isRoot() && s.period() < thinPeriod && !s.isIdle(excess):
		const margin, mostAtOnce = 1.25, 10
		part := max(1-excess/max(1, s.cost()-s.idle*float64(s.calls)), 1.0/mostAtOnce)
		to = arena.Probe{Flags: flags | arena.Sampled, Period: uint32(min(thinPeriod, margin*float64(s.period())/part+1))}
		return to, max(0, s.now-s.counted-s.idle) * (1 - float64(s.period())/float64(to.Period))
	case flags&arena.Traced != 0: // a part of a trace would be wrong
		return to, 0
	case flags&arena.Timed != 0 || flags&arena.Sampled != 0 && s.Setting.Period < thinPeriod:
		return arena.Probe{Flags: flags&^arena.Timed | arena.Sampled, Period: thinPeriod}, s.now - s.sampled
	case flags&arena.Sampled != 0:
		return arena.Probe{Flags: flags &^ arena.Sampled}, s.now - s.counted
	}
	return to, 0
}

// notify reports to the users of all looks what has changed for them.
func notify(changes []thinning, share, budget float64) {
	of := make(map[*session.Look][]thinning)
	for _, c := range changes {
		for _, l := range c.Looks {
			of[l] = append(of[l], c)
		}
	}
	for l, own := range of {
		var what string
		first := &own[0]
		switch to := first.to; {
		case to.Flags == 0:
			what = fmt.Sprintf("calls of %s are no longer measured, so the result lacks later calls", first.Method)
		case first.isRoot():
			what = fmt.Sprintf("only one in %s calls of %s is traced from now on", format.Grouped(int(to.Period)), first.Method)
		case to.Flags&arena.Sampled != 0:
			what = fmt.Sprintf("only one in %s calls of %s is timed from now on", format.Grouped(thinPeriod), first.Method)
		default:
			what = fmt.Sprintf("calls of %s are only counted from now on", first.Method)
		}
		if len(own) > 1 {
			what += fmt.Sprintf("; %s measured less, too", format.Count(len(own)-1, "other method is", "other methods are"))
		}
		l.Notify(Exceeded(share, budget) + ": " + what)
	}
}

// budgetWindow is the time over which hooks must keep the budget.
const budgetWindow = 10 * time.Second

// Shares are the parts of a program's processor time that hooks took.
type Shares struct {
	parts   []usedTime // of the last ten seconds
	largest float64
}

type usedTime struct {
	until                 time.Time
	elapsed, hooks, whole time.Duration
}

// Add adds a time that has ended at a moment, the processor time of hooks in it, and that of the program.
// It returns the part of the last ten seconds.
func (s *Shares) Add(until time.Time, elapsed, hooks, whole time.Duration) float64 {
	s.parts = append(s.parts, usedTime{until, elapsed, hooks, whole})
	s.parts = slices.DeleteFunc(s.parts, func(u usedTime) bool { return until.Sub(u.until) >= budgetWindow })
	var sum usedTime
	for _, u := range s.parts {
		sum.elapsed, sum.hooks, sum.whole = sum.elapsed+u.elapsed, sum.hooks+u.hooks, sum.whole+u.whole
	}
	if sum.whole <= 0 || sum.elapsed <= 0 {
		return 0
	}
	if sum.elapsed < budgetWindow { // before that, there were no hooks
		sum.whole = time.Duration(float64(sum.whole) * float64(budgetWindow) / float64(sum.elapsed))
	}
	part := float64(sum.hooks) / float64(sum.whole)
	s.largest = max(s.largest, part)
	return part
}

// Largest returns the largest part in any ten seconds.
func (s *Shares) Largest() float64 { return s.largest }
