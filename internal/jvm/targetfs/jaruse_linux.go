package targetfs

import (
	"context"
	"errors"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"
)

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
