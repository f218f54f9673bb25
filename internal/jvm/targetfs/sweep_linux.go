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

// Sweep removes the files that killed Sondes and their agents left, in our file system and in those of all processes
// that we may inspect: files of our own user, or for root of anyone. It returns the paths of the removed files.
//
// A file is removed only if it is proven to be ours and left over: by its name, type, owner and mode, by its free
// lock, for an arena by the fact that no process has mapped it, and for a jar by the fact that no running process has
// loaded it. The arena of a pack stays, because it is there to be read. New files of running processes stay as well,
// and so do tickets, notices and invitations if not all processes can be seen.
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

// ownFirst puts this process first, so that paths are in its own file system.
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

// sweepIn sweeps a directory of a process, unless it was swept before. It ignores a directory that cannot be opened.
func (s *sweeper) sweepIn(host process.Host, pid int, name string) error {
	dir, err := host.OpenDirectory(pid, name)
	if err != nil {
		return nil // ignored
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
		return nil // ignored
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

// sweepEntry removes an entry if it is left over, with the identity of its owner.
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

// lives reports whether a process of a user has a PID in any namespace.
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

// A kind removes an entry if it is left over.
type kind func(s *sweeper, at *place, name string, stat unix.Stat_t) (gone bool, err error)

// kindOf returns nil for names that are not ours.
func kindOf(name string) kind {
	switch {
	case sessionDirectory.MatchString(name):
		return sweepDirectory(sessionDirectory, (*sweeper).isLeft)
	case packDirectory.MatchString(name):
		return sweepDirectory(packDirectory, (*sweeper).isAbandoned)
	case noteDirectory.MatchString(name):
		return sweepDirectory(noteDirectory, (*sweeper).isAbandoned)
	case jarDirectory.MatchString(name):
		return sweepDirectory(jarDirectory, (*sweeper).isOfOwner)
	case arenaName.MatchString(name):
		return sweepArena
	case noteName.MatchString(name):
		return sweepNote(noteName, false)
	case invitationName.MatchString(name):
		return sweepNote(invitationName, true)
	}
	return nil
}

// settled is the age from which on an unlocked file of a running process is left over. A Sonde locks new files at once.
const settled = time.Minute

// isLeft reports whether an unlocked file is left over.
func (s *sweeper) isLeft(pattern *regexp.Regexp, name string, stat unix.Stat_t) bool {
	return !s.lives(number(pattern, name), stat.Uid) || isSettled(stat)
}

// isAbandoned reports whether a file that its creator does not lock is left over. If not all processes can be seen, its
// creator may be a hidden one.
func (s *sweeper) isAbandoned(pattern *regexp.Regexp, name string, stat unix.Stat_t) bool {
	return s.seesAll && s.isLeft(pattern, name, stat) || isSettled(stat)
}

// isOfOwner reports whether a directory of jars belongs to the user whose number it has.
func (*sweeper) isOfOwner(pattern *regexp.Regexp, name string, stat unix.Stat_t) bool {
	return number(pattern, name) == int(stat.Uid)
}

func isSettled(stat unix.Stat_t) bool { return time.Since(time.Unix(stat.Mtim.Unix())) > settled }

// number returns the number in a name, -1 if it is too large for a PID.
func number(pattern *regexp.Regexp, name string) int {
	n, err := strconv.Atoi(pattern.FindStringSubmatch(name)[1])
	if err != nil {
		return -1
	}
	return n
}

// sweepDirectory is for directories that contain only files of ours.
func sweepDirectory(pattern *regexp.Regexp, isLeft func(*sweeper, *regexp.Regexp, string, unix.Stat_t) bool) kind {
	return func(s *sweeper, at *place, name string, stat unix.Stat_t) (bool, error) {
		dir, err := at.within(name)
		if err != nil {
			return false, nil // it is not ours
		}
		defer dir.close()
		if lock(dir.dir, unix.LOCK_EX) != nil || !isLeft(s, pattern, name, stat) {
			return false, nil
		}
		return removeFilled(at, name, dir, s.mayLive)
	}
}

// removeFilled keeps a directory that contains other files.
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
		return false, nil // it is not ours
	}
	defer func() { _ = file.Close() }()
	if lock(file, unix.LOCK_EX) != nil || s.isMapped(name) || !s.isLeft(arenaName, name, stat) || !at.holds(name, file) {
		return false, nil
	}
	return true, at.remove(name)
}

// sweepNote is for files that nobody locks. They are removed when their process has ended. An old invitation is removed
// as well, because its writer waits only for a few seconds.
func sweepNote(pattern *regexp.Regexp, ages bool) kind {
	return func(s *sweeper, at *place, name string, stat unix.Stat_t) (bool, error) {
		old := ages && isSettled(stat)
		if !old && (!s.seesAll || s.lives(number(pattern, name), stat.Uid)) {
			return false, nil
		}
		file, err := at.openFile(name)
		if err != nil {
			return false, nil // it is not ours
		}
		defer func() { _ = file.Close() }()
		if !at.holds(name, file) {
			return false, nil
		}
		return true, at.remove(name)
	}
}
