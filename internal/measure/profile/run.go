package profile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A run is one profile in the making.
type run struct {
	*settings
	session *session.Session
	graph   *callgraph.Graph
	library *library        // the target's JDK on disk
	asked   map[string]bool // classes that were looked for there
	began   time.Time
	onAt    int64 // the target's clock when the root's hooks went on

	lock       sync.Mutex
	stage      Stage
	scheme     Scheme
	why        string
	closure    int
	roots      map[callgraph.Method]bool
	expanded   map[callgraph.Method]bool // whose callees have hooks
	pending    []callgraph.Method        // callable since a class loaded, in classes that were loaded before
	due        []callgraph.Method        // likewise, but first calls wait for their hooks
	unhookable map[string]string         // classes that cannot have hooks, and why
	mirrored   int
	natives    map[uint32]bool // ids of native methods
	reflects   bool            // a method that was expanded uses reflection
	missing    int             // classes whose file is not found

	answered uint64 // the last ticket
	ledger   ledger
	scales   scales
	window   window
	settler  settler
	peek     peek
	budget   *governor // nil unless the timing is cct.Auto
}

// Run profiles a JVM until the duration has passed, enough root calls were seen,
// the context ends or the JVM does. All of these give a result.
func Run(ctx context.Context, options Options) (*cct.Profile, error) {
	checked, err := options.check()
	if err != nil {
		return nil, err
	}
	r := &run{
		settings: checked, roots: make(map[callgraph.Method]bool), expanded: make(map[callgraph.Method]bool),
		unhookable: make(map[string]string), natives: make(map[uint32]bool), asked: make(map[string]bool),
	}
	r.settler.run = r
	r.graph = callgraph.New(callgraph.Settings{Skip: checked.skip.class})
	r.enter(Entering)
	r.session, err = session.Open(ctx, options.PID, session.Settings{Command: options.Command, Force: options.Force, Notice: options.Notice, Waiting: options.Waiting, Cache: options.Cache})
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.session.Release() }()
	r.library = openLibrary(r.session.JVM().Image)
	defer r.library.close()
	defer r.peek.stop(ctx)
	err = r.begin(ctx)
	if err == nil {
		err = r.watch(ctx)
	}
	return r.leave(ctx, err)
}

// begin reads what is loaded, decides the scheme, and puts the first hooks in.
func (r *run) begin(ctx context.Context) error {
	r.enter(Reading)
	if err := r.session.Discover(0); err != nil { // nobody would answer yet
		return err
	}
	if r.Timing == cct.Auto {
		r.budget = newGovernor(r)
		r.peek.begin(ctx, r)
	}
	// First those that load from now on, then those that are loaded: none is
	// missed in between.
	follower := session.Follower{Excludes: r.settings.skip.excludes, Loading: r.loading}
	if err := r.session.Follow(ctx, follower); err != nil {
		return err
	}
	if err := r.mirror(ctx); err != nil {
		return err
	}
	roots := r.graph.Find(r.settings.roots.Match)
	if len(roots) > mostRoots && r.Timing == cct.Auto {
		return fmt.Errorf("%d methods are roots, and none of them can be switched off to keep a budget: name fewer, or take timing exact or sampled", len(roots))
	}
	for _, m := range roots {
		r.addRoot(m)
	}
	r.decide(roots)
	if err := r.scales.begin(ctx, r); err != nil {
		return err
	}
	if r.budget != nil {
		r.peek.end(ctx)
	}
	r.ledger.begin(r.session)
	r.ledger.add(r.session, r.session.Captured(), nil)
	r.enter(Weaving)
	r.session.SetWait(r.Wait)
	if r.budget != nil {
		if err := r.budget.seed(ctx); err != nil {
			return err
		}
	} else if err := r.expand(ctx, roots); err != nil {
		return err
	}
	r.ledger.switchedOn(r.session)
	r.began, r.onAt = time.Now(), r.session.Now()
	if len(roots) > 0 {
		r.enter(Running)
	} else {
		r.enter(Waiting)
	}
	if len(roots) == 0 && r.Unmatched != nil {
		lost, err := r.session.Unmatched(ctx, r.settings.roots)
		if err != nil {
			return err
		}
		r.Unmatched(lost)
	}
	if r.Started != nil {
		r.Started()
	}
	return nil
}

// mostRoots is how many methods may be roots where a budget is kept.
const mostRoots = 200

func (r *run) addRoot(m callgraph.Method) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.roots[m] = true
}

// leave takes the hooks out. What was measured is kept, whatever ended the run;
// only where that was an error of ours before any hook was on is there no result.
func (r *run) leave(ctx context.Context, cause error) (*cct.Profile, error) {
	ended := r.session.Err()
	r.session.SetWait(0) // nobody answers any more
	if r.began.IsZero() {
		_, err := r.session.Close(ctx)
		return nil, errors.Join(cause, ended, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	if ended == nil {
		_ = r.scales.measure(ctx, r) // the last, so that drift shows
	}
	profile, err := r.result(ctx)
	r.enter(Leaving)
	farewell, closing := r.session.Close(ctx)
	if err != nil {
		return nil, errors.Join(err, closing)
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

const leaveLimit = 90 * time.Second

// flags are what a method's hook does.
func (r *run) flags(m callgraph.Method) (arena.Flags, uint32) {
	r.lock.Lock()
	root, expanded := r.roots[m], r.expanded[m]
	r.lock.Unlock()
	var flags arena.Flags
	var period uint32
	switch {
	case r.budget != nil:
		flags, period = r.budget.setting(m, root)
	case r.Timing == cct.Sampled && !root: // a root is called too rarely to be left to chance
		flags, period = arena.On|arena.Sampled, r.Period
	default:
		flags = arena.On | arena.Timed
	}
	if root {
		flags |= arena.Root
	} else {
		flags |= arena.Inside
	}
	if !expanded && r.budget == nil {
		flags |= arena.Discover
	}
	return flags, period
}

func (r *run) hook(m callgraph.Method) session.Hook {
	flags, period := r.flags(m)
	return session.Hook{Class: m.Class, Name: m.Name, Descriptor: m.Descriptor, Flags: flags, Period: period}
}
