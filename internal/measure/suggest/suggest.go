// Package observe finds out which methods of a program are worth a probe, and proposes
// a set of probes that stays inside a budget.
//
// Of a running JVM it takes samples, which say where time goes; thread dumps, which say
// where threads wait; class files, which say what methods have to do with: databases,
// the network, locks; and it counts the calls of the candidates for a few seconds, which
// says what a probe in each would cost. Of archives there are only class files.
//
// What a set covers is the share of all samples, of threads of the program that run, in
// whose stack a method with a probe stands above the leaf: it has called, directly or
// not, what was running. Methods whose calls did not end while they were counted, such
// as a server's loop, cover nothing: a probe would never tell of them.
package suggest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// ErrIdle says that no thread of the program ran.
var ErrIdle = errors.New("no thread of it ran while samples were taken: observe it while it works, or longer with --for")

// ErrNothing says that no method can be proposed.
var ErrNothing = errors.New("no method was found whose calls a probe could tell of inside the budget: observe longer with --for, or raise --budget")

// An observer is one observation under way.
type observer struct {
	Options
	look      *look
	code      *Code
	session   *session.Session
	picked    []*Candidate
	rehearsed []*Candidate      // of those, that would be chosen by the first count
	left      map[Method]string // candidates that cannot have a probe, and why
	jdk       string
	main      string
	tariff    overhead.ProbeCost
}

// Run observes a JVM and proposes probes.
func Run(ctx context.Context, options Options) (*Proposal, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	o := &observer{Options: options, code: newCode(), left: make(map[Method]string)}
	if err := o.isFree(ctx); err != nil {
		return nil, err
	}
	if err := o.sample(ctx); err != nil {
		return nil, err
	}
	if o.look.table.Samples == 0 {
		return nil, fmt.Errorf("process %d: %w", o.PID, ErrIdle)
	}
	o.picked = pick(o.look)
	if err := o.enter(ctx); err != nil {
		return nil, err
	}
	p := o.propose()
	if len(p.Choices) == 0 {
		why := ""
		if len(p.Left) > 0 {
			why = fmt.Sprintf(" (%s: %s)", p.Left[0].Method, p.Left[0].Why)
		}
		return nil, fmt.Errorf("process %d: %w%s", o.PID, ErrNothing, why)
	}
	return p, nil
}

func (o *observer) tell(stage Stage) {
	if o.Progress != nil {
		o.Progress(Progress{Stage: stage, Samples: o.samples(), Methods: len(o.picked)})
	}
}

func (o *observer) samples() int {
	if o.look == nil || o.look.table == nil {
		return 0
	}
	return o.look.table.Samples
}

// isFree refuses a JVM that another Sonde or a pack holds, before time is spent on samples.
func (o *observer) isFree(ctx context.Context) error {
	jvm, err := process.Local.Inspect(o.PID)
	if err != nil {
		return &session.NoSuchJVM{PID: o.PID, Cause: err}
	}
	occupants, _, err := session.Owners(ctx, jvm, false)
	if err != nil {
		return err
	}
	for _, occupant := range occupants {
		if occupant.Pack != "" || occupant.Alive == process.Yes {
			err = &session.HeldError{PID: o.PID, Holder: occupant.Holder()}
		}
		occupant.Close()
	}
	return err
}

// sample looks at the program without changing it.
func (o *observer) sample(ctx context.Context) (err error) {
	w, err := watch(ctx, &o.Options, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close(ctx)) }()
	o.main = w.jvm().Main
	o.tell(Sampling)
	sampling, _ := o.Parts()
	for range longLook { // a program that runs now and then is looked at for longer
		if err := follow(ctx, w, sampling, nil); err != nil {
			return err
		}
		if o.look = w.result(); o.look.table.Samples >= fewSamples {
			return nil
		}
		w.deadline = time.Time{}
	}
	return nil
}

// fewSamples say little: then it is looked at for longer, up to so many times as long.
const (
	fewSamples = 200
	longLook   = 2
)

// follow takes samples for a while, and those that come late.
func follow(ctx context.Context, w *watcher, long time.Duration, ended <-chan struct{}) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	until := time.Now().Add(long)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return session.ErrEnded
		case <-ticker.C:
		}
		if now := time.Now(); now.After(until) && w.deadline.IsZero() {
			if err := w.over(); err != nil {
				return err
			}
		}
		if err := w.poll(ctx); err != nil {
			return err
		}
		if !w.deadline.IsZero() && time.Since(w.deadline) >= late {
			return nil
		}
	}
}

// leaveLimit bounds how long the JVM may take to be put back.
const leaveLimit = 90 * time.Second

// enter reads classes and counts calls, and leaves the JVM as it was.
func (o *observer) enter(ctx context.Context) (err error) {
	o.tell(Reading)
	o.session, err = session.Open(ctx, o.PID, session.Settings{Command: o.Command, Force: o.Force, Notice: o.Notice, Waiting: o.Waiting, Cache: o.Cache})
	if err != nil {
		return err
	}
	defer func() {
		o.tell(Leaving)
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
		defer cancel()
		farewell, closing := o.session.Close(leaving)
		for _, remark := range farewell.Remarks {
			o.notice(remark)
		}
		err = errors.Join(err, closing, o.session.Release())
	}()
	o.jdk = o.session.JDK().String()
	if err := o.read(ctx); err != nil {
		return err
	}
	return o.count(ctx)
}

// count finds out how often candidates are called.
func (o *observer) count(ctx context.Context) error {
	if len(o.picked) == 0 {
		return nil
	}
	o.tell(Weaving)
	c := &counter{session: o.session, candidates: o.picked, use: max(o.look.use, leastUse), budget: o.Budget}
	var err error
	if c.tariff, err = overhead.MeasureProbe(ctx, o.session); err != nil {
		return err
	}
	if err := c.weave(ctx); err != nil {
		return err
	}
	o.tell(Counting)
	_, counting := o.Parts()
	if err := c.count(ctx, counting/2); err != nil {
		return err
	}
	for _, one := range o.picked {
		if !slices.ContainsFunc(one.Members, func(m Method) bool { return o.session.IsHooked(o.session.ID(m.Class, m.Name, m.Descriptor)) }) {
			one.Measured = false
			o.left[one.Method] = "the JVM has not taken its hook"
		}
	}
	if err := o.rehearse(ctx, c, counting/2); err != nil {
		return err
	}
	o.tariff = c.tariff
	return nil
}

// rehearse has hooks in what would be chosen and nothing else, and counts again: with
// hooks in all candidates a program is slower than with those that are proposed, and
// makes fewer calls for its processor time.
func (o *observer) rehearse(ctx context.Context, c *counter, long time.Duration) error {
	o.rehearsed = nil
	for _, choice := range choose(o.look.paths, o.picked, o.limits()) {
		o.rehearsed = append(o.rehearsed, choice.Candidate)
	}
	if len(o.rehearsed) == 0 {
		return nil
	}
	o.tell(Rehearsing)
	return c.recount(ctx, o.rehearsed, long)
}

func (o *observer) limits() Limits {
	return Limits{Budget: o.Budget, Most: o.Most, Samples: o.look.table.Samples}
}

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

// read gets class files: of the candidates, then of all else that is the program's, as
// what they have to do with may be said by small methods that they call.
func (o *observer) read(ctx context.Context) error {
	classes := make(map[string]bool)
	for _, c := range o.picked {
		classes[c.Class] = true
	}
	isWanted := func(class string) bool { return classes[class] }
	loaded, err := o.session.Prefetch(ctx, isWanted, isWanted)
	if err != nil {
		return err
	}
	reasons := make(map[string]string)
	for _, class := range loaded {
		switch {
		case class.Reason != "":
			reasons[class.Name] = class.Reason
		case class.File == nil:
			reasons[class.Name] = "its loader finds no class file of it"
		case o.code.add(class.File) != nil:
			reasons[class.Name] = "its class file cannot be read"
		}
	}
	others, err := o.session.Survey(ctx, func(class string) bool {
		return !isLibrary(class) && !Method{Class: class}.isOurs() && !Method{Class: class}.carries()
	})
	if err != nil {
		return err
	}
	for _, class := range others {
		if class.File != nil {
			_ = o.code.add(class.File) // what cannot be read says nothing
		}
	}
	o.picked = slices.DeleteFunc(o.picked, func(c *Candidate) bool {
		why := reasons[c.Class]
		if why == "" {
			why = o.equip(c)
		}
		if why != "" {
			o.left[c.Method] = why
		}
		return why != ""
	})
	return nil
}

// Why most methods have no probe: nobody need be told.
const (
	isTiny = "it is so small that compilers put it into its callers: a probe in it would cost more than it does"
	isMade = "it is native, or was made by a compiler to call another"
)

// equip completes a candidate by its class file; what it gives is why that is none.
func (o *observer) equip(c *Candidate) string {
	named := o.code.named(c.Method)
	tiny := 0
	for _, m := range named {
		if m.bytes == 0 || m.isMade() {
			continue
		}
		if m.isTiny() {
			tiny++
			continue
		}
		c.Members = append(c.Members, Method{c.Class, m.name, m.descriptor})
	}
	switch {
	case len(named) == 0:
		return "its class is hidden, or not loaded any more"
	case len(c.Members) == 0 && tiny > 0:
		return isTiny
	case len(c.Members) == 0:
		return isMade
	}
	if c.Pattern = c.pattern(o.code.isAlone(c.Method)); c.Pattern == "" {
		return "no pattern names it"
	}
	c.Nature = o.code.nature(c.Method)
	return ""
}
