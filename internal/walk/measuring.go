package walk

import (
	"context"
	"time"

	"github.com/sonde-jvm/sonde/internal/arena"
	"github.com/sonde-jvm/sonde/internal/climb"
	"github.com/sonde-jvm/sonde/internal/session"
)

const (
	// countNanos is what a call costs whose hook counts it, in code that is hot.
	countNanos = 6
	// drawNanos is what one costs whose caller is looked up, until the hooks have told.
	drawNanos = 5000
	// How many callers are looked up in a second, of all methods that are watched; and
	// of each of them at least.
	drawsASecond = 2000
	leastDraws   = 500

	glance     = 25 * time.Millisecond // in which is found out how often methods are called
	slice      = 20 * time.Millisecond // how long hooks are on at a time where they are dear
	leastOn    = 0.01                  // of the time
	fewSlices  = 4                     // whatever the first say: programs go in waves
	leastUse   = 0.25                  // of a processor: a program that idles has time
	mostPeriod = 1 << 19
	// inVain is how long is waited for the first call of a method: one that began
	// before and goes on for good is not entered again.
	inVain = time.Second
)

// measure has the hooks of a crew on until each has seen enough calls, or its time is
// up. All others are off from the moment on at which these go on.
func (w *walker) measure(ctx context.Context, crew []*subject, level int, of map[*subject]int) error {
	for _, s := range crew {
		s.state = climb.Watched
		w.lives = append(w.lives, climb.Live{Method: w.index(s.method), Spot: of[s], Level: level, From: w.elapsed()})
	}
	lives := w.lives[len(w.lives)-len(crew):]
	err := w.watchCrew(ctx, crew, level)
	w.hear()
	w.read(crew)
	for i, s := range crew {
		s.state = climb.Done
		lives[i].Until, lives[i].Calls, lives[i].Drawn = w.elapsed(), s.calls, s.drawn
	}
	w.report()
	return err
}

func (w *walker) watchCrew(ctx context.Context, crew []*subject, level int) error {
	w.most = max(w.most, len(crew))
	on := time.Now()
	if err := w.switchTo(ctx, crew, func(*subject) (arena.Flags, uint32) { return arena.On | arena.Flat, 0 }); err != nil {
		return err
	}
	if err := w.pause(ctx, glance); err != nil {
		return err
	}
	took := time.Since(on)
	rates := w.rates(crew, took)
	part, periods := w.afford(crew, rates)
	setting := func(s *subject) (arena.Flags, uint32) {
		flags := arena.On | arena.Callers
		if level > 0 || !s.own {
			flags |= arena.Timed | arena.Spreads
		}
		return flags, periods[s]
	}
	limit := time.Now().Add(w.PeriodTime)
	for slices := 0; time.Now().Before(limit); slices++ {
		begun := time.Now()
		if err := w.switchTo(ctx, crew, setting); err != nil {
			return err
		}
		if err := w.pause(ctx, slice); err != nil {
			return err
		}
		for _, s := range crew {
			s.on += time.Since(begun)
		}
		w.hear()
		w.read(crew)
		if slices >= fewSlices && w.isEnough(crew, time.Since(on)) {
			break
		}
		if rest := time.Duration(float64(time.Since(begun)) * (1/part - 1)); part < 1 && rest > time.Millisecond {
			if err := w.switchTo(ctx, nil, nil); err != nil {
				return err
			}
			if err := w.pause(ctx, min(rest, time.Until(limit))); err != nil {
				return err
			}
		}
	}
	return nil
}

// isEnough reports whether each method has been seen as often as was asked for, or
// not at all for too long.
func (w *walker) isEnough(crew []*subject, since time.Duration) bool {
	for _, s := range crew {
		if s.drawn < w.PeriodCalls && (s.calls > 0 || since < inVain) {
			return false
		}
	}
	return true
}

// afford is which part of the time the hooks of a crew can be on, and of how many
// calls one has its caller looked up, so that the budget is kept.
func (w *walker) afford(crew []*subject, rates map[*subject]float64) (part float64, periods map[*subject]uint32) {
	use := leastUse
	if now, err := w.session.Read(); err == nil {
		if since := w.first.Until(now); since.Elapsed > 0 {
			use = max(use, since.Rest.Seconds()/since.Elapsed.Seconds())
		}
	}
	allowed := w.Budget * use * 1e9 // nanoseconds in a second
	var counting float64
	for _, s := range crew {
		counting += rates[s] * countNanos
	}
	part = 1
	draws := min(max(drawsASecond/float64(len(crew)), leastDraws), 0.7*allowed/w.draw/float64(len(crew)))
	if left := max(allowed-float64(len(crew))*draws*w.draw, allowed/4); counting > left {
		part = max(left/counting, leastOn)
	}
	periods = make(map[*subject]uint32, len(crew))
	for _, s := range crew {
		period := uint32(1)
		for float64(period)*draws < rates[s]*part && period < mostPeriod {
			period *= 2
		}
		periods[s] = period
	}
	return part, periods
}

// rates are how often methods are called in a second.
func (w *walker) rates(crew []*subject, took time.Duration) map[*subject]float64 {
	before := make(map[*subject]uint64, len(crew))
	for _, s := range crew {
		before[s] = s.calls
	}
	w.read(crew)
	rates := make(map[*subject]float64, len(crew))
	for _, s := range crew {
		rates[s] = float64(s.calls-before[s]) / took.Seconds()
	}
	return rates
}

// switchTo has the hooks of a crew do something and all others nothing, at one
// moment.
func (w *walker) switchTo(ctx context.Context, crew []*subject, setting func(*subject) (arena.Flags, uint32)) error {
	var request session.Request
	on := make(map[*subject]bool, len(crew))
	for _, s := range crew {
		flags, period := setting(s)
		s.request(&request, flags, period)
		on[s] = true
	}
	for s := range w.on {
		if !on[s] {
			s.request(&request, 0, 0)
		}
	}
	w.on = on
	if len(request.Hooks)+len(request.Sites) == 0 {
		return nil
	}
	_, err := w.session.Hook(ctx, request)
	return err
}

func (w *walker) allOff(ctx context.Context) error { return w.switchTo(ctx, nil, nil) }
