package profile

import (
	"context"
	"time"

	"github.com/sonde-jvm/sonde/internal/session"
)

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
