package targetfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

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
