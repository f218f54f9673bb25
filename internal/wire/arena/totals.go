package arena

import (
	"fmt"
	"maps"
)

// Ids that no method has.
const (
	// CalibrationID is that of calls the agent makes to learn what calls cost.
	CalibrationID = layoutCalibrationId
	// AdjustmentID is that of nodes that hold time Sonde took from a thread, below
	// the node in which it did.
	AdjustmentID = layoutAdjustmentId
)

// Totals are the counts of a method over all threads and contexts.
type Totals struct {
	Calls     uint64  // begun
	Timed     uint64  // ended, with their time in Nanos
	Nanos     uint64  // by outermost calls: a method that calls itself is not counted twice
	Self      int64   // without timed callees
	Threw     uint64  // ended with an exception
	Active    uint64  // under way, of those that are timed
	Running   uint64  // nanoseconds the outermost of those have taken so far
	Untimed   uint64  // of Calls, those that only the spill table has
	Max       uint64  // nanoseconds of the longest timed call
	Undecided uint64  // calls whose condition gave no answer; they are not in Calls
	Spread    *Spread // how long timed calls took; nil where that was not asked for

	LowerBound bool // the method may have had more calls than its hook has seen
}

// A Summary is what the arena says at a moment. Methods whose count is a lower bound are
// in it even where no call was counted.
type Summary struct {
	Methods map[uint32]*Totals // by id
	Threads int                // that have called a hooked method, those that took turns counted once
	Dropped uint64             // calls nothing could count
}

// Sum adds up what all threads did, as of a moment of the target's clock, whose
// reading is given.
func (a *Arena) Sum(now int64) (*Summary, error) {
	s := &Summary{Methods: make(map[uint32]*Totals)}
	err := a.guard(func(m memory) error {
		w := &walk{memory: m}
		w.blocks(func(block uint64) { s.addThread(w, block, now) })
		w.spills(func(id uint32, calls, threw uint64) {
			s.of(id).Calls += calls
			s.of(id).Untimed += calls
			s.of(id).Threw += threw
		})
		s.Dropped = w.u64(headerDropped)
		maps.DeleteFunc(s.Methods, func(id uint32, _ *Totals) bool { return isNoMethod(id) })
		return a.lowerBounds.each(m, func(id uint32) { s.of(id).LowerBound = true })
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Summary) of(id uint32) *Totals {
	t := s.Methods[id]
	if t == nil {
		t = &Totals{}
		s.Methods[id] = t
	}
	return t
}

// Add adds what was counted of other calls.
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
	t.Max = max(t.Max, other.Max)
	t.addSpread(other.Spread)
	t.LowerBound = t.LowerBound || other.LowerBound
}

func (t *Totals) addSpread(spread *Spread) {
	if spread == nil {
		return
	}
	if t.Spread == nil {
		t.Spread = &Spread{}
	}
	t.Spread.Add(spread)
}

func (s *Summary) addThread(w *walk, block uint64, now int64) {
	root := w.u32(block + blockRoot)
	called := false // more than what the agent does itself
	w.nodes(block, func(ref uint32, node uint64) {
		if ref == root {
			return
		}
		n := w.node(ref, node)
		called = called || !isNoMethod(n.ID)
		t := s.of(n.ID)
		if !w.isBelowCaller(n, root) { // else its method's node has them
			t.Calls += n.Calls
		}
		t.Timed += n.Timed
		if n.Nanos != 0 && w.isOutermost(n, root) {
			t.Nanos += n.Nanos
		}
		t.Self += n.Self
		t.Threw += n.Threw
		t.Max = max(t.Max, n.Max)
		t.Undecided += n.Undecided
		t.addSpread(w.spread(w.u32(node + nodeSpread)))
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

// isNoMethod tells ids of nodes that are not of a method's calls.
func isNoMethod(id uint32) bool {
	return id == CalibrationID || id == AdjustmentID || IsCaller(id) || IsLabel(id)
}

// isBelowCaller tells nodes of calls by one caller.
func (w *walk) isBelowCaller(n Node, root uint32) bool {
	return n.Parent != root && IsCaller(w.u32(w.piece(n.Parent, nodeSize)+nodeId))
}

// isOutermost tells whether a node is below no other of the same method: what
// calls of that one took holds what calls of this one took.
func (w *walk) isOutermost(n Node, root uint32) bool {
	for ref, below := n.Parent, n.Ref; ref != root; {
		if ref >= below { // a node is taken after its parent, so lies behind it
			panic(fmt.Errorf("%w: a node is its own parent, or above it", ErrDamaged))
		}
		if w.climbed++; w.climbed > mostClimbed {
			panic(fmt.Errorf("%w: no program calls as deep", ErrDamaged))
		}
		above := w.piece(ref, nodeSize)
		if w.u32(above+nodeId) == n.ID {
			return false
		}
		ref, below = w.u32(above+nodeParent), ref
	}
	return true
}
