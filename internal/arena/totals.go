package arena

// CalibrationID is the id of calls the agent makes to learn what calls cost.
const CalibrationID = 1

// Totals are the counts of a method over all threads and contexts.
type Totals struct {
	Calls   uint64 // begun
	Timed   uint64 // ended, with their time in Nanos
	Nanos   uint64 // by outermost calls: a method that calls itself is not counted twice
	Self    int64  // without timed callees
	Threw   uint64 // ended with an exception
	Active  uint64 // under way, of those that are timed
	Running uint64 // nanoseconds the outermost of those have taken so far
	Untimed uint64 // of Calls, those that only the spill table has
}

// A Summary is what the arena says at a moment.
type Summary struct {
	Methods map[uint32]*Totals // by id
	Threads int                // that have called a hooked method, those that took turns counted once
	Dropped uint64             // calls nothing could count
}

// Sum adds up what all threads did, as of a moment of the target's clock, whose
// reading is given.
func (a *Arena) Sum(now int64) (*Summary, error) {
	s := &Summary{Methods: make(map[uint32]*Totals)}
	err := guard(func() error {
		m := a.memory
		m.blocks(func(block uint64) { s.addThread(m, block, now) })
		m.spills(func(id uint32, calls uint64) {
			s.of(id).Calls += calls
			s.of(id).Untimed += calls
		})
		s.Dropped = m.u64(headerDropped)
		delete(s.Methods, CalibrationID)
		return nil
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

func (s *Summary) addThread(m memory, block uint64, now int64) {
	s.Threads++
	root := m.u32(block + blockRoot)
	whole := m.outermost(block, root)
	m.nodes(block, func(ref uint32, node uint64) {
		if ref == root {
			return
		}
		n := m.node(ref, node)
		t := s.of(n.ID)
		t.Calls += n.Calls
		t.Timed += n.Timed
		if whole[ref] {
			t.Nanos += n.Nanos
		}
		t.Self += n.Self
		t.Threw += n.Threw
	})
	running := make(map[uint32]bool)
	m.stack(block, func(frame Frame) {
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
