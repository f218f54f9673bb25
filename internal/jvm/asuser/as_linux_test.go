package asuser

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

const nobody = 65534

func TestIdentity(t *testing.T) {
	jvmtest.AsNobody(t) // or skip
	failure := errors.New("as requested")
	for range 20 {
		err := As(nobody, nobody, func() error {
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
