// Package watch keeps what is wanted of a JVM applied to it: it finds the methods that
// probes, sequences and tags name, checks conditions in each, and has a session put
// spots there, now and as classes load.
//
// What a set asks for is compiled as a whole before anything is installed. The plan that
// comes of it is a list of spots, each with a key that says what it is; applying a plan
// is to weave those that are new, take out those that are gone and switch the others.
package liveprobes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/measure/calltree"
	"github.com/sonde-jvm/sonde/internal/measure/results/ledger"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Options are how a set is applied.
type Options struct {
	// Flags are what hooks that time calls do besides, such as arena.Spreads.
	Flags arena.Flags
	// RingBytes is how much of what is traced a thread can keep until it is read; 0 for
	// the default.
	RingBytes uint32
	// Small has traces contain small methods that call nothing, such as getters.
	Small bool
	// Notice is told what a user should read; may be nil. It must not call the Watch.
	Notice func(string)
	// Ended is told of probes that have ended by time or calls; may be nil. It must not
	// call the Watch.
	Ended func(probe string, why Ending)
}

// An Ending is why a probe has ended.
type Ending string

// The endings.
const (
	EndedByTime  Ending = "time"
	EndedByCalls Ending = "calls"
)

// A target is what a Watch asks of a session.
type target interface {
	Prefetch(ctx context.Context, wanted, named func(class string) bool) ([]universe.Loaded, error)
	Survey(ctx context.Context, wanted func(class string) bool) ([]universe.Loaded, error)
	Known(ctx context.Context) ([]universe.Loaded, error)
	OnLoading(ctx context.Context, excludes []string, f func(class string, file []byte) []instrument.Spot) error
	UpdateSpots(ctx context.Context, request session.SpotRequest) (*session.Installation, error)
	SwitchSpots(ctx context.Context, changes map[uint32]arena.Probe) error
	HasPending() bool
	SpotID(s instrument.Spot) uint32
	Discover(wait time.Duration) error
	Arrivals(after uint64) ([]arena.Arrival, error)
	Answer(ticket uint64)
	Sum() (*arena.Summary, error)
	Threads() ([]arena.Thread, error)
	Now() int64
	ContextLosses() (ambiguous, contexts uint64)
	SetRings(bytes, levels uint32) error
}

// A Watch keeps a set applied to one JVM. It is safe for use by several goroutines.
type Watch struct {
	target  target
	options Options

	turn    sync.Mutex // held while a set is applied
	started bool

	queue queue

	lock     sync.Mutex // of all below; never held while the JVM is asked, but to switch off
	universe *universe.Universe
	views    map[*universe.Class]*condition.Class // the classes as conditions see them
	set      *probeset.Set                        // what is applied; nil before the first
	plan     *plan
	applied  map[string]instrument.Spot // as the session has them, by name
	handsOff bool                       // tasks carry contexts
	numbers  map[string]int32           // of tags, also of those that are gone
	traced   map[string]bool            // probes that are or were traced
	began    map[string]beginning       // of probes
	names    map[uint32]SpotName        // also of those that are gone
	grouped  map[uint32]bool            // spots whose results have labels
	groups   map[uint32][]string        // names of the tags by which those are told apart
	labels   ledger.Labels
	rows     ledger.Numbers
	calls    *calltree.World // what methods call; nil until that is asked for
	mirrored int             // how many classes that knows
	bodies   *callgraph.Graph
	toldGaps map[string]bool // what the user was told of rules
}

// A beginning is when a probe began and how many calls it had then.
type beginning struct {
	at    time.Time
	calls uint64
}

// New makes a Watch of a session. Nothing is asked of the JVM before Apply.
func New(s *session.Session, o Options) *Watch {
	return newWatch(s, jimage.OpenLibrary(s.JVM().Image), o)
}

func newWatch(t target, l *jimage.Library, o Options) *Watch {
	return &Watch{
		target: t, options: o, universe: universe.New(l), views: make(map[*universe.Class]*condition.Class), applied: make(map[string]instrument.Spot),
		numbers: make(map[string]int32), traced: make(map[string]bool), began: make(map[string]beginning),
		names: make(map[uint32]SpotName), grouped: make(map[uint32]bool),
		groups: make(map[uint32][]string), rows: make(ledger.Numbers),
		bodies: callgraph.New(callgraph.Settings{}),
	}
}

// Close lets go of files. The session is not closed by it.
func (w *Watch) Close() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.universe.Library.Close()
	w.universe.Library = nil
}

// Set is what is applied: without probes that have ended.
func (w *Watch) Set() *probeset.Set {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.set == nil {
		return &probeset.Set{}
	}
	return w.set
}

// Concerns reports whether what is applied has to do with a class.
func (w *Watch) Concerns(class string) bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.plan == nil {
		return false
	}
	for _, s := range w.plan.spots {
		if s.Class == class {
			return true
		}
	}
	return w.plan.matchClass(class)
}

func (w *Watch) notice(text string) {
	if w.options.Notice != nil {
		w.options.Notice(text)
	}
}

// compiler makes plans of a request, or adds to one.
func (w *Watch) compiler(p *plan) *compiler {
	return &compiler{
		universe: w.universe, views: w.views, tagCall: condition.TagCall{Class: instrument.TagsClass(), Method: "tagged"}, flags: w.options.Flags, plan: p,
		level: func(p *probeset.Probe) probeset.Level { return p.Level },
	}
}

// pollEvery is how often labels are heard of and ends looked for. The arena is read for
// it; the JVM is not asked.
const pollEvery = 20 * time.Millisecond

// Run learns what labels stand for and ends probes by time and calls, until the context
// ends. A probe that could not be taken out is switched off all the same, or goes with
// the session.
func (w *Watch) Run(ctx context.Context) error {
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
			w.lock.Unlock()
			if err := w.payDebts(ctx); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
			for _, e := range due {
				err := w.End(ctx, e.probe)
				if errors.Is(err, errNoProbe) {
					continue // it was taken out meanwhile
				}
				if err != nil {
					if ctx.Err() != nil {
						return nil
					}
					return fmt.Errorf("ending probe %s: %w", e.probe, err)
				}
				if w.options.Ended != nil {
					w.options.Ended(e.probe, e.why)
				}
			}
		}
	}
}

// payDebts puts hooks into classes that could not have them as they loaded.
func (w *Watch) payDebts(ctx context.Context) error {
	if !w.target.HasPending() {
		return nil
	}
	w.turn.Lock()
	defer w.turn.Unlock()
	if _, err := w.target.UpdateSpots(ctx, session.SpotRequest{}); err != nil {
		return fmt.Errorf("putting hooks into classes that have loaded: %w", err)
	}
	return nil
}

// An end of a probe that is due.
type end struct {
	probe string
	why   Ending
}

// due are the probes that have reached their end. The lock is held.
func (w *Watch) due(now time.Time) (ends []end) {
	if w.set == nil {
		return nil
	}
	for i := range w.set.Probes {
		if why := w.reached(&w.set.Probes[i], now); why != "" {
			ends = append(ends, end{w.set.Probes[i].Name, why})
		}
	}
	return ends
}

func (w *Watch) reached(p *probeset.Probe, now time.Time) Ending {
	began := w.began[p.Name]
	if p.For > 0 && now.Sub(began.at) >= p.For {
		return EndedByTime
	}
	if p.Calls > 0 && w.callsOf(p.Name) >= began.calls+p.Calls {
		return EndedByCalls
	}
	return ""
}

// SetLevel has a probe do more or less of each call. What is woven already is only
// switched.
func (w *Watch) SetLevel(ctx context.Context, probe string, level probeset.Level) error {
	return w.alter(ctx, probe, func(probes []probeset.Probe, at int) []probeset.Probe {
		probes[at].Level = level
		return probes
	})
}

// End takes a probe out. What it has measured stays.
func (w *Watch) End(ctx context.Context, probe string) error {
	return w.alter(ctx, probe, func(probes []probeset.Probe, at int) []probeset.Probe { return slices.Delete(probes, at, at+1) })
}

var errNoProbe = errors.New("there is no probe")

// alter applies the set with one probe altered.
func (w *Watch) alter(ctx context.Context, name string, change func(probes []probeset.Probe, at int) []probeset.Probe) error {
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
		return fmt.Errorf("%w %s; there is %s", errNoProbe, name, strings.Join(names, ", "))
	}
	set.Probes = change(set.Probes, at)
	_, err := w.apply(ctx, &set)
	return err
}
