package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/session"
)

// Calls of methods that HotSpot may replace are marked as a lower bound wherever calls are
// shown, and nothing says that such a method was not called. A method beside them is exact.
func TestCallsOfIntrinsicsAreALowerBound(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
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

func (p *intrinsicsProgram) checkRow(method string, calls uint64, bound lowerBoundJSON) {
	p.t.Helper()
	want := describeLowerBound(method == "max" || method == "sqrt")
	if bound != want || !want.LowerBound && calls != intrinsicCalls { // the JDK calls max itself
		p.t.Errorf("%s has %d of %d calls: %+v, want %+v", method, calls, intrinsicCalls, bound, want)
	}
}

func (p *intrinsicsProgram) checkCount(args []string) {
	p.t.Helper()
	got := parse[countJSON](p.t, lastLine(p.during(args...)))
	if len(got.Methods) != 3 {
		p.t.Errorf("%+v", got.Methods)
	}
	for _, m := range got.Methods {
		p.checkRow(m.Method, m.Calls, m.lowerBoundJSON)
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
		if strings.HasSuffix(line, ".step\n") && words[0] != grouped(intrinsicCalls) || strings.HasSuffix(line, ".max\n") && words[0] != "≥" {
			p.t.Errorf("%s", line)
		}
	}
}

func (p *intrinsicsProgram) checkMonitor(methods []string) {
	p.t.Helper()
	args := append([]string{"monitor", strconv.Itoa(p.PID)}, methods...)
	got := parse[monitorJSON](p.t, lastLine(p.during(append(args, "--json", "--by", "method")...)))
	for _, row := range got.Rows {
		p.checkRow(row.Method, row.Calls, row.lowerBoundJSON)
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
	got := parse[appliedJSON](p.t, lastLine(p.during("apply", strconv.Itoa(p.PID), "-f", file, "--json")))
	if len(got.Probes) != 2 || !got.Probes[0].LowerBound || got.Probes[1].LowerBound || got.Probes[1].Calls != intrinsicCalls {
		p.t.Errorf("%+v", got.Probes)
	}
	if text := runningTexts(got.Probes); !strings.HasPrefix(text[0][0], "≥ ") || text[1][0] != grouped(intrinsicCalls) {
		p.t.Errorf("%v", text)
	}
}

func (p *intrinsicsProgram) checkProfile() {
	p.t.Helper()
	json, pb := filepath.Join(p.t.TempDir(), "a.json"), filepath.Join(p.t.TempDir(), "a.pb.gz")
	out := p.during("profile", strconv.Itoa(p.PID), "--root", "intrinsics.Intrinsics.work", "--into", "java.lang.Math.max(int,int)", "--into", "java.lang.Math.sqrt",
		"--timing", "exact", "--scheme", "eager", "-o", json, "-o", pb)
	got, err := report.ReadFile(json)
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
		{"trace", strconv.Itoa(p.PID), "java.lang.Math.sqrt", "--for", "100ms"},
	} {
		code, _, stderr := sonde(p.t, args...)
		if code != exitError || strings.Contains(stderr, "not called") || !strings.Contains(stderr, session.WhyLowerBound) {
			p.t.Errorf("sonde %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
		}
	}
}
