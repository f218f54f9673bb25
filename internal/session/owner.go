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
)

// An Owner is a Sonde that holds a JVM, or the agent of a pack, seen from another Sonde
// through its arena, a file that the JVM has mapped.
type Owner struct {
	arena.Owner
	*arena.Arena
	Alive process.Answer // whether the Sonde lives; if not, its hooks go when its lease ends
	JVM   *process.JVM
	Path  string // of the arena, as the JVM sees it
	Pack  string // path of the agent's pack, as the JVM sees it; empty for a Sonde
	clock int64
}

// An UnreachableError reports that an arena which a JVM has mapped cannot be read.
type UnreachableError struct {
	PID   int
	Path  string
	Cause error
}

func (e *UnreachableError) Error() string {
	switch {
	case errors.Is(e.Cause, os.ErrNotExist):
		return fmt.Sprintf("Sonde has ended its session with process %d, but the JVM still uses the arena %s: it is restoring its classes, or a thread is still in a hook; sonde undo %d waits until this is done", e.PID, e.Path, e.PID)
	case errors.Is(e.Cause, os.ErrPermission):
		return fmt.Sprintf("process %d uses the arena %s, which belongs to another user; run sonde as that user, or as root", e.PID, e.Path)
	case errors.Is(e.Cause, process.ErrNotMapped):
		return fmt.Sprintf("the arena %s that process %d uses was replaced by another file; restart the program", e.Path, e.PID)
	case errors.Is(e.Cause, arena.ErrNotArena):
		return fmt.Sprintf("process %d uses the arena %s, which this version of Sonde cannot read (%v); use the version that created it", e.PID, e.Path, e.Cause)
	}
	return fmt.Sprintf("process %d uses the arena %s, which cannot be read: %v", e.PID, e.Path, e.Cause)
}

// Unwrap returns why it cannot be read.
func (e *UnreachableError) Unwrap() error { return e.Cause }

// Owners returns the owners of a JVM. To evict one it must be opened for writing. The
// caller closes them. Arenas that cannot be read are returned separately.
func Owners(ctx context.Context, jvm *process.JVM, writable bool) (all []*Owner, failed []*UnreachableError, err error) {
	found, err := targetfs.Find(jvm)
	if err != nil || len(found.Arenas) == 0 {
		return nil, nil, err
	}
	processes, err := process.Local.Processes(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range found.Arenas {
		o, err := openOwner(jvm, name, writable)
		if errors.Is(err, process.ErrNotMapped) {
			if isGone, _ := isUnmapped(jvm, name); isGone {
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

func openOwner(jvm *process.JVM, name string, writable bool) (*Owner, error) {
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
	o := &Owner{Owner: owner, JVM: jvm, Path: name, Arena: mapped, clock: arena.Ahead(mapped.OpenedNanos(), owner.Opened)}
	o.Pack, _ = process.StatedPack(owner)
	if pack := jvm.Pack; o.Pack != "" && pack != nil && path.Base(pack.Arena) == path.Base(name) {
		o.Pack = pack.Path // an arena has no room for a long one
	}
	return o, nil
}

// isAlive looks for a process with the owner's number that has the arena open: the number
// alone may belong to a later process.
func (o *Owner) isAlive(processes []process.Process) process.Answer {
	holds := func(p process.Process) bool {
		return p.PID != o.JVM.PID && slices.Contains(p.Numbers, o.Sonde) &&
			slices.ContainsFunc(p.Arenas, func(name string) bool { return path.Base(name) == path.Base(o.Path) })
	}
	hidden := func(p process.Process) bool {
		return slices.Contains(p.Numbers, o.Sonde) && p.Mounts == "" && !hasEnded(p.PID)
	}
	switch {
	case slices.ContainsFunc(processes, holds):
		return process.Yes
	case slices.ContainsFunc(processes, hidden) || !process.Local.SeesAll():
		return process.Unknown
	}
	return process.No
}

// hasEnded reports whether a process has ended and nobody has read its exit code yet.
func hasEnded(pid int) bool {
	stat, err := process.ReadStat(process.Local.Path(pid, "stat"))
	return err == nil && stat.Ended
}

// IsInTheWay reports whether a look with these settings cannot begin: the looks of a service
// share a JVM, and the hooks of a pack are apart from others.
func (o *Owner) IsInTheWay(settings *Settings) bool {
	return o.Pack == "" && (settings.In == nil || o.Sonde != os.Getpid())
}

// Holder returns the owner's name, as in a [HeldError].
func (o *Owner) Holder() string {
	if o.Pack != "" {
		return packHolder + o.Pack
	}
	return fmt.Sprintf("%s, process %d", o.Command, o.Sonde)
}

// Sum returns what was measured so far.
func (o *Owner) Sum() (*arena.Summary, error) { return o.Arena.Sum(arena.Monotonic() + o.clock) }

// Close unmaps the arena.
func (o *Owner) Close() { _ = o.Arena.Close() }

// ErrStays reports that a JVM did not unmap an arena in time.
var ErrStays = errors.New("it did not remove the hooks in time")

const (
	evictLimit = 60 * time.Second
	checkEvery = 50 * time.Millisecond
)

// Evict makes the agent remove everything, and waits until the JVM has unmapped the
// arena or has exited. The owner must have been opened for writing.
func (o *Owner) Evict(ctx context.Context) error {
	o.Arena.AskStop()
	if err := AwaitDeparture(ctx, o.JVM, o.Path); err != nil || o.Pack == "" {
		return err
	}
	return o.awaitNotice(ctx)
}

// awaitNotice waits until the agent of a pack, which has unmapped its arena, has removed
// its notice: it does that last.
func (o *Owner) awaitNotice(ctx context.Context) error {
	return await(ctx, func() (bool, error) {
		notice, is := process.Local.PackNotice(o.JVM)
		return !is || notice.Arena == "", nil
	})
}

// AwaitDeparture waits until a JVM has unmapped an arena or has exited. If that takes too
// long it returns ErrStays.
func AwaitDeparture(ctx context.Context, jvm *process.JVM, path string) error {
	return await(ctx, func() (bool, error) { return isUnmapped(jvm, path) })
}

const (
	// departureLimit bounds the wait for the agent of a Sonde that was killed. It is longer than a lease.
	departureLimit = 30 * time.Second
	// fewTries is how often an agent is asked again that refuses, although nobody is known to hold the JVM:
	// it has no arena any more, or not yet.
	fewTries = 10
)

// A departure is the wait for the agent of a Sonde that was killed.
type departure struct {
	pid        int
	settings   *Settings
	until      time.Time
	isReported bool // the user
	tries      int  // although nobody held the JVM
}

// next waits for the agent of a dead Sonde, and reports whether the JVM can be asked again. It cannot if a
// living Sonde holds it, or one of which that is unknown.
func (d *departure) next(ctx context.Context) bool {
	jvm, err := process.Local.Inspect(d.pid)
	if err != nil || ctx.Err() != nil || time.Now().After(d.until) {
		return false
	}
	owners, unreachable, err := Owners(ctx, jvm, false)
	if err != nil {
		return false
	}
	var leaving []string
	isHeld := false
	for _, u := range unreachable {
		leaving = append(leaving, u.Path)
		isHeld = isHeld || !errors.Is(u, os.ErrNotExist) // of an agent that leaves, the file goes first
	}
	for _, o := range owners {
		if o.IsInTheWay(d.settings) {
			isHeld = isHeld || o.Alive != process.No
			leaving = append(leaving, o.Path)
		}
		o.Close()
	}
	switch {
	case isHeld:
		return false
	case len(leaving) == 0:
		d.tries++
		return d.tries <= fewTries && pauseFor(ctx, checkEvery)
	case !d.isReported && d.settings.Notice != nil:
		d.isReported = true
		d.settings.Notice(fmt.Sprintf("the Sonde that held process %d has ended without removing its hooks: waiting until the agent has removed them", d.pid))
	}
	ctx, cancel := context.WithDeadline(ctx, d.until)
	defer cancel()
	for _, path := range leaving {
		if AwaitDeparture(ctx, jvm, path) != nil {
			return false
		}
	}
	return true
}

// pauseFor waits, and reports whether the context has not ended.
func pauseFor(ctx context.Context, long time.Duration) bool {
	select {
	case <-time.After(long):
		return true
	case <-ctx.Done():
		return false
	}
}

// isUnmapped reports whether a JVM has unmapped an arena or has exited.
func isUnmapped(jvm *process.JVM, path string) (bool, error) {
	found, err := targetfs.Find(jvm)
	switch {
	case errors.Is(err, process.ErrNoProcess) || errors.Is(err, process.ErrNotJVM) || errors.Is(err, targetfs.ErrGone):
		return true, nil
	case err != nil:
		return false, err
	}
	return !slices.Contains(found.Arenas, path), nil
}

// await waits until a condition holds. If that takes too long it returns ErrStays.
func await(ctx context.Context, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, evictLimit, ErrStays)
	defer cancel()
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		if isDone, err := holds(); isDone || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}
