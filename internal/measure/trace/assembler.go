package trace

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Options configure an Assembler.
type Options struct {
	Names  func() *liveprobes.Names // the names that are known now
	Redact *Redactor                // nil: values are shown as they are
	Clock  Clock
	Cost   Cost
	// Since is a reading of the target's clock at which all hooks were on. Transactions that began before lack calls, and are dropped.
	Since uint64
	// Settle is how long a transaction whose root has ended waits for calls of other threads. Calls
	// that arrive later are added to it, too, and counted.
	Settle time.Duration
	// MostOpen bounds how many transactions wait for their root or for parts; as many delivered
	// transactions are remembered for late parts.
	MostOpen int
	// MostCalls bounds the calls of a transaction that are kept; others are only counted. MostHeld
	// bounds the calls of all waiting transactions.
	MostCalls, MostHeld int
}

// Defaults of Options.
const (
	DefaultOpen  = 1024
	DefaultCalls = 20_000
	DefaultHeld  = 400_000
	// mostDiscarded is how many discarded transactions are remembered to drop their parts.
	mostDiscarded = 4096
)

// A Clock converts the target's clock to wall time: it holds simultaneous readings of both.
type Clock struct {
	Wall  time.Time
	Nanos uint64
}

// At returns the wall time of a reading of the target's clock.
func (c Clock) At(nanos uint64) time.Time { return c.Wall.Add(time.Duration(nanos - c.Nanos)) }

// Counts count records that did not become part of a transaction, and late parts.
type Counts struct {
	Discarded  uint64 `json:"-"`                    // transactions that did not meet the conditions, if records of them were written, or that began before all hooks were on
	Unfinished uint64 `json:"unfinished,omitempty"` // transactions whose root had not ended
	GivenUp    uint64 `json:"givenUp,omitempty"`    // transactions that were dropped because too many waited for their root
	Strays     uint64 `json:"strays,omitempty"`     // calls of such transactions, and of others after they were forgotten
	LateParts  uint64 `json:"lateParts,omitempty"`
}

// An Assembler combines records into transactions. It is not safe for concurrent use.
type Assembler struct {
	options   Options
	counts    Counts
	states    map[uint64]*state
	waiting   []*state // for their root or for parts, oldest first
	delivered []*state // oldest first
	ready     []*Transaction
	late      []*state       // delivered ones with parts that are not yet in their transaction
	changed   []*Transaction // by late parts, since the last delivery
	held      int            // calls that are not delivered
	now       uint64         // at the last Take
	discarded map[uint64]bool
	oldest    []uint64 // the keys of discarded, oldest first
	gaps      gaps
}

// NewAssembler returns an assembler; zero options are replaced by defaults.
func NewAssembler(o Options) *Assembler {
	o.MostOpen = cmp.Or(o.MostOpen, DefaultOpen)
	o.MostCalls = cmp.Or(o.MostCalls, DefaultCalls)
	o.MostHeld = cmp.Or(o.MostHeld, DefaultHeld)
	return &Assembler{options: o, states: map[uint64]*state{}, discarded: map[uint64]bool{}}
}

// Counts returns the losses so far.
func (a *Assembler) Counts() Counts { return a.counts }

// SetCost sets the calibrated cost of hooks, which is subtracted from times from now on.
func (a *Assembler) SetCost(cost Cost) { a.options.Cost = cost }

// Cost returns the cost of hooks from calibration and from the gaps between calls.
func (a *Assembler) Cost() Cost { return a.gaps.refine(a.options.Cost) }

// Add adds a record of a ring. Records of one ring must be added in order.
func (a *Assembler) Add(ring uint32, r arena.Record) {
	if r.Transaction == 0 || a.discarded[r.Transaction] {
		return
	}
	if r.Kind == arena.DiscardedRecord {
		a.discard(r.Transaction)
		return
	}
	s := a.stateOf(r.Transaction)
	before, hadParts := s.size, len(s.parts) > 0
	switch r.Kind {
	case arena.ValueRecord:
		if r.Index == arena.TraceValue && !r.AtExit {
			s.parent, _ = ParseParent(r.Text) // without one, the transaction is a trace of its own
			break
		}
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
	if s.delivered != nil && len(s.parts) > 0 && !hadParts {
		a.late = append(a.late, s)
	}
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
	a.ignore(id)
	s := a.states[id]
	if s == nil || s.delivered != nil {
		return
	}
	a.forget(s)
	a.waiting = slices.DeleteFunc(a.waiting, func(other *state) bool { return other == s })
}

// ignore drops later records of a transaction.
func (a *Assembler) ignore(id uint64) {
	a.discarded[id] = true
	if a.oldest = append(a.oldest, id); len(a.oldest) > mostDiscarded {
		delete(a.discarded, a.oldest[0])
		a.oldest = a.oldest[1:]
	}
}

func (a *Assembler) forget(s *state) {
	delete(a.states, s.id)
	a.held -= s.size
}

// bound drops the oldest transactions while there are too many.
func (a *Assembler) bound() {
	for len(a.delivered) > a.options.MostOpen || len(a.delivered) > 0 && a.held > a.options.MostHeld {
		oldest := a.delivered[0]
		a.delivered = a.delivered[1:]
		a.joinLate(oldest, false)
		a.counts.Strays += oldest.unjoined()
		a.forget(oldest)
	}
	for len(a.waiting) > a.options.MostOpen || len(a.waiting) > 0 && a.held > a.options.MostHeld {
		oldest := a.waiting[0]
		a.waiting = a.waiting[1:]
		if oldest.root != nil { // it waits for parts only
			a.deliver(oldest)
			continue
		}
		a.counts.GivenUp++
		a.counts.Strays += oldest.unjoined()
		a.ignore(oldest.id) // a later root would lack these calls
		a.forget(oldest)
	}
}

// Take delivers the transactions that are complete at a time of the target's clock.
func (a *Assembler) Take(now uint64) []*Transaction {
	a.now = now
	a.joinAll()
	settle := uint64(a.options.Settle)
	rest := a.waiting[:0:0]
	for _, s := range a.waiting {
		if s.root != nil && now >= s.seen && now-s.seen >= settle {
			a.deliver(s)
		} else {
			rest = append(rest, s)
		}
	}
	a.waiting = rest
	return a.takeReady()
}

// Flush delivers all transactions whose root has ended, with the parts that are known. It is called
// after the last record.
func (a *Assembler) Flush() []*Transaction {
	a.joinAll()
	for _, s := range a.waiting {
		if s.root != nil {
			s.closeLanes()
			a.deliver(s)
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
	if len(taken)+len(a.changed) > 0 {
		a.Complete(slices.Concat(taken, a.changed))
	}
	a.ready, a.changed = nil, nil
	slices.SortStableFunc(taken, func(x, y *Transaction) int { return x.Begin.Compare(y.Begin) })
	return taken
}

// Complete sets the names that are known now, and the times without the cost of hooks.
func (a *Assembler) Complete(transactions []*Transaction) {
	names := a.options.Names()
	for _, t := range transactions {
		t.Resolve(names, a.options.Redact)
		t.TakeOff(a.Cost())
	}
}

// deliver creates the transaction of a state, unless it lacks calls. The state remains for late parts.
func (a *Assembler) deliver(s *state) {
	if s.root.start < a.options.Since {
		a.counts.Discarded++
		a.ignore(s.id)
		a.forget(s)
		return
	}
	t := &Transaction{ID: s.id, Parent: s.parent, Sent: s.sent, Root: s.root, Begin: a.options.Clock.At(s.root.start), Lost: s.lost}
	t.Parts, s.parts = s.parts, nil
	a.release(s)
	t.nest()
	a.gaps.learn(t.Root)
	t.fold()
	s.delivered = t
	a.ready = append(a.ready, t)
	a.delivered = append(a.delivered, s)
}

// release counts only the calls of a state that still wait for an outer call.
func (a *Assembler) release(s *state) {
	a.held -= s.size
	s.size = 0
	for _, l := range s.lanes {
		s.size += len(l.pending)
	}
	a.held += s.size
}

// joinAll adds all late parts to their transactions, those of a transaction together: arranging its calls takes long.
func (a *Assembler) joinAll() {
	for _, s := range a.late {
		a.joinLate(s, false)
	}
	a.late = nil
}

// joinLate adds parts to a transaction that was already delivered. No more than MostCalls of their calls are kept.
func (a *Assembler) joinLate(s *state, isEnd bool) {
	if s.delivered == nil || len(s.parts) == 0 {
		return
	}
	if !isEnd {
		a.counts.LateParts += uint64(len(s.parts))
	}
	t := s.delivered
	t.Late += len(s.parts)
	for _, part := range s.parts {
		calls, omitted := 0, uint64(0)
		for c := range part.All() {
			calls++
			omitted += c.Omitted.Calls
		}
		if s.late+calls > a.options.MostCalls {
			s.lost += uint64(calls) + omitted
			continue
		}
		s.late += calls
		t.Parts = append(t.Parts, part)
	}
	t.Lost = s.lost
	s.parts = nil
	a.release(s)
	t.nest()
	t.fold()
	a.changed = append(a.changed, t)
}

// A state is a transaction whose records are being read.
type state struct {
	id        uint64
	parent    Parent
	sent      [16]byte // the trace that was sent to programs that it has called
	lanes     []*lane
	root      *Call
	parts     []*Call // outermost calls of other threads, not yet in delivered
	lost      uint64
	size      int    // calls it holds
	seen      uint64 // when the root's record was
	delivered *Transaction
	late      int // calls that were added to delivered
}

// A lane holds the calls of a transaction in one ring whose outer call has not been read yet.
type lane struct {
	ring    uint32
	pending []*Call // by end
	values  []pendingValue
}

type pendingValue struct {
	depth uint32
	value Value
}

// mostValues bounds the values of a lane; it is more than the values that hooks record in a call.
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
	index := int(r.Index)
	if r.AtExit {
		index |= probes.ExitCapture
	}
	value := Value{Index: index, AtExit: r.AtExit, raw: r.Text, Null: r.Null, Failed: r.Failed, Cut: r.Cut}
	l.values = append(l.values, pendingValue{r.Depth, value})
}

// takeValues removes and returns the values of a call at a depth, entry before exit. Deeper values
// belong to calls without a record and are dropped.
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

// readSpan reads, of the values of a call, the ids that were sent to the program that it calls.
func (s *state) readSpan(c *Call) {
	c.Values = slices.DeleteFunc(c.Values, func(v Value) bool {
		if v.Index != arena.SpanValue {
			return false
		}
		if sent, err := ParseParent(v.raw); err == nil && sent.Span != [8]byte{} {
			s.sent, c.SpanID = sent.Trace, hex.EncodeToString(sent.Span[:])
		}
		return true
	})
}

// add adds the record of a call, and reports whether there was room for it.
func (s *state) add(ring uint32, r arena.Record, most int) bool {
	l := s.laneOf(ring)
	c := newCall(ring, r)
	c.Values = l.takeValues(r.Depth)
	s.readSpan(c)
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
	case s.size > 3*most: // no program has such a tree: the ring is damaged
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

// adopt makes the calls that ended inside c its children. It returns how many entries of folded
// calls were freed.
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
		c.gone.add(inner.gone)
		freed++
	}
	clear(l.pending[n:])
	l.pending = l.pending[:n]
	return freed
}

// fold only counts a call, together with the calls before it. It returns the change of the number of
// entries, which is not positive.
func (l *lane) fold(c *Call) int {
	folded := Omitted{1 + c.gone.Calls, c.Measured}
	if n := len(l.pending); n > 0 && l.pending[n-1].gone.Calls > 0 && l.pending[n-1].Depth == c.Depth {
		l.pending[n-1].gone.add(folded)
		return -1
	}
	l.pending = append(l.pending, &Call{Depth: c.Depth, start: c.start, gone: folded})
	return 0
}

// unjoined returns how many calls were not delivered.
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

// closeLanes turns calls whose outer call has not ended into parts.
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

// A Cost is the cost of the hooks of a call, in nanoseconds: Inner is between the two readings of
// the clock and so part of the call's own time; Outer is around them and so part of its caller's.
type Cost struct {
	Inner float64 `json:"innerNanos"`
	Outer float64 `json:"outerNanos"`
}

// nest moves parts that ran inside a call of the same thread below it: a thread may run a task that
// it submitted itself.
func (t *Transaction) nest() {
	// A part comes after those that contain it. Of those that are in no other, only the last can contain the next one.
	slices.SortStableFunc(t.Parts, func(a, b *Call) int {
		return cmp.Or(cmp.Compare(a.ring, b.ring), byStart(a, b), cmp.Compare(b.Measured, a.Measured))
	})
	outside := t.Parts[:0]
	for _, part := range t.Parts {
		around := enclosing(t.Root, part)
		if n := len(outside); around == nil && n > 0 {
			around = enclosing(outside[n-1], part)
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

// mostAlike is how many calls of one method by one call are kept: the longest ones.
const mostAlike = 64

// fold sums up calls of one method by one call where there are many: of a loop over a thousand
// rows, a thousand records say no more than the longest of them and the sum.
func (t *Transaction) fold() {
	for _, c := range append([]*Call{t.Root}, t.Parts...) {
		c.fold()
	}
}

func (c *Call) fold() {
	alike := map[uint32][]*Call{}
	for _, child := range c.Children {
		child.fold()
		if !child.Handed && !child.Cut && len(child.Values) == 0 && child.label == c.label {
			alike[child.Spot] = append(alike[child.Spot], child)
		}
	}
	gone := map[*Call]bool{}
	for _, spot := range slices.Sorted(maps.Keys(alike)) {
		calls := alike[spot]
		if len(calls) <= mostAlike {
			continue
		}
		slices.SortStableFunc(calls, func(a, b *Call) int { return cmp.Compare(b.Measured, a.Measured) })
		f := FoldInto(&c.Folded, spot)
		for _, short := range calls[mostAlike:] {
			f.add(short)
			gone[short] = true
		}
	}
	if len(gone) > 0 {
		c.Children = slices.DeleteFunc(c.Children, func(child *Call) bool { return gone[child] })
	}
}

// add adds a call with all calls below it.
func (f *Folded) add(c *Call) {
	f.Calls++
	f.Measured = plus(f.Measured, c.Measured)
	if c.Threw {
		f.Threw++
	}
	f.Omitted.add(c.Omitted)
	for _, child := range c.Children {
		FoldInto(&f.Children, child.Spot).add(child)
	}
	for _, inner := range c.Folded {
		FoldInto(&f.Children, inner.Spot).Merge(inner)
	}
}

// takeOff computes the times without the cost of hooks.
func (f *Folded) takeOff(cost Cost) {
	inside, below := f.Omitted.takeOff(cost)
	for _, child := range f.Children {
		child.takeOff(cost)
		inside += float64(child.Measured) + cost.Outer*float64(child.Calls)
		below = plus(below, child.Duration)
	}
	f.Self = time.Duration(max(0, float64(f.Measured)-cost.Inner*float64(f.Calls)-inside))
	f.Duration = plus(f.Self, below)
}

// takeOff returns the time that omitted calls took of their caller, and their time without the cost of hooks.
func (o Omitted) takeOff(cost Cost) (inside float64, below time.Duration) {
	return float64(o.Time) + cost.Outer*float64(o.Calls), time.Duration(max(0, float64(o.Time)-cost.Inner*float64(o.Calls)))
}

func byStart(a, b *Call) int { return cmp.Compare(a.start, b.start) }

func (c *Call) end() uint64 { return c.start + uint64(c.Measured) }

// enclosing returns the innermost call of a tree that contains another call; nil if there is none.
// If two calls have the same length, the inner call was recorded first.
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

// TakeOff computes the start of calls relative to the transaction, and their times without the cost
// of hooks. It may be called again with another cost.
func (t *Transaction) TakeOff(cost Cost) {
	begin := t.Root.start
	t.Root.place(begin, cost)
	for _, part := range t.Parts {
		part.place(begin, cost)
	}
	t.Duration = t.Root.Duration
}

func (c *Call) place(begin uint64, cost Cost) {
	c.Start = time.Duration(min(c.start-min(begin, c.start), math.MaxInt64))
	inside, below := c.Omitted.takeOff(cost)
	for _, f := range c.Folded {
		f.takeOff(cost)
		inside += float64(f.Measured) + cost.Outer*float64(f.Calls)
		below = plus(below, f.Duration)
	}
	for _, child := range c.Children {
		child.place(begin, cost)
		inside += float64(child.Measured) + cost.Outer
		below = plus(below, child.Duration)
	}
	c.Self = time.Duration(max(0, float64(c.Measured)-cost.Inner-inside))
	c.Duration = plus(c.Self, below)
}

// gaps are the times between consecutive calls of one caller: the outer cost of hooks plus the work
// of the caller. So the shortest gaps are an upper bound of that cost. Writing a record takes longer
// than the hooks that calibration measures, which only time; if the shortest gaps are not much longer
// than the calibrated cost, they are used instead.
type gaps struct {
	counts [mostGap]uint32 // by nanoseconds
	all    uint64
}

const (
	mostGap = 1024
	// leastGaps is how many gaps are needed, and gapPart the quantile that is used: the cost of hooks
	// varies by a third and more.
	leastGaps = 500
	gapPart   = 0.2
	// plausible is how many times longer than the calibrated cost a gap may be to be used.
	plausible = 4
)

// learn adds the gaps of a tree.
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

// shortest returns the length of the shorter gaps; 0 if there are too few gaps or they are long.
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

// refine returns the cost, with the gaps as outer cost if they are plausible.
func (g *gaps) refine(calibrated Cost) Cost {
	if shortest := g.shortest(); shortest > calibrated.Outer && shortest <= plausible*calibrated.Outer {
		calibrated.Outer = shortest
	}
	return calibrated
}

// A Program is another program whose transactions were traced at the same time.
type Program struct {
	Target       Target
	Transactions []*Transaction
}

// Graft puts transactions of other programs below the calls that have caused them, by the ids that they have sent. It
// returns how many it has found a place for.
func Graft(t Target, transactions []*Transaction, others []Program) (grafted int) {
	g := grafting{found: make(map[Parent][]foreign)}
	for i := range others {
		for _, tx := range others[i].Transactions {
			g.found[tx.Parent] = append(g.found[tx.Parent], foreign{&others[i], tx})
		}
	}
	for _, tx := range transactions {
		for _, c := range slices.Collect(tx.All()) {
			grafted += g.below(c, tx.Begin, ID(t, tx))
		}
	}
	return grafted
}

type foreign struct {
	program *Program
	tx      *Transaction
}

type grafting struct {
	found map[Parent][]foreign // what has no place yet
}

// below puts what a call has caused below it, and what that has caused below that.
func (g *grafting) below(c *Call, begin time.Time, trace [16]byte) (grafted int) {
	caller := Parent{Trace: trace}
	id, err := hex.DecodeString(c.SpanID)
	if err != nil || len(id) != len(caller.Span) {
		return 0
	}
	caller.Span = [8]byte(id)
	caused := g.found[caller]
	delete(g.found, caller)
	for _, f := range caused {
		root := f.tx.Root
		shift := max(f.tx.Begin.Sub(begin), c.Start) // clocks differ a little
		if most := c.Start + c.Measured - root.Measured; most >= c.Start {
			shift = min(shift, most)
		}
		all := slices.Collect(f.tx.All())
		for _, one := range all {
			one.Start += shift
			one.PID = f.program.Target.PID
			one.Thread.Name = fmt.Sprintf("process %d, %s", one.PID, one.Thread.String())
			one.Thread.ID |= uint64(one.PID) << pidShift
		}
		root.Handed = true
		root.Children = append(root.Children, f.tx.Parts...)
		c.Children = append(c.Children, root)
		grafted++
		for _, one := range all {
			grafted += g.below(one, begin, trace)
		}
	}
	return grafted
}

// pidShift distinguishes threads of different processes that have the same number.
const pidShift = 24
