package ledger

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Results are what was measured so far.
type Results struct {
	Rows    []Row  // also of what was not called
	Threads int    // that have called something with a hook
	Dropped uint64 // calls that nothing could count
	// ContextsLost are calls of anchors and tag points that found no room; Ambiguous are
	// tasks that were handed over again before they had begun.
	Ambiguous, ContextsLost uint64
}

// A Row is what is known of one spot's calls, of those with one label where results are
// told apart.
type Row struct {
	Name
	Number uint32 // of the row: the same in every result, and no other row's
	Label  Label
	arena.Totals
}

// Results reads what was measured.
func (l *Ledger) Results() (*Results, error) {
	sum, threads, err := l.look()
	if err != nil {
		return nil, err
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	r := &Results{Threads: sum.Threads, Dropped: sum.Dropped}
	r.Ambiguous, r.ContextsLost = l.arena.ContextLosses()
	for key, t := range l.totals(sum, threads) {
		name := l.names[key.Spot]
		label := l.labels.Of(key.Label, func(values map[int]TagValue) []TagValue { return l.valued(values, name.Groups) })
		r.Rows = append(r.Rows, Row{Name: name, Number: l.numbers.Of(key), Label: label, Totals: *t})
	}
	slices.SortFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(strings.Compare(a.Probe, b.Probe), strings.Compare(a.Sequence, b.Sequence), strings.Compare(a.Class, b.Class),
			strings.Compare(a.Method, b.Method), strings.Compare(a.Descriptor, b.Descriptor), strings.Compare(a.Label.String(), b.Label.String()), cmp.Compare(a.Number, b.Number))
	})
	return r, nil
}

// look reads the arena, and what was told of labels. Whoever wrote that is not answered:
// it is all that says what they are, also to those who read later.
func (l *Ledger) look() (*arena.Summary, []arena.Thread, error) {
	sum, err := l.arena.Sum(l.Now())
	if err != nil {
		return nil, nil, err
	}
	threads, err := l.arena.Threads()
	if err != nil {
		return nil, nil, err
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	arrivals, err := l.arena.Arrivals(l.labels.Heard())
	if err != nil {
		return nil, nil, err
	}
	l.labels.Hear(arrivals)
	return sum, threads, nil
}

// totals are those of all rows. Calls of what has no name have one by their number: some
// are better than none. The lock is held.
func (l *Ledger) totals(sum *arena.Summary, threads []arena.Thread) map[Key]*arena.Totals {
	for id := range sum.Methods {
		if _, is := l.names[id]; !is {
			l.names[id] = Name{ID: id}
		}
	}
	isGrouped := groupedIn(threads)
	totals := make(map[Key]*arena.Totals)
	spots := l.spots()
	for _, id := range spots {
		if isGrouped(id) {
			continue
		}
		totals[Key{Spot: id}] = &arena.Totals{}
		if t := sum.Methods[id]; t != nil {
			totals[Key{Spot: id}] = t
		}
	}
	Split(totals, spots, isGrouped, sum, threads, l.now())
	return totals
}

// groupedIn finds the spots whose results are told apart: those that were called below a
// label.
func groupedIn(threads []arena.Thread) func(spot uint32) bool {
	grouped := make(map[uint32]bool)
	for i := range threads {
		labels := make(map[uint32]bool) // by ref
		for _, n := range threads[i].Nodes {
			labels[n.Ref] = arena.IsLabel(n.ID)
		}
		for _, n := range threads[i].Nodes {
			if labels[n.Parent] {
				grouped[n.ID] = true
			}
		}
	}
	return func(spot uint32) bool { return grouped[spot] }
}

// valued are tags with their names: those of groups, or all that are set. The lock is held.
func (l *Ledger) valued(tags map[int]TagValue, groups []string) (all []TagValue) {
	if groups == nil {
		for number, value := range tags {
			value.Name = l.tag(number)
			all = append(all, value)
		}
		slices.SortFunc(all, func(a, b TagValue) int { return strings.Compare(a.Name, b.Name) })
		return all
	}
	for _, name := range groups {
		value := tags[slices.Index(l.tags, name)]
		value.Name = name
		all = append(all, value)
	}
	return all
}

// tag is the name of a tag.
func (l *Ledger) tag(number int) string {
	if number >= 0 && number < len(l.tags) {
		return l.tags[number]
	}
	return unnamedTag(number)
}
