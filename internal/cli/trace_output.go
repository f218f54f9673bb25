package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/otlp"
	"github.com/sonde-jvm/sonde/internal/report/text"
	"github.com/sonde-jvm/sonde/internal/session"
)

// finish reads what was traced before the hooks go out, and writes it.
func (r *traceRun) finish(ctx context.Context, ended ending) error {
	var failure error
	if ended == endedUnread {
		failure = syscall.EPIPE // files are written all the same
	}
	took := time.Since(r.began)
	failure = errors.Join(failure, r.readRest(ended))
	r.complete(ctx, ended)
	r.reportLate(r.leftAlone())
	result := r.result(took)
	r.screen.clear()
	farewell, err := r.leave(ctx, ended)
	failure = errors.Join(failure, err, r.write(ctx, result, ended))
	r.reportFarewell(farewell)
	if len(result.Transactions) == 0 && failure == nil {
		failure = r.noneError(result)
	}
	return failure
}

// readRest reads what was written last.
func (r *traceRun) readRest(ended ending) error {
	rest, err := r.rings.Finish()
	if ended == endedUnread {
		rest = slices.DeleteFunc(rest, r.isDisturbed)
		r.kept = append(r.kept, rest[:min(len(rest), r.limit-len(r.kept))]...)
		return err
	}
	return errors.Join(err, r.keep(rest))
}

// namesLimit is how long a JVM may take to answer at the end.
const namesLimit = 3 * time.Second

// complete adds to transactions everything that is known now: names, the cost of hooks,
// and the names of live threads if the JVM still runs.
func (r *traceRun) complete(ctx context.Context, ended ending) {
	var threads map[uint64]string
	if !ended.isOut() && len(r.kept) > 0 {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), namesLimit)
		defer cancel()
		r.measureCost(ctx)
		threads, _ = r.liveSession.session.ThreadNames(ctx) // without names they have numbers
	}
	r.rings.Complete(r.kept)
	for _, t := range r.kept {
		t.NameThreads(threads)
	}
}

func (r *traceRun) target() trace.Target {
	s := r.liveSession.session
	return trace.Target{PID: r.pid, Command: s.JVM().Main, JDK: fmt.Sprint(s.JDK())}
}

func (r *traceRun) result(took time.Duration) *trace.Trace {
	t := &trace.Trace{
		Target: r.target(), Command: commandLine("trace", r.patterns), Methods: r.patterns, Conditions: r.conditions(), Levels: r.levels,
		Began: r.began, Took: took, Transactions: r.kept, Cost: r.rings.Cost(),
	}
	weavings := r.liveSession.session.Weavings()
	t.Woven, t.Cached = weavings.Woven, weavings.Cached
	t.Losses = trace.Losses{Counts: r.rings.Counts(), NotChosen: r.rings.Rings.Discarded, Dropped: r.rings.Rings.Dropped, Beyond: r.beyond, Early: r.early}
	if r.limit > 0 && len(r.kept) >= r.limit {
		// Transactions that were running when the limit was reached are no loss.
		t.Losses.Beyond += t.Losses.Unfinished
		t.Losses.Unfinished, t.Losses.Strays = 0, 0
	}
	if results, err := r.applied.Results(); err == nil {
		t.Losses.Ambiguous, t.Losses.ContextsLost = results.Ambiguous, results.ContextsLost
		for i := range results.Rows {
			t.Losses.Undecided += results.Rows[i].Undecided
		}
	}
	if r.rings.Damaged > 0 {
		r.remark(fmt.Sprintf("a ring buffer was invalid %s: its calls are lost", format.Count(int(r.rings.Damaged), "time", "times")))
	}
	t.Notes = r.remarksWith(nil)
	return t
}

func (r *traceRun) write(ctx context.Context, t *trace.Trace, ended ending) error {
	reportWritten, failed := r.writeOutputs(r.outputs, func(path string) error { return report.WriteTraceFile(path, t, version()) })
	defer reportWritten()
	if ended != endedUnread {
		failed = errors.Join(failed, r.writeResult(t))
	}
	if r.otlp == "" || len(t.Transactions) == 0 {
		return failed
	}
	sent, err := otlp.Send(context.WithoutCancel(ctx), r.otlp, t, version())
	if sent > 0 {
		r.screen.say("sent %s to %s", format.Count(sent, "span", "spans"), r.otlp)
	}
	return errors.Join(failed, err)
}

func (r *traceRun) writeResult(t *trace.Trace) error {
	if r.json {
		encoded, err := json.Marshal(document.NewTraceEnd(t))
		if err != nil {
			return err
		}
		return r.screen.print(string(encoded))
	}
	out := bufio.NewWriter(r.out) // keeps the first error until Flush
	for number, one := range t.Transactions {
		if r.isShown(number+1, one, t) {
			_, _ = fmt.Fprintln(out)
			if err := text.WriteTransaction(out, number+1, one, r.terminal); err != nil {
				return err
			}
		}
	}
	_, _ = fmt.Fprintln(out)
	text.WriteTraceSummary(out, t, r.terminal)
	if number, err := strconv.Atoi(r.show); err == nil && number > len(t.Transactions) {
		_, _ = fmt.Fprintf(out, "There is no transaction %d to show\n", number)
	}
	return out.Flush()
}

func (r *traceRun) isShown(number int, one *trace.Transaction, t *trace.Trace) bool {
	switch r.show {
	case showAll:
		return true
	case showNone:
		return false
	case showSlowest:
		return one == t.Slowest()
	}
	return r.show == strconv.Itoa(number)
}

func (r *traceRun) noneError(t *trace.Trace) error {
	methods, took := strings.Join(r.patterns, ", "), format.Duration(t.Took.Round(time.Millisecond))
	switch {
	case r.settling.State == overhead.Unsettled:
		return fmt.Errorf("ended after %s, before the JVM had compiled the hooked methods again: no call is kept until then; trace longer", took)
	case t.Losses.NotChosen > 0:
		return fmt.Errorf("none of %s of %s within %s was chosen", format.Count(int(t.Losses.NotChosen), "call", "calls"), methods, took)
	case t.Losses.Undecided > 0:
		return fmt.Errorf("the condition failed with an exception in all of %s: check what may be null in it", format.Count(int(t.Losses.Undecided), "call", "calls"))
	case t.Losses.Unfinished > 0:
		return fmt.Errorf("%s of %s began but did not end within %s: trace longer, or trace a method that it calls", format.Count(int(t.Losses.Unfinished), "call", "calls"), methods, took)
	case r.hasNoMethod():
		return fmt.Errorf("no method that matches %s was loaded within %s: nothing was traced; check the pattern, or trace while the method is used", methods, took)
	case len(t.Conditions) > 0:
		return fmt.Errorf("no call of %s within %s was %s", methods, took, strings.Join(t.Conditions, ", "))
	}
	if results, err := r.applied.Results(); err == nil && slices.ContainsFunc(results.Rows, func(row liveprobes.Row) bool { return row.LowerBound }) {
		return fmt.Errorf("no call of %s was seen within %s; %s: trace its caller instead", methods, took, session.WhyLowerBound)
	}
	return fmt.Errorf("%s was not called within %s: trace longer, or while it is used (calls that began earlier are not seen)", methods, took)
}

func (r *traceRun) hasNoMethod() bool {
	for _, p := range r.applied.report.Probes {
		if len(p.Methods) > 0 {
			return false
		}
	}
	return r.rings.Rings.Opened == 0
}

// list shows a transaction that has become whole.
func (r *traceRun) list(t *trace.Transaction) error {
	if r.json {
		encoded, err := json.Marshal(document.NewTransaction(r.target(), t))
		if err != nil {
			return err
		}
		return r.screen.print(string(encoded))
	}
	if !r.hasTitle {
		r.hasTitle = true
		if err := r.screen.print(text.TraceHeader(r.terminal)); err != nil {
			return err
		}
	}
	return r.screen.print(text.TraceLine(len(r.kept), t, r.terminal))
}

// print writes a line of the result above what is drawn.
func (s *screen) print(line string) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.wipe()
	_, err := io.WriteString(s.out, line+"\n")
	return err
}

const progressEvery = 250 * time.Millisecond

func (r *traceRun) drawProgress() {
	if r.screen.silent || r.json || time.Since(r.drawn) < progressEvery {
		return
	}
	r.drawn = time.Now()
	_ = r.rings.Count() // the end reports errors
	text := fmt.Sprintf("%s of %s kept, %s begun", format.Grouped(len(r.kept)), format.Grouped(r.limit), format.Grouped(int(r.rings.Rings.Opened)))
	text += ringsText(r.rings.Rings)
	text += fmt.Sprintf(", %s   Ctrl-C ends it", format.Duration(time.Since(r.began).Round(100*time.Millisecond)))
	width, _ := r.screen.size()
	r.screen.draw([]string{format.Cut(text, width)})
}
