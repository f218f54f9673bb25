package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/own"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/drill"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/text"
	"github.com/sonde-jvm/sonde/internal/service"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

type drillCommand struct {
	targetFlags
	slowerThan time.Duration
	duration   time.Duration
	part       float64 // budget
	own        []string
	fromStart  bool
	json       bool
	outputs    []string
}

func newDrill(s streams) *cobra.Command {
	c := &drillCommand{targetFlags: targetFlags{streams: s}}
	command := &cobra.Command{
		Use:     "drill PID [METHOD...]",
		Short:   "Find out why calls of a method are slow: from the method down to the cause",
		Long:    drillLong,
		Example: drillExamples,
		Args:    atLeast("PID"),
		RunE:    checkAndRun(c),
	}
	flags := command.Flags()
	flags.Var(span(&c.slowerThan, 0, 0, 0), "slower-than", "calls that take longer are slow, the others normal")
	flags.VarP(span(&c.duration, drillDuration, time.Second, 0), "duration", "d", "end after this time, with what was found until then")
	flags.Var(share(&c.part, drillBudget), "budget", "part of the program's CPU time that hooks may cost; beyond it, fewer calls are traced, and this is reported")
	flags.StringSliceVar(&c.own, "own", nil, "package of the program itself, whose methods get hooks first; may be repeated (default: guessed from main class and class path)")
	flags.BoolVar(&c.fromStart, "from-start", false, "do not begin with what an earlier search has found")
	flags.BoolVar(&c.json, "json", false, "write one JSON object to standard output instead of the report")
	flags.StringArrayVarP(&c.outputs, "output", "o", nil, "file to write: .html, .json or .txt; may be repeated")
	c.targetFlags.register(flags)
	c.registerYes(flags)
	c.settle.register(flags)
	return command
}

const (
	drillDuration = time.Minute
	drillBudget   = 0.02
)

const drillLong = `Find out why some calls of a method take longer than they should, automatically. The method
gets a hook. When there were slow calls (--slower-than), the methods that it can call
according to the bytecode get hooks too, which measure only calls below the method. Slow calls
are compared with normal calls, to find the callee that accounts for the excess. The search
goes on in that callee, with the other hooks switched off, until one of these ends it:

own time   none of the callees can have a hook, such as methods of the JDK
a wait     for a lock (with its class and the thread that has it), I/O (with the other side of
           the connection, or the file), sleep, park, Object.wait, or pauses of the JVM.
           Samples of the threads say which it is: by the kernel, or where that is not
           allowed by thread dumps
spread     no callee has more than a small part of the excess
--budget   the hooks would cost more, even if methods that are called very often have no
           callees with hooks, and only one call in 1,000 is traced
--duration the time is over

Slow and normal calls are compared by data, too. Up to eight values are read at the entry of
the method: arguments that are numbers, texts, enums or booleans, sizes of collections and
arrays, and the same kinds of values in fields and getters of arguments, if the getters only
read. In methods further down, only values that are likely to repeat are read: enums, booleans,
classes, and texts called type, status, tenant and the like. Values whose names sound like
secrets are not read. The result shows which values or pairs of values slow calls have in
common, and how many normal calls have them.

The path to the cause is remembered, with the class files of its methods. The next search below
the method, by sonde drill or for a missed goal (sonde apply), installs hooks on the whole path
in its first step, unless a class has changed. Fresh figures show whether the cause is still the
same; if not, the search goes on as usual. sonde callees --found writes the methods as probes.

Figures count only when the program runs as before its classes were changed (--settle). All
hooks are removed at the end, also after Ctrl-C, which prints what was found until then. If no
call is slow, the result says that.

For each method on the way down, the result has
SLOW     its mean time in slow calls       EXCESS  its part of the additional time of slow calls
NORMAL   its mean time in normal calls     95 %    confidence interval of this part
CALLS    its calls in a slow and in a normal call

sonde help patterns describes patterns. If several methods match, the search goes on in the
method whose slow calls took most time. A method whose calls are all slow is chosen only if no
other method has slow calls. Without METHOD, samples of all threads show for 3 s where work
enters the program. The search then works as if the own methods (--own) nearest to the entry
of each thread were named.

A JVM that admits no agent (-XX:-EnableDynamicAgentLoading, -XX:+DisableAttachMechanism) gets
no hooks. From JDK 25 on, if attaching is allowed, its flight recorder traces calls instead: of
METHOD, and of at most 30 methods that samples show below it (own methods and their callees).
The JVM changes the classes of these methods, and restores them at the end. Values are not
compared, and the cost is not measured. Otherwise samples show where the time below METHOD goes,
down to the dominating method or wait. They do not distinguish slow calls from normal calls.

-o writes the result to files, in the format of their names: .html for a browser, .json for
other programs (docs/formats/drill.md), .txt.`

const drillExamples = `  sonde drill 4711 com.acme.Shop.checkout --slower-than 200ms
  sonde drill 4711 --slower-than 1s
  sonde drill 4711 com.acme.Shop.checkout --slower-than 50ms --duration 5m -o slow.html
  sonde drill 4711 'com.acme.web.*Handler.handle' --slower-than 1s --budget 1%
  sonde drill 4711 com.acme.Shop.checkout --slower-than 200ms --json | jq .cause`

func (c *drillCommand) check(args []string, _ func(string) bool) error {
	var err error
	if len(args) > 1 {
		err = c.parse(args)
	} else {
		c.pid, err = processNumber(args[0])
	}
	if err != nil {
		return err
	}
	if c.slowerThan == 0 {
		return usage("--slower-than is missing: it says which calls are slow, such as --slower-than 200ms")
	}
	if err := checkPackages("own", c.own); err != nil {
		return err
	}
	return checkOutputs(c.outputs, report.Drills.Check)
}

const (
	// drillAhead is how many levels of callees get hooks in one step, because each step changes classes, and the program
	// has to settle. If samples show the way, all methods on it get hooks, with their callees.
	drillAhead = 2
	// drillBudgetEvery is how often the cost of hooks is compared with the budget, pausesEvery how often pauses are read.
	drillBudgetEvery = 300 * time.Millisecond
	leastShare       = 200 * time.Millisecond
	// burst is with how many calls hooks in frequent methods are switched off before their cost is known, and burstEvery how
	// often that is looked at: a slow call may call a method for each of a million rows.
	burst       = 10_000
	burstEvery  = 50 * time.Millisecond
	pausesEvery = 10 * time.Millisecond
	// drillRingBytes is the size of a thread's ring: slow calls may call a method thousands of times.
	drillRingBytes = 1 << 20
	// fewLost is how many transactions may be lost at a level because the buffers of their threads were full.
	fewLost = 2
)

// The endings of a search, besides those of other live commands.
const (
	endedEnough  ending = "enough" // there are enough calls to decide; the search goes on
	endedCause   ending = "cause"
	endedHealthy ending = "healthy"
	endedBudget  ending = "budget"
)

// A drillRun is one search.
type drillRun struct {
	*drillCommand
	liveSession
	entries []string // patterns, if no method was named
	rings   *trace.Reader
	start   time.Time // when the search began
	steps   []drill.Step
	lost    int // transactions that could not be compared
	about   trace.Target
	tracing *methodTracing // nil with hooks
	descent
	comparedValues
	threadWatch
	hookLoad
}

// A hookLoad is what hooks cost the program.
type hookLoad struct {
	period       uint32             // of how many calls one is traced
	shares       overhead.Shares    // parts of the program's time that hooks took
	budgetAt     cost.Reading       // the last look at the budget
	counted      uint64             // calls of hooks until then
	written      uint64             // calls that hooks have written into rings since then
	callsBefore  map[uint32]uint64  // of each hook, when collecting began
	tooOften     map[string]float64 // methods without hooks because they have too many calls: how many in each call of the roots
	missed       int                // transactions that were lost until then
	isDescending bool               // callees have got hooks, and are compared for the first time
}

func (c *drillCommand) run(ctx context.Context) error {
	defer ignoreBrokenPipe()()
	r := &drillRun{
		drillCommand: c, liveSession: liveSession{target: &c.targetFlags, screen: newScreen(c.streams), isTraced: true},
		descent:        newDescent(nil, c.slowerThan),
		comparedValues: comparedValues{values: map[string]string{}},
		hookLoad:       hookLoad{tooOften: map[string]float64{}},
	}
	if len(c.patterns) == 0 {
		if err := r.findEntries(ctx); err != nil {
			return interruption(ctx, err)
		}
	}
	methods, err := pattern.ParseAll(r.methods()...)
	if err != nil {
		return &usageError{err}
	}
	r.applied.set = &probeset.Set{HandOff: true, Probes: []probeset.Probe{{Name: tracedName, Methods: methods, Level: probeset.Trace, Levels: mostTraceLevels}}}
	r.applied.options = liveprobes.Options{Own: own.Given(c.own), Focus: true, RingBytes: drillRingBytes}
	r.prepare = func() error {
		r.readValues(ctx)
		return nil
	}
	if err := r.enter(ctx, "drill", arena.On|arena.Timed, 0); err != nil {
		var none *session.NoHooksError
		if errors.As(err, &none) {
			return r.searchWithoutHooks(ctx, none, methods)
		}
		return err
	}
	if why := r.recovery.Disturbed(); why != "" && ctx.Err() == nil {
		return r.abandon(ctx, fmt.Errorf("nothing was compared, because Sonde's changes still slow the program (%v): --settle waits longer, --no-settle compares at once", r.recovery))
	}
	s := r.session
	r.seen, r.about = r.applied.Probes, trace.Target{PID: r.pid, Command: s.JVM().Main, JDK: fmt.Sprint(s.JDK())}
	defer func() { _ = s.Release() }()
	r.meter = cost.Watch(s.JVM())
	defer r.meter.Close()
	r.rings = trace.NewReader(s, r.applied.Probes, nil, settleTime)
	r.measureTraceCost(ctx, r.rings)
	r.start = r.began
	r.watch(len(r.applied.Roots()))
	_ = r.startSampling(ctx, r.pid, sampler.Kernel, r.samplePeriod())
	ended := r.search(ctx)
	r.stopSampling(ctx)
	return r.finish(ctx, ended)
}

// watch adds the first step.
func (r *drillRun) watch(methods int) {
	step := "trace " + strings.Join(r.methods(), ", ")
	if len(r.entries) > 0 {
		step = "trace where work enters the program"
	}
	r.steps = append(r.steps, drill.Step{Text: step, Methods: methods, Woven: methods})
}

// methods returns the patterns of the methods where the search begins.
func (r *drillRun) methods() []string {
	if len(r.entries) > 0 {
		return r.entries
	}
	return r.patterns
}

// entrySampling is how long threads are sampled to find out where work enters the program.
const entrySampling = 3 * time.Second

// findEntries finds the methods to watch, if none was named.
func (r *drillRun) findEntries(ctx context.Context) error {
	jvm, err := inspect(r.pid)
	if err != nil {
		return err
	}
	packages := own.Of(jvm, r.own)
	r.screen.say("%s", format.Printable(packages.String()))
	if err := r.startBestSampling(ctx, r.pid, mostSampling); err != nil {
		return err
	}
	defer r.stopSampling(ctx)
	if err := process.Pause(ctx, entrySampling); err != nil {
		return err
	}
	batch, err := r.samples.Poll(ctx)
	if err != nil {
		return err
	}
	for _, m := range drill.Entries(batch.Samples, packages.Has) {
		if text := pattern.Of(m, false); text != "" {
			r.entries = append(r.entries, text)
		}
	}
	if len(r.entries) == 0 {
		return fmt.Errorf("no thread was in a method of the program's own packages within %v: search while the program works, or name a METHOD; --own names the packages", entrySampling)
	}
	r.screen.say("tracing where work enters the program: %s", format.Printable(strings.Join(r.entries, ", ")))
	return nil
}

// search goes from the method down to the cause, and returns why it ended.
func (r *drillRun) search(ctx context.Context) ending {
	if ended := r.collect(ctx, r.isEnoughToBegin); ended != endedEnough {
		return ended
	}
	r.chooseRoot(ctx)
	r.recall(ctx)
	if r.samples == nil { // thread dumps stop the program: they are for slow ones only
		if err := r.startSampling(ctx, r.pid, sampler.ThreadDumps, dumpSampling); err != nil {
			r.remark("what threads do in slow calls is not known: " + format.OneLine(err))
		}
	}
	for {
		choice := r.choose()
		if choice.Open == nil {
			ended := r.collect(ctx, func() bool { return r.isExplained(choice) })
			if ended == endedEnough && !r.isWait && r.cause != nil && r.cause.AwaitsTask() {
				r.isWait = true
				if len(r.tree.Choose(r.path, r.isOpen, true).Path) > len(choice.Path) {
					r.path = choice.Spots()
					r.screen.say("%s; the search goes on in the task that it waits for", format.Printable(r.cause.Text))
					continue
				}
			}
			if ended != endedEnough {
				return ended
			}
			again := r.tree.Choose(r.path, r.isOpen, r.isWait)
			if again.Open != nil || again.Last() != choice.Last() {
				continue // by now there are more calls, and they show another way
			}
			if !r.reopens(again) {
				r.explain(ctx, again)
				return endedCause
			}
			choice = again
			choice.Open = again.Last()
		}
		woven, err := r.descend(ctx, choice)
		if err != nil {
			r.remark(format.OneLine(err))
			return endedInterrupted
		}
		if woven > 0 {
			r.isDescending = true
			ended := r.collect(ctx, r.isEnough)
			r.isDescending = false
			if ended != endedEnough {
				return ended
			}
		}
	}
}

// isExplained reports whether there are enough samples of the last method of a path.
func (r *drillRun) isExplained(choice drill.Choice) bool {
	if choice.Stop != drill.OwnTime || r.samples == nil {
		return true
	}
	n := 0
	states := r.evidence.States(choice)
	for _, s := range states {
		n += s.Samples
	}
	r.cause = r.tree.Explain(choice, states, r.evidence.Paused(r.pauses))
	return n >= enoughSamples || time.Since(r.level) >= 2*drill.Patience
}

// chooseRoot chooses the method whose slow calls took most time, if several match.
func (r *drillRun) chooseRoot(ctx context.Context) {
	root, is := r.slowestRoot()
	r.screen.say("%s", format.Printable(r.result(time.Since(r.start)).Summary()[0]))
	if r.tracing != nil {
		r.tracing.calls.Choose(root)
		return
	}
	if len(r.applied.Roots()) == 1 {
		return
	}
	one, err := pattern.Parse(pattern.Of(root, false))
	if !is || err != nil {
		return // all stay, and only this one is looked at
	}
	r.remark(fmt.Sprintf("%s match: the search goes on in %s, whose slow calls took most time", format.Count(len(r.applied.Roots()), "method", "methods"), format.Printable(root.QualifiedName())))
	set := *r.applied.set
	set.Probes = slices.Clone(set.Probes)
	set.Probes[0].Methods = []*pattern.Pattern{one}
	if _, err := r.applied.Apply(ctx, &set); err != nil {
		r.remark(format.OneLine(err))
		return
	}
	r.applied.set = &set
	r.readValues(ctx)
}

// reopens reports whether samples show own methods without hooks below the last method of a path, or many callees have a part
// of the excess each: then more methods get hooks, once.
func (r *drillRun) reopens(choice drill.Choice) bool {
	last, _ := r.seen.MethodOf(choice.Last().Spot)
	isOwn := func(m classfile.MethodRef) bool { return r.tracing != nil || r.applied.Own().Has(m.Class) }
	if r.reopened[last] || choice.Stop != drill.Spread && !slices.ContainsFunc(r.evidence.OnTheWay(choice, false), isOwn) {
		return false
	}
	r.reopened[last] = true
	return true
}

// descend puts hooks into what a method calls, and waits until the program has settled. It returns how many are new.
func (r *drillRun) descend(ctx context.Context, choice drill.Choice) (woven int, err error) {
	last := r.follow(choice)
	if r.tracing != nil {
		return r.traceBelow(ctx, choice)
	}
	path := r.applied.MethodsOf(r.path)
	way, ahead := r.takeWay()
	seen := append(slices.Clip(way), r.evidence.OnTheWay(choice, choice.Stop != drill.OwnTime)...)
	open := append([]classfile.MethodRef{last}, seen...)
	if choice.Stop == drill.Spread {
		open = append(open, r.applied.MethodsOf(choice.Last().Callees())...)
	}
	if len(seen) > 0 {
		ahead = 1
	}
	open = slices.DeleteFunc(open, func(m classfile.MethodRef) bool { return r.frequent[m] })
	r.focus = open
	period := drill.FirstPeriod((r.tree.Slow+r.tree.Normal)*int(max(r.period, 1)), time.Since(r.level))
	set := withPeriod(r.withValuesOf(append(slices.Clone(path[1:]), seen...)), period)
	woven, on, err := r.applied.Narrow(ctx, set, tracedName, path, open, ahead)
	if err != nil && len(set.Tags) > len(r.applied.set.Tags) && ctx.Err() == nil { // the values may be why
		for _, tag := range set.Tags[len(r.applied.set.Tags):] {
			delete(r.values, tag.Name)
		}
		set = withPeriod(r.applied.set, period)
		woven, on, err = r.applied.Narrow(ctx, set, tracedName, path, open, ahead)
	}
	if err != nil {
		return 0, err
	}
	if len(set.Tags) > len(r.applied.set.Tags) {
		r.deep = drill.Data{}
	}
	r.applied.set, r.period = set, period
	if woven == 0 {
		return 0, nil
	}
	text := r.stepText(choice)
	if len(way) > 0 {
		text += ", and " + r.wayText()
	}
	r.screen.say("%s: %s: %s", format.ShortDuration(time.Since(r.start)), format.Count(woven, "new hook", "new hooks"), format.Printable(text))
	r.settleAgain(ctx)
	step := drill.Step{At: time.Since(r.start), Text: text, Methods: on + 1, Woven: woven}
	if r.pace != nil {
		step.Settled = r.recovery.Took
	}
	r.steps = append(r.steps, step)
	return woven, nil
}

// stepText says whose callees are looked at.
func (r *drillRun) stepText(choice drill.Choice) string {
	if len(choice.Path) == 1 {
		return "callees of " + choice.Open.Name()
	}
	return fmt.Sprintf("%s has %s of the excess: its callees", choice.Open.Name(), format.Percent(r.tree.Time(choice.Open).Share.Part))
}

// withPeriod returns a set of which one call in period is traced.
func withPeriod(set *probeset.Set, period uint32) *probeset.Set {
	changed := *set
	changed.Probes = slices.Clone(set.Probes)
	changed.Probes[0].Sample = period
	return &changed
}

// settleAgain waits until the program runs as before its last change, no longer than the search lasts. Results begin
// then.
func (r *drillRun) settleAgain(ctx context.Context) {
	limit := r.target.settle.limit
	r.target.settle.limit = min(limit, max(time.Second, time.Until(r.start.Add(r.duration))/2))
	before := r.recovery
	r.settle(ctx)
	r.target.settle.limit = limit
	if ctx.Err() != nil {
		r.recovery = before // nothing is measured any more
	}
	if r.pace == nil {
		r.session.Restart()
		r.began = time.Now()
	}
	r.restart(ctx)
}

// restart forgets what was collected before hooks were changed.
func (r *drillRun) restart(ctx context.Context) {
	readRings(r.rings)
	_ = r.rings.TakeNow() // they began before
	r.pollSamples(ctx)
	r.evidence.Forget()
	r.again()
}

// beginLevel begins to count calls.
func (r *drillRun) beginLevel() {
	r.level, r.readAt, r.missed = time.Now(), time.Time{}, r.lost
	if r.tracing == nil {
		r.countCalls()
	}
}

// countCalls begins to count the calls of each hook.
func (r *drillRun) countCalls() {
	r.callsBefore = make(map[uint32]uint64)
	if sum, err := r.session.Sum(); err == nil {
		for spot, totals := range sum.Methods {
			r.callsBefore[spot] = totals.Calls
		}
	}
}

// collect takes in calls until there are enough, or the search ends.
func (r *drillRun) collect(ctx context.Context, isEnough func() bool) ending {
	r.beginLevel()
	s := waitLoop{screen: r.screen}
	if r.tracing == nil {
		r.measureShare() // from now on
		defer r.measureShare()
		s.done, s.why = r.session.Done(), r.endedBy
		s.addTask(drillBudgetEvery, func() ending { return r.keepBudget(ctx) })
		s.addTask(burstEvery, func() ending {
			r.leaveFrequent(ctx, burst)
			return notEnded
		})
	}
	s.endAfter(r.duration, r.start)
	s.addTask(readEvery, func() ending { return r.take(ctx) })
	s.addTask(progressEvery, func() ending {
		r.pollSamples(ctx)
		r.drawProgress()
		if isEnough() {
			return endedEnough
		}
		return notEnded
	})
	s.addTask(pausesEvery, func() ending {
		r.readPauses()
		return notEnded
	})
	ended := s.wait(ctx)
	if ended == endedDuration && r.root == nil && !r.hasSlow() {
		return endedHealthy
	}
	return ended
}

// take takes in the transactions that have ended.
func (r *drillRun) take(ctx context.Context) ending {
	if r.tracing != nil {
		return r.takeTraced(ctx)
	}
	readRings(r.rings)
	for _, tx := range r.rings.TakeNow() {
		r.add(tx)
	}
	return notEnded
}

func (r *drillRun) add(tx *trace.Transaction) {
	if tx.Begin.Before(r.began) {
		return
	}
	written, _ := tx.Calls()
	r.written += written
	if tx.Lost > 0 {
		r.lost++
		return
	}
	isSlow, is := r.descent.add(tx)
	if !is {
		return // of a method that was not chosen
	}
	r.evidence.Add(tx, isSlow)
	all := r.valuesOf(tx)
	r.deep.Add(drill.Observation{Slow: isSlow, Values: all})
	root := maps.Clone(all)
	maps.DeleteFunc(root, func(name, _ string) bool { return strings.Contains(name, " ") }) // of another method
	r.data.Add(drill.Observation{Slow: isSlow, Values: root})
}

// measureShare returns the part of the program's time that hooks took since the last call, and in the last seconds; 0 if it is
// not known.
func (r *drillRun) measureShare() (part, recent float64) {
	now, err := r.session.Read()
	each := r.cost.Cost()
	calls, failed := r.callsSoFar()
	if err != nil || failed != nil || each == nil {
		return 0, 0 // the end reports it
	}
	before, counted, written := r.budgetAt, r.counted, r.written
	r.budgetAt, r.counted, r.written = now, calls, 0
	since := before.Until(now)
	if before.At.Before(r.level) || calls < counted || since.Elapsed < leastShare {
		return 0, 0
	}
	nanos := hookNanos(calls-counted, written, each) + (overhead.RecordPart-1)*each.Median*float64(written)
	of := overhead.ProgramNanos(since)
	return nanos / of, r.shares.Add(now.At, since.Elapsed, time.Duration(nanos), time.Duration(of))
}

// keepBudget switches hooks below methods off that are called very often, or traces fewer calls, if hooks cost too much or
// write more than can be read.
func (r *drillRun) keepBudget(ctx context.Context) ending {
	part, recent := r.measureShare()
	allowed := overhead.MayCost * r.part
	isCostly := part > allowed && recent > allowed/2
	if (isCostly || r.lost > r.missed+fewLost) && r.leaveFrequent(ctx, 1) {
		isCostly = part > allowed // until the next time, as if nothing had been switched off
	}
	period := drill.Period(r.period, part, allowed)
	if period == r.period || period > r.period && !isCostly || part == 0 {
		return notEnded
	}
	if period > drill.MostPeriod {
		r.remark(overhead.Exceeded(part, r.part) + ": the search ends")
		return endedBudget
	}
	set := withPeriod(r.applied.set, period)
	if _, err := r.applied.Apply(ctx, set); err != nil {
		r.remark(format.OneLine(err))
		return endedBudget
	}
	if period > r.period {
		r.screen.say("%s: one call in %d is traced from now on", overhead.Exceeded(part, r.part), period)
	}
	r.applied.set, r.period = set, period
	r.countCalls()
	return notEnded
}

// leaveFrequent switches hooks off in what frequent methods call, and in methods that are called too often, if there are such
// methods with so many calls, and begins to collect again.
func (r *drillRun) leaveFrequent(ctx context.Context, least uint64) bool {
	if !r.isDescending {
		return false
	}
	sum, err := r.session.Sum()
	if err != nil {
		return false
	}
	calls, roots := make(map[classfile.MethodRef]uint64), r.applied.Roots()
	for spot, totals := range sum.Methods {
		if m, is := r.applied.MethodOf(spot); is {
			if n := totals.Calls - min(totals.Calls, r.callsBefore[spot]); n >= least || slices.Contains(roots, m) {
				calls[m] += n
			}
		}
	}
	for _, root := range roots { // other hooks count calls only below those that are traced
		calls[root] = max(1, calls[root]/uint64(max(r.period, 1)))
	}
	each := drill.PerCall(calls, roots)
	tooMany := slices.DeleteFunc(drill.Frequent(each, drill.TooManyCalls), func(m classfile.MethodRef) bool { return slices.Contains(r.applied.MethodsOf(r.path), m) })
	isNew := func(m classfile.MethodRef) bool { return slices.Contains(r.focus, m) || slices.Contains(tooMany, m) }
	many := slices.DeleteFunc(drill.Frequent(each, drill.ManyCalls), func(m classfile.MethodRef) bool { return !isNew(m) })
	if len(many) == 0 {
		return false
	}
	for _, m := range many {
		r.frequent[m] = true
	}
	r.applied.Exclude(tooMany)
	for _, m := range tooMany {
		r.tooOften[m.QualifiedName()] = each[m]
	}
	r.focus = slices.DeleteFunc(r.focus, func(m classfile.MethodRef) bool { return r.frequent[m] })
	if _, _, err := r.applied.Narrow(ctx, r.applied.set, tracedName, r.applied.MethodsOf(r.path), r.focus, 1); err != nil {
		r.remark(format.OneLine(err))
		return false
	}
	r.screen.say("%s so often that the callees get no hooks; %s", format.Count(len(many), "method is called", "methods are called"), format.Count(len(tooMany), "lost its own hook, too", "lost their own hooks, too"))
	r.restart(ctx)
	r.beginLevel()
	return true
}

// result describes what was found so far.
func (r *drillRun) result(took time.Duration) *drill.Result {
	d := &drill.Result{
		Target: r.about, Command: commandLine("drill", r.patterns), Methods: r.methods(),
		Goal: r.slowerThan, Began: r.start, Took: took, Path: r.levels, Cause: r.cause, Steps: r.steps, SampledBy: r.sampled, HookShare: r.shares.Largest(), Budget: r.part,
		Frequent: r.tooOften,
	}
	if r.tracing != nil {
		d.Budget, d.Recorded = 0, r.tracing.describe()
	}
	calls := r.root
	if calls == nil {
		calls = &rootCalls{}
		for _, one := range r.calls {
			if calls.slow.Calls+calls.normal.Calls == 0 || one.compare(calls) > 0 {
				calls = one
			}
		}
	}
	d.Slow, d.Normal = calls.slow, calls.normal
	if r.period > 1 {
		d.Period = r.period
	}
	for _, name := range r.values {
		d.Values = append(d.Values, name)
	}
	slices.Sort(d.Values)
	return d
}

// finish describes what was found, removes the hooks, and writes it.
func (r *drillRun) finish(ctx context.Context, ended ending) error {
	r.take(ctx)
	took := time.Since(r.start)
	if r.root == nil && r.hasSlow() {
		r.slowestRoot()
	}
	switch {
	case ended == endedCause:
		if r.tracing == nil {
			if text := r.compared(); text != "" {
				r.remark(text)
			}
			keepFound(r.applied.Probes, r.cause, r.slowerThan, r.onPath)
		}
	case r.root == nil:
	case r.tree.Slow > 0:
		choice := r.choose()
		r.cause = r.tree.Explain(choice, r.evidence.States(choice), r.evidence.Paused(r.pauses))
	default: // its callees have got hooks, and no call was slow since then
		r.cause = drill.NotFound(r.levels[len(r.levels)-1])
	}
	if r.lost > 0 {
		r.remark(fmt.Sprintf("%s not compared, because the buffers of their threads were full", format.Count(r.lost, "call was", "calls were")))
	}
	result := r.result(took)
	result.Ended, result.When = string(ended), drill.Better(r.data.Rule(), r.deep.Rule())
	var farewell *session.Farewell
	var err error
	if r.tracing != nil {
		r.screen.clear()
		err = r.tracing.recorder.Close(ctx)
	} else {
		r.reportLate(r.leftAlone())
		r.screen.clear()
		farewell, err = r.leave(ctx, ended)
	}
	result.Removed = err == nil
	result.Disturbed, result.Disturbance = r.disturbed(), r.disturbance
	result.Notes = r.remarksWith(nil)
	failure := errors.Join(err, r.write(result, ended))
	r.reportFarewell(farewell)
	if result.Slow.Calls+result.Normal.Calls == 0 && failure == nil {
		failure = fmt.Errorf("%s was not called within %s: search longer, or while it is used (calls that began earlier are not seen)", strings.Join(r.methods(), ", "), format.Duration(took.Round(time.Millisecond)))
	}
	return failure
}

func (r *drillRun) write(result *drill.Result, ended ending) error {
	reportWritten, failed := r.writeOutputs(r.outputs, func(path string) error { return report.Drills.WriteFile(path, result) })
	defer reportWritten()
	keepFiles(r.streams, report.Drills, result)
	if ended == endedUnread {
		return errors.Join(failed, syscall.EPIPE)
	}
	out := bufio.NewWriter(r.out) // keeps the first error until Flush
	if r.json {
		failed = errors.Join(failed, document.Write(out, document.NewDrill(result)))
	} else {
		writeDisturbed(out, result.Disturbed)
		failed = errors.Join(failed, text.WriteDrill(out, result, r.outWidth()))
	}
	return errors.Join(failed, out.Flush())
}

// drawProgress shows how far the search is.
func (r *drillRun) drawProgress() {
	r.drawPath(func() (so *drill.Result, by string) {
		so = r.result(time.Since(r.start))
		return so, fmt.Sprintf("%s, %s; %s", format.Count(so.Slow.Calls, "slow call", "slow calls"), format.Count(so.Normal.Calls, "normal one", "normal ones"), r.steps[len(r.steps)-1].Text)
	})
}

// drawPath shows the path so far, and by what it was found.
func (r *drillRun) drawPath(describe func() (so *drill.Result, by string)) {
	if r.screen.silent || r.json {
		return
	}
	so, by := describe()
	r.screen.show(func(width int) service.Frame {
		frame := service.Frame{PID: r.pid, Lines: []string{
			so.Command + " --slower-than " + format.Duration(r.slowerThan), format.ShortDuration(so.Took) + ": " + by,
		}}
		frame.Titles, frame.Rows = text.DrillRows(so.Path, width)
		return frame
	})
}
