package liveprobes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// pollEvery is how often labels are heard of and ends looked for. The arena is read for
// it; the JVM is not asked.
const pollEvery = 20 * time.Millisecond

// Run learns what labels stand for and ends probes by time and calls, until the context
// ends. A probe that could not be taken out is switched off all the same, or goes with
// the session.
func (w *Watch) Run(ctx context.Context) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			w.lock.Lock()
			w.hear()
			due := w.due(now)
			w.lock.Unlock()
			if err := w.payDebts(ctx); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
			for _, e := range due {
				err := w.End(ctx, e.probe)
				if errors.Is(err, errNoProbe) {
					continue // it was taken out meanwhile
				}
				if err != nil {
					if ctx.Err() != nil {
						return nil
					}
					return fmt.Errorf("ending probe %s: %w", e.probe, err)
				}
				if w.options.Ended != nil {
					w.options.Ended(e.probe, e.why)
				}
			}
		}
	}
}

// payDebts puts hooks into classes that could not have them as they loaded.
func (w *Watch) payDebts(ctx context.Context) error {
	if !w.target.Owes() {
		return nil
	}
	w.turn.Lock()
	defer w.turn.Unlock()
	if _, err := w.target.Watch(ctx, session.WatchRequest{}); err != nil {
		return fmt.Errorf("putting hooks into classes that have loaded: %w", err)
	}
	return nil
}

// An end of a probe that is due.
type end struct {
	probe string
	why   Ending
}

// due are the probes that have reached their end. The lock is held.
func (w *Watch) due(now time.Time) (ends []end) {
	if w.set == nil {
		return nil
	}
	for i := range w.set.Probes {
		if why := w.reached(&w.set.Probes[i], now); why != "" {
			ends = append(ends, end{w.set.Probes[i].Name, why})
		}
	}
	return ends
}

func (w *Watch) reached(p *probeset.Probe, now time.Time) Ending {
	began := w.began[p.Name]
	if p.For > 0 && now.Sub(began.at) >= p.For {
		return EndedByTime
	}
	if p.Calls > 0 && w.callsOf(p.Name) >= began.calls+p.Calls {
		return EndedByCalls
	}
	return ""
}
