package live_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/test/live"
)

// A state is what a program was before anybody came.
type state struct {
	oracle *live.Oracle
	code   live.Snapshot
}

// remember looks at the program, whose classes must be loaded.
func (s *scene) remember() state {
	s.t.Helper()
	oracle := live.NewOracle(s.t, s.Program)
	return state{oracle, oracle.Methods(s.prefixes()...)}
}

func (s *scene) prefixes() []string {
	return []string{"calls.", "shapes.", "construction.", "recursion.", "exceptions.", "threads.", "neighbour.", "hammer.", "virtual.", "blocking."}
}

// asItWas demands that the program runs the code it did, and that no thread, no
// mapping and no file of ours is left. What an agent without its Sonde takes
// out comes to its end by itself.
func (s *scene) asItWas(before state) {
	s.t.Helper()
	s.gone()
	for _, line := range before.code.DiffMeaning(before.oracle.Methods(s.prefixes()...)) {
		if !strings.Contains(line, "$$") { // the JVM makes a hidden class anew when it links a lambda again
			s.t.Error("changed: " + line)
		}
	}
}

// gone waits until nobody of ours is in the program or beside it.
func (s *scene) gone() {
	s.t.Helper()
	eventually(s.t, "our threads end and our mapping goes", func() bool { return len(s.traces()) == 0 })
	if files := s.files(); len(files) > 0 {
		s.t.Errorf("files are left: %q", files)
	}
}

// traces are the threads and mappings of ours in the program, without an agent
// that waits since the start.
func (s *scene) traces() (found []string) {
	s.t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", s.jvm))
	if err != nil || len(tasks) == 0 {
		s.t.Fatalf("the program has no threads: %v\nstderr: %s", err, s.Stderr())
	}
	for _, task := range tasks {
		name, _ := os.ReadFile(task) // a thread may have ended meanwhile
		if text := strings.TrimSpace(string(name)); strings.HasPrefix(text, "sonde-") && text != "sonde-standby" {
			found = append(found, text)
		}
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", s.jvm))
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, ".arena") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// files are those of sessions with this program.
func (s *scene) files() (found []string) {
	for _, pattern := range []string{"/tmp/.sonde-%d-*", "/dev/shm/sonde-%d-*", "/tmp/sonde-%d-*", "/tmp/.sonde_invite%d*"} {
		names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/root"+pattern, s.jvm, s.jvm))
		found = append(found, names...)
	}
	return found
}

// filesOf demands that no file of a session with a process is left, which may be
// gone itself.
func filesOf(t *testing.T, pid int) {
	t.Helper()
	for _, pattern := range []string{"/tmp/.sonde-%d-*", "/dev/shm/sonde-%d-*", "/tmp/sonde-%d-*"} {
		if names, _ := filepath.Glob(fmt.Sprintf(pattern, pid)); len(names) > 0 {
			t.Errorf("files are left: %q", names)
		}
	}
}

// sweep takes away what killed Sondes have left; it is told that this is a while
// ago, since what is young may belong to one that is about to lock it.
func (s *scene) sweep() {
	s.t.Helper()
	eventually(s.t, "the agents of killed Sondes end", func() bool { return len(s.traces()) == 0 })
	old := time.Now().Add(-time.Hour)
	left := s.files()
	for _, path := range left {
		if err := os.Chtimes(path, old, old); err != nil {
			s.t.Fatal(err)
		}
	}
	if _, err := targetfs.Sweep(context.Background(), process.Local); err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("%d files were left for the sweep", len(left))
	if left := s.files(); len(left) > 0 {
		s.t.Fatalf("what killed Sondes left is not swept: %q", left)
	}
}
