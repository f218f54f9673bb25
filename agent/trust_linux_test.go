package agent_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A seenEvent is a change in a directory, as every user may watch it.
type seenEvent struct {
	mask uint32
	name string
}

// watchTmp reports the changes in /tmp since it was called.
func watchTmp(t *testing.T) (changes func() []seenEvent) {
	t.Helper()
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(watch) })
	if _, err := unix.InotifyAddWatch(watch, "/tmp", unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ATTRIB); err != nil {
		t.Fatal(err)
	}
	return func() (all []seenEvent) {
		buffer := make([]byte, 64<<10)
		for {
			n, err := unix.Read(watch, buffer)
			if errors.Is(err, unix.EAGAIN) {
				return all
			}
			if err != nil {
				t.Fatal(err)
			}
			for rest := buffer[:n]; len(rest) > 0; {
				mask, length := binary.NativeEndian.Uint32(rest[4:]), binary.NativeEndian.Uint32(rest[12:])
				if mask&unix.IN_Q_OVERFLOW != 0 {
					t.Fatal("too much happens in /tmp for this test")
				}
				all = append(all, seenEvent{mask, string(bytes.TrimRight(rest[16:16+length], "\x00"))})
				rest = rest[16+length:]
			}
		}
	}
}

// TestTicketIsNeverOpenToOthers: a file that is created in /tmp can be opened by others before
// it is closed to them. So tickets and holds must come there by rename, closed already.
func TestTicketIsNeverOpenToOthers(t *testing.T) {
	d := doors(t)[1]
	for _, jdk := range jvmtest.JDKs(t) {
		for _, umask := range []string{"000", "002", "022", "077"} {
			t.Run(fmt.Sprintf("jdk%d-%s", jdk.Major, umask), func(t *testing.T) {
				classpath, main := jvmtest.Waiting(t, jdk)
				changes := watchTmp(t)
				target := jvmtest.Start(t, jdk, jvmtest.Launch{
					Wrap: []string{"sh", "-c", "umask " + umask + ` && exec "$@"`, "sh"},
					Args: []string{d.args[0] + "=hold=1", "-cp", classpath, main},
				})
				ticket, hold := fmt.Sprintf(".sonde_pid%d", target.PID), fmt.Sprintf(".sonde_hold%d", target.PID)
				await(t, "a ticket", func() bool {
					_, err := os.Stat("/tmp/" + ticket)
					return err == nil
				})
				if info, err := os.Lstat("/tmp/" + ticket); err != nil || info.Mode() != 0o600 {
					t.Errorf("%v, %v", info.Mode(), err)
				}
				named := make(map[string]bool)
				for _, event := range changes() {
					if !strings.HasPrefix(event.name, ticket) && !strings.HasPrefix(event.name, hold) {
						continue
					}
					if event.mask&unix.IN_CREATE != 0 && event.mask&unix.IN_ISDIR == 0 {
						t.Errorf("/tmp/%s was created where others may open it", event.name)
					}
					if event.mask&unix.IN_MOVED_TO != 0 {
						named[event.name] = true
					}
				}
				if !named[ticket] || !named[hold] || len(named) != 2 {
					t.Errorf("renamed into /tmp: %v", named)
				}
			})
		}
	}
}

// nobody is a user that is neither root nor this one.
const nobody = 65534

// TestFilesOfOthersAreNotBelieved: whoever knows the ticket still needs files that only this
// user, or root, can have written.
func TestFilesOfOthersAreNotBelieved(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: files of another user cannot be made here (be root)")
	}
	d := doors(t)[1]
	chown := func(path string) error { return os.Lchown(path, nobody, nobody) }
	open := func(path string) error { return os.Chmod(path, 0o620) }
	openAll := func(path string) error { return os.Chmod(path, 0o602) }
	link := func(path string) error {
		return errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
	}
	hardLink := func(path string) error { return os.Link(path, path+".second") }
	pipe := func(path string) error { return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)) }
	type part func(f foothold, invitation string) string
	invitation := func(_ foothold, invitation string) string { return invitation }
	session := func(f foothold, _ string) string { return f.session }
	jar := func(f foothold, _ string) string { return f.jar }
	directory := func(f foothold, _ string) string { return filepath.Dir(f.session) }
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			classpath, main := jvmtest.Waiting(t, jdk)
			target := jvmtest.Start(t, jdk, jvmtest.Launch{Args: append(append([]string{}, d.args...), "-cp", classpath, main)})
			meet(t, target, d, false).leave()
			came := make(map[string]func() bool)
			try := func(what, how string, of part, spoil func(string) error) {
				came[what+", "+how] = inviteSpoiled(t, target, func(f foothold, invitation string) error { return spoil(of(f, invitation)) })
			}
			for what, of := range map[string]part{"invitation": invitation, "session": session, "jar": jar} {
				for how, spoil := range map[string]func(string) error{
					"another's": chown, "for the group to write": open, "for all to write": openAll,
					"link": link, "hard link": hardLink, "pipe": pipe,
				} {
					try(what, how, of, spoil)
				}
			}
			try("directory", "another's", directory, chown)
			try("directory", "for all to write", directory, func(path string) error { return os.Chmod(path, 0o777) })
			meet(t, target, d, false).leave() // it waits all the while
			isGone(t, target)                 // and nothing it began is under way
			for what, hasCome := range came {
				if hasCome() {
					t.Errorf("%s: the agent came", what)
				}
			}
		})
	}
}

// inviteSpoiled invites the agent with files that are not as they should be, and waits until it
// has looked. It returns whether the agent has called.
func inviteSpoiled(t *testing.T, target *jvmtest.Running, spoil func(f foothold, invitation string) error) (hasCome func() bool) {
	t.Helper()
	f := newFoothold(t, false)
	ticket, err := os.ReadFile(fmt.Sprintf("/tmp/.sonde_pid%d", target.PID))
	if err != nil {
		t.Fatal(err)
	}
	invitation := filepath.Join(t.TempDir(), "invitation")
	if err := os.WriteFile(invitation, []byte(string(ticket)+f.session+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := spoil(f, invitation); err != nil {
		t.Fatal(err)
	}
	named := fmt.Sprintf("/tmp/.sonde_invite%d", target.PID)
	if err := os.Rename(invitation, named); err != nil {
		t.Fatal(err)
	}
	await(t, "the end of the invitation", func() bool {
		_, err := os.Lstat(named)
		return os.IsNotExist(err)
	})
	return func() (called bool) {
		raw, err := f.listener.(*net.UnixListener).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		err = raw.Control(func(fd uintptr) {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			called = err != nil || n > 0
		})
		return called || err != nil
	}
}
