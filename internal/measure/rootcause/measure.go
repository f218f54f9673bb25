package rootcause

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

func (s *search) climb(ctx context.Context, spots []*spot) error {
	for _, spot := range spots {
		spot.climbed = true
	}
	s.enter(Weaving)
	s.countRedefinitions()
	clear(s.redefined)
	nodes := s.nodes(spots)
	var methods []classfile.MethodRef
	for _, n := range nodes {
		callsNative := n.callee != nil && s.stacks.native[n.callee.method] // hooks may go around the calls
		if callsNative || s.deserves(spots, n) {
			methods = append(methods, n.method)
		}
	}
	if err := s.fetch(ctx, methods); err != nil {
		return err
	}
	planned := s.plan(spots, nodes)
	for _, spot := range spots {
		if top := s.subject(spot.top.method); top.hooked != inMethod {
			spot.above = top.reason
		}
	}
	if len(planned) == 0 {
		return nil
	}
	why := fmt.Sprintf("%s on the call paths of %s", format.Plural(len(planned), "method"), format.Plural(len(spots), "hot spot"))
	if err := s.weave(ctx, planned, why); err != nil {
		return err
	}
	s.enter(Climbing)
	var err error
	for level, isMore := 0, true; err == nil && isMore && level <= s.Levels; level++ {
		isMore, err = s.climbLevel(ctx, spots, level)
	}
	if err := errors.Join(err, s.allOff(ctx)); err != nil {
		return err
	}
	return s.climbSurprises(ctx)
}

// fetch reads the class files of methods that are not known yet, except the JDK's.
func (s *search) fetch(ctx context.Context, methods []classfile.MethodRef) error {
	wanted := make(map[string]bool)
	for _, m := range methods {
		if _, known := s.files[m.Class]; !known && m.Class != "" && !callgraph.IsJDK(m.Class) {
			wanted[m.Class] = true
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	isWanted := func(class string) bool { return wanted[class] }
	loaded, err := s.session.Prefetch(ctx, isWanted, isWanted)
	if err != nil {
		return err
	}
	for _, class := range loaded {
		if before, known := s.files[class.Name]; !known || before.Reason != "" {
			s.files[class.Name] = class
		}
	}
	return nil
}

// climbLevel measures the methods of one level; false if there is none above.
func (s *search) climbLevel(ctx context.Context, spots []*spot, level int) (isMore bool, err error) {
	s.level = level
	var due []*subject
	of := make(map[*subject]int)
	for i, spot := range s.spots {
		if !slices.Contains(spots, spot) || !spot.isHot() {
			continue
		}
		spot.visit(func(n *node) {
			isMore = isMore || n.level > level
			known := s.subjects[n.method]
			if n.level == level && known != nil && known.state == Woven && !slices.Contains(due, known) {
				due = append(due, known)
				of[known] = i
			}
		})
	}
	return isMore, s.measureAll(ctx, due, level, of)
}

// climbSurprises ends a climb: callers that stacks did not show, and that matter, get
// hooks in one more batch.
func (s *search) climbSurprises(ctx context.Context) error {
	met := s.surprises(s.spots)
	if err := s.fetch(ctx, met); err != nil {
		return err
	}
	planned := s.planSurprises(met)
	if len(planned) == 0 {
		return nil
	}
	if err := s.weave(ctx, planned, fmt.Sprintf("%s that were on no sampled stack", format.Plural(len(planned), "caller"))); err != nil {
		return err
	}
	of := make(map[*subject]int) // the spots for whose sake they get hooks
	for _, caller := range planned {
		for i, spot := range s.spots {
			spot.visit(func(n *node) {
				if known := s.subjects[n.method]; known != nil && known.callers[caller.MethodRef] > 0 {
					of[caller] = i
				}
			})
		}
	}
	woven := slices.DeleteFunc(planned, func(one *subject) bool { return one.state != Woven })
	if err := s.measureAll(ctx, woven, s.level+1, of); err != nil {
		return err
	}
	return s.allOff(ctx)
}

// weave puts the hooks of subjects in, switched off, in one batch, and waits until the
// program runs as before.
func (s *search) weave(ctx context.Context, subjects []*subject, why string) error {
	var request session.Request
	for _, one := range subjects {
		one.request(&request, 0, 0)
		one.id = s.session.ID(one.exact)
	}
	if len(request.Hooks)+len(request.Sites) == 0 {
		return nil
	}
	classes := make(map[string]bool)
	for _, one := range subjects {
		for _, class := range one.classes() {
			classes[class] = true
		}
	}
	return s.redefine(ctx, classes, func() error {
		installation, err := s.session.Hook(ctx, request)
		if err != nil {
			return err
		}
		s.account(installation, why, true)
		s.note(subjects)
		return nil
	})
}

// note records which subjects have got their hooks.
func (s *search) note(subjects []*subject) {
	classes := make(map[string]bool)
	for _, one := range subjects {
		if one.hooked == inMethod && !s.session.IsHooked(one.id) {
			one.leave(s.whyLeft(one))
			continue
		}
		one.state, one.isIn = Woven, true
		for _, class := range one.classes() {
			classes[class] = true
		}
	}
	for class := range classes {
		s.redefined[class]++
	}
}

// redefine changes classes, waits until the program runs as before, and takes in what that has
// cost.
func (s *search) redefine(ctx context.Context, classes map[string]bool, change func() error) error {
	heat := s.stacks.heat(classes)
	before, err := s.session.Read()
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	after, err := s.session.Read()
	if err != nil {
		return err
	}
	spent := before.Until(after)
	s.price.pay(heat, spent.Pause+spent.CompileCPU)
	return nil
}

func (s *search) whyLeft(one *subject) string {
	for _, left := range s.session.LeftAlone() {
		if left.Class == one.Class && (left.Method == "" || left.Method == one.exact.Member()) {
			return left.Reason
		}
	}
	return "its hook could not be installed"
}

func (s *search) account(installation *session.Installation, why string, in bool) {
	if installation == nil {
		return
	}
	for _, b := range installation.Batches {
		s.batches = append(s.batches, Batch{
			At: s.elapsed(), Why: why, In: in, Classes: b.Classes, Pause: b.Cost.Pause, Compile: b.Cost.CompileCPU,
		})
	}
}

// hooksOut is the reason for the batch at the end of a climb, or of the search.
const hooksOut = "all hooks removed"

// unhookAndSettle takes out the hooks of a climb, so that the program runs its own code
// while only samples are taken.
func (s *search) unhookAndSettle(ctx context.Context) error {
	var request session.Request
	classes := make(map[string]bool)
	for _, one := range s.order {
		if !one.isIn {
			continue
		}
		one.request(&request, 0, 0)
		for _, class := range one.classes() {
			classes[class] = true
		}
		one.isIn = false
		if one.state == Woven { // it was not measured: another climb may come by
			one.state, one.sites = Seen, nil
		}
	}
	if len(request.Hooks)+len(request.Sites) == 0 {
		return nil
	}
	clear(s.claimed)
	return s.redefine(ctx, classes, func() error {
		installation, err := s.session.Unhook(ctx, request)
		if err != nil {
			return err
		}
		s.account(installation, hooksOut, false)
		return nil
	})
}

// settle waits until code that got hooks is compiled again. Samples taken meanwhile do not
// count.
func (s *search) settle(ctx context.Context) error {
	s.isSettling = true
	defer func() { s.isSettling = false }()
	err := overhead.ForRootCause.Wait(s.session.Read, func(d time.Duration) error { return s.pause(ctx, d) })
	if err != nil {
		return err
	}
	s.startLook()
	return nil
}

// measureAll measures subjects, as many at a time as may have live hooks.
func (s *search) measureAll(ctx context.Context, due []*subject, level int, of map[*subject]int) error {
	for group := range slices.Chunk(due, s.Hooks) {
		if err := s.measure(ctx, group, level, of); err != nil {
			return err
		}
	}
	return nil
}

// measure switches the hooks of a group on until each has seen enough calls, or the time
// is up. All others are off.
func (s *search) measure(ctx context.Context, group []*subject, level int, of map[*subject]int) error {
	for _, one := range group {
		one.state = Watched
		s.lives = append(s.lives, Live{Method: s.index(one.MethodRef), Spot: of[one], Level: level, From: s.elapsed()})
	}
	lives := s.lives[len(s.lives)-len(group):]
	err := s.measureInSlices(ctx, group, level)
	s.learnCallers()
	s.read(group)
	for i, one := range group {
		one.state = Done
		lives[i].Until, lives[i].Calls, lives[i].Drawn = s.elapsed(), one.calls, one.drawn
	}
	s.report()
	return err
}

func (s *search) measureInSlices(ctx context.Context, group []*subject, level int) error {
	s.mostLive = max(s.mostLive, len(group))
	on := time.Now()
	rates, err := s.glance(ctx, group)
	if err != nil {
		return err
	}
	slice := planSlices(s.PeriodCalls, rates)
	for _, one := range group {
		one.flags = arena.On | arena.Callers
		if level > 0 || one.hooked == aroundCalls {
			one.flags |= arena.Timed | arena.Spreads
		}
	}
	limit := time.Now().Add(s.PeriodTime)
	for slices := 1; time.Now().Before(limit); slices++ {
		before := s.spent(group)
		if err := s.switchTo(ctx, group); err != nil {
			return err
		}
		begun := time.Now()
		if err := s.pause(ctx, slice); err != nil {
			return err
		}
		s.learnCallers()
		s.read(group)
		if slices >= minSlices && isEnough(group, s.PeriodCalls, time.Since(on)) {
			break
		}
		if rest := restAfter(s.spent(group)-before, s.Share.Allowance(s.Budget)*s.use(), time.Since(begun)); rest > 0 {
			if err := s.allOff(ctx); err != nil {
				return err
			}
			if err := s.pause(ctx, min(rest, time.Until(limit))); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	// Hooks are on for a slice at a time, and then off for as long as the budget demands. A
	// slice is short if methods are called often.
	minSlice   = time.Millisecond
	maxSlice   = 20 * time.Millisecond
	sliceCalls = 30_000
	minSlices  = 5 // whatever the first ones show: programs work in bursts
	maxPeriod  = 1 << 19
	// inVain is how long the first call of a method is waited for: a call that began before
	// and never ends is not entered again.
	inVain = time.Second
	// minRest is the shortest time for which switching hooks off is worth it.
	minRest = time.Millisecond
	// minUse is the part of a processor that an idle program is assumed to use.
	minUse = 0.25
)

// planSlices returns how long hooks are on at a time, so that the wanted calls are seen in a
// few slices, by the calls per second of each subject. It sets one in how many calls of each
// subject has its caller identified.
func planSlices(calls uint64, rates map[*subject]float64) (slice time.Duration) {
	slice = maxSlice
	for _, rate := range rates {
		if often := time.Duration(sliceCalls / max(rate, 1) * float64(time.Second)); often < slice {
			slice = max(often, minSlice)
		}
	}
	wanted := max(float64(min(calls, 1<<30))/minSlices, 1)
	for one, rate := range rates {
		one.period = 1
		for float64(one.period)*wanted < rate*slice.Seconds()/2 && one.period < maxPeriod {
			one.period *= 2
		}
	}
	return slice
}

// isEnough reports whether each subject has been seen as often as wanted, or not at all
// for too long.
func isEnough(group []*subject, calls uint64, since time.Duration) bool {
	return !slices.ContainsFunc(group, func(one *subject) bool { return one.drawn < calls && (one.calls > 0 || since < inVain) })
}

// restAfter returns how long hooks that cost nanos must be off, if they may take
// a part of a processor and time has passed since.
func restAfter(nanos, part float64, passed time.Duration) time.Duration {
	rest := time.Duration(nanos/part) - passed
	if rest <= minRest {
		return 0
	}
	return rest
}

// spent returns what the hooks of a group have cost so far, in nanoseconds.
func (s *search) spent(group []*subject) (nanos float64) {
	for _, one := range group {
		nanos += float64(one.calls)*overhead.HotCount + float64(one.drawn)*s.lookup
	}
	return nanos
}

// use returns how many processors the program uses, at least minUse.
func (s *search) use() float64 {
	now, err := s.session.Read()
	if err != nil {
		return minUse
	}
	since := s.first.Until(now)
	if since.Elapsed <= 0 {
		return minUse
	}
	return max(minUse, since.Rest.Seconds()/since.Elapsed.Seconds())
}

const (
	// A glance finds out how often methods are called: a short one if that is often.
	shortGlance = 2 * time.Millisecond
	longGlance  = 25 * time.Millisecond
	plenty      = 2000 // calls in a short glance that make a longer one needless
)

// glance counts the calls of a group for a moment, and returns the calls per second.
func (s *search) glance(ctx context.Context, group []*subject) (map[*subject]float64, error) {
	before := make(map[*subject]uint64, len(group))
	for _, one := range group {
		before[one] = one.calls
		one.flags, one.period = arena.On|arena.Flat, 0
	}
	if err := s.switchTo(ctx, group); err != nil {
		return nil, err
	}
	begun := time.Now()
	rates := make(map[*subject]float64, len(group))
	for _, long := range []time.Duration{shortGlance, longGlance} {
		if err := s.pause(ctx, long); err != nil {
			return nil, err
		}
		took := time.Since(begun).Seconds()
		s.read(group)
		isPlenty := false
		for _, one := range group {
			rates[one] = float64(one.calls-before[one]) / took
			isPlenty = isPlenty || one.calls-before[one] > plenty
		}
		if isPlenty {
			break
		}
	}
	return rates, nil
}

// switchTo sets the hooks of a group and switches all others off, at the same moment.
func (s *search) switchTo(ctx context.Context, group []*subject) error {
	var request session.Request
	on := make(map[*subject]bool, len(group))
	for _, one := range group {
		one.request(&request, one.flags, one.period)
		on[one] = true
	}
	for one := range s.on {
		if !on[one] {
			one.request(&request, 0, 0)
		}
	}
	was := s.on
	s.on = on
	if len(request.Hooks)+len(request.Sites) == 0 {
		return nil
	}
	_, err := s.session.Hook(ctx, request)
	now := time.Now()
	for one := range was {
		one.on += now.Sub(one.since)
	}
	for one := range on {
		one.since = now
	}
	return err
}

func (s *search) allOff(ctx context.Context) error { return s.switchTo(ctx, nil) }

// Callers that are not methods.
var (
	noCaller      = classfile.MethodRef{Name: "a thread's entry"}
	unknownCaller = classfile.MethodRef{Name: "unknown"}
)

// isMethod reports whether a caller is a method that somebody wrote.
func isMethod(m classfile.MethodRef) bool {
	return m != noCaller && m != unknownCaller && !hotspots.PassesOn(m.Class)
}

// learnCallers reads the names of the callers that hooks have met.
func (s *search) learnCallers() {
	arrivals, err := s.session.Arrivals(s.ticket)
	if err != nil || len(arrivals) == 0 {
		return // the JVM has ended, or there are no new callers
	}
	for _, a := range arrivals {
		if m, ok := classfile.ParseMethodRef(a.Text); ok && arena.IsCaller(a.ID) {
			s.callers[a.ID] = s.stacks.named(m)
		}
		s.ticket = a.Ticket
	}
	s.session.Answer(s.ticket)
}

// fewLookups do not show what one costs: the first are slow.
const fewLookups = 50

// read reads what the hooks of a group have measured.
func (s *search) read(group []*subject) {
	threads, err := s.session.Threads()
	if err != nil {
		return // what was read before stays
	}
	flat := make(map[uint32]uint64)
	var lookups, nanos uint64
	for _, t := range threads {
		for _, n := range t.Nodes {
			switch {
			case n.ID == arena.AdjustmentID:
				lookups, nanos = lookups+n.Calls, nanos+n.Nanos
			case n.Parent == t.Root:
				flat[n.ID] += n.Calls
			}
		}
	}
	if lookups >= fewLookups {
		s.lookup = min(float64(nanos)/float64(lookups), overhead.MaxCallerLookup)
	}
	edges := arena.Edges(threads)
	for _, one := range group {
		one.calls, one.drawn = flat[one.id], 0
		clear(one.callers)
		clear(one.nanos)
		var all arena.Totals
		for _, e := range edges {
			if e.Method != one.id {
				continue
			}
			caller, known := s.callers[e.Caller]
			if !known {
				caller = unknownCaller
			}
			one.drawn += e.Calls
			one.callers[caller] += e.Calls
			one.nanos[caller] += e.Nanos
			all.Add(&e.Totals)
		}
		one.sum(all, s.inner)
		if s.on[one] {
			one.measured.Over += time.Since(one.since)
		}
	}
	var calls uint64
	for _, one := range s.order {
		calls += one.calls
	}
	s.Share.Set(calls, s.spent(s.order), len(s.on))
}

// sum sets what a subject's hook has measured, without the time that measuring took.
func (s *subject) sum(all arena.Totals, inner float64) {
	s.measured = &Measured{Calls: s.calls, Timed: all.Timed, Over: s.on, Max: time.Duration(all.Max)}
	if all.Timed == 0 {
		return
	}
	clean := func(nanos float64) time.Duration { return time.Duration(max(0, nanos-inner)) }
	s.measured.Mean = clean(float64(all.Nanos) / float64(all.Timed))
	s.measured.Total = time.Duration(float64(s.measured.Mean) * float64(s.calls))
	s.measured.Max = clean(float64(all.Max))
	at := func(q float64) time.Duration {
		nanos, _ := all.Quantile(q)
		return clean(nanos)
	}
	s.measured.P50, s.measured.P90, s.measured.P99 = at(0.50), at(0.90), at(0.99)
}
