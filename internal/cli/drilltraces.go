package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/own"
	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/drill"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

const (
	// mostTraced is how many methods the flight recorder traces at once.
	mostTraced = 30
	// mostTracedCalls is how many calls of them there may be in a second, short ones included. A call costs about 0.12 µs of
	// processor time, much more than a method takes that only computes a value, so frequent methods must not be traced.
	mostTracedCalls = 50_000
	// mostReported is how many calls may be reported at once, which is about once in a second. Beyond it, the threshold is raised.
	mostReported = 20_000
	// The threshold is this part of the goal, and not shorter than leastThreshold. A thread can report only as many calls as are so
	// long: 5,000 in a second on each level.
	thresholdPart  = 1000
	leastThreshold = 200 * time.Microsecond
	// afterTracing is for how long calls do not count after the recorder has changed classes.
	afterTracing = time.Second
)

// A methodTracing traces calls with the JVM's flight recorder, in a JVM that lets no agent in. Which methods a method calls is known
// from samples.
type methodTracing struct {
	why      string // there are no hooks
	recorder *sampler.Sampler
	calls    *drill.Recorded
	own      own.Packages // of the program itself
	traced   sampler.Traced
	changed  time.Time                    // when that was changed
	frequent map[classfile.MethodRef]bool // methods that are called too often to be traced
	rate     float64                      // calls of traced methods in a second, at most
}

func (t *methodTracing) describe() *drill.RecordedBy {
	return &drill.RecordedBy{Why: t.why, Threshold: t.traced.Threshold, Rate: t.rate}
}

// startTracing makes the flight recorder trace the methods, and begins to sample. It reports whether both are possible.
func (r *drillRun) startTracing(ctx context.Context, jvm *process.JVM, none *session.NoHooksError, methods []*pattern.Pattern) bool {
	set, err := pattern.NewSet(methods...)
	if err != nil || !sampler.Traces(jvm) || jvm.Attach.Answer == process.No {
		return false
	}
	if r.startBestSampling(ctx, r.pid, r.samplePeriod()) != nil {
		return false
	}
	t := &methodTracing{why: none.Why, own: own.Of(jvm, r.own), calls: drill.NewRecorded(set.Match), frequent: map[classfile.MethodRef]bool{}, changed: time.Now()}
	t.traced = sampler.Traced{Methods: r.tracedRoots(ctx, set), Threshold: max(r.slowerThan/thresholdPart, leastThreshold)}
	if len(t.traced.Methods) > 0 {
		r.screen.say("the JVM gets no hooks, because %s: the JVM's flight recorder traces calls instead. For that it changes classes, and restores them at the end", format.Printable(none.Why))
		if t.recorder, err = sampler.Start(ctx, r.pid, sampler.Options{Source: sampler.FlightRecorder, Traced: &t.traced}); err == nil {
			r.tracing, r.seen = t, t.calls
			return true
		}
		if !errors.Is(err, attach.ErrReadOnlyTmp) && ctx.Err() == nil {
			r.remark("calls are not traced: " + format.OneLine(err))
		}
	}
	r.stopSampling(ctx)
	return false
}

// tracedRoots returns the methods to trace at first: those that are named, and those that samples show if patterns have wildcards.
func (r *drillRun) tracedRoots(ctx context.Context, set *pattern.Set) (roots []classfile.MethodRef) {
	isSampled := false
	for _, p := range set.Includes() {
		named := p.Named()
		roots = append(roots, named...)
		isSampled = isSampled || len(named) == 0
	}
	if !isSampled || process.Pause(ctx, entrySampling) != nil {
		return roots
	}
	batch, _ := r.samples.Poll(ctx) // the next one fails, too
	for _, s := range batch.Samples {
		for _, f := range stackOf(s) {
			if m := f.Method.Ref(); f.IsJava() && set.Match(m) && !slices.Contains(roots, m) && len(roots) < mostTraced {
				roots = append(roots, m)
			}
		}
	}
	return roots
}

func stackOf(s jfr.Sample) []jfr.Frame {
	if s.Stack == nil {
		return nil
	}
	return s.Stack.Frames
}

// searchTraced goes from the method down to the cause by traced calls.
func (r *drillRun) searchTraced(ctx context.Context, jvm *process.JVM) error {
	r.about = trace.Target{PID: r.pid, Command: jvm.Main, JDK: jvm.Version}
	r.meter = cost.Watch(jvm)
	defer r.meter.Close()
	r.ready()
	r.start = time.Now()
	r.began = r.start.Add(afterTracing)
	r.watch(len(r.methods()))
	ended := r.search(ctx)
	r.stopSampling(ctx)
	return r.finish(ctx, ended)
}

// takeTraced takes in the calls that have ended.
func (r *drillRun) takeTraced(ctx context.Context) ending {
	t := r.tracing
	batch, err := t.recorder.Poll(ctx)
	for _, note := range batch.Notes {
		r.remark(note)
	}
	for _, tx := range t.calls.Add(batch.Calls) {
		r.add(tx)
	}
	timings := slices.DeleteFunc(batch.Timings, func(one jfr.Timing) bool { return one.At.Before(t.changed) })
	for _, short := range t.calls.AddTimings(timings, r.began) {
		if tree, calls := r.treeOf(short.Spot); tree != nil {
			short.Mean = min(short.Mean, t.traced.Threshold)
			tree.AddShort(short)
			calls.normal.AddShort(short)
		}
	}
	switch {
	case errors.Is(err, sampler.ErrEnded):
		return endedExited
	case err != nil && ctx.Err() == nil:
		r.remark(format.OneLine(err))
		return endedLost
	}
	return r.boundTracing(ctx, len(batch.Calls))
}

// boundTracing stops tracing methods that are called too often, and raises the threshold if too many calls are reported.
func (r *drillRun) boundTracing(ctx context.Context, reported int) ending {
	t := r.tracing
	rate := t.calls.Rate()
	t.rate = max(t.rate, rate)
	if rate <= mostTracedCalls && reported <= mostReported {
		return notEnded
	}
	path := append(r.seen.Roots(), r.seen.MethodsOf(r.path)...)
	tooMany := t.calls.TooFrequent(mostTracedCalls, func(m classfile.MethodRef) bool { return slices.Contains(path, m) })
	if rate > mostTracedCalls && len(tooMany) == 0 {
		r.remark(fmt.Sprintf("%s calls in a second are too many to be traced: the search ends", format.Grouped(int(rate))))
		return endedBudget
	}
	for _, m := range tooMany {
		t.frequent[m] = true
		r.screen.say("%s is called too often to be traced", format.Printable(m.QualifiedName()))
	}
	if reported > mostReported {
		t.traced.Threshold *= 4
	}
	// The recorder knows methods by their names only.
	isTooMany := drill.IsOn(tooMany)
	methods := slices.DeleteFunc(slices.Clone(t.traced.Methods), func(m classfile.MethodRef) bool { return isTooMany(m.Class, m.Name) })
	if err := r.retrace(ctx, methods); err != nil {
		r.remark(format.OneLine(err))
		return endedLost
	}
	r.beginLevel()
	return notEnded
}

// retrace makes the recorder trace other methods, and begins to collect again.
func (r *drillRun) retrace(ctx context.Context, methods []classfile.MethodRef) error {
	t := r.tracing
	t.traced.Methods = methods
	if err := t.recorder.Trace(ctx, t.traced); err != nil {
		return err
	}
	t.changed = time.Now()
	r.began = t.changed.Add(afterTracing)
	t.calls.Forget()
	r.pollSamples(ctx)
	r.evidence.Forget()
	r.again()
	return nil
}

// traceBelow makes the recorder trace what samples show below the last method of a path. It returns how many methods are new.
func (r *drillRun) traceBelow(ctx context.Context, choice drill.Choice) (added int, err error) {
	t := r.tracing
	methods := r.seen.MethodsOf(r.path)
	isOwn := t.own.Has
	if !isOwn(methods[0].Class) { // the search began in a library
		isOwn = func(string) bool { return true }
	}
	for _, m := range r.evidence.Traceable(choice, choice.Stop != drill.OwnTime, isOwn) {
		if len(methods) < mostTraced && !t.frequent[m] && !slices.Contains(methods, m) {
			methods = append(methods, m)
			if !slices.Contains(t.traced.Methods, m) {
				added++
			}
		}
	}
	if added == 0 {
		return 0, nil
	}
	text := r.stepText(choice)
	r.screen.say("%s: %s: %s", format.ShortDuration(time.Since(r.start)), format.Count(added, "more method is traced", "more methods are traced"), format.Printable(text))
	if err := r.retrace(ctx, methods); err != nil {
		return 0, err
	}
	r.steps = append(r.steps, drill.Step{At: time.Since(r.start), Text: text, Methods: len(methods), Woven: added})
	return added, nil
}
