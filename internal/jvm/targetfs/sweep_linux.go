package targetfs

import (
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// Sweep removes what Sondes that were killed left behind, and agents with them,
// in our file system and those of all processes we may look into: what is of
// our own user, or for root of anyone. It returns what is gone, by path.
//
// Nothing goes that is not proven to be ours and left over: by name, type, owner
// and mode, by its lock being free, for an arena by no process having it
// mapped, and for a jar by none living that has loaded it. The arena of a pack stays: it has another name, and is there to be read. So do
// young things of living processes, and tickets, notices and invitations where not all
// processes can be seen.
func Sweep(ctx context.Context, host process.Host) ([]string, error) {
	processes, err := host.Processes(ctx)
	if err != nil {
		return nil, err
	}
	s := &sweeper{processes: processes, seesAll: host.SeesAll()}
	var failed []error
	visited := map[string]bool{"": true}
	for _, p := range s.ownFirst() {
		if visited[p.Mounts] {
			continue
		}
		visited[p.Mounts] = true
		for _, name := range places {
			if ctx.Err() != nil {
				return s.removed, ctx.Err()
			}
			failed = append(failed, s.sweepIn(host, p.PID, name))
		}
	}
	return s.removed, errors.Join(failed...)
}

type sweeper struct {
	processes []process.Process
	seesAll   bool
	visited   []unix.Stat_t // directories
	removed   []string
}

// ownFirst puts this process first, so that its view of a file system gives the
// paths.
func (s *sweeper) ownFirst() []process.Process {
	self := os.Getpid()
	ordered := slices.Clone(s.processes)
	slices.SortStableFunc(ordered, func(a, b process.Process) int {
		switch self {
		case a.PID:
			return -1
		case b.PID:
			return 1
		}
		return 0
	})
	return ordered
}

// sweepIn sweeps a directory of a process, unless it was swept before. One that
// cannot be reached holds nothing that could be removed.
func (s *sweeper) sweepIn(host process.Host, pid int, name string) error {
	dir, err := host.OpenInside(pid, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil // as said
	}
	defer func() { _ = dir.Close() }()
	at := &place{path: name, dir: dir, uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())}
	if pid != os.Getpid() {
		at.path = path.Join(host.Proc, strconv.Itoa(pid), "root", name)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(at.fd(), &stat); err != nil || s.wasIn(stat) {
		return err
	}
	names, err := at.list()
	if err != nil {
		return nil // as said
	}
	var failed []error
	for _, entry := range names {
		if kind := kindOf(entry); kind != nil {
			failed = append(failed, s.sweepEntry(at, entry, kind))
		}
	}
	return errors.Join(failed...)
}

func (s *sweeper) wasIn(dir unix.Stat_t) bool {
	if slices.ContainsFunc(s.visited, func(v unix.Stat_t) bool { return v.Dev == dir.Dev && v.Ino == dir.Ino }) {
		return true
	}
	s.visited = append(s.visited, dir)
	return false
}

// sweepEntry removes one entry if it is left over, with its owner's power.
func (s *sweeper) sweepEntry(at *place, name string, kind kind) error {
	var stat unix.Stat_t
	err := unix.Fstatat(at.fd(), name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return nil // gone meanwhile
	}
	if err != nil {
		return &os.PathError{Op: "stat", Path: path.Join(at.path, name), Err: err}
	}
	if at.uid != 0 && stat.Uid != at.uid {
		return nil
	}
	owners := &place{path: at.path, dir: at.dir, uid: stat.Uid, gid: at.gid}
	if at.uid == 0 {
		owners.gid = stat.Gid
	}
	gone, err := kind(s, owners, name, stat)
	if gone && err == nil {
		s.removed = append(s.removed, path.Join(at.path, name))
	}
	return err
}

// lives tells whether a process of a user has a number, in whichever namespace.
func (s *sweeper) lives(number int, uid uint32) bool {
	return slices.ContainsFunc(s.processes, func(p process.Process) bool {
		return p.UID == uid && slices.Contains(p.Numbers, number)
	})
}

func (s *sweeper) isMapped(name string) bool {
	return slices.ContainsFunc(s.processes, func(p process.Process) bool {
		return slices.ContainsFunc(p.Arenas, func(arena string) bool { return path.Base(arena) == name })
	})
}
