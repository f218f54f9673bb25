package liveprobes

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/results/ledger"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
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

// A Source gives readings by row rather than by method, for who makes intervals of them.
type Source struct{ watch *Watch }

// Source reads rows.
func (w *Watch) Source() *Source { return &Source{w} }

// Sum is what was measured so far, by the ids of rows.
func (s *Source) Sum() (*arena.Summary, error) {
	results, err := s.watch.Results()
	if err != nil {
		return nil, err
	}
	sum := &arena.Summary{Methods: make(map[uint32]*arena.Totals, len(results.Rows)), Threads: results.Threads, Dropped: results.Dropped}
	for i := range results.Rows {
		sum.Methods[results.Rows[i].ID] = &results.Rows[i].Totals
	}
	return sum, nil
}

// Stacks are the threads with the calls they are in, by the ids of rows. Calls of what
// is no row have none.
func (s *Source) Stacks() ([]arena.Thread, error) {
	w := s.watch
	threads, err := w.target.Threads()
	if err != nil {
		return nil, err
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	ledger.Renumber(threads, w.isGrouped, w.rows)
	return threads, nil
}

// Now is what the target's clock reads.
func (s *Source) Now() int64 { return s.watch.target.Now() }

// A SpotName says what a spot is about.
type SpotName struct {
	ID       uint32
	Probe    string // empty for spots that only belong to a trace
	Sequence string // as written; empty where the probe acts everywhere
	Class    string // internal
	Name     string
	// Descriptor is as class files have it.
	Descriptor string
	// Inside says that it is there for the traces of other methods.
	Inside bool
	// Conditional says that it acts only in a context or on a condition.
	Conditional bool
	Captures    []CaptureName
}

// A CaptureName is an expression whose value is captured. Its index in records has bit 7
// set where it is read at the exit.
type CaptureName struct {
	Index    int
	Text     string
	Redacted bool // it is never read
}

// ExitCapture is the bit of an index that says the value is read at the exit.
const ExitCapture = 1 << 7

// Redacted is shown in the place of a value that is not read.
const Redacted = "(redacted)"

// Names are what ids in results and records stand for. They are a copy as of the moment
// they were asked for.
type Names struct {
	spots  map[uint32]SpotName
	labels map[uint32]Label
}

// Names tells what spots and labels are about, also those of probes that have ended.
func (w *Watch) Names() *Names {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.hear()
	all := func(tags map[int]TagValue) []TagValue { return w.valued(tags, nil) }
	return &Names{spots: maps.Clone(w.names), labels: w.labels.All(all)}
}

// Spot is what a spot's id stands for.
func (n *Names) Spot(id uint32) (SpotName, bool) {
	name, is := n.spots[id]
	return name, is
}

// Label is what a label's number stands for: of tags, all that were set.
func (n *Names) Label(id uint32) (Label, bool) {
	label, is := n.labels[id]
	return label, is
}

// A Label tells the results of a spot apart: by tags or by callers.
type Label = ledger.Label

// A TagValue is a tag with its value.
type TagValue = ledger.TagValue

// hear learns what the target has told of labels. The lock is held.
func (w *Watch) hear() {
	arrivals, err := w.target.Arrivals(w.labels.Heard())
	if err != nil || len(arrivals) == 0 {
		return // the JVM has ended, or has nothing to tell
	}
	w.target.Answer(w.labels.Hear(arrivals))
}

// label is what a row's number stands for. The lock is held.
func (w *Watch) label(key ledger.Key) Label {
	return w.labels.Of(key.Label, func(tags map[int]TagValue) []TagValue { return w.valued(tags, w.groups[key.Spot]) })
}

// valued are tags with their names: those that are asked for, or all that are set.
func (w *Watch) valued(tags map[int]TagValue, names []string) (all []TagValue) {
	if names == nil {
		for number, value := range tags {
			for name, own := range w.numbers {
				if int(own) == number {
					value.Name = name
					all = append(all, value)
				}
			}
		}
		slices.SortFunc(all, func(a, b TagValue) int { return strings.Compare(a.Name, b.Name) })
		return all
	}
	for _, name := range names {
		value := tags[int(w.numbers[name])]
		value.Name = name
		all = append(all, value)
	}
	return all
}
