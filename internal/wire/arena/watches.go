package arena

import (
	"fmt"
	"math/bits"
)

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
