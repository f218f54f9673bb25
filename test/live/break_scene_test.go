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

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// patience only bounds what hangs: no test depends on how long anything takes.
const patience = 2 * time.Minute

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
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) { test(t, jdk) })
	}
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
	*session.Session
	t    *testing.T
	once sync.Once
}

// enter opens a session. Where one that was killed is still being undone, it
// waits for that.
func (s *scene) enter(command string) *visit {
	s.t.Helper()
	var opened *session.Session
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

// notice shows what a user would be told, once.
func (s *scene) notice(text string) {
	if _, known := s.notices.LoadOrStore(text, true); !known {
		s.t.Log(text)
	}
}

func visiting(t *testing.T, opened *session.Session) *visit {
	v := &visit{Session: opened, t: t}
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
