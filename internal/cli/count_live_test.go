package cli

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/service"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestCountLive counts a program that counts itself, looks at it meanwhile by
// the other commands, and ends by Ctrl-C.
func TestCountLive(t *testing.T) {
	t.Parallel()
	byBothDoors(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Everyday...)
		p.Run(1)
		sum := p.Check()
		before := p.Counts()
		counting := startSonde(t, append(countArgs(p.PID, everything...), "--json")...)
		p.Run(2)
		checkHeld(t, p.PID, counting.Process.Pid)
		truth := p.Counts().Minus(before)
		counting.signal(t, syscall.SIGINT)
		if code := counting.end(t); code != exitOK {
			t.Fatalf("exit code %d: %s", code, counting.stderr.String())
		}
		got := counting.result(t)
		if diff := withoutMissing(&got, truth).Diff(countsOf(&got)); len(diff) > 0 {
			t.Errorf("%s", strings.Join(diff, "\n"))
		}
		if ending(got.Ended) != endedInterrupted || !got.Final || got.PID != p.PID || got.JDK != jdk.Version || got.Timing != string(results.Exact) ||
			got.Hooks == nil || got.Hooks.Methods != len(got.Methods) || got.Leaving == nil || !got.Leaving.Unmapped ||
			got.HookCost == nil || got.HookCost.Median <= 0 || got.Dropped != 0 || got.Untimed != 0 {
			t.Errorf("%+v", got)
		}
		for _, want := range []string{"attached to " + strconv.Itoa(p.PID), " no hook", " of process " + strconv.Itoa(p.PID) + " in "} {
			if !strings.Contains(counting.stderr.String(), want) {
				t.Errorf("no %q in %s", want, counting.stderr.String())
			}
		}
		checkLeft(t, p, sum)
	})
}

// TestDisturbanceLive counts a busy program that is watched before it gets hooks, and after.
func TestDisturbanceLive(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		p := live.Start(t, jdk, briefAttach, live.Everyday...)
		p.Run(1)
		counting := startSonde(t, append(countArgs(p.PID, everything...), "--json", "--settle", "1s")...)
		p.Run(1)
		counting.signal(t, syscall.SIGINT)
		if code := counting.end(t); code != exitOK {
			t.Fatalf("exit code %d: %s", code, counting.stderr.String())
		}
		// How fast the program is and how much of it is sampled depends on the machine.
		got := counting.result(t)
		d := got.Disturbance
		if got.Hooks.Settling == nil || d == nil || (d.Speed == nil) != (d.Unknown != "") || d.Speed != nil && (d.Speed.Low > d.Speed.Value || d.Speed.Value > d.Speed.High || d.Speed.High > 1) {
			t.Errorf("settling %+v, disturbance %+v", got.Hooks.Settling, d)
		}
	}
}

// checkHeld looks at a JVM that another sonde holds.
func checkHeld(t *testing.T, pid, holder int) {
	t.Helper()
	code, out, stderr := sonde(t, "status", strconv.Itoa(pid), "--json")
	held := parse[struct {
		document.Status
		service.List
	}](t, out)
	if code != exitOK || !held.Inside || len(held.Occupants) != 1 {
		t.Fatalf("exit code %d: %s%s", code, out, stderr)
	}
	if len(held.Looks) != 1 || held.Looks[0].Client != holder || !strings.HasPrefix(held.Looks[0].Command, "sonde count") || held.Looks[0].Cost.Calls == 0 {
		t.Errorf("%+v", held.Looks)
	}
	serving := held.Occupants[0].Process
	if o := held.Occupants[0]; serving == holder || o.Alive != "yes" || o.Command != "sonde serve" ||
		len(o.Methods) == 0 || o.Calls == 0 || o.Threads == 0 || o.ArenaUsed == 0 || o.Timing != string(results.Exact) {
		t.Errorf("%+v", o)
	}
	_, out, _ = sonde(t, "status", strconv.Itoa(pid))
	if !strings.Contains(out, fmt.Sprintf("process  %d, alive", serving)) {
		t.Errorf("%s", out)
	}
	code, _, stderr = sonde(t, countArgs(pid, "a.**", "--duration", "1s", "--no-service")...)
	if code != exitError || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, fmt.Sprintf("process %d is held by sonde serve", pid)) ||
		!strings.Contains(stderr, fmt.Sprintf("process %d: wait, or free it with sonde undo %d", serving, pid)) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	code, out, _ = sonde(t, "doctor", strconv.Itoa(pid), "--no-service")
	if code != exitError || !strings.Contains(out, "stop  held") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// checkLeft sees that nothing of Sonde's is in a program that works as before.
func checkLeft(t *testing.T, p *live.Program, sum string) {
	t.Helper()
	code, out, stderr := sonde(t, "status", strconv.Itoa(p.PID), "--json")
	if got := parse[document.Status](t, out); code != exitOK || got.Inside || len(got.Occupants) != 0 {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
	if after := p.Check(); after != sum {
		t.Errorf("the program says %s, before %s", after, sum)
	}
}

// TestCountEndsByItself shows the ends a command line can ask for, and the forms
// of output, under load.
func TestCountEndsByItself(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			p := live.Start(t, jdk, briefAttach, live.Hammer)
			p.StartLoad(1)
			code, out, stderr := sonde(t, countArgs(p.PID, "hammer.Main.tiny*", "--calls", "5000", "--json", "--interval", "50ms", "--timing", "none")...)
			lines := strings.Split(strings.TrimSpace(out), "\n")
			for i, line := range lines {
				got := parse[document.Count](t, line)
				if last := i == len(lines)-1; got.Final != last || last && (ending(got.Ended) != endedCalls || got.Calls < 5000) || got.Methods[0].MeanNanos != nil {
					t.Errorf("line %d of %d: %s", i, len(lines), line)
				}
			}
			if code != exitOK {
				t.Errorf("exit code %d: %s", code, stderr)
			}
			code, out, stderr = sonde(t, countArgs(p.PID, "hammer.**", "none.Main.**", "hammer.Main.absent", "--calls", "5000", "--timing", "sampled", "--top", "2")...)
			if code != exitOK || !strings.Contains(out, "one call in 64 timed") || !strings.Contains(out, "not shown (--top)") || !strings.HasPrefix(strings.TrimSpace(out), "CALLS") {
				t.Errorf("exit code %d: %s", code, out)
			}
			for _, want := range []string{"no loaded class matches none.Main.**; a class that loads later gets its hooks then; similar loaded classes: hammer.Main\n", "class hammer.Main has no method absent of its own\n"} {
				if !strings.Contains(stderr, want) {
					t.Errorf("no %q in %s", want, stderr)
				}
			}
			p.StopLoad()
		})
	}
}

// TestNothingMatches: all commands end with the same exit code if no method has got a hook, and with 0 if one
// was not called.
func TestNothingMatches(t *testing.T) {
	t.Parallel()
	p := live.Start(t, jvmtest.OneJDK(t)[0], briefAttach, live.Calls)
	p.Run(1)
	pid := strconv.Itoa(p.PID)
	file := filepath.Join(t.TempDir(), "probes.yaml")
	if err := os.WriteFile(file, []byte("version: 1\nprobes:\n  - name: none\n    methods: none.Main.run\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"count", pid, "none.Main.run"}, {"count", pid, "none.Main.run", "--json"}, {"count", pid, "none.Main.run", "--when", "$1 == 1"}, {"monitor", pid, "none.Main.run"},
		{"trace", pid, "none.Main.run"}, {"profile", pid, "--root", "none.Main.run", "--timing", "exact"}, {"apply", pid, "-f", file},
	} {
		code, out, stderr := sonde(t, append(args, "--duration", "100ms")...)
		if code != exitError || !strings.Contains(stderr, "sonde: no method that ") || strings.Count(stderr, "sonde: ") != 1 {
			t.Errorf("sonde %q: exit code %d, want %d: %s%s", args, code, exitError, out, stderr)
		}
	}
	const missing = "sonde: class calls.Plain has no method wrok of its own; similar: calls.Plain.work; nothing was changed in the JVM\n"
	for _, args := range [][]string{
		{"count", pid, "calls.Plain.wrok"}, {"monitor", pid, "calls.Plain.wrok"}, {"trace", pid, "calls.Plain.wrok"},
		{"drill", pid, "calls.Plain.wrok", "--slower-than", "1ms"}, {"profile", pid, "--root", "calls.Plain.wrok", "--timing", "exact"},
	} {
		code, out, stderr := sonde(t, append(args, "--duration", "20s")...)
		if code != exitError || out != "" || !strings.HasSuffix(stderr, missing) || strings.Contains(stderr, "waiting") || strings.Contains(stderr, "restored") {
			t.Errorf("sonde %q: exit code %d: %s%s", args, code, out, stderr)
		}
	}
	for _, command := range []string{"count", "monitor"} {
		if code, out, stderr := sonde(t, command, pid, "calls.Plain.work", "--duration", "100ms"); code != exitOK {
			t.Errorf("%s of a method that is not called: exit code %d, want %d: %s%s", command, code, exitOK, out, stderr)
		}
	}
}

// TestCountOutlivesTheJVM kills a JVM that is counted: what was measured stays.
func TestCountOutlivesTheJVM(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			p := live.Start(t, jdk, briefAttach, live.Calls)
			p.Run(1)
			before := p.Counts()
			counting := startSonde(t, append(countArgs(p.PID, everything...), "--json")...)
			p.Run(1)
			truth := p.Counts().Minus(before)
			if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			code := counting.end(t)
			got := counting.result(t)
			if diff := truth.Diff(countsOf(&got)); code != exitOK || ending(got.Ended) != endedExited || len(diff) > 0 {
				t.Errorf("exit code %d, ended %s, %v: %s", code, got.Ended, diff, counting.stderr.String())
			}
		})
	}
}

func startContexts(t *testing.T, jdk jvmtest.JDK) *monitoredProgram {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/contexts/Contexts.java"}})
	return &monitoredProgram{t, jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "contexts.Contexts"}})}
}

const (
	contextsPay   = "contexts.Contexts$Pay.charge"
	contextsWeb   = "contexts.Contexts$Web.handle"
	contextsOrder = "contexts.Contexts$Order.place"
)

// callsByContext returns the calls of a count by their context.
func callsByContext(d *document.Count) map[string]uint64 {
	calls := make(map[string]uint64)
	for _, m := range d.Methods {
		words := []string{m.Within}
		for _, name := range slices.Sorted(maps.Keys(m.Tags)) {
			value := "null"
			if m.Tags[name] != nil {
				value = *m.Tags[name]
			}
			words = append(words, name+"="+value)
		}
		words = append(words, m.Callers...)
		if m.Calls > 0 {
			calls[strings.Join(words, " ")] += m.Calls
		}
	}
	return calls
}

// TestContextsLive counts calls where and when it matters, and compares with what the
// program did: of each round and customer it charges twice below Order.place, once
// directly, by the web and by a job, and once in another thread.
func TestContextsLive(t *testing.T) {
	t.Parallel()
	const rounds = 40
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			p := startContexts(t, jdk)
			p.do("3", "done 3")
			for _, test := range []struct {
				flags []string
				want  map[string]uint64
			}{
				{
					[]string{"--within", contextsWeb, "--within", contextsOrder + " >", "--tag", "tier=$1.tier at " + contextsWeb, "--by-tag", "tier"},
					map[string]uint64{
						contextsWeb + " tier=gold": 3 * rounds, contextsWeb + " tier=silver": 3 * rounds, contextsWeb + " tier=null": 3 * rounds,
						contextsOrder + " > tier=gold": rounds, contextsOrder + " > tier=silver": rounds, contextsOrder + " > tier=null": rounds,
						contextsOrder + " >": 3 * rounds,
					},
				},
				{
					[]string{"--when", `$1.getTier() == "gold" && $2 >= 10 && $return == true`, "--timing", "none"},
					map[string]uint64{"": 5 * (rounds - 10) / 2},
				},
				{
					[]string{"--when", `tx.tier in ("gold", "silver")`, "--tag", "tier=$1.tier at " + contextsWeb, "--hand-off=false"},
					map[string]uint64{"": 2 * 2 * rounds},
				},
				{
					[]string{"--context", "1", "--within", contextsOrder, "--hand-off=false"},
					map[string]uint64{
						contextsOrder + " " + contextsOrder + "(Lcontexts.Contexts$Customer;I)V":         2 * 3 * rounds,
						contextsOrder + " contexts.Contexts$Order.audit(Lcontexts.Contexts$Customer;I)V": 2 * 3 * rounds,
					},
				},
			} {
				c := startSonde(t, append(countArgs(p.PID, contextsPay, "--json"), test.flags...)...)
				p.do(strconv.Itoa(rounds), fmt.Sprintf("done %d", rounds))
				c.signal(t, syscall.SIGINT)
				if code := c.end(t); code != exitOK {
					t.Fatalf("exit code %d: %s", code, c.stderr.String())
				}
				got := c.result(t)
				if !maps.Equal(callsByContext(&got), test.want) || got.Dropped != 0 || got.Leaving == nil {
					t.Errorf("%q: %v, want %v\n%s", test.flags, callsByContext(&got), test.want, c.stderr.String())
				}
			}
			c := startSonde(t, countArgs(p.PID, contextsPay, "--json", "--when", "$2 < 0")...)
			p.do(strconv.Itoa(rounds), fmt.Sprintf("done %d", rounds))
			c.signal(t, syscall.SIGINT)
			_ = c.end(t)
			got, want := c.result(t), fmt.Sprintf("%d calls were made, and the condition held for none", 15*rounds)
			if !slices.Contains(got.Remarks, want) || got.Calls != 0 {
				t.Errorf("a condition that never held: %d calls, %q, want %q", got.Calls, got.Remarks, want)
			}
			if _, out, _ := sonde(t, "status", strconv.Itoa(p.PID)); !strings.HasPrefix(out, "Sonde has no hooks and no agent in") {
				t.Errorf("%s", out)
			}
		})
	}
}

// Calls of methods that HotSpot may replace are marked as a lower bound wherever calls are
// shown, and nothing says that such a method was not called. Another method is exact.
func TestCallsOfIntrinsicsAreALowerBound(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			p := startIntrinsics(t, jdk)
			methods := []string{"java.lang.Math.max(int,int)", "java.lang.Math.sqrt", "intrinsics.Intrinsics.step"}
			p.checkCount(append(countArgs(p.PID, methods...), "--json"))
			p.checkCount(append(countArgs(p.PID, methods...), "--json", "--when", "$1 >= 0"))
			p.checkCountText(countArgs(p.PID, methods...))
			p.checkMonitor(methods)
			p.checkApply()
			p.checkProfile()
			p.checkNothingSeen()
		})
	}
}

const intrinsicCalls = 100_000

// An intrinsicsProgram has had its methods compiled, as far as the JVM likes to.
type intrinsicsProgram struct {
	*jvmtest.Running
	t *testing.T
}

func startIntrinsics(t *testing.T, jdk jvmtest.JDK) *intrinsicsProgram {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/intrinsics/Intrinsics.java"}})
	p := &intrinsicsProgram{jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-cp", classes, "intrinsics.Intrinsics"}}), t}
	p.work()
	return p
}

func (p *intrinsicsProgram) work() {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.Stdin, intrinsicCalls); err != nil {
		p.t.Fatal(err)
	}
	p.Await(p.t, "done ")
}

// during has the program work while a command has its hooks in, and gives what that wrote.
func (p *intrinsicsProgram) during(args ...string) string {
	p.t.Helper()
	r := startSonde(p.t, args...)
	p.work()
	r.signal(p.t, syscall.SIGINT)
	if code := r.end(p.t); code != exitOK {
		p.t.Fatalf("sonde %s: exit code %d: %s", strings.Join(args, " "), code, r.stderr.String())
	}
	return r.out.String()
}

// lastLine is the object that is about the whole time.
func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[len(lines)-1]
}

func (p *intrinsicsProgram) checkRow(method string, calls uint64, bound document.Bound) {
	p.t.Helper()
	want := document.NewBound(method == "max" || method == "sqrt")
	if bound != want || !want.LowerBound && calls != intrinsicCalls { // the JDK calls max itself
		p.t.Errorf("%s has %d of %d calls: %+v, want %+v", method, calls, intrinsicCalls, bound, want)
	}
}

func (p *intrinsicsProgram) checkCount(args []string) {
	p.t.Helper()
	got := parse[document.Count](p.t, lastLine(p.during(args...)))
	if len(got.Methods) != 3 {
		p.t.Errorf("%+v", got.Methods)
	}
	for _, m := range got.Methods {
		p.checkRow(m.Method, m.Calls, m.Bound)
	}
}

func (p *intrinsicsProgram) checkCountText(args []string) {
	p.t.Helper()
	out := p.during(args...)
	if strings.Contains(out, "not called") || !strings.Contains(out, lowerBoundNote+"\n") {
		p.t.Errorf("%s", out)
	}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if strings.HasSuffix(line, ".step\n") && words[0] != format.Grouped(intrinsicCalls) || strings.HasSuffix(line, ".max\n") && words[0] != "≥" {
			p.t.Errorf("%s", line)
		}
	}
}

func (p *intrinsicsProgram) checkMonitor(methods []string) {
	p.t.Helper()
	args := append([]string{"monitor", strconv.Itoa(p.PID)}, methods...)
	got := parse[document.Monitor](p.t, lastLine(p.during(append(args, "--json", "--by", "method")...)))
	for _, row := range got.Rows {
		p.checkRow(row.Method, row.Calls, row.Bound)
	}
	if len(got.Rows) != 3 || !got.Total.LowerBound {
		p.t.Errorf("%+v", got)
	}
}

func (p *intrinsicsProgram) checkApply() {
	p.t.Helper()
	file := filepath.Join(p.t.TempDir(), "probes.yaml")
	const set = "version: 1\nprobes:\n- {name: sqrt, methods: java.lang.Math.sqrt}\n- {name: step, methods: intrinsics.Intrinsics.step}\n"
	if err := os.WriteFile(file, []byte(set), 0o600); err != nil {
		p.t.Fatal(err)
	}
	got := parse[document.Applied](p.t, lastLine(p.during("apply", strconv.Itoa(p.PID), "-f", file, "--json")))
	if len(got.Probes) != 2 || !got.Probes[0].LowerBound || got.Probes[1].LowerBound || got.Probes[1].Calls != intrinsicCalls {
		p.t.Errorf("%+v", got.Probes)
	}
	if text := runningTexts(got.Probes); !strings.HasPrefix(text[0][0], "≥ ") || text[1][0] != format.Grouped(intrinsicCalls) {
		p.t.Errorf("%v", text)
	}
}

func (p *intrinsicsProgram) checkProfile() {
	p.t.Helper()
	json, pb := filepath.Join(p.t.TempDir(), "a.json"), filepath.Join(p.t.TempDir(), "a.pb.gz")
	out := p.during("profile", strconv.Itoa(p.PID), "--root", "intrinsics.Intrinsics.work", "--into", "java.lang.Math.max(int,int)", "--into", "java.lang.Math.sqrt",
		"--timing", "exact", "--scheme", "eager", "--wait", "10s", "-o", json, "-o", pb)
	got, err := report.ReadProfile(json)
	if err != nil {
		p.t.Fatal(err)
	}
	if row := flatRow(p.t, got, "intrinsics.Intrinsics.step"); row.Calls != intrinsicCalls {
		p.t.Errorf("%d calls of step", row.Calls)
	}
	for _, m := range got.Methods {
		if m.LowerBound != (m.Class == "java/lang/Math") {
			p.t.Errorf("%+v", m)
		}
	}
	notes := strings.Join(got.Notes, "\n")
	for _, want := range []string{"java.lang.Math.max", "java.lang.Math.sqrt", session.WhyLowerBound} {
		if !strings.Contains(notes, want) || !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			p.t.Errorf("no %q in %s", want, out)
		}
	}
	file, err := os.ReadFile(pb)
	if err != nil {
		p.t.Fatal(err)
	}
	written, err := profile.Parse(bytes.NewReader(file))
	if err != nil || !strings.Contains(strings.Join(written.Comments, "\n"), session.WhyLowerBound) {
		p.t.Errorf("%v, %v", written, err)
	}
}

// checkNothingSeen asks for no more than a method whose calls may all be missing.
func (p *intrinsicsProgram) checkNothingSeen() {
	p.t.Helper()
	for _, args := range [][]string{
		{"profile", strconv.Itoa(p.PID), "--root", "java.lang.Math.sqrt", "--duration", "100ms"},
		{"trace", strconv.Itoa(p.PID), "java.lang.Math.sqrt", "--duration", "100ms"},
	} {
		code, _, stderr := sonde(p.t, args...)
		if code != exitError || strings.Contains(stderr, "not called") || !strings.Contains(stderr, session.WhyLowerBound) {
			p.t.Errorf("sonde %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
		}
	}
}
