package profile

import (
	"fmt"
	"sync"
	"time"

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
