package arena

import (
	"math/rand"
	"testing"
)

// search is how SondeHooks.enter finds its setting, with a bound that it does
// without.
func search(t *testing.T, table []uint64, id uint32) (setting uint32, found bool) {
	t.Helper()
	if len(table) == 0 {
		return 0, false
	}
	mask := uint32(len(table) - 1)
	at := id & mask
	for range table {
		switch word := table[at]; {
		case uint32(word>>32) == id:
			return uint32(word), true
		case word == 0:
			return 0, false
		}
		at = (at + 1) & mask
	}
	t.Fatalf("the search for %d does not end", id)
	return 0, false
}

func TestHooksFindTheirSettingsAndNoOthers(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for _, size := range []int{1, 2, 3, 4, 5, 7, 8, 9, 100, 1000, 5000} {
		for _, spread := range []uint32{2 * uint32(size), 1 << 16, 1<<32 - 1} { // dense ids collide, and wrap round
			probes := make(map[uint32]Probe)
			for len(probes) < size {
				id := 1<<32 - 1 - random.Uint32()%spread
				if !ReservedID(id) {
					probes[id] = Probe{id, Flags(random.Intn(1<<layoutPeriodShift)) &^ Callers, 1 + uint32(random.Intn(MostPeriod))}
				}
			}
			var list []Probe
			for _, probe := range probes {
				list = append(list, probe)
			}
			table, err := SwitchTable(list)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(table); n&(n-1) != 0 || n < 2*size {
				t.Fatalf("a table of %d words for %d probes", n, size)
			}
			if setting, found := search(t, table, CalibrationID); !found || setting != 0 {
				t.Fatalf("the calls made to calibrate have the setting %#x, %v", setting, found)
			}
			for id, probe := range probes {
				setting, found := search(t, table, id)
				if !found || Flags(setting&(1<<layoutPeriodShift-1)) != probe.Flags || setting>>layoutPeriodShift+1 != probe.Period {
					t.Fatalf("%+v is found as %#x, %v", probe, setting, found)
				}
				if other := id ^ 1<<uint(random.Intn(32)); probes[other].ID == 0 && !ReservedID(other) {
					if _, found := search(t, table, other); found {
						t.Fatalf("%d is found, and is not there", other)
					}
				}
			}
		}
	}
}

func TestImpossibleProbesAreRefused(t *testing.T) {
	const first = layoutFirstMethodId
	for name, probes := range map[string][]Probe{
		"id 0":           {{ID: 0}},
		"calibration":    {{ID: CalibrationID}},
		"adjustments":    {{ID: AdjustmentID}},
		"a caller":       {{ID: CallerUnknown}},
		"the last":       {{ID: first - 1}},
		"an id twice":    {{ID: first}, {ID: first + 1}, {ID: first}},
		"a giant period": {{ID: first, Period: MostPeriod + 1}},
		"unknown flags":  {{ID: first, Flags: 1 << layoutPeriodShift}},
		"two contexts":   {{ID: first, Flags: On | Callers | Root}},
		"callers, late":  {{ID: first, Flags: On | Callers | Late}},
		"callers, trace": {{ID: first, Flags: On | Callers | Traced}},
	} {
		if _, err := SwitchTable(probes); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := SwitchTable([]Probe{{ID: first, Period: MostPeriod}, {ID: first + 1, Flags: (1<<layoutPeriodShift - 1) &^ Callers}}); err != nil {
		t.Error(err)
	}
	if table, err := SwitchTable(nil); table != nil || err != nil {
		t.Errorf("no probes: %v, %v", table, err)
	}
}

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
						uint64(random.Intn(1<<MostPositions)) | uint64(random.Intn(1<<MostPositions))<<32, uint64(random.Intn(1 << (2 * MostPositions))),
						uint64(random.Intn(2*WatchFails)) | uint64(random.Intn(MostQuotas+1))<<QuotaShift | uint64(random.Intn(MostContext+1))<<32,
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
		"a direct one too many": {{Probe: probe, Words: [3]uint64{0, 1 << (2 * MostPositions)}}},
		"too high a quota":      {{Probe: probe, Words: [3]uint64{0, 0, (MostQuotas + 1) << QuotaShift}}},
		"too long a context":    {{Probe: probe, Words: [3]uint64{0, 0, (MostContext + 1) << 32}}},
	} {
		if _, err := WatchTable(entries); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
