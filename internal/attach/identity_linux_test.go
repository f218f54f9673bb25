package attach

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

const nobody = 65534

func TestIdentity(t *testing.T) {
	jvmtest.AsNobody(t) // or skip
	failure := errors.New("as told")
	for range 20 {
		err := as(nobody, nobody, func() error {
			if os.Geteuid() != nobody || os.Getegid() != nobody {
				t.Errorf("inside: %d:%d", os.Geteuid(), os.Getegid())
			}
			allOthersAre(t, 0)
			return failure
		})
		if !errors.Is(err, failure) {
			t.Errorf("%v", err)
		}
	}
	allThreadsAre(t, 0)
	if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || dumpable != 1 {
		t.Errorf("dumpable %d, %v", dumpable, err)
	}
}

// allOthersAre makes sure that one thread at most has changed.
func allOthersAre(t *testing.T, euid int) {
	t.Helper()
	seen := make(chan int)
	go func() { seen <- os.Geteuid() }()
	if got := <-seen; got != euid {
		t.Errorf("another goroutine: %d", got)
	}
}

// TestNotesInTheWay: a file of the note's name that is there already.
func TestNotesInTheWay(t *testing.T) {
	jvmtest.AsNobody(t) // or skip
	onEachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		for _, owner := range []int{0, nobody} {
			jvm := start(t, jdk, nil)
			note := fmt.Sprintf("/tmp/.attach_pid%d", jvm.PID)
			if err := errors.Join(os.WriteFile(note, nil, 0o600), os.Chown(note, owner, owner)); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Remove(note) })
			execute(t, mustOpen(t, jvm.PID), "properties")
			if _, err := os.Lstat(note); err != nil {
				t.Errorf("a note of user %d, not ours, is gone: %v", owner, err)
			}
			if _, err := os.Lstat(fmt.Sprintf("/proc/%d/cwd/.attach_pid%d", jvm.PID, jvm.PID)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("ours is left: %v", err)
			}
		}
	})
}
