// Package ledger tells what an arena holds by rows: the calls of each spot or method, by
// labels where results are told apart. An arena can be read so by somebody who did not
// make it, while a JVM writes to it and when that JVM has ended. No JVM is asked.
package ledger

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
	"time"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// ErrOtherNames says that names are not those of what an arena's hooks are in.
var ErrOtherNames = errors.New("its names are not those of this arena")

// A Name says what an id stands for.
type Name struct {
	ID uint32
	// Class has dots; Method and Descriptor are as class files have them.
	Class, Method, Descriptor string
	Probe, Sequence           string   // empty where an arena is all there is to go by
	Groups                    []string // names of the tags by which results are told apart
}

// String is the method as arenas name it.
func (n *Name) String() string { return n.Class + "." + n.Method + n.Descriptor }

// A Ledger is an arena, read by somebody who need not have made it. It is safe for use
// by several goroutines.
type Ledger struct {
	arena *arena.Arena
	owner arena.Owner
	ahead int64 // what the target's clock is ahead of ours

	lock    sync.Mutex
	ended   bool // the JVM has, so that nothing in it goes on
	names   map[uint32]Name
	tags    []string // names, by number
	labels  Labels
	numbers Numbers
}

// Open reads an arena that is open as a file. The file may be closed then.
func Open(file *os.File) (*Ledger, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w: it is no plain file", file.Name(), arena.ErrNotArena)
	}
	mapped, err := arena.Open(file, false)
	if err != nil {
		return nil, err
	}
	l := &Ledger{arena: mapped, names: make(map[uint32]Name), numbers: make(Numbers)}
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
	l.ahead = Ahead(l.arena.OpenedNanos(), l.owner.Opened)
	methods, err := l.arena.Methods()
	if err != nil {
		return err
	}
	for _, m := range methods {
		l.names[m.ID] = readName(m)
	}
	return nil
}

// readName takes class.name(descriptor) apart.
func readName(m arena.Method) Name {
	head, tail, found := strings.Cut(m.Name, "(")
	at := strings.LastIndexByte(head, '.')
	if !found || at < 0 {
		return Name{ID: m.ID, Method: m.Name}
	}
	return Name{ID: m.ID, Class: head[:at], Method: head[at+1:], Descriptor: "(" + tail}
}

// Close lets go of the arena.
func (l *Ledger) Close() { _ = l.arena.Close() }

// Owner is whom the arena belongs to.
func (l *Ledger) Owner() arena.Owner { return l.owner }

// Account is what became of the classes of a pack; false where the arena is of none.
func (l *Ledger) Account() (arena.Account, bool, error) { return l.arena.Account() }

// Room is how much of the arena is used and how much is allocated.
func (l *Ledger) Room() (used, limit int64) { return l.arena.Room() }

// IsStopped tells whether somebody wanted the hooks out.
func (l *Ledger) IsStopped() bool { return l.arena.StopAsked() }

// SetEnded says that the JVM has ended: calls that are under way never come to an end,
// and how long they took is not known.
func (l *Ledger) SetEnded() {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.ended = true
}

// Identify adds what is known of the spots beside their methods, and the names of tags, by
// number. Where that is not about this arena nothing is added.
func (l *Ledger) Identify(names []Name, tags []string) error {
	l.lock.Lock()
	defer l.lock.Unlock()
	for i := range names {
		if own, is := l.names[names[i].ID]; !is || own.String() != names[i].String() {
			return fmt.Errorf("%w: it has none of %s by this number", ErrOtherNames, names[i].String())
		}
	}
	for _, n := range names {
		l.names[n.ID] = n
	}
	l.tags = tags
	return nil
}

// Now is what the target's clock reads; 0 where the target has ended.
func (l *Ledger) Now() int64 {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.now()
}

func (l *Ledger) now() int64 {
	if l.ended {
		return 0
	}
	return Monotonic() + l.ahead
}

// spots are the ids that have names, in order. The lock is held.
func (l *Ledger) spots() []uint32 { return slices.Sorted(maps.Keys(l.names)) }

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

// unnamedTag is what a tag is called where its name is not known.
func unnamedTag(number int) string { return "tag" + strconv.Itoa(number+1) }

// Sum is what was measured so far, by the numbers of rows.
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

// Stacks are the threads with the calls they are in, by the numbers of rows.
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

// Monotonic is the clock that System.nanoTime reads.
func Monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0
	}
	return now.Nano()
}

// Ahead is what a target's clock is ahead of ours, by what it read at a moment that is
// known: nothing, but in another time namespace. The wall clock, by which the moment
// is known, may have been set meanwhile; a minute of that is let pass.
func Ahead(reading int64, at time.Time) int64 {
	ahead := reading - (Monotonic() - int64(time.Since(at)))
	if ahead > -int64(time.Minute) && ahead < int64(time.Minute) {
		return 0
	}
	return ahead
}

// AheadNow is Ahead of a clock that was just read, by us after it was: a reading that is
// later than ours, by however little, is of another clock.
func AheadNow(reading int64) int64 {
	ahead := reading - Monotonic()
	if ahead > -int64(time.Minute) && ahead <= 0 {
		return 0
	}
	return ahead
}
