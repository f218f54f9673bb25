package arena

import (
	"math/rand"
	"testing"
)

// searchWatch is how SondeHooksWatch finds an entry, where no table is full.
func searchWatch(t *testing.T, table []uint64, id uint32) []uint64 {
	t.Helper()
	mask := len(table) - 1
	at := int(uint64(id)<<2) & mask
	for range len(table) / 4 {
		if uint32(table[at]>>32) == id {
			return table[at : at+4]
		}
		if table[at] == 0 {
			return nil
		}
		at = (at + 4) & mask
	}
	t.Fatalf("the search for %d does not end", id)
	return nil
}

func TestWatchesAreFound(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for _, size := range []int{1, 2, 3, 4, 5, 8, 9, 100, 3000} {
		for _, spread := range []uint32{2 * uint32(size), 1 << 16, 1<<32 - 1} {
			wanted := make(map[uint32]WatchEntry)
			for len(wanted) < size {
				id := 1<<32 - 1 - random.Uint32()%spread
				if ReservedID(id) {
					continue
				}
				wanted[id] = WatchEntry{
					Probe: Probe{ID: id, Flags: On | Flags(random.Intn(2))*Timed, Period: 1 + uint32(random.Intn(9))},
					Words: [3]uint64{
						uint64(random.Intn(1<<MostPositions)) | uint64(random.Intn(1<<MostPositions))<<32, uint64(random.Intn(1 << MostPositions)),
						uint64(random.Intn(2*WatchPure)) | uint64(random.Intn(MostContext+1))<<32,
					},
				}
			}
			var list []WatchEntry
			for _, entry := range wanted {
				list = append(list, entry)
			}
			table, err := WatchTable(list)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(table) / 4; n&(n-1) != 0 || n < 2*size || n < size+2 || n > 4*size {
				t.Fatalf("a table of %d entries for %d watches", n, size)
			}
			for id, entry := range wanted {
				word, _ := entry.Entry()
				found := searchWatch(t, table, id)
				if found == nil || found[0] != word || [3]uint64(found[1:]) != entry.Words {
					t.Fatalf("%+v is found as %#x", entry, found)
				}
				if other := id ^ 1<<uint(random.Intn(32)); wanted[other].ID == 0 && searchWatch(t, table, other) != nil {
					t.Fatalf("%d is found, and is not there", other)
				}
			}
		}
	}
	if table, err := WatchTable(nil); table != nil || err != nil {
		t.Errorf("no watches: %v, %v", table, err)
	}
}

func TestImpossibleWatchesAreRefused(t *testing.T) {
	probe := Probe{ID: layoutFirstMethodId, Flags: On}
	for name, entries := range map[string][]WatchEntry{
		"an id twice":           {{Probe: probe}, {Probe: probe}},
		"an id of no method":    {{Probe: Probe{ID: layoutLabelsFirst}}},
		"a position too many":   {{Probe: probe, Words: [3]uint64{1 << MostPositions}}},
		"an own one too many":   {{Probe: probe, Words: [3]uint64{1 << (32 + MostPositions)}}},
		"a direct one too many": {{Probe: probe, Words: [3]uint64{0, 1 << MostPositions}}},
		"an unknown grouping":   {{Probe: probe, Words: [3]uint64{0, 0, 1 << 17}}},
		"too long a context":    {{Probe: probe, Words: [3]uint64{0, 0, (MostContext + 1) << 32}}},
	} {
		if _, err := WatchTable(entries); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
