package live_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// patience only bounds what hangs: no test depends on how long anything takes.
const patience = 5 * time.Minute

// fixtures is what programs consist of, without the harness and the JDK.
var fixtures = []string{"**", "!java.**", "!javax.**", "!jdk.**", "!sun.**", "!com.sun.**", "!harness.**"}

// A scene is a program that is going to have a hard time. Should its JVM crash,
// the test fails and shows what the JVM has to say about that.
type scene struct {
	*live.Program
	t       *testing.T
	jvm     int // its process
	notices sync.Map
}

func onBothJDKs(t *testing.T, test func(t *testing.T, jdk jvmtest.JDK)) {
	t.Helper()
	jvmtest.OnEach(t, jvmtest.JDKs(t), test)
}

// onOneJDK runs a test on one JDK, in a soak on each.
func onOneJDK(t *testing.T, test func(t *testing.T, jdk jvmtest.JDK)) {
	t.Helper()
	jvmtest.OnEach(t, jvmtest.OneJDK(t), test)
}

// byOneDoorInTurn is like byOneDoor, one after the other.
func byOneDoorInTurn(t *testing.T, test func(t *testing.T, jdk jvmtest.JDK, door live.Door)) {
	t.Helper()
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		for _, door := range jvmtest.OneOf(t, doors(t)) {
			t.Run(door.Name, func(t *testing.T) { test(t, jdk, door) })
		}
	})
}

// doors are the ways to enter a program.
func doors(t *testing.T) []live.Door {
	t.Helper()
	return []live.Door{live.Attach, live.JavaAgent(agentJar(t))}
}

func stage(t *testing.T, jdk jvmtest.JDK, door live.Door, workloads ...string) *scene {
	t.Helper()
	program := live.Start(t, jdk, door.With(crashOptions(t)...), workloads...)
	s := &scene{Program: program, t: t, jvm: program.PID}
	if len(door.Wrap) > 0 && door.Wrap[0] == "unshare" {
		s.jvm = program.Child(t)
	}
	return s
}

// crashOptions have a JVM that crashes say why, to the test.
func crashOptions(t *testing.T) []string {
	t.Helper()
	directory, err := os.MkdirTemp("/var/tmp", "sonde-crash-") // a /tmp of its own would hide it
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(directory, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		logs, _ := filepath.Glob(filepath.Join(directory, "*"))
		for _, log := range logs {
			text, _ := os.ReadFile(log)
			lines := strings.SplitN(string(text), "\n", 100)
			t.Errorf("THE JVM CRASHED: %s\n%s", log, strings.Join(lines[:min(len(lines), 99)], "\n"))
		}
		os.RemoveAll(directory)
	})
	return []string{"-XX:ErrorFile=" + directory + "/hs_err_%p.log", "-XX:-CreateCoredumpOnCrash"}
}

// eventually waits for a state that is bound to come.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-limit:
			t.Fatalf("%s: not within %v", what, patience)
		case <-tick.C:
		}
	}
}

// moves waits until the program has done something since it was asked.
func (s *scene) moves() {
	s.t.Helper()
	before, _ := s.Rate()
	eventually(s.t, "the program goes on", func() bool {
		now, _ := s.Rate()
		return now > before
	})
}

// A visit is a session that the test's end closes, if nothing else did.
type visit struct {
	*session.Look
	t    *testing.T
	once sync.Once
}

// enter opens a session. Where one that was killed is still being undone, it
// waits for that.
func (s *scene) enter(command string) *visit {
	s.t.Helper()
	var opened *session.Look
	eventually(s.t, "a session opens", func() bool {
		var err error
		opened, err = session.Open(context.Background(), s.jvm, session.Settings{Command: command, Notice: s.notice})
		var held *session.HeldError
		if err != nil && !errors.As(err, &held) {
			s.t.Fatalf("%v\nstderr: %s", err, s.Stderr())
		}
		return err == nil
	})
	return visiting(s.t, opened)
}

// notice logs each message for the user once.
func (s *scene) notice(text string) {
	if _, known := s.notices.LoadOrStore(text, true); !known {
		s.t.Log(text)
	}
}

func visiting(t *testing.T, opened *session.Look) *visit {
	v := &visit{Look: opened, t: t}
	t.Cleanup(func() {
		_, _ = v.close()
		_ = v.Release()
	})
	return v
}

func (v *visit) close() (farewell session.Farewell, err error) {
	v.once.Do(func() { farewell, err = v.Close(context.Background()) })
	return farewell, err
}

// leave closes the session, which must leave nothing.
func (v *visit) leave() {
	v.t.Helper()
	farewell, err := v.close()
	if err != nil || !farewell.Restored.Unmapped || len(farewell.Remarks) > 0 {
		v.t.Errorf("leaving: %v, unmapped %v, remarks %q", err, farewell.Restored.Unmapped, farewell.Remarks)
	}
}

// hook puts hooks into methods and switches them on.
func (v *visit) hook(flags arena.Flags, patterns ...string) {
	v.t.Helper()
	if _, err := v.Instrument(context.Background(), session.Wanted{Methods: set(v.t, patterns...), Flags: arena.On | flags}); err != nil {
		v.t.Fatal(err)
	}
	if len(v.Methods()) == 0 {
		v.t.Fatalf("no method has a hook; left alone: %v", v.LeftAlone())
	}
}

func (v *visit) switchTo(flags arena.Flags, patterns ...string) {
	v.t.Helper()
	if err := v.Switch(context.Background(), set(v.t, patterns...), flags, 16); err != nil {
		v.t.Fatal(err)
	}
}

func set(t *testing.T, patterns ...string) *pattern.Set {
	t.Helper()
	parsed, err := pattern.ParseSet(patterns...)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func (v *visit) sum() *arena.Summary {
	v.t.Helper()
	sum, err := v.Sum()
	if err != nil {
		v.t.Fatal(err)
	}
	return sum
}

// calls is how many calls all hooks together have seen.
func (v *visit) calls() (calls uint64) {
	v.t.Helper()
	for _, totals := range v.sum().Methods {
		calls += totals.Calls
	}
	return calls
}

// measured is what the hooks say, in the terms of the program's own counts.
func (v *visit) measured() live.Counts {
	v.t.Helper()
	sum := v.sum()
	if sum.Dropped > 0 {
		v.t.Errorf("%d calls were dropped", sum.Dropped)
	}
	measured := make(live.Counts)
	for _, m := range v.Methods() {
		count := live.Count{}
		if totals := sum.Methods[m.ID]; totals != nil {
			count = live.Count{Entered: int64(totals.Calls), Threw: int64(totals.Threw)}
		}
		measured[m.Class+"."+m.Name+m.Descriptor] = count
	}
	return measured
}

// exact demands that the hooks have counted what the program has since.
func (v *visit) exact(s *scene, since live.Counts) {
	v.t.Helper()
	compared(v.t, s.Counts().Minus(since), v.measured())
}

// compared demands equal counts for every method that was measured, and that
// this is not about nothing.
func compared(t *testing.T, truth, measured live.Counts) {
	t.Helper()
	var some int64
	hooked := make(live.Counts)
	for name, count := range truth {
		if m, ok := measured[name]; ok {
			hooked[name] = count
			some += m.Entered
		}
	}
	if some == 0 {
		t.Error("nothing was measured")
	}
	for _, line := range hooked.Diff(measured) {
		t.Error(line)
	}
}

// refused demands that a session cannot be opened now, and says so in a line
// that holds a text.
func (s *scene) refused(why, text string) {
	s.t.Helper()
	opened, err := session.Open(context.Background(), s.jvm, session.Settings{Command: "refused"})
	if err == nil {
		visiting(s.t, opened)
		s.t.Fatalf("a session opened though %s", why)
	}
	if !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "\n") {
		s.t.Errorf("though %s, the error was %q", why, err)
	}
}

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
		if !strings.Contains(line, "$$") { // the JVM makes a new hidden class when it links a lambda again
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
