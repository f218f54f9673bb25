package sampling

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// TestNothingChanges compares a JVM before, while and after it is sampled: its threads, files, mappings, classes and
// flags. It also samples JVMs that do not let others in.
func TestNothingChanges(t *testing.T) {
	classes := compile(t, "Untouched")
	flags := []string{"", "-XX:+DisableAttachMechanism", "-XX:-EnableDynamicAgentLoading", "-XX:-UsePerfData"}
	jdks := jvmtest.JDKs(t)
	if isMatrix() {
		jdks = sampled(t)
	}
	for _, jdk := range jdks {
		for i, flag := range flags {
			if flag == "-XX:-EnableDynamicAgentLoading" && jdk.Major < 9 || !isMatrix() && !jvmtest.Turn(t, jdk, i, len(flags)) {
				continue
			}
			t.Run(fmt.Sprintf("jdk%d%s", jdk.Major, flag), func(t *testing.T) {
				checkUntouched(t, jdk, jvmtest.Visible(t, jdk, classes), flag)
			})
		}
	}
}

// asUser says that a test runs again as another user.
const asUser = "SONDE_TEST_AS_USER"

// TestNothingChangesAsOrdinaryUser samples a JVM of an ordinary user as this user.
func TestNothingChangesAsOrdinaryUser(t *testing.T) {
	classes := os.Getenv(asUser)
	if classes == "" {
		classes = compile(t, "Untouched")
		if os.Getuid() == 0 {
			public := jvmtest.PublicDirectory(t)
			if err := os.CopyFS(public, os.DirFS(classes)); err != nil {
				t.Fatal(err)
			}
			jvmtest.AgainAsNobody(t, asUser+"="+public)
			return
		}
	}
	for _, jdk := range jvmtest.OneJDK(t) {
		checkUntouched(t, jdk, classes, "")
	}
}

func checkUntouched(t *testing.T, jdk jvmtest.JDK, classes, flag string) {
	t.Helper()
	// Some collectors and the number of compilers would change without Sonde.
	args := []string{
		"-XX:+UseSerialGC", "-Xms64m", "-Xmx64m", "-XX:+AlwaysPreTouch", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:-UseDynamicNumberOfCompilerThreads",
		"-cp", classes, "Untouched",
	}
	if flag != "" {
		args = append([]string{flag}, args...)
	}
	p := jvmtest.Start(t, jdk, jvmtest.Launch{Args: args})
	settled := settle(t, p)
	s, err := sampler.Start(t.Context(), p.PID, sampler.Options{Source: sampler.Kernel, Period: time.Millisecond, Waiting: true})
	if err != nil {
		t.Fatal(err)
	}
	var during map[string]string
	seen := map[string]int{}
	looks := time.NewTicker(20 * time.Millisecond)
	defer looks.Stop()
	for seen["busy"] < 300 || seen["main"] < 3 {
		<-looks.C
		batch, err := s.Poll(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, sample := range batch.Samples {
			if sample.Thread.Name != "busy" && sample.Source != jfr.WallClock {
				continue // the main thread runs when it reports
			}
			seen[sample.Thread.Name]++
		}
		if during == nil && seen["busy"] > 100 {
			during = snapshot(t, p)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	compareSnapshots(t, "while it was sampled", during, settled)
	compareSnapshots(t, "after it was sampled", snapshot(t, p), settled)
}

func compareSnapshots(t *testing.T, when string, got, want map[string]string) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] {
			t.Errorf("%s: %s %s:\n%s\nwas:\n%s", key, "is different", when, got[key], want[key])
		}
	}
}

// settle waits until a JVM does not change by itself any more.
func settle(t *testing.T, p *jvmtest.Running) map[string]string {
	t.Helper()
	last, equal := snapshot(t, p), 0
	looks := time.NewTicker(50 * time.Millisecond)
	defer looks.Stop()
	limit := time.After(jvmtest.RunLimit)
	for equal < 20 {
		select {
		case <-looks.C:
		case <-limit:
			t.Fatal("the JVM changes all the time")
		}
		now := snapshot(t, p)
		if maps.Equal(now, last) {
			equal++
		} else {
			last, equal = now, 0
		}
	}
	return last
}

// snapshot returns all that can be seen of a JVM, and what it reports.
func snapshot(t *testing.T, p *jvmtest.Running) map[string]string {
	t.Helper()
	folder := fmt.Sprintf("/proc/%d", p.PID)
	all := map[string]string{}
	mappings, err := os.ReadFile(filepath.Join(folder, "maps"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mappings)) {
		if strings.Contains(line, "/") { // a JVM grows and shrinks its own memory, which has no file, all the time
			all["mappings"] += line
		}
	}
	tasks, err := os.ReadDir(filepath.Join(folder, "task"))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		name, _ := os.ReadFile(filepath.Join(folder, "task", task.Name(), "comm")) // "" if it ends meanwhile
		all["threads"] += task.Name() + " " + string(name)
	}
	files, err := os.ReadDir(filepath.Join(folder, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		target, _ := os.Readlink(filepath.Join(folder, "fd", file.Name()))
		all["files"] += file.Name() + " " + target + "\n"
	}
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if name, _, _ := strings.Cut(line, ":"); slices.Contains([]string{"TracerPid", "SigBlk", "SigIgn", "SigCgt", "Seccomp", "CapEff", "Threads"}, name) {
			all["status"] += line
		}
	}
	if !strings.Contains(all["status"], "TracerPid:\t0\n") {
		t.Errorf("the JVM is traced:\n%s", all["status"])
	}
	if _, err := io.WriteString(p.Stdin, "\n"); err != nil {
		t.Fatal(err)
	}
	all["report"] = p.Await(t, "report ")
	return all
}
