package overhead

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

const (
	// budgetEvery is how often the cost of hooks is compared with the budget.
	budgetEvery = time.Second
	// thinPeriod is the period of calls that are still timed after a spot was thinned once.
	thinPeriod = 1000
)

// A governor keeps the hooks of all looks at a JVM within the smallest budget that one of them
// has. Hooks that cost most are thinned first: of the calls of a method, one in thinPeriod is
// timed, and if that is not enough, calls are only counted. All calls stay counted.
type governor struct {
	session *session.Session

	lock    sync.Mutex
	budgets map[*session.Look]float64
	stop    context.CancelFunc // nil while no look has a budget

	// Used by the goroutine only.
	calls map[uint32]uint64 // at the last reading
	costs map[arena.Flags]float64
	at    time.Time

	isReported bool // that the budget cannot be kept
}

type governorKey struct{}

// Govern keeps the hooks of all looks at the JVM within a budget, which is a part of the CPU
// time of the program, until the returned function is called.
func Govern(l *session.Look, budget float64) (release func()) {
	g := l.Attached(governorKey{}, func() any {
		return &governor{session: l.Session, budgets: make(map[*session.Look]float64)}
	}).(*governor)
	g.lock.Lock()
	defer g.lock.Unlock()
	g.budgets[l] = budget
	if g.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		g.stop = stop
		go g.run(ctx)
	}
	return func() {
		g.lock.Lock()
		defer g.lock.Unlock()
		delete(g.budgets, l)
		if len(g.budgets) == 0 && g.stop != nil {
			g.stop()
			g.stop = nil
		}
	}
}

func (g *governor) budget() float64 {
	g.lock.Lock()
	defer g.lock.Unlock()
	least := 1.0
	for _, budget := range g.budgets {
		least = min(least, budget)
	}
	return least
}

func (g *governor) run(ctx context.Context) {
	ticker := time.NewTicker(budgetEvery)
	defer ticker.Stop()
	before, err := g.session.Read()
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.session.Done():
			return
		case <-ticker.C:
		}
		now, reading := g.session.Read()
		if err == nil && reading == nil {
			since := before.Until(now)
			g.step(ctx, since.Rest+since.CompileCPU+since.VMThread)
		}
		before, err = now, reading
	}
}

// step compares what hooks have cost since the last step with the CPU time of the program.
func (g *governor) step(ctx context.Context, program time.Duration) {
	spots, err := g.read(ctx)
	if err != nil || program <= 0 {
		return // the session is ending, or the program was idle
	}
	budget := g.budget()
	changes, share := thin(spots, program, budget)
	if len(changes) == 0 {
		g.reportExceeded(spots, share, budget)
		return
	}
	settings := make(map[uint32]arena.Probe)
	for _, c := range changes {
		settings[c.ID] = c.to
	}
	if err := g.session.Thin(ctx, settings); err != nil {
		return // the session is ending
	}
	notify(changes, share, budget)
}

// reportExceeded reports, once, a budget that cannot be kept, because calls are only counted
// already.
func (g *governor) reportExceeded(spots []spotCost, share, budget float64) {
	if share <= budget || len(spots) == 0 || g.isReported {
		return
	}
	g.isReported = true
	g.lock.Lock()
	defer g.lock.Unlock()
	for l := range g.budgets {
		l.Notify(fmt.Sprintf("counting calls alone costs %s of the program's CPU time, more than the budget of %s: exclude methods that are called very often, such as %s",
			format.Percent(share), format.Percent(budget), spots[0].Method))
	}
}

// A spotCost is a spot with what it has cost since the last reading.
type spotCost struct {
	session.SpotUse
	calls uint64
	// nanos of a call as it is, timed one in thinPeriod, and only counted.
	now, sampled, counted float64
}

func (s *spotCost) cost() float64 { return s.now * float64(s.calls) }

func (g *governor) read(ctx context.Context) (spots []spotCost, err error) {
	sum, err := g.session.Sum()
	if err != nil {
		return nil, err
	}
	if time.Since(g.at) > meterEvery { // at first, hooks are not compiled yet
		g.at, g.costs = time.Now(), make(map[arena.Flags]float64)
	}
	calls := make(map[uint32]uint64)
	for _, use := range g.session.SpotUses() {
		totals := sum.Methods[use.ID]
		if totals == nil {
			continue
		}
		calls[use.ID] = totals.Calls
		before, isKnown := g.calls[use.ID]
		if !isKnown {
			continue
		}
		s := spotCost{SpotUse: use, calls: totals.Calls - min(before, totals.Calls)}
		base := arena.On | use.Setting.Flags&arena.Flat
		for _, one := range []struct {
			flags  arena.Flags
			period uint32
			into   *float64
		}{{use.Setting.Flags & costFlags, use.Setting.Period, &s.now}, {base | arena.Sampled, thinPeriod, &s.sampled}, {base, 0, &s.counted}} {
			if *one.into, err = g.cost(ctx, one.flags, one.period); err != nil {
				return nil, err
			}
		}
		spots = append(spots, s)
	}
	g.calls = calls
	return spots, nil
}

// costFlags are the flags that decide what a hook costs.
const costFlags = arena.On | arena.Flat | arena.Timed | arena.Sampled

// cost returns what a call of a hook costs, in nanoseconds.
func (g *governor) cost(ctx context.Context, flags arena.Flags, period uint32) (float64, error) {
	if known, is := g.costs[flags]; is {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, meterLimit)
	defer cancel()
	cost, err := g.session.HookCost(ctx, flags, period)
	if err != nil {
		return 0, err
	}
	g.costs[flags] = cost.Median
	return cost.Median, nil
}

// A thinning changes what a spot measures.
type thinning struct {
	spotCost
	to arena.Probe
}

// thin returns what must change so that spots cost no more than a part of a program's CPU time,
// the most expensive first, and the part that they cost now.
func thin(spots []spotCost, program time.Duration, budget float64) (changes []thinning, share float64) {
	total := 0.0
	for i := range spots {
		total += spots[i].cost()
	}
	share = total / float64(program)
	slices.SortFunc(spots, func(a, b spotCost) int {
		return cmp.Or(-cmp.Compare(a.cost(), b.cost()), cmp.Compare(a.ID, b.ID))
	})
	for i := range spots {
		s := &spots[i]
		if total <= budget*float64(program) {
			break
		}
		flags := s.Setting.Flags
		var saved float64
		to := arena.Probe{}
		switch {
		case flags&arena.Timed != 0:
			to, saved = arena.Probe{Flags: flags&^arena.Timed | arena.Sampled, Period: thinPeriod}, s.now-s.sampled
		case flags&arena.Sampled != 0:
			to, saved = arena.Probe{Flags: flags &^ arena.Sampled}, s.now-s.counted
		}
		if saved > 0 && s.calls > 0 {
			changes = append(changes, thinning{*s, to})
			total -= saved * float64(s.calls)
		}
	}
	return changes, share
}

// notify tells the users of all looks what has changed for them.
func notify(changes []thinning, share, budget float64) {
	of := make(map[*session.Look][]thinning)
	for _, c := range changes {
		for _, l := range c.Looks {
			of[l] = append(of[l], c)
		}
	}
	for l, own := range of {
		what := fmt.Sprintf("of the calls of %s, only one in %s is timed from now on", own[0].Method, format.Grouped(thinPeriod))
		if own[0].to.Flags&arena.Sampled == 0 {
			what = fmt.Sprintf("calls of %s are only counted from now on", own[0].Method)
		}
		if len(own) > 1 {
			what += fmt.Sprintf("; %s timed less, too", format.Count(len(own)-1, "other method is", "other methods are"))
		}
		l.Notify(fmt.Sprintf("hooks cost %s of the program's CPU time, and the budget is %s: %s", format.Percent(share), format.Percent(budget), what))
	}
}
