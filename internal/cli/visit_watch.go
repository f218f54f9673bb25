package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

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
			v.remark(oneLine(err))
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
			text := "hooks in " + count(len(p.Methods), "method", "methods")
			if p.Anchors > 0 {
				text += ", and in " + count(p.Anchors, "method that leads", "methods that lead") + " to it"
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
	left := session.LeftAlone{Class: strings.ReplaceAll(l.Method, ".", "/"), Reason: oneLine(l.Err)}
	if class, name, descriptor, ok := session.SplitMember(l.Method); ok {
		left.Class, left.Method = strings.ReplaceAll(class, ".", "/"), name+descriptor
	}
	var bad *condition.Error
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
		lines = append(lines, fmt.Sprintf("of %s the condition could not be told: they are not counted", count(int(undecided), "call", "calls")))
	}
	if r.Ambiguous > 0 {
		lines = append(lines, fmt.Sprintf("%s handed over twice before it began: such have no context", count(int(r.Ambiguous), "task was", "tasks were")))
	}
	if r.ContextsLost > 0 {
		lines = append(lines, fmt.Sprintf("%s no room to keep context: calls below may be missing", count(int(r.ContextsLost), "call had", "calls had")))
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
	row := parseRow(wrong.First.Method)
	where := row.method(map[string]bool{row.class + "." + row.name: true})
	if wrong.Methods > 1 {
		where = fmt.Sprintf("it fits none of %d methods; %s", wrong.Methods, where)
	}
	if wrong.What != "probe "+probeName {
		where = wrong.What + ": " + where
	}
	return fmt.Errorf("%s: %w; nothing was changed in the JVM", where, wrong.First.Err)
}
