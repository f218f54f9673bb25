package liveprobes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// SetLevel has a probe do more or less of each call. What is woven already is only
// switched.
func (w *Watch) SetLevel(ctx context.Context, probe string, level probeset.Level) error {
	return w.alter(ctx, probe, func(probes []probeset.Probe, at int) []probeset.Probe {
		probes[at].Level = level
		return probes
	})
}

// End takes a probe out. What it has measured stays.
func (w *Watch) End(ctx context.Context, probe string) error {
	return w.alter(ctx, probe, func(probes []probeset.Probe, at int) []probeset.Probe { return slices.Delete(probes, at, at+1) })
}

var errNoProbe = errors.New("there is no probe")

// alter applies the set with one probe altered.
func (w *Watch) alter(ctx context.Context, name string, change func(probes []probeset.Probe, at int) []probeset.Probe) error {
	w.turn.Lock()
	defer w.turn.Unlock()
	set := *w.Set()
	set.Probes = slices.Clone(set.Probes)
	at := slices.IndexFunc(set.Probes, func(p probeset.Probe) bool { return p.Name == name })
	if at < 0 {
		var names []string
		for _, p := range set.Probes {
			names = append(names, p.Name)
		}
		return fmt.Errorf("%w %s; there is %s", errNoProbe, name, strings.Join(names, ", "))
	}
	set.Probes = change(set.Probes, at)
	_, err := w.apply(ctx, &set)
	return err
}
