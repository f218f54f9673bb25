package arena

import "math/bits"

// MakeSpill gives the target a table in which calls are counted that found no
// room elsewhere, for so many methods. Earlier tables keep their counts.
func (a *Arena) MakeSpill(methods int) error {
	entries := uint64(1) << bits.Len(uint(max(2*methods, 64)-1))
	return a.guard(func(m memory) error {
		ref := m.take(spillSize + entries*spilledSize)
		if ref == 0 {
			return ErrFull
		}
		head := uint64(ref) * layoutUnit
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
