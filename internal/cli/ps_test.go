package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

func TestPsLive(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			classpath, mainClass := jvmtest.Waiting(t, jdk)
			for _, tt := range []struct {
				options, attach, agents string
				heap                    string // a pattern
			}{
				{"-Xmx64m", "yes", "yes", `\S+/64M`},
				{"-XX:-UsePerfData", "yes", "yes", "-"},
				{"-XX:-EnableDynamicAgentLoading", "yes", "no", `\S+/\S+`},
				{"-XX:+DisableAttachMechanism", "no", "no", `\S+/\S+`},
			} {
				jvm := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-XX:+UseG1GC", tt.options, "-cp", classpath, mainClass, "x"}})
				checkRow(t, jvm.PID, jdk, tt.attach, tt.agents, tt.heap)
				checkObject(t, jvm.PID, jdk, tt.attach, tt.agents)
			}
		})
	}
}

func checkRow(t *testing.T, pid int, jdk jvmtest.JDK, attach, agents, heap string) {
	t.Helper()
	code, out, stderr := runHere(context.Background(), "ps")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	row := fmt.Sprintf(`(?m)^ *%d +\S+ +%s +\S+ +%s +%s +%s +no +Waiting$`, pid, regexp.QuoteMeta(jdk.Version), heap, attach, agents)
	if !regexp.MustCompile(row).MatchString(out) {
		t.Errorf("no row %s in\n%s", row, out)
	}
	reason := regexp.MustCompile(fmt.Sprintf(`(?m)^(\d+, )*%d(, \d+)*: .*forbids`, pid)).MatchString(out)
	if reason != (agents == "no") {
		t.Errorf("agents %s, and a reason given: %v\n%s", agents, reason, out)
	}
}

func checkObject(t *testing.T, pid int, jdk jvmtest.JDK, attach, agents string) {
	t.Helper()
	code, out, stderr := runHere(context.Background(), "ps", "--json")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for line := range strings.Lines(out) {
		var got document.JVM
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if got.PID != pid {
			continue
		}
		if got.Version != jdk.Version || got.Main != "Waiting" || got.Kind != "HotSpot" || string(got.Attach.Answer) != attach ||
			string(got.Agents.Answer) != agents || got.Inside != "no" || got.UID != uint32(os.Geteuid()) || got.Uptime < 0 || got.Started.IsZero() {
			t.Errorf("%s", line)
		}
		return
	}
	t.Errorf("no process %d in\n%s", pid, out)
}

func TestPsNoJVM(t *testing.T) {
	var out, stderr strings.Builder
	if err := writeJVMs(streams{out: &out, err: &stderr}, nil, false); err != nil {
		t.Fatal(err)
	}
	if out.String() != "" || !strings.HasPrefix(stderr.String(), "no JVM is running") {
		t.Errorf("%q, %q", out.String(), stderr.String())
	}
}

func TestPsTable(t *testing.T) {
	off := process.Verdict{Answer: process.No, Reason: "off"}
	hidden := process.Verdict{Answer: process.Unknown, Reason: "another's"}
	yes := process.Verdict{Answer: process.Yes}
	started := time.Now().Add(-26*time.Hour - 30*time.Minute)
	var jvms []document.JVM
	for _, jvm := range []*process.JVM{
		{PID: 7, User: "root", Version: "17.0.15", Started: started, HeapUsed: 3 << 20, HeapMax: 2 << 30, Attach: yes, Agents: yes, Inside: process.Standby, Main: "com.acme.shop.Main"},
		{PID: 4711, User: "é", Kind: process.OpenJ9, Version: "21", Started: started, Attach: off, Agents: off, Inside: process.Outside, Main: "/x/y\x1b[2J.jar"},
		{PID: 12, User: "u", Started: started, Attach: hidden, Agents: hidden, Inside: process.PresenceUnknown},
		{PID: 13, User: "u", Started: started, Attach: yes, Agents: off, Inside: process.Inside, Main: "M"},
	} {
		jvms = append(jvms, document.NewJVM(jvm))
	}
	var out strings.Builder
	format.WriteTable(&out, psColumns, jvmRows(jvms), 81)
	writeReasons(&out, jvms)
	want := ` PID  USER  JDK        UPTIME     HEAP  ATTACH  AGENTS  SONDE    MAIN
   7  root  17.0.15     1d02h  3M/2.0G  yes     yes     standby  ….acme.shop.Main
4711  é     21 OpenJ9   1d02h        -  no      no      no       /x/y?[2J.jar
  12  u     -           1d02h        -  ?       ?       ?        -
  13  u     -           1d02h        -  yes     no      yes      M

4711, 13: off
12: another's
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestShortDuration(t *testing.T) {
	for seconds, want := range map[int]string{-1: "0s", 59: "59s", 60: "1m00s", 3725: "1h02m", 90000: "1d01h", 8640000: "100d00h"} {
		if got := format.ShortDuration(time.Duration(seconds) * time.Second); got != want {
			t.Errorf("%d s: %s, want %s", seconds, got, want)
		}
	}
}

func TestSizeText(t *testing.T) {
	for size, want := range map[int64]string{0: "-", 1: "1K", 5 << 10: "5K", 64 << 20: "64M", 3 << 29: "1.5G", 1 << 40: "1024G"} {
		if got := format.Size(size); got != want {
			t.Errorf("%s: %s, want %s", strconv.FormatInt(size, 10), got, want)
		}
	}
}

// TestUndoChecksThePIDFirst: a wrong number must not remove files of other processes.
func TestUndoChecksThePIDFirst(t *testing.T) {
	done, err := localHost{}.Undo(t.Context(), 1<<30)
	if !errors.Is(err, process.ErrNoProcess) || done.Files != nil {
		t.Errorf("%+v, %v", done, err)
	}
}
