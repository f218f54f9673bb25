package ledger

import "github.com/sonde-jvm/sonde/internal/wire/arena"

// A Key is what a row is about: a spot, and a label where its results are told apart.
type Key struct{ Spot, Label uint32 }

// Keys are the nodes of a thread that are of spots whose results are told apart, by ref.
func Keys(t *arena.Thread, grouped func(spot uint32) bool) map[uint32]Key {
	keys, ids := make(map[uint32]Key), make(map[uint32]uint32, len(t.Nodes))
	for i := range t.Nodes {
		ids[t.Nodes[i].Ref] = t.Nodes[i].ID
	}
	for i := range t.Nodes {
		if n := &t.Nodes[i]; grouped(n.ID) {
			key := Key{Spot: n.ID}
			if above := ids[n.Parent]; arena.IsLabel(above) {
				key.Label = above
			}
			keys[n.Ref] = key
		}
	}
	return keys
}

// Split adds the calls of spots that are told apart to totals, by labels. What the sum
// has of them beyond what threads have found no room for a label: a row without one
// has it. A spot that was not called has such a row, too.
func Split(totals map[Key]*arena.Totals, spots []uint32, grouped func(spot uint32) bool, sum *arena.Summary, threads []arena.Thread, now int64) {
	labelled := make(map[uint32][]*arena.Totals)
	of := func(key Key) *arena.Totals {
		if totals[key] == nil {
			totals[key] = &arena.Totals{}
			labelled[key.Spot] = append(labelled[key.Spot], totals[key])
		}
		return totals[key]
	}
	for i := range threads {
		addThread(&threads[i], Keys(&threads[i], grouped), of, now)
	}
	for _, id := range spots {
		if !grouped(id) {
			continue
		}
		rest := totals[Key{Spot: id}]
		if rest == nil {
			rest = &arena.Totals{}
		}
		addRest(rest, sum.Methods[id], labelled[id])
		if len(labelled[id]) == 0 || rest.Calls > 0 || rest.Undecided > 0 {
			totals[Key{Spot: id}] = rest
		}
		if all := sum.Methods[id]; all != nil && all.LowerBound {
			rest.LowerBound = true
			for _, t := range labelled[id] {
				t.LowerBound = true
			}
		}
	}
}

// addThread adds what one thread did with labels.
func addThread(t *arena.Thread, keys map[uint32]Key, of func(Key) *arena.Totals, now int64) {
	for i := range t.Nodes {
		if key, is := keys[t.Nodes[i].Ref]; is {
			add(of(key), &t.Nodes[i])
		}
	}
	met := make(map[Key]bool)
	for _, f := range t.Stack {
		key, is := keys[f.Node]
		if !is || f.Start == 0 {
			continue
		}
		one := of(key)
		one.Active++
		if !met[key] { // it is the outermost
			met[key] = true
			one.Running += uint64(max(now-f.Start, 0))
		}
	}
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

// addRest adds what was counted without a label.
func addRest(rest, all *arena.Totals, labelled []*arena.Totals) {
	var calls, threw uint64
	for _, t := range labelled {
		calls += t.Calls
		threw += t.Threw
	}
	if all != nil && all.Calls > calls {
		rest.Calls += all.Calls - calls
		rest.Untimed += all.Untimed
		rest.Threw += all.Threw - min(all.Threw, threw)
	}
}

// Numbers number rows: one without a label has its spot's id, others have numbers below
// all of those. A row keeps its number.
type Numbers map[Key]uint32

// Of is the number of a row.
func (n Numbers) Of(key Key) uint32 {
	if key.Label == 0 {
		return key.Spot
	}
	id, is := n[key]
	if !is {
		id = uint32(len(n) + 1)
		n[key] = id
	}
	return id
}

// Renumber makes the calls that threads are in those of rows. Frames that are of no
// method, such as those by which hooks are calibrated, go; so do the trees.
func Renumber(threads []arena.Thread, grouped func(spot uint32) bool, numbers Numbers) {
	for i := range threads {
		t := &threads[i]
		keys := Keys(t, grouped)
		var stack []arena.Frame
		for _, f := range t.Stack {
			if key, is := keys[f.Node]; is {
				f.ID = numbers.Of(key)
			} else if !isMethod(f.ID) {
				continue
			}
			stack = append(stack, f)
		}
		t.Stack, t.Nodes = stack, nil
	}
}

// isMethod tells ids of methods and spots from those of what is no call of either.
func isMethod(id uint32) bool {
	return id != arena.CalibrationID && id != arena.AdjustmentID && !arena.IsCaller(id) && !arena.IsLabel(id)
}
