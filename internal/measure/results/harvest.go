// Package results reads what was measured without a session: the arena of a JVM that runs
// or ran with a pack, and the pack that names what was measured; and it turns arenas into
// rows. It only reads.
package results

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
)

// A State is the state of an arena's JVM.
type State string

// The states.
const (
	Measuring State = "measuring" // its JVM runs, and the hooks are in
	Out       State = "out"       // its JVM runs, and the hooks are out
	Ended     State = "ended"     // its JVM does not run
)

// A Harvest is an arena with its JVM and its pack.
type Harvest struct {
	*Ledger
	Arena string // path
	State State
	JVM   *process.JVM // nil if it has ended

	Pack  string        // path of the pack; empty if it is not known
	Title string        // of what was packed
	Set   *probeset.Set // the pack's probes; nil if the pack could not be read
	Left  []pack.Left   // methods that the pack left alone
	Notes []string      // for the user: what could not be read, or should not be trusted

	user uint32 // owner of the arena's file
}

// Open reads an arena's file, and its pack if a path is given.
func Open(ctx context.Context, name, packPath string) (*Harvest, error) {
	return open(ctx, name, packPath, os.O_RDONLY, nil)
}

// open is Open with flags and a check of the file; the check may be nil.
func open(ctx context.Context, name, packPath string, flags int, judge process.Judge) (*Harvest, error) {
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
	defer func() { _ = file.Close() }()
	h, err := read(file, name)
	if err != nil {
		return nil, err
	}
	h.user = user
	if err := h.findJVM(ctx); err != nil {
		h.Close()
		return nil, err
	}
	if packPath == "" {
		h.useStated()
		return h, nil
	}
	if err := h.use(packPath, packPath); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// useStated reads the pack that the arena names, if it still exists and can be read.
func (h *Harvest) useStated() {
	name, is := process.StatedPack(h.Owner())
	if !is || !filepath.IsAbs(name) {
		return
	}
	file, err := process.OpenPlain(name, os.O_RDONLY, process.NamedBy(h.user))
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	_ = h.useFile(file, name)
}

// useFile reads an open pack.
func (h *Harvest) useFile(file *os.File, name string) error {
	return h.use(fmt.Sprintf("/proc/self/fd/%d", file.Fd()), name)
}

func read(file *os.File, name string) (*Harvest, error) {
	opened, err := openLedger(file)
	if err != nil {
		return nil, err
	}
	return &Harvest{Ledger: opened, Arena: name}, nil
}

// findJVM looks for the JVM of an arena, which may have ended. The arena has its PID in its
// own namespace.
func (h *Harvest) findJVM(ctx context.Context) error {
	processes, err := process.Local.Processes(ctx)
	if err != nil {
		return err
	}
	owner := h.Owner()
	for _, p := range processes {
		if !slices.Contains(p.Numbers, owner.Target) {
			continue
		}
		jvm, err := process.Local.Inspect(p.PID)
		if err == nil && jvm.StartTicks() == owner.TargetStart {
			h.runsIn(jvm)
			return nil
		}
	}
	h.State = Ended
	h.SetEnded()
	return nil
}

// runsIn sets the running JVM.
func (h *Harvest) runsIn(jvm *process.JVM) {
	h.JVM, h.State = jvm, Out
	if jvm.Inside == process.PresenceUnknown || jvm.HasArena(h.Arena) {
		h.State = Measuring
		return
	}
	h.SetEnded()
}

// use reads a pack, which must belong to the arena.
func (h *Harvest) use(file, name string) error {
	opened, err := pack.Open(file)
	if err != nil {
		return err
	}
	content := opened.Content()
	set, err := probeset.Parse(content.Probes, name)
	if err != nil {
		return fmt.Errorf("the probes of pack %s: %w", name, err)
	}
	if err := h.Identify(content.Names, tagNames(set)); err != nil {
		return fmt.Errorf("pack %s: %w: name the pack that the program was started with", name, err)
	}
	h.Pack, h.Title, h.Set, h.Left = name, content.Title, set, content.Left
	return nil
}

// tagNames returns the names of a set's tags in their order, which gives them their numbers.
func tagNames(set *probeset.Set) (names []string) {
	for _, tag := range set.Tags {
		if !slices.Contains(names, tag.Name) {
			names = append(names, tag.Name)
		}
	}
	return names
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
		return fmt.Sprintf("process %d was started with a pack, and runs without it: %s", e.PID, e.Problem)
	case e.Lives:
		return fmt.Sprintf("process %d has no pack in it: start the program with the option that sonde env --pack FILE prints, or see sonde status %d", e.PID, e.PID)
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

// OfProcess reads what the agent of a pack has measured in a JVM that runs or has ended.
// Without a path the pack is the one that the agent uses.
func OfProcess(ctx context.Context, pid int, packPath string) (*Harvest, error) {
	jvm, err := process.Local.Inspect(pid)
	switch {
	case errors.Is(err, process.ErrNoProcess):
		return ofEnded(ctx, pid, packPath)
	case errors.Is(err, process.ErrNotJVM): // its PID may have been a JVM's before
		h, failed := ofEnded(ctx, pid, packPath)
		if errors.Is(failed, ErrNoArena) {
			return nil, err
		}
		return h, failed
	case err != nil:
		return nil, err
	}
	return OfJVM(jvm, packPath)
}

// OfJVM is OfProcess for a running JVM.
func OfJVM(jvm *process.JVM, packPath string) (*Harvest, error) {
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
	defer func() { _ = file.Close() }()
	h, err := read(file, jvm.Pack.Arena)
	if err != nil {
		return nil, err
	}
	h.runsIn(jvm)
	if packPath != "" {
		if err := h.use(packPath, packPath); err != nil {
			h.Close()
			return nil, err
		}
		return h, nil
	}
	if err := h.useInside(jvm); err != nil {
		var of *pack.FileError
		if errors.As(err, &of) {
			err = fmt.Errorf("%s: %w", jvm.Pack.Path, of.Kind)
		}
		h.Notes = append(h.Notes, fmt.Sprintf("probes have no names because its pack cannot be read: %v", err))
	}
	return h, nil
}

// useInside reads the pack of a JVM, by its path in the JVM's file system.
func (h *Harvest) useInside(jvm *process.JVM) error {
	file, err := process.Local.OpenNamed(jvm, jvm.Pack.Path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return h.useFile(file, jvm.Pack.Path)
}
