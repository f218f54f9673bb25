package arena

import "math/bits"

// MakeSpill gives the target a table in which calls are counted that found no
// room elsewhere, for so many methods. Earlier tables keep their counts.
func (a *Arena) MakeSpill(methods int) error {
	m := a.memory
	entries := uint64(1) << bits.Len(uint(max(2*methods, 64)-1))
	ref := m.take(spillSize + entries*spilledSize)
	if ref == 0 {
		return ErrFull
	}
	head := uint64(ref) * layoutUnit
	m.put32(head+spillOlder, m.u32(headerSpill))
	m.put32(head+spillMask, uint32(entries-1))
	m.put32(headerSpill, ref)
	return nil
}

// spills visits the counts of all spill tables.
func (m memory) spills(visit func(id uint32, calls uint64)) {
	for ref, steps := m.u32(headerSpill), 0; ref != 0 && steps < mostLinks; steps++ {
		head := m.piece(ref, spillSize)
		entries := uint64(m.u32(head+spillMask)) + 1
		m.check(head, spillSize+entries*spilledSize)
		for i := range entries {
			entry := head + spillSize + i*spilledSize
			if id := m.u32(entry + spilledId); id != 0 {
				visit(id, m.u64(entry+spilledCalls))
			}
		}
		ref = m.u32(head + spillOlder)
	}
}
