// Package liveprobes keeps a set of probes applied to a running JVM, also in classes that
// load later.
//
// A set is compiled to a plan before anything is installed. The plan is a list of spots. A spot is
// one probe, with one of its sequences (if it has any), in one method. Applying the plan weaves new
// spots, removes old ones, and changes the switches of spots whose settings have changed.
package liveprobes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/classes/own"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/measure/calltree"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Options control how a set is applied.
type Options struct {
	// Flags are added to hooks that time calls, for example arena.Spreads.
	Flags arena.Flags
	// RingBytes is the size of each thread's buffer of trace records; 0 is the default.
	RingBytes uint32
	// Own are the program's own packages, which are guessed if there are none. Traces follow calls of types
	// such as Iterator and Runnable into them, and into the project of the traced method.
	Own own.Packages
	// Seen are calls that sampled stacks have shown; traces follow them.
	Seen map[Call]bool
	// Lazy puts hooks only into the methods that roots of traces call. Explore adds others.
	Lazy bool
	// Focus restricts all traces to the methods that Narrow names; Lazy has no effect then.
	Focus bool
	// Small includes small methods that call nothing, such as getters, in traces.
	Small bool
	// Held keeps the time and the calls of probes that end by them from beginning, until Begin.
	Held bool
	// Notice receives messages for the user; may be nil. It must not call Probes.
	Notice func(string)
	// Ended is called when a probe has ended by time or calls; may be nil. It must not
	// call Probes.
	Ended func(End)
}

// A Call is a call of one method by another.
type Call struct{ Caller, Callee classfile.MethodRef }

// An Ending is the reason why a probe has ended.
type Ending string

// The endings.
const (
	EndedByTime  Ending = "time"
	EndedByCalls Ending = "calls"
)

// A target is the part of a session that Probes uses.
type target interface {
	Prefetch(ctx context.Context, wanted, named func(class string) bool) ([]universe.Loaded, error)
	Survey(ctx context.Context, wanted func(class string) bool) ([]universe.Loaded, error)
	Known(ctx context.Context) ([]universe.Loaded, error)
	Follow(ctx context.Context, follower session.Follower) error
	Update(ctx context.Context, change session.Change) (*session.Installation, error)
	SwitchSpots(ctx context.Context, changes map[uint32]arena.Probe) error
	HasPending() bool
	SpotID(s instrument.Spot) uint32
	TagsClass() string
	Discover(wait time.Duration) error
	Arrivals(after uint64) ([]arena.Arrival, error)
	Answer(ticket uint64)
	Sum() (*arena.Summary, error)
	Threads() ([]arena.Thread, error)
	Now() int64
	ContextLosses() (ambiguous, contexts uint64)
	MakeQuota(number uint16) error
	SetQuota(number uint16, most uint64)
	IsUsedUp(number uint16) bool
	SetRings(bytes, levels uint32) error
	RingCounters() (session.RingCounters, error)
	Restart()
}

// shared is what the Probes of one JVM share: a thread has one path and one list of tags.
type shared struct {
	turn      sync.Mutex // held while a set is applied
	positions *probes.Positions
	sequences map[*Probes][]*pattern.Sequence
	numbers   map[string]int32 // of tags, also of removed ones
	quotas    map[uint16]*Probes
	newest    uint16 // the number of the newest quota
}

// sharedKey is the key under which a session has it.
type sharedKey struct{}

// newShared returns what the Probes of a JVM share.
func newShared() *shared {
	return &shared{positions: &probes.Positions{}, sequences: make(map[*Probes][]*pattern.Sequence), numbers: make(map[string]int32), quotas: make(map[uint16]*Probes)}
}

// next returns positions for the sequences of one of the Probes: see probes.Positions.Next. The
// turn is held.
func (s *shared) next(of *Probes, wanted []*pattern.Sequence) (next *probes.Positions, reset bool, err error) {
	others := s.others(of)
	if next, reset = s.positions.Next(slices.Concat(others, wanted), others); next == nil {
		return nil, false, errors.New("the sequences of all commands for one JVM can have at most 28 methods in total, and other commands have left too few: end some of them")
	}
	return next, reset, nil
}

// keep frees the positions that the Probes no longer use. The turn is held.
func (s *shared) keep(of *Probes, wanted []*pattern.Sequence) {
	s.sequences[of] = wanted
	s.positions.Keep(append(s.others(of), wanted...))
}

// newQuota returns the number of the quota that has been free for longest, because calls of
// its former spots may still be running. The turn is held.
func (s *shared) newQuota(of *Probes) (number uint16, err error) {
	for range arena.MostQuotas {
		s.newest = s.newest%arena.MostQuotas + 1
		if s.quotas[s.newest] == nil {
			s.quotas[s.newest] = of
			return s.newest, nil
		}
	}
	return 0, fmt.Errorf("at most %d probes of a JVM can have a limit of calls: remove the key \"calls\" from some probes, or end other commands", arena.MostQuotas)
}

// freeQuotas frees the quotas of Probes that these do not keep. The turn is held.
func (s *shared) freeQuotas(of *Probes, kept []*probes.Probe) {
	maps.DeleteFunc(s.quotas, func(number uint16, owner *Probes) bool {
		return owner == of && !slices.ContainsFunc(kept, func(p *probes.Probe) bool { return p.Quota == number })
	})
}

func (s *shared) others(of *Probes) (others []*pattern.Sequence) {
	for p, sequences := range s.sequences {
		if p != of {
			others = append(others, sequences...)
		}
	}
	return others
}

// Probes keeps a set applied to one JVM. It is safe for use by several goroutines.
type Probes struct {
	// Own returns the program's own packages. The first call may read jars.
	Own func() own.Packages

	target  target
	options Options
	shared  *shared

	turn    sync.Mutex // held while a set is applied
	started bool

	queue    queue
	isNarrow atomic.Bool // only classes that the set names are shown when they load

	lock       sync.Mutex // guards all fields below; held during a request to the JVM only to switch hooks off
	classes    *probes.Classes
	set        *probeset.Set // the applied set; nil before the first
	plan       *plan
	applied    map[string]instrument.Spot // the session's spots, by name
	handsOff   bool                       // tasks carry contexts
	timesTasks bool                       // and the times of their submission
	numbers    map[string]int32           // of tags, also of removed ones
	traced     map[string]bool            // probes that are or were traced
	isHeld     bool                       // no probe ends by time or calls yet
	began      map[string]beginning       // by probe
	names      map[uint32]probes.SpotName // by id, also of removed spots
	methods    map[uint32]classfile.MethodRef
	labels     results.Labels
	rows       results.Numbers
	calls      *calltree.World // what methods call; nil until it is needed
	mirrored   int             // number of classes in calls
	bodies     *callgraph.Graph
	isLazy     bool                         // traces have only what was called, and what that calls
	called     map[classfile.MethodRef]bool // methods of traces that were called
	focuses    map[string]*focus            // by probe whose traces are restricted
	excluded   map[classfile.MethodRef]bool // from such traces
	revealed   map[string]bool              // proxies whose files were asked for
	reported   map[string]bool              // warnings about rules that were reported since the last Apply
	again      []time.Time                  // when the set is applied again, because it needs classes that were not read
}

// A plan is a compiled set with the state of its traces.
type plan struct {
	*probes.Plan
	calls   map[classfile.MethodRef]int // methods that traced methods call, with the levels left
	levels  int                         // of the deepest trace
	insides int                         // number of spots that belong to traces

	projects map[string]bool              // of the roots of traces
	closed   map[classfile.MethodRef]bool // methods of traces whose callees are not
	tasks    []classfile.MethodRef        // methods by which the JDK runs tasks of traces
	bodiless bool                         // they call an interface that no known class implements
}

// A beginning is the time when a probe began, and the number of its calls at that time.
type beginning struct {
	at      time.Time
	calls   uint64
	free    uint64    // calls before it had a limit
	reached time.Time // when it was seen that its quota is used up
}

// New returns the probes of a session, none of them applied yet. It sends no request to the JVM before Apply.
func New(s *session.Look, o Options) *Probes {
	common := s.Attached(sharedKey{}, func() any { return newShared() }).(*shared)
	w := newProbes(s, jimage.OfJVM(s.JVM()), common, o)
	if len(o.Own.Names) == 0 {
		w.Own = sync.OnceValue(func() own.Packages { return own.Guess(s.JVM()) })
	}
	return w
}

func newProbes(t target, l *jimage.Image, common *shared, o Options) *Probes {
	w := &Probes{
		Own: func() own.Packages { return o.Own }, target: t, options: o, shared: common, classes: probes.NewClasses(l, t.TagsClass()), applied: make(map[string]instrument.Spot),
		numbers: make(map[string]int32), traced: make(map[string]bool), began: make(map[string]beginning),
		names: make(map[uint32]probes.SpotName), methods: make(map[uint32]classfile.MethodRef), rows: make(results.Numbers),
		bodies: callgraph.New(callgraph.Settings{Bodies: true}), isLazy: o.Lazy, called: make(map[classfile.MethodRef]bool), isHeld: o.Held,
		revealed: make(map[string]bool), focuses: make(map[string]*focus), excluded: make(map[classfile.MethodRef]bool),
	}
	return w
}

// Close closes files. It does not close the session.
func (w *Probes) Close() {
	w.shared.turn.Lock()
	delete(w.shared.sequences, w)
	w.shared.positions.Keep(w.shared.others(w))
	w.shared.freeQuotas(w, nil)
	w.shared.turn.Unlock()
	w.lock.Lock()
	defer w.lock.Unlock()
	_ = w.classes.Library.Close()
	w.classes.Library = nil
}

// Set returns the applied set without probes that have ended.
func (w *Probes) Set() *probeset.Set {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.set == nil {
		return &probeset.Set{}
	}
	return w.set
}

// Concerns reports whether the applied set has spots in a class or may name its methods.
func (w *Probes) Concerns(class string) bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.plan == nil {
		return false
	}
	for _, s := range w.plan.Spots {
		if s.Class == class {
			return true
		}
	}
	return w.plan.MatchClass(class)
}

func (w *Probes) notice(text string) {
	if w.options.Notice != nil {
		w.options.Notice(text)
	}
}

// pollEvery is the interval at which Run reads labels and checks for ends. It reads the
// arena and sends no request to the JVM.
const pollEvery = 20 * time.Millisecond

// Start calls Run in a goroutine until stop is called, which waits for its end.
func (w *Probes) Start(failed func(error)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := w.Run(ctx); err != nil {
			failed(err)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// Run reads the meaning of labels and ends probes by time and calls, until the context
// ends.
func (w *Probes) Run(ctx context.Context) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			w.lock.Lock()
			w.hear()
			due := w.due(now)
			for _, e := range due {
				w.switchOff(w.spotsOf(e.Probe)) // removing hooks takes longer
			}
			w.lock.Unlock()
			ended, err := w.end(ctx, due)
			if err := errors.Join(err, w.applyAgain(ctx, now), w.weavePending(ctx)); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
			for _, e := range ended {
				if w.options.Ended != nil {
					w.options.Ended(e)
				}
			}
		}
	}
}

// lateClasses is how long a class may take to load after an interface that it implements.
const lateClasses = 500 * time.Millisecond

// widen makes the set be applied again, because a class that has loaded shows that the set selects
// methods by type, and other classes have not been read. The class that implements the type may
// still be loading, so the set is applied once more later. The lock is held.
func (w *Probes) widen() {
	if w.isNarrow.CompareAndSwap(true, false) {
		now := time.Now()
		w.again = append(w.again, now, now.Add(lateClasses))
	}
}

// applyAgain applies the set again if that is due.
func (w *Probes) applyAgain(ctx context.Context, now time.Time) error {
	w.lock.Lock()
	isDue := len(w.again) > 0 && !w.again[0].After(now)
	if isDue {
		w.again = w.again[1:]
	}
	w.lock.Unlock()
	if !isDue {
		return nil
	}
	return w.reapply(ctx)
}

// reapply applies the set again, whichever it is by then.
func (w *Probes) reapply(ctx context.Context) error {
	w.shared.turn.Lock()
	defer w.shared.turn.Unlock()
	w.turn.Lock()
	defer w.turn.Unlock()
	_, err := w.apply(ctx, w.Set())
	return err
}

// weavePending puts hooks into classes that could not get them while they loaded.
func (w *Probes) weavePending(ctx context.Context) error {
	if !w.target.HasPending() {
		return nil
	}
	w.turn.Lock()
	defer w.turn.Unlock()
	if _, err := w.target.Update(ctx, session.Change{}); err != nil {
		return fmt.Errorf("installing hooks in classes that have loaded: %w", err)
	}
	return nil
}

// An End is a probe that has reached its end.
type End struct {
	Probe string
	Why   Ending
}

// due returns the probes that have reached their end. The lock is held.
func (w *Probes) due(now time.Time) (ends []End) {
	if w.plan == nil || w.isHeld {
		return nil
	}
	for _, p := range w.plan.Probes {
		began := w.began[p.Name]
		switch {
		case p.For > 0 && now.Sub(began.at) >= p.For:
			ends = append(ends, End{p.Name, EndedByTime})
		case p.Quota > 0 && w.target.IsUsedUp(p.Quota):
			if began.reached.IsZero() {
				began.reached = now
				w.began[p.Name] = began
			}
			if w.isComplete(p) || now.Sub(began.reached) >= lastCalls {
				ends = append(ends, End{p.Name, EndedByCalls})
			}
		}
	}
	return ends
}

// lastCalls is how long a probe whose quota is used up waits for its calls to return. Later ones are
// counted without their time.
const lastCalls = time.Second

// isComplete reports whether all calls of a probe's quota are counted, and have returned as far as
// they are timed. The lock is held.
func (w *Probes) isComplete(p *probes.Probe) bool {
	sum, err := w.target.Sum()
	if err != nil {
		return true
	}
	calls := uint64(0)
	for id, name := range w.names {
		if t := sum.Methods[id]; t != nil && name.Probe == p.Name && !name.Inside && name.Record.Name == "" {
			if calls += t.Calls; t.Active > 0 && !p.IsLate() { // a late call is not counted before it returns
				return false
			}
		}
	}
	return calls >= w.began[p.Name].calls+p.Calls
}

// Begin lets the time and the calls of probes begin that end by them, if they were held.
func (w *Probes) Begin() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.isHeld = false
	if w.plan == nil {
		return
	}
	for _, p := range w.plan.Probes {
		w.began[p.Name] = beginning{at: time.Now(), calls: w.callsOf(p.Name)}
		w.setQuota(p)
	}
}

// setQuota lets a probe that has a quota count its calls. The lock is held.
func (w *Probes) setQuota(p *probes.Probe) {
	if p.Quota > 0 && !w.isHeld {
		w.target.SetQuota(p.Quota, p.Calls-min(p.Calls, w.began[p.Name].free))
	}
}

// spotsOf returns the ids of the spots of a probe, without the spots of its traces. The lock is held.
func (w *Probes) spotsOf(probe string) (ids []uint32) {
	for _, s := range w.applied {
		id := w.target.SpotID(s)
		if name, is := w.names[id]; is && name.Probe == probe && !name.Inside {
			ids = append(ids, id)
		}
	}
	return ids
}

// SetLevel changes the level of a probe. Hooks that are woven already are only switched.
func (w *Probes) SetLevel(ctx context.Context, probe string, level probeset.Level) error {
	_, err := w.setLevel(ctx, probe, level)
	return err
}

func (w *Probes) setLevel(ctx context.Context, probe string, level probeset.Level) (*Report, error) {
	return w.alter(ctx, probe, func(probes []probeset.Probe, at int) []probeset.Probe {
		probes[at].Level = level
		return probes
	})
}

// end removes probes that have reached their end, and returns the probes that had not been removed meanwhile. Their results stay.
func (w *Probes) end(ctx context.Context, due []End) (ended []End, err error) {
	if len(due) == 0 {
		return nil, nil
	}
	w.shared.turn.Lock()
	defer w.shared.turn.Unlock()
	w.turn.Lock()
	defer w.turn.Unlock()
	set := *w.Set()
	set.Probes = slices.DeleteFunc(slices.Clone(set.Probes), func(p probeset.Probe) bool {
		at := slices.IndexFunc(due, func(e End) bool { return e.Probe == p.Name })
		if at >= 0 {
			ended = append(ended, due[at])
		}
		return at >= 0
	})
	if len(ended) == 0 {
		return nil, nil
	}
	if _, err := w.apply(ctx, &set); err != nil {
		return nil, fmt.Errorf("removing the hooks of probes that have ended: %w", err)
	}
	return ended, nil
}

// alter applies the set with one probe changed.
func (w *Probes) alter(ctx context.Context, name string, change func(probes []probeset.Probe, at int) []probeset.Probe) (*Report, error) {
	w.shared.turn.Lock()
	defer w.shared.turn.Unlock()
	w.turn.Lock()
	defer w.turn.Unlock()
	set := *w.Set()
	set.Probes = slices.Clone(set.Probes)
	at := slices.IndexFunc(set.Probes, func(p probeset.Probe) bool { return p.Name == name })
	if at < 0 {
		var names []string
		for _, p := range set.Probes {
			names = append(names, p.Name)
		}
		return nil, fmt.Errorf("there is no probe %s; the probes are %s", name, strings.Join(names, ", "))
	}
	set.Probes = change(set.Probes, at)
	return w.apply(ctx, &set)
}

// Awaits returns how many loaded classes get their hooks only when a set is applied again,
// because a rule says so.
func (w *Probes) Awaits() int {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.plan == nil {
		return 0
	}
	return w.plan.Awaiting()
}

// LeftOut returns the methods and classes in which probes and tags do not act, each once,
// including classes that have loaded since they were applied.
func (w *Probes) LeftOut() []probes.LeftOut {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.plan == nil {
		return nil
	}
	return w.plan.LeftOut()
}
