package profile

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

func (r *run) result(ctx context.Context) (*cct.Profile, error) {
	threads, err := r.session.Threads()
	if err != nil {
		return nil, err
	}
	now, read := r.session.Now(), time.Now()
	names, err := r.session.ThreadNames(ctx)
	if err != nil {
		names = nil // the JVM has ended; what it did is kept
	}
	input := cct.Input{
		Threads: threads, Names: names, Now: now, Methods: r.methods(), Calibration: r.calibrator.Calibration(),
		RootsOnAt: r.onAt, HookedAt: maps.Clone(r.hookedAt),
	}
	cost, hooks, handing := r.cost(threads), r.hookShare(threads), 0.0
	if reading, err := r.session.Read(); err == nil {
		handing = r.handing(threads) / max(1, float64(r.on.Until(reading).Rest))
	}
	view := view{began: r.began, read: read}
	if !r.Whole {
		view = r.window.narrow(r, threads, read)
	}
	input.Pauses = r.pausesSince(view.since)
	maps.DeleteFunc(input.HookedAt, func(_ uint32, at int64) bool { return at <= view.since })
	if r.budget != nil {
		input.Counted = r.budget.counted()
	}
	profile := cct.Build(input)
	r.describe(profile)
	profile.Began, profile.Took = view.began, view.took()
	profile.Cost, profile.Disturbance = cost, r.pace.Disturbance(hooks)
	profile.Notes = r.notes(profile, handing)
	if r.budget != nil {
		r.budget.explain(profile, view)
	}
	switch {
	case view.note != "":
		profile.Notes = append(profile.Notes, view.note)
	case r.budget != nil && len(input.HookedAt) > 0:
		profile.Notes = append(profile.Notes, "the choice of hooks did not become stable before the end, so the self time of a method may include that of callees that got their hooks later")
	}
	r.stacks.complete(profile)
	profile.Categorize(r.graph.IsSubtype)
	disturbed(profile, cmp.Or(r.settler.disturbed(), profile.Disturbance.MostlyHooks()))
	return profile, nil
}

// disturbed says why a profile is not of the program as it runs without Sonde, unless that is "" or has been said.
func disturbed(p *cct.Profile, why string) {
	if why != "" && p.Disturbed == "" {
		p.Disturbed = why
		p.Notes = slices.Insert(p.Notes, 0, why)
	}
}

// describe fills in the data of the run as a whole.
func (r *run) describe(p *cct.Profile) {
	jvm := r.session.JVM()
	p.Target = cct.Target{PID: jvm.PID, Command: jvm.Main, JDK: r.session.JDK().String()}
	p.Roots = r.Roots
	p.Scheme, p.Why, p.Timing = string(r.scheme), r.why, r.Timing
	if r.Timing == cct.Sampled {
		p.Period = r.Period
	}
	p.LeftAlone = r.session.LeftAlone()
}

func (r *run) methods() map[uint32]cct.Method {
	hooked := r.session.MethodsSoFar()
	methods := make(map[uint32]cct.Method, len(hooked))
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, m := range hooked {
		methods[m.ID] = cct.Method{Class: m.Class, Name: m.Name, Descriptor: m.Descriptor, Native: r.natives[m.ID], LowerBound: m.LowerBound}
	}
	return methods
}

func (r *run) cost(threads []arena.Thread) cct.Cost {
	weavings := r.session.Weavings()
	cost := cct.Cost{
		Hooks: len(r.session.Methods()), Classes: r.session.Classes(), Woven: weavings.Woven, Cached: weavings.Cached, Closure: r.closure,
		Rounds: r.batches, Pause: r.pause, Compile: r.compile, Waited: waited(threads), Steady: r.steady(threads),
	}
	if r.budget != nil {
		cost.Budget = r.Budget
	}
	return cost
}

// steady returns the part of the program's processor time that hooks have taken, computed
// from counts and what each call costs; 0 if it is not known.
func (r *run) steady(threads []arena.Thread) float64 {
	if share := r.hookShare(threads); share != nil {
		return share.Value
	}
	return 0
}

// handing returns what it has cost to hand tasks over, in nanoseconds.
func (r *run) handing(threads []arena.Thread) float64 {
	tasks := tasksOf(threads)
	return float64(tasks-min(tasks, r.tasksBefore)) * overhead.HandOver
}

func tasksOf(threads []arena.Thread) (tasks uint64) {
	for i := range threads {
		tasks += threads[i].Tasks
	}
	return tasks
}

// hookShare is the same with its bounds; nil if it is not known. An estimate may be too high, but no part is above one.
func (r *run) hookShare(threads []arena.Thread) *cost.Estimate {
	now, err := r.session.Read()
	since := r.on.Until(now)
	if err != nil || since.Rest <= 0 {
		return nil
	}
	var share cost.Estimate
	known := r.calibrator.Calibration()
	for _, s := range sumByMethod(threads, 0) {
		rate, timed := s.calls/max(since.Elapsed.Seconds(), 1), s.timed+s.nested
		share.Low += overhead.InLoops(known).Of(s.calls, timed) / float64(since.Rest)
		share.Value += overhead.Expected(known, rate).Of(s.calls, timed) / float64(since.Rest)
		share.High += overhead.Pessimistic(known, rate).Of(s.calls, timed) / float64(since.Rest)
	}
	handing := r.handing(threads) / float64(since.Rest)
	share.Low, share.Value, share.High = share.Low+handing/2, share.Value+handing, share.High+3*handing
	share.Low, share.Value, share.High = min(share.Low, 1), min(share.Value, 1), min(share.High, 1)
	return &share
}

// price returns what the calls that threads hold cost, in nanoseconds, if they were made
// in that time.
func price(known cct.Calibration, threads []arena.Thread, seconds float64) (nanos float64) {
	for _, s := range sumByMethod(threads, 0) {
		each := overhead.Expected(known, s.calls/max(seconds, 1))
		nanos += each.Of(s.calls, s.timed+s.nested)
	}
	return nanos
}

// notes returns what a reader must know to trust the rest. handing is the part of the program's processor
// time that it took to hand tasks over.
func (r *run) notes(p *cct.Profile, handing float64) []string {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if len(p.Merged.Children) == 0 && !r.mayHaveMissedRoot() {
		note("the root was not called; check the pattern, and note that calls that began before Sonde attached are not counted")
	}
	if lambdas := r.lambdaRoots(); len(lambdas) > 0 {
		note("the classes that the JVM generates for lambdas and method references cannot have hooks; instead, the methods that these classes call are the roots, and calls of them from elsewhere count, too: %s", some(lambdas))
	}
	if r.missing > 0 {
		note("no class file was found for %s, so calls from there are not followed", format.Plural(r.missing, "class"))
	}
	if lost := r.session.ArrivalsLost(); lost > 0 {
		note("%d methods called by reflection may be missing, because the ring in which hooks report them had no room", lost)
	}
	notes = append(notes, r.intrinsicNotes(p)...)
	if r.unplaced > 0 {
		note("installing hooks paused the program for up to %s; Sonde does not know in which calls, so the self time of some includes the pause", format.Duration(r.unplaced))
	}
	if r.budget != nil && handing > r.Budget/2 {
		note("passing the context of tasks to other threads took about %s of the program's CPU time; --hand-off=false avoids that", format.Percent(handing))
	}
	if err := r.session.Full(); err != nil {
		note("Sonde's shared memory could not grow (%v): some calls are counted without context", err)
	}
	return notes
}

// lambdaRoots names the roots that are bodies of lambdas and method references.
func (r *run) lambdaRoots() (names []string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	for body, made := range r.lambdas {
		names = append(names, fmt.Sprintf("%s for %s", body.QualifiedName(), made.QualifiedName()))
	}
	slices.Sort(names)
	return names
}

// intrinsicNotes name the methods whose calls are a lower bound: those with calls, and
// methods that a reader would believe were not called.
func (r *run) intrinsicNotes(p *cct.Profile) (notes []string) {
	counted := make(map[classfile.MethodRef]bool)
	for _, m := range p.Methods {
		counted[m.Ref()] = true
	}
	var bounds, unsure []string
	for _, m := range r.session.MethodsSoFar() {
		switch name := m.QualifiedName(); {
		case !m.LowerBound:
		case counted[m.MethodRef]:
			bounds = append(bounds, name)
		default:
			unsure = append(unsure, name)
		}
	}
	if len(bounds) > 0 {
		notes = append(notes, fmt.Sprintf("calls of %s are a lower bound (≥): %s", some(bounds), session.WhyLowerBound))
	}
	if len(unsure) > 0 {
		notes = append(notes, fmt.Sprintf("it is not known whether %s was called: %s", some(unsure), session.WhyLowerBound))
	}
	return notes
}

func some(names []string) string {
	const most = 20
	names = slices.Compact(names) // overloads are next to each other
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// mayHaveMissedRoot reports whether a root may have been called without its hook.
func (r *run) mayHaveMissedRoot() bool {
	return slices.ContainsFunc(r.session.MethodsSoFar(), func(m session.Method) bool { return m.LowerBound && r.patterns.Match(m.MethodRef) })
}
