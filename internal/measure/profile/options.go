package profile

import (
	"fmt"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// A Scheme says when callees get hooks.
type Scheme string

// The schemes.
const (
	Lazy  Scheme = "lazy"  // when their caller is first entered
	Eager Scheme = "eager" // before the root is
)

// Options are what to profile, and how. Zero values are the defaults.
type Options struct {
	PID      int
	Roots    []string      // patterns of the root methods
	Scheme   Scheme        // "" takes what costs the target less
	Timing   cct.Timing    // "" is cct.Auto
	Period   uint32        // of cct.Sampled: one call in so many is timed; 0 is DefaultPeriod
	Budget   float64       // of cct.Auto: the part of the program's time that may be taken; 0 is DefaultBudget
	Duration time.Duration // 0 goes on until Calls, or until the context ends
	Calls    uint64        // of the root; 0 is no limit
	Into     []string      // patterns of classes to follow although they would be skipped
	Skip     []string      // patterns of classes not to follow, besides the JDK's
	Whole    bool          // figures are of the whole run, also of the time in which the program was slow by the hooks' going in
	Wait     time.Duration // how long a first call waits at most for its callees' hooks; 0 is DefaultWait
	Command  string        // for a human who asks who holds the JVM
	Force    bool          // weave also what the JDK would damage by that
	Cache    *cache.Cache  // where woven classes are kept; may be nil

	// Started is called once hooks are on, or where no root class is loaded yet,
	// once those that load are watched for.
	Started func()
	// Unmatched is told of patterns of roots that no loaded class matches, where no
	// root is loaded.
	Unmatched func([]session.Unmatched)
	// Progress is called some times a second, and when the stage changes.
	Progress func(Progress)
	Notice   func(string) // gets what a user should read
	Waiting  func(string) // gets what a slow end waits for; may be nil
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
	Weaving  Stage = "putting hooks in"
	Waiting  Stage = "waiting for the root's class to load"
	Running  Stage = "measuring"
	Leaving  Stage = "taking hooks out"
)

// A Progress is how far a run has come.
type Progress struct {
	Stage     Stage
	Elapsed   time.Duration // since hooks are on
	Hooks     int
	Classes   int // with hooks
	Woven     int // how often classes were woven
	Cached    int // how often they were in the cache
	Mirrored  int // classes that were read
	Rounds    int
	RootCalls uint64
	Waited    time.Duration // the target's threads waited in hooks
	Pause     time.Duration // the target stood still to put hooks in
	Steady    float64       // part of the program's time that hooks took so far; negative where not known
	Budget    float64       // 0 where none is kept
	Tree      func() (*cct.Profile, error)
}

// settings are options that have been checked.
type settings struct {
	Options
	roots *pattern.Set
	skip  *skipping
}

func (o Options) check() (*settings, error) {
	if o.Timing == "" {
		o.Timing = cct.Auto
	}
	if o.Period == 0 {
		o.Period = DefaultPeriod
	}
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	if o.Wait == 0 {
		o.Wait = DefaultWait
	}
	switch {
	case o.Scheme != "" && o.Scheme != Lazy && o.Scheme != Eager:
		return nil, fmt.Errorf("scheme %q: it is lazy or eager", o.Scheme)
	case o.Timing != cct.Exact && o.Timing != cct.Sampled && o.Timing != cct.Auto:
		return nil, fmt.Errorf("timing %q: it is exact, sampled or auto", o.Timing)
	case o.Scheme != "" && o.Timing == cct.Auto:
		return nil, fmt.Errorf("scheme %s: with timing auto the budget says when hooks go in: take timing exact or sampled with it", o.Scheme)
	case o.Budget < 0 || o.Budget > 1:
		return nil, fmt.Errorf("budget %g: it is a part of the program's time, such as 2%%", o.Budget)
	}
	roots, err := pattern.ParseSet(o.Roots...)
	if err != nil {
		return nil, fmt.Errorf("root: %w", err)
	}
	skip, err := newSkipping(o.Into, o.Skip, o.Roots)
	if err != nil {
		return nil, err
	}
	return &settings{Options: o, roots: roots, skip: skip}, nil
}
