package trace

import (
	"cmp"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Options say how records become transactions.
type Options struct {
	Names  Names
	Redact *Redactor // nil: values are shown as they are
	Clock  Clock
	Cost   Cost
	// Settle is how long a transaction whose root has ended waits for what other
	// threads did for it. What comes later is joined as well, and counted.
	Settle time.Duration
	// MostOpen is how many transactions may wait for their root, or for parts, at
	// once; as many that were handed out are remembered for parts that come late.
	MostOpen int
	// MostCalls is how many calls of a transaction are kept each; of more there are
	// numbers. MostHeld bounds those of all that are waiting.
	MostCalls, MostHeld int
}

// The bounds where Options have none.
const (
	DefaultOpen  = 1024
	DefaultCalls = 20_000
	DefaultHeld  = 400_000
	// mostDiscarded is how many discarded transactions are remembered for their
	// parts, which are dropped.
	mostDiscarded = 4096
)

// A Clock joins the target's clock and the wall's: both showed these at one moment.
type Clock struct {
	Wall  time.Time
	Nanos uint64
}

// At is the wall's time at a moment of the target's clock.
func (c Clock) At(nanos uint64) time.Time { return c.Wall.Add(time.Duration(nanos - c.Nanos)) }

// Counts are what did not become part of a transaction, and what came late.
type Counts struct {
	Discarded  uint64 // transactions whose verdict was no, as far as threads had begun on them
	GivenUp    uint64 // transactions that waited for their root when too many did
	Unfinished uint64 // transactions whose root had not ended
	Strays     uint64 // calls of those, and of transactions long handed out
	LateParts  uint64
}

// An Assembler makes transactions of records. It is for one goroutine.
type Assembler struct {
	options   Options
	counts    Counts
	states    map[uint64]*state
	waiting   []*state // for their root or for parts, oldest first
	delivered []*state // handed out, oldest first
	ready     []*Transaction
	held      int    // calls of all states that are not handed out
	now       uint64 // by the last Take
	discarded recent
	gaps      gaps
}

// NewAssembler is one without records.
func NewAssembler(o Options) *Assembler {
	o.MostOpen = cmp.Or(o.MostOpen, DefaultOpen)
	o.MostCalls = cmp.Or(o.MostCalls, DefaultCalls)
	o.MostHeld = cmp.Or(o.MostHeld, DefaultHeld)
	return &Assembler{options: o, states: map[uint64]*state{}, discarded: recent{most: mostDiscarded}}
}

// Counts are what was lost so far.
func (a *Assembler) Counts() Counts { return a.counts }

// Waiting is how many transactions have begun and are not handed out.
func (a *Assembler) Waiting() int { return len(a.waiting) }

// SetCost has times without a cost, as calibration told it, from now on.
func (a *Assembler) SetCost(cost Cost) { a.options.Cost = cost }

// Cost is what hooks take, by calibration and by what calls themselves have told.
func (a *Assembler) Cost() Cost { return a.gaps.refine(a.options.Cost) }

// Add takes a record of a ring. Those of one ring must come in their order.
func (a *Assembler) Add(ring uint32, r arena.Record) {
	if r.Transaction == 0 || a.discarded.has(r.Transaction) {
		return
	}
	if r.Kind == arena.DiscardedRecord {
		a.discard(r.Transaction)
		return
	}
	s := a.stateOf(r.Transaction)
	before := s.size
	switch r.Kind {
	case arena.ValueRecord:
		s.laneOf(ring).addValue(r)
	case arena.CallRecord:
		if !s.add(ring, r, a.options.MostCalls) {
			a.counts.Strays++
		}
	}
	if s.root != nil && s.seen == 0 {
		s.seen = max(s.root.start+uint64(s.root.Measured), a.now, 1)
	}
	a.held += s.size - before
	a.joinLate(s, false)
	a.bound()
}

func (a *Assembler) stateOf(id uint64) *state {
	s := a.states[id]
	if s == nil {
		s = &state{id: id}
		a.states[id] = s
		a.waiting = append(a.waiting, s)
	}
	return s
}

func (a *Assembler) discard(id uint64) {
	a.counts.Discarded++
	a.discarded.add(id)
	s := a.states[id]
	if s == nil || s.told != nil {
		return
	}
	a.forget(s)
	a.waiting = without(a.waiting, s)
}

// forget drops a state's memory.
func (a *Assembler) forget(s *state) {
	delete(a.states, s.id)
	a.held -= s.size
}

// bound gives up the oldest where there is too much.
func (a *Assembler) bound() {
	for len(a.delivered) > a.options.MostOpen || len(a.delivered) > 0 && a.held > a.options.MostHeld {
		oldest := a.delivered[0]
		a.delivered = a.delivered[1:]
		a.counts.Strays += oldest.unjoined()
		a.forget(oldest)
	}
	for len(a.waiting) > a.options.MostOpen || len(a.waiting) > 0 && a.held > a.options.MostHeld {
		oldest := a.waiting[0]
		a.waiting = a.waiting[1:]
		if oldest.root != nil { // it waits for parts only
			a.handOut(oldest)
			continue
		}
		a.counts.GivenUp++
		a.counts.Strays += oldest.unjoined()
		a.discarded.add(oldest.id) // its root, if it comes, would be without these
		a.forget(oldest)
	}
}

// Take hands out the transactions that are whole at a moment of the target's clock.
func (a *Assembler) Take(now uint64) []*Transaction {
	a.now = now
	settle := uint64(a.options.Settle)
	rest := a.waiting[:0:0]
	for _, s := range a.waiting {
		if s.root != nil && now >= s.seen && now-s.seen >= settle {
			a.handOut(s)
		} else {
			rest = append(rest, s)
		}
	}
	a.waiting = rest
	return a.takeReady()
}

// Flush hands out all whose root has ended, with what is there of their parts. No
// records are expected any more.
func (a *Assembler) Flush() []*Transaction {
	for _, s := range a.waiting {
		if s.root != nil {
			s.closeLanes()
			a.handOut(s)
			continue
		}
		a.counts.Unfinished++
		a.counts.Strays += s.unjoined()
		a.forget(s)
	}
	a.waiting = nil
	for _, s := range a.delivered {
		s.closeLanes()
		a.joinLate(s, true)
	}
	return a.takeReady()
}

func (a *Assembler) takeReady() []*Transaction {
	taken := a.ready
	a.ready = nil
	slices.SortStableFunc(taken, func(x, y *Transaction) int { return x.Begin.Compare(y.Begin) })
	return taken
}

// handOut makes a state's transaction. The state stays for parts that come late.
func (a *Assembler) handOut(s *state) {
	t := &Transaction{ID: s.id, Root: s.root, Begin: a.options.Clock.At(s.root.start), Lost: s.lost}
	t.Parts, s.parts = s.parts, nil
	a.held -= s.size
	s.size = s.pendingSize()
	a.held += s.size
	t.nest()
	a.gaps.learn(t.Root)
	t.TakeOff(a.Cost())
	t.Resolve(a.options.Names, a.options.Redact)
	s.told = t
	a.ready = append(a.ready, t)
	a.delivered = append(a.delivered, s)
}

// joinLate gives parts to a transaction that was handed out before.
func (a *Assembler) joinLate(s *state, isEnd bool) {
	if s.told == nil || len(s.parts) == 0 {
		return
	}
	if !isEnd {
		a.counts.LateParts += uint64(len(s.parts))
	}
	t := s.told
	t.Late += len(s.parts)
	t.Parts = append(t.Parts, s.parts...)
	t.Lost = s.lost
	s.parts = nil
	a.held -= s.size
	s.size = s.pendingSize()
	a.held += s.size
	t.nest()
	t.TakeOff(a.Cost())
	t.Resolve(a.options.Names, a.options.Redact)
}

func without(states []*state, one *state) []*state {
	return slices.DeleteFunc(states, func(s *state) bool { return s == one })
}
