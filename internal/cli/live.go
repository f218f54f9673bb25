package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/text"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/categories"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// targetFlags is the part of a command line that says which methods of which JVM get hooks.
type targetFlags struct {
	streams
	pid      int
	patterns []string
	roots    []string           // those of the patterns that are of --category
	methods  []*pattern.Pattern // the patterns, parsed
	set      *pattern.Set       // of these
	force    bool
	cache    cacheFlags
	listLeft bool
	yes      bool
	settle   settleFlags

	categories  []string // whose methods are meant, too
	budget      float64  // part of the program's CPU time that the hooks of all commands may cost; 0 if the user states none
	usualBudget float64  // that of this command, if the user states none; 0 for no limit
}

const forceUsage = "also put hooks into classes that lose parts when they are changed, because of a JDK bug (see sonde doctor)"

func (c *targetFlags) register(flags flagSet) {
	flags.BoolVar(&c.force, "force", false, forceUsage)
	c.cache.register(flags)
	flags.BoolVar(&c.listLeft, "left", false, "list everything that gets no hook, with the reason")
}

func (c *targetFlags) registerYes(flags flagSet) {
	flags.BoolVar(&c.yes, "yes", false, "do not ask before hooks go into thousands of methods")
}

func (c *targetFlags) registerBudget(flags *pflag.FlagSet) {
	unstated := "By default there is no limit"
	if c.usualBudget > 0 {
		unstated = fmt.Sprintf("By default %s, for the hooks of commands that have a budget; 100%% is no limit", format.Percent(c.usualBudget))
	}
	flags.Var(share(&c.budget, 0), "budget", "part of the program's CPU time that the hooks of all commands may cost; beyond it, fewer calls are timed or traced, at last hooks are switched off, and this is reported. "+unstated)
}

func registerCategories(flags *pflag.FlagSet, to *[]string, what string) {
	usual, others := categories.Names()
	flags.StringSliceVar(to, "category", nil, what+": "+strings.Join(slices.Concat(usual, others), ", "))
}

// categoryRoots returns the patterns of the methods with which calls of categories begin.
func categoryRoots(names []string) ([]string, error) {
	roots, err := categories.Roots(names...)
	if err != nil {
		return nil, usage("--category: %w", err)
	}
	return roots, nil
}

func (c *targetFlags) parse(args []string) (err error) {
	if c.pid, err = processNumber(args[0]); err != nil {
		return err
	}
	if c.roots, err = categoryRoots(c.categories); err != nil {
		return err
	}
	if c.patterns = slices.Concat(args[1:], c.roots); len(c.patterns) == 0 {
		return usage("METHOD is missing")
	}
	if c.methods, err = pattern.ParseAll(c.patterns...); err == nil {
		c.set, err = pattern.NewSet(c.methods...)
	}
	if err != nil {
		return &usageError{err}
	}
	return nil
}

// A liveSession is the time a command spends in a JVM, from putting hooks in to removing them.
type liveSession struct {
	target       *targetFlags
	screen       *screen
	session      *session.Look
	installation *session.Installation
	began        time.Time      // when results began: the hooks are in, and the program runs as before
	pace         *overhead.Pace // nil if the command does not wait until the program runs as before
	recovery     *overhead.Recovery
	begun        cost.Reading      // when results began
	isCompared   bool              // at the end, the speed with all hooks is compared with that with the outer ones alone
	isTraced     bool              // hooks write calls into rings, or find them too deep for that: no model says what that costs
	hooksTook    *cost.Estimate    // part of the program's time, if it was measured
	disturbance  *cost.Disturbance // known when the hooks are removed
	cost         *overhead.Meter
	endCache     func()       // called when nothing is woven any more
	endBudget    func()       // nil without a budget
	applied      appliedSet   // used with contexts or conditions
	prepare      func() error // called when the hooks are in, before results begin; may be nil
	// typed returns the set that is applied if methods are selected by type; may be nil.
	typed   func() (*probeset.Set, error)
	isTyped bool // it is applied

	lock    sync.Mutex
	remarks []string

	reportedLeft int // how many were reported to get no hook
}

// enter puts the hooks in, for the command with this name. If that fails or is interrupted,
// everything is undone.
func (v *liveSession) enter(ctx context.Context, name string, flags arena.Flags, period uint32) (err error) {
	if err := v.open(ctx, commandLine(name, v.target.patterns)); err != nil {
		return err
	}
	if err := v.checkNamed(ctx); err != nil {
		return v.abandon(ctx, err)
	}
	v.pace.Rest(ctx)
	v.applied.options.Seen = liveprobes.SeenIn(v.pace.Stacks())
	v.cost = overhead.NewMeter(v.session, flags, period)
	v.cost.Measure(ctx)
	if err := v.selectTypes(ctx); err != nil {
		return v.abandon(ctx, err)
	}
	v.govern()
	if v.applied.set != nil {
		err = unfit(v.apply(ctx, flags))
	} else {
		v.installation, err = v.session.Instrument(ctx, session.Wanted{Methods: v.target.set, Flags: flags, Period: period})
	}
	if err == nil && v.prepare != nil {
		err = v.prepare()
	}
	v.began = time.Now()
	if err != nil {
		return v.abandon(ctx, err)
	}
	v.reportHooks(ctx)
	v.begin(ctx, v.session.JVM())
	v.reportCost()
	v.target.ready()
	return nil
}

// checkNamed ends a command all of whose patterns name methods that loaded classes do not have.
func (v *liveSession) checkNamed(ctx context.Context) error {
	included := slices.DeleteFunc(slices.Clone(v.target.methods), (*pattern.Pattern).Excludes)
	missing, err := v.session.Missing(ctx, included)
	if err != nil || len(missing) < max(1, len(included)) {
		return err
	}
	return missingError(missing)
}

func missingError(missing []session.Unmatched) error {
	var texts []string
	for _, one := range missing {
		texts = append(texts, lostText(one, ""))
	}
	return fmt.Errorf("%s; nothing was changed in the JVM", strings.Join(texts, "; "))
}

// selectTypes decides whether a set is applied because patterns select methods by more than names.
func (v *liveSession) selectTypes(ctx context.Context) (err error) {
	if v.applied.set != nil || v.typed == nil {
		return nil
	}
	if v.isTyped, err = v.session.SelectsByType(ctx, v.target.set); v.isTyped {
		v.applied.set, err = v.typed()
	}
	return err
}

// begin waits until the program runs as before, unless it begins only now. Results begin then.
func (v *liveSession) begin(ctx context.Context, jvm *process.JVM) {
	if v.letGo(jvm) {
		v.pace.Close(ctx)
		v.pace = nil
	}
	v.settle(ctx)
	v.begun, _ = v.session.Read() // the end reports it
}

// letGo lets a program begin that sonde run --hold has stopped before its first instruction. It reports
// whether it was held.
func (v *liveSession) letGo(jvm *process.JVM) bool {
	held, err := targetfs.LetGo(jvm)
	if err != nil {
		v.remark(format.OneLine(err))
	}
	return held
}

// govern keeps the cost of hooks within the budget from now on.
func (v *liveSession) govern() {
	switch budget, usual := v.target.budget, v.target.usualBudget; {
	case budget > 0:
		v.endBudget = overhead.Govern(v.session, v.cost, v.pace, budget, true)
	case usual > 0:
		v.endBudget = overhead.Govern(v.session, v.cost, v.pace, usual, false)
	}
}

// reportCost reports to the service what the look costs.
func (v *liveSession) reportCost() {
	v.target.reportCost(func() (calls uint64, nanos float64) {
		calls, timed, err := v.hookedCalls()
		if cost := v.cost.Cost(); err == nil && cost != nil { // the end reports it
			nanos = hookNanos(calls, timed, cost)
		}
		return calls, nanos
	})
}

// hookedCalls returns how many calls the hooks have counted so far, and how many of them cost as much as timed ones.
func (v *liveSession) hookedCalls() (calls, timed uint64, err error) {
	sum, err := v.session.Counts()
	if err != nil {
		return 0, 0, err
	}
	for _, used := range v.usedHooks(sum) {
		calls += used.Calls
		timed += used.Timed
	}
	return calls, timed, nil
}

// usedHooks returns how often each hook was called, and how many of its calls cost as much as timed ones.
func (v *liveSession) usedHooks(sum *arena.Summary) (used []overhead.Used) {
	thinned := v.session.Thinned()
	for id, totals := range sum.Methods {
		one := overhead.Used{Calls: totals.Calls, Timed: totals.Calls}
		if thinned[id] {
			one.Timed = totals.Timed
		}
		used = append(used, one)
	}
	return used
}

// hookNanos returns what hooks have cost, in nanoseconds. Calls that are not timed, to keep the budget, cost
// less than cost says.
func hookNanos(calls, timed uint64, cost *session.HookCost) float64 {
	timed = min(calls, timed)
	return float64(timed)*cost.Median + float64(calls-timed)*min(cost.Median, overhead.HotCount)
}

// withEstimates adds to what is said about times that those of some methods are estimates.
func withEstimates(times string, thinned int) string {
	if thinned == 0 {
		return times
	}
	return times + ", but those of " + format.Count(thinned, "method", "methods") + " are estimates, to keep the budget"
}

func (v *liveSession) open(ctx context.Context, command string) error {
	start := time.Now()
	kept, endCache, err := v.target.cache.openCache(v.target.streams, v.remark)
	if err != nil {
		return err
	}
	v.pace = v.watchPace(ctx)
	v.session, err = session.Open(ctx, v.target.pid, session.Settings{
		Command: command, Force: v.target.force, Notice: v.remark, Cache: kept, In: v.target.sessions(),
		Waiting: v.waiting, Confirm: v.confirm,
	})
	if err != nil {
		v.pace.Close(ctx)
		endCache()
		return interruption(ctx, err)
	}
	v.endCache = endCache
	v.screen.say("attached to %d (JDK %v, %s) in %s", v.target.pid, v.session.JDK(), format.OrDash(format.Printable(v.session.JVM().Main)),
		format.Duration(time.Since(start)))
	return nil
}

// waiting shows how far a slow step is: on a terminal in place.
func (v *liveSession) waiting(text string) {
	if v.screen.silent {
		v.screen.say("%s", text)
	} else {
		v.screen.status(text)
	}
}

// confirm asks before hooks go into very many methods. Where nobody can be asked, it goes on.
func (v *liveSession) confirm(ctx context.Context, methods, classes int) error {
	what := fmt.Sprintf("hooks would go into %s of %s, which takes a while and can make the program many times slower",
		format.Count(methods, "method", "methods"), format.Count(classes, "class", "classes"))
	v.screen.clear()
	if !v.target.ask(ctx, what+": go on?", v.target.yes) {
		return errors.New("not confirmed; nothing was changed. Name fewer methods with a narrower pattern")
	}
	return nil
}

// abandon leaves without a result, because of a failure or an interruption.
func (v *liveSession) abandon(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		v.screen.say("interrupted: removing the installed hooks; a second Ctrl-C leaves that to the agent")
	}
	_, closing := v.close(ctx)
	v.pace.Close(ctx)
	_ = v.session.Release()
	return interruption(ctx, errors.Join(cause, closing))
}

// manyClasses is the number of classes from which on a message says that they are being restored: that takes a while.
const manyClasses = 200

func (v *liveSession) close(ctx context.Context) (session.Farewell, error) {
	v.applied.end()
	if v.endBudget != nil {
		v.endBudget()
	}
	if classes := v.session.Classes(); classes >= manyClasses {
		v.screen.say("restoring %s", format.Count(classes, "class", "classes"))
	}
	farewell, err := v.session.Close(ctx)
	v.endCache()
	for _, text := range farewell.Remarks {
		v.remark(text)
	}
	return farewell, err
}

// interruption explains a Ctrl-C before the hooks are in place.
func interruption(ctx context.Context, err error) error {
	return interruptedBefore(ctx, "the hooks were in place: nothing was measured", err)
}

// interruptedBefore explains a Ctrl-C before something was reached. It says that nothing is
// left in the JVM only if the JVM has restored all its classes.
func interruptedBefore(ctx context.Context, what string, err error) error {
	var left *session.NotRestoredError
	switch {
	case ctx.Err() == nil:
		return err
	case errors.As(err, &left):
		return fmt.Errorf("interrupted before %s; %w", what, left)
	}
	return fmt.Errorf("interrupted before %s; nothing is left in the JVM", what)
}

// remark keeps and shows a note. It may be called from any goroutine.
func (v *liveSession) remark(text string) {
	v.lock.Lock()
	v.remarks = append(v.remarks, text)
	v.lock.Unlock()
	v.screen.note(text)
}

func (v *liveSession) remarksWith(others []string) []string {
	v.lock.Lock()
	defer v.lock.Unlock()
	return slices.Concat(v.remarks, others)
}

// endedBy returns why the session has ended, and reports it.
func (v *liveSession) endedBy() ending {
	err := v.session.Err()
	v.remark(format.OneLine(err))
	switch {
	case errors.Is(err, session.ErrEnded):
		return endedUndone
	case errors.Is(err, session.ErrExited):
		return endedExited
	}
	return endedLost
}

// leave takes the hooks out and returns what that took: nil if the hooks were out
// already. The error includes the loss of the session.
func (v *liveSession) leave(ctx context.Context, ended ending) (*session.Farewell, error) {
	var lost error
	if ended == endedLost {
		lost = v.session.Err()
	}
	lost = errors.Join(lost, v.unhooked())
	hooks := v.hookShare()
	v.pace.Leave(ctx)
	if v.isCompared && !ended.isOut() {
		v.applied.end()
		v.pace.Alone(ctx, v.target.settle.limit, v.showProgress("the hooks below the traced method are removed, HotSpot is recompiling what that discarded"))
		v.screen.clear()
	}
	farewell, err := v.close(ctx)
	if !ended.isOut() {
		v.pace.Recover(ctx, v.target.settle.limit, v.showProgress("the hooks are removed, HotSpot is recompiling what that discarded"))
		v.screen.clear()
	}
	v.disturbance = v.pace.Disturbance(hooks)
	v.pace.Close(ctx)
	// An agent that answers reports at least how long it took. An agent that left by
	// itself does not answer.
	answered := farewell.Restored.Nanos != 0 || farewell.Restored.Unmapped
	if err != nil || ended == endedUndone || ended == endedExited || !answered {
		return nil, errors.Join(lost, err)
	}
	return &farewell, lost
}

// unhooked returns an error if no method that matches has got a hook, also none that loaded later.
func (v *liveSession) unhooked() error {
	if v.target.set == nil {
		return nil // a file of probes names the methods
	}
	if _, rows, err := v.readRows(); err != nil || len(rows) > 0 {
		return nil //nolint:nilerr // the end reports it
	}
	return fmt.Errorf("no method that matches %s has got a hook: nothing was measured; sonde find %d PATTERN lists methods", strings.Join(v.target.patterns, " "), v.target.pid)
}

// reportLate reports classes and methods that got no hook as they loaded, and an arena
// that has become full.
func (v *liveSession) reportLate(left []session.LeftAlone) {
	if len(left) > v.reportedLeft {
		v.reportLeft(left)
	}
	if full := v.session.Full(); full != nil {
		v.remark(full.Error())
	}
}

func (v *liveSession) reportFarewell(f *session.Farewell) {
	switch {
	case f == nil:
	case f.Restored.Classes == 0:
		v.screen.say("left process %d in %s; no class was changed", v.target.pid, format.Duration(f.Took))
	default:
		v.screen.say("restored %s of process %d in %s%s", format.Count(int(f.Restored.Classes), "class", "classes"), v.target.pid, format.Duration(f.Took), costOf(f.Pause))
	}
}

// An appliedSet keeps a probe set applied during a live session.
type appliedSet struct {
	set     *probeset.Set      // nil without contexts and conditions
	options liveprobes.Options // of traces
	*liveprobes.Probes
	report *liveprobes.Report
	stop   func() // ends the goroutine that runs it
}

func (w *appliedSet) isUsed() bool { return w.Probes != nil }

// Results returns what was measured, without the probe that counts all calls.
func (w *appliedSet) Results() (*liveprobes.Results, error) {
	found, err := w.Probes.Results()
	if err == nil {
		found.Rows = slices.DeleteFunc(found.Rows, isOfAllCalls)
	}
	return found, err
}

func isOfAllCalls(row liveprobes.Row) bool { return row.Probe == allCallsName }

// conditionNote says how many calls there were, if the condition of --when has held for none.
func (w *appliedSet) conditionNote() (lines []string) {
	if !w.isUsed() {
		return nil
	}
	found, err := w.Probes.Results()
	if err != nil {
		return nil // the end reports it
	}
	return neverHeld(found.Rows)
}

func neverHeld(rows []liveprobes.Row) (lines []string) {
	var all uint64
	for i := range rows {
		switch {
		case isOfAllCalls(rows[i]):
			all += rows[i].Calls
		case rows[i].Calls > 0:
			return nil
		}
	}
	return addCount(nil, all, "call was", "calls were", "made, and the condition held for none")
}

// apply applies the set, and keeps it applied until the session ends.
func (v *liveSession) apply(ctx context.Context, flags arena.Flags) error {
	w := &v.applied
	options := w.options
	options.Flags, options.Notice = flags&arena.Spreads, v.remark
	w.Probes = liveprobes.New(v.session, options)
	report, err := w.Apply(ctx, w.set)
	if err != nil {
		return err
	}
	w.report = report
	if v.installation = report.Installation; v.installation == nil {
		v.installation = &session.Installation{}
	}
	w.stop = w.Start(func(err error) {
		if v.session.Err() == nil {
			v.remark(format.OneLine(err))
		}
	})
	return nil
}

// end stops applying the set. Results can still be read.
func (w *appliedSet) end() {
	if w.stop != nil {
		w.stop()
		w.stop = nil
	}
}

// reportHooks reports where hooks are and what putting them in took, and where there are none.
func (v *liveSession) reportHooks(ctx context.Context) {
	took := sessionWovenText(v.session) + costOf(batchCosts(v.installation.Batches))
	left := v.leftAlone()
	if v.applied.isUsed() && v.applied.set.Optional {
		v.reportRules(took)
		if v.target.listLeft {
			v.reportLeft(left)
		}
		v.reportedLeft = len(left)
		return
	}
	var empty []string
	if v.applied.isUsed() {
		empty = v.applied.unmatched()
		for _, p := range v.applied.report.Probes {
			anchors := ""
			if p.Anchors > 0 {
				anchors = " and in " + format.Count(p.Anchors, "method", "methods") + " of its sequences"
			}
			if v.isTyped {
				anchors = " of " + format.Count(v.session.Classes(), "class", "classes")
			}
			if len(p.Methods) > 0 && p.Name != allCallsName {
				v.screen.say("hooks in %s%s%s", format.Count(len(p.Methods), "method", "methods"), anchors, took)
			}
		}
	} else {
		methods := v.session.Methods()
		for _, p := range v.target.set.Includes() {
			if !hasMethod(p, methods, left) {
				empty = append(empty, p.String())
			}
		}
		if len(methods) > 0 {
			v.screen.say("hooks in %s of %s%s", format.Count(len(methods), "method", "methods"), format.Count(v.session.Classes(), "class", "classes"), took)
		}
	}
	if len(empty) < len(v.target.patterns) { // a program has few of the libraries of a category
		empty = slices.DeleteFunc(empty, func(text string) bool { return slices.Contains(v.target.roots, text) })
	}
	v.reportUnmatched(ctx, v.named(empty))
	v.reportLeft(left)
}

// named returns the patterns with some texts. What they have learned about classes is needed.
func (v *liveSession) named(texts []string) (found []*pattern.Pattern) {
	all := slices.Clone(v.target.methods)
	if set := v.applied.set; set != nil {
		for i := range set.Probes {
			all = append(all, set.Probes[i].Methods...)
			for _, q := range set.Probes[i].Within {
				for _, e := range q.Elements {
					all = append(all, e.Pattern)
				}
			}
		}
		for _, tag := range set.Tags {
			all = append(all, tag.At)
		}
	}
	for _, text := range texts {
		if at := slices.IndexFunc(all, func(p *pattern.Pattern) bool { return p.String() == text }); at >= 0 {
			found = append(found, all[at])
		}
	}
	return found
}

// reportUnmatched reports patterns that match nothing yet, with suggestions.
func (v *liveSession) reportUnmatched(ctx context.Context, empty []*pattern.Pattern) {
	if len(empty) == 0 {
		return
	}
	lost, err := v.session.Unmatched(ctx, empty)
	if err != nil {
		return // the end reports it
	}
	for _, p := range empty {
		at := slices.IndexFunc(lost, func(l session.Unmatched) bool { return l.Pattern == p.String() })
		if at >= 0 {
			v.screen.say("note: %s", lostText(lost[at], "; a class that loads later gets its hooks then"))
		} else {
			v.screen.say("note: %s matches loaded classes, but no method with code in them%s", p, v.methodAdvice(p))
		}
	}
}

func (w *appliedSet) unmatched() (texts []string) {
	for _, applied := range slices.Concat(w.report.Probes, w.report.Tags) {
		for _, text := range applied.Unmatched {
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// leftAlone returns what matches and has no hook, because of the JVM, of the class, or of a
// condition that does not fit.
func (v *liveSession) leftAlone() []session.LeftAlone {
	if !v.applied.isUsed() || v.applied.report == nil {
		return v.session.LeftAlone()
	}
	var out []probes.LeftOut
	for _, applied := range slices.Concat(v.applied.report.Probes, v.applied.report.Tags) {
		out = append(out, applied.LeftOut...)
	}
	return withLeftOut(v.unwoven(v.applied.Probes), out)
}

// unwoven returns what a set asks for and could not be woven. Classes of the JDK that are
// woven for the hand-over between threads are not included.
func (v *liveSession) unwoven(set *liveprobes.Probes) []session.LeftAlone {
	return slices.DeleteFunc(v.session.LeftAlone(), func(l session.LeftAlone) bool { return !set.Concerns(l.Class) })
}

// withLeftOut adds what has no hook because of rules or of conditions that do not fit.
func withLeftOut(left []session.LeftAlone, out []probes.LeftOut) []session.LeftAlone {
	for _, l := range out {
		if one := leftOut(l); !slices.Contains(left, one) {
			left = append(left, one)
		}
	}
	return left
}

func leftOut(l probes.LeftOut) session.LeftAlone {
	left := session.LeftAlone{Class: strings.ReplaceAll(l.Method, ".", "/"), Reason: format.OneLine(l.Err)}
	if m, ok := classfile.ParseMethodRef(l.Method); ok {
		left.Class, left.Method = m.Class, m.Member()
	}
	var bad *expr.Error
	if errors.As(l.Err, &bad) {
		left.Reason = "the condition cannot be used in this method: " + bad.Detail
	}
	return left
}

// losses says what is missing in results by context.
func losses(r *liveprobes.Results) (lines []string) {
	var undecided uint64
	for i := range r.Rows {
		undecided += r.Rows[i].Undecided
	}
	lines = addCount(lines, undecided, "call is", "calls are", "not counted: the condition could not be evaluated")
	return append(lines, contextNotes(r.ContextsLost, r.Ambiguous)...)
}

func (v *liveSession) readRows() (*liveprobes.Results, []results.Row, error) {
	if v.applied.isUsed() {
		found, err := v.applied.Results()
		if err != nil {
			return nil, nil, err
		}
		rows := contextRows(found.Rows, hasSequences(v.applied.set))
		thinned := v.session.Thinned()
		for i := range rows {
			rows[i].Thinned = thinned[found.Rows[i].SpotName.ID]
		}
		return found, rows, nil
	}
	sum, err := v.session.Sum()
	if err != nil {
		return nil, nil, err
	}
	rows := methodRows(v.session.Methods(), sum.Methods)
	thinned := v.session.Thinned()
	for i := range rows {
		rows[i].Thinned = thinned[rows[i].ID]
	}
	return &liveprobes.Results{Threads: sum.Threads, Dropped: sum.Dropped}, rows, nil
}

func methodRows(methods []session.Method, totals map[uint32]*arena.Totals) (rows []results.Row) {
	for _, m := range methods {
		row := results.Row{Class: m.ClassName(), Name: m.Name, Descriptor: m.Descriptor, ID: m.ID}
		if measured := totals[m.ID]; measured != nil {
			row.Totals = *measured
		}
		rows = append(rows, row)
	}
	return rows
}

// contextRows returns the rows of methods in contexts. Their texts name the sequence only if
// rows differ by it.
func contextRows(found []liveprobes.Row, byWithin bool) (rows []results.Row) {
	for i := range found {
		w := &found[i]
		row := results.Row{
			Class: strings.ReplaceAll(w.Class, "/", "."), Name: w.Name, Descriptor: w.Descriptor, ID: w.ID,
			InContext: true, Within: w.Sequence, Label: w.Label, Context: contextText(w.Sequence, w.Label), Totals: w.Totals,
		}
		if !byWithin {
			row.Context = w.Label.String()
		}
		if w.Off {
			row.Context = strings.TrimPrefix(row.Context+"; switched off", "; ")
		}
		rows = append(rows, row)
	}
	return rows
}

func contextText(within string, label liveprobes.Label) string {
	text := label.String()
	switch {
	case within == "":
		return text
	case text == "":
		return "within " + within
	}
	return "within " + within + "; " + text
}

func hasSequences(set *probeset.Set) bool {
	return slices.ContainsFunc(set.Probes, func(p probeset.Probe) bool { return len(p.Within) > 1 })
}

// unfit words an error about a condition that fits no method, without the name of the probe
// that a command line makes.
func unfit(err error) error {
	var wrong *probes.UnfitError
	if !errors.As(err, &wrong) {
		return err
	}
	row := results.ParseRow(wrong.First.Method)
	where := rowName(&row, map[string]bool{row.Class + "." + row.Name: true})
	if wrong.Methods > 1 {
		where = fmt.Sprintf("none of %d methods qualifies; for example, %s", wrong.Methods, where)
	}
	if wrong.What != "probe "+probeName && wrong.What != "probe "+tracedName {
		where = wrong.What + ": " + where
	}
	return fmt.Errorf("%s: %w; nothing was changed in the JVM", where, wrong.First.Err)
}

// hasMethod reports whether a pattern matches something that has a hook or cannot get one.
func hasMethod(p *pattern.Pattern, methods []session.Method, left []session.LeftAlone) bool {
	return slices.ContainsFunc(methods, func(m session.Method) bool { return p.Match(m.MethodRef) }) ||
		slices.ContainsFunc(left, func(l session.LeftAlone) bool { return p.MatchClass(l.Class) })
}

// methodAdvice says what may be wrong with a pattern that matches classes but no method.
func (v *liveSession) methodAdvice(p *pattern.Pattern) string {
	switch near := p.Similar(); {
	case len(near) > 0:
		return "; similar: " + strings.Join(near, ", ")
	case slices.ContainsFunc(v.target.patterns, func(text string) bool { return strings.HasPrefix(text, "!") }):
		return ", or only methods that a pattern with ! excludes"
	case strings.Contains(p.String(), "("):
		return " (types are written in full: java.lang.String; (..) matches any parameters)"
	}
	return advice([]*pattern.Pattern{p})
}

// lostText is about a pattern that matches nothing.
func lostText(lost session.Unmatched, then string) string {
	if slices.Contains(lost.Near, lost.Pattern) {
		return fmt.Sprintf("%s is a class, not a method: %s.** matches all its methods", lost.Pattern, lost.Pattern)
	}
	text, similar := "no loaded class matches "+lost.Pattern+then, "; similar loaded classes: "
	switch {
	case lost.IsMissing:
		text, similar = lost.Lack, "; similar: "
	case lost.Lack != "":
		text, similar = lost.Lack+then, "; similar: "
	}
	if len(lost.Near) > 0 {
		text += similar + strings.Join(lost.Near, ", ")
	}
	return text
}

func batchCosts(batches []session.Batch) (all cost.Cost) {
	for i, batch := range batches {
		if i == 0 {
			all = batch.Cost
		} else {
			all = all.Then(batch.Cost)
		}
	}
	return all
}

// costOf writes the known parts of a cost.
func costOf(cost cost.Cost) string {
	text := ""
	if cost.Known.Pauses {
		text += ", pause " + format.Duration(cost.Pause)
	}
	if cost.Known.Compilers && cost.CompileCPU >= time.Millisecond {
		text += ", JIT compilation so far " + format.Duration(cost.CompileCPU.Round(time.Millisecond)) + " of CPU time"
	}
	return text
}

// groupLeft groups by reason, without its details; the most frequent comes first.
func groupLeft(left []session.LeftAlone) []format.Group[string, session.LeftAlone] {
	groups := format.GroupBy(left, func(l session.LeftAlone) string {
		reason, _, _ := strings.Cut(l.Reason, ": ")
		return reason
	})
	slices.SortStableFunc(groups, func(a, b format.Group[string, session.LeftAlone]) int { return len(b.List) - len(a.List) })
	return groups
}

// leftLines writes groups, with all members or with one example each.
func leftLines(groups []format.Group[string, session.LeftAlone], all bool) (lines []string) {
	for _, g := range groups {
		line := fmt.Sprintf("  %s: %s", format.Grouped(len(g.List)), g.Key)
		if !all {
			lines = append(lines, line+", such as "+text.LeftName(g.List[0]))
			continue
		}
		lines = append(lines, line)
		for _, l := range g.List {
			lines = append(lines, "    "+text.LeftName(l)+detailOf(l.Reason, g.Key))
		}
	}
	return lines
}

func (v *liveSession) reportLeft(left []session.LeftAlone) {
	if len(left) == 0 {
		return
	}
	how := " (--left lists them)"
	if v.target.listLeft {
		how = ""
	}
	v.screen.say("%s no hook%s:", format.Count(len(left), "class or method gets", "classes or methods get"), how)
	for _, line := range leftLines(groupLeft(left), v.target.listLeft) {
		v.screen.say("%s", format.Printable(line))
	}
	v.reportedLeft = len(left)
}
