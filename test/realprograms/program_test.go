package realprograms

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// jarFolder is where Debian keeps jars.
const jarFolder = "/usr/share/java"

// A work is a program of others with rounds of work for it; testdata has the
// source of a class of that name.
type work struct {
	name     string
	jars     []string // of jarFolder, without their extension; or whole paths
	patterns []string // what of it gets hooks
	options  []string // of java
	release  string   // what it is compiled for; "" for 17
}

// with returns the work with more options of java.
func (w work) with(options ...string) work {
	w.options = slices.Concat(w.options, options)
	return w
}

// A program is a work that runs.
type program struct {
	*jvmtest.Running
	t *testing.T
}

// start compiles a work with one JDK, starts it on another, which may lack a
// compiler, and waits until it has done its first round.
func start(t *testing.T, compiler, runtime jvmtest.JDK, w work) *program {
	t.Helper()
	classpath := make([]string, 0, len(w.jars)+1)
	for _, jar := range w.jars {
		path := jar
		if !filepath.IsAbs(jar) {
			path = filepath.Join(jarFolder, jar+".jar")
		}
		if _, err := os.Stat(path); err != nil {
			t.Skipf("NOT TESTED: %s is missing: .ci/setup jars installs it", path)
		}
		classpath = append(classpath, path)
	}
	release := w.release
	if release == "" {
		release = "17"
	}
	flags := []string{"--release", release, "-parameters"}
	classes := jvmtest.Compile(t, compiler, jvmtest.Fixture{
		Sources:   []string{"testdata/RealProgram.java", "testdata/" + w.name + ".java"},
		Classpath: classpath,
		Flags:     flags,
	})
	path := strings.Join(slices.Concat([]string{classes}, classpath), string(os.PathListSeparator))
	args := slices.Concat(w.options, []string{"-Duser.language=en", "-cp", path, "RealProgram", w.name})
	// Where a JVM that crashes leaves its report, the test looks for it.
	launch := jvmtest.Launch{Args: args, Dir: t.TempDir()}
	p := &program{jvmtest.Start(t, runtime, launch), t}
	t.Cleanup(func() {
		if reports, _ := filepath.Glob(filepath.Join(launch.Dir, "hs_err*")); len(reports) > 0 {
			t.Errorf("the JVM crashed: %v", reports)
		}
	})
	return p
}

// round runs one round and returns what it said.
func (p *program) round() []string {
	p.t.Helper()
	p.order("round")
	var lines []string
	for {
		line := p.Await(p.t, "")
		text, more := strings.CutPrefix(line, "| ")
		if !more {
			p.expect(line, "end")
			return lines
		}
		lines = append(lines, text)
	}
}

// load starts threads that run rounds, and returns when some rounds are done.
func (p *program) load(threads, rounds int) {
	p.t.Helper()
	p.order(fmt.Sprintf("load %d", threads))
	p.expect(p.Await(p.t, ""), "loading")
	p.pass(rounds)
}

// pass waits until the load has run more rounds.
func (p *program) pass(rounds int) {
	p.t.Helper()
	p.order(fmt.Sprintf("rounds %d", rounds))
	p.expect(p.Await(p.t, ""), "passed")
}

// stop ends the load and expects that every round said what the first said.
func (p *program) stop() {
	p.t.Helper()
	p.order("stop")
	var rounds, different int
	line := p.Await(p.t, "")
	if _, err := fmt.Sscanf(line, "stopped %d %d", &rounds, &different); err != nil || different != 0 {
		p.t.Errorf("under load: %s\nstderr: %s", line, p.Stderr())
	}
}

// counts is what the program counted of its own calls.
func (p *program) counts() map[string]int64 {
	p.t.Helper()
	p.order("counts")
	counts := make(map[string]int64)
	for {
		line := p.Await(p.t, "")
		text, more := strings.CutPrefix(line, "count ")
		if !more {
			p.expect(line, "end")
			return counts
		}
		number, name, _ := strings.Cut(text, " ")
		var count int64
		if _, err := fmt.Sscan(number, &count); err != nil {
			p.t.Fatalf("%q: %v", line, err)
		}
		counts[name] = count
	}
}

func (p *program) order(words string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.Stdin, words); err != nil {
		p.t.Fatalf("ordering %q: %v\nstderr: %s", words, err, p.Stderr())
	}
}

func (p *program) expect(line, want string) {
	p.t.Helper()
	if line != want {
		p.t.Fatalf("the program says %q, not %q\nstderr: %s", line, want, p.Stderr())
	}
}

// same compares two rounds line by line.
func (p *program) same(when string, got, want []string) {
	p.t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			p.t.Errorf("%s the program says otherwise from line %d on:\n got  %q\n want %q", when, i+1, got[min(i, len(got)):min(i+1, len(got))], want[min(i, len(want)):min(i+1, len(want))])
			return
		}
	}
}

// quiet expects that nothing is on the error stream but what the JVM says of
// every agent that is loaded late.
func (p *program) quiet() {
	p.t.Helper()
	for line := range strings.Lines(p.Stderr()) {
		if !strings.HasPrefix(line, "WARNING: ") {
			p.t.Errorf("the program complains:\n%s", p.Stderr())
			return
		}
	}
}

// sampledPeriod is one that is longer than most methods' calls in a round are
// many, and shorter than some.
const sampledPeriod = 64

// exercise puts hooks into a program that is at work, has it work with hooks
// that time every call and with hooks that time some, and takes them out while
// it works. All that it says meanwhile must be what it said before.
func exercise(t *testing.T, p *program, patterns ...string) {
	t.Helper()
	set, err := pattern.ParseSet(patterns...)
	if err != nil {
		t.Fatal(err)
	}
	before := p.round()
	p.load(2, 1)
	began := time.Now()
	s, err := session.Open(t.Context(), p.PID, session.Settings{Command: "test", Notice: func(text string) { t.Log("notice: " + text) }})
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	t.Cleanup(func() {
		if !closed { // the test failed on the way
			_, _ = s.Close(context.Background())
		}
		_ = s.Release()
	})
	opened := time.Now()
	installation, err := s.Instrument(t.Context(), session.Wanted{Methods: set, Flags: arena.On | arena.Timed | arena.Flat})
	if err != nil {
		t.Fatal(err)
	}
	pause, _ := installation.Pause()
	t.Logf("entered in %v; hooks in %d methods of %d classes, in %d batches, in %v, of which the program stood still for %v",
		opened.Sub(began), len(s.Methods()), s.Classes(), len(installation.Batches), time.Since(opened), pause)
	p.pass(2)
	p.stop()

	p.countedRound(s, before, "with every call timed")
	if err := s.Switch(t.Context(), set, arena.On|arena.Sampled|arena.Flat, sampledPeriod); err != nil {
		t.Fatal(err)
	}
	p.countedRound(s, before, "with some calls timed")

	p.load(2, 1)
	farewell, err := s.Close(t.Context())
	closed = true
	if err != nil || !farewell.Restored.Unmapped || len(farewell.Remarks) > 0 {
		t.Errorf("leaving: %v, %+v", err, farewell)
	}
	t.Logf("left in %v, of which the program stood still for %v", farewell.Took, farewell.Pause.Pause)
	p.pass(1)
	p.stop()
	p.same("after the hooks are out", p.round(), before)
	tellLeftAlone(t, s)
}

// countedRound runs a round that nothing else disturbs: it must say what it said
// before, and the hooks must count what the program itself counts.
func (p *program) countedRound(s *session.Look, want []string, when string) {
	p.t.Helper()
	ownBefore, before := p.counts(), calls(p.t, s)
	p.same(when, p.round(), want)
	own, now := p.counts(), calls(p.t, s)
	if maps.Equal(now, before) {
		p.t.Errorf("%s nothing was counted", when)
	}
	for name, count := range own {
		after, hooked := now[name]
		if got, want := after-before[name], count-ownBefore[name]; hooked && got != want {
			p.t.Errorf("%s: %s: the hooks count %d, the program %d", when, name, got, want)
		}
	}
}

// calls is what hooks counted so far, of each method that has one, by
// class.name(descriptor), and how many calls ended by an exception by the same
// with "threw " before it.
func calls(t *testing.T, s *session.Look) map[string]int64 {
	t.Helper()
	sum, err := s.Sum()
	if err != nil {
		t.Fatal(err)
	}
	if sum.Dropped != 0 {
		t.Errorf("%d calls were dropped", sum.Dropped)
	}
	counted := make(map[string]int64)
	for _, m := range s.Methods() {
		name := m.Class + "." + m.Name + m.Descriptor
		counted[name], counted["threw "+name] = 0, 0
		if totals := sum.Methods[m.ID]; totals != nil {
			counted[name], counted["threw "+name] = int64(totals.Calls), int64(totals.Threw)
		}
	}
	return counted
}

// tellLeftAlone logs what has no hook, by reason. A class that the JVM refused is
// a failure, but for those whose own initialiser had failed, which it calls
// invalid.
func tellLeftAlone(t *testing.T, s *session.Look) {
	t.Helper()
	reasons, example := make(map[string]int), make(map[string]string)
	for _, left := range s.LeftAlone() {
		reasons[left.Reason]++
		example[left.Reason] = left.Class + " " + left.Method
		if strings.HasPrefix(left.Reason, "the JVM refused") && !strings.HasSuffix(left.Reason, "invalid class") {
			t.Errorf("%s: %s", left.Class, left.Reason)
		}
	}
	for reason, count := range reasons {
		t.Logf("left alone: %d × %s, such as %s", count, reason, example[reason])
	}
}

// onAll runs a test on every JDK.
func onAll(t *testing.T, test func(t *testing.T, jdk jvmtest.JDK)) {
	t.Helper()
	jvmtest.OnEach(t, jvmtest.JDKs(t), test)
}

// onOne runs a test on one JDK, in a soak on every JDK.
func onOne(t *testing.T, test func(t *testing.T, jdk jvmtest.JDK)) {
	t.Helper()
	jvmtest.OnEach(t, jvmtest.OneJDK(t), test)
}
