package main

import (
	"context"
	"fmt"
	"math"

	"github.com/sonde-jvm/sonde/bench/driver"
	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// warmRounds come first and are not kept: what runs is compiled in them.
const warmRounds = 12

// batchNanos is how long a batch should take: long against the clock, short
// against a turn that the system gives to somebody else.
const batchNanos = 1e6

// allocationCalls is around how many calls the JVM's allocation counter is read.
const allocationCalls = 1 << 20

// A target is the program with hooks in.
type target struct {
	*driver.Program
	session *session.Session
	modes   []mode
	methods *pattern.Set
	turns   map[string]int // of a batch, by mode and shape
	calls   map[string]int // in a turn, by shape
}

// measureHooks fills in what calls cost in every mode and shape.
func (r *report) measureHooks(ctx context.Context, jdk jvmtest.JDK, classes string, o options) (err error) {
	p, err := start(jdk, classes)
	if err != nil {
		return err
	}
	defer p.Close()
	t := &target{Program: p, modes: r.modes, turns: make(map[string]int), calls: make(map[string]int)}
	if err := t.learn(); err != nil {
		return err
	}
	t.session, err = session.Open(ctx, p.PID(), session.Settings{Command: "bench/overhead"})
	if err != nil {
		return err
	}
	defer func() {
		_, closing := t.session.Close(ctx)
		_ = t.session.Release()
		if err == nil {
			err = closing
		}
	}()
	if err := t.weave(ctx); err != nil {
		return err
	}
	for round := range warmRounds + o.rounds {
		nanos, err := t.round(ctx, o.batches)
		if err != nil {
			return err
		}
		if round >= warmRounds {
			r.Rounds = append(r.Rounds, nanos)
		}
	}
	r.Allocated, err = t.allocations(ctx)
	return err
}

// learn runs every shape once, so that its classes are loaded, and asks how
// many calls are in it.
func (t *target) learn() error {
	for _, shape := range shapes {
		calls, err := t.One("calls", hooked, shape)
		if err != nil {
			return err
		}
		t.calls[shape] = int(calls)
		for _, which := range []twin{bare, clocked, hooked} {
			if _, err := t.Ask("time", which, shape, 1<<14, 4); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *target) weave(ctx context.Context) (err error) {
	if t.methods, err = pattern.ParseSet(hookedMethods...); err != nil {
		return err
	}
	if _, err := t.session.Instrument(ctx, session.Wanted{Methods: t.methods}); err != nil {
		return err
	}
	if woven := len(t.session.Methods()); woven != hookedCount {
		return fmt.Errorf("%d methods have hooks, not %d; left alone: %v", woven, hookedCount, t.session.LeftAlone())
	}
	return nil
}

// round runs everything once and returns nanoseconds a call, by key.
func (t *target) round(ctx context.Context, batches int) (map[string]float64, error) {
	nanos := make(map[string]float64)
	for _, m := range t.modes {
		if err := t.enter(ctx, m); err != nil {
			return nil, err
		}
		for _, shape := range m.allShapes() {
			n, err := t.time(m, shape, batches)
			if err != nil {
				return nil, err
			}
			nanos[key(m.name, shape)] = n
		}
	}
	return nanos, nil
}

// enter switches the hooks as a mode wants them, and leaves them alone for one
// that has none.
func (t *target) enter(ctx context.Context, m mode) error {
	if m.twin != hooked {
		return nil
	}
	return t.session.Switch(ctx, t.methods, m.flags, m.period)
}

// time returns what some batches took, in nanoseconds a call: the lower quartile,
// since being interrupted only ever adds. It learns how many turns make a batch.
func (t *target) time(m mode, shape string, batches int) (float64, error) {
	k := key(m.name, shape)
	if t.turns[k] == 0 {
		t.turns[k] = 1 << 12
	}
	turns := t.turns[k]
	nanos, err := t.Ask("time", m.twin, shape, turns, batches)
	if err != nil {
		return 0, err
	}
	took := spread.Quantile(nanos, 0.25)
	if took < batchNanos*2/3 || took > batchNanos*3/2 {
		t.turns[k] = int(math.Ceil(float64(turns) * batchNanos / max(took, 1)))
	}
	return took / float64(turns) / float64(t.calls[shape]), nil
}

// allocations asks in every mode how many bytes a million calls take of the
// Java heap.
func (t *target) allocations(ctx context.Context) (map[string]int64, error) {
	bytes := make(map[string]int64)
	for _, m := range t.modes {
		if err := t.enter(ctx, m); err != nil {
			return nil, err
		}
		for _, shape := range m.allShapes() {
			n, err := t.allocated(m, shape)
			if err != nil {
				return nil, err
			}
			bytes[key(m.name, shape)] = n
		}
	}
	return bytes, nil
}

// allocated also proves that the hooks did what the mode says: the arena must
// have counted every call, or none.
func (t *target) allocated(m mode, shape string) (int64, error) {
	before, err := t.counted()
	if err != nil {
		return 0, err
	}
	turns := allocationCalls / t.calls[shape]
	n, err := t.One("allocated", m.twin, shape, turns)
	if err != nil {
		return 0, err
	}
	after, err := t.counted()
	if err != nil {
		return 0, err
	}
	var want uint64
	if m.flags&arena.On != 0 && m.flags&arena.Inside == 0 {
		want = uint64(2 * turns * t.calls[shape]) // the driver runs them twice
	}
	if after-before != want {
		return 0, fmt.Errorf("%s, %s: hooks counted %d calls of %d", m.name, shape, after-before, want)
	}
	return int64(n), nil
}

// counted is how many calls the arena has, of all methods.
func (t *target) counted() (calls uint64, err error) {
	sum, err := t.session.Sum()
	if err != nil {
		return 0, err
	}
	for _, totals := range sum.Methods {
		calls += totals.Calls
	}
	return calls, nil
}

func key(mode, shape string) string { return mode + "/" + shape }
