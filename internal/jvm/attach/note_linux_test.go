package attach

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

const nobody = 65534

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
