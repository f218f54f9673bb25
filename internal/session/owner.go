package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/ledger"
)

// An Occupant is a Sonde that holds a JVM, or the agent of a pack, seen by another:
// its arena is a file that the JVM has mapped, and says what there is to know.
type Occupant struct {
	arena.Owner
	Alive process.Answer // whether the Sonde lives; the hooks of one that does not go by themselves, with its lease
	JVM   *process.JVM
	Path  string // of the arena, as the JVM sees it
	Pack  string // path of the pack, as the JVM sees it, whose agent it is; empty for a Sonde
	arena *arena.Arena
	clock int64
}

// An UnreachableError is an arena that a JVM has mapped and that cannot be read.
type UnreachableError struct {
	PID   int
	Path  string
	Cause error
}

func (e *UnreachableError) Error() string {
	switch {
	case errors.Is(e.Cause, os.ErrNotExist):
		return fmt.Sprintf("process %d has %s mapped, whose file is gone: Sonde has left and the JVM is still restoring its classes, or a thread is still in a hook; sonde undo %d waits for it", e.PID, e.Path, e.PID)
	case errors.Is(e.Cause, os.ErrPermission):
		return fmt.Sprintf("process %d has %s mapped, which is another user's: be that user, or root", e.PID, e.Path)
	case errors.Is(e.Cause, process.ErrNotMapped):
		return fmt.Sprintf("process %d has %s mapped, but what is there now is another file: have that put back, or restart the program", e.PID, e.Path)
	case errors.Is(e.Cause, arena.ErrNotArena):
		return fmt.Sprintf("process %d has %s mapped: %v: use the sonde that made it", e.PID, e.Path, e.Cause)
	}
	return fmt.Sprintf("process %d has %s mapped, which cannot be read: %v", e.PID, e.Path, e.Cause)
}

// Unwrap gives why it cannot be read.
func (e *UnreachableError) Unwrap() error { return e.Cause }

// Occupants finds the Sondes in a JVM; to stop one it must be opened for
// writing. The caller closes them. Those that cannot be reached are told apart.
func Occupants(ctx context.Context, jvm *process.JVM, writable bool) (all []*Occupant, failed []*UnreachableError, err error) {
	found, err := targetfs.Find(jvm)
	if err != nil || len(found.Arenas) == 0 {
		return nil, nil, err
	}
	processes, err := process.Local.Processes(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range found.Arenas {
		o, err := visit(jvm, name, writable)
		if errors.Is(err, process.ErrNotMapped) {
			if gone, _ := letGo(jvm, name); gone {
				continue // meanwhile
			}
		}
		if err != nil {
			failed = append(failed, &UnreachableError{jvm.PID, name, err})
			continue
		}
		o.Alive = o.isAlive(processes)
		all = append(all, o)
	}
	return all, failed, nil
}

func visit(jvm *process.JVM, name string, writable bool) (*Occupant, error) {
	mode := os.O_RDONLY
	if writable {
		mode = os.O_RDWR
	}
	file, err := process.Local.OpenMapped(jvm, name, mode)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // the mapping stays
	mapped, err := arena.Open(file, writable)
	if err != nil {
		return nil, err
	}
	owner, err := mapped.Owner()
	if err != nil {
		_ = mapped.Close()
		return nil, err
	}
	o := &Occupant{Owner: owner, JVM: jvm, Path: name, arena: mapped, clock: ledger.Ahead(mapped.OpenedNanos(), owner.Opened)}
	o.Pack, _ = process.StatedPack(owner)
	if pack := jvm.Pack; o.Pack != "" && pack != nil && path.Base(pack.Arena) == path.Base(name) {
		o.Pack = pack.Path // an arena has no room for a long one
	}
	return o, nil
}

// isAlive looks for a process that has the owner's number and the arena: the
// number alone may be a later process's.
func (o *Occupant) isAlive(processes []process.Process) process.Answer {
	holds := func(p process.Process) bool {
		return p.PID != o.JVM.PID && slices.Contains(p.Numbers, o.Sonde) &&
			slices.ContainsFunc(p.Arenas, func(name string) bool { return path.Base(name) == path.Base(o.Path) })
	}
	hidden := func(p process.Process) bool { return slices.Contains(p.Numbers, o.Sonde) && p.Mounts == "" }
	switch {
	case slices.ContainsFunc(processes, holds):
		return process.Yes
	case slices.ContainsFunc(processes, hidden) || !process.Local.SeesAll():
		return process.Unknown
	}
	return process.No
}

// Holder names the occupant, as a [HeldError] has it.
func (o *Occupant) Holder() string {
	if o.Pack != "" {
		return packHolder + o.Pack
	}
	return fmt.Sprintf("%s, process %d", o.Command, o.Sonde)
}

// Sum is what was measured so far.
func (o *Occupant) Sum() (*arena.Summary, error) { return o.arena.Sum(ledger.Monotonic() + o.clock) }

// Methods are those that have hooks.
func (o *Occupant) Methods() ([]arena.Method, error) { return o.arena.Methods() }

// Room is how much of the arena is used and how much is allocated.
func (o *Occupant) Room() (used, limit int64) { return o.arena.Room() }

// Account is what became of the classes of a pack; false for a Sonde.
func (o *Occupant) Account() (arena.Account, bool, error) { return o.arena.Account() }

// Cost is what the hooks have cost the JVM, as far as it was measured.
func (o *Occupant) Cost() (arena.Cost, error) { return o.arena.Cost() }

// Close lets go of the arena.
func (o *Occupant) Close() { _ = o.arena.Close() }

// ErrStays says that a JVM did not let go of an arena in time.
var ErrStays = errors.New("the hooks were not taken out in time")

const (
	evictLimit = 60 * time.Second
	lookEvery  = 50 * time.Millisecond
)

// Evict has the agent take everything out, and waits until the JVM has let go
// of the arena, or has ended. The occupant must have been opened for writing.
func (o *Occupant) Evict(ctx context.Context) error {
	o.arena.AskStop()
	if err := AwaitDeparture(ctx, o.JVM, o.Path); err != nil || o.Pack == "" {
		return err
	}
	return o.awaitSilence(ctx)
}

// awaitSilence waits until the agent of a pack, which has let go of its arena, has let go
// of the JVM as well: its notice goes last.
func (o *Occupant) awaitSilence(ctx context.Context) error {
	return await(ctx, func() (bool, error) {
		notice, told := process.Local.PackNotice(o.JVM)
		return !told || notice.Arena == "", nil
	})
}

// AwaitDeparture waits until a JVM has let go of an arena, or has ended. Where
// that takes too long it returns ErrStays.
func AwaitDeparture(ctx context.Context, jvm *process.JVM, path string) error {
	return await(ctx, func() (bool, error) { return letGo(jvm, path) })
}

// letGo tells whether a JVM has let go of an arena, or has ended.
func letGo(jvm *process.JVM, path string) (bool, error) {
	found, err := targetfs.Find(jvm)
	switch {
	case errors.Is(err, process.ErrNoProcess) || errors.Is(err, process.ErrNotJVM) || errors.Is(err, targetfs.ErrGone):
		return true, nil
	case err != nil:
		return false, err
	}
	return !slices.Contains(found.Arenas, path), nil
}

// await looks until something is so; where that takes too long it returns ErrStays.
func await(ctx context.Context, isSo func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, evictLimit, ErrStays)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if so, err := isSo(); so || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}
