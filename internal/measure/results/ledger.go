package results

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sonde-jvm/sonde/internal/weave/pack"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// ErrOtherNames reports names that do not match the methods of an arena.
var ErrOtherNames = errors.New("it does not belong to this arena")

// A Ledger reads an arena as rows: the calls of each spot or method, by label if results are grouped. It needs neither the
// Sonde that created the arena nor the JVM, which may be writing to it or may have ended. It is safe for concurrent use.
type Ledger struct {
	arena *arena.Arena
	owner arena.Owner
	ahead int64 // how much the target's clock is ahead of ours

	lock    sync.Mutex
	ended   bool                 // the JVM has ended, so that no call is running
	names   map[uint32]pack.Name // only with the IDs and methods until Identify
	tags    []string             // names, by number
	labels  Labels
	numbers Numbers
}

// openLedger reads an arena from an open file. The caller may close the file afterwards.
func openLedger(file *os.File) (*Ledger, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w: it is not a regular file", file.Name(), arena.ErrNotArena)
	}
	mapped, err := arena.Open(file, false)
	if err != nil {
		return nil, err
	}
	l := &Ledger{arena: mapped, names: make(map[uint32]pack.Name), numbers: make(Numbers)}
	if err := l.begin(); err != nil {
		_ = mapped.Close()
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	return l, nil
}

func (l *Ledger) begin() (err error) {
	if l.owner, err = l.arena.Owner(); err != nil {
		return err
	}
	l.ahead = arena.Ahead(l.arena.OpenedNanos(), l.owner.Opened)
	methods, err := l.arena.Methods()
	if err != nil {
		return err
	}
	for _, m := range methods {
		row := ParseRow(m.Name)
		l.names[m.ID] = pack.Name{ID: m.ID, Class: row.Class, Method: row.Name, Descriptor: row.Descriptor}
	}
	return nil
}

// Close closes the arena.
func (l *Ledger) Close() { _ = l.arena.Close() }

// Owner returns the processes that the arena belongs to.
func (l *Ledger) Owner() arena.Owner { return l.owner }

// Account returns the account of the classes of a pack; false if the arena has no pack.
func (l *Ledger) Account() (arena.Account, bool, error) { return l.arena.Account() }

// Room returns how much of the arena is used and how much is allocated.
func (l *Ledger) Room() (used, limit int64) { return l.arena.Room() }

// IsStopped reports whether the removal of the hooks was requested.
func (l *Ledger) IsStopped() bool { return l.arena.StopAsked() }

// SetEnded records that the JVM has ended, so that running calls never end and their times are unknown.
func (l *Ledger) SetEnded() {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.ended = true
}

// Identify adds the names of the spots' probes, and the names of tags by number. It adds nothing if they belong to another
// arena.
func (l *Ledger) Identify(names []pack.Name, tags []string) error {
	l.lock.Lock()
	defer l.lock.Unlock()
	dotted := slices.Clone(names)
	for i := range dotted {
		n := &dotted[i]
		n.Class = strings.ReplaceAll(n.Class, "/", ".")
		own, is := l.names[n.ID]
		if !is || own.Class != n.Class || own.Method != n.Method || own.Descriptor != n.Descriptor {
			return fmt.Errorf("%w: it has no %s.%s%s with this number", ErrOtherNames, n.Class, n.Method, n.Descriptor)
		}
	}
	for _, n := range dotted {
		l.names[n.ID] = n
	}
	l.tags = tags
	return nil
}

// Now returns the reading of the target's clock; 0 if the target has ended.
func (l *Ledger) Now() int64 {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.now()
}

func (l *Ledger) now() int64 {
	if l.ended {
		return 0
	}
	return arena.Monotonic() + l.ahead
}

// spots returns the IDs with names, in order. The lock is held.
func (l *Ledger) spots() []uint32 { return slices.Sorted(maps.Keys(l.names)) }

// Results are the measurements so far.
type Results struct {
	Rows    []Row  // including methods without calls
	Threads int    // that have called a hooked method
	Dropped uint64 // calls that could not be counted
	// ContextsLost are calls of anchors and tag points that were lost for lack of room; Ambiguous are tasks that were
	// submitted again before they had started.
	Ambiguous, ContextsLost uint64
}

// Results reads the measurements.
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
		r.Rows = append(r.Rows, newRow(&name, l.numbers.Of(key), label, t))
	}
	slices.SortFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(strings.Compare(a.Probe, b.Probe), strings.Compare(a.Within, b.Within), strings.Compare(a.Class, b.Class), strings.Compare(a.Name, b.Name),
			strings.Compare(a.Descriptor, b.Descriptor), strings.Compare(a.Label.String(), b.Label.String()), cmp.Compare(a.Number, b.Number))
	})
	return r, nil
}

// look reads the arena, and the descriptions of labels. It does not answer those arrivals, because later readers need them
// too.
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

// totals returns the totals of all rows. Methods without a name are identified by their numbers. The lock is held.
func (l *Ledger) totals(sum *arena.Summary, threads []arena.Thread) map[Key]*arena.Totals {
	for id := range sum.Methods {
		if _, is := l.names[id]; !is {
			l.names[id] = pack.Name{ID: id}
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

// groupedIn finds the spots whose results are grouped: those that were called below a label.
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

// valued returns tags with their names: the tags of groups, or all that are set. The lock is held.
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

// tag returns the name of a tag, which may be unknown.
func (l *Ledger) tag(number int) string {
	if number >= 0 && number < len(l.tags) {
		return l.tags[number]
	}
	return "tag" + strconv.Itoa(number+1)
}

// Sum returns the measurements so far, by the numbers of rows.
func (l *Ledger) Sum() (*arena.Summary, error) {
	results, err := l.Results()
	if err != nil {
		return nil, err
	}
	sum := &arena.Summary{Methods: make(map[uint32]*arena.Totals, len(results.Rows)), Threads: results.Threads, Dropped: results.Dropped}
	for i := range results.Rows {
		sum.Methods[results.Rows[i].Number] = &results.Rows[i].Totals
	}
	return sum, nil
}

// Stacks returns the threads with their running calls, by the numbers of rows.
func (l *Ledger) Stacks() ([]arena.Thread, error) {
	threads, err := l.arena.Threads()
	if err != nil {
		return nil, err
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	Renumber(threads, groupedIn(threads), l.numbers)
	return threads, nil
}
