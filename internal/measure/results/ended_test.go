package results

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/arena/arenatest"
)

const (
	ended  = 1 << 30 // is no process's number
	nobody = 65534
)

// ownPlace has arenas be looked for in a directory of the test's.
func ownPlace(t *testing.T, dir string) {
	t.Helper()
	former := place
	place = dir
	t.Cleanup(func() { place = former })
}

// leave makes the arena of a process that has ended.
func leave(t *testing.T, name string, pid int, opened time.Time, user int) string {
	t.Helper()
	name = filepath.Join(place, name)
	arenatest.Make(t, name, arena.Owner{Target: pid, TargetStart: 1, Opened: opened, Command: "pack /none"})
	give(t, name, user)
	return name
}

func give(t *testing.T, name string, user int) {
	t.Helper()
	if user == os.Geteuid() {
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: files cannot be given to another user here (be root)")
	}
	if err := os.Chown(name, user, user); err != nil {
		t.Fatal(err)
	}
}

// taken returns the file name of the arena that is found for a PID.
func taken(t *testing.T, pid int) (name string, notes []string, err error) {
	t.Helper()
	h, err := OfProcess(t.Context(), pid, "")
	if err != nil {
		return "", nil, err
	}
	defer h.Close()
	if h.State != Ended {
		t.Errorf("%+v", h)
	}
	return filepath.Base(h.Path), h.Notes, nil
}

// TestTheNewestIsTaken, but none that is from the future, and none that a link leads to.
func TestTheNewestIsTaken(t *testing.T) {
	ownPlace(t, t.TempDir())
	self, now := os.Geteuid(), time.Now()
	if _, _, err := taken(t, ended); !errors.Is(err, ErrNoArena) {
		t.Errorf("none: %v", err)
	}
	leave(t, fmt.Sprintf("sonde-%d-a.arena", ended), ended, now.Add(-time.Hour), self)
	leave(t, fmt.Sprintf("sonde-%d.arena", ended), ended, now.Add(-time.Minute), self)
	leave(t, fmt.Sprintf("sonde-%d-b.arena", ended), ended, now.Add(time.Hour), self)
	leave(t, fmt.Sprintf("sonde-%d-c.arena", ended), ended+1, now, self)
	linked := leave(t, "elsewhere", ended, now, self)
	if err := os.Symlink(linked, filepath.Join(place, fmt.Sprintf("sonde-%d-d.arena", ended))); err != nil {
		t.Fatal(err)
	}
	name, notes, err := taken(t, ended)
	if err != nil || name != fmt.Sprintf("sonde-%d.arena", ended) || len(notes) > 0 {
		t.Errorf("%s, %q, %v", name, notes, err)
	}
}

// TestANumberThatIsNoJVMsAnyMore still has what the JVM left.
func TestANumberThatIsNoJVMsAnyMore(t *testing.T) {
	ownPlace(t, t.TempDir())
	if _, _, err := taken(t, os.Getpid()); !errors.Is(err, process.ErrNotJVM) {
		t.Errorf("without an arena: %v", err)
	}
	leave(t, fmt.Sprintf("sonde-%d.arena", os.Getpid()), os.Getpid(), time.Now(), os.Geteuid())
	if name, _, err := taken(t, os.Getpid()); err != nil || name == "" {
		t.Errorf("with one: %v", err)
	}
}

// TestForgedArenas has another user put arenas where one is looked for.
func TestForgedArenas(t *testing.T) {
	ownPlace(t, t.TempDir())
	now := time.Now()
	forged := fmt.Sprintf("sonde-%d-a.arena", ended)
	leave(t, forged, ended, now, nobody)
	name, notes, err := taken(t, ended)
	if err != nil || name != forged || !strings.Contains(strings.Join(notes, "\n"), "the arena belongs to user "+process.UserName(nobody)) {
		t.Errorf("another user's alone: %s, %q, %v", name, notes, err)
	}
	leave(t, fmt.Sprintf("sonde-%d-b.arena", ended), ended, now.Add(-time.Hour), 0)
	var several *SeveralError
	if _, _, err := taken(t, ended); !errors.As(err, &several) || len(several.Arenas) != 2 || !strings.Contains(err.Error(), forged+" of user "+process.UserName(nobody)) {
		t.Errorf("of two users: %v", err)
	}
}

// TestForgedForAnotherUser runs again as user nobody, who finds only that user's files.
func TestForgedForAnotherUser(t *testing.T) {
	const variable = "SONDE_TEST_HARVEST_PLACE"
	own := fmt.Sprintf("sonde-%d-own.arena", ended)
	if dir := os.Getenv(variable); dir != "" {
		ownPlace(t, dir)
		if name, notes, err := taken(t, ended); err != nil || name != own || len(notes) > 0 {
			t.Errorf("%s, %q, %v", name, notes, err)
		}
		return
	}
	jvmtest.AsNobody(t) // or skip
	ownPlace(t, jvmtest.PublicDirectory(t))
	leave(t, own, ended, time.Now().Add(-time.Hour), nobody)
	forged := leave(t, fmt.Sprintf("sonde-%d-forged.arena", ended), ended, time.Now(), 1)
	if err := os.Chmod(forged, 0o644); err != nil { // the modes alone do not keep it from being read
		t.Fatal(err)
	}
	jvmtest.AgainAsNobody(t, variable+"="+place)
}

// TestForgedNotices name files that are not their user's, or no files.
func TestForgedNotices(t *testing.T) {
	ownPlace(t, t.TempDir())
	victims := leave(t, "victims", ended, time.Now(), 0)
	pipe, notice := filepath.Join(place, "pipe"), filepath.Join(place, process.PackNoticeName(ended))
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		arena string
		user  int
		found bool
	}{{victims, 0, true}, {victims, nobody, false}, {pipe, nobody, false}, {"/dev/null", nobody, false}, {"victims", 0, false}} {
		if err := os.WriteFile(notice, []byte(tt.arena+"\n/none\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		give(t, notice, tt.user)
		if name, _, err := taken(t, ended); (name != "") != tt.found || !tt.found && !errors.Is(err, ErrNoArena) {
			t.Errorf("%+v: %s, %v", tt, name, err)
		}
		if err := os.Remove(notice); err != nil {
			t.Fatal(err)
		}
	}
}
