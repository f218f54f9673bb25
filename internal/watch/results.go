package watch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/arena"
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
	arena.Totals
}

// A rowKey is what a row is about.
type rowKey struct{ spot, label uint32 }

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
	present := make(map[uint32]bool)
	if w.plan != nil {
		for _, s := range w.plan.spots {
			present[w.target.SpotID(s.Spot)] = true
		}
	}
	for key, t := range totals {
		name, known := w.names[key.spot]
		if !known || name.Inside {
			continue
		}
		results.Rows = append(results.Rows, Row{
			SpotName: name, ID: w.rowID(key), Label: w.label(key), Gone: !present[key.spot], Totals: *t,
		})
	}
	slices.SortFunc(results.Rows, compareRows)
	return results, nil
}

func compareRows(a, b Row) int {
	return cmp.Or(strings.Compare(a.Probe, b.Probe), strings.Compare(a.Sequence, b.Sequence), strings.Compare(a.Class, b.Class),
		strings.Compare(a.Name, b.Name), strings.Compare(a.Descriptor, b.Descriptor), strings.Compare(a.Label.String(), b.Label.String()), cmp.Compare(a.ID, b.ID))
}

// labelled are the totals of all spots, by labels where they have some. A spot that was
// not called has a row without a label.
func (w *Watch) labelled(sum *arena.Summary) (map[rowKey]*arena.Totals, error) {
	totals := make(map[rowKey]*arena.Totals)
	hasLabels := false
	for id := range w.names {
		if w.grouped[id] {
			hasLabels = true
			continue
		}
		totals[rowKey{spot: id}] = &arena.Totals{}
		if t := sum.Methods[id]; t != nil {
			totals[rowKey{spot: id}] = t
		}
	}
	if !hasLabels {
		return totals, nil
	}
	threads, err := w.target.Threads()
	if err != nil {
		return nil, err
	}
	now := w.target.Now()
	for i := range threads {
		w.addThread(&threads[i], totals, now)
	}
	for id := range w.names {
		if w.grouped[id] {
			w.addRest(id, sum.Methods[id], totals)
		}
	}
	return totals, nil
}

// addThread adds what one thread did with labels.
func (w *Watch) addThread(t *arena.Thread, totals map[rowKey]*arena.Totals, now int64) {
	keys := w.nodeKeys(t)
	of := func(key rowKey) *arena.Totals {
		if totals[key] == nil {
			totals[key] = &arena.Totals{}
		}
		return totals[key]
	}
	for i := range t.Nodes {
		if key, is := keys[t.Nodes[i].Ref]; is {
			add(of(key), &t.Nodes[i])
		}
	}
	outermost := make(map[rowKey]bool)
	for _, f := range t.Stack {
		key, is := keys[f.Node]
		if !is || f.Start == 0 {
			continue
		}
		one := of(key)
		one.Active++
		if !outermost[key] {
			outermost[key] = true
			one.Running += uint64(max(now-f.Start, 0))
		}
	}
}

// nodeKeys are the nodes of a thread that are of spots with labels, by ref.
func (w *Watch) nodeKeys(t *arena.Thread) map[uint32]rowKey {
	keys, parents := make(map[uint32]rowKey), make(map[uint32]uint32)
	for i := range t.Nodes {
		parents[t.Nodes[i].Ref] = t.Nodes[i].ID
	}
	for i := range t.Nodes {
		if n := &t.Nodes[i]; w.grouped[n.ID] {
			key := rowKey{spot: n.ID}
			if above := parents[n.Parent]; arena.IsLabel(above) {
				key.label = above
			}
			keys[n.Ref] = key
		}
	}
	return keys
}

func add(t *arena.Totals, n *arena.Node) {
	t.Calls += n.Calls
	t.Timed += n.Timed
	t.Nanos += n.Nanos
	t.Self += n.Self
	t.Threw += n.Threw
	t.Undecided += n.Undecided
	t.Max = max(t.Max, n.Max)
	if n.Spread != nil {
		if t.Spread == nil {
			t.Spread = &arena.Spread{}
		}
		t.Spread.Add(n.Spread)
	}
}

// addRest adds what was counted without a label, as there was no room for more: then a
// row without one has it.
func (w *Watch) addRest(id uint32, all *arena.Totals, totals map[rowKey]*arena.Totals) {
	var labelled arena.Totals
	count := 0
	for key, t := range totals {
		if key.spot == id {
			labelled.Calls += t.Calls
			labelled.Threw += t.Threw
			count++
		}
	}
	rest := totals[rowKey{spot: id}]
	if rest == nil {
		rest = &arena.Totals{}
	}
	if all != nil && all.Calls > labelled.Calls {
		rest.Calls += all.Calls - labelled.Calls
		rest.Untimed += all.Untimed
		rest.Threw += all.Threw - min(all.Threw, labelled.Threw)
	}
	if count == 0 || rest.Calls > 0 || rest.Undecided > 0 {
		totals[rowKey{spot: id}] = rest
	}
}

// callsOf is how many calls a probe has had. The lock is held.
func (w *Watch) callsOf(probe string) (calls uint64) {
	sum, err := w.target.Sum()
	if err != nil {
		return 0
	}
	for id, name := range w.names {
		if t := sum.Methods[id]; t != nil && name.Probe == probe && !name.Inside {
			calls += t.Calls
		}
	}
	return calls
}
