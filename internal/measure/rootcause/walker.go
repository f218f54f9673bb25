// Package walk finds what causes a program's hot spots. The JVM's own samples say
// where time is spent and show most of the way up from there. Hooks are woven into
// the methods on those ways, all in one batch and switched off; then the walk climbs:
// the hooks of one level are on for a while, and off when those of the next go on.
// They tell who calls, how often, and for how long. At the end one batch takes all
// of them out.
//
// Redefining a class that is compiled into many methods costs a program seconds, so
// the classes of the JDK, and others that samples show to be such, are not touched; nor
// are methods so small that a hook, even one that is off, would cost more than they do.
// Then the climb begins one level up. Of native methods the calls have the hook.
package rootcause

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// A walker is one walk under way.
type walker struct {
	*settings
	sampler *sampler.Sampler
	session *session.Session // nil while nothing was hooked
	began   time.Time
	stage   Stage
	first   cost.Reading // before the first hook
	last    cost.Reading // at the last look

	// What samples say.
	window   *hotspots.Window
	times    sampler.Batch // the last, for the processor time of threads
	looked   time.Time     // when the window was begun
	settling bool          // compilers have to do with what was redefined: samples do not count
	polled   time.Time
	reported time.Time
	samples  int // that count, in all
	calls    *calls
	spots    []*spot

	// What hooks say.
	subjects map[method]*subject
	order    []*subject // as they came
	files    map[string]session.LoadedClass
	claimed  map[session.Site]method // calls that have a hook, and for which method
	callers  map[uint32]method       // the numbers that hooks give callers
	ticket   uint64
	on       map[*subject]bool
	level    int

	methods   []Method
	indexes   map[method]int
	lives     []Live
	batches   []Batch
	redefined map[string]int // by class, in this climb
	worst     int            // the most redefinitions of a class in a climb
	most      int            // live hooks at any moment
	notes     []string
	inner     float64 // what a timed call holds of the clock's own time, in nanoseconds
	draw      float64 // what it costs to look a caller up, in nanoseconds
	jdk       string
	sampled   time.Duration // in which samples were taken that count
	steady    float64       // part of the program's time that live hooks took
	compile   time.Duration
}

// period is how often the recorder looks: twice as often as it does by itself, since
// a walk is short and shares come from counts.
const period = 10 * time.Millisecond

// Run walks a JVM. When the context ends, what was found so far is the result.
func Run(ctx context.Context, options Options) (*Climb, error) {
	checked, err := options.check()
	if err != nil {
		return nil, err
	}
	w := &walker{
		settings: checked, began: time.Now(), calls: newCalls(), subjects: make(map[method]*subject),
		files: make(map[string]session.LoadedClass), callers: fixedCallers(), on: make(map[*subject]bool),
		indexes: make(map[method]int), redefined: make(map[string]int), draw: overhead.CallerLookup, claimed: make(map[session.Site]method),
	}
	w.sampler, err = sampler.Start(ctx, options.PID, sampler.Options{Period: period, Source: options.Source})
	if err != nil {
		return nil, err
	}
	w.startLook()
	w.enter(Sampling)
	err = w.walk(ctx)
	return w.leave(ctx, err)
}

// walk looks for hot spots and climbs from them, again and again where asked to.
func (w *walker) walk(ctx context.Context) error {
	if err := w.firstLook(ctx); err != nil {
		return err
	}
	for {
		if fresh := w.unclimbed(); len(fresh) > 0 {
			if err := w.open(ctx); err != nil {
				return err
			}
			if err := w.climb(ctx, fresh); err != nil {
				return err
			}
		}
		left := w.Duration - w.elapsed()
		if left <= 0 {
			return nil
		}
		if err := w.unhookAndSettle(ctx); err != nil {
			return err
		}
		w.enter(Watching)
		if err := w.pause(ctx, min(left, w.Sampling)); err != nil {
			return err
		}
		w.look()
	}
}

// firstLook samples until there is enough to tell what is hot, bounded.
func (w *walker) firstLook(ctx context.Context) error {
	for range longLook {
		if err := w.pause(ctx, w.Sampling); err != nil {
			return err
		}
		if w.window.Table(time.Now()).Samples >= fewSamples {
			break
		}
	}
	w.look()
	return nil
}

// unclimbed are the hot spots whose ways have not been climbed.
func (w *walker) unclimbed() []*spot {
	var fresh []*spot
	for _, s := range w.spots {
		if s.isHot() && !s.climbed {
			fresh = append(fresh, s)
		}
	}
	return fresh
}

// open enters the JVM, once.
func (w *walker) open(ctx context.Context) (err error) {
	if w.session != nil {
		return nil
	}
	w.enter(Entering)
	w.session, err = session.Open(ctx, w.PID, session.Settings{Command: w.Command, Force: w.Force, Notice: w.Notice, Waiting: w.Waiting, Cache: w.Cache})
	if err != nil {
		return err
	}
	if err := w.session.Discover(0); err != nil { // callers are told of, and nobody waits
		return err
	}
	w.jdk = w.session.JDK().String()
	if w.inner, err = w.session.ClockCost(ctx); err != nil {
		return err
	}
	w.first, err = w.session.Read()
	w.last = w.first
	return err
}

// leaveLimit bounds how long the JVM may take to be put back.
const leaveLimit = 90 * time.Second

// leave takes everything out. What was found is kept, whatever ended the walk; there
// is no result only where it failed before anything was found.
func (w *walker) leave(ctx context.Context, cause error) (*Climb, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	w.look()
	w.enter(Leaving)
	closing := w.closeSession(ctx)
	closing = errors.Join(closing, w.sampler.Close(ctx))
	if cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		if len(w.spots) == 0 {
			return nil, errors.Join(cause, closing)
		}
		w.notes = append(w.notes, fmt.Sprintf("the walk ended early: %v", cause))
	}
	return w.result(), closing
}

func (w *walker) closeSession(ctx context.Context) error {
	if w.session == nil {
		return nil
	}
	w.reckonCost()
	hooked := w.session.Classes()
	farewell, err := w.session.Close(ctx)
	if hooked > 0 {
		w.batches = append(w.batches, Batch{
			At: w.elapsed(), Why: hooksOut, Classes: int(farewell.Restored.Classes), Pause: farewell.Pause.Pause, Compile: farewell.Pause.CompileCPU,
		})
	}
	w.noteRedefined()
	w.notes = append(w.notes, farewell.Remarks...)
	return errors.Join(err, w.session.Release())
}

func (w *walker) elapsed() time.Duration { return time.Since(w.began) }

// noteRedefined ends the account of a climb's redefinitions: each class that got hooks
// is put back once, at the end of the walk.
func (w *walker) noteRedefined() {
	for _, times := range w.redefined {
		w.worst = max(w.worst, times+1)
	}
}

func (w *walker) enter(stage Stage) {
	w.stage = stage
	w.report()
}

func (w *walker) report() {
	if w.Progress == nil {
		return
	}
	w.reported = time.Now()
	so := w.result()
	w.Progress(Progress{
		Stage: w.stage, Elapsed: w.elapsed(), Samples: w.samples, Live: len(w.on), Level: w.level,
		Climb: func() *Climb { return so },
	})
}

// Options say which JVM to walk, and how.
type Options struct {
	PID     int
	Command string // for a human who asks who holds the JVM

	Hot    float64  // share of samples above which a method is a hot spot
	Top    int      // how many are taken where none is
	Levels int      // how far up at most
	Until  []string // packages (with dots) at whose first method a way up ends
	Hooks  int      // how many methods may have live hooks at any moment
	Budget float64  // part of the program's time that live hooks may take

	// A period ends with enough calls of each method, or when its time is up.
	PeriodCalls uint64
	PeriodTime  time.Duration

	Sampling time.Duration // how long hot spots are looked for before the first climb
	Duration time.Duration // how long to go on looking for new hot spots; 0 ends with the first climb

	Source   sampler.Source // of samples
	Force    bool           // weave also what the JDK would damage by that
	Cache    *cache.Cache   // where woven classes are kept; may be nil
	Notice   func(string)   // gets what a user should read; may be nil
	Waiting  func(string)   // gets what a slow end waits for; may be nil
	Progress func(Progress) // is told how far it is; may be nil
}

// A Stage is what a walk is doing.
type Stage string

// The stages of a walk, in order; Climbing comes again for spots that join.
const (
	Sampling Stage = "looking for hot spots"
	Entering Stage = "entering the JVM"
	Weaving  Stage = "putting hooks in"
	Climbing Stage = "climbing"
	Watching Stage = "watching for new hot spots"
	Leaving  Stage = "taking the hooks out"
)

// Progress is how far a walk is.
type Progress struct {
	Stage   Stage
	Elapsed time.Duration
	Samples int
	Live    int // hooks that are on
	Level   int
	// Climb gives what is known so far.
	Climb func() *Climb
}

// settings are options that were checked.
type settings struct {
	Options
	boundary []string // prefixes of classes, as class files have them
}

var errOptions = errors.New("a walk needs a share above 0, at least one hook, and a period")

func (o Options) check() (*settings, error) {
	if o.Hot <= 0 || o.Hot > 1 || o.Top < 1 || o.Hooks < 1 || o.Budget <= 0 || o.PeriodCalls == 0 || o.PeriodTime <= 0 || o.Sampling <= 0 || o.Levels < 1 {
		return nil, errOptions
	}
	s := &settings{Options: o}
	for _, prefix := range o.Until {
		s.boundary = append(s.boundary, strings.ReplaceAll(strings.TrimRight(prefix, ".*"), ".", "/")+"/")
	}
	return s, nil
}

// Defaults are what suits most programs.
func Defaults() Options {
	return Options{
		Hot: 0.05, Top: 3, Levels: 24, Hooks: 8, Budget: 0.02, PeriodCalls: 1000, PeriodTime: 2 * time.Second, Sampling: 5 * time.Second,
	}
}
