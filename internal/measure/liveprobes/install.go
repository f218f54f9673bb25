package liveprobes

import (
	"context"
	"fmt"
)

// install does what is to be done. What is in then is noted, also where it is not all.
func (w *Watch) install(ctx context.Context, t *todo, report *Report) error {
	w.lock.Lock()
	isDue := len(t.request.Spots) > 0 || len(t.request.Without) > 0 || t.request.HandOff && !w.handsOff
	w.lock.Unlock()
	if err := w.makeRings(); err != nil {
		return err
	}
	if isDue {
		installation, err := w.target.Watch(ctx, t.request)
		if err != nil {
			return fmt.Errorf("putting hooks in: %w", err)
		}
		report.Installation = installation
		w.lock.Lock()
		for _, s := range t.request.Without {
			delete(w.applied, spotName(&s))
		}
		for _, s := range t.request.Spots {
			w.applied[spotName(&s)] = s
		}
		w.handsOff = t.request.HandOff
		w.lock.Unlock()
	}
	if len(t.switches) == 0 {
		return nil
	}
	if err := w.target.SwitchSpots(ctx, t.switches); err != nil {
		return fmt.Errorf("switching hooks: %w", err)
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	for name, s := range w.applied {
		if setting, is := t.switches[w.target.SpotID(s)]; is {
			s.Flags, s.Period = setting.Flags, setting.Period
			w.applied[name] = s
		}
	}
	return nil
}

// defaultRing is how much of what is traced a thread can keep.
const defaultRing = 128 << 10

// makeRings has threads keep what is traced, and says how far below roots that goes.
func (w *Watch) makeRings() error {
	w.lock.Lock()
	levels := w.plan.levels
	w.lock.Unlock()
	if levels == 0 {
		return nil
	}
	bytes := w.options.RingBytes
	if bytes == 0 {
		bytes = defaultRing
	}
	return w.target.SetRings(bytes, uint32(levels))
}
