package targetfs

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvm/asuser"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// places are where a foothold may be, the best first. Others serve where /tmp
// cannot be written, or, as a volume without the sticky bit, is unsafe.
var places = []string{"/tmp", "/dev/shm", "/var/tmp"}

// A Foothold is a directory in the target's file system, and what else one
// session needs there. It may be used by several goroutines.
type Foothold struct {
	host process.Host
	jvm  *process.JVM

	mu        sync.Mutex
	outer     *place // in which own lies
	name      string // of own
	own       *place // nil once it is removed
	jars      []*Jar
	arenas    []*Arena
	listeners []*Listener
}

// Make makes a foothold in a JVM's file system. Its errors, as those of a
// foothold's methods, are of type *Error.
func Make(jvm *process.JVM) (*Foothold, error) { return makeIn(process.Local, jvm) }

func makeIn(host process.Host, jvm *process.JVM) (*Foothold, error) {
	f := &Foothold{host: host, jvm: jvm}
	if !asuser.MayBecome(jvm.UID, jvm.GID) {
		return nil, f.fail(ErrPermission, jvm.Access(), nil)
	}
	var first error
	for _, name := range places {
		err := f.settle(name)
		if err == nil {
			return f, nil
		}
		if first == nil || errors.Is(first, unix.ENOENT) {
			first = err
		}
	}
	return nil, f.explain(first)
}

// settle makes the directory in a place, and locks it.
func (f *Foothold) settle(where string) error {
	outer, err := openPlace(f.host, f.jvm, where)
	if err != nil {
		return err
	}
	// What was opened is the inspected process's only if that still has the number.
	if !f.host.Same(f.jvm) {
		outer.close()
		return unix.ESRCH
	}
	name := fmt.Sprintf(".sonde-%d-%s", f.jvm.NamespacePID, random(8))
	own, err := outer.makeDirectory(name)
	if err != nil {
		outer.close()
		return err
	}
	hold(own.dir)
	f.outer, f.name, f.own = outer, name, own
	return nil
}

// Path is the directory, as the target sees it.
func (f *Foothold) Path() string { return path.Join(f.outer.path, f.name) }

// WriteSession writes what the agent is to be told, and returns the path at
// which the target finds it.
func (f *Foothold) WriteSession(s Session) (string, error) {
	text, err := s.encode()
	if err != nil {
		return "", f.fail(ErrFiles, "the session cannot be described", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.own == nil {
		return "", f.removed()
	}
	if err := f.own.put(sessionName, text); err != nil {
		return "", f.explain(err)
	}
	return path.Join(f.own.path, sessionName), nil
}

// Remove takes everything away that was made: nothing else, and whether or not
// the target and its namespaces are still there. A jar that a living process has loaded
// stays, for Sweep or a later session of this user. What cannot be removed is named
// in the error, and tried again by the next call; after success it does nothing.
func (f *Foothold) Remove() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var failed []error
	for _, l := range f.listeners {
		_ = l.Close() // closed already is as good
	}
	f.listeners = nil
	for _, jar := range f.jars {
		failed = append(failed, jar.release())
	}
	for _, arena := range f.arenas {
		failed = append(failed, arena.remove())
	}
	failed = append(failed, f.removeOwn())
	if err := errors.Join(failed...); err != nil {
		return f.fail(ErrLeft, "remove it by hand", err)
	}
	f.jars, f.arenas = nil, nil
	f.outer.close()
	return nil
}

func (f *Foothold) removeOwn() error {
	if f.own == nil {
		return nil
	}
	if _, err := removeWith(f.outer, f.name, f.own, f.isAlive); err != nil {
		return err
	}
	f.own.close()
	f.own = nil
	return nil
}

func (f *Foothold) fail(kind error, detail string, cause error) *Error {
	return &Error{PID: f.jvm.PID, Kind: kind, Detail: detail, Cause: cause}
}

func (f *Foothold) removed() error {
	return f.fail(ErrFiles, "the foothold was removed", nil)
}

// explain turns what failed in a file system into an *Error.
func (f *Foothold) explain(err error) error {
	tried := strings.Join(places, ", ")
	switch {
	case errors.Is(err, unix.ESRCH), !f.host.Same(f.jvm):
		return f.fail(ErrGone, "sonde ps lists those there are", nil)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return f.fail(ErrFull, "make room in its /tmp", err)
	case errors.Is(err, unix.EROFS), errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOENT):
		return f.fail(ErrReadOnly, fmt.Sprintf("tried %s: give it a /tmp that user %s can write, such as a tmpfs", tried, f.jvm.User), err)
	case errors.Is(err, errSwappable), errors.Is(err, errNotOwn):
		return f.fail(ErrUnsafe, "tried "+tried, err)
	}
	return f.fail(ErrFiles, "see to its /tmp", err)
}
