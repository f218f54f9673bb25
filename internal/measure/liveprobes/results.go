package liveprobes

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Results are the measurements so far.
type Results struct {
	Rows    []Row
	Records []results.Record // what templates of the user have recorded, and how often they have failed
	Threads int              // threads that have called a method with a hook
	Dropped uint64           // calls that could not be counted
	// Ambiguous counts tasks that were handed over again before they began, so that their
	// context is not known. ContextsLost counts calls of anchors and tag points that found
	// no space.
	Ambiguous, ContextsLost uint64
}

// A Row is the totals of one spot, or of one label of a spot whose results are grouped.
type Row struct {
	probes.SpotName
	ID    uint32 // of the row: unique, and the same in every result
	Label Label
	Off   bool // the spot was switched off: a loaded class invalidates its condition, and calls since then are not counted
	arena.Totals
}

// Results reads the measurements, also of probes that have ended. It sends no request to
// the JVM.
func (w *Probes) Results() (*Results, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.hear()
	sum, err := w.target.Sum()
	if err != nil {
		return nil, err
	}
	found := &Results{Threads: sum.Threads, Dropped: sum.Dropped}
	found.Ambiguous, found.ContextsLost = w.target.ContextLosses()
	totals, err := w.labelled(sum)
	if err != nil {
		return nil, err
	}
	off := make(map[uint32]bool)
	if w.plan != nil {
		for _, s := range w.plan.Spots {
			off[w.target.SpotID(s.Spot)] = s.Off != ""
		}
	}
	tags := w.tagNames()
	for key, t := range totals {
		name, known := w.names[key.Spot]
		if !known || name.Inside {
			continue
		}
		number, label := w.rows.Of(key), w.labels.Of(key.Label, tags, name.GroupBy)
		if name.Template || name.Record.Name != "" {
			found.Records = append(found.Records, results.Record{Number: number, Probe: name.Probe, Record: name.Record, Label: label, Totals: *t})
			continue
		}
		found.Rows = append(found.Rows, Row{SpotName: name, ID: number, Label: label, Off: off[key.Spot], Totals: *t})
	}
	slices.SortFunc(found.Rows, compareRows)
	return found, nil
}

// Calls returns the number of calls in which the probes acted. Several spots of a method
// may act in the same call, and only the calls of each spot are known. Then the method
// counts with the maximum of its spots, and atLeast is set.
func (r *Results) Calls() (calls uint64, atLeast bool) {
	acted := make(overlap)
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Probe != "" && !row.Inside {
			acted.add(&row.SpotName, row.Calls)
		}
	}
	return acted.calls()
}

// An overlap holds the calls of spots. The spots of one method may share calls.
type overlap map[overlapping]uint64

type overlapping struct{ class, name, descriptor, probe, sequence string }

func (o overlap) add(spot *probes.SpotName, calls uint64) {
	o[overlapping{spot.Class, spot.Name, spot.Descriptor, spot.Probe, spot.Sequence}] += calls
}

// calls adds up the methods, each with its spot that has most calls.
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

// labelled returns the totals of all spots, by label where results are grouped. A spot that
// was not called has a row without a label. The lock is held.
func (w *Probes) labelled(sum *arena.Summary) (totals map[results.Key]*arena.Totals, err error) {
	var threads []arena.Thread
	if slices.ContainsFunc(slices.Collect(maps.Values(w.names)), func(n probes.SpotName) bool { return n.Grouped }) {
		if threads, err = w.target.Threads(); err != nil {
			return nil, err
		}
	}
	return results.Totals(maps.Keys(w.names), w.isGrouped, sum, threads, w.target.Now()), nil
}

// isGrouped reports whether the results of a spot have labels. The lock is held.
func (w *Probes) isGrouped(spot uint32) bool { return w.names[spot].Grouped }

// callsOf returns the calls of a probe. A call for which several of its sequences hold counts for
// each of them. The lock is held.
func (w *Probes) callsOf(probe string) (calls uint64) {
	sum, err := w.target.Sum()
	if err != nil {
		return 0
	}
	for id, name := range w.names {
		if t := sum.Methods[id]; t != nil && name.Probe == probe && !name.Inside && name.Record.Name == "" {
			calls += t.Calls
		}
	}
	return calls
}

// CallsInside returns how often methods were called that have hooks only for traces.
func (w *Probes) CallsInside() (calls uint64, err error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	sum, err := w.target.Sum()
	if err != nil {
		return 0, err
	}
	for id, t := range sum.Methods {
		if w.names[id].Inside {
			calls += t.Calls
		}
	}
	return calls, nil
}

// Sum returns the measurements so far, by the ids of rows, for reports by interval.
func (w *Probes) Sum() (*arena.Summary, error) {
	results, err := w.Results()
	if err != nil {
		return nil, err
	}
	sum := &arena.Summary{Methods: make(map[uint32]*arena.Totals, len(results.Rows)), Threads: results.Threads, Dropped: results.Dropped}
	for i := range results.Rows {
		sum.Methods[results.Rows[i].ID] = &results.Rows[i].Totals
	}
	return sum, nil
}

// Stacks returns the threads with their current calls, by the ids of rows. Calls that
// belong to no row have no id.
func (w *Probes) Stacks() ([]arena.Thread, error) {
	threads, err := w.target.Threads()
	if err != nil {
		return nil, err
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	results.Renumber(threads, w.isGrouped, w.rows)
	return threads, nil
}

// Now returns the time of the target's clock.
func (w *Probes) Now() int64 { return w.target.Now() }

// Names are the meanings of ids in results and records, copied at one moment.
type Names struct {
	Spots  map[uint32]probes.SpotName
	Labels map[uint32]Label // with all tags that were set
}

// Names returns the meanings of spots and labels, also of probes that have ended.
func (w *Probes) Names() *Names {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.hear()
	return &Names{Spots: maps.Clone(w.names), Labels: w.labels.All(w.tagNames())}
}

// A Label distinguishes results of one spot, by tags or by callers.
type Label = results.Label

// A TagValue is a tag with its value.
type TagValue = results.TagValue

// hear reads the labels that the target has reported. The lock is held.
func (w *Probes) hear() {
	arrivals, err := w.target.Arrivals(w.labels.Ticket)
	if err != nil || len(arrivals) == 0 {
		return // the JVM has ended, or has reported nothing
	}
	w.labels.Add(arrivals)
	w.target.Answer(w.labels.Ticket)
}

// tagNames returns the names of tags by number; tags of other looks have empty names. The lock is held.
func (w *Probes) tagNames() (names []string) {
	for name, number := range w.numbers {
		names = append(names, make([]string, max(0, int(number)+1-len(names)))...)
		names[number] = name
	}
	return names
}
