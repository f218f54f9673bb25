package targetfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A Jar is the agent's jar in the target's file system.
type Jar struct {
	Path   string // as the target sees it
	Remark string // why it is not at its usual path; "" if it is

	alive   func() isAlive
	outer   *place // the parent of dir
	dirName string
	dir     *place // nil once released; the foothold's own if outer is nil
	name    string
}

// PlaceJar puts the agent's jar at the path that this build uses for all JVMs of this user, and replaces a file
// with other content. Loads must be called before a JVM loads it.
//
// If the usual directory does not belong to the user, the jar goes into the foothold, and the JVM keeps one more
// path and file open.
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
		Remark: "the agent's jar could not be placed at its usual path (" + strings.ReplaceAll(err.Error(), "\n", "; ") +
			"), so the JVM will keep one more file open",
	}, nil
}

// mostTries bounds races with sessions that remove the directory, which may have to inspect all processes first.
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
		// Holders of a shared lock need the directory; removing it takes an exclusive lock.
		if err = lock(dir.dir, unix.LOCK_SH); err == nil && f.outer.holds(name, dir.dir) {
			jar := &Jar{alive: f.alive, outer: f.outer, dirName: name, dir: dir, name: jarFor(content)}
			if err = jar.write(content); err != nil {
				return nil, errors.Join(err, jar.release())
			}
			jar.Path = path.Join(dir.path, jar.name)
			return jar, nil
		}
		dir.close()
		time.Sleep(tryPause)
	}
	return nil, fmt.Errorf("%s is being changed by another Sonde: %w", path.Join(f.outer.path, name), err)
}

// write keeps a file with the right content. It replaces another one by a new file, so that a JVM that has the old
// one open keeps it.
func (j *Jar) write(content []byte) error {
	if j.dir.contains(j.name, content) {
		return nil
	}
	return j.dir.putLasting(j.name, content)
}

// contains reports whether a file belongs to the user and has this content.
func (p *place) contains(name string, content []byte) bool {
	file, err := p.openFile(name)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	found, err := io.ReadAll(io.LimitReader(file, int64(len(content))+1))
	return err == nil && bytes.Equal(found, content)
}

// release ends the use of the jar by this session. The last session removes it, unless a process has it on its class
// path.
func (j *Jar) release() error {
	if j.dir == nil {
		return nil
	}
	// If another session needs the jar, that one will remove it.
	if lock(j.dir.dir, unix.LOCK_EX) == nil {
		if _, err := removeWith(j.outer, j.dirName, j.dir, j.alive()); err != nil {
			return err
		}
	}
	j.dir.close() // and with it the lock
	j.dir = nil
	return nil
}

func (p *place) list() ([]string, error) {
	// A handle of its own has its own position.
	again, err := p.open("open", ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = again.Close() }()
	return again.Readdirnames(-1)
}

// A JVM keeps the path of a loaded jar on its class path. It opens the jar when it first looks for a class that no
// earlier jar has, which may be never, and again by its path when the program reads its resources. So the jar must
// stay at its path while the JVM runs, open or not, and nobody else may get the path. A mark next to it names each
// process that has loaded it.

// Loads records that the JVM is about to load a jar, which then stays while the JVM runs.
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

// putLasting is put for files that may stay for months. Programs that clean /tmp by age skip sticky files.
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

// isAlive reports whether a process of a user has a PID in any namespace, or may have it.
type isAlive func(number int, uid uint32) bool

// alive checks the JVM of this foothold first, and lists processes only for others, once for all of them.
func (f *Foothold) alive() isAlive {
	mayLive := sync.OnceValue(func() isAlive {
		processes, err := f.host.Processes(context.Background())
		if err != nil {
			return func(int, uint32) bool { return true }
		}
		return (&sweeper{processes: processes, seesAll: f.host.SeesAll()}).mayLive
	})
	return func(number int, uid uint32) bool {
		return number == f.jvm.NamespacePID && f.host.Same(f.jvm) || mayLive()(number, uid)
	}
}

// mayLive is lives, but true if not all processes can be seen: a hidden one may share the files.
func (s *sweeper) mayLive(number int, uid uint32) bool { return !s.seesAll || s.lives(number, uid) }

// removeWith removes a directory, which is locked exclusively, with our files in it. Jars stay while a process that
// has loaded one is running, and so does the directory, because others could take its name. Marks of processes that
// have ended are removed.
func removeWith(outer *place, name string, dir *place, alive isAlive) (gone bool, err error) {
	names, err := dir.list()
	if err != nil {
		return false, err
	}
	isUsed := false
	for _, inner := range names {
		switch {
		case !isInner(inner) || jarName.MatchString(inner):
		case markName.MatchString(inner) && alive(number(markName, inner), dir.uid):
			isUsed = true
		default:
			err = errors.Join(err, dir.remove(inner))
		}
	}
	for _, inner := range names {
		if !isUsed && isInner(inner) && jarName.MatchString(inner) {
			err = errors.Join(err, dir.remove(inner))
		}
	}
	// The name may refer to something else by now.
	if isUsed || !outer.holds(name, dir.dir) {
		return false, err
	}
	err = errors.Join(err, outer.removeDirectory(name))
	return err == nil, err
}
