package targetfs

import (
	"regexp"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

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
