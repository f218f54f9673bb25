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
				refused := fmt.Sprintf("sonde: process %s: no method can get a hook, because %s: start it without that option, or with -javaagent (sonde agent-jar); "+
					"sonde hot, walk, drill and profile --timing stacks work without hooks, by samples\n", pid, test.why)
				for _, args := range [][]string{
					{"count", pid, method}, {"trace", pid, method}, {"monitor", pid, method}, {"calls", pid},
					{"profile", pid, "--root", method, "--timing", "exact"}, {"profile", pid, "--root", method, "--calls", "3"},
				} {
					if code, out, stderr := sonde(t, args...); code != exitError || out != "" || stderr != refused {
						t.Errorf("sonde %v: exit code %d: got %s%s, want %s", args, code, out, stderr, refused)
					}
				}
				if code, out, stderr := sonde(t, "profile", pid, "--root", method, "--duration", "1s"); code != exitOK || !strings.Contains(out+stderr, "no hooks were put in: "+test.why) {
					t.Errorf("profile: exit code %d: got %s%s, want stacks and %s", code, out, stderr, test.why)
				}
				checkSampledDrill(t, pid, method, test.why, test.path)
				checkSampledWalk(t, jdk, test.flag, test.why)
			})
		}
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
	if found.Unhooked == nil || found.Unhooked.Why != why || found.Ended != string(endedCause) || !strings.Contains(strings.Join(found.Summary, "\n"), "slow and normal calls cannot be told apart") {
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
	if code, out, stderr := sonde(t, "drill", pid, "--slower-than", "40ms"); code != exitError || out != "" || !strings.Contains(stderr, why+", so which calls are slow is not known: name a METHOD") {
		t.Errorf("drill without METHOD: exit code %d: got %s%s, want that it needs one", code, out, stderr)
	}
}

// checkSampledWalk looks at a busy JVM: hot lacks nothing, and walk has its shares from samples.
func checkSampledWalk(t *testing.T, jdk jvmtest.JDK, flag, why string) {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/walked/OneClass.java"}})
	pid := strconv.Itoa(jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{flag, "-Xmx64m", "-cp", classes, "OneClass"}}).PID)
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
