package profile

import (
	"maps"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

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
