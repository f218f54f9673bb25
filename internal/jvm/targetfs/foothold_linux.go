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

// places are the directories for a foothold, the best first. The others are used if /tmp is full or not writable, or is
// unsafe, such as a volume without the sticky bit.
var places = []string{"/tmp", "/dev/shm", "/var/tmp"}

// A Foothold holds the files of one session in the target's file system. It is safe for concurrent use.
type Foothold struct {
	host process.Host
	jvm  *process.JVM

	mu        sync.Mutex
	outer     *place // the parent of own
	name      string // of own
	own       *place // nil once it is removed
	jars      []*Jar
	arenas    []*Arena
	listeners []*Listener
}

// Make creates a foothold in a JVM's file system. Its errors, and the errors of a foothold's methods, are of type *Error.
func Make(jvm *process.JVM) (*Foothold, error) { return makeIn(process.Local, jvm) }

func makeIn(host process.Host, jvm *process.JVM) (*Foothold, error) {
	f := &Foothold{host: host, jvm: jvm}
	if !asuser.MayBecome(jvm.UID, jvm.GID) {
		return nil, f.fail(ErrPermission, jvm.Access(), nil)
	}
	var first error
	for _, name := range places {
		err := f.makeDirectory(name)
		if err == nil {
			return f, nil
		}
		if first == nil || errors.Is(first, unix.ENOENT) {
			first = err
		}
	}
	return nil, f.explain(first)
}

// makeDirectory creates the session's directory in a place, and locks it.
func (f *Foothold) makeDirectory(where string) error {
	outer, err := openPlace(f.host, f.jvm, where)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	// The directory is that of the inspected process only if that still has the PID.
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
	if err := own.tryRoom(); err != nil {
		err = errors.Join(err, outer.removeDirectory(name))
		own.close()
		outer.close()
		return err
	}
	hold(own.dir)
	f.outer, f.name, f.own = outer, name, own
	return nil
}

// tryRoom fails if there is no room for the files of a session, the largest of which is the jar. Quotas are known only
// to who writes.
func (p *place) tryRoom() error {
	if err := p.fill(roomName, zeros[:768<<10]); err != nil {
		return err
	}
	return p.remove(roomName)
}

// WriteSession writes the description of the session, and returns its path as the target sees it.
func (f *Foothold) WriteSession(s Session) (string, error) {
	text, err := s.encode()
	if err != nil {
		return "", f.fail(ErrFiles, "the session file cannot be written", err)
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

// Remove removes everything that was created, even if the target and its namespaces are gone. A jar that a
// running process has loaded stays, for Sweep or a later session of this user. The error lists the files that
// could not be removed; the next call tries again. After success it does nothing.
func (f *Foothold) Remove() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var failed []error
	for _, l := range f.listeners {
		_ = l.Close() // it may be closed already
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
		return f.fail(ErrLeft, "remove them by hand", err)
	}
	f.jars, f.arenas = nil, nil
	f.outer.close()
	return nil
}

func (f *Foothold) removeOwn() error {
	if f.own == nil {
		return nil
	}
	if _, err := removeWith(f.outer, f.name, f.own, f.alive()); err != nil {
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
	return f.fail(ErrFiles, "the session has ended", nil)
}

// explain converts an error of the file system into an *Error.
func (f *Foothold) explain(err error) error {
	tried := strings.Join(places, ", ")
	switch {
	case errors.Is(err, unix.ESRCH), !f.host.Same(f.jvm):
		return f.fail(ErrGone, "sonde ps lists the running JVMs", nil)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return f.fail(ErrFull, "make room in its /tmp, /dev/shm or /var/tmp", err)
	case errors.Is(err, unix.EROFS), errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOENT):
		return f.fail(ErrReadOnly, fmt.Sprintf("none of %s is writable; provide a /tmp that user %s can write to, such as a tmpfs", tried, f.jvm.User), err)
	case errors.Is(err, errSwappable), errors.Is(err, errNotOwn):
		return f.fail(ErrUnsafe, "tried "+tried, err)
	}
	return f.fail(ErrFiles, "check its /tmp", err)
}

// LetGo lets a program continue that its agent holds at its start. It reports whether the program was held.
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
	_ = file.Close() // opening it has proven that it belongs to the user
	if err := tmp.remove(name); err != nil {
		return false, f.explain(err)
	}
	return true, nil
}

// inviteLimit bounds the wait for an agent, which checks twice a second unless its JVM is stopped or gets no processor time.
const inviteLimit = 15 * time.Second

// invitePause is the interval of checks for a file that another process removes.
const invitePause = 20 * time.Millisecond

// Invite asks an agent that was loaded with -javaagent to read a session, given by its path as the target sees it,
// and waits until the agent has accepted the invitation.
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
		return nil // it may have been accepted at the last moment
	}
	return f.notTaken(errors.Join(err, tmp.remove(name)))
}

// checkBelieved fails if the agent would ignore an invitation because others could have written it.
func (f *Foothold) checkBelieved(tmp *place) error {
	root, err := f.host.OpenDirectory(f.jvm.PID, "/")
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

// openTmp opens the JVM's /tmp. Others may be able to rename files in it, so only files of the JVM's user may be
// read or removed there.
func (f *Foothold) openTmp() (*place, error) {
	dir, err := f.host.OpenDirectory(f.jvm.PID, "/tmp")
	if err != nil {
		return nil, err
	}
	if !f.host.Same(f.jvm) {
		_ = dir.Close()
		return nil, unix.ESRCH
	}
	return &place{path: "/tmp", dir: dir, uid: f.jvm.UID, gid: f.jvm.GID}, nil
}

// offer renames the invitation once no other one has its name: a waiting agent accepts that one first.
func (f *Foothold) offer(ctx context.Context, tmp *place, fresh, name string) error {
	for {
		err := tmp.as(func() error { return renameNew(tmp.fd(), fresh, name) })
		if !errors.Is(err, unix.EEXIST) {
			return err
		}
		if err := f.pause(ctx); err != nil {
			return fmt.Errorf("another Sonde is contacting the agent: %w", err)
		}
	}
}

// renameNew renames a file to a name that must be free.
func renameNew(dir int, from, to string) error {
	err := unix.Renameat2(dir, from, dir, to, unix.RENAME_NOREPLACE)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	// The file system does not support it. If two Sondes rename at the same instant, one of them waits in vain.
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
	if err := process.Pause(ctx, invitePause); err != nil {
		return err
	}
	if !f.host.Same(f.jvm) {
		return unix.ESRCH
	}
	return nil
}

func (f *Foothold) notTaken(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return f.fail(ErrGone, "sonde ps lists the running JVMs", nil)
	}
	return f.fail(ErrNotTaken, "the JVM may be stopped or get no processor time, or the agent may have ended; try again, or restart the program", err)
}

// ticket reads the ticket of a waiting agent.
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
		return "", fmt.Errorf("%s contains no number of 32 hexadecimal digits", file.Name())
	}
	return ticket, nil
}
