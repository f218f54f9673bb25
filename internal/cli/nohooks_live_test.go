package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/drill"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/session"
)

// TestCommandsWithoutHooks looks at JVMs that let no agent in. Each command does what it can without hooks, and says in one
// line what it cannot do, why, and what works instead.
func TestCommandsWithoutHooks(t *testing.T) {
	t.Parallel()
	tests := []struct{ flag, why, problem, class, path string }{
		{"-XX:-EnableDynamicAgentLoading", "its option -XX:-EnableDynamicAgentLoading forbids loading agents", "lock", "Locked", "serve book add"},
		{"-XX:+DisableAttachMechanism", "its option -XX:+DisableAttachMechanism forbids attaching", "deep", "Deep", "serve price discount history pause"},
	}
	for _, jdk := range jvmtest.JDKs(t) {
		for i, test := range tests {
			if jdk.Major < 17 || !jvmtest.Turn(t, jdk, i, len(tests)) {
				continue // the program has records
			}
			t.Run(fmt.Sprintf("%s, jdk%d", test.flag, jdk.Major), func(t *testing.T) {
				t.Parallel()
				pid, method := startDrilled(t, jdk, test.problem, test.flag), "drilled.Drilled$"+test.class+".serve"
				checkRefusals(t, pid, method, test.why)
				if code, out, stderr := sonde(t, "profile", pid, "--root", method, "--duration", "1s"); code != exitOK || !strings.Contains(out+stderr, "the JVM got no hooks: "+test.why) {
					t.Errorf("profile: exit code %d: got %s%s, want stacks and %s", code, out, stderr, test.why)
				}
				if jdk.Major < 25 || i > 0 { // otherwise see TestDrillTraced
					checkSampledDrill(t, pid, method, test.why, test.path)
				}
				checkSampledWalk(t, jdk, test.flag, test.why)
			})
		}
	}
}

// checkRefusals runs the commands that need an agent, and those that say what an agent has done.
func checkRefusals(t *testing.T, pid, method, why string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "probes.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "version: 1\nprobes:\n- name: p\n  methods: %s\n", method), 0o600); err != nil {
		t.Fatal(err)
	}
	cannot := fmt.Sprintf("process %s: no method can get a hook and no class can be read, because %s: start it without that option, or with -javaagent (sonde agent-jar); "+
		"sonde hot, walk, drill and profile --timing stacks work without hooks\n", pid, why)
	refused := "sonde: " + cannot
	for _, test := range []struct {
		args []string
		code int
		says string // all of the standard error
	}{
		{[]string{"count", pid, method}, exitError, refused},
		{[]string{"monitor", pid, method}, exitError, refused},
		{[]string{"trace", pid, method}, exitError, refused},
		{[]string{"calls", pid}, exitError, refused},
		{[]string{"profile", pid, "--root", method, "--timing", "exact"}, exitError, refused},
		{[]string{"profile", pid, "--root", method, "--calls", "3"}, exitError, refused},
		{[]string{"find", pid, "Drilled"}, exitError, refused},
		{[]string{"callees", pid, method}, exitError, refused},
		{[]string{"observe", pid}, exitError, refused},
		{[]string{"attach", pid}, exitError, refused},
		{[]string{"apply", pid, "-f", file}, exitError, refused},
		{[]string{"apply", pid, "-f", file, "--dry-run"}, exitOK, "note: " + cannot},
		{[]string{"apply", pid}, exitUsage, fmt.Sprintf("sonde: -f is missing: no sonde apply is running for process %s, so there is nothing to show\nTry 'sonde apply --help'.\n", pid)},
		{[]string{"save", pid}, exitError, fmt.Sprintf("sonde: no sonde apply is running for process %s: there are no probes to save\n", pid)},
		{[]string{"status", pid}, exitOK, ""},
		{[]string{"undo", pid}, exitOK, ""},
		{[]string{"doctor", pid}, exitError, fmt.Sprintf("sonde: process %s: no method can get a hook now: see the findings marked stop; %s\n", pid, session.WithoutHooks)},
	} {
		code, out, stderr := sonde(t, test.args...)
		if code != test.code || stderr != test.says || (out != "") != (code == exitOK || test.args[0] == "doctor") {
			t.Errorf("sonde %v: exit code %d: got %s%s, want %d: %s", test.args, code, out, stderr, test.code, test.says)
		}
		if test.args[0] == "doctor" && !strings.Contains(out, why) {
			t.Errorf("doctor: got %s, want %s", out, why)
		}
	}
}

// TestDrillTraced searches in JVMs that let no agent in, and whose flight recorder traces methods.
func TestDrillTraced(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.JDKs(t) {
		if jdk.Major >= 25 {
			t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
				t.Parallel()
				checkTracedDrill(t, jdk)
			})
		}
	}
}

// checkTracedDrill searches below a method, and from where work enters the program. The JVM's log shows that it restores all classes.
func checkTracedDrill(t *testing.T, jdk jvmtest.JDK) {
	t.Helper()
	const why = "its option -XX:-EnableDynamicAgentLoading forbids loading agents"
	log := filepath.Join(t.TempDir(), "tracing.log")
	pid := startDrilled(t, jdk, "deep", "-XX:-EnableDynamicAgentLoading", "-Xlog:jfr+methodtrace=debug:file="+log)
	for _, args := range [][]string{{"drilled.Drilled$Deep.serve"}, {"--own", "drilled"}} {
		code, out, stderr := sonde(t, append([]string{"drill", pid, "--slower-than", "40ms", "--json"}, args...)...)
		if code != exitOK {
			t.Fatalf("%v: exit code %d: %s", args, code, stderr)
		}
		found := parse[document.Drill](t, out)
		var names []string
		for _, l := range found.Path {
			names = append(names, l.Method)
		}
		if got, want := strings.Join(names, " "), "serve price discount history pause"; got != want && !strings.HasSuffix(got, " "+want) {
			t.Errorf("%v: path: got %s, want %s; %s", args, got, want, stderr)
		}
		if found.Recorded == nil || found.Recorded.Why != why || found.Unhooked != nil || found.Ended != string(endedCause) || !found.Removed || !strings.Contains(strings.Join(found.Summary, "\n"), "method tracing, no agent") {
			t.Errorf("%v: got %+v, %s, %q, want a search by the flight recorder, because %s", args, found.Recorded, found.Ended, found.Summary, why)
		}
		if c := found.Cause; c == nil || c.Kind != drill.Sleeps || c.Share < 0.5 {
			t.Errorf("%v: cause: got %+v, want a sleep with most of the time; %s", args, c, stderr)
		}
		if len(args) == 1 && (found.Normal.Calls < found.Slow.Calls || found.Slow.Calls < 3 || found.Normal.Mean > found.Slow.Mean/2) {
			t.Errorf("got %+v slow and %+v normal calls, want three times as many normal ones, which are short", found.Slow, found.Normal)
		}
		checkUndrilled(t, pid)
		checkRestored(t, log)
	}
}

// checkRestored checks by its log that a JVM traces no method any more.
func checkRestored(t *testing.T, log string) {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	changed := map[string]bool{} // methods that are traced or timed
	for line := range strings.Lines(string(text)) {
		if _, rest, is := strings.Cut(line, "Modify bytecode for "); is {
			method, _, _ := strings.Cut(rest, " ")
			changed[method] = strings.Contains(rest, "+")
		}
	}
	for method, is := range changed {
		if is {
			t.Errorf("%s is still traced: %s", method, text)
		}
	}
	if len(changed) == 0 {
		t.Errorf("no method was traced: %s", text)
	}
}

// checkSampledDrill searches without hooks, from a method down a path.
func checkSampledDrill(t *testing.T, pid, method, why, path string) {
	t.Helper()
	page := filepath.Join(t.TempDir(), "slow.html")
	code, out, stderr := sonde(t, "drill", pid, method, "--slower-than", "40ms", "--json", "-o", page)
	if code != exitOK {
		t.Fatalf("drill: exit code %d: %s", code, stderr)
	}
	found := parse[document.Drill](t, out)
	var names []string
	for _, l := range found.Path {
		names = append(names, l.Method)
	}
	if got := strings.Join(names, " "); got != path {
		t.Errorf("path: got %s, want %s; %s", got, path, stderr)
	}
	if found.Unhooked == nil || found.Unhooked.Why != why || found.Ended != string(endedCause) || !strings.Contains(strings.Join(found.Summary, "\n"), "slow calls are not distinguished from normal calls") {
		t.Errorf("got %+v, %s, %q, want a search without hooks, because %s", found.Unhooked, found.Ended, found.Summary, why)
	}
	switch c := found.Cause; {
	case c == nil || c.Share < 0.5:
		t.Errorf("cause: got %+v, want one with most of the time", c)
	case strings.HasSuffix(path, "pause"):
		if c.Kind != drill.Sleeps {
			t.Errorf("cause: got %+v, want a sleep", c)
		}
	case c.Kind != drill.Locked || c.Lock == nil || c.Lock.Class != "drilled.Drilled$Ledger" || c.Lock.Holder != "closing":
		t.Errorf("cause: got %+v, %+v, want a Ledger that the thread closing has; %s", c, c.Lock, stderr)
	}
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "Nothing was put into the JVM.") {
		t.Errorf("the page does not say that nothing was put into the JVM: %v", err)
	}
	if code, out, stderr := sonde(t, "drill", pid, "--slower-than", "40ms"); code != exitError || out != "" || !strings.Contains(stderr, why+"; without hooks, slow calls are not distinguished from normal calls: name a METHOD") {
		t.Errorf("drill without METHOD: exit code %d: got %s%s, want that it needs one", code, out, stderr)
	}
}

// checkSampledWalk looks at a busy JVM: hot lacks nothing, and walk has its shares from samples.
func checkSampledWalk(t *testing.T, jdk jvmtest.JDK, flag, why string) {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/walked/OneClass.java"}})
	pid := strconv.Itoa(jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{flag, "-Xmx64m", "-cp", classes, "OneClass"}}).PID)
	if code, out, stderr := sonde(t, "walk", pid, "--sampling", "1s"); code != exitOK || !strings.Contains(out, "No method got a hook: "+why) || !strings.Contains(out, "burn") {
		t.Errorf("walk: exit code %d: got %s%s, want the cause of burn, and %s", code, out, stderr, why)
	}
	if code, out, stderr := sonde(t, "hot", pid, "--duration", "1s"); code != exitOK || !strings.Contains(out, "burn") {
		t.Errorf("hot: exit code %d: got %s%s, want burn", code, out, stderr)
	}
	if !strings.Contains(flag, "Attach") {
		return
	}
	want := fmt.Sprintf("sonde: process %s: Sonde cannot attach to it: %s; --sampler kernel needs no attaching\n", pid, why)
	if code, _, stderr := sonde(t, "hot", pid, "--duration", "1s", "--sampler", "dumps"); code != exitError || stderr != want {
		t.Errorf("hot by thread dumps: exit code %d: got %s, want %s", code, stderr, want)
	}
}
