// Package profile measures a call subgraph of a running JVM: everything that root methods
// call, directly or not, while they run.
//
// Package callgraph determines from class files what a method can call; package session
// installs the hooks; package cct makes a calling context tree of what the hooks measured.
// There are two schemes. Eager: everything that can be reached gets hooks before the first
// call of a root. Lazy: the callees of a method get hooks when it is first entered, while
// that call waits. With timing auto a budget decides which hooks are installed and switched
// on (types governor and budget).
package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A Scheme says when callees get hooks.
type Scheme string

// The schemes.
const (
	Lazy  Scheme = "lazy"  // when their caller is first entered
	Eager Scheme = "eager" // before the root is entered
)

// Options say what to profile, and how. Zero values are the defaults.
type Options struct {
	PID      int
	Roots    []string        // patterns of the root methods
	Scheme   Scheme          // "" is the scheme that costs the target less
	Timing   cct.Timing      // "" is cct.Auto
	Period   uint32          // of cct.Sampled: of this number of calls, one is timed; 0 is DefaultPeriod
	Budget   float64         // of cct.Auto: the part of the program's time that may be taken; 0 is DefaultBudget
	Duration time.Duration   // 0 goes on until Calls, or until the context ends
	Calls    uint64          // of the root; 0 is no limit
	Into     []string        // patterns of classes to follow although they would be skipped
	Skip     []string        // patterns of classes not to follow, besides the JDK's
	Share    *overhead.Share // of the one budget of the JVM; may be nil
	Settle   time.Duration   // how long to wait at most until the program runs as before it got hooks; Duration begins then
	HandOff  bool            // follow work that is handed to other threads
	Stacks   bool            // sample stacks, which show what methods without hooks do, and what threads wait for
	Spare    bool            // with cct.Auto: no hooks where putting them in would cost more than the budget; the result is cct.Stacks then
	Whole    bool            // figures cover the whole run, also the time in which putting hooks in slowed the program
	Wait     time.Duration   // how long a first call waits at most for its callees' hooks; 0 is DefaultWait
	session.Settings

	// NeedsHooks makes it an error if the JVM lets no agent in. Otherwise, with cct.Auto, the result is cct.Stacks then.
	NeedsHooks bool
	// Started is called once hooks are on or, where no root class is loaded yet, once Sonde
	// waits for it to load.
	Started func()
	// Unmatched gets the patterns of roots that no loaded class matches, if no root is
	// loaded.
	Unmatched func([]session.Unmatched)
	// Progress is called a few times a second, and when the stage changes.
	Progress func(Progress)
}

// The defaults.
const (
	DefaultPeriod = 64
	DefaultBudget = 0.02
	DefaultWait   = 500 * time.Millisecond
)

// A Stage is what a run is doing.
type Stage string

// The stages, in their order.
const (
	Entering Stage = "entering"
	Reading  Stage = "reading classes"
	Weaving  Stage = "installing hooks"
	Waiting  Stage = "waiting for the root's class to load"
	Running  Stage = "measuring"
	Leaving  Stage = "removing the hooks"
	// Recovering follows if a pace is watched.
	Recovering Stage = "waiting until the program runs as before"
)

// A Progress is how far a run has come.
type Progress struct {
	Stage     Stage
	Elapsed   time.Duration // since hooks are on
	Mirrored  int           // classes that were read
	RootCalls uint64
	Settling  *overhead.Recovery // nil unless the program does not yet run as before
	// Steadily is how long the same hooks have been on; Wanted is how long figures are to cover, zero if that does not
	// depend on hooks.
	Steadily, Wanted time.Duration
	Timing           cct.Timing // cct.Stacks if there are no hooks
	cct.Cost                    // so far; Steady is negative where it is not known
	Tree             func() (*cct.Profile, error)
}

// A run is one profile in the making.
type run struct {
	Options
	patterns *pattern.Set // of the roots
	skip     *skipping
	session  *session.Look // nil if there are no hooks
	jvm      *process.JVM  // likewise set only then
	stacks   *stacks       // nil if none are sampled
	graph    *callgraph.Graph
	library  *jimage.Image // the target's JDK on disk
	began    time.Time
	onAt     int64 // the target's clock when the root's hooks went on
	stage    Stage
	scheme   Scheme
	why      string // the scheme was chosen
	closure  int    // methods that the roots can reach
	// discardsAll is whether the first redefinition of a class makes the JVM discard all compiled code.
	discardsAll bool
	missing     int    // classes whose file is not found
	answered    uint64 // the last ticket
	tasksBefore uint64 // tasks that threads had handed over before the root's hooks went on, for others

	ledger
	calibrator *overhead.Calibrator
	window     window
	settler    settler
	pace       *overhead.Pace // nil if nobody waits until the program runs as before
	peek       peek
	budget     *budget // nil unless the timing is cct.Auto

	// lock guards everything below and the governor, which the goroutines of classes that
	// load use as well. It is not held while hooks go in or out.
	lock       sync.Mutex
	roots      map[classfile.MethodRef]bool
	lambdas    map[classfile.MethodRef]classfile.MethodRef // roots that are bodies of lambdas, with the method that matches
	expanded   map[classfile.MethodRef]bool                // whose callees have hooks
	pending    []classfile.MethodRef                       // became callable when a class loaded; their own class was loaded before
	due        []classfile.MethodRef                       // likewise, and first calls wait for their hooks
	unhookable map[string]string                           // classes that cannot have hooks, and why
	asked      map[string]bool                             // classes that were looked for in the library
	types      *universe.Universe                          // the loaded classes; nil if patterns need only names
	mirrored   int
	natives    map[uint32]bool // ids of native methods
	reflects   bool            // a method that was expanded uses reflection
}

func newRun(o Options) (*run, error) {
	o.Timing = cmp.Or(o.Timing, cct.Auto)
	o.Period = cmp.Or(o.Period, DefaultPeriod)
	o.Budget = cmp.Or(o.Budget, DefaultBudget)
	o.Wait = cmp.Or(o.Wait, DefaultWait)
	patterns, err := pattern.ParseSet(o.Roots...)
	if err != nil {
		return nil, fmt.Errorf("--root: %w", err)
	}
	skip, err := newSkipping(o.Into, o.Skip, o.Roots)
	if err != nil {
		return nil, err
	}
	r := &run{
		Options: o, patterns: patterns, skip: skip, graph: callgraph.New(callgraph.Settings{Skip: skip.class}), ledger: ledger{hookedAt: make(map[uint32]int64)},
		roots: make(map[classfile.MethodRef]bool), lambdas: make(map[classfile.MethodRef]classfile.MethodRef), expanded: make(map[classfile.MethodRef]bool),
		unhookable: make(map[string]string), natives: make(map[uint32]bool), asked: make(map[string]bool),
	}
	r.settler.run = r
	return r, nil
}

// Run profiles a JVM until the duration has passed, enough root calls were seen, the
// context ends or the JVM does. All of these give a result.
func Run(ctx context.Context, options Options) (*cct.Profile, error) {
	r, err := newRun(options)
	if err != nil {
		return nil, err
	}
	if r.Timing == cct.Stacks || r.isTooCostly() {
		p, err := r.runWithoutHooks(ctx)
		if r.Timing == cct.Stacks {
			return p, err
		}
		r.why = "" // it cannot be sampled
	}
	if jvm, err := process.Local.Inspect(r.PID); err == nil {
		r.discardsAll = process.Local.DiscardsAll(jvm)
	}
	r.enter(Entering)
	if r.Settle > 0 && !r.Whole {
		r.pace = overhead.WatchPace(ctx, r.PID)
		defer r.pace.Close(ctx)
	}
	if r.session, err = session.Open(ctx, r.PID, r.Settings); err != nil {
		var none *session.NoHooksError
		if r.Timing != cct.Auto || r.NeedsHooks || !errors.As(err, &none) {
			return nil, err
		}
		r.why = "the JVM got no hooks: " + none.Why
		p, failed := r.runWithoutHooks(ctx)
		if failed != nil {
			return nil, fmt.Errorf("neither hooks nor samples are possible: %s; %w", none.Why, failed)
		}
		return p, nil
	}
	defer func() { _ = r.session.Release() }()
	own := r.Budget
	if r.Timing != cct.Auto {
		own = 0
	}
	defer r.Share.Join(r.session, own)()
	r.library = jimage.OfJVM(r.session.JVM())
	defer func() { _ = r.library.Close() }()
	defer r.peek.stop(ctx)
	defer func() { r.stacks.close() }()
	err = r.begin(ctx)
	if err == nil {
		err = r.serveUntilEnd(ctx)
	}
	return r.leave(ctx, err)
}

// maxRoots is how many methods may be roots where a budget is kept.
const maxRoots = 200

// begin reads the loaded classes, decides the scheme, and puts the first hooks in.
func (r *run) begin(ctx context.Context) error {
	r.enter(Reading)
	if err := r.session.Discover(0); err != nil { // no call waits yet: nobody would answer
		return err
	}
	if r.Timing == cct.Auto {
		r.budget = newBudget(r)
		r.peek.begin(ctx, r)
	}
	// Follow classes that load before reading the loaded classes, so that none is missed
	// in between.
	follower := session.Follower{Excludes: r.skip.excludes, Loading: r.loading}
	if err := r.session.Follow(ctx, follower); err != nil {
		return err
	}
	if err := r.mirror(ctx); err != nil {
		return err
	}
	roots := r.graph.Find(r.patterns.Match)
	r.lock.Lock()
	for _, m := range roots {
		r.roots[m] = true
	}
	roots = append(roots, r.addLambdas(r.graph.Lambdas(r.patterns.Match))...)
	r.lock.Unlock()
	if len(roots) > maxRoots && r.budget != nil {
		return fmt.Errorf("--root matches %d methods; hooks of roots are never switched off, so the budget cannot be kept: name fewer, or use --timing exact or sampled", len(roots))
	}
	r.decide(roots)
	var err error
	if r.calibrator, err = overhead.NewCalibrator(ctx, r.session); err != nil {
		return err
	}
	if r.budget != nil {
		r.peek.end(ctx)
	}
	r.pace.Rest(ctx)
	r.first, _ = r.session.Read()
	r.account(r.session.Captured(), nil)
	r.enter(Weaving)
	r.session.SetWait(r.Wait)
	if r.budget != nil {
		err = r.budget.seed(ctx)
	} else {
		err = r.expand(ctx, roots)
	}
	if err != nil {
		return err
	}
	if r.Stacks {
		var isHooked func(classfile.MethodRef) bool
		if r.HandOff {
			isHooked = r.isHooked
		}
		r.stacks, _ = startStacks(ctx, r.PID, r.isRoot, isHooked) // without them, hooks show what they can
	}
	if threads, err := r.session.Threads(); err == nil {
		r.tasksBefore = tasksOf(threads)
	}
	r.on, _ = r.session.Read()
	r.began, r.onAt = time.Now(), r.session.Now()
	if len(roots) > 0 {
		r.enter(Running)
	} else {
		r.enter(Waiting)
		if r.Unmatched != nil {
			unmatched, err := r.session.Unmatched(ctx, r.patterns.Includes())
			if err != nil {
				return err
			}
			r.Unmatched(unmatched)
		}
	}
	if r.Started != nil {
		r.Started()
	}
	return nil
}

const leaveLimit = 90 * time.Second

// leave takes the hooks out. Whatever ended the run, the result is what was measured;
// there is none only if the run failed before any hook was on.
func (r *run) leave(ctx context.Context, cause error) (*cct.Profile, error) {
	ended := r.session.Err()
	r.session.SetWait(0) // nobody answers any more
	if r.began.IsZero() {
		_, err := r.session.Close(ctx)
		return nil, errors.Join(cause, ended, err)
	}
	r.pace.End()
	ending := ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	if ended == nil {
		_ = r.calibrator.Measure(ctx) // once more at the end, so that drift shows
	}
	profile, err := r.result(ctx)
	r.enter(Leaving)
	r.pace.Leave(ctx)
	if err == nil && ended == nil && cause == nil {
		r.pace.Alone(ending, r.Settle, func(overhead.Recovery) { r.report() })
		subtracted := profile.Disturbance.Subtracted
		profile.Disturbance = r.pace.Disturbance(profile.Disturbance.Hooks)
		profile.Disturbance.Subtracted = subtracted // hooks may have taken more than was known
	}
	if err == nil {
		disturbed(profile, profile.Disturbance.Slowed())
	}
	farewell, closing := r.session.Close(ctx)
	if err != nil {
		return nil, errors.Join(err, closing)
	}
	if ended == nil && r.pace != nil {
		r.enter(Recovering)
		profile.Disturbance.ComingOut = r.pace.Recover(ending, r.Settle, func(overhead.Recovery) { r.report() })
	}
	if errors.Is(ended, session.ErrExited) {
		profile.Notes = append(profile.Notes, "the program ended while it was measured")
	} else if ended != nil {
		profile.Notes = append(profile.Notes, fmt.Sprintf("the run ended early: %v", ended))
	} else if cause != nil && !errors.Is(cause, context.Canceled) {
		profile.Notes = append(profile.Notes, fmt.Sprintf("the run ended early: %v", cause))
	}
	profile.Notes = append(profile.Notes, farewell.Remarks...)
	return profile, closing
}

// hook returns the hook of a method with what it is to do. The caller holds the lock.
func (r *run) hook(m classfile.MethodRef) session.Hook {
	hook := session.Hook{MethodRef: m}
	root := r.roots[m]
	switch {
	case r.budget != nil:
		hook.Flags, hook.Period = r.budget.setting(m, root)
	case r.Timing == cct.Sampled && !root: // roots are called too rarely to be sampled
		hook.Flags, hook.Period = arena.On|arena.Sampled, r.Period
	default:
		hook.Flags = arena.On | arena.Timed
	}
	if root {
		hook.Flags |= arena.Root
	} else {
		hook.Flags |= arena.Inside
	}
	if !r.expanded[m] && r.budget == nil {
		hook.Flags |= arena.Discover
	}
	return hook
}

const (
	serveEvery     = 400 * time.Microsecond // a call of the program may wait for it
	lookEvery      = 50 * time.Millisecond
	reportEvery    = 250 * time.Millisecond
	calibrateEvery = 5 * time.Second
	governEvery    = 250 * time.Millisecond
)

// errLeft says that the session ended by itself; the session says why.
var errLeft = errors.New("the session has ended")

// serveUntilEnd serves the calls that wait, and does the chores, until the run is to end.
func (r *run) serveUntilEnd(ctx context.Context) error {
	serve, look := time.NewTicker(serveEvery), time.NewTicker(lookEvery)
	defer serve.Stop()
	defer look.Stop()
	chores := r.chores()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.session.Done():
			return errLeft
		case <-serve.C:
			if err := r.serve(ctx); err != nil {
				return err
			}
		case now := <-look.C:
			if r.Duration > 0 && r.isOver(now) {
				return nil
			}
			if r.Calls > 0 {
				if _, ended := r.rootCalls(); ended >= r.Calls {
					return nil
				}
			}
			for i := range chores {
				if err := chores[i].doWhenDue(ctx, now); err != nil {
					return err
				}
			}
		}
	}
}

// isOver reports whether the duration has passed: since the program runs as before it got hooks, if
// that is waited for.
func (r *run) isOver(now time.Time) bool {
	whole := now.Sub(r.began)
	if r.pace == nil || whole >= r.Duration+r.Settle {
		return whole >= r.Duration
	}
	return r.window.length(now) >= r.Duration
}

// A chore is done periodically, less often the longer it takes: the trees of a large
// program take long to read.
type chore struct {
	every time.Duration
	next  time.Time
	do    func(context.Context) error
}

// restFor is how many times as long as it took a chore rests.
const restFor = 20

func (c *chore) doWhenDue(ctx context.Context, now time.Time) error {
	if now.Before(c.next) {
		return nil
	}
	began := time.Now()
	err := c.do(ctx)
	c.next = now.Add(max(c.every, restFor*time.Since(began)))
	return err
}

func (r *run) chores() []chore {
	now := time.Now()
	chores := []chore{
		{reportEvery, now.Add(reportEvery), func(context.Context) error { r.report(); return nil }},
		{calibrateEvery, now.Add(calibrateEvery), r.calibrator.Measure},
	}
	if r.budget != nil || !r.Whole {
		chores = append(chores, chore{governEvery, now, func(context.Context) error {
			if err := r.settler.look(); err != nil {
				return err
			}
			return r.window.renew(r)
		}})
	}
	if r.budget != nil {
		chores = append(chores, chore{governEvery, now, r.budget.govern})
	}
	return chores
}

// rootCalls returns how many calls of roots have begun, and how many of them have ended.
func (r *run) rootCalls() (begun, ended uint64) {
	sum, err := r.session.Sum()
	if err != nil {
		return 0, 0
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	for m := range r.roots {
		if t := sum.Methods[r.session.ID(m)]; t != nil {
			begun += t.Calls
			ended += t.Calls - min(t.Calls, t.Active)
		}
	}
	return begun, ended
}

func (r *run) enter(stage Stage) {
	r.stage = stage
	r.report()
}

// recordShare records what the hooks have cost so far.
func (r *run) recordShare(threads []arena.Thread) {
	var calls uint64
	for _, s := range sumByMethod(threads, 0) {
		calls += uint64(s.calls)
	}
	hooks := 0
	r.lock.Lock()
	if r.budget != nil {
		hooks = r.budget.governor.hooksOn()
	}
	r.lock.Unlock()
	if r.budget == nil {
		hooks = len(r.session.Methods())
	}
	r.Share.Set(calls, price(r.calibrator.Calibration(), threads, time.Since(r.began).Seconds())+r.handing(threads), hooks)
}

func (r *run) report() {
	if r.Progress == nil {
		return
	}
	r.lock.Lock()
	p := Progress{Stage: r.stage, Mirrored: r.mirrored, Timing: r.Timing}
	r.lock.Unlock()
	if !r.began.IsZero() {
		p.Elapsed = time.Since(r.began)
	}
	if r.session != nil {
		p.Cost = r.cost(nil)
	}
	p.Steady = -1
	if r.session == nil && p.Stage == Running {
		p.Tree = r.sampledResult
	} else if p.Stage == Running || p.Stage == Waiting {
		if r.pace != nil && r.settler.recovery.By != "" && !r.settler.recovery.Settled {
			p.Settling = &r.settler.recovery
		}
		if r.pace != nil && r.Duration > 0 {
			p.Wanted, p.Steadily = r.Duration, r.window.length(time.Now())
		}
		if threads, err := r.session.Threads(); err == nil {
			p.RootCalls, _ = r.rootCalls()
			p.Waited, p.Steady = waited(threads), r.steady(threads)
			r.recordShare(threads)
			if p.Stage == Waiting && p.RootCalls > 0 {
				p.Stage = Running
			}
		}
		p.Tree = func() (*cct.Profile, error) { return r.result(context.Background()) }
	}
	r.Progress(p)
}
