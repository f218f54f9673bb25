package rootcause

import (
	"errors"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

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
	Climb func() *climb.Climb
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
