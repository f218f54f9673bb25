package targetfs

import (
	"context"
	"errors"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"time"

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
		at.path = host.Path(pid, path.Join("root", name))
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

// A kind removes an entry of a name if it is left over.
type kind func(s *sweeper, at *place, name string, stat unix.Stat_t) (gone bool, err error)

// kindOf is nil for names that are not ours.
func kindOf(name string) kind {
	switch {
	case sessionDirectory.MatchString(name):
		return sweepDirectory(sessionDirectory, (*sweeper).isLeft)
	case packDirectory.MatchString(name):
		return sweepDirectory(packDirectory, (*sweeper).isAbandoned)
	case noteDirectory.MatchString(name):
		return sweepDirectory(noteDirectory, (*sweeper).isAbandoned)
	case jarDirectory.MatchString(name):
		return sweepJars
	case arenaName.MatchString(name):
		return sweepArena
	case noteName.MatchString(name):
		return sweepNote(noteName, false)
	case invitationName.MatchString(name):
		return sweepNote(invitationName, true)
	}
	return nil
}

// settled is the age from which on a thing of a living process without a lock is
// left over: a Sonde locks what it makes at once.
const settled = time.Minute

// isLeft judges what nobody has locked.
func (s *sweeper) isLeft(pattern *regexp.Regexp, name string, stat unix.Stat_t) bool {
	return !s.lives(number(pattern, name), stat.Uid) || isSettled(stat)
}

// isAbandoned judges what its maker does not lock: where not all processes can be seen,
// whoever makes it may be one of the others.
func (s *sweeper) isAbandoned(pattern *regexp.Regexp, name string, stat unix.Stat_t) bool {
	return s.seesAll && s.isLeft(pattern, name, stat) || isSettled(stat)
}

func isSettled(stat unix.Stat_t) bool { return time.Since(time.Unix(stat.Mtim.Unix())) > settled }

// number is the one in a name; -1 is no process's.
func number(pattern *regexp.Regexp, name string) int {
	n, err := strconv.Atoi(pattern.FindStringSubmatch(name)[1])
	if err != nil {
		return -1
	}
	return n
}

// sweepDirectory is for those of a process, with files of ours alone.
func sweepDirectory(pattern *regexp.Regexp, isLeft func(*sweeper, *regexp.Regexp, string, unix.Stat_t) bool) kind {
	return func(s *sweeper, at *place, name string, stat unix.Stat_t) (bool, error) {
		dir, err := at.within(name)
		if err != nil {
			return false, nil // then it is not ours
		}
		defer dir.close()
		if lock(dir.dir, unix.LOCK_EX) != nil || !isLeft(s, pattern, name, stat) {
			return false, nil
		}
		return removeFilled(at, name, dir, s.mayLive)
	}
}

func sweepJars(s *sweeper, at *place, name string, stat unix.Stat_t) (bool, error) {
	if number(jarDirectory, name) != int(stat.Uid) {
		return false, nil
	}
	dir, err := at.within(name)
	if err != nil {
		return false, nil // then it is not ours
	}
	defer dir.close()
	if lock(dir.dir, unix.LOCK_EX) != nil {
		return false, nil
	}
	return removeFilled(at, name, dir, s.mayLive)
}

// removeFilled leaves a directory alone, as it is, that holds something else.
func removeFilled(at *place, name string, dir *place, alive isAlive) (bool, error) {
	names, err := dir.list()
	if err != nil {
		return false, err
	}
	for _, inner := range names {
		if !isInner(inner) {
			return false, nil
		}
	}
	return removeWith(at, name, dir, alive)
}

func sweepArena(s *sweeper, at *place, name string, stat unix.Stat_t) (bool, error) {
	file, err := at.openFile(name)
	if err != nil {
		return false, nil // then it is not ours
	}
	defer func() { _ = file.Close() }()
	if lock(file, unix.LOCK_EX) != nil || s.isMapped(name) || !s.isLeft(arenaName, name, stat) || !at.holds(name, file) {
		return false, nil
	}
	return true, at.remove(name)
}

// sweepNote is for what nobody locks: it goes with its process. An invitation
// also goes when it is old, since whoever wrote it waits for a few seconds only.
func sweepNote(pattern *regexp.Regexp, ages bool) kind {
	return func(s *sweeper, at *place, name string, stat unix.Stat_t) (bool, error) {
		old := ages && isSettled(stat)
		if !old && (!s.seesAll || s.lives(number(pattern, name), stat.Uid)) {
			return false, nil
		}
		file, err := at.openFile(name)
		if err != nil {
			return false, nil // then it is not ours
		}
		defer func() { _ = file.Close() }()
		if !at.holds(name, file) {
			return false, nil
		}
		return true, at.remove(name)
	}
}
