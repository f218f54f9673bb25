package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/doctor"
	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/test/live"
)

// diagnosisText is a document.Doctor whose severities are read as words.
type diagnosisText struct {
	Worst    string
	Findings []struct{ Severity, Subject, Text, Remedy string }
	Plan     *document.HookPlan
}

// TestDoctorLive looks at a JVM from outside and from inside, and changes
// nothing in it.
func TestDoctorLive(t *testing.T) {
	t.Parallel()
	byBothDoors(t, func(t *testing.T, home jvmtest.JDK, door live.Door) {
		p := live.Start(t, home, door, live.Calls, live.Loading)
		p.Run(1)
		p.Keep()
		sum := p.Check()
		pid := strconv.Itoa(p.PID)
		code, out, stderr := sonde(t, "doctor", pid, "--json")
		shallow := parse[diagnosisText](t, out)
		if code != exitOK || shallow.Worst == doctor.Stop.String() || len(shallow.Findings) == 0 || shallow.Plan != nil {
			t.Errorf("exit code %d: %s%s", code, out, stderr)
		}
		version, err := jdk.ParseVersion(home.Version)
		if err != nil {
			t.Fatal(err)
		}
		const lostNames = "JDK-8240908"
		isLosing := slices.ContainsFunc(jdk.Bugs(version), func(b jdk.Bug) bool { return b.ID == lostNames })
		if named := strings.Contains(out, lostNames); named != isLosing || named && home.Major >= 19 {
			t.Errorf("the lost parameter names are reported: %v\n%s", named, out)
		}
		cached := filepath.Join(t.TempDir(), "cache")
		code, out, stderr = sonde(t, "doctor", pid, "--deep", "--json", "--cache", cached, "calls.**", "loading.**", "java.lang.Thread.*", "gone.calls.Main.**")
		deep := parse[diagnosisText](t, out)
		if code != exitOK || deep.Plan == nil || len(deep.Findings) < len(shallow.Findings) {
			t.Fatalf("exit code %d: %s%s", code, out, stderr)
		}
		checkPlan(t, deep.Plan)
		code, out, stderr = sonde(t, "doctor", pid, "--deep", "--cache", cached, "calls.**", "java.lang.Thread.*", "--left")
		if code != exitOK || deep.Plan.Woven == 0 || !strings.Contains(out, " (0 woven, ") || strings.Contains(out, ", 0 from the cache)") || !strings.Contains(out, "boot class loader (of java.lang.Thread): hooks would be installed in 0 methods of 0 classes") ||
			!strings.Contains(out, "\n    java.lang.Thread\n") {
			t.Errorf("exit code %d: %s%s", code, out, stderr)
		}
		checkLeft(t, p, sum)
	})
}

func checkPlan(t *testing.T, plan *document.HookPlan) {
	t.Helper()
	methods, blind, exempt := 0, 0, 0
	for _, l := range plan.Loaders {
		methods += l.Methods
		for _, left := range l.LeftAlone {
			if strings.Contains(left.Reason, "cannot find Sonde's hook classes") {
				blind++
			}
			if left.Class == "java.lang.Thread" {
				exempt++
			}
		}
	}
	if methods == 0 || exempt != 1 || plan.Matched == 0 || len(plan.Loaders) < 3 || len(plan.Unmatched) != 1 {
		t.Errorf("%d methods, %d blind, %d exempt: %+v", methods, blind, exempt, plan)
	}
}

// TestRootWithoutCapabilities: root who may not inspect a JVM is told which capability is missing, and not to be root.
func TestRootWithoutCapabilities(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can lack a capability of root")
	}
	p := live.Start(t, jvmtest.OneJDK(t)[0], briefAttach, live.Calls)
	p.Run(1)
	pid := strconv.Itoa(p.PID)
	for _, args := range [][]string{{"count", pid, "calls.**", "-d", "100ms", "--no-service"}, {"hot", pid, "-d", "100ms", "--no-service"}} {
		command := exec.Command("setpriv", append([]string{"--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace", "sonde"}, args...)...)
		out, err := command.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "give Sonde the capability SYS_PTRACE") || strings.Contains(string(out), "provide a /tmp") {
			t.Errorf("sonde %q: %v, want an error that names the capability SYS_PTRACE:\n%s", args, err, out)
		}
	}
}
