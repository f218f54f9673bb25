package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

func TestInspectLive(t *testing.T) {
	dir := t.TempDir()
	argfile := filepath.Join(dir, "args")
	if err := os.WriteFile(argfile, []byte("-XX:-EnableDynamicAgentLoading -XX:-UsePerfData"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name           string
		args, env      []string
		attach, agents Answer
		heap, reduced  bool
	}{
		{"plain", []string{"-Xmx64m"}, nil, Yes, Yes, true, false},
		{"no counters", []string{"-XX:-UsePerfData"}, nil, Yes, Yes, false, false},
		{"private counters", []string{"-XX:+PerfDisableSharedMem"}, nil, Yes, Yes, false, false},
		{"no attach", []string{"-XX:+DisableAttachMechanism"}, nil, No, No, true, false},
		{"no attach, no counters", []string{"-XX:-UsePerfData", "-XX:+DisableAttachMechanism"}, nil, No, No, false, false},
		{"no agents", []string{"-XX:-EnableDynamicAgentLoading"}, nil, Yes, No, true, false},
		{"argument file", []string{"@args"}, nil, Yes, No, false, false},
		{"environment", nil, []string{"JDK_JAVA_OPTIONS=-XX:-EnableDynamicAgentLoading"}, Yes, No, true, false},
		{"overruled", []string{"-XX:+EnableDynamicAgentLoading"}, []string{"JAVA_TOOL_OPTIONS=-XX:-EnableDynamicAgentLoading"}, Yes, Yes, true, false},
		{"reduced signals", []string{"-Xrs"}, nil, Yes, Yes, true, true},
	}
	for i, tt := range tests {
		for _, jdk := range jvmtest.JDKs(t) {
			if !jvmtest.Turn(t, jdk, i, len(tests)) {
				continue
			}
			t.Run(fmt.Sprintf("%s/jdk%d", tt.name, jdk.Major), func(t *testing.T) {
				classpath, mainClass := jvmtest.Waiting(t, jdk)
				before := time.Now().Add(-time.Second) // /proc counts in hundredths
				jvm := jvmtest.Start(t, jdk, jvmtest.Launch{Dir: dir, Env: tt.env, Args: append(tt.args, "-cp", classpath, mainClass)})
				j, err := Local.Inspect(jvm.PID)
				if err != nil {
					t.Fatal(err)
				}
				if j.Attach.Answer != tt.attach || j.Agents.Answer != tt.agents || (j.HeapMax > 0) != tt.heap || j.ReducedSignal != tt.reduced {
					t.Errorf("%+v", j)
				}
				if j.Kind != HotSpot || j.Version != jdk.Version || j.Main != "Waiting" || j.Vendor == "" || j.CatchesQuit == tt.reduced {
					t.Errorf("%+v", j)
				}
				if j.Started.Before(before) || j.Uptime() < 0 || int(j.UID) != os.Geteuid() || j.NamespacePID != jvm.PID || j.OtherPIDs || j.OtherMounts {
					t.Errorf("%+v", j)
				}
				if !Local.Same(j) {
					t.Error("not the same process")
				}
				found, err := Local.Find(t.Context())
				if err != nil || !holds(found, jvm.PID) {
					t.Errorf("not found among %d: %v", len(found), err)
				}
			})
		}
	}
}

func holds(found []*JVM, pid int) bool {
	for _, j := range found {
		if j.PID == pid {
			return true
		}
	}
	return false
}

// A file named @args that is gone by now leaves the JVM's own word.
func TestArgumentFileGone(t *testing.T) {
	jdk := jvmtest.Need(t, jvmtest.Supported[0])
	classpath, mainClass := jvmtest.Waiting(t, jdk)
	dir := t.TempDir()
	argfile := filepath.Join(dir, "args")
	text := "-XX:-EnableDynamicAgentLoading -cp " + classpath + " " + mainClass
	if err := os.WriteFile(argfile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	jvm := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"@" + argfile}})
	if err := os.Remove(argfile); err != nil {
		t.Fatal(err)
	}
	j, err := Local.Inspect(jvm.PID)
	if err != nil || j.Main != "Waiting" || j.Agents.Answer != No {
		t.Errorf("%+v, %v", j, err)
	}
}

func TestNotJVM(t *testing.T) {
	if _, err := Local.Inspect(os.Getpid()); !errors.Is(err, ErrNotJVM) {
		t.Errorf("this test: %v", err)
	}
	if _, err := Local.Inspect(1 << 30); !errors.Is(err, ErrNoProcess) {
		t.Errorf("no process: %v", err)
	}
}

func TestOtherNamespaces(t *testing.T) {
	wrap := jvmtest.OtherNamespaces(t, "rw")
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			classpath, mainClass := jvmtest.Waiting(t, jdk)
			outer := jvmtest.Start(t, jdk, jvmtest.Launch{Wrap: wrap, Args: []string{"-Xmx64m", "-cp", classpath, mainClass}})
			pid := outer.Child(t)
			j, err := Local.Inspect(pid)
			if err != nil {
				t.Fatal(err)
			}
			if j.NamespacePID != 1 || !j.OtherPIDs || !j.OtherMounts || j.Version != jdk.Version || j.Attach.Answer != Yes || j.HeapMax == 0 {
				t.Errorf("%+v", j)
			}
		})
	}
}

// TestAnotherUsers runs this test again as nobody, who may not look into a JVM
// of root's.
func TestAnotherUsers(t *testing.T) {
	if text := os.Getenv("SONDE_TEST_HIDDEN_PID"); text != "" {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		j, err := Local.Inspect(pid)
		if err != nil || j.Kind != Hidden || j.Main != "Waiting" || j.Attach.Answer != Unknown || !strings.Contains(j.Attach.Reason, "root") {
			t.Errorf("%+v, %v", j, err)
		}
		return
	}
	jvmtest.AsNobody(t)
	jdk := jvmtest.Need(t, jvmtest.Supported[0])
	classpath, mainClass := jvmtest.Waiting(t, jdk)
	jvm := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-cp", classpath, mainClass}})
	jvmtest.AgainAsNobody(t, fmt.Sprintf("SONDE_TEST_HIDDEN_PID=%d", jvm.PID))
}
