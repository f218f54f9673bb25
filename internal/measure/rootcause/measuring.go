package rootcause

import (
	"context"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

const (
	// countNanos is what a call costs whose hook counts it, in code that is hot.
	countNanos = 6
	// drawNanos is what one costs whose caller is looked up, until the hooks have told.
	drawNanos = 5000

	// A glance finds out how often methods are called: a short one where that is often.
	shortGlance = 2 * time.Millisecond
	glance      = 25 * time.Millisecond
	plenty      = 2000 // calls in a short glance that need no longer one

	// Hooks are on for a slice at a time, and then off for as long as the budget asks
	// for. A slice is short where methods are called often.
	shortSlice = time.Millisecond
	longSlice  = 20 * time.Millisecond
	sliceCalls = 30_000
	fewSlices  = 5 // whatever the first say: programs go in waves

	leastUse   = 0.25 // of a processor: a program that idles has time
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
	rates, err := w.glance(ctx, crew)
	if err != nil {
		return err
	}
	long, periods := w.pace(crew, rates)
	setting := func(s *subject) (arena.Flags, uint32) {
		flags := arena.On | arena.Callers
		if level > 0 || !s.own {
			flags |= arena.Timed | arena.Spreads
		}
		return flags, periods[s]
	}
	limit := time.Now().Add(w.PeriodTime)
	for slices := 1; time.Now().Before(limit); slices++ {
		before := w.spent(crew)
		if err := w.switchTo(ctx, crew, setting); err != nil {
			return err
		}
		begun := time.Now()
		if err := w.pause(ctx, long); err != nil {
			return err
		}
		w.hear()
		w.read(crew)
		if slices >= fewSlices && w.isEnough(crew, time.Since(on)) {
			break
		}
		// It has cost so much of a processor, and may cost so much of one in a second.
		rest := time.Duration((w.spent(crew) - before) / (w.Budget * w.use()))
		if rest -= time.Since(begun); rest > time.Millisecond {
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

// spent is what the hooks of a crew have cost so far, in nanoseconds.
func (w *walker) spent(crew []*subject) (nanos float64) {
	for _, s := range crew {
		nanos += float64(s.calls)*countNanos + float64(s.drawn)*w.draw
	}
	return nanos
}

// use is how much of a processor the program uses, or more.
func (w *walker) use() float64 {
	now, err := w.session.Read()
	if err != nil {
		return leastUse
	}
	since := w.first.Until(now)
	if since.Elapsed <= 0 {
		return leastUse
	}
	return max(leastUse, since.Rest.Seconds()/since.Elapsed.Seconds())
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

// glance counts the calls of a crew for a moment, and gives how many there are in a
// second.
func (w *walker) glance(ctx context.Context, crew []*subject) (map[*subject]float64, error) {
	before := make(map[*subject]uint64, len(crew))
	for _, s := range crew {
		before[s] = s.calls
	}
	if err := w.switchTo(ctx, crew, func(*subject) (arena.Flags, uint32) { return arena.On | arena.Flat, 0 }); err != nil {
		return nil, err
	}
	begun := time.Now()
	rates := make(map[*subject]float64, len(crew))
	for _, long := range []time.Duration{shortGlance, glance} {
		if err := w.pause(ctx, long); err != nil {
			return nil, err
		}
		took := time.Since(begun).Seconds()
		w.read(crew)
		isPlenty := false
		for _, s := range crew {
			rates[s] = float64(s.calls-before[s]) / took
			isPlenty = isPlenty || s.calls-before[s] > plenty
		}
		if isPlenty {
			break
		}
	}
	return rates, nil
}

// pace is how long a slice is, and of how many calls one has its caller looked up, so
// that the calls asked for are seen in a few slices.
func (w *walker) pace(crew []*subject, rates map[*subject]float64) (long time.Duration, periods map[*subject]uint32) {
	long = longSlice
	for _, s := range crew {
		if often := time.Duration(sliceCalls / max(rates[s], 1) * float64(time.Second)); often < long {
			long = max(often, shortSlice)
		}
	}
	wanted := max(float64(min(w.PeriodCalls, 1<<30))/fewSlices, 1)
	periods = make(map[*subject]uint32, len(crew))
	for _, s := range crew {
		period := uint32(1)
		for float64(period)*wanted < rates[s]*long.Seconds()/2 && period < mostPeriod {
			period *= 2
		}
		periods[s] = period
	}
	return long, periods
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
	was := w.on
	w.on = on
	if len(request.Hooks)+len(request.Sites) == 0 {
		return nil
	}
	_, err := w.session.Hook(ctx, request)
	now := time.Now()
	for s := range was {
		s.on += now.Sub(s.since)
	}
	for s := range on {
		s.since = now
	}
	return err
}

func (w *walker) allOff(ctx context.Context) error { return w.switchTo(ctx, nil, nil) }
