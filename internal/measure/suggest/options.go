package suggest

import (
	"errors"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// Options say which JVM to observe, and how.
type Options struct {
	PID     int
	Command string // for a human who asks who holds the JVM

	For    time.Duration // how long to look: samples for the greater part, then counts
	Budget float64       // part of the program's processor time that the probes may take
	Most   int           // how many methods are proposed at most

	Source   sampler.Source // of samples
	Force    bool           // weave also what the JDK would damage by that
	Cache    *cache.Cache   // where woven classes are kept; may be nil
	Notice   func(string)   // gets what a user should read; may be nil
	Waiting  func(string)   // gets what a slow end waits for; may be nil
	Progress func(Progress) // is told how far it is; may be nil
}

// Defaults are what suits most programs.
func Defaults() Options { return Options{For: 20 * time.Second, Budget: 0.02, Most: 40} }

var errOptions = errors.New("an observation needs a time, a budget above 0 and room for a method")

func (o *Options) check() error {
	if o.For <= 0 || o.Budget <= 0 || o.Most < 1 {
		return errOptions
	}
	return nil
}

// samplingPart is the part of the time in which samples are taken; calls are counted in
// the rest.
const samplingPart = 0.65

// Parts are how long samples are taken, and how long calls are counted.
func (o *Options) Parts() (sampling, counting time.Duration) {
	sampling = time.Duration(samplingPart * float64(o.For)).Round(time.Millisecond)
	return sampling, o.For - sampling
}

func (o *Options) notice(text string) {
	if o.Notice != nil {
		o.Notice(text)
	}
}

// A Stage is what an observation is doing.
type Stage string

// The stages, in order; Applying and Measuring are of a trial.
const (
	Sampling Stage = "taking samples"
	Reading  Stage = "reading classes"
	Weaving  Stage = "putting hooks in to count"
	Counting Stage = "counting calls"
	// Rehearsing is counting with hooks in what would be proposed alone.
	Rehearsing Stage = "counting again, with hooks in what is proposed"
	Leaving    Stage = "taking the hooks out"
	Applying   Stage = "applying what is proposed"
	Measuring  Stage = "measuring what that costs and covers"
)

// Progress is how far an observation is.
type Progress struct {
	Stage   Stage
	Samples int
	Methods int // candidates, or methods with a probe
}
