package trace

import (
	"cmp"
	"math"
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

// A state is what is there of a transaction.
type state struct {
	id    uint64
	lanes []*lane
	root  *Call
	parts []*Call // outermost calls of other threads, not yet in told
	lost  uint64
	size  int    // calls it holds
	seen  uint64 // when the root's record was
	told  *Transaction
}

// A lane is what one ring has told of a transaction and no outer call has taken yet.
type lane struct {
	ring    uint32
	pending []*Call // ended, by end; the call around them has not
	values  []pendingValue
}

type pendingValue struct {
	depth uint32
	value Value
}

// mostValues is how many values a call may have waiting, which is more than templates
// can capture.
const mostValues = 64

func (s *state) laneOf(ring uint32) *lane {
	for _, l := range s.lanes {
		if l.ring == ring {
			return l
		}
	}
	l := &lane{ring: ring}
	s.lanes = append(s.lanes, l)
	return l
}

func (l *lane) addValue(r arena.Record) {
	if len(l.values) == mostValues {
		l.values = l.values[1:]
	}
	value := Value{Index: int(r.Index), AtExit: r.AtExit, raw: r.Text, Null: r.Null, Failed: r.Failed, Cut: r.Cut}
	l.values = append(l.values, pendingValue{r.Depth, value})
}

// takeValues are those of the call of a depth, entry before exit. Deeper ones belong
// to calls whose record was never written.
func (l *lane) takeValues(depth uint32) []Value {
	var taken []Value
	l.values = slices.DeleteFunc(l.values, func(p pendingValue) bool {
		if p.depth == depth {
			taken = append(taken, p.value)
		}
		return p.depth >= depth
	})
	return taken
}

// add takes the record of a call, and tells whether there was room for it.
func (s *state) add(ring uint32, r arena.Record, most int) bool {
	l := s.laneOf(ring)
	c := newCall(ring, r)
	c.Values = l.takeValues(r.Depth)
	isOuter := r.Root || r.Handed
	s.size += 1 - l.adopt(c, isOuter)
	if isOuter {
		s.lost += uint64(r.Lost)
		c.Omitted, c.gone = c.gone, Omitted{}
		if r.Root && s.root == nil {
			s.root = c
		} else {
			s.parts = append(s.parts, c)
		}
		return true
	}
	switch {
	case s.size <= most || len(c.Children) > 0:
		c.Omitted, c.gone = c.gone, Omitted{}
		l.pending = append(l.pending, c)
	case s.size > 3*most: // such a shape no program has: the ring is damaged
		s.size--
		return false
	default:
		s.size += l.fold(c)
	}
	return true
}

func newCall(ring uint32, r arena.Record) *Call {
	return &Call{
		Spot: r.ID, Thread: Thread{ID: uint64(r.Thread)}, Depth: int(min(r.Depth, math.MaxInt32)),
		Measured: time.Duration(min(r.Nanos, math.MaxInt64/4)), Threw: r.Threw, Cut: r.Cut, Handed: r.Handed,
		label: r.Label, start: r.Start, ring: ring,
	}
}

// adopt makes the calls that ended inside c its children. It tells how many places of
// folded calls became free by that.
func (l *lane) adopt(c *Call, isOuter bool) (freed int) {
	n := len(l.pending)
	for n > 0 && l.pending[n-1].start >= c.start && (l.pending[n-1].Depth > c.Depth || isOuter) {
		n--
	}
	for _, inner := range l.pending[n:] {
		if inner.gone.Calls == 0 {
			c.Children = append(c.Children, inner)
			continue
		}
		c.gone.Calls += inner.gone.Calls
		c.gone.Time += inner.gone.Time
		freed++
	}
	clear(l.pending[n:])
	l.pending = l.pending[:n]
	return freed
}

// fold keeps of a call no more than that it was, together with those before it. It
// tells, as a number not above 0, by how much what is held shrinks.
func (l *lane) fold(c *Call) int {
	folded := Omitted{1 + c.gone.Calls, c.Measured}
	if n := len(l.pending); n > 0 && l.pending[n-1].gone.Calls > 0 && l.pending[n-1].Depth == c.Depth {
		before := &l.pending[n-1].gone
		before.Calls += folded.Calls
		before.Time += folded.Time
		return -1
	}
	l.pending = append(l.pending, &Call{Depth: c.Depth, start: c.start, gone: folded})
	return 0
}

// pendingSize is how many calls wait for an outer one.
func (s *state) pendingSize() (size int) {
	for _, l := range s.lanes {
		size += len(l.pending)
	}
	return size
}

// unjoined is how many calls are in no transaction that was handed out.
func (s *state) unjoined() (calls uint64) {
	count := func(c *Call) {
		for one := range c.All() {
			calls += one.Omitted.Calls
			if one.gone.Calls > 0 {
				calls += one.gone.Calls
			} else {
				calls++
			}
		}
	}
	for _, l := range s.lanes {
		for _, c := range l.pending {
			count(c)
		}
	}
	for _, part := range s.parts {
		count(part)
	}
	return calls
}

// closeLanes makes parts of calls whose outer call has not ended.
func (s *state) closeLanes() {
	for _, l := range s.lanes {
		for _, c := range l.pending {
			if c.gone.Calls > 0 {
				s.lost += c.gone.Calls
				continue
			}
			c.Handed = true
			s.parts = append(s.parts, c)
		}
		l.pending = nil
	}
}

// recent is a set of numbers that forgets the oldest.
type recent struct {
	most  int
	in    map[uint64]struct{}
	order []uint64 // a ring once it is full
	next  int
}

func (r *recent) has(id uint64) bool {
	_, is := r.in[id]
	return is
}

func (r *recent) add(id uint64) {
	if r.has(id) {
		return
	}
	if r.in == nil {
		r.in = map[uint64]struct{}{}
	}
	if len(r.order) < r.most {
		r.order = append(r.order, id)
	} else {
		delete(r.in, r.order[r.next])
		r.order[r.next] = id
		r.next = (r.next + 1) % r.most
	}
	r.in[id] = struct{}{}
}

// A Cost is what a pair of hooks takes of a call, in nanoseconds: Inner lies between
// its two readings of the clock and so in the call's own time, Outer around them and
// so in its caller's.
type Cost struct{ Inner, Outer float64 }

// nest puts parts that ran inside a call on the same thread where they ran: a task
// may be done by the thread that hands it over.
func (t *Transaction) nest() {
	outside := t.Parts[:0]
	for i, part := range t.Parts {
		around := enclosing(t.Root, part)
		for j := 0; around == nil && j < len(t.Parts); j++ {
			if j != i {
				around = enclosing(t.Parts[j], part)
			}
		}
		if around == nil {
			outside = append(outside, part)
			continue
		}
		at, _ := slices.BinarySearchFunc(around.Children, part, byStart)
		around.Children = slices.Insert(around.Children, at, part)
	}
	clear(t.Parts[len(outside):])
	t.Parts = outside
	slices.SortStableFunc(t.Parts, byStart)
}

func byStart(a, b *Call) int { return cmp.Compare(a.start, b.start) }

func (c *Call) end() uint64 { return c.start + uint64(c.Measured) }

// enclosing is the innermost call of a tree inside which another ran, nil where none
// is. Of two that took the same time the one that was written first is inner.
func enclosing(c, inner *Call) *Call {
	if c.ring != inner.ring || c == inner || inner.start < c.start || inner.end() > c.end() || inner.end()-inner.start == c.end()-c.start {
		return nil
	}
	for _, child := range c.Children {
		if found := enclosing(child, inner); found != nil {
			return found
		}
	}
	return c
}

// TakeOff says when calls were, seen from the transaction's beginning, and what is left
// of their times without the hooks' own. It may be done again with another cost.
func (t *Transaction) TakeOff(cost Cost) {
	begin := t.Root.start
	t.Root.place(begin, cost)
	for _, part := range t.Parts {
		part.place(begin, cost)
	}
	t.Duration = t.Root.Duration
}

func (c *Call) place(begin uint64, cost Cost) {
	c.Start = time.Duration(c.start - min(begin, c.start))
	inside := float64(c.Omitted.Time) + cost.Outer*float64(c.Omitted.Calls)
	below := time.Duration(max(0, float64(c.Omitted.Time)-cost.Inner*float64(c.Omitted.Calls)))
	for _, child := range c.Children {
		child.place(begin, cost)
		inside += float64(child.Measured) + cost.Outer
		below += child.Duration
	}
	c.Self = time.Duration(max(0, float64(c.Measured)-cost.Inner-inside))
	c.Duration = c.Self + below
}

// Gaps between calls that follow each other inside one other hold all that hooks take
// around the clock, and whatever the caller does in between. So the shortest ones say
// how much hooks take at most. Writing a record takes longer than what calibration
// measures, which is hooks that only time: where the shortest gaps are not much longer
// than that, they are believed.
type gaps struct {
	counts [mostGap]uint32 // by nanoseconds
	all    uint64
}

const (
	mostGap = 1024
	// leastGaps is how many there must be, and gapPart the part of all that are shorter:
	// what hooks take varies, by a third and more.
	leastGaps = 500
	gapPart   = 0.2
	// plausible is how many times longer than what was calibrated a gap may be to be
	// the hooks' own.
	plausible = 4
)

// learn takes the gaps of a tree.
func (g *gaps) learn(c *Call) {
	for i, child := range c.Children {
		g.learn(child)
		if i == 0 {
			continue
		}
		if before := c.Children[i-1]; child.start >= before.end() {
			g.all++
			if gap := child.start - before.end(); gap < mostGap {
				g.counts[gap]++
			}
		}
	}
}

// shortest is a gap as the shorter ones are; 0 where there are too few of all, or
// they are long.
func (g *gaps) shortest() float64 {
	if g.all < leastGaps {
		return 0
	}
	rank := uint64(gapPart * float64(g.all))
	var below uint64
	for gap, count := range g.counts {
		if below += uint64(count); below > rank {
			return float64(gap)
		}
	}
	return 0
}

// refine is a cost with what gaps tell.
func (g *gaps) refine(calibrated Cost) Cost {
	if shortest := g.shortest(); shortest > calibrated.Outer && shortest <= plausible*calibrated.Outer {
		calibrated.Outer = shortest
	}
	return calibrated
}
