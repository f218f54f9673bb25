package code

import "sort"

// Shift says that the instructions in Size bytes from Old on now stand from New on.
type Shift struct{ Old, New, Size uint16 }

// OffsetMap maps offsets of a body as it was lifted to offsets of the body as it
// was lowered. There is an entry for each run of instructions that moved together;
// what no entry covers was inserted, or is gone.
type OffsetMap []Shift

// Offsets returns the map the last lowering made. It lives until the next one.
func (b *Body) Offsets() OffsetMap { return b.lowered.runs }

// New returns where the instruction at an old offset now stands; for one that is
// gone, where what follows it stands, and false.
func (m OffsetMap) New(old int) (int, bool) {
	// Templates stand between, but never change the order of what was there.
	i := sort.Search(len(m), func(i int) bool { return int(m[i].Old) > old })
	if i == 0 {
		return 0, false
	}
	s := m[i-1]
	if in := old - int(s.Old); in < int(s.Size) {
		return int(s.New) + in, true
	}
	return int(s.New) + int(s.Size), false
}

// Old returns the old offset of what stands at a new offset now; for an instruction
// that was inserted, that of the original one before it, and false.
func (m OffsetMap) Old(now int) (int, bool) {
	i := sort.Search(len(m), func(i int) bool { return int(m[i].New) > now })
	if i == 0 {
		return 0, false
	}
	s := m[i-1]
	if in := now - int(s.New); in < int(s.Size) {
		return int(s.Old) + in, true
	}
	return int(s.Old) + int(s.Size) - 1, false
}
