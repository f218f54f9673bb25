package arena

import (
	"fmt"
	"math"
	"math/bits"
)

// Flags control a hook.
type Flags uint16

// The flags; a hook without On does nothing.
const (
	On      Flags = layoutOn
	Timed   Flags = layoutTimed   // every call is timed
	Sampled Flags = layoutSampled // one call in Period is timed
	Root    Flags = layoutRoot    // opens the context
	Inside  Flags = layoutInside  // acts only inside the context
	Flat    Flags = layoutFlat    // no calling context is kept

	// Discover makes an active call wait until Sonde has answered it, so that its callees have hooks when it
	// continues.
	Discover Flags = layoutDiscover

	// Callers counts one call in Period by its caller. With Timed, or with Sampled, which also sums squares, that call
	// is timed too. Every call is counted in its method's node below the thread's root.
	Callers Flags = layoutCallers
	// Here, with Callers, is for a hook inside the caller: at a call site, or in a method of java.lang.reflect, which
	// stack walks omit.
	Here Flags = layoutHere
	// Spreads counts calls by their duration.
	Spreads Flags = layoutSpread

	// Late counts a call at its exit, if the condition there holds. With Root and Traced, the same condition decides
	// whether the transaction is kept.
	Late Flags = layoutLate
	// Traced writes calls inside a transaction into the thread's ring. With Root a call opens a transaction if there is
	// none, with Sampled one call in Period does; with Inside it is active only inside a transaction.
	Traced Flags = layoutTraced
	// Bare, with Traced, captures no values.
	Bare Flags = layoutHere

	// MostPeriod is the greatest Period.
	MostPeriod = 1 << (32 - layoutPeriodShift)
)

// A Probe is the setting of a method's hook.
type Probe struct {
	ID     uint32
	Flags  Flags
	Period uint32 // of Sampled and Callers; 0 is 1
}

// Setting returns the probe without its ID, as hooks read it.
func (p Probe) Setting() uint32 {
	return (max(p.Period, 1)-1)<<layoutPeriodShift | uint32(p.Flags)
}

// Entry returns the probe as an entry of a switch table.
func (p Probe) Entry() (uint64, error) {
	if ReservedID(p.ID) || p.Period > MostPeriod || p.Flags >= 1<<layoutPeriodShift {
		return 0, fmt.Errorf("no hook can have ID %d, period %d and flags %#x", p.ID, p.Period, p.Flags)
	}
	if p.Flags&Callers != 0 && p.Flags&Root != 0 {
		return 0, fmt.Errorf("the hook with ID %d has the flags Callers and Root, which exclude each other", p.ID)
	}
	if p.Flags&Callers != 0 && p.Flags&(Late|Traced) != 0 {
		return 0, fmt.Errorf("the hook with ID %d has the flag Callers and one of Late and Traced, which it excludes", p.ID)
	}
	return uint64(p.ID)<<32 | uint64(p.Setting()), nil
}

// ReservedID reports whether no method may have an ID. A ref of 0 leads hooks to the header, whose first word must not look
// like an ID.
func ReservedID(id uint32) bool {
	return id < layoutFirstMethodId || id == layoutMagic&0xffffffff
}

// SwitchTable returns the table in which hooks find their settings: a hash table by ID with open addressing, as read by
// SondeHooks.enter. At most half of it is used, so that a search is short and always ends. A table that is not empty has
// an entry for calibration calls, which the agent switches on while it makes them.
func SwitchTable(probes []Probe) ([]uint64, error) {
	if len(probes) == 0 {
		return nil, nil
	}
	table := make([]uint64, 1<<bits.Len(uint(2*len(probes)+1)))
	for _, probe := range probes {
		word, err := probe.Entry()
		if err != nil {
			return nil, err
		}
		if !insert(table, word) {
			return nil, fmt.Errorf("two methods have the ID %d", probe.ID)
		}
	}
	insert(table, CalibrationID<<32)
	return table, nil
}

// insert adds the words of an entry, which begins with its ID. It returns false if the ID exists already.
func insert(table []uint64, words ...uint64) bool {
	slots := len(table) / len(words)
	id := uint32(words[0] >> 32)
	at := int(id) & (slots - 1)
	for ; table[at*len(words)] != 0; at = (at + 1) & (slots - 1) {
		if uint32(table[at*len(words)]>>32) == id {
			return false
		}
	}
	copy(table[at*len(words):], words)
	return true
}

// The limits of a table of watches.
const (
	// MostPositions is the maximum number of elements of all sequences in one JVM.
	MostPositions = layoutPathPositions
	// MostTags is the maximum number of tags.
	MostTags = layoutTagsMost
	// TraceTag is the number of tags that are the trace of others. Hooks write it into the ring when a transaction
	// begins, instead of making labels of it.
	TraceTag = layoutTagTrace
	// MostContext is the maximum number of successive callers to distinguish.
	MostContext = layoutContextMost

	// WatchPure, in the third word of a spot, means that its condition calls no method. Otherwise hooks are muted while
	// the condition is evaluated.
	WatchPure = layoutWatchPure

	// WatchFails, in the third word of a spot, means that its condition at the exit says which calls have failed.
	WatchFails = layoutWatchFails

	// WatchQueued, in the third word of a spot, means that its calls are tasks whose time in a queue is measured.
	WatchQueued = layoutWatchQueued

	// QuotaShift is where the third word of a spot has the number of its quota.
	QuotaShift = layoutWatchQuotaShift

	leastSlots = 4
)

// A WatchEntry is the setting of a spot, an anchor or a tag point. Its words are
//
//	a spot       positions it needs on the stack | << 32 of the innermost anchor; captured values without code (Idle) | positions it must not have on the stack << MostPositions; tags its results are by | WatchPure | WatchFails | quota << QuotaShift | WatchQueued | callers in a row << 32
//	an anchor    positions it has below others | << 32 as the first of a sequence; those directly inside others; 0
//	a tag point  the number of the tag; 0; 0
type WatchEntry struct {
	Probe
	Words [3]uint64
}

// WatchTable returns the table in which spots, anchors and tag points find their settings: a hash table by ID with open
// addressing and four words per entry, as read by SondeHooksWatch. At most half of it is used, and at least two entries
// are empty: the agent adds one to rehearse the hooks of a pack, and a search for a missing ID ends at an empty one.
func WatchTable(entries []WatchEntry) ([]uint64, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	slots := max(leastSlots, 1<<bits.Len(uint(2*len(entries)-1)))
	table := make([]uint64, slots*layoutWatchWords)
	for _, entry := range entries {
		word, err := entry.word()
		if err != nil {
			return nil, err
		}
		if !insert(table, word, entry.Words[0], entry.Words[1], entry.Words[2]) {
			return nil, fmt.Errorf("two spots, anchors or tag points have the ID %d", entry.ID)
		}
	}
	return table, nil
}

// NoWatches returns a table without entries, with which hooks can be prepared.
func NoWatches() []uint64 { return make([]uint64, layoutWatchWords) }

// word checks the words of an entry and returns its first one.
func (e WatchEntry) word() (uint64, error) {
	const positions = 1<<MostPositions - 1
	if e.Words[0]&^(positions|positions<<32) != 0 || e.Words[1]&^(positions|positions<<MostPositions) != 0 || uint32(e.Words[2])&^WatchQueued>>QuotaShift > MostQuotas || e.Words[2]>>32 > MostContext {
		return 0, fmt.Errorf("no spot, anchor or tag point can have ID %d and the words %#x", e.ID, e.Words)
	}
	return e.Entry()
}

// MostQuotas is the maximum number of quotas, which are numbered from 1. A quota is the number of calls that all spots
// with its number may count together: hooks take them one by one, until none is left.
const MostQuotas = layoutQuotasMost

// MakeQuota begins a quota, which has no calls yet.
func (a *Arena) MakeQuota(number uint16) error {
	if err := a.reserve(headerQuotas, MostQuotas*quotaSize); err != nil {
		return err
	}
	return a.quota(number, func(m memory, at uint64) {
		m.put64(at+quotaMost, 0) // first, so that nobody takes from it
		m.put64(at+quotaTaken, 0)
	})
}

// SetQuota sets how many calls a quota has, including calls that were taken.
func (a *Arena) SetQuota(number uint16, most uint64) {
	_ = a.quota(number, func(m memory, at uint64) { m.put64(at+quotaMost, min(most, math.MaxInt64)) })
}

// IsUsedUp reports whether no call of a quota is left. The last calls may not be counted yet.
func (a *Arena) IsUsedUp(number uint16) (isUsedUp bool) {
	_ = a.quota(number, func(m memory, at uint64) { isUsedUp = m.u64(at+quotaTaken) >= m.u64(at+quotaMost) })
	return isUsedUp
}

// quota calls access with the offset of a quota, if there are any.
func (a *Arena) quota(number uint16, access func(m memory, at uint64)) error {
	return a.use(func(m memory) {
		if ref := m.u32(headerQuotas); ref != 0 && number > 0 && number <= MostQuotas {
			access(m, m.piece(ref, MostQuotas*quotaSize)+uint64(number-1)*quotaSize)
		}
	})
}
