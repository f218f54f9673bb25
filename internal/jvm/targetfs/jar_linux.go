package targetfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A Jar is the agent's, where the target can load it.
type Jar struct {
	Path   string // as the target sees it
	Remark string // why it is not at its usual path, or ""

	alive   isAlive
	outer   *place // holds the directory below
	dirName string
	dir     *place // nil once released; the foothold's own where outer is nil
	name    string
}

// PlaceJar puts the agent's jar where it is at every attach of this build to a
// JVM of this user, and checks or replaces what is there. Loads must be called before a JVM
// loads it; what only reads it needs it for the session.
//
// Where the usual directory is not the user's own, the jar goes into the
// foothold: the JVM then keeps one more path and file open.
func (f *Foothold) PlaceJar(content []byte) (*Jar, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.own == nil {
		return nil, f.removed()
	}
	jar, err := f.placeUsual(content)
	if err == nil {
		f.jars = append(f.jars, jar)
		return jar, nil
	}
	name := jarFor(content)
	if second := f.own.putLasting(name, content); second != nil {
		return nil, f.explain(second)
	}
	return &Jar{
		dir: f.own, name: name, Path: path.Join(f.own.path, name),
		Remark: "the JVM will keep one more file open, as the agent cannot lie at its usual path: " +
			strings.ReplaceAll(err.Error(), "\n", "; "),
	}, nil
}

// mostTries bounds races with sessions that remove the directory meanwhile, for
// which they may have to look at all processes.
const (
	mostTries = 1000
	tryPause  = time.Millisecond
)

func (f *Foothold) placeUsual(content []byte) (*Jar, error) {
	name := ".sonde-" + strconv.FormatUint(uint64(f.jvm.UID), 10)
	var err error
	for range mostTries {
		var dir *place
		if dir, err = f.outer.makeDirectory(name); errors.Is(err, unix.EEXIST) {
			dir, err = f.outer.within(name)
		}
		if errors.Is(err, unix.ENOENT) {
			continue // removed between the two
		}
		if err != nil {
			return nil, err
		}
		// Whoever holds the lock needs the directory; who removes it holds it alone.
		if err = lock(dir.dir, unix.LOCK_SH); err == nil && f.outer.holds(name, dir.dir) {
			jar := &Jar{alive: f.isAlive, outer: f.outer, dirName: name, dir: dir, name: jarFor(content)}
			if err = jar.write(content); err != nil {
				return nil, errors.Join(err, jar.release())
			}
			jar.Path = path.Join(dir.path, jar.name)
			return jar, nil
		}
		dir.close()
		time.Sleep(tryPause)
	}
	return nil, fmt.Errorf("%s is busy: %w", path.Join(f.outer.path, name), err)
}

// write leaves a file alone that is what it should be. One that is not gives
// way to another, so that a JVM that has the old one open keeps it.
func (j *Jar) write(content []byte) error {
	if j.dir.contains(j.name, content) {
		return nil
	}
	return j.dir.putLasting(j.name, content)
}

// contains tells whether a name is a file of the user's with this content.
func (p *place) contains(name string, content []byte) bool {
	file, err := p.openFile(name)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	found, err := io.ReadAll(io.LimitReader(file, int64(len(content))+1))
	return err == nil && bytes.Equal(found, content)
}

// release says that the session needs the jar no more. The last one removes it, unless
// a process has it on its class path.
func (j *Jar) release() error {
	if j.dir == nil {
		return nil
	}
	// Where another session needs it, that one will remove it.
	if lock(j.dir.dir, unix.LOCK_EX) == nil {
		if _, err := removeWith(j.outer, j.dirName, j.dir, j.alive); err != nil {
			return err
		}
	}
	j.dir.close() // and with it the lock
	j.dir = nil
	return nil
}

// list names what a directory holds.
func (p *place) list() ([]string, error) {
	// A handle of its own has a position of its own.
	var again *os.File
	err := p.as(func() error {
		fd, err := unix.Openat(p.fd(), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err == nil {
			again = os.NewFile(uintptr(fd), p.path)
		}
		return err
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: p.path, Err: err}
	}
	defer func() { _ = again.Close() }()
	return again.Readdirnames(-1)
}

// A JVM keeps the path of a jar it has loaded on its class path. It opens the jar when it
// first looks for a class that no earlier jar has, which may be never, and again by its path
// when the program reads its resources. So the jar must stay at its path as long as the JVM
// runs, open or not, and nobody else may get the path. A mark beside it says who has
// loaded it.

// Loads says that the JVM is about to load a jar, which then stays as long as the JVM runs.
func (f *Foothold) Loads(jar *Jar) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.own == nil {
		return f.removed()
	}
	if err := jar.dir.putLasting(markFor(f.jvm.NamespacePID), nil); err != nil {
		return f.explain(err)
	}
	return nil
}

// putLasting is put for what may lie there for months. Programs that clean /tmp by age leave a
// file alone that is sticky.
func (p *place) putLasting(name string, content []byte) error {
	if err := p.put(name, content); err != nil {
		return err
	}
	err := p.as(func() error { return unix.Fchmodat(p.fd(), name, 0o600|unix.S_ISVTX, 0) })
	if err != nil {
		return &os.PathError{Op: "chmod", Path: path.Join(p.path, name), Err: err}
	}
	return nil
}

// isAlive tells whether a process of a user has a number, in whichever namespace, or may have it.
type isAlive func(number int, uid uint32) bool

// isAlive knows this foothold's JVM, and looks for others only where that is gone.
func (f *Foothold) isAlive(number int, uid uint32) bool {
	if number == f.jvm.NamespacePID && f.host.Same(f.jvm) {
		return true
	}
	processes, err := f.host.Processes(context.Background())
	return err != nil || (&sweeper{processes: processes, seesAll: f.host.SeesAll()}).mayLive(number, uid)
}

// mayLive is lives where not all processes can be seen: one that is not may share the files.
func (s *sweeper) mayLive(number int, uid uint32) bool { return !s.seesAll || s.lives(number, uid) }

// removeWith removes a directory, whose lock is held alone, with our files in it. Jars stay
// while a process that has loaded one lives, and the directory with them: others could take
// its name.
func removeWith(outer *place, name string, dir *place, alive isAlive) (gone bool, err error) {
	names, err := dir.list()
	if err != nil {
		return false, err
	}
	isUsed := slices.ContainsFunc(names, func(inner string) bool {
		return markName.MatchString(inner) && alive(number(markName, inner), dir.uid)
	})
	for _, inner := range names {
		if isInner(inner) && !(isUsed && (jarName.MatchString(inner) || markName.MatchString(inner))) {
			err = errors.Join(err, dir.remove(inner))
		}
	}
	// Under its name there may be something else by now, which is not ours.
	if isUsed || !outer.holds(name, dir.dir) {
		return false, err
	}
	err = errors.Join(err, outer.removeDirectory(name))
	return err == nil, err
}
