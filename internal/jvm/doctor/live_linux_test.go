package doctor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

func TestLive(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			classpath, mainClass := jvmtest.Waiting(t, jdk)
			t.Run("plain", func(t *testing.T) {
				program := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-cp", classpath, mainClass}})
				checkPlain(t, jdk, program.PID)
			})
			t.Run("options", func(t *testing.T) {
				program := jvmtest.Start(t, jdk, jvmtest.Launch{
					Args: []string{
						"-Xverify:none", "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-XX:-EnableDynamicAgentLoading",
						"-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=localhost:0", "-cp", classpath, mainClass,
					},
					Env: []string{"JAVA_TOOL_OPTIONS=-Dsome=thing"},
				})
				checkOptions(t, program.PID)
			})
			t.Run("read-only tmp", func(t *testing.T) {
				program := jvmtest.Start(t, jdk, jvmtest.Launch{
					Wrap: jvmtest.OtherNamespaces(t, "ro"), Args: []string{"-cp", classpath, mainClass},
				})
				findings := Judge(gather(t, program.Child(t), false))
				expect(t, findings, Stop, "/tmp", "read-only")
				expect(t, findings, OK, "container", "processes")
			})
		})
	}
}

// gather looks at a JVM, and asks it where that is wanted.
func gather(t *testing.T, pid int, asks bool) Facts {
	t.Helper()
	jvm, err := process.Local.Inspect(pid)
	if err != nil {
		t.Fatal(err)
	}
	if !asks {
		return Gather(t.Context(), jvm, nil)
	}
	conn, err := attach.Open(t.Context(), pid)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return Gather(t.Context(), jvm, conn)
}

func checkPlain(t *testing.T, jdk jvmtest.JDK, pid int) {
	t.Helper()
	outside := gather(t, pid, false)
	if outside.Asked || outside.AskError != nil || outside.Flags != nil {
		t.Errorf("it was asked: %+v", outside)
	}
	for _, f := range []Facts{outside, gather(t, pid, true)} {
		if len(f.Agents) != 0 || !f.Tmp.Known || f.Tmp.ReadOnly || f.Tmp.Size <= 0 || !slices.Contains(f.JVM.Modules, "java.instrument") {
			t.Errorf("%+v", f)
		}
		findings := Judge(f)
		expect(t, findings, OK, "JVM", "JDK "+jdk.Version)
		expect(t, findings, OK, "attach", "allowed")
		if Worst(findings) == Stop {
			t.Errorf("%+v", findings)
		}
		// 17.0.15 notes no dependencies before it must, 25 always does.
		if jdk.Major >= 23 {
			expect(t, findings, OK, "redefinition", "only the code")
		} else if jdk.Version == "17.0.15" {
			expect(t, findings, Warn, "redefinition", "all compiled code")
			expect(t, findings, Note, "redefinition", "parameter names")
		}
	}
}

func checkOptions(t *testing.T, pid int) {
	t.Helper()
	facts := gather(t, pid, true)
	if facts.AskError != nil || facts.Properties["some"] != "thing" {
		t.Errorf("%+v", facts)
	}
	findings := Judge(facts)
	expect(t, findings, Warn, "verification", "-Xverify:none")
	expect(t, findings, Note, "counters", "pauses")
	expect(t, findings, Note, "compilation", "TieredStopAtLevel=1")
	expect(t, findings, Stop, "agents", "EnableDynamicAgentLoading")
	expect(t, findings, Note, "other agents", "jdwp")
	expect(t, findings, Note, "options", "JAVA_TOOL_OPTIONS=-Dsome=thing")
}

func expect(t *testing.T, findings []Finding, severity Severity, subject, text string) {
	t.Helper()
	if !slices.ContainsFunc(findings, func(f Finding) bool {
		return f.Severity == severity && f.Subject == subject && strings.Contains(f.Text, text)
	}) {
		t.Errorf("no %v of %q with %q in\n%+v", severity, subject, text, findings)
	}
}
