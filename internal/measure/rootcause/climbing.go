package rootcause

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// climb goes up from spots, level by level.
func (w *walker) climb(ctx context.Context, spots []*spot) error {
	for _, s := range spots {
		s.climbed = true
	}
	w.enter(Weaving)
	w.noteRedefined()
	clear(w.redefined)
	planned, err := w.plan(ctx, spots)
	if err != nil {
		return err
	}
	for _, s := range spots {
		if top := w.know(s.top.method); !top.own {
			s.above = top.reason
		}
	}
	if len(planned) == 0 {
		return nil
	}
	why := fmt.Sprintf("%s on the way up from %s", format.Plural(len(planned), "method"), format.Plural(len(spots), "hot spot"))
	if err := w.weaveAndSettle(ctx, planned, why); err != nil {
		return err
	}
	w.enter(Climbing)
	for level := 0; level <= w.Levels; level++ {
		more, err := w.climbLevel(ctx, spots, level)
		if err != nil || !more {
			return w.andSurprises(ctx, err)
		}
	}
	return w.andSurprises(ctx, nil)
}

// climbLevel measures the methods of one level; false where there is none above.
func (w *walker) climbLevel(ctx context.Context, spots []*spot, level int) (more bool, err error) {
	w.level = level
	var due []*subject
	of := make(map[*subject]int)
	for i, s := range w.spots {
		if !slices.Contains(spots, s) || !s.isHot() {
			continue
		}
		s.top.each(s.least(), func(one *way) {
			more = more || one.level > level
			known := w.subjects[one.method]
			if one.level == level && known != nil && known.state == Woven && !slices.Contains(due, known) {
				due = append(due, known)
				of[known] = i
			}
		})
	}
	for crew := range slices.Chunk(due, w.Hooks) {
		if err := w.measure(ctx, crew, level, of); err != nil {
			return false, err
		}
	}
	return more, nil
}

// andSurprises ends a climb. Callers that stacks did not show, and that count, get
// hooks in one more batch.
func (w *walker) andSurprises(ctx context.Context, err error) error {
	if err := errors.Join(err, w.allOff(ctx)); err != nil {
		return err
	}
	surprises, err := w.surprises(ctx)
	if err != nil || len(surprises) == 0 {
		return err
	}
	if err := w.weaveAndSettle(ctx, surprises, fmt.Sprintf("%s that stacks did not show", format.Plural(len(surprises), "caller"))); err != nil {
		return err
	}
	var woven []*subject
	of := w.spotsOf(surprises)
	for _, s := range surprises {
		if s.state == Woven {
			woven = append(woven, s)
		}
	}
	for crew := range slices.Chunk(woven, w.Hooks) {
		if err := w.measure(ctx, crew, w.level+1, of); err != nil {
			return err
		}
	}
	return w.allOff(ctx)
}

// spotsOf are the spots for whose sake callers get hooks that stacks did not show.
func (w *walker) spotsOf(surprises []*subject) map[*subject]int {
	of := make(map[*subject]int)
	for _, caller := range surprises {
		for i, s := range w.spots {
			s.top.each(s.least(), func(at *way) {
				if known := w.subjects[at.method]; known != nil && known.callers[caller.method] > 0 {
					of[caller] = i
				}
			})
		}
	}
	return of
}

// surprising is the part of a method's calls that a caller must make to count.
const surprising = 0.05

// surprises are callers that hooks have met and stacks have not, where their classes
// were not redefined yet.
func (w *walker) surprises(ctx context.Context) ([]*subject, error) {
	var met []method
	for _, s := range w.order {
		cut := w.isCut(s.method)
		for m, hits := range s.callers {
			isNews := cut || w.calls.edges[edge{m, s.method}] == nil
			if isNews && isMethod(m) && float64(hits) >= surprising*float64(s.drawn) && !slices.Contains(met, m) {
				met = append(met, m)
			}
		}
	}
	slices.SortFunc(met, method.compare)
	if err := w.fetch(ctx, met); err != nil {
		return nil, err
	}
	var found []*subject
	for _, m := range met {
		caller := w.know(m)
		if caller.state != Seen {
			continue
		}
		reason := w.obstacle(caller)
		if w.redefined[m.class] > 0 && reason == "" {
			reason = "stacks did not show it, and its class has been changed once for this climb"
		}
		if reason != "" {
			caller.leave(reason)
			continue
		}
		caller.own = true
		found = append(found, caller)
	}
	return found, nil
}

// isCut reports whether most stacks through a method end there because the recorder
// keeps no more of them.
func (w *walker) isCut(m method) bool {
	var cut, all float64
	for _, s := range w.spots {
		s.top.each(s.least(), func(at *way) {
			if at.method == m {
				cut, all = cut+at.cut, all+at.weight
			}
		})
	}
	return cut > all/2
}

// weaveAndSettle puts hooks in and waits until the program runs as it did.
func (w *walker) weaveAndSettle(ctx context.Context, subjects []*subject, why string) error {
	w.settling = true
	defer func() { w.settling = false }()
	if err := w.weave(ctx, subjects, why); err != nil {
		return err
	}
	return w.settle(ctx)
}

// hooksOut is why there is a batch at the end of a climb, or of the walk.
const hooksOut = "all hooks out"

// unhookAndSettle takes out what a climb has put in, as nothing is left to be climbed for
// now: while only stacks are looked at, the program runs the code it had.
func (w *walker) unhookAndSettle(ctx context.Context) error {
	var request session.Request
	for _, s := range w.order {
		if !s.woven {
			continue
		}
		s.request(&request, 0, 0)
		s.woven = false
		if s.state == Woven { // it was not its turn: another climb may come by
			s.state, s.sites = Seen, nil
		}
	}
	if len(request.Hooks)+len(request.Sites) == 0 {
		return nil
	}
	clear(w.claimed)
	w.settling = true
	defer func() { w.settling = false }()
	installation, err := w.session.Unhook(ctx, request)
	if err != nil {
		return err
	}
	w.account(installation, hooksOut, false)
	return w.settle(ctx)
}

// settle waits until code that got hooks is compiled again. Samples taken meanwhile do not
// count.
func (w *walker) settle(ctx context.Context) error {
	err := overhead.ForRootCause.Wait(w.session.Read, func(d time.Duration) error { return w.pause(ctx, d) })
	if err != nil {
		return err
	}
	w.startLook()
	return nil
}

const (
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
		s.state = Watched
		w.lives = append(w.lives, Live{Method: w.index(s.method), Spot: of[s], Level: level, From: w.elapsed()})
	}
	lives := w.lives[len(w.lives)-len(crew):]
	err := w.watchCrew(ctx, crew, level)
	w.hear()
	w.read(crew)
	for i, s := range crew {
		s.state = Done
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
		nanos += float64(s.calls)*overhead.HotCount + float64(s.drawn)*w.draw
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

type flightSample = jfr.Sample

// fewWalks do not say what one costs: the first are slow.
const fewWalks = 50

// Callers that are no methods.
var (
	noCaller      = method{name: "a thread's entry"}
	unknownCaller = method{name: "unknown"}
)

// isMethod reports whether a caller is a method that someone wrote.
func isMethod(m method) bool { return m != noCaller && m != unknownCaller && !carries(m) }

func fixedCallers() map[uint32]method {
	return map[uint32]method{arena.CallerEntry: noCaller, arena.CallerUnknown: unknownCaller}
}

// hear learns the names of the callers that hooks have met.
func (w *walker) hear() {
	arrivals, err := w.session.Arrivals(w.ticket)
	if err != nil || len(arrivals) == 0 {
		return // the JVM has ended, or has met nobody new
	}
	for _, a := range arrivals {
		if m, ok := classfile.ParseMethodRef(a.Text); ok && arena.IsCaller(a.ID) {
			w.callers[a.ID] = method{m.Class, m.Name, m.Descriptor}
		}
		w.ticket = a.Ticket
	}
	w.session.Answer(w.ticket)
}

// read takes over what hooks have measured.
func (w *walker) read(crew []*subject) {
	threads, err := w.session.Threads()
	if err != nil {
		return // what was read before is kept
	}
	flat := make(map[uint32]uint64)
	var walks, walked uint64
	for _, t := range threads {
		for _, n := range t.Nodes {
			switch {
			case n.ID == arena.AdjustmentID:
				walks, walked = walks+n.Calls, walked+n.Nanos
			case n.Parent == t.Root:
				flat[n.ID] += n.Calls
			}
		}
	}
	if walks >= fewWalks {
		w.draw = min(float64(walked)/float64(walks), overhead.MaxCallerLookup)
	}
	edges := arena.Edges(threads)
	for _, s := range crew {
		s.calls, s.drawn = flat[s.id], 0
		clear(s.callers)
		clear(s.nanos)
		var all arena.Edge
		for _, e := range edges {
			if e.Method != s.id {
				continue
			}
			caller, known := w.callers[e.Caller]
			if !known {
				caller = unknownCaller
			}
			s.drawn += e.Calls
			s.callers[caller] += e.Calls
			s.nanos[caller] += e.Nanos
			all.Timed += e.Timed
			all.Nanos += e.Nanos
			all.Max = max(all.Max, e.Max)
			if e.Spread != nil {
				if all.Spread == nil {
					all.Spread = new(arena.Spread)
				}
				all.Spread.Add(e.Spread)
			}
		}
		s.sum(all, w.inner)
		if w.on[s] {
			s.measured.Over += time.Since(s.since)
		}
	}
}

// sum is what a subject's hook has measured, without what measuring took.
func (s *subject) sum(all arena.Edge, inner float64) {
	s.measured = &Measured{Calls: s.calls, Timed: all.Timed, Over: s.on, Max: time.Duration(all.Max)}
	if all.Timed == 0 {
		return
	}
	clean := func(nanos float64) time.Duration { return time.Duration(max(0, nanos-inner)) }
	s.measured.Mean = clean(float64(all.Nanos) / float64(all.Timed))
	s.measured.Total = time.Duration(float64(s.measured.Mean) * float64(s.calls))
	s.measured.Max = clean(float64(all.Max))
	if all.Spread != nil {
		s.measured.P50 = clean(all.Spread.Quantile(0.50))
		s.measured.P90 = clean(all.Spread.Quantile(0.90))
		s.measured.P99 = clean(all.Spread.Quantile(0.99))
	}
}
