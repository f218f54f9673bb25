// Package suggest finds out which methods of a program are worth a probe, and proposes a
// set of probes that stays within a budget.
//
// For a running JVM it uses samples (where time goes), thread dumps (where threads wait) and
// class files (which methods use databases, the network or locks). It also counts the calls
// of the candidates for a few seconds, to estimate what a probe in each would cost. For
// archives there are only class files.
//
// A set covers a sample of a running thread if one of the callers on its stack is a method
// with a probe. Methods of which fewer than five calls ended while they were counted, such as
// a server's loop, cover nothing: a probe would report little or nothing of them.
package suggest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// Options say which JVM to observe, and how.
type Options struct {
	PID int
	session.Settings

	For    time.Duration // how long to observe: samples for the greater part, then counts
	Settle time.Duration // how much longer than --duration to observe, until there are enough samples and code with hooks is compiled again
	Budget float64       // part of the program's processor time that the probes may take
	Most   int           // how many methods are proposed at most

	Source   sampler.Source // of samples
	Progress func(Progress) // may be nil
}

// Defaults returns the options that suit most programs.
func Defaults() Options {
	return Options{For: 20 * time.Second, Settle: 20 * time.Second, Budget: 0.02, Most: 40}
}

// samplingPart is the part of the time in which samples are taken; calls are counted in
// the rest.
const samplingPart = 0.65

// Parts returns how long samples are taken, and how long calls are counted.
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

// The stages, in order; Applying and Measuring belong to a trial.
const (
	Sampling Stage = "taking samples"
	Reading  Stage = "reading classes"
	Weaving  Stage = "installing hooks to count calls"
	Counting Stage = "counting calls"
	// Rehearsing is counting with hooks only in the methods that would be proposed.
	Rehearsing Stage = "counting again, with hooks in the proposed methods"
	Leaving    Stage = "removing the hooks"
	Applying   Stage = "applying the proposed probes"
	Measuring  Stage = "measuring their cost and coverage"
)

// Progress is how far an observation has come.
type Progress struct {
	Stage   Stage
	Samples int
	Methods int // candidates, or methods with a probe
}

// ErrIdle says that no thread of the program ran.
var ErrIdle = errors.New("no thread was running while samples were taken: observe the program while it works, or longer with --duration")

// ErrNothing says that no method can be proposed.
var ErrNothing = errors.New("no method is suitable for a probe: calls of the candidates did not end while they were counted, or measuring them would exceed the budget; observe longer with --duration, or raise --budget")

// An observer is one observation under way.
type observer struct {
	Options
	look      *look
	code      *Code
	session   *session.Look
	picked    []*Candidate
	rehearsed []*Candidate                   // candidates that would be chosen by the first count
	left      map[classfile.MethodRef]string // candidates that cannot have a probe, and why
	jdk       string
	main      string
	probe     overhead.ProbeCost
	waited    time.Duration // of Settle
	counted   time.Duration
	isCut     bool // the user has ended it while calls were counted
}

// patience returns how much longer the observation may take.
func (o *observer) patience() time.Duration { return max(0, o.Settle-o.waited) }

// Run observes a JVM and proposes probes.
func Run(ctx context.Context, options Options) (*Proposal, error) {
	o := &observer{Options: options, code: newCode(), left: make(map[classfile.MethodRef]string)}
	if err := o.checkFree(ctx); err != nil {
		return nil, err
	}
	if err := o.sample(ctx); err != nil {
		return nil, err
	}
	if o.look.table.Samples == 0 {
		return nil, fmt.Errorf("process %d: %w", o.PID, ErrIdle)
	}
	o.picked = pick(o.look)
	if err := o.readAndCount(ctx); err != nil {
		return nil, err
	}
	p := o.propose()
	if len(p.Choices) == 0 {
		why := ""
		if len(p.Left) > 0 {
			why = fmt.Sprintf(" (%s: %s)", p.Left[0].Method.QualifiedName(), p.Left[0].Why)
		}
		return nil, fmt.Errorf("process %d: %w%s", o.PID, ErrNothing, why)
	}
	return p, nil
}

func (o *observer) enter(stage Stage) {
	if o.Progress == nil {
		return
	}
	p := Progress{Stage: stage, Methods: len(o.picked)}
	if o.look != nil && o.look.table != nil {
		p.Samples = o.look.table.Samples
	}
	o.Progress(p)
}

// checkFree refuses a JVM that another Sonde holds, or that no agent can enter, before time is spent on samples.
func (o *observer) checkFree(ctx context.Context) error {
	jvm, err := process.Local.Inspect(o.PID)
	if err != nil {
		return &session.NoSuchJVM{PID: o.PID, Cause: err}
	}
	if err := session.CheckHooks(jvm); err != nil {
		return err
	}
	owners, _, err := session.Owners(ctx, jvm, false)
	if err != nil {
		return err
	}
	for _, owner := range owners {
		if owner.IsInTheWay(&o.Settings) && owner.Alive == process.Yes {
			err = &session.HeldError{PID: o.PID, Holder: owner.Holder()}
		}
		owner.Close()
	}
	return err
}

// fewSamples are not enough: a program that runs now and then is sampled longer.
const fewSamples = 200

// sample observes the program without changing it.
func (o *observer) sample(ctx context.Context) (err error) {
	if o.look, err = o.watch(ctx, true); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.look.close(ctx)) }()
	o.main = o.look.sampler.JVM().Main
	o.enter(Sampling)
	sampling, _ := o.Parts()
	if err := o.look.follow(ctx, sampling, nil); err != nil || o.look.table.Samples >= fewSamples {
		return err
	}
	longer := min(sampling, o.patience())
	o.waited += longer
	o.look.deadline = time.Time{}
	return o.look.follow(ctx, longer, nil)
}

func (o *observer) open(ctx context.Context, stage Stage) (err error) {
	o.enter(stage)
	o.session, err = session.Open(ctx, o.PID, o.Settings)
	return err
}

func (o *observer) leave(ctx context.Context) error {
	o.enter(Leaving)
	farewell, err := o.session.Close(ctx)
	for _, remark := range farewell.Remarks {
		o.notice(remark)
	}
	return errors.Join(err, o.session.Release())
}

// readAndCount reads classes and counts calls, and leaves the JVM as it was.
func (o *observer) readAndCount(ctx context.Context) (err error) {
	if err := o.open(ctx, Reading); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.leave(ctx)) }()
	o.jdk = o.session.JDK().String()
	if err := o.readClasses(ctx); err != nil {
		return err
	}
	return o.count(ctx)
}

// readClasses reads the class files of the candidates, and of all other classes of the program:
// small methods that candidates call may show what they deal with.
func (o *observer) readClasses(ctx context.Context) error {
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
			reasons[class.Name] = "its loader finds no class file for it"
		case o.code.add(class.File) != nil:
			reasons[class.Name] = "its class file cannot be read"
		}
	}
	others, err := o.session.Survey(ctx, func(class string) bool {
		return !callgraph.IsJDK(class) && !isOurs(class) && !passesOn(class)
	})
	if err != nil {
		return err
	}
	for _, class := range others {
		if class.File != nil {
			_ = o.code.add(class.File) // a file that cannot be read shows nothing
		}
	}
	o.picked = slices.DeleteFunc(o.picked, func(c *Candidate) bool {
		why := reasons[c.Class]
		if why == "" {
			why = o.code.equip(c)
		}
		o.left[c.MethodRef] = why // "" is not reported
		return why != ""
	})
	return nil
}

// Reasons of most methods without a probe; they are not reported.
const (
	isTiny = "it is so small that compilers inline it: a probe would cost more than the method itself"
	isMade = "it has no bytecode, or is a bridge method"
)

// equip completes a candidate by its class file; it returns why that cannot have a probe.
func (c *Code) equip(one *Candidate) string {
	named := c.named(one.MethodRef)
	tiny := 0
	for _, m := range named {
		switch {
		case m.Bytes == 0 || m.access.Has(classfile.AccBridge):
		case m.isTiny():
			tiny++
		default:
			one.Members = append(one.Members, m.MethodRef)
		}
	}
	switch {
	case len(named) == 0:
		return "its class is hidden, or not loaded any more"
	case len(one.Members) == 0 && tiny > 0:
		return isTiny
	case len(one.Members) == 0:
		return isMade
	}
	if one.Pattern = pattern.Of(one.MethodRef, c.isAlone(one.MethodRef)); one.Pattern == "" {
		return "no pattern names it"
	}
	one.Nature = c.nature(one.MethodRef)
	return ""
}

// count finds out how often candidates are called.
func (o *observer) count(ctx context.Context) (err error) {
	if len(o.picked) == 0 {
		return nil
	}
	o.enter(Weaving)
	if o.probe, err = overhead.MeasureProbe(ctx, o.session); err != nil {
		return err
	}
	if _, err := o.session.Hook(ctx, request(o.picked)); err != nil { // in one batch, switched off
		return err
	}
	if err := o.settle(ctx); err != nil {
		return err
	}
	o.enter(Counting)
	_, counting := o.Parts()
	if err := o.countPicked(ctx, counting/2); err != nil {
		return err
	}
	isHooked := func(m classfile.MethodRef) bool { return o.session.IsHooked(o.session.ID(m)) }
	for _, one := range o.picked {
		if !slices.ContainsFunc(one.Members, isHooked) {
			one.Measured = false
			o.left[one.MethodRef] = "its hook could not be installed"
		}
	}
	if o.isCut {
		for _, choice := range choose(o.look.paths, o.picked, o.limits()) {
			o.rehearsed = append(o.rehearsed, choice.Candidate)
		}
		return nil
	}
	return o.rehearse(ctx, counting/2)
}

// rehearse counts again with hooks only in the methods that would be chosen: with hooks in
// all candidates a program is slower than with the proposed ones, and makes fewer calls
// for its processor time.
func (o *observer) rehearse(ctx context.Context, long time.Duration) error {
	others := slices.Clone(o.picked)
	for _, choice := range choose(o.look.paths, o.picked, o.limits()) {
		o.rehearsed = append(o.rehearsed, choice.Candidate)
		others = slices.DeleteFunc(others, func(one *Candidate) bool { return one == choice.Candidate })
	}
	if len(o.rehearsed) == 0 {
		return nil
	}
	o.enter(Rehearsing)
	setAll(others, 0)
	if _, err := o.session.Unhook(ctx, request(others)); err != nil {
		return err
	}
	if err := o.settle(ctx); err != nil {
		return err
	}
	setAll(o.rehearsed, timeCalls) // as their probes will be
	counted, latest, err := o.untilSteady(ctx, o.rehearsed, long)
	if err != nil {
		return err
	}
	return o.take(ctx, counted, latest)
}

func (o *observer) limits() Limits {
	return Limits{Budget: o.Budget, Most: o.Most, Samples: o.look.table.Samples}
}
