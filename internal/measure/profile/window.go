package profile

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A window is the time that a profile covers. While hooks are switched on and off, the
// self time of a caller changes its meaning, and code that has just got hooks is
// interpreted for a while. So what was measured before the window is subtracted, if enough
// was measured since.
type window struct {
	began   time.Time
	at      int64                            // the target's clock
	threads map[uint32]map[uint32]arena.Node // by the thread's root, then by node
	settled bool                             // the program ran as before when it began
	early   map[uint32]arena.Frame           // by the thread's root, the outermost calls that ran when it began; nil if they have ended
}

const (
	minWindow = 2 * time.Second
	minPart   = 0.25 // of the run
	// earlyLimit is how long outermost calls that ran when the window began may go on, so that it begins again when they have ended.
	earlyLimit = 10 * time.Second
)

func (w *window) open(r *run) error {
	threads, err := r.session.Threads()
	if err != nil {
		return err
	}
	w.began, w.at = time.Now(), r.session.Now()
	w.keep(threads)
	w.early = outermostCalls(threads)
	r.stacks.restart()
	return nil
}

// renew opens the window again once all outermost calls have ended that ran when it was opened. They may have called methods before these
// had hooks: what such methods call is then below another caller than the stacks show, which would be taken for its own time.
func (w *window) renew(r *run) error {
	if len(w.early) == 0 || w.length(time.Now()) > earlyLimit {
		return nil
	}
	threads, err := r.session.Stacks()
	if err != nil || w.hasEarly(threads) {
		return err
	}
	err = w.open(r)
	w.early = nil // what runs now began with all hooks on
	return err
}

// hasEarly reports whether an outermost call that ran when the window began has not ended.
func (w *window) hasEarly(threads []arena.Thread) bool {
	for root, now := range outermostCalls(threads) {
		if was, known := w.early[root]; known && was.Node == now.Node && was.Start == now.Start {
			return true
		}
	}
	return false
}

// outermostCalls returns the timed outermost calls that run, by the thread's root.
func outermostCalls(threads []arena.Thread) map[uint32]arena.Frame {
	calls := make(map[uint32]arena.Frame)
	for _, t := range threads {
		if len(t.Stack) > 0 && t.Stack[0].Start != 0 {
			calls[t.Root] = t.Stack[0]
		}
	}
	return calls
}

// length returns for how long the window has been open at a moment; 0 if it is not.
func (w *window) length(at time.Time) time.Duration {
	if w.threads == nil {
		return 0
	}
	return at.Sub(w.began)
}

// isEnough reports whether the window covers enough of a run that began at some time.
func (w *window) isEnough(began, now time.Time) bool {
	open := w.length(now)
	return open >= minWindow && open.Seconds() >= minPart*now.Sub(began).Seconds()
}

// A view is the part of a run that figures cover.
type view struct {
	began, read time.Time
	since       int64  // the target's clock at its beginning; 0 for the whole run
	note        string // says what is left out
}

// narrow reduces what was read to the window. If the window covers too little of the run, or no
// call while there were some before, nothing is left out.
func (w *window) narrow(r *run, threads []arena.Thread, read time.Time) view {
	open := read.Sub(w.began)
	settled := w.threads != nil && w.settled && r.pace != nil && open >= overhead.SettleInterval // the time before describes another program
	if !settled && !w.isEnough(r.began, read) || w.isEmpty(threads) {
		return view{began: r.began, read: read}
	}
	w.subtract(threads)
	why := "after the hooks of the methods called so far were in"
	switch {
	case r.budget != nil:
		why = "in which the same hooks were on"
	case w.settled:
		why = "after the JVM had recompiled the code that was discarded for the hooks"
	}
	note := fmt.Sprintf("figures cover the last %s, %s; the first %s are left out", format.Duration(open), why, format.Duration(w.began.Sub(r.began)))
	if len(w.early) > 0 {
		note += earlyNote
	}
	return view{began: w.began, read: read, since: w.at, note: note}
}

// earlyNote says what outermost calls that ran when the window began do to the figures.
const earlyNote = "; they include calls of the root that began before: what these did may be shown as own time of methods without the callers between, so measure for longer than such a call takes"

func (v view) took() time.Duration { return v.read.Sub(v.began) }

// onFor returns how long a hook was on during the view; off is zero if it still is.
func (v view) onFor(on, off time.Time) time.Duration {
	if on.IsZero() {
		return 0
	}
	if on.Before(v.began) {
		on = v.began
	}
	if off.IsZero() || off.After(v.read) {
		off = v.read
	}
	return max(0, off.Sub(on))
}

// keep remembers what was measured before the window began.
func (w *window) keep(threads []arena.Thread) {
	w.threads = make(map[uint32]map[uint32]arena.Node, len(threads))
	for _, t := range threads {
		soFar := underWay(t, w.at)
		calls := make(map[uint32]uint64)
		for _, f := range t.Stack {
			calls[f.Node]++
		}
		nodes := make(map[uint32]arena.Node, len(t.Nodes))
		for _, n := range t.Nodes {
			// Calls under way belong to the window with the time they take from now on.
			n.Self += soFar[n.Ref]
			n.Calls -= min(n.Calls, calls[n.Ref])
			nodes[n.Ref] = n
		}
		w.threads[t.Root] = nodes
	}
}

// isEmpty reports whether all calls ended before the window.
func (w *window) isEmpty(threads []arena.Thread) bool {
	hasCalls := false
	for _, t := range threads {
		before := w.threads[t.Root]
		for _, n := range t.Nodes {
			if n.Calls > before[n.Ref].Calls {
				return false
			}
			hasCalls = hasCalls || n.Calls > 0
		}
	}
	return hasCalls
}

// subtract removes what was measured before the window.
func (w *window) subtract(threads []arena.Thread) {
	for i := range threads {
		before := w.threads[threads[i].Root]
		for j := range threads[i].Nodes {
			n := &threads[i].Nodes[j]
			was, known := before[n.Ref]
			if !known {
				continue
			}
			n.Calls -= was.Calls
			n.Timed -= was.Timed
			n.Nanos -= was.Nanos
			n.Self -= was.Self
			n.Threw -= was.Threw
			n.Squares = max(0, n.Squares-was.Squares)
			n.Missed -= was.Missed
		}
	}
}

// A settler opens the window once the compilers are done with what the last round of
// hooks made them do.
type settler struct {
	run      *run
	rounds   int // at the last look
	last     cost.Reading
	settling overhead.Settling
	recovery overhead.Recovery // how the program came back to its former pace, if a pace is watched
}

func (s *settler) look() error {
	now, err := s.run.session.Read()
	if err != nil {
		return err
	}
	since := s.last.Until(now)
	s.last = now
	wasOpen := s.settling.State == overhead.Settled
	if rounds := s.run.batches; rounds != s.rounds {
		s.rounds, s.settling = rounds, overhead.Settling{Rule: overhead.ForProfile}
		if s.run.pace != nil {
			s.run.pace.Changed()
		}
		// Calls before a hook was in are missing. So figures begin when late hooks are in, unless most
		// of the others have been in for long.
		if len(s.run.hookedAt) == 0 || s.run.window.isEnough(s.run.began, now.At) {
			return nil
		}
		s.run.window.settled = false
		return s.run.window.open(s.run)
	}
	if wasOpen || since.Elapsed <= 0 || s.add(since) != overhead.Settled {
		return nil
	}
	soFar, _ := s.run.rootCalls()
	s.run.pace.Follow(context.Background(), s.run.session, s.run.isHooked, soFar, func() (uint64, error) { // the session bounds it
		calls, _ := s.run.rootCalls()
		return calls, s.run.session.Err()
	})
	s.run.window.settled = true
	return s.run.window.open(s.run)
}

// add takes in what happened since the last look. Samples are more reliable than the work of the compilers.
func (s *settler) add(since cost.Cost) overhead.State {
	r := s.run
	if r.pace == nil {
		return s.settling.Add(since)
	}
	s.recovery = r.pace.Look(context.Background(), r.isHooked, since)
	switch {
	case s.recovery.Settled:
		s.settling.State = overhead.Settled
	case s.recovery.Took >= r.Settle:
		s.settling.State = overhead.Overdue
	}
	return s.settling.State
}

// disturbed says that figures are of a program that did not run as before; "" if they are not.
func (s *settler) disturbed() string {
	if s.run.pace == nil || s.settling.State == overhead.Settled {
		return ""
	}
	return s.recovery.Disturbed()
}

func (r *run) isHooked(m classfile.MethodRef) bool { return r.session.IsHooked(r.session.ID(m)) }

// underWay returns the own time of calls under way so far, by node: each ran from its
// start until now, or until the next timed call started, except for callees that have
// ended.
func underWay(t arena.Thread, now int64) map[uint32]int64 {
	soFar := make(map[uint32]int64, len(t.Stack))
	until := now
	for _, f := range slices.Backward(t.Stack) {
		if f.Start != 0 {
			soFar[f.Node] += max(0, until-f.Start-f.Child)
			until = f.Start
		}
	}
	return soFar
}

// A ledger records what a run costs the target.
type ledger struct {
	batches  int
	pause    time.Duration
	compile  time.Duration
	pauses   []pause
	unplaced time.Duration    // the longest pause during which a thread went from call to call
	hookedAt map[uint32]int64 // by method, if its hook came late
	first    cost.Reading     // before the first hook
	on       cost.Reading     // when the root's hooks went on
}

// A pause stopped a known call; it has the target's clock after the pause.
type pause struct {
	at int64
	cct.Pause
}

// pausesSince returns the pauses after a moment of the target's clock.
func (l *ledger) pausesSince(at int64) (since []cct.Pause) {
	for _, p := range l.pauses {
		if p.at > at {
			since = append(since, p.Pause)
		}
	}
	return since
}

// A place is the timed call that a thread was in.
type place struct {
	node  uint32
	start int64
}

func (r *run) places() map[uint64]place {
	threads, err := r.session.Stacks()
	if err != nil {
		return nil
	}
	places := make(map[uint64]place, len(threads))
	for _, t := range threads {
		if n := len(t.Stack); n > 0 && t.Stack[n-1].Start != 0 && !t.Away { // threads that are away are adjusted elsewhere
			places[t.ID] = place{t.Stack[n-1].Node, t.Stack[n-1].Start}
		}
	}
	return places
}

// account records a round. A thread that was in the same call before and after was stopped
// in it; for other threads it is not known which call was stopped.
func (r *run) account(installation *session.Installation, before map[uint64]place) {
	if installation == nil || len(installation.Batches) == 0 {
		return
	}
	after := r.places()
	var stopped time.Duration
	for _, batch := range installation.Batches {
		r.batches++
		stopped += batch.Cost.Pause
		r.compile += batch.Cost.CompileCPU
	}
	r.pause += stopped
	for thread, at := range before {
		if after[thread] == at {
			r.pauses = append(r.pauses, pause{r.session.Now(), cct.Pause{Thread: thread, Node: at.node, Nanos: int64(stopped)}})
		} else {
			r.unplaced = max(r.unplaced, stopped)
		}
	}
}

// late records that methods may have been called before they had their hooks.
func (r *run) late(methods ...classfile.MethodRef) {
	now := r.session.Now()
	for _, m := range methods {
		id := r.session.ID(m)
		if _, known := r.hookedAt[id]; !known {
			r.hookedAt[id] = now
		}
	}
}

// waited returns how long threads waited in hooks and for classes that load: the time of
// the adjustment nodes.
func waited(threads []arena.Thread) time.Duration {
	var sum uint64
	for _, t := range threads {
		for _, n := range t.Nodes {
			if n.ID == arena.AdjustmentID {
				sum += n.Nanos
			}
		}
	}
	return time.Duration(sum)
}
