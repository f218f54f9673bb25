package profile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A window is the time a profile tells of. While hooks are added and taken away, the
// self time of a caller means now this, now that; and code that has just got hooks
// is interpreted for a while. So what was measured before is taken off, if enough was
// measured since.
type window struct {
	lock    sync.Mutex
	began   time.Time
	at      int64                            // the target's clock
	threads map[uint32]map[uint32]arena.Node // by the thread's root, then by node
}

const (
	leastWindow = 2 * time.Second
	leastPart   = 0.25 // of the run
)

// open begins a new window, unless the run would then have nothing to tell.
func (w *window) open(r *run) error {
	threads, err := r.session.Threads()
	if err != nil {
		return err
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	w.began, w.at = time.Now(), r.session.Now()
	w.keep(threads)
	return nil
}

// shut has the window tell of the whole run, until it is opened again.
func (w *window) shut() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.threads = nil
}

// A view is the part of a run that figures cover.
type view struct {
	began, read time.Time
	since       int64  // the target's clock at its beginning; 0 for the whole run
	note        string // what it leaves out
}

// whole is the view of all of a run until a reading.
func (r *run) whole(read time.Time) view { return view{began: r.began, read: read} }

// narrow reduces what was read at a moment to the window. Where the window is not
// wide enough, nothing is left out.
func (w *window) narrow(r *run, threads []arena.Thread, read time.Time) view {
	w.lock.Lock()
	defer w.lock.Unlock()
	if !w.isWide(r, read) {
		return r.whole(read)
	}
	w.since(threads)
	v := view{began: w.began, read: read, since: w.at}
	v.note = v.leavesOut(r)
	return v
}

func (v view) took() time.Duration { return v.read.Sub(v.began) }

// onFor returns how long of the view a hook was on; a zero off is one that still is.
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

// keep notes what was measured when the window began.
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
			// Of calls under way what comes is in the window, what was is not.
			n.Self += soFar[n.Ref]
			n.Calls -= min(n.Calls, calls[n.Ref])
			nodes[n.Ref] = n
		}
		w.threads[t.Root] = nodes
	}
}

// isWide reports whether the window tells enough of a run.
func (w *window) isWide(r *run, read time.Time) bool {
	open := read.Sub(w.began)
	return w.threads != nil && open >= leastWindow && open.Seconds() >= leastPart*read.Sub(r.began).Seconds()
}

// since takes off what was there before the window.
func (w *window) since(threads []arena.Thread) {
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

// leavesOut says what of the run the figures do not cover.
func (v view) leavesOut(r *run) string {
	why := "when its compilers were done with what the hooks undid"
	if r.budget != nil {
		why = "since when the same hooks were on"
	}
	return fmt.Sprintf("figures are of the last %v, %s; the first %v are left out",
		v.took().Round(100*time.Millisecond), why, v.began.Sub(r.began).Round(100*time.Millisecond))
}

// A settler opens the window once the compilers are done with what the last round of
// hooks undid.
type settler struct {
	run    *run
	rounds int // when it looked last
	last   cost.Reading
	lull   cost.Lull
	open   bool
	since  time.Time // of the last round
}

// mostSettling is after what time a program's compilers are taken to be busy for
// reasons of their own.
const mostSettling = 6 * time.Second

// isSettled reports whether code that got hooks runs as it will.
func (s *settler) isSettled() bool {
	return s.open || s.rounds > 0 && time.Since(s.since) > mostSettling
}

func (s *settler) look(context.Context) error {
	now, err := s.run.session.Read()
	if err != nil {
		return err
	}
	since := s.last.Until(now)
	s.last = now
	if rounds := s.run.ledger.rounds(); rounds != s.rounds {
		s.rounds, s.lull, s.since = rounds, cost.Lull{}, time.Now()
		if s.open {
			s.open = false
			s.run.window.shut()
		}
		return nil
	}
	if s.open || since.Elapsed <= 0 || !s.lull.Add(since) {
		return nil
	}
	s.open = true
	return s.run.window.open(s.run)
}

// underWay is what calls under way have taken themselves so far, by node: each was
// at work from its start until now, or until the next timed one started, but for
// callees that have ended.
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

// A ledger keeps account of what a run takes of the target.
type ledger struct {
	lock     sync.Mutex
	batches  int
	pause    time.Duration
	compile  time.Duration
	pauses   []pause
	unplaced time.Duration    // pauses that hit calls which cannot be told
	hookedAt map[uint32]int64 // of methods whose hooks came late
	first    cost.Reading     // before the first hook
	on       cost.Reading     // when the root's hooks went on
}

// A pause is one that hit a known call, and the target's clock behind it.
type pause struct {
	at int64
	cct.Pause
}

// pausesSince are those after a moment of the target's clock.
func (l *ledger) pausesSince(at int64) []cct.Pause {
	l.lock.Lock()
	defer l.lock.Unlock()
	var since []cct.Pause
	for _, p := range l.pauses {
		if p.at > at {
			since = append(since, p.Pause)
		}
	}
	return since
}

func (l *ledger) begin(s *session.Session) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.first, _ = s.Read()
	l.hookedAt = make(map[uint32]int64)
}

func (l *ledger) rounds() int {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.batches
}

// A place is the timed call that a thread was in.
type place struct {
	node  uint32
	start int64
}

// look tells in which timed call each thread is.
func (l *ledger) look(s *session.Session) map[uint64]place {
	threads, err := s.Stacks()
	if err != nil {
		return nil
	}
	places := make(map[uint64]place, len(threads))
	for _, t := range threads {
		if n := len(t.Stack); n > 0 && t.Stack[n-1].Start != 0 && !t.Away { // who is away has it adjusted
			places[t.ID] = place{t.Stack[n-1].Node, t.Stack[n-1].Start}
		}
	}
	return places
}

// add notes a round. A thread that was in one and the same call before and after
// was stopped in it; where that is another call, in which of those between it was
// stopped is not known.
func (l *ledger) add(s *session.Session, installation *session.Installation, before map[uint64]place) {
	if installation == nil || len(installation.Batches) == 0 {
		return
	}
	after := l.look(s)
	l.lock.Lock()
	defer l.lock.Unlock()
	var stood time.Duration
	for _, batch := range installation.Batches {
		l.batches++
		stood += batch.Cost.Pause
		l.compile += batch.Cost.CompileCPU
	}
	l.pause += stood
	for thread, at := range before {
		if after[thread] == at {
			l.pauses = append(l.pauses, pause{s.Now(), cct.Pause{Thread: thread, Node: at.node, Nanos: int64(stood)}})
		} else {
			l.unplaced = max(l.unplaced, stood)
		}
	}
}

// late notes that a method's hook came after calls may have been made.
func (l *ledger) late(id uint32, at int64) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if _, known := l.hookedAt[id]; !known {
		l.hookedAt[id] = at
	}
}

func (l *ledger) lateHooks() map[uint32]int64 {
	l.lock.Lock()
	defer l.lock.Unlock()
	return maps.Clone(l.hookedAt)
}

// taken is the time that threads waited in hooks and for classes that load: what
// the adjustment nodes hold.
func taken(threads []arena.Thread) time.Duration {
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

// since is what the target did since the root's hooks went on, until a reading.
func (l *ledger) since(now cost.Reading) cost.Cost {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.on.Until(now)
}

// switchedOn notes that the root's hooks went on.
func (l *ledger) switchedOn(s *session.Session) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.on, _ = s.Read()
}
