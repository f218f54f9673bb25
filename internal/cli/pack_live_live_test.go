package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
)

// A packedShop is a shop that was started with a pack.
type packedShop struct {
	watchedShop
	arena, pack string
}

// newPackedShop packs a shop and starts it by the environment that sonde env prints.
func newPackedShop(t *testing.T, jdk jvmtest.JDK) *packedShop {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/applied/Shop.java"}})
	s := &packedShop{watchedShop: watchedShop{t: t}}
	s.start(jdk, classes, "applied.Shop", "testdata/packed/probes.yaml")
	return s
}

// start packs a program and starts it.
func (s *packedShop) start(jdk jvmtest.JDK, classes, mainClass, probes string) {
	t := s.t
	t.Helper()
	dir := t.TempDir()
	s.pack = filepath.Join(dir, "shop.pack")
	s.must("pack", classes, "--probes", probes, "-o", s.pack)
	environment := parse[map[string]string](t, s.must("env", "--pack", s.pack, "--arena", dir, "--agent-dir", dir, "--shell", "json"))
	s.Running = jvmtest.Start(t, jdk, jvmtest.Launch{
		Brief: true,
		Args:  []string{"-cp", classes, mainClass}, Env: []string{"JAVA_TOOL_OPTIONS=" + environment["JAVA_TOOL_OPTIONS"]},
	})
	s.pid = strconv.Itoa(s.PID)
	s.arena = filepath.Join(dir, "sonde-"+s.pid+".arena")
	s.awaitNotice()
}

// awaitNotice waits for the notice of the agent, which is written after the program has begun.
func (s *packedShop) awaitNotice() {
	s.t.Helper()
	end := time.Now().Add(jvmtest.RunLimit)
	for {
		jvm, err := process.Local.Inspect(s.PID)
		switch {
		case err != nil:
			s.t.Fatal(err)
		case jvm.Pack != nil:
			return
		case time.Now().After(end):
			s.t.Fatal("the agent has written no notice about its pack")
		}
		time.Sleep(time.Millisecond) // only between looks
	}
}

// reported is what a report has, by probe and tag.
func (s *packedShop) reported(of string) (document.Report, map[string]uint64) {
	s.t.Helper()
	report := parse[document.Report](s.t, s.must("report", of, "--json"))
	calls := map[string]uint64{}
	for _, row := range report.Probes {
		name := row.Probe
		if tier := row.Tags["tier"]; tier != nil {
			name += " " + *tier
		}
		calls[name] += row.Calls
	}
	return report, calls
}

// TestPackedLive reads a JVM that was started with a pack by all commands that do, has a
// Sonde take the pack's place, and at last kills it in a call.
func TestPackedLive(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			s := newPackedShop(t, jdk)
			s.do("sell 5 gold")
			s.do("refund 3 gold")
			s.reads()
			s.looksBeside()
			s.watches()
			s.takesOver()

			killed := newPackedShop(t, jdk)
			killed.do("sell 4 silver")
			if err := syscall.Kill(killed.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			<-killed.Ended()
			// Leftovers are removed, but not what was measured.
			sonde(t, "undo", killed.pid)
			report, calls := killed.reported(killed.arena)
			if calls["charges silver"] != 4 || calls["program"] != 1 || report.State != "ended" || report.UnderWay != 1 || report.Pack != killed.pack ||
				!strings.Contains(strings.Join(report.Remarks, "\n"), "1 call was running when the JVM exited, with unknown time") {
				t.Errorf("%v, %+v", calls, report)
			}
		})
	}
}

// reads checks what was measured and who has hooks in the JVM.
func (s *packedShop) reads() {
	t := s.t
	report, calls := s.reported(s.pid)
	if calls["charges gold"] != 5 || calls["charges none"] != 1 || calls["program"] != 1 || report.State != "measuring" || report.Pack != s.pack ||
		report.Arena != s.arena || report.Classes.Woven != 3 || report.UnderWay != 1 {
		t.Errorf("%v, %+v", calls, report)
	}
	once := parse[document.Report](t, s.must("pack", "live", s.pid, "--once", "--json"))
	if once.Calls != report.Calls || len(once.Methods) != len(report.Methods) {
		t.Errorf("%+v", once)
	}
	status := parse[document.Status](t, s.must("status", s.pid, "--json"))
	if !status.Inside || len(status.Occupants) != 1 || status.Occupants[0].Pack != s.pack || status.Occupants[0].Classes.Woven != 3 {
		t.Errorf("%+v", status)
	}
	if out := s.must("status", s.pid); !strings.HasPrefix(out, "active   pack "+s.pack+", since the program started: sonde pack live "+s.pid+" shows it") {
		t.Errorf("%s", out)
	}
	for line := range strings.Lines(s.must("ps", "--json")) {
		if jvm := parse[document.JVM](t, line); jvm.PID == s.PID && jvm.Inside != "pack" {
			t.Errorf("%+v", jvm)
		}
	}
}

// looksBeside counts beside the pack: both are exact, and the pack's hooks stay.
func (s *packedShop) looksBeside() {
	t := s.t
	counting := startSonde(t, "count", s.pid, "applied.**", "--when", "$2 >= 0", "--json")
	plain := startSonde(t, "count", s.pid, "applied.**", "--json")
	s.do("sell 4 iron")
	for _, one := range []*runningSonde{counting, plain} {
		one.signal(t, syscall.SIGINT)
		if code := one.end(t); code != exitOK {
			t.Errorf("exit code %d: %s", code, one.stderr.String())
		}
		result, calls := one.result(t), uint64(0)
		for _, m := range result.Methods {
			if m.Method == "charge" {
				calls += m.Calls
			}
		}
		if calls != 4 {
			t.Errorf("%d calls of charge, want 4", calls)
		}
	}
	if _, calls := s.reported(s.pid); calls["charges iron"] != 4 {
		t.Errorf("the pack counted %v", calls)
	}
	s.do("sell 2 iron")
	if _, calls := s.reported(s.pid); calls["charges iron"] != 6 {
		t.Errorf("the pack counted %v after the looks have ended", calls)
	}
}

// watches looks on while something is sold.
func (s *packedShop) watches() {
	t := s.t
	attached := startSonde(t, "pack", "live", s.pid, "--json", "--interval", "100ms")
	s.do("sell 7 gold")
	attached.signal(t, syscall.SIGINT)
	if code := attached.end(t); code != exitOK {
		t.Errorf("exit code %d: %s", code, attached.stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(attached.out.String()), "\n")
	whole := parse[document.Monitor](t, lines[len(lines)-1])
	if !whole.Final || ending(whole.Ended) != endedInterrupted || whole.Total.Calls != 7 || whole.Pack != s.pack || whole.Classes.Woven != 3 ||
		len(whole.Rows) != 2 || whole.Rows[0].Tags["tier"] != "gold" || whole.Rows[1].Pattern != "program" || whole.Rows[1].Running != 1 {
		t.Errorf("%+v", whole)
	}
}

// takesOver has a Sonde in the place of the pack, and then none.
func (s *packedShop) takesOver() {
	t := s.t
	weaving := startSonde(t, "pack", "live", s.pid, "--weave", "--json")
	s.do("sell 9 gold")
	s.expect(map[string]uint64{"charges tier=gold": 9})
	s.must("apply", s.pid, "--end")
	if code := weaving.end(t); code != exitOK || !strings.Contains(weaving.stderr.String(), "sonde report "+s.arena+" shows its measurements") {
		t.Errorf("exit code %d: %s", code, weaving.stderr.String())
	}
	if last := parse[document.Applied](t, weaving.out.String()); last.File != s.pack || ending(last.Ended) != endedInterrupted {
		t.Errorf("%+v", last)
	}
	// What the pack has measured is there, and no more.
	report, calls := s.reported(s.arena)
	if calls["charges gold"] != 12 || report.State != "out" || !strings.Contains(strings.Join(report.Remarks, "\n"), "when the hooks were removed") {
		t.Errorf("%v, %+v", calls, report)
	}
	code, _, stderr := sonde(t, "pack", "live", s.pid)
	if code != exitError || !strings.Contains(stderr, "uses no pack: start the program with the option that sonde env --pack FILE prints") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// TestPackThatIsRefusedLive shows why a JVM runs without its pack, and what undo does.
func TestPackThatIsRefusedLive(t *testing.T) {
	jdk := jvmtest.OneJDK(t)[0]
	s := newPackedShop(t, jdk)
	if out := s.must("undo", s.pid); !strings.Contains(out, "removed the hooks of 2 methods from process "+s.pid) || !strings.Contains(out, "its measurements stay: sonde report "+s.arena) {
		t.Errorf("%s", out)
	}
	if _, err := os.Stat(s.arena); err != nil {
		t.Error(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.pack")
	content, err := os.ReadFile(s.pack)
	if err != nil {
		t.Fatal(err)
	}
	content[300]++
	if err := os.WriteFile(damaged, content, 0o600); err != nil {
		t.Fatal(err)
	}
	jar := filepath.Join(t.TempDir(), agentJarName)
	s.must("agent-jar", jar)
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/applied/Shop.java"}})
	without := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-javaagent:" + jar + "=pack=" + damaged, "-cp", classes, "applied.Shop"}})
	code, _, stderr := sonde(t, "pack", "live", strconv.Itoa(without.PID))
	if code != exitError || !strings.Contains(stderr, "was started with a pack, but the agent does not use it: "+damaged+" is damaged") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if code, out, _ := sonde(t, "status", strconv.Itoa(without.PID)); code != exitOK || !strings.Contains(out, damaged+" is damaged") {
		t.Errorf("exit code %d, %s", code, out)
	}
}
