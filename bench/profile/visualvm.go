package main

import (
	"context"
	"time"

	"github.com/sonde-jvm/sonde/bench/jfluid"
)

// visualvm is JFluid.
type visualvm struct {
	engine *jfluid.Engine
	scheme jfluid.Scheme
}

func (v visualvm) name() string { return "JFluid " + string(v.scheme) }

// itsWeaving is how long its hooks may take to go in: it does that in hundreds of
// rounds.
const itsWeaving = 90 * time.Second

func (v visualvm) profile(ctx context.Context, pid int, target subject, stay stay) (*course, error) {
	began := now()
	result, err := v.engine.Profile(ctx, jfluid.Request{
		PID: pid, Roots: target.roots, Into: target.into, Scheme: v.scheme, Weaving: itsWeaving, Stay: stay,
	})
	if err != nil {
		return nil, err
	}
	c := &course{
		began: max(result.Began, began), woven: result.Woven - quiet, leaving: result.Fetched, gone: result.Gone, settled: result.Woven != 0,
		hooks: result.Hooks, rounds: result.Rounds, pause: result.HotSwap, rootSeen: len(result.Methods) > 0,
	}
	if !c.settled {
		c.woven = result.Measuring
	}
	return c, nil
}
