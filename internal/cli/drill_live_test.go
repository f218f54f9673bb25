package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/drill"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// TestDrillLive searches in programs whose problem is known. Slow calls take at least 60 ms, normal ones almost nothing.
func TestDrillLive(t *testing.T) {
	t.Parallel()
	tests := []struct {
		problem, class string
		path           string
		kind           drill.Kind
		lock           string
		when           string
	}{
		{"lock", "Locked", "serve book", drill.Locked, "drilled.Drilled$Ledger", "order.tenant=globex ("},
		{"guard", "Locked", "serve book", drill.Locked, "java.util.concurrent.locks.ReentrantLock$NonfairSync", "order.tenant=globex ("},
		{"deep", "Deep", "serve price discount history pause", drill.Sleeps, "", "order.tenant=globex ("},
		{"task", "Handing", "serve await call work pause", drill.Sleeps, "", "order.tenant=globex ("},
		{"sleep", "Sleepy", "serve pause", drill.Sleeps, "", "order.tenant=globex and order.tier=PREMIUM ("},
	}
	for _, jdk := range jvmtest.JDKs(t) {
		if jdk.Major < 17 {
			continue // the program has records
		}
		for i, test := range tests {
			if !jvmtest.Turn(t, jdk, i, len(tests)) {
				continue
			}
			t.Run(fmt.Sprintf("%s, jdk%d", test.problem, jdk.Major), func(t *testing.T) {
				t.Parallel()
				pid := startDrilled(t, jdk, test.problem)
				code, out, stderr := sonde(t, "drill", pid, "drilled.Drilled$"+test.class+".serve", "--slower-than", "40ms", "--from-start", "--json")
				if code != exitOK {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				found := parse[document.Drill](t, out)
				if got := pathOf(found); got != test.path {
					t.Errorf("path: got %s, want %s; %s", got, test.path, stderr)
				}
				if found.Cause == nil || found.Cause.Kind != test.kind || found.Ended != string(endedCause) || !found.Removed {
					t.Fatalf("got %s, cause %+v, removed %t, want %s; %s", found.Ended, found.Cause, found.Removed, test.kind, stderr)
				}
				if last := found.Path[len(found.Path)-1]; last.Own.Share.Part < 0.5 {
					t.Errorf("the share of the cause: got %v, want most of it", last.Own.Share)
				}
				if l := found.Cause.Lock; test.lock != "" && (l == nil || l.Class != test.lock) {
					t.Errorf("lock: got %+v, want a %s; %s", l, test.lock, stderr)
				} else if l != nil && found.SampledBy == "kernel" && (l.Holder != "closing" || !strings.HasPrefix(l.In, "drilled.Drilled$") || strings.Contains(stderr, "thread dumps")) {
					t.Errorf("holder: got %+v, want the thread closing in a method of the program, without thread dumps; %s", l, stderr)
				}
				if found.When == nil || !strings.Contains(found.When.String(), test.when) || found.When.NormalOnes*5 > found.When.Normal {
					t.Errorf("data: got %v, want %s; compared %v", found.When, test.when, found.Values)
				}
				checkUndrilled(t, pid)
			})
		}
		t.Run(fmt.Sprintf("healthy, jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			pid := startDrilled(t, jdk, "healthy")
			code, out, stderr := sonde(t, "drill", pid, "drilled.Drilled$Healthy.serve", "--slower-than", "1h", "--duration", "1s")
			if code != exitOK || !strings.HasPrefix(out, "healthy: no call of drilled.Drilled$Healthy.serve took longer than") {
				t.Errorf("exit code %d: got %s; %s", code, out, stderr)
			}
			for condition, want := range map[string]int{"calls > 0": exitGoal, "mean > 1h": exitOK} {
				if code, _, stderr := sonde(t, "monitor", pid, "drilled.Drilled$Healthy.serve", "--calls", "1", "--fail-if", condition); code != want {
					t.Errorf("%s: exit code %d, want %d: %s", condition, code, want, stderr)
				}
			}
			checkUndrilled(t, pid)
		})
	}
}

func pathOf(d document.Drill) string {
	var path []string
	for _, l := range d.Path {
		path = append(path, l.Method)
	}
	return strings.Join(path, " ")
}

// TestDrillRemembers searches again in a program whose cause was found before, in one that is slow elsewhere now, and in one
// with a changed class.
func TestDrillRemembers(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(drilledSource)
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(t.TempDir(), filepath.Base(drilledSource))
	if err := os.WriteFile(changed, []byte(strings.Replace(string(source), "class Deep implements Shop {", "class Deep implements Shop { int changed;", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	const method, deep = "drilled.Drilled$Deep.serve", "serve price discount history pause"
	search := func(t *testing.T, pid, path string, flags ...string) (d document.Drill, stderr string) {
		t.Helper()
		code, out, stderr := sonde(t, append([]string{"drill", pid, method, "--slower-than", "40ms", "--json"}, flags...)...)
		if code != exitOK {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		d = parse[document.Drill](t, out)
		if got := pathOf(d); got != path {
			t.Errorf("path: got %s, want %s; %s", got, path, stderr)
		}
		return d, stderr
	}
	const offered = "the whole path gets hooks at once"
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			pid := startDrilled(t, jdk, "deep")
			if _, stderr := search(t, pid, deep, "--from-start"); strings.Contains(stderr, offered) {
				t.Errorf("from the start: got %s", stderr)
			}
			d, stderr := search(t, pid, deep)
			if notes := strings.Join(d.Notes, "; "); !strings.Contains(stderr, offered) || len(d.Steps) != 2 || !strings.Contains(notes, "the same method as on") {
				t.Errorf("again: got %+v, %s; %s, want one step to the same method", d.Steps, notes, stderr)
			}
			code, probes, stderr := sonde(t, "callees", pid, method, "--found")
			if code != exitOK || strings.Count(probes, "- name: ") != 5 || !strings.Contains(probes, "Drilled$Deep.history(drilled.Drilled$Order):void") {
				t.Errorf("exit code %d: got %s, want the five methods as probes; %s", code, probes, stderr)
			}
			if _, err := probeset.Parse([]byte(probes), "found.yaml"); err != nil {
				t.Error(err)
			}
			d, stderr = search(t, startDrilled(t, jdk, "late"), "serve ship pause")
			if notes := strings.Join(d.Notes, "; "); !strings.Contains(stderr, offered) || !strings.Contains(notes, "it is not where it was on") {
				t.Errorf("slow elsewhere: got %s; %s", notes, stderr)
			}
			pid = runDrilled(t, jdk, unseen(t, compileDrilled(t, jdk, changed)), "deep")
			if code, out, stderr := sonde(t, "callees", pid, method, "--found"); code == exitOK || !strings.Contains(stderr, "no cause of slow calls below "+method) {
				t.Errorf("a changed class: exit code %d, %s%s", code, out, stderr)
			}
			if _, stderr := search(t, pid, deep); strings.Contains(stderr, offered) {
				t.Errorf("a changed class: got %s", stderr)
			}
		})
	}
}

const drilledSource = "testdata/drilled/Drilled.java"

// unseen returns a copy of the changed classes in which the new field has another name each time: this test may have run before.
func unseen(t *testing.T, classes string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	name := filepath.Join(dir, "drilled", "Drilled$Deep.class")
	err := os.CopyFS(dir, os.DirFS(classes))
	file, failed := os.ReadFile(name)
	file = bytes.ReplaceAll(file, []byte("changed"), fmt.Appendf(nil, "f%06d", time.Now().UnixMicro()%1_000_000))
	if err := errors.Join(err, failed, os.WriteFile(name, file, 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func startDrilled(t *testing.T, jdk jvmtest.JDK, problem string, flags ...string) (pid string) {
	t.Helper()
	return runDrilled(t, jdk, compileDrilled(t, jdk, drilledSource), problem, flags...)
}

func compileDrilled(t *testing.T, jdk jvmtest.JDK, source string) (classes string) {
	t.Helper()
	return jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{source}, Flags: []string{"-parameters"}})
}

func runDrilled(t *testing.T, jdk jvmtest.JDK, classes, problem string, flags ...string) (pid string) {
	t.Helper()
	p := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: append(flags, "-cp", classes, "drilled.Drilled", problem)})
	return strconv.Itoa(p.PID)
}

// checkUndrilled checks that nothing is left in a JVM.
func checkUndrilled(t *testing.T, pid string) {
	t.Helper()
	if _, out, _ := sonde(t, "status", pid); !strings.HasPrefix(out, "Sonde has no hooks and no agent in") {
		t.Errorf("%s", out)
	}
}
