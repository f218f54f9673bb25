package asuser

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

const nobody = 65534

func TestIdentity(t *testing.T) {
	jvmtest.AsNobody(t) // or skip
	failure := errors.New("as requested")
	for range 20 {
		err := As(User{UID: nobody, GID: nobody}, func() error {
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

// allThreadsAre makes sure that no thread of ours is left with another identity.
func allThreadsAre(t *testing.T, euid int) {
	t.Helper()
	threads, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(threads) == 0 {
		t.Fatal(threads, err)
	}
	for _, thread := range threads {
		status, err := os.ReadFile(thread)
		if err != nil {
			continue // it ended
		}
		want := fmt.Sprintf("Uid:\t%d\t%d\t", euid, euid)
		if !strings.Contains(string(status), want) {
			t.Errorf("%s: no %q in %s", thread, want, status)
		}
	}
}

// TestGroups: the groups of this process do not lend their rights to the user.
func TestGroups(t *testing.T) {
	jvmtest.AsNobody(t) // or skip
	before, err := syscall.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	ours := []int{4711}
	if err := syscall.Setgroups(ours); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setgroups(before); err != nil {
			t.Error(err)
		}
	})
	for _, want := range [][]uint32{nil, {11, 12}} {
		err := As(User{UID: nobody, GID: nobody, Groups: want}, func() error {
			if got, err := groups(); err != nil || !slices.Equal(got, want) {
				t.Errorf("inside: %v, %v; want %v", got, err, want)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	threads, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(threads) == 0 {
		t.Fatal(threads, err)
	}
	for _, thread := range threads {
		if status, err := os.ReadFile(thread); err == nil && !strings.Contains(string(status), "Groups:\t4711 \n") {
			t.Errorf("%s: %s", thread, status)
		}
	}
}
