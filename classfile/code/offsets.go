package code

import "sort"

// Shift says that from Old on instructions stand New-Old bytes further down.
type Shift struct{ Old, New uint16 }

// OffsetMap maps offsets of a body as it was lifted to offsets of the body as it
// was lowered. Only where the distance changes is there an entry.
type OffsetMap []Shift

// Offsets returns the map the last lowering made. It lives until the next one.
func (b *Body) Offsets() OffsetMap { return b.lowered.runs }

// New returns where the instruction at an old offset now stands.
func (m OffsetMap) New(old int) (int, bool) {
	// Templates stand between, but never change the order of what was there.
	i := sort.Search(len(m), func(i int) bool { return int(m[i].Old) > old })
	if i == 0 {
		return 0, false
	}
	return old - int(m[i-1].Old) + int(m[i-1].New), true
}

// Old returns the old offset of what stands at a new offset now; for an
// instruction that was inserted, that of the original one before it, and false.
func (m OffsetMap) Old(now int) (int, bool) {
	i := sort.Search(len(m), func(i int) bool { return int(m[i].New) > now })
	if i == 0 {
		return 0, false
	}
	old := now - int(m[i-1].New) + int(m[i-1].Old)
	if i < len(m) && old >= int(m[i].Old) {
		return int(m[i].Old) - 1, false
	}
	return old, true
}
