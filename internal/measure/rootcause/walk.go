// Package rootcause searches for the causes of a program's hot spots. Samples show
// where time is spent, and most of the call paths that lead there. Hooks are woven into the
// program's own methods on those paths, switched off, in one batch. Then the search climbs from
// callee to caller: the hooks of one level are switched on for a while, and switched off when
// the next level is switched on. They show who calls, how often, and for how long. At
// the end all hooks are removed in one batch.
//
// Redefining a class makes the JVM discard the compiled code that contains its methods, and the
// program is slow until that is compiled again. So the cost is estimated first, from what the
// compilers have done so far and from samples, and a class is not changed if that would cost
// more than the budget allows. Classes of the JDK are never changed, and a small method without
// loops gets no hook. If a hot method gets no hook, the climb begins with its callers. For native methods, hooks are woven around
// their calls, in the callers.
package rootcause

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/own"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Options say which JVM to search, and how.
type Options struct {
	PID int
	session.Settings

	Hot    float64         // share of samples from which on a method is a hot spot
	Top    int             // how many methods are taken if none is hot
	Levels int             // how far up at most
	Until  []string        // packages (with dots) at whose first method a path ends
	Own    []string        // packages (with dots) of the program itself; empty to guess them
	Hooks  int             // how many methods may have live hooks at the same time
	Budget float64         // part of the program's time that live hooks may take
	Share  *overhead.Share // of the one budget of the JVM; may be nil

	// A measuring period ends with enough calls of each method, or when its time is up.
	PeriodCalls uint64
	PeriodTime  time.Duration

	Sampling time.Duration // how long samples are taken before the first climb
	Duration time.Duration // how long to go on searching for new hot spots; 0 ends with the first climb

	Source   sampler.Source // of samples
	Progress func(Progress) // may be nil
}

// Defaults returns the options that suit most programs.
func Defaults() Options {
	return Options{
		Hot: 0.05, Top: 3, Levels: 128, Hooks: 8, Budget: 0.02, PeriodCalls: 1000, PeriodTime: 2 * time.Second, Sampling: 5 * time.Second,
	}
}

// boundary returns the class name prefixes at which paths end.
func (o Options) boundary() (prefixes []string) {
	for _, pkg := range o.Until {
		prefixes = append(prefixes, strings.ReplaceAll(strings.TrimRight(pkg, ".*"), ".", "/")+"/")
	}
	return prefixes
}

// A Stage is what a search is doing.
type Stage string

// The stages of a search, in order; Climbing comes again for hot spots that join.
const (
	Sampling Stage = "sampling to find hot spots"
	Entering Stage = "entering the JVM"
	Weaving  Stage = "installing hooks"
	Climbing Stage = "climbing"
	Watching Stage = "sampling to find new hot spots"
	Leaving  Stage = "removing the hooks"
)

// Progress is how far a search has come.
type Progress struct {
	Stage   Stage
	Elapsed time.Duration
	Samples int
	Live    int // hooks that are on
	Level   int
	Climb   func() *Climb // returns the result so far
}

// A search is one search under way.
type search struct {
	Options
	session     *session.Look // nil until the first climb
	leaveBudget func()        // of all looks at the JVM; set with the session
	began       time.Time
	stage       Stage
	first       cost.Reading // before the first hook
	last        cost.Reading // at the last check of the compilers

	// Samples.
	sampler    *sampler.Sampler
	window     *hotspots.Window
	times      sampler.Batch // the last one, for the processor time of threads
	looked     time.Time     // when the window began
	isSettling bool          // the compilers are busy with redefined code: samples do not count
	polled     time.Time
	reported   time.Time
	samples    int           // that count, in all
	sampled    time.Duration // in which they were taken
	spots      []*spot
	owners     owners

	// Hooks.
	planner
	callers map[uint32]classfile.MethodRef // by the numbers that hooks give callers
	ticket  uint64
	on      map[*subject]bool
	level   int
	inner   float64 // the clock's own time in a timed call, in nanoseconds
	lookup  float64 // cost of identifying a caller, in nanoseconds

	// Results.
	methods  []cct.Method
	indexes  map[classfile.MethodRef]int
	lives    []Live
	batches  []Batch
	worst    int // the most redefinitions of a class in a climb
	mostLive int // hooks at the same time
	notes    []string
	steady   float64 // part of the program's time that live hooks took
	compile  time.Duration
}

// samplePeriod is the default of the kernel and half that of the recorder: a search is short and
// shares come from counts.
const samplePeriod = 10 * time.Millisecond

// Run searches a JVM. When the context ends, the result is what was found so far.
func Run(ctx context.Context, options Options) (*Climb, error) {
	s := &search{
		Options: options, began: time.Now(), planner: newPlanner(options), callers: map[uint32]classfile.MethodRef{arena.CallerEntry: noCaller, arena.CallerUnknown: unknownCaller}, on: make(map[*subject]bool),
		indexes: make(map[classfile.MethodRef]int), lookup: overhead.CallerLookup,
		owners: owners{weights: make(map[classfile.MethodRef]map[classfile.MethodRef]float64)},
	}
	if err := options.In.CheckTree(options.PID); err != nil { // not only after sampling
		return nil, err
	}
	var err error
	s.sampler, err = sampler.Start(ctx, options.PID, sampler.Options{Period: samplePeriod, Source: options.Source})
	if err != nil {
		return nil, err
	}
	s.own = own.Of(s.sampler.JVM(), options.Own)
	s.startLook()
	s.enter(Sampling)
	return s.leave(ctx, s.run(ctx))
}

// run looks for hot spots and climbs from them, repeatedly if a duration is given.
func (s *search) run(ctx context.Context) error {
	if err := s.firstLook(ctx); err != nil {
		return err
	}
	for {
		if fresh := s.unclimbed(); len(fresh) > 0 {
			if err := s.explain(ctx, fresh); err != nil {
				return err
			}
		}
		left := s.Duration - s.elapsed()
		if left <= 0 {
			return nil
		}
		if err := s.unhookAndSettle(ctx); err != nil {
			return err
		}
		s.enter(Watching)
		if err := s.pause(ctx, min(left, s.Sampling)); err != nil {
			return err
		}
		s.look()
	}
}

// unclimbed returns the hot spots from which the search has not climbed yet.
func (s *search) unclimbed() (fresh []*spot) {
	for _, spot := range s.spots {
		if spot.isHot() && !spot.climbed {
			fresh = append(fresh, spot)
		}
	}
	return fresh
}

// explain climbs from hot spots with hooks, unless the JVM lets no agent in, or any hook would cost too much: then
// samples alone show who calls.
func (s *search) explain(ctx context.Context, spots []*spot) error {
	if s.session == nil {
		jvm := s.sampler.JVM()
		s.price = priceOf(jvm, s.Options)
		if reason := s.price.refusal(); reason != "" && jvm.Agents.Answer != process.No {
			s.refuse(spots, reason)
			return nil
		}
		if err := s.open(ctx); err != nil {
			var none *session.NoHooksError
			if errors.As(err, &none) {
				s.refuse(spots, none.Why)
				return nil
			}
			return err
		}
	}
	return s.climb(ctx, spots)
}

func (s *search) open(ctx context.Context) (err error) {
	s.enter(Entering)
	s.session, err = session.Open(ctx, s.PID, s.Settings)
	if err != nil {
		return err
	}
	s.leaveBudget = s.Share.Join(s.session, s.Budget)
	if err := s.session.Discover(0); err != nil { // callers are reported, and no call waits
		return err
	}
	if s.inner, err = s.session.ClockCost(ctx); err != nil {
		return err
	}
	s.first, err = s.session.Read()
	s.last = s.first
	return err
}

// leave takes everything out. Whatever ended the search, the result is what was found;
// there is none only if the search failed before it found a hot spot.
func (s *search) leave(ctx context.Context, cause error) (*Climb, error) {
	s.look()
	if s.session != nil {
		s.enter(Leaving)
	}
	closing := errors.Join(s.closeSession(ctx), s.sampler.Close(ctx))
	if cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		if len(s.spots) == 0 {
			return nil, errors.Join(cause, closing)
		}
		s.notes = append(s.notes, fmt.Sprintf("the walk ended early: %v", cause))
	}
	return s.result(), closing
}

func (s *search) closeSession(ctx context.Context) error {
	if s.session == nil {
		return nil
	}
	s.leaveBudget()
	s.computeCost()
	hooked := s.session.Classes()
	farewell, err := s.session.Close(ctx)
	if hooked > 0 {
		s.batches = append(s.batches, Batch{
			At: s.elapsed(), Why: hooksOut, Classes: int(farewell.Restored.Classes), Pause: farewell.Pause.Pause, Compile: farewell.Pause.CompileCPU,
		})
	}
	s.countRedefinitions()
	s.notes = append(s.notes, farewell.Remarks...)
	return errors.Join(err, s.session.Release())
}

func (s *search) elapsed() time.Duration { return time.Since(s.began) }

// countRedefinitions ends the account of a climb: each class that got hooks is restored
// once, at the end of the search.
func (s *search) countRedefinitions() {
	for _, times := range s.redefined {
		s.worst = max(s.worst, times+1)
	}
}

func (s *search) enter(stage Stage) {
	s.stage = stage
	s.report()
}

func (s *search) report() {
	if s.Progress == nil {
		return
	}
	s.reported = time.Now()
	so := s.result()
	s.Progress(Progress{
		Stage: s.stage, Elapsed: s.elapsed(), Samples: s.samples, Live: len(s.on), Level: s.level,
		Climb: func() *Climb { return so },
	})
}
