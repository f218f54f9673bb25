package liveprobes

import (
	"context"
	"errors"
	"time"

	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// drafting is a target without a JVM: all its classes are as good as loaded, and what is
// watched is told to a weaver. Nothing is ever measured.
type drafting struct {
	*session.Weaver
	classes []session.LoadedClass
	handOff bool
}

// Prefetch gives all there is.
func (d *drafting) Prefetch(context.Context, func(string) bool, func(string) bool) ([]session.LoadedClass, error) {
	return d.classes, nil
}

// Survey has nothing to add.
func (d *drafting) Survey(context.Context, func(string) bool) ([]session.LoadedClass, error) {
	return nil, nil
}

// Known has nothing to add.
func (d *drafting) Known(context.Context) ([]session.LoadedClass, error) { return nil, nil }

// OnLoading asks nobody: no class loads.
func (d *drafting) OnLoading(context.Context, []string, func(string, []byte) []session.Spot) error {
	return nil
}

// Watch tells the weaver.
func (d *drafting) Watch(_ context.Context, request session.WatchRequest) (*session.Installation, error) {
	d.Add(request)
	d.handOff = request.HandOff
	return &session.Installation{}, nil
}

var errNoJVM = errors.New("there is no JVM to do that")

// SwitchSpots is not possible: a draft is made once.
func (d *drafting) SwitchSpots(context.Context, map[uint32]arena.Probe) error { return errNoJVM }

// SetRings is not possible: nobody would read what is traced.
func (d *drafting) SetRings(uint32, uint32) error { return errNoJVM }

// Discover has labels told by arrivals, for which a pack has room.
func (d *drafting) Discover(time.Duration) error { return nil }

// Arrivals are none.
func (d *drafting) Arrivals(uint64) ([]arena.Arrival, error) { return nil, nil }

// Answer has nobody to answer.
func (d *drafting) Answer(uint64) {}

// Sum is of nothing.
func (d *drafting) Sum() (*arena.Summary, error) { return &arena.Summary{}, nil }

// Threads are none.
func (d *drafting) Threads() ([]arena.Thread, error) { return nil, nil }

// Now is never.
func (d *drafting) Now() int64 { return 0 }

// ContextLosses are none.
func (d *drafting) ContextLosses() (ambiguous, contexts uint64) { return 0, 0 }

// Owes is nothing.
func (d *drafting) Owes() bool { return false }
