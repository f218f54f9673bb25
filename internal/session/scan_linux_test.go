package session

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// TestClassPathStaysReadable: a program that reads all jars of its class path still can after
// Sonde has left, and nobody else can put anything there.
func TestClassPathStaysReadable(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{filepath.Join("testdata", "Scan.java")}})
			// A /tmp of its own: others' sessions keep jars in the usual one.
			target := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Wrap: jvmtest.OtherNamespaces(t, "rw"), Args: []string{"-cp", classes, "Scan"}})
			pid := target.Child(t)
			scan := func(want string) {
				t.Helper()
				if _, err := fmt.Fprintln(target.Stdin); err != nil {
					t.Fatal(err)
				}
				if got := target.Await(t, "agents: "); got != "agents: "+want {
					t.Errorf("%s, want %s", got, want)
				}
			}
			scan("0")
			for range 2 {
				s, err := Open(t.Context(), pid, Settings{})
				if err != nil {
					t.Fatal(err)
				}
				scan("1")
				if _, err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if err := s.Release(); err != nil {
					t.Error(err)
				}
				scan("1")
			}
			if _, err := targetfs.Sweep(t.Context(), process.Local); err != nil {
				t.Error(err)
			}
			scan("1")
			own := fmt.Sprintf("/tmp/.sonde-%d", os.Geteuid())
			if info, err := os.Lstat(fmt.Sprintf("/proc/%d/root%s", pid, own)); err != nil || info.Mode() != os.ModeDir|0o700 {
				t.Errorf("%v, %v", info, err)
			}
			another := slices.Concat([]string{"nsenter", fmt.Sprintf("--mount=/proc/%d/ns/mnt", pid)}, jvmtest.AsNobody(t))
			for _, words := range [][]string{{"rm", "-rf", own}, {"mv", own, own + "-"}, {"touch", own + "/x"}} {
				command := slices.Concat(another, words)
				if err := exec.Command(command[0], command[1:]...).Run(); err == nil {
					t.Errorf("another user can: %v", words)
				}
			}
			scan("1")
		})
	}
}
