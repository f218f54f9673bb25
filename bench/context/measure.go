package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/sonde-jvm/sonde/bench/driver"
	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// warmRounds come first and are not kept: what runs is compiled in them.
const warmRounds = 40

// batchNanos is how long a batch should take: long against the clock, short against a
// turn that the system gives to somebody else.
const batchNanos = 1e6

// A bench is two JVMs, one of which Sonde is in.
type bench struct {
	entered, apart *driver.Program
	session        *session.Session
	watch          *liveprobes.Watch
	turns          map[string]int    // of a batch, by mode
	made           map[string]uint64 // calls since hooks were in, by mode
}

// measure does all of it on one JDK.
func measure(ctx context.Context, jdk jvmtest.JDK, o options) (r *report, err error) {
	classes, err := compile(jdk, o.sources)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(classes)
	b := &bench{turns: make(map[string]int), made: make(map[string]uint64)}
	for _, p := range []**driver.Program{&b.entered, &b.apart} {
		if *p, err = start(jdk, classes); err != nil {
			return nil, err
		}
		defer (*p).Close()
	}
	r = &report{JDK: jdk.Version, LoadBefore: machine.Load()}
	if err := b.load(); err != nil {
		return nil, err
	}
	if b.session, err = session.Open(ctx, b.entered.PID(), session.Settings{Command: "bench/context"}); err != nil {
		return nil, err
	}
	defer func() {
		_, closing := b.session.Close(ctx)
		_ = b.session.Release()
		err = errors.Join(err, closing)
	}()
	b.watch = liveprobes.New(b.session, liveprobes.Options{})
	defer b.watch.Close()
	if err := b.install(ctx); err != nil {
		return nil, err
	}
	for round := range warmRounds + o.rounds {
		nanos, err := b.round(o.batches)
		if err != nil {
			return nil, err
		}
		if round >= warmRounds {
			r.Rounds = append(r.Rounds, nanos)
		}
	}
	if err := b.prove(); err != nil {
		return nil, err
	}
	r.LoadAfter = machine.Load()
	r.judge()
	return r, nil
}

// load runs every twin once, so that its classes are there when hooks go in.
func (b *bench) load() error {
	for _, m := range twins() {
		for _, shape := range []string{"Leaf", "HandOff"} {
			for _, p := range []*driver.Program{b.entered, b.apart} {
				if _, err := p.Ask("time", m.twin, shape, 1<<10, 2); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// install has all hooks in, and those off that should be.
func (b *bench) install(ctx context.Context) error {
	applied, err := b.watch.Apply(ctx, wantedSet())
	if err != nil {
		return err
	}
	for _, one := range append(applied.Probes, applied.Tags...) {
		if len(one.LeftOut) > 0 || len(one.Methods) == 0 {
			return fmt.Errorf("%s has %d methods; left out: %v; named none: %v", one.Name, len(one.Methods), one.LeftOut, one.Unmatched)
		}
	}
	results, err := b.watch.Results()
	if err != nil {
		return err
	}
	off := make(map[uint32]arena.Probe)
	for _, row := range results.Rows {
		for _, m := range modes {
			if m.off && m.twin == row.Probe {
				off[row.SpotName.ID] = arena.Probe{ID: row.SpotName.ID}
			}
		}
	}
	if len(off) == 0 {
		return errors.New("no probe could be switched off")
	}
	return b.session.SwitchSpots(ctx, off)
}

// round runs everything once and returns nanoseconds a call, by mode.
func (b *bench) round(batches int) (map[string]float64, error) {
	nanos := make(map[string]float64)
	for _, m := range modes {
		n, err := b.time(m, batches)
		if err != nil {
			return nil, err
		}
		nanos[m.name] = n
	}
	return nanos, nil
}

// time returns what some batches took, in nanoseconds a call: the lower quartile,
// since being interrupted only ever adds. It learns how many turns make a batch.
func (b *bench) time(m mode, batches int) (float64, error) {
	if b.turns[m.name] == 0 {
		b.turns[m.name] = 1 << 12
	}
	turns := b.turns[m.name]
	program := b.entered
	if m.apart {
		program = b.apart
	}
	nanos, err := program.Ask("time", m.twin, m.shape, turns, batches)
	if err != nil {
		return 0, err
	}
	b.made[m.name] += uint64(turns * batches)
	took := spread.Quantile(nanos, 0.25)
	if took < batchNanos*2/3 || took > batchNanos*3/2 {
		b.turns[m.name] = int(math.Ceil(float64(turns) * batchNanos / max(took, 1)))
	}
	return took / float64(turns), nil
}

// prove compares what Sonde counted with the calls that were made.
func (b *bench) prove() error {
	results, err := b.watch.Results()
	if err != nil {
		return err
	}
	have := make(map[string]uint64)
	for _, row := range results.Rows {
		have[row.Probe] += row.Calls
	}
	for _, m := range modes {
		want := uint64(0)
		if m.counts {
			want = b.made[m.name]
		}
		if have[m.twin] != want {
			return fmt.Errorf("%s: %d calls were counted, not %d", m.name, have[m.twin], want)
		}
	}
	return nil
}
