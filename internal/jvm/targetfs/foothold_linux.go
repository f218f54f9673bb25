package targetfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"
	"time"

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

// LetGo has a program begin that its agent holds at its start. It reports whether
// one was held; to let go what is not held does nothing.
func LetGo(jvm *process.JVM) (bool, error) {
	f := &Foothold{host: process.Local, jvm: jvm}
	tmp, err := f.openTmp()
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, f.explain(err)
	}
	defer tmp.close()
	name := holdFile(jvm.NamespacePID)
	file, err := tmp.openFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, f.explain(err)
	}
	_ = file.Close() // it is the user's own: that is all that was asked
	if err := tmp.remove(name); err != nil {
		return false, f.explain(err)
	}
	return true, nil
}

// inviteLimit bounds the wait for an agent, which looks twice a second unless
// its JVM pauses or is starved.
const inviteLimit = 15 * time.Second

// invitePause is between looks at a file that another process removes.
const invitePause = 20 * time.Millisecond

// Invite asks an agent that was put into the JVM with -javaagent to read a
// session, by its path as the target sees it, and waits until it has taken the
// invitation.
func (f *Foothold) Invite(ctx context.Context, session string) error {
	ctx, cancel := context.WithTimeout(ctx, inviteLimit)
	defer cancel()
	tmp, err := f.openTmp()
	if err != nil {
		return f.explain(err)
	}
	defer tmp.close()
	if err := f.checkBelieved(tmp); err != nil {
		return f.notTaken(err)
	}
	ticket, err := tmp.ticket(process.TicketName(f.jvm.NamespacePID))
	if err != nil {
		return f.fail(ErrNoStandby, "start it with the -javaagent flag that sonde agent-jar prints", err)
	}
	name := invitation(f.jvm.NamespacePID)
	fresh := name + "-" + random(8)
	if err := tmp.fill(fresh, []byte(ticket+"\n"+session+"\n")); err != nil {
		return f.explain(err)
	}
	ours, err := tmp.openFile(fresh)
	if err == nil {
		defer func() { _ = ours.Close() }()
		err = f.offer(ctx, tmp, fresh, name)
	}
	if err != nil {
		return f.notTaken(errors.Join(err, tmp.remove(fresh)))
	}
	if err = f.untilTaken(ctx, tmp, name, ours); err == nil || !tmp.holds(name, ours) {
		return nil // also where it was taken at the last moment
	}
	return f.notTaken(errors.Join(err, tmp.remove(name)))
}

// checkBelieved fails where the agent would not believe an invitation, since others
// could have put it there.
func (f *Foothold) checkBelieved(tmp *place) error {
	root, err := f.host.OpenInside(f.jvm.PID, "/.", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := tmp.checkShared(root); err != nil {
		return fmt.Errorf("/tmp: %w", err)
	}
	if err := (&place{dir: root, uid: tmp.uid}).checkShared(root); err != nil {
		return fmt.Errorf("/: %w", err)
	}
	return nil
}

// openTmp is the JVM's /tmp. It may be one that others can rearrange: what is read or
// removed there must be the user's own.
func (f *Foothold) openTmp() (*place, error) {
	dir, err := f.host.OpenInside(f.jvm.PID, "/tmp", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	if !f.host.Same(f.jvm) {
		_ = dir.Close()
		return nil, unix.ESRCH
	}
	return &place{path: "/tmp", dir: dir, uid: f.jvm.UID, gid: f.jvm.GID}, nil
}

// offer gives the invitation its name, once no other has it: an agent that
// waits takes that one first.
func (f *Foothold) offer(ctx context.Context, tmp *place, fresh, name string) error {
	for {
		err := tmp.as(func() error { return renameNew(tmp.fd(), fresh, name) })
		if !errors.Is(err, unix.EEXIST) {
			return err
		}
		if err := f.pause(ctx); err != nil {
			return fmt.Errorf("another invitation lies there: %w", err)
		}
	}
}

// renameNew renames a file to a name that is free.
func renameNew(dir int, from, to string) error {
	err := unix.Renameat2(dir, from, dir, to, unix.RENAME_NOREPLACE)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	// A file system that cannot: two Sondes at the same instant are told apart
	// later, as one of them waits in vain.
	var there unix.Stat_t
	if unix.Fstatat(dir, to, &there, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return unix.EEXIST
	}
	return unix.Renameat(dir, from, dir, to)
}

func (f *Foothold) untilTaken(ctx context.Context, tmp *place, name string, ours *os.File) error {
	for tmp.holds(name, ours) {
		if err := f.pause(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (f *Foothold) pause(ctx context.Context) error {
	timer := time.NewTimer(invitePause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	if !f.host.Same(f.jvm) {
		return unix.ESRCH
	}
	return nil
}

func (f *Foothold) notTaken(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return f.fail(ErrGone, "sonde ps lists those there are", nil)
	}
	return f.fail(ErrNotTaken, "it may be paused or starved, or the agent may have ended: try again, or attach", err)
}

// ticket reads the ticket of an agent that waits.
func (p *place) ticket(name string) (string, error) {
	file, err := p.openFile(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, 64))
	if err != nil {
		return "", err
	}
	ticket, ok := process.ParseTicket(text)
	if !ok {
		return "", fmt.Errorf("%s holds no ticket", file.Name())
	}
	return ticket, nil
}
