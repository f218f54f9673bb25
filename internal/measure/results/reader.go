// Package results reads measurements without a session, from the arena of a JVM that was started
// with a pack. The names of probes and tags come from the pack. It returns rows, each with the
// calls of a probe in a method, and changes no file.
package results

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A State is the state of an arena's JVM.
type State string

// The states.
const (
	Measuring State = "measuring" // its JVM runs with the hooks
	Out       State = "out"       // its JVM runs without hooks
	Ended     State = "ended"     // its JVM does not run
)

// largestPack bounds the size of a pack that a JVM or an arena names.
const largestPack = 512 << 20

// ErrOtherNames reports names that do not match the methods of an arena.
var ErrOtherNames = errors.New("does not belong to this arena")

// A Reader reads an arena as rows: the calls of each spot or method, by label if results are grouped. It needs neither the
// Sonde that created the arena nor the JVM, which may be writing to it or may have ended. It is for one goroutine.
type Reader struct {
	Path  string // of the arena
	Owner arena.Owner
	State State
	JVM   *process.JVM // nil if it has ended

	Pack  string        // path of the pack; empty if it is not known
	Title string        // of the packed program
	Set   *probeset.Set // the pack's probes; nil if the pack could not be read
	Left  []pack.Left   // methods that the pack left alone
	Notes []string      // for the user: what could not be read, or should not be trusted

	arena   *arena.Arena
	user    uint32                  // owner of the arena's file
	ahead   int64                   // how much the target's clock is ahead of ours
	names   map[uint32]pack.Name    // only with the IDs and methods until identify
	records map[uint32]weave.Record // of templates of the user
	tags    []string                // names, by number
	labels  Labels
	numbers Numbers
}

// Open reads an arena's file, and its pack if a path is given.
func Open(ctx context.Context, name, packPath string) (*Reader, error) {
	return open(ctx, name, packPath, os.O_RDONLY, nil)
}

// open is Open with flags and a check of the file; the check may be nil.
func open(ctx context.Context, name, packPath string, flags int, judge process.Judge) (*Reader, error) {
	var user uint32
	file, err := process.OpenPlain(name, flags, func(info os.FileInfo, owner uint32) error {
		user = owner
		if judge == nil {
			return nil
		}
		return judge(info, owner)
	})
	if err != nil {
		return nil, err
	}
	r, err := read(file, name)
	if err != nil {
		return nil, err
	}
	r.user = user
	err = r.findJVM(ctx)
	stated, is := process.StatedPack(r.Owner)
	switch {
	case err != nil:
	case packPath != "":
		err = r.use(packPath, packPath)
	case is && filepath.IsAbs(stated): // it may have been removed
		if file, err := process.OpenPlain(stated, os.O_RDONLY, process.NamedBy(r.user, largestPack)); err == nil {
			_ = r.useFile(file, stated)
		}
	}
	return r.orClose(err)
}

// read reads an arena from an open file, and closes the file.
func read(file *os.File, name string) (*Reader, error) {
	defer func() { _ = file.Close() }()
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
	r := &Reader{Path: name, arena: mapped, names: make(map[uint32]pack.Name), records: make(map[uint32]weave.Record), numbers: make(Numbers)}
	owner, err := mapped.Owner()
	methods, failed := mapped.Methods()
	if err = cmp.Or(err, failed); err != nil {
		return r.orClose(fmt.Errorf("%s: %w", file.Name(), err))
	}
	r.Owner, r.ahead = owner, arena.Ahead(mapped.OpenedNanos(), owner.Opened)
	for _, m := range methods {
		row := ParseRow(m.Name)
		r.names[m.ID] = pack.Name{ID: m.ID, Class: row.Class, Method: row.Name, Descriptor: row.Descriptor}
	}
	return r, nil
}

// orClose returns the reader, or after an error closes it.
func (r *Reader) orClose(err error) (*Reader, error) {
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Close closes the arena.
func (r *Reader) Close() { _ = r.arena.Close() }

// Account returns the account of the classes of a pack; false if the arena has no pack.
func (r *Reader) Account() (arena.Account, bool, error) { return r.arena.Account() }

// Room returns how much of the arena is used and how much is allocated.
func (r *Reader) Room() (used, limit int64) { return r.arena.Room() }

// IsStopped reports whether the removal of the hooks was requested.
func (r *Reader) IsStopped() bool { return r.arena.StopAsked() }

// Now returns the reading of the target's clock; 0 if the hooks are out, so that running calls never end and their times
// are unknown.
func (r *Reader) Now() int64 {
	if r.State != Measuring {
		return 0
	}
	return arena.Monotonic() + r.ahead
}

// findJVM looks for the JVM of an arena, which may have ended. The arena has its PID in its
// own namespace.
func (r *Reader) findJVM(ctx context.Context) error {
	processes, err := process.Local.Processes(ctx)
	if err != nil {
		return err
	}
	r.State = Ended
	for _, p := range processes {
		if !slices.Contains(p.Numbers, r.Owner.Target) {
			continue
		}
		jvm, err := process.Local.Inspect(p.PID)
		if err == nil && jvm.StartTicks() == r.Owner.TargetStart {
			r.runsIn(jvm)
			return nil
		}
	}
	return nil
}

// runsIn sets the running JVM.
func (r *Reader) runsIn(jvm *process.JVM) {
	r.JVM, r.State = jvm, Out
	if jvm.Inside == process.PresenceUnknown || jvm.HasArena(r.Path) {
		r.State = Measuring
	}
}

// useFile reads an open pack, and closes it.
func (r *Reader) useFile(file *os.File, name string) error {
	defer func() { _ = file.Close() }()
	return r.use(fmt.Sprintf("/proc/self/fd/%d", file.Fd()), name)
}

// use reads a pack, which must belong to the arena.
func (r *Reader) use(file, name string) error {
	opened, err := pack.Open(file)
	if err != nil {
		return err
	}
	content := opened.Content()
	set, err := probeset.Parse(content.Probes, name)
	if err != nil {
		return fmt.Errorf("the probes of pack %s: %w", name, err)
	}
	tags := content.Tags
	for _, tag := range set.Tags { // their order gives them their numbers
		if len(content.Tags) == 0 && !slices.Contains(tags, tag.Name) {
			tags = append(tags, tag.Name)
		}
	}
	if err := r.identify(content.Names, tags); err != nil {
		return fmt.Errorf("pack %s %w; name the pack that the program was started with", name, err)
	}
	for _, record := range content.Records {
		r.names[record.ID], r.records[record.ID] = pack.Name{ID: record.ID, Probe: record.Probe, Groups: record.Groups}, record.Record
	}
	r.Pack, r.Title, r.Set, r.Left = name, content.Title, set, content.Left
	return nil
}

// identify adds the names of the spots' probes, and the names of tags by number. It adds nothing if they belong to another
// arena.
func (r *Reader) identify(names []pack.Name, tags []string) error {
	dotted := maps.Clone(r.names)
	for _, n := range names {
		n.Class = strings.ReplaceAll(n.Class, "/", ".")
		own, is := r.names[n.ID]
		if !is || own.Class != n.Class || own.Method != n.Method || own.Descriptor != n.Descriptor {
			return fmt.Errorf("%w, which has no spot %d for %s.%s%s", ErrOtherNames, n.ID, n.Class, n.Method, n.Descriptor)
		}
		dotted[n.ID] = n
	}
	r.names, r.tags = dotted, tags
	return nil
}

// Results are the measurements so far.
type Results struct {
	Rows    []Row    // including methods without calls
	Records []Record // by templates of the user
	Threads int      // that have called a hooked method
	Dropped uint64   // calls that could not be counted
	// ContextsLost are calls of anchors and tag points that were lost for lack of room; Ambiguous are tasks that were
	// submitted again before they had started.
	Ambiguous, ContextsLost uint64
}

// Results reads the measurements, and the descriptions of labels. It does not answer those arrivals, because later readers
// need them too.
func (r *Reader) Results() (*Results, error) {
	now := r.Now()
	sum, err := r.arena.Sum(now)
	if err != nil {
		return nil, err
	}
	threads, err := r.arena.Threads()
	if err != nil {
		return nil, err
	}
	arrivals, err := r.arena.Arrivals(r.labels.Ticket)
	if err != nil {
		return nil, err
	}
	r.labels.Add(arrivals)
	for id := range sum.Methods { // methods without a name are identified by their numbers
		if _, is := r.names[id]; !is {
			r.names[id] = pack.Name{ID: id}
		}
	}
	found := &Results{Threads: sum.Threads, Dropped: sum.Dropped}
	found.Ambiguous, found.ContextsLost = r.arena.ContextLosses()
	for key, t := range Totals(maps.Keys(r.names), groupedIn(threads), sum, threads, now) {
		name := r.names[key.Spot]
		number, label := r.numbers.Of(key), r.labels.Of(key.Label, r.tags, name.Groups)
		if record, is := r.records[key.Spot]; is {
			found.Records = append(found.Records, Record{Number: number, Probe: name.Probe, Record: record, Label: label, Totals: *t})
			continue
		}
		found.Rows = append(found.Rows, newRow(&name, number, label, t))
	}
	slices.SortFunc(found.Rows, func(a, b Row) int {
		return cmp.Or(strings.Compare(a.Probe, b.Probe), strings.Compare(a.Within, b.Within), strings.Compare(a.Class, b.Class), strings.Compare(a.Name, b.Name),
			strings.Compare(a.Descriptor, b.Descriptor), strings.Compare(a.Label.String(), b.Label.String()), cmp.Compare(a.Number, b.Number))
	})
	return found, nil
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

// Sum returns the measurements so far, by the numbers of rows.
func (r *Reader) Sum() (*arena.Summary, error) {
	found, err := r.Results()
	if err != nil {
		return nil, err
	}
	sum := &arena.Summary{Methods: make(map[uint32]*arena.Totals, len(found.Rows)), Threads: found.Threads, Dropped: found.Dropped}
	for i := range found.Rows {
		sum.Methods[found.Rows[i].Number] = &found.Rows[i].Totals
	}
	return sum, nil
}

// Stacks returns the threads with their running calls, by the numbers of rows.
func (r *Reader) Stacks() ([]arena.Thread, error) {
	threads, err := r.arena.Threads()
	if err == nil {
		Renumber(threads, groupedIn(threads), r.numbers)
	}
	return threads, err
}

// ErrNoArena says that there is nothing to read.
var ErrNoArena = errors.New("there is no arena of a pack")

// A NoArenaError is a process without an arena to read.
type NoArenaError struct {
	PID     int
	Lives   bool   // it is a running JVM
	Problem string // why its agent does not use the pack; empty if it has none
}

func (e *NoArenaError) Error() string {
	switch {
	case e.Problem != "":
		return fmt.Sprintf("process %d was started with a pack, but the agent does not use it: %s", e.PID, e.Problem)
	case e.Lives:
		return fmt.Sprintf("process %d uses no pack: start the program with the option that sonde env --pack FILE prints, or see sonde status %d", e.PID, e.PID)
	}
	return fmt.Sprintf("process %d is not running, and has left no arena in /tmp: name the file, as in sonde report FILE", e.PID)
}

// Unwrap returns ErrNoArena.
func (e *NoArenaError) Unwrap() error { return ErrNoArena }

// A SeveralError is a process that does not run and for whose PID several users have left
// arenas: which of them belongs to it is not known.
type SeveralError struct {
	PID    int
	Arenas []string // each with its user
}

func (e *SeveralError) Error() string {
	return fmt.Sprintf("process %d is not running, and several users have left arenas for its PID: name the file, as in sonde report FILE (%s)",
		e.PID, strings.Join(e.Arenas, ", "))
}

// OfProcess reads the measurements of a pack in a JVM that runs or has ended. Without a path
// the pack is the one that the agent uses.
func OfProcess(ctx context.Context, pid int, packPath string) (*Reader, error) {
	jvm, err := process.Local.Inspect(pid)
	switch {
	case errors.Is(err, process.ErrNoProcess):
		return ofEnded(ctx, pid, packPath)
	case errors.Is(err, process.ErrNotJVM): // a JVM may have had its PID before
		r, failed := ofEnded(ctx, pid, packPath)
		if errors.Is(failed, ErrNoArena) {
			return nil, err
		}
		return r, failed
	case err != nil:
		return nil, err
	}
	return OfJVM(jvm, packPath)
}

// OfJVM is OfProcess for a running JVM.
func OfJVM(jvm *process.JVM, packPath string) (*Reader, error) {
	if jvm.Pack == nil || jvm.Pack.Arena == "" {
		none := &NoArenaError{PID: jvm.PID, Lives: true}
		if jvm.Pack != nil {
			none.Problem = jvm.Pack.Problem
		}
		return nil, none
	}
	file, err := process.Local.OpenMapped(jvm, jvm.Pack.Arena, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("the arena of process %d: %w", jvm.PID, err)
	}
	r, err := read(file, jvm.Pack.Arena)
	if err != nil {
		return nil, err
	}
	r.runsIn(jvm)
	if packPath != "" {
		return r.orClose(r.use(packPath, packPath))
	}
	inside, err := process.Local.OpenFile(jvm, jvm.Pack.Path, largestPack)
	if err == nil {
		err = r.useFile(inside, jvm.Pack.Path)
	}
	var of *pack.FileError
	if errors.As(err, &of) {
		err = fmt.Errorf("%s: %w", jvm.Pack.Path, of.Kind)
	}
	if err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("probes have no names because the pack of the arena cannot be read: %v; name it with --pack", err))
	}
	return r, nil
}
