package liveprobes

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/ledger"
)

// Results are what was measured so far.
type Results struct {
	Rows    []Row
	Threads int    // that have called a watched method
	Dropped uint64 // calls that nothing could count
	// Ambiguous are tasks that were handed over again before they had begun, so that
	// whose they are is not known; ContextsLost are calls of anchors and tag points that
	// found no room.
	Ambiguous, ContextsLost uint64
}

// A Row is what is known of one spot's calls, of those with one label where results are
// told apart.
type Row struct {
	SpotName
	ID    uint32 // of the row: the same in every result, and no other row's
	Label Label
	Gone  bool // the spot is there no more: its probe has ended, or was altered
	Off   bool // the spot was switched off: a class that loaded makes its condition unfit, and calls since then are not counted
	arena.Totals
}

// Results reads what was measured, also by probes that have ended. The JVM is not asked.
func (w *Watch) Results() (*Results, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.hear()
	sum, err := w.target.Sum()
	if err != nil {
		return nil, err
	}
	results := &Results{Threads: sum.Threads, Dropped: sum.Dropped}
	results.Ambiguous, results.ContextsLost = w.target.ContextLosses()
	totals, err := w.labelled(sum)
	if err != nil {
		return nil, err
	}
	present, off := make(map[uint32]bool), make(map[uint32]bool)
	if w.plan != nil {
		for _, s := range w.plan.spots {
			present[w.target.SpotID(s.Spot)], off[w.target.SpotID(s.Spot)] = true, s.off != ""
		}
	}
	for key, t := range totals {
		name, known := w.names[key.Spot]
		if !known || name.Inside {
			continue
		}
		results.Rows = append(results.Rows, Row{
			SpotName: name, ID: w.rows.Of(key), Label: w.label(key), Gone: !present[key.Spot], Off: off[key.Spot], Totals: *t,
		})
	}
	slices.SortFunc(results.Rows, compareRows)
	return results, nil
}

// Calls returns how many calls of watched methods the probes acted in. Spots of one method,
// of two sequences or two probes, may act in the same call, and only their own calls are
// known: then it is the most that one spot has, and atLeast is set.
func (r *Results) Calls() (calls uint64, atLeast bool) {
	acted := make(overlap)
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Probe != "" && !row.Inside {
			acted.add(&row.SpotName, row.Calls)
		}
	}
	return acted.calls()
}

// An overlap holds the calls of spots. Those of one method may share calls.
type overlap map[overlapping]uint64

type overlapping struct{ class, name, descriptor, probe, sequence string }

func (o overlap) add(spot *SpotName, calls uint64) {
	o[overlapping{spot.Class, spot.Name, spot.Descriptor, spot.Probe, spot.Sequence}] += calls
}

// calls adds up methods, each by the spot that has most calls.
func (o overlap) calls() (calls uint64, atLeast bool) {
	most := make(map[overlapping]uint64)
	for spot, n := range o {
		method := overlapping{class: spot.class, name: spot.name, descriptor: spot.descriptor}
		atLeast = atLeast || n > 0 && most[method] > 0
		most[method] = max(most[method], n)
	}
	for _, n := range most {
		calls += n
	}
	return calls, atLeast
}

func compareRows(a, b Row) int {
	return cmp.Or(strings.Compare(a.Probe, b.Probe), strings.Compare(a.Sequence, b.Sequence), strings.Compare(a.Class, b.Class),
		strings.Compare(a.Name, b.Name), strings.Compare(a.Descriptor, b.Descriptor), strings.Compare(a.Label.String(), b.Label.String()), cmp.Compare(a.ID, b.ID))
}

// labelled are the totals of all spots, by labels where they have some. A spot that was
// not called has a row without a label.
func (w *Watch) labelled(sum *arena.Summary) (map[ledger.Key]*arena.Totals, error) {
	totals := make(map[ledger.Key]*arena.Totals)
	hasLabels := false
	for id := range w.names {
		if w.grouped[id] {
			hasLabels = true
			continue
		}
		totals[ledger.Key{Spot: id}] = &arena.Totals{}
		if t := sum.Methods[id]; t != nil {
			totals[ledger.Key{Spot: id}] = t
		}
	}
	if !hasLabels {
		return totals, nil
	}
	threads, err := w.target.Threads()
	if err != nil {
		return nil, err
	}
	ledger.Split(totals, slices.Collect(maps.Keys(w.names)), w.isGrouped, sum, threads, w.target.Now())
	return totals, nil
}

// isGrouped reports whether the results of a spot have labels. The lock is held.
func (w *Watch) isGrouped(spot uint32) bool { return w.grouped[spot] }

// callsOf is how many calls a probe has had, at least: its sequences may hold for the
// same call. The lock is held.
func (w *Watch) callsOf(probe string) uint64 {
	sum, err := w.target.Sum()
	if err != nil {
		return 0
	}
	acted := make(overlap)
	for id, name := range w.names {
		if t := sum.Methods[id]; t != nil && name.Probe == probe && !name.Inside {
			acted.add(&name, t.Calls)
		}
	}
	calls, _ := acted.calls()
	return calls
}
