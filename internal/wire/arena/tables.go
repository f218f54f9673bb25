package arena

import (
	"fmt"
	"math/bits"
)

// Flags say what a hook does.
type Flags uint16

// The flags; a hook without On does nothing.
const (
	On      Flags = layoutOn
	Timed   Flags = layoutTimed   // every call is timed
	Sampled Flags = layoutSampled // one call in Period is timed
	Root    Flags = layoutRoot    // opens the context
	Inside  Flags = layoutInside  // acts only inside the context
	Flat    Flags = layoutFlat    // no calling context is kept

	// Discover has a call that acts wait until Sonde has answered it, so that its
	// callees have hooks when it goes on.
	Discover Flags = layoutDiscover

	// Callers has one call in Period counted by its caller; with Timed, or with
	// Sampled, which asks for squares as well, that one is timed too. Every call is
	// counted in its method's node below the thread's root.
	Callers Flags = layoutCallers
	// Here, with Callers, is for a hook that stands in the caller: at a call site, or
	// in a method of java.lang.reflect, which no walk through a stack shows.
	Here Flags = layoutHere
	// Spreads has the times of calls counted by how long they are.
	Spreads Flags = layoutSpread

	// Late has a call counted at its exit, and only if that says so. With Root and
	// Traced, the same verdict decides whether the transaction is kept.
	Late Flags = layoutLate
	// Traced has calls inside a transaction written into the thread's ring. With Root
	// a call opens a transaction where there is none, with Sampled one call in Period
	// does; with Inside it acts only where there is one.
	Traced Flags = layoutTraced
	// Bare, with Traced, has no values captured.
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

// Setting is the probe without its id, as hooks read it.
func (p Probe) Setting() uint32 {
	return (max(p.Period, 1)-1)<<layoutPeriodShift | uint32(p.Flags)
}

// Entry is the probe as a switch table has it.
func (p Probe) Entry() (uint64, error) {
	if ReservedID(p.ID) || p.Period > MostPeriod || p.Flags >= 1<<layoutPeriodShift {
		return 0, fmt.Errorf("a probe of id %d, period %d and flags %#x is not possible", p.ID, p.Period, p.Flags)
	}
	if p.Flags&Callers != 0 && p.Flags&Root != 0 {
		return 0, fmt.Errorf("a probe of id %d is to find callers and to open a context: only one is possible", p.ID)
	}
	if p.Flags&Callers != 0 && p.Flags&(Late|Traced) != 0 {
		return 0, fmt.Errorf("a probe of id %d is to find callers and to be late or traced: only one is possible", p.ID)
	}
	return uint64(p.ID)<<32 | uint64(p.Setting()), nil
}

// ReservedID tells ids that no method may have. A ref of 0 leads the hooks to the
// header, whose first word must then not look like an id.
func ReservedID(id uint32) bool {
	return id < layoutFirstMethodId || id == layoutMagic&0xffffffff
}

// SwitchTable is the table by which hooks find their settings: open addressing
// by id, as SondeHooks.enter reads it. At most a half is used, so that a search
// is short and always ends. One that is not empty has an entry, off, for the
// calls made to calibrate: the agent switches it on while it makes them.
func SwitchTable(probes []Probe) ([]uint64, error) {
	if len(probes) == 0 {
		return nil, nil
	}
	table := make(switchTable, 1<<bits.Len(uint(2*len(probes)+1)))
	for _, probe := range probes {
		if _, err := probe.Entry(); err != nil {
			return nil, err
		}
		if !table.add(probe) {
			return nil, fmt.Errorf("two methods have the id %d", probe.ID)
		}
	}
	table.add(Probe{ID: CalibrationID})
	return table, nil
}

type switchTable []uint64

// add is false where an id is there already.
func (t switchTable) add(probe Probe) bool {
	mask := uint32(len(t) - 1)
	at := probe.ID & mask
	for t[at] != 0 {
		if uint32(t[at]>>32) == probe.ID {
			return false
		}
		at = (at + 1) & mask
	}
	t[at] = uint64(probe.ID)<<32 | uint64(probe.Setting())
	return true
}

// What a table of watches can hold.
const (
	// MostPositions is how many elements all sequences in one JVM have together.
	MostPositions = layoutPathPositions
	// MostTags is how many tags there can be.
	MostTags = layoutTagsMost
	// MostContext is how many callers in a row can be told apart.
	MostContext = layoutContextMost

	// WatchPure, in the third word of a spot, says that what its condition asks calls
	// no method. Else hooks that it might call are muted while it is asked.
	WatchPure = layoutWatchPure

	leastSlots = 4
)

// A WatchEntry is the setting of a spot, an anchor or a tag point. Its words are
//
//	a spot       positions it needs on the stack | << 32 of the innermost anchor; captured values without code (Idle); tags its results are by | WatchPure | callers in a row << 32
//	an anchor    positions it has below others | << 32 as the first of a sequence; those directly inside others; 0
//	a tag point  the number of the tag; 0; 0
type WatchEntry struct {
	Probe
	Words [3]uint64
}

// WatchTable is the table by which spots, anchors and tag points find their
// settings: open addressing by id, as SondeHooksWatch reads it, four words each. At
// most a half is used, and two entries at least are empty: the agent adds one to
// rehearse the hooks of a pack, and a search for an id without an entry ends only at
// an empty one.
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
		at := int(entry.ID) & (slots - 1)
		for ; table[at*layoutWatchWords] != 0; at = (at + 1) & (slots - 1) {
			if uint32(table[at*layoutWatchWords]>>32) == entry.ID {
				return nil, fmt.Errorf("two watches have the id %d", entry.ID)
			}
		}
		copy(table[at*layoutWatchWords:], []uint64{word, entry.Words[0], entry.Words[1], entry.Words[2]})
	}
	return table, nil
}

// NoWatches is a table in which nothing is found: hooks that read one are made ready.
func NoWatches() []uint64 { return make([]uint64, layoutWatchWords) }

// word is the entry's first, where all others are possible.
func (e WatchEntry) word() (uint64, error) {
	const (
		positions = 1<<MostPositions - 1
		grouping  = 1<<MostTags - 1 | WatchPure
	)
	if e.Words[0]&^(positions|positions<<32) != 0 || e.Words[1]&^positions != 0 || e.Words[2]&0xffffffff&^grouping != 0 || e.Words[2]>>32 > MostContext {
		return 0, fmt.Errorf("a watch of id %d with the words %#x is not possible", e.ID, e.Words)
	}
	return e.Entry()
}
