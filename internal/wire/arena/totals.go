package arena

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
)

// IDs that no method has.
const (
	// CalibrationID is the ID of calls that the agent makes to measure the cost of hooks.
	CalibrationID = layoutCalibrationId
	// AdjustmentID is the ID of nodes with time that Sonde took from a thread, below the node in which it did.
	AdjustmentID = layoutAdjustmentId
	// QueuedID is the ID of nodes that have the time that tasks of the spot above have waited for a thread.
	QueuedID = layoutQueuedId
	// HandedID is the ID of nodes above the calls that a thread makes for tasks which a node of another thread has handed over.
	HandedID = layoutHandedId
)

// Totals are the counts of a method over all threads and contexts.
type Totals struct {
	Calls     uint64  // begun
	Timed     uint64  // ended, with their time in Nanos
	Nanos     uint64  // by outermost calls: a method that calls itself is not counted twice
	Self      int64   // without timed callees
	Threw     uint64  // ended with an exception
	Active    uint64  // timed calls that are running
	Running   uint64  // nanoseconds that the outermost of those have taken so far
	Untimed   uint64  // of Calls, those in the spill table only
	Max       uint64  // nanoseconds of the longest timed call
	Undecided uint64  // calls whose condition could not be evaluated; not in Calls
	Queued    uint64  // of Calls, those whose time in a queue is known
	Queue     uint64  // nanoseconds from their submission until a thread began them
	Spread    *Spread // distribution of the times; nil if it was not requested

	LowerBound bool // the method may have had more calls than its hook has counted
}

// A Summary is the content of the arena at a moment. It includes methods whose count is a lower bound even if no call was
// counted.
type Summary struct {
	Methods map[uint32]*Totals // by id
	Threads int                // that have called a hooked method; threads that share a block count once
	Dropped uint64             // calls that could not be counted
}

// Sum adds up the counts of all threads. now is the reading of the target's clock.
func (a *Arena) Sum(now int64) (*Summary, error) { return a.sum(now, false) }

// Counts is Sum without the distributions of times. Reading these takes longer than all else.
func (a *Arena) Counts(now int64) (*Summary, error) { return a.sum(now, true) }

func (a *Arena) sum(now int64, countsOnly bool) (*Summary, error) {
	s := &Summary{Methods: make(map[uint32]*Totals)}
	err := a.guard(func(m memory) error {
		w := &walk{memory: m, countsOnly: countsOnly}
		w.blocks(func(block uint64) { s.addThread(w, block, now) })
		w.spills(func(id uint32, calls, threw uint64) {
			s.of(id).Calls += calls
			s.of(id).Untimed += calls
			s.of(id).Threw += threw
		})
		s.Dropped = w.u64(headerDropped)
		maps.DeleteFunc(s.Methods, func(id uint32, _ *Totals) bool { return !IsMethod(id) })
		return a.lowerBounds.each(m, func(id uint32) { s.of(id).LowerBound = true })
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// mostMethods is more than any program has, with all contexts of spots.
const mostMethods = 1 << 20

func (s *Summary) of(id uint32) *Totals {
	t := s.Methods[id]
	if t == nil {
		if len(s.Methods) == mostMethods {
			panic(fmt.Errorf("%w: it has more than %d methods", ErrDamaged, mostMethods))
		}
		t = &Totals{}
		s.Methods[id] = t
	}
	return t
}

// Add adds the counts of other calls.
func (t *Totals) Add(other *Totals) {
	t.Calls += other.Calls
	t.Timed += other.Timed
	t.Nanos += other.Nanos
	t.Self += other.Self
	t.Threw += other.Threw
	t.Active += other.Active
	t.Running += other.Running
	t.Untimed += other.Untimed
	t.Undecided += other.Undecided
	t.Queued += other.Queued
	t.Queue += other.Queue
	t.Max = max(t.Max, other.Max)
	if other.Spread != nil && t.Spread == nil {
		t.Spread = &Spread{}
	}
	if t.Spread != nil {
		t.Spread.Add(other.Spread)
	}
	t.LowerBound = t.LowerBound || other.LowerBound
}

// Quantile returns a time that a share q of the timed calls did not exceed, and false if that is
// unknown. It is never above Max, of which the histogram knows only the bucket.
func (t *Totals) Quantile(q float64) (nanos float64, isKnown bool) {
	if t.Spread == nil || t.Spread.Count() == 0 {
		return 0, false
	}
	return min(t.Spread.Quantile(q), float64(t.Max)), true
}

// Since returns what was counted after an earlier reading, which may be nil. Calls that run now
// are all included.
func (t *Totals) Since(earlier *Totals) *Totals {
	if earlier == nil {
		earlier = &Totals{}
	}
	c := &Totals{
		Calls: since(earlier.Calls, t.Calls), Timed: since(earlier.Timed, t.Timed), Nanos: since(earlier.Nanos, t.Nanos), Self: t.Self - earlier.Self,
		Threw: since(earlier.Threw, t.Threw), Active: t.Active, Running: t.Running, Untimed: since(earlier.Untimed, t.Untimed),
		Undecided: since(earlier.Undecided, t.Undecided), Queued: since(earlier.Queued, t.Queued), Queue: since(earlier.Queue, t.Queue), LowerBound: t.LowerBound,
	}
	if t.Spread != nil {
		c.Spread = t.Spread.Since(earlier.Spread)
		if c.Spread.Count() > 0 {
			c.Max = min(uint64(c.Spread.Quantile(1)), t.Max)
		}
	}
	if t.Max > earlier.Max { // the longest call of all ended in between
		c.Max = t.Max
	}
	return c
}

// Since returns what was counted in the node after an earlier reading.
func (n Node) Since(earlier Node) Node {
	later, before := Totals{}, Totals{}
	later.addNode(n)
	before.addNode(earlier)
	c := later.Since(&before)
	n.Calls, n.Timed, n.Nanos, n.Self, n.Threw, n.Max, n.Undecided, n.Spread = c.Calls, c.Timed, c.Nanos, c.Self, c.Threw, c.Max, c.Undecided, c.Spread
	n.Squares, n.Missed = n.Squares-earlier.Squares, since(earlier.Missed, n.Missed)
	return n
}

func since(before, after uint64) uint64 { return after - min(before, after) }

func (t *Totals) addNode(n Node) {
	t.Add(&Totals{
		Calls: n.Calls, Timed: n.Timed, Nanos: n.Nanos, Self: n.Self,
		Threw: n.Threw, Max: n.Max, Undecided: n.Undecided, Spread: n.Spread,
	})
}

func (s *Summary) addThread(w *walk, block uint64, now int64) {
	root := w.u32(block + blockRoot)
	called := false // besides the agent's own calls
	w.nodes(block, func(ref uint32, node uint64) {
		if ref == root {
			return
		}
		n := w.node(ref, node)
		if n.ID == QueuedID {
			id, _ := w.id(w.piece(n.Parent, nodeSize))
			s.of(id).Add(&Totals{Queued: n.Timed, Queue: n.Nanos})
			return
		}
		called = called || IsMethod(n.ID)
		if w.isBelowCaller(n, root) {
			n.Calls = 0 // its method's node has them
		}
		if n.Nanos != 0 && !w.isOutermost(n, root) {
			n.Nanos = 0
		}
		s.of(n.ID).addNode(n)
	})
	if called {
		s.Threads++
	}
	running := make(map[uint32]bool)
	w.stack(block, func(frame Frame) {
		if frame.Start == 0 {
			return
		}
		s.of(frame.ID).Active++
		if running[frame.ID] {
			return
		}
		running[frame.ID] = true
		s.of(frame.ID).Running += uint64(max(now-frame.Start, 0))
	})
}

// IsMethod reports whether an ID is that of a method or a spot.
func IsMethod(id uint32) bool {
	return id != CalibrationID && id != AdjustmentID && id != HandedID && id != QueuedID && !IsCaller(id) && !IsLabel(id)
}

// isBelowCaller reports whether a node counts the calls by one caller.
func (w *walk) isBelowCaller(n Node, root uint32) bool {
	return n.Parent != root && IsCaller(w.u32(w.piece(n.Parent, nodeSize)+nodeId))
}

// isOutermost reports whether no node of the same method is above a node. The time of that one would include the time of
// this one.
func (w *walk) isOutermost(n Node, root uint32) bool {
	for ref, below := n.Parent, n.Ref; ref != root; {
		if ref >= below { // a node is allocated after its parent, so at a higher offset
			panic(fmt.Errorf("%w: a node is its own ancestor", ErrDamaged))
		}
		if w.climbed++; w.climbed > mostClimbed {
			panic(fmt.Errorf("%w: its calls are nested too deeply", ErrDamaged))
		}
		above := w.piece(ref, nodeSize)
		if w.u32(above+nodeId) == n.ID {
			if id, _ := w.id(above); id == n.ID {
				return false
			}
		}
		ref, below = w.u32(above+nodeParent), ref
	}
	return true
}

// A Spread is a histogram of times. The width of a bucket is an eighth of its times, at least one nanosecond. The zero
// value is empty.
//
// A node counts modulo 2^32. The overflow is lost in a Spread, but not in the difference of two that were read soon after
// each other.
type Spread struct {
	counts [layoutSpreadBuckets]uint64
}

// bucketOf returns the bucket of a time, in nanoseconds.
func bucketOf(nanos uint64) int {
	octave := max(bits.Len64(nanos)-4, 0)
	return min(8*octave+int(nanos>>octave), layoutSpreadBuckets-1)
}

// bucketRange returns the least and the greatest time of a bucket. The last bucket also counts longer times.
func bucketRange(bucket int) (least, greatest uint64) {
	octave := max(bucket/8-1, 0)
	least = uint64(bucket-8*octave) << octave
	return least, least + 1<<octave - 1
}

// Record counts a time, in nanoseconds.
func (s *Spread) Record(nanos uint64) { s.counts[bucketOf(nanos)]++ }

// Add adds the counts of another histogram; nil is empty.
func (s *Spread) Add(other *Spread) {
	if other == nil {
		return
	}
	for i, count := range other.counts {
		s.counts[i] += count
	}
}

// Since returns the counts after an earlier reading of the same nodes, including new nodes; nil is the empty reading.
func (s *Spread) Since(earlier *Spread) *Spread {
	since := &Spread{}
	for i, count := range s.counts {
		if earlier != nil {
			count = uint64(uint32(count - earlier.counts[i]))
		}
		since.counts[i] = count
	}
	return since
}

// Count returns the number of calls.
func (s *Spread) Count() (count uint64) {
	for _, n := range s.counts {
		count += n
	}
	return count
}

// Below returns the number of calls that took less than a time in nanoseconds. It is exact for powers of two, where buckets
// begin; for other times it excludes the bucket of the time.
func (s *Spread) Below(nanos uint64) (count uint64) {
	for _, n := range s.counts[:bucketOf(nanos)] {
		count += n
	}
	return count
}

// Quantile returns a time in nanoseconds that a share q of the calls did not exceed: the time of the call number q·Count,
// rounded up, in ascending order. It is the middle of a bucket, so its error is up to a sixteenth. It is 0 if there are
// no calls.
func (s *Spread) Quantile(q float64) float64 {
	count := s.Count()
	place := min(uint64(max(math.Ceil(q*float64(count)), 1)), count)
	for i, n := range s.counts {
		if n > 0 && n >= place {
			least, greatest := bucketRange(i)
			return float64(least+greatest) / 2
		}
		place -= n
	}
	return 0
}

// spread reads the histogram of a node.
func (w *walk) spread(ref uint32) *Spread {
	if ref == 0 || w.countsOnly {
		return nil
	}
	counts := w.meet(ref, spreadSize) + spreadCounts
	s := &Spread{}
	for i := range s.counts {
		s.counts[i] = uint64(w.u32(counts + 4*uint64(i)))
	}
	return s
}

// MakeSpill reserves a table that counts the calls for which there is no room elsewhere, for a number of methods. Earlier
// tables keep their counts.
func (a *Arena) MakeSpill(methods int) error {
	entries := uint64(1) << bits.Len(uint(max(2*methods, 64)-1))
	return a.guard(func(m memory) error {
		ref, head := m.take(spillSize + entries*spilledSize)
		if ref == 0 {
			return ErrFull
		}
		m.put32(head+spillOlder, m.u32(headerSpill))
		m.put32(head+spillMask, uint32(entries-1))
		m.put32(headerSpill, ref)
		return nil
	})
}

// spills visits the counts of all spill tables.
func (w *walk) spills(visit func(id uint32, calls, threw uint64)) {
	for ref := w.u32(headerSpill); ref != 0; {
		head := w.piece(ref, spillSize)
		entries := uint64(w.u32(head+spillMask)) + 1
		w.meet(ref, spillSize+entries*spilledSize)
		for i := range entries {
			entry := head + spillSize + i*spilledSize
			if id := w.u32(entry + spilledId); id != 0 {
				visit(id, w.u64(entry+spilledCalls), w.u64(entry+spilledThrew))
			}
		}
		ref = w.u32(head + spillOlder)
	}
}
