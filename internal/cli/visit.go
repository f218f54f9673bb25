package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A choice is what commands are told that put hooks into methods of a JVM.
type choice struct {
	streams
	pid      int
	patterns []string
	set      *pattern.Set
	force    bool
	cache    liveCache
	listLeft bool
}

// choose reads which methods of which JVM are meant.
func (c *choice) choose(args []string) (err error) {
	if c.pid, err = processNumber(args[0]); err != nil {
		return err
	}
	c.patterns = args[1:]
	if c.set, err = pattern.ParseSet(c.patterns...); err != nil {
		return &usageError{err}
	}
	return nil
}

// A visit is the stay in a JVM, from the moment hooks go in until they are out.
type visit struct {
	choice       *choice
	screen       *screen
	session      *session.Session
	installation *session.Installation
	began        time.Time // when the hooks went on
	cost         *overhead.Meter
	endCache     func()   // once nothing is woven any more
	watching     watching // where a context or a condition was asked for

	lock    sync.Mutex
	remarks []string

	toldLeft int // how many were said to be left alone
}

// enter puts the hooks in, for the command of a name. Where that fails or is
// interrupted, whatever was done is undone.
func (v *visit) enter(ctx context.Context, name string, flags arena.Flags, period uint32) (err error) {
	if err := v.open(ctx, commandLine(name, v.choice.patterns)); err != nil {
		return err
	}
	v.cost = overhead.NewMeter(v.session, flags, period)
	v.cost.Measure(ctx)
	if v.watching.set != nil {
		err = unfit(v.apply(ctx, flags))
	} else {
		v.installation, err = v.session.Instrument(ctx, session.Wanted{Methods: v.choice.set, Flags: flags, Period: period})
	}
	v.began = time.Now()
	if err != nil {
		return v.abandon(ctx, err)
	}
	if v.watching.isUsed() {
		v.tellApplied(ctx)
	} else {
		v.tellInstallation()
	}
	if _, err := targetfs.LetGo(v.session.JVM()); err != nil { // one that sonde run --hold keeps from beginning
		v.remark(format.OneLine(err))
	}
	return nil
}

// open enters the JVM, with the cache.
func (v *visit) open(ctx context.Context, command string) error {
	start := time.Now()
	kept, endCache, err := v.choice.cache.openCache(v.remark)
	if err != nil {
		return err
	}
	v.session, err = session.Open(ctx, v.choice.pid, session.Settings{
		Command: command, Force: v.choice.force, Notice: v.remark, Cache: kept,
		Waiting: func(text string) { v.screen.say("%s", text) },
	})
	if err != nil {
		endCache()
		return interruption(ctx, err)
	}
	v.endCache = endCache
	v.screen.say("attached to %d (JDK %v, %s) in %s", v.choice.pid, v.session.JDK(), format.OrDash(format.Printable(v.session.JVM().Main)),
		format.Duration(time.Since(start)))
	return nil
}

// abandon leaves without a result, because of a failure or an interruption.
func (v *visit) abandon(ctx context.Context, cause error) error {
	v.watching.end()
	farewell, closing := v.session.Close(ctx)
	v.endCache()
	_ = v.session.Release()
	for _, text := range farewell.Remarks {
		v.remark(text)
	}
	return interruption(ctx, errors.Join(cause, closing))
}

// interruption explains a Ctrl-C before there is a result.
func interruption(ctx context.Context, err error) error {
	return interruptedBefore(ctx, "the hooks were in: nothing was measured", err)
}

// interruptedBefore explains a Ctrl-C before something was reached. It claims that
// nothing is left in the JVM only where the JVM has restored all of its classes.
func interruptedBefore(ctx context.Context, what string, err error) error {
	var left *session.NotRestoredError
	switch {
	case ctx.Err() == nil:
		return err
	case errors.As(err, &left):
		return fmt.Errorf("interrupted before %s; %w", what, left)
	}
	return fmt.Errorf("interrupted before %s, nothing is left behind", what)
}

// remark keeps and shows what the user should read. It may be called at any
// time, from anywhere.
func (v *visit) remark(text string) {
	v.lock.Lock()
	v.remarks = append(v.remarks, text)
	v.lock.Unlock()
	v.screen.say("note: %s", format.Printable(text))
}

// endedBy tells who ended the session, and says so.
func (v *visit) endedBy() ending {
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
func (v *visit) leave(ctx context.Context, ended ending) (*session.Farewell, error) {
	var lost error
	if ended == endedLost {
		lost = v.session.Err()
	}
	v.watching.end()
	farewell, err := v.session.Close(ctx)
	v.endCache()
	for _, text := range farewell.Remarks {
		v.remark(text)
	}
	// An agent that answers reports at least how long it took. An agent that left by
	// itself does not answer.
	answered := farewell.Restored.Nanos != 0 || farewell.Restored.Unmapped
	if err != nil || ended == endedUndone || ended == endedExited || !answered {
		return nil, errors.Join(lost, err)
	}
	return &farewell, lost
}

// tellLate reports classes and methods that were left alone as they loaded, and an arena
// that has become full.
func (v *visit) tellLate(left []session.LeftAlone) {
	if len(left) > v.toldLeft {
		v.tellLeft(left)
	}
	if full := v.session.Full(); full != nil {
		v.remark(full.Error())
	}
}

// tellFarewell reports what taking the hooks out took.
func (v *visit) tellFarewell(f *session.Farewell) {
	if f != nil {
		v.screen.say("left %d: %s put back in %s%s", v.choice.pid, format.Count(int(f.Restored.Classes), "class", "classes"), format.Duration(f.Took), costOf(f.Pause))
	}
}

// A watching is a set that is kept applied during a visit.
type watching struct {
	set *probeset.Set // nil where methods are watched wherever they are called
	*liveprobes.Watch
	report *liveprobes.Report
	stop   context.CancelFunc
	ended  chan struct{} // closed when nothing runs any more
}

// isUsed reports whether the visit is by a set.
func (w *watching) isUsed() bool { return w.Watch != nil }

// apply has a set applied, and kept so until the visit ends.
func (v *visit) apply(ctx context.Context, flags arena.Flags) error {
	w := &v.watching
	w.Watch = liveprobes.New(v.session, liveprobes.Options{Flags: flags & arena.Spreads, Notice: v.remark})
	report, err := w.Apply(ctx, w.set)
	if err != nil {
		return err
	}
	w.report = report
	if v.installation = report.Installation; v.installation == nil {
		v.installation = &session.Installation{}
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.stop, w.ended = stop, make(chan struct{})
	go func() {
		defer close(w.ended)
		if err := w.Run(running); err != nil && v.session.Err() == nil {
			v.remark(format.OneLine(err))
		}
	}()
	return nil
}

// end ends what runs. What was measured can still be read.
func (w *watching) end() {
	if w.stop != nil {
		w.stop()
		<-w.ended
		w.stop = nil
	}
}

// tellApplied says where a set acts, and where it does not.
func (v *visit) tellApplied(ctx context.Context) {
	report := v.watching.report
	for _, p := range report.Probes {
		if len(p.Methods) > 0 {
			text := "hooks in " + format.Count(len(p.Methods), "method", "methods")
			if p.Anchors > 0 {
				text += ", and in " + format.Count(p.Anchors, "method that leads", "methods that lead") + " to it"
			}
			v.screen.say("%s%s%s", text, sessionWovenText(v.session), costOf(batchCosts(v.installation.Batches)))
		}
	}
	v.tellUnmatched(ctx)
	v.tellLeft(v.leftAlone())
}

// tellUnmatched says which patterns name nothing yet, and what may have been meant.
func (v *visit) tellUnmatched(ctx context.Context) {
	texts := v.watching.unmatched()
	if len(texts) == 0 {
		return
	}
	set, err := pattern.ParseSet(texts...)
	if err != nil {
		return // they were read before
	}
	lost, err := v.session.Unmatched(ctx, set)
	if err != nil {
		return // the end will say it
	}
	for _, p := range set.Includes() {
		at := slices.IndexFunc(lost, func(l session.Unmatched) bool { return l.Pattern == p.String() })
		if at >= 0 {
			v.screen.say("note: %s", lostText(lost[at], ": hooks go in when one loads"))
		} else {
			v.screen.say("note: %s matches loaded classes, but no method of theirs that has code%s", p, v.methodAdvice(p))
		}
	}
}

// unmatched are the patterns that name no method.
func (w *watching) unmatched() (texts []string) {
	for _, applied := range slices.Concat(w.report.Probes, w.report.Tags) {
		for _, text := range applied.Unmatched {
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// leftAlone is what has no hook though it was asked for: by the JVM or the class, or
// because what was asked does not fit.
func (v *visit) leftAlone() []session.LeftAlone {
	left := v.session.LeftAlone()
	if !v.watching.isUsed() || v.watching.report == nil {
		return left
	}
	// What the JDK's own classes are woven for, beside what was asked for, tells of
	// itself.
	left = slices.DeleteFunc(left, func(l session.LeftAlone) bool { return !v.watching.Concerns(l.Class) })
	for _, applied := range slices.Concat(v.watching.report.Probes, v.watching.report.Tags) {
		for _, l := range applied.LeftOut {
			if one := leftOut(l); !slices.Contains(left, one) {
				left = append(left, one)
			}
		}
	}
	return left
}

func leftOut(l liveprobes.LeftOut) session.LeftAlone {
	left := session.LeftAlone{Class: strings.ReplaceAll(l.Method, ".", "/"), Reason: format.OneLine(l.Err)}
	if m, ok := classfile.ParseMethodRef(l.Method); ok {
		left.Class, left.Method = m.Class, m.Member()
	}
	var bad *expr.Error
	if errors.As(l.Err, &bad) {
		left.Reason = "what is asked does not fit: " + bad.Detail
	}
	return left
}

// losses are what contexts and tags miss, in words.
func losses(r *liveprobes.Results) (lines []string) {
	var undecided uint64
	for i := range r.Rows {
		undecided += r.Rows[i].Undecided
	}
	if undecided > 0 {
		lines = append(lines, fmt.Sprintf("of %s the condition could not be told: they are not counted", format.Count(int(undecided), "call", "calls")))
	}
	if r.Ambiguous > 0 {
		lines = append(lines, fmt.Sprintf("%s handed over twice before it began: such have no context", format.Count(int(r.Ambiguous), "task was", "tasks were")))
	}
	if r.ContextsLost > 0 {
		lines = append(lines, fmt.Sprintf("%s no room to keep context: calls below may be missing", format.Count(int(r.ContextsLost), "call had", "calls had")))
	}
	return lines
}

// contextText is what tells a row from others of its method.
func contextText(row *liveprobes.Row, hasSequences bool) string {
	var words []string
	if hasSequences && row.Sequence != "" {
		words = append(words, "within "+row.Sequence)
	}
	if label := row.Label.String(); label != "" {
		words = append(words, label)
	}
	if row.Off {
		words = append(words, "switched off")
	}
	return strings.Join(words, "; ")
}

// hasSequences reports whether sequences tell rows apart.
func hasSequences(set *probeset.Set) bool {
	return slices.ContainsFunc(set.Probes, func(p probeset.Probe) bool { return len(p.Within) > 1 })
}

// unfit says what does not fit as a command line has it, where the probe has no name
// that anybody gave it.
func unfit(err error) error {
	var wrong *liveprobes.UnfitError
	if !errors.As(err, &wrong) {
		return err
	}
	row := results.ParseRow(wrong.First.Method)
	where := rowName(&row, map[string]bool{row.Class + "." + row.Name: true})
	if wrong.Methods > 1 {
		where = fmt.Sprintf("it fits none of %d methods; %s", wrong.Methods, where)
	}
	if wrong.What != "probe "+probeName {
		where = wrong.What + ": " + where
	}
	return fmt.Errorf("%s: %w; nothing was changed in the JVM", where, wrong.First.Err)
}

// tellInstallation says what putting hooks in took, and where they are not.
func (v *visit) tellInstallation() {
	i := v.installation
	methods := v.session.Methods()
	if len(methods) > 0 {
		v.screen.say("hooks in %s of %s%s%s", format.Count(len(methods), "method", "methods"),
			format.Count(v.session.Classes(), "class", "classes"), sessionWovenText(v.session), costOf(batchCosts(i.Batches)))
	}
	for _, lost := range i.Unmatched {
		v.screen.say("note: %s", lostText(lost, ": hooks go in when one loads"))
	}
	left := v.session.LeftAlone()
	v.tellLeft(left)
	for _, p := range v.choice.set.Includes() {
		lost := slices.ContainsFunc(i.Unmatched, func(u session.Unmatched) bool { return u.Pattern == p.String() })
		if !lost && !hasMethod(p, methods, left) {
			v.screen.say("note: %s matches loaded classes, but no method of theirs that has code%s", p, v.methodAdvice(p))
		}
	}
}

// hasMethod tells whether a pattern matches something that has a hook or was
// left alone.
func hasMethod(p *pattern.Pattern, methods []session.Method, left []session.LeftAlone) bool {
	return slices.ContainsFunc(methods, func(m session.Method) bool { return p.Match(m.Class, m.Name, m.Descriptor) }) ||
		slices.ContainsFunc(left, func(l session.LeftAlone) bool { return p.MatchClass(l.Class) })
}

// methodAdvice says what may be wrong with a pattern that found classes alone.
func (v *visit) methodAdvice(p *pattern.Pattern) string {
	switch {
	case slices.ContainsFunc(v.choice.patterns, func(text string) bool { return strings.HasPrefix(text, "!") }):
		return " and that no ! takes out"
	case strings.Contains(p.String(), "("):
		return " (types are written in full: java.lang.String; (..) is any parameters)"
	}
	return advice([]*pattern.Pattern{p})
}

// lostText is about a pattern that no loaded class matches, and what follows.
func lostText(lost session.Unmatched, then string) string {
	if slices.Contains(lost.Near, lost.Pattern) {
		return fmt.Sprintf("%s is a class, and no method of it was named: %s.** is every method", lost.Pattern, lost.Pattern)
	}
	text := fmt.Sprintf("no loaded class matches %s%s", lost.Pattern, then)
	if len(lost.Near) > 0 {
		text += "; loaded is " + strings.Join(lost.Near, ", ")
	}
	return text
}

func batchCosts(batches []session.Batch) (all cost.Cost) {
	for i, batch := range batches {
		if i == 0 {
			all = batch.Cost
			continue
		}
		all = all.Then(batch.Cost)
	}
	return all
}

// costOf tells of a cost what is known.
func costOf(cost cost.Cost) string {
	text := ""
	if cost.Known.Pauses {
		text += ", pause " + format.Duration(cost.Pause)
	}
	if cost.Known.Compilers {
		text += ", compiler work so far " + format.Duration(cost.CompileCPU.Round(time.Millisecond))
	}
	return text
}

// A leftGroup is what was left alone for one reason.
type leftGroup struct {
	reason string
	left   []session.LeftAlone
}

// groupLeft puts together what has the same reason, but for its details; the
// most frequent comes first.
func groupLeft(left []session.LeftAlone) []leftGroup {
	at := map[string]int{}
	var groups []leftGroup
	for _, l := range left {
		reason, _, _ := strings.Cut(l.Reason, ": ")
		i, known := at[reason]
		if !known {
			i, at[reason] = len(groups), len(groups)
			groups = append(groups, leftGroup{reason: reason})
		}
		groups[i].left = append(groups[i].left, l)
	}
	slices.SortStableFunc(groups, func(a, b leftGroup) int { return len(b.left) - len(a.left) })
	return groups
}

// leftLines are groups in words, each with its members where all are wanted,
// else with one.
func leftLines(groups []leftGroup, all bool) []string {
	var lines []string
	for _, g := range groups {
		line := fmt.Sprintf("  %s: %s", format.Grouped(len(g.left)), g.reason)
		if !all {
			lines = append(lines, line+", such as "+leftName(g.left[0]))
			continue
		}
		lines = append(lines, line)
		for _, l := range g.left {
			detail := strings.TrimPrefix(strings.TrimPrefix(l.Reason, g.reason), ": ")
			if detail != "" {
				detail = ": " + detail
			}
			lines = append(lines, "    "+leftName(l)+detail)
		}
	}
	return lines
}

func leftName(l session.LeftAlone) string {
	name := strings.ReplaceAll(l.Class, "/", ".")
	if l.Method != "" {
		name += "." + l.Method
	}
	return name
}

func (v *visit) tellLeft(left []session.LeftAlone) {
	if len(left) == 0 {
		return
	}
	how := " (--left lists them)"
	if v.choice.listLeft {
		how = ""
	}
	v.screen.say("%s left alone%s:", format.Count(len(left), "class or method", "classes or methods"), how)
	for _, line := range leftLines(groupLeft(left), v.choice.listLeft) {
		v.screen.say("%s", format.Printable(line))
	}
	v.toldLeft = len(left)
}
