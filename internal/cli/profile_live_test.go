package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestProfileLive profiles a program that counts itself and ends by Ctrl-C.
func TestProfileLive(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			p := live.Start(t, jdk, briefAttach, live.Calls)
			p.Run(1)
			sum := p.Check()
			before := p.Counts()
			page := filepath.Join(t.TempDir(), "result.html")
			profiling := startSonde(t, "profile", strconv.Itoa(p.PID), "--root", "calls.Main.round", "--skip", "harness.**", "--timing", "exact", "--wait", "10s", "--json", "-o", page)
			p.Run(3)
			truth := p.Counts().Minus(before)
			profiling.signal(t, syscall.SIGINT)
			if code := profiling.end(t); code != exitOK {
				t.Fatalf("exit code %d: %s", code, profiling.stderr.String())
			}
			got, err := document.ReadProfile(&profiling.out)
			if err != nil {
				t.Fatal(err)
			}
			if diff := truth.Diff(profileCounts(got)); len(diff) > 0 {
				t.Errorf("%s", strings.Join(diff, "\n"))
			}
			if calls := flatRow(t, got, "calls.Main.round").Calls; calls != 3 || got.Target.PID != p.PID || got.Target.JDK != jdk.Version || got.Timing != cct.Exact {
				t.Errorf("%d calls of the root, %+v, %s", calls, got.Target, got.Timing)
			}
			if again, err := report.ReadProfile(page); err != nil || len(again.Methods) != len(got.Methods) {
				t.Errorf("what was written: %v", err)
			}
			if !strings.Contains(profiling.stderr.String(), "wrote "+page) {
				t.Errorf("%s", profiling.stderr.String())
			}
			checkLeft(t, p, sum)
		})
	}
}

// TestProfileOfNothing asks for roots that are not there, or not called.
func TestProfileOfNothing(t *testing.T) {
	t.Parallel()
	jdk := jvmtest.OneJDK(t)[0]
	p := live.Start(t, jdk, briefAttach, live.Calls)
	p.Run(1)
	for _, tt := range []struct{ root, note, problem string }{
		{"other.Plain.work", "note: no loaded class matches other.Plain.work; a class that loads later gets its hooks then; similar loaded classes: calls.Plain\n", "sonde: no method that matches other.Plain.work was loaded within "},
		{"calls.Plain.absent", "", "sonde: class calls.Plain has no method absent of its own; nothing was changed in the JVM\n"},
		{"calls.Plain.work", "hooks in ", "sonde: calls.Plain.work was not called within "},
	} {
		out := filepath.Join(t.TempDir(), "none.txt")
		code, stdout, stderr := sonde(t, "profile", strconv.Itoa(p.PID), "--root", tt.root, "--timing", "exact", "--duration", "100ms", "-o", out)
		if code != exitError || stdout != "" || !strings.Contains(stderr, tt.note) || !strings.Contains(stderr, tt.problem) || strings.Count(stderr, "sonde: ") != 1 {
			t.Errorf("%s: exit code %d: %s%s", tt.root, code, stdout, stderr)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: %s was written", tt.root, out)
		}
	}
}

// TestProfileStart measures programs from their first instruction to their end,
// whichever way they end.
func TestProfileStart(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{filepath.Join("testdata", "started", "Started.java")}})
			for _, exit := range [][]string{nil, {"3"}} {
				file := filepath.Join(t.TempDir(), "result.json")
				args := []string{"profile", "--start", "--root", "started.Started.main", "--timing", "exact", "--wait", "10s", "-o", file, "--", jdk.Tool("java"), "-cp", classes, "started.Started"}
				code, out, stderr := sonde(t, append(args, exit...)...)
				if code != exitOK || out != "begin\nend\n" {
					t.Fatalf("exit code %d, the program said %q: %s", code, out, stderr)
				}
				got, err := report.ReadProfile(file)
				if err != nil {
					t.Fatal(err)
				}
				for name, calls := range map[string]uint64{"started.Started.main": 1, "started.Started.work": 100, "started.Started$Later.step": 300} {
					if row := flatRow(t, got, name); row.Calls != calls {
						t.Errorf("%d calls of %s, want %d", row.Calls, name, calls)
					}
				}
				if main := got.Merged.Children[0]; main.Running != uint64(len(exit)) {
					t.Errorf("%d calls of main have not ended", main.Running)
				}
				if reported := strings.Contains(stderr, "note: the program ended with exit code 3\n"); reported != (exit != nil) {
					t.Errorf("%s", stderr)
				}
			}
		})
	}
}

// TestLambdasAreRoots: the class of a lambda or method reference cannot have a hook, so what it calls is the root.
func TestLambdasAreRoots(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{filepath.Join("testdata", "started", "Referenced.java")}})
			file := filepath.Join(t.TempDir(), "result.json")
			code, out, stderr := sonde(t, "profile", "--start", "--root", "started.**.run()", "--wait", "10s", "-o", file, "--", jdk.Tool("java"), "-cp", classes, "started.Referenced")
			if code != exitOK || out != "1\n2\n3\n" {
				t.Fatalf("exit code %d, the program said %q: %s", code, out, stderr)
			}
			got, err := report.ReadProfile(file)
			if err != nil {
				t.Fatal(err)
			}
			var roots []string
			for _, root := range got.Merged.Children {
				roots = append(roots, fmt.Sprintf("%s %d", got.Methods[root.Method].Name, root.Calls))
			}
			slices.Sort(roots)
			if want := []string{"lambda$main$0 1", "run 1", "work 1"}; !slices.Equal(roots, want) {
				t.Errorf("roots with calls are %q, want %q", roots, want)
			}
			if want := "started.Referenced.work for started.Referenced$$Lambda.run"; !strings.Contains(strings.Join(got.Notes, "\n"), want) {
				t.Errorf("the notes %q do not have %q", got.Notes, want)
			}
		})
	}
}

// profileCounts returns the counts of a result in the form that fixtures print.
func profileCounts(p *cct.Profile) live.Counts {
	counts := make(live.Counts)
	var add func(n *cct.Node)
	add = func(n *cct.Node) {
		if n.Method >= 0 {
			m := p.Methods[n.Method]
			name := m.Class + "." + m.Name + m.Descriptor
			sum := counts[name]
			counts[name] = live.Count{Entered: sum.Entered + int64(n.Calls), Threw: sum.Threw + int64(n.Threw)}
		}
		for _, child := range n.Children {
			add(child)
		}
	}
	add(p.Merged)
	return counts
}

func flatRow(t *testing.T, p *cct.Profile, name string) cct.Row {
	t.Helper()
	rows := cct.Flat(p.Merged, p.Methods)
	at := slices.IndexFunc(rows, func(r cct.Row) bool { return p.Methods[r.Method].String() == name })
	if at < 0 {
		t.Fatalf("no %s in the result", name)
	}
	return rows[at]
}
