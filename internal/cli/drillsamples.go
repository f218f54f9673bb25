package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/drill"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

const (
	// A slow call of the goal has about samplesPerCall samples, within these limits.
	samplesPerCall = 10
	leastSampling  = 5 * time.Millisecond
	mostSampling   = 20 * time.Millisecond
	dumpSampling   = 500 * time.Millisecond
	// enoughSamples is how many samples show what a method does.
	enoughSamples = 10
	// locksFor is how long thread dumps look for a lock that other samples do not show, dumpEvery how often, and enoughDumps
	// how many threads must wait for it.
	locksFor    = 3 * time.Second
	dumpEvery   = 150 * time.Millisecond
	enoughDumps = 3
	// targetsFor is how long threads are watched to know what they read from or write to, targetsEvery how often that is
	// looked at, and enoughTargets how often it must be seen.
	targetsFor    = 3 * time.Second
	targetsEvery  = 5 * time.Millisecond
	enoughTargets = 5
)

// A threadWatch is what threads do, by samples, and when the JVM stopped them.
type threadWatch struct {
	samples  *sampler.Sampler // nil if there are none
	sampled  string           // by what
	evidence drill.Evidence
	meter    *cost.Meter
	pauses   drill.Pauses
	readAt   time.Time     // when pauses were read
	stopped  time.Duration // by all pauses until then
}

// samplePeriod returns how often threads are sampled.
func (c *drillCommand) samplePeriod() time.Duration {
	return min(max(c.slowerThan/samplesPerCall, leastSampling), mostSampling)
}

// startSampling begins to sample what threads do, whether they run or wait.
func (w *threadWatch) startSampling(ctx context.Context, pid int, source sampler.Source, period time.Duration) error {
	s, err := sampler.Start(ctx, pid, sampler.Options{Source: source, Waiting: true, Period: period})
	if err != nil {
		return err
	}
	w.samples, w.sampled = s, source.String()
	if limits := source.Limits(); limits != "" {
		w.sampled += ", " + limits
	}
	return nil
}

// startBestSampling begins to sample by the kernel or, where that is not allowed, by thread dumps. The error says why the
// kernel cannot.
func (w *threadWatch) startBestSampling(ctx context.Context, pid int, period time.Duration) error {
	err := w.startSampling(ctx, pid, sampler.Kernel, period)
	if err != nil && w.startSampling(ctx, pid, sampler.ThreadDumps, dumpSampling) == nil {
		return nil
	}
	return err
}

func (w *threadWatch) stopSampling(ctx context.Context) {
	if w.samples != nil {
		_ = w.samples.Close(ctx) // it has changed nothing
		w.samples = nil
	}
}

// readPauses reads for how long the JVM stopped its threads since the last reading.
func (w *threadWatch) readPauses() {
	stopped, isKnown := w.meter.Stopped()
	now := time.Now()
	if isKnown && !w.readAt.IsZero() {
		w.pauses.Add(w.readAt, now, stopped-w.stopped)
	}
	w.stopped, w.readAt = stopped, now
}

// pollSamples keeps what threads did on the path.
func (r *drillRun) pollSamples(ctx context.Context) {
	if r.samples == nil {
		return
	}
	batch, err := r.samples.Poll(ctx)
	if err != nil {
		return // the end of the session says why
	}
	methods := append(r.seen.Roots(), r.seen.MethodsOf(r.onPath)...)
	if r.tracing != nil {
		methods = append(methods, r.tracing.traced.Methods...) // roots that have not been called yet
	}
	r.evidence.AddSamples(batch.Samples, batch.Period, drill.IsOn(methods))
}

// explain names the cause at the end of a path.
func (r *drillRun) explain(ctx context.Context, choice drill.Choice) {
	r.keepLevels(choice)
	r.cause = r.tree.Explain(choice, r.evidence.States(choice), r.evidence.Paused(r.pauses))
	last, _ := r.seen.MethodOf(choice.Last().Spot)
	r.findLock(ctx, r.cause, last)
	r.findTarget(ctx, r.cause, last)
}

// findTarget adds to a cause that is I/O what threads read from or write to in a method.
func (r *drillRun) findTarget(ctx context.Context, cause *drill.Cause, method classfile.MethodRef) {
	threads := r.evidence.InIO()
	if cause.Kind != drill.DoesIO || r.samples == nil || len(threads) == 0 {
		return
	}
	var seen drill.Targets
	for began := time.Now(); time.Since(began) < targetsFor && process.Pause(ctx, targetsEvery) == nil; {
		for _, thread := range threads {
			seen.Add(thread, time.Now(), process.Local.IOTarget(r.pid, int(thread)))
		}
		r.pollSamples(ctx)
		if cause.Target = seen.Most(r.evidence.Samples(), drill.IsOn([]classfile.MethodRef{method}), targetsEvery); cause.Target != nil && cause.Target.Seen >= enoughTargets {
			break
		}
	}
	cause.Describe()
}

// findLock adds to a cause that is a wait which object threads wait for in a method, if samples of the kernel do not show it:
// with ZGC, and in Object.wait.
func (r *drillRun) findLock(ctx context.Context, cause *drill.Cause, method classfile.MethodRef) {
	if !cause.IsWait() || cause.Lock != nil && cause.Lock.Class != "" {
		return
	}
	r.screen.say("%s: thread dumps will show which object", format.Printable(cause.Text))
	dumps, err := sampler.Start(ctx, r.pid, sampler.Options{Source: sampler.ThreadDumps, Waiting: true, Period: dumpEvery})
	if err != nil {
		r.remark("the lock is not known: " + format.OneLine(err))
		return
	}
	defer func() { _ = dumps.Close(ctx) }() // it has changed nothing
	var seen drill.Evidence
	for began := time.Now(); time.Since(began) < locksFor && process.Pause(ctx, dumpEvery) == nil; {
		batch, err := dumps.Poll(ctx)
		seen.AddSamples(batch.Samples, batch.Period, drill.IsOn([]classfile.MethodRef{method}))
		if lock := seen.Lock(); lock != nil {
			cause.Lock = lock
			cause.Describe()
		}
		if err != nil || cause.Lock != nil && cause.Lock.Seen >= enoughDumps {
			break
		}
	}
}

// searchWithoutHooks searches in a JVM that lets no agent in: by calls that its flight recorder traces or, if it cannot, by samples,
// which show where the time below the method goes.
func (r *drillRun) searchWithoutHooks(ctx context.Context, none *session.NoHooksError, methods []*pattern.Pattern) error {
	jvm, err := inspect(r.pid)
	if err != nil {
		return err
	}
	if r.startTracing(ctx, jvm, none, methods) {
		return r.searchTraced(ctx, jvm)
	}
	if len(r.entries) > 0 {
		return fmt.Errorf("process %d: no method can get a hook, because %s; without hooks, slow calls are not distinguished from normal calls: name a METHOD to see where its time goes, or use sonde walk", r.pid, none.Why)
	}
	if err := r.startBestSampling(ctx, r.pid, r.samplePeriod()); err != nil {
		return fmt.Errorf("neither hooks nor samples are possible: %s; %w", none.Why, err)
	}
	defer r.stopSampling(ctx)
	r.screen.say("the JVM gets no hooks, because %s: samples show where the time goes", format.Printable(none.Why))
	r.ready()
	r.start = time.Now()
	stacks := drill.NewStacks(r.set.Match)
	var last classfile.MethodRef
	describe := func() *drill.Result {
		so := &drill.Result{
			Target: cct.Target{PID: r.pid, Command: jvm.Main, JDK: jvm.Version}, Command: commandLine("drill", r.patterns), Methods: r.patterns, Goal: r.slowerThan,
			Began: r.start, Took: time.Since(r.start), SampledBy: r.sampled, Unhooked: &drill.Unhooked{Why: none.Why}, Removed: true,
		}
		last = stacks.Describe(so)
		return so
	}
	loop := waitLoop{screen: r.screen}
	loop.endAfter(r.duration, r.start)
	loop.addTask(progressEvery, func() ending {
		batch, err := r.samples.Poll(ctx)
		stacks.Add(batch.Samples, batch.Period)
		switch {
		case errors.Is(err, sampler.ErrEnded):
			return endedExited
		case err != nil && ctx.Err() == nil:
			r.remark(format.OneLine(err))
			return endedLost
		case stacks.IsEnough(time.Since(r.start)):
			return endedCause
		}
		r.drawPath(func() (*drill.Result, string) {
			so := describe()
			return so, format.Count(so.Unhooked.Samples, "sample", "samples") + ", without hooks"
		})
		return notEnded
	})
	ended := loop.wait(ctx)
	result := describe()
	if result.Cause != nil && ended != endedExited && ctx.Err() == nil {
		r.findLock(ctx, result.Cause, last)
	}
	if lost := stacks.Lost(); lost > result.Unhooked.Samples/100 {
		r.remark(fmt.Sprintf("%s not complete, and may lack %s", format.Count(lost, "sampled stack is", "sampled stacks are"), strings.Join(r.patterns, ", ")))
	}
	r.screen.clear()
	result.Ended, result.Notes = string(ended), r.remarksWith(nil)
	failure := r.write(result, ended)
	if result.Cause == nil && failure == nil {
		failure = fmt.Errorf("no sample showed %s within %s: check the name, or search longer, or while it is used", strings.Join(r.patterns, ", "), format.Duration(result.Took.Round(time.Millisecond)))
	}
	return failure
}
