package doctor

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// plain is a JVM with which nothing is wrong.
func plain() Facts {
	yes := process.Verdict{Answer: process.Yes}
	roomy := Place{Known: true, Size: 8 << 30, Free: 4 << 30}
	return Facts{
		JVM: process.JVM{
			PID: 4711, NamespacePID: 4711, UID: 1000, GID: 1000, User: "app", Kind: process.HotSpot,
			Version: "25.0.3", Vendor: "Eclipse Adoptium", Attach: yes, Agents: yes, Inside: process.Outside,
			Modules: []string{"java.base", "java.instrument"},
		},
		UID: 0, TracksDependencies: process.Yes, Sampling: yes,
		Asked: true, Flags: map[string]string{"EnableDynamicAgentLoading": "true"}, Tmp: roomy, Shm: roomy,
	}
}

func TestPlainIsAllOK(t *testing.T) {
	findings := Judge(plain())
	if Worst(findings) != OK {
		t.Errorf("%+v", findings)
	}
	for _, subject := range []string{"JVM", "attach", "agents", "sampling", "redefinition", "/tmp", "arena", "virtual threads"} {
		if !slices.ContainsFunc(findings, func(f Finding) bool { return f.Subject == subject }) {
			t.Errorf("nothing said of %s", subject)
		}
	}
}

func TestJudge(t *testing.T) {
	no := process.Verdict{Answer: process.No, Reason: "it is off (-XX:+Off); start it again"}
	for _, tt := range []struct {
		name     string
		change   func(*Facts)
		severity Severity
		subject  string
		text     string // a part of it
		remedy   string // likewise
	}{
		{"OpenJ9", func(f *Facts) { f.JVM.Kind = process.OpenJ9 }, Stop, "JVM", "OpenJ9", "HotSpot"},
		{"hidden", func(f *Facts) { f.UID = 1001; f.JVM.Kind = process.Hidden }, Stop, "JVM", "belongs to app", "be app or root"},
		{"JDK 7", func(f *Facts) { f.JVM.Version = "1.7.0_80" }, Stop, "JVM", "does not support JDK 1.7", "JDK 8"},
		{"JDK 8", func(f *Facts) { f.JVM.Version = "1.8.0_472" }, OK, "JVM", "HotSpot, JDK 1.8.0_472", ""},
		{"JDK 10", func(f *Facts) { f.JVM.Version = "10.0.2" }, Stop, "JVM", "does not support JDK 10", "JDK 8"},
		{"JDK 11", func(f *Facts) { f.JVM.Version = "11.0.13" }, Warn, "redefinition", "before JDK 15", "few classes"},
		{"JDK 27", func(f *Facts) { f.JVM.Version = "27-ea" }, Warn, "JVM", "newer than 26", "newer version of Sonde"},
		{"no version", func(f *Facts) { f.JVM.Version = "" }, Warn, "JVM", "unknown version", ""},
		{"another user", func(f *Facts) { f.UID, f.GID = 1001, 1000 }, Stop, "access", "belongs to app", "be app or root"},
		{"another group", func(f *Facts) { f.UID, f.GID = 1000, 1 }, Stop, "access", "belongs to app", "be app or root"},
		{"no samples", func(f *Facts) {
			f.Sampling = process.Verdict{Answer: process.No, Reason: "kernel.perf_event_paranoid is 3"}
		}, Note, "sampling", "perf_event_paranoid", ""},
		{"stopped", func(f *Facts) { f.JVM.Stopped = true }, Stop, "access", "stopped", "kill -CONT 4711"},
		{"attach off", func(f *Facts) { f.JVM.Attach = no }, Stop, "attach", "it is off (-XX:+Off)", "start it again"},
		{"attach unknown", func(f *Facts) { f.JVM.Attach = process.Verdict{Answer: process.Unknown, Reason: "a; b"} }, Warn, "attach", "a", "b"},
		{"no answer", func(f *Facts) { f.AskError = errors.New("too late") }, Warn, "attach", "too late", ""},
		{"agents off", func(f *Facts) { f.JVM.Agents = no }, Stop, "agents", "it is off (-XX:+Off)", "start it again"},
		{"agents off by flag", func(f *Facts) { f.Flags["EnableDynamicAgentLoading"] = "false" }, Stop, "agents", "forbids", "-javaagent"},
		{"agents warned of", func(f *Facts) { f.Flags = nil }, Note, "agents", "print a warning", "-XX:+EnableDynamicAgentLoading"},
		{"small image", func(f *Facts) { f.JVM.Modules = []string{"java.base"} }, Stop, "modules", "java.instrument", "jlink"},
		{"inside already", func(f *Facts) { f.JVM.Inside = process.Inside }, Note, "Sonde", "already has an agent", "sonde status 4711"},
		{"no dependencies", func(f *Facts) { f.TracksDependencies = process.No }, Warn, "redefinition", "all compiled code", "-javaagent"},
		{"dependencies off", func(f *Facts) { f.Flags["AlwaysRecordEvolDependencies"] = "false" }, Warn, "redefinition", "-XX:-AlwaysRecord", "without"},
		{"dependencies unknown", func(f *Facts) { f.TracksDependencies = process.Unknown }, Warn, "redefinition", "it is unknown whether", "little load"},
		{"dependencies by an agent", func(f *Facts) {
			f.TracksDependencies = process.No
			f.Agents = []Agent{{"Glowroot", Transforms, "/g.jar", true}}
		}, Note, "redefinition", "probably survives", ""},
		{"parameter names", func(f *Facts) { f.JVM.Version = "17.0.15" }, Note, "redefinition", "parameter names", ""},
		{"enhanced redefinition", func(f *Facts) { f.Flags["AllowEnhancedClassRedefinition"] = "true" }, Warn, "redefinition", "never tested", "without"},
		{"no verification", func(f *Facts) { f.Flags["BytecodeVerificationRemote"] = "false" }, Warn, "verification", "crash", "without"},
		{"all verified", func(f *Facts) { f.Flags["BytecodeVerificationLocal"] = "true" }, Note, "verification", "JDK's own", ""},
		{"security manager", func(f *Facts) {
			f.JVM.Version = "17.0.15"
			f.Properties = map[string]string{"java.security.manager": ""}
		}, Stop, "security", "default policy", "AllPermission"},
		{"security manager by its options", func(f *Facts) { f.JVM.Version, f.JVM.Restricted = "17.0.15", true }, Stop, "security", "default policy", "AllPermission"},
		{"security manager with a policy", func(f *Facts) {
			f.JVM.Version = "17.0.15"
			f.Properties = map[string]string{"java.security.manager": "", "java.security.policy": "/x"}
		}, Warn, "security", "only if its policy", "AllPermission"},
		{"archive", func(f *Facts) { f.Flags["AOTCache"] = "app.aot" }, OK, "sharing", "app.aot", ""},
		{"writes an archive", func(f *Facts) { f.Flags["ArchiveClassesAtExit"] = "a.jsa" }, Note, "sharing", "will not contain", ""},
		{"interpreted", func(f *Facts) { f.Arguments = []string{"-Xint"} }, Warn, "compilation", "-Xint", ""},
		{"one compiler", func(f *Facts) { f.Flags["TieredStopAtLevel"] = "1" }, Note, "compilation", "=1", ""},
		{"another compiler", func(f *Facts) { f.Flags["UseJVMCICompiler"] = "true" }, Note, "compilation", "JVMCI", ""},
		{"no counters", func(f *Facts) { f.Flags["UsePerfData"] = "false" }, Note, "counters", "pauses", "UsePerfData"},
		{"counters not shared", func(f *Facts) { f.Flags["PerfDisableSharedMem"] = "true" }, Note, "counters", "pauses", "PerfDisableSharedMem"},
		{"environment", func(f *Facts) { f.Environment = map[string]string{"JAVA_TOOL_OPTIONS": "-Da=b"} }, Note, "options", "JAVA_TOOL_OPTIONS=-Da=b", ""},
		{"a tracer", func(f *Facts) { f.Agents = []Agent{{"Glowroot", Transforms, "/g.jar", true}} }, Note, "other agents", "at startup", ""},
		{"a late editor", func(f *Facts) { f.Agents = []Agent{{"Arthas", Redefines, "/a.jar", false}} }, Warn, "other agents", "at run time", "one after the other"},
		{"a sampler", func(f *Facts) { f.Agents = []Agent{{"async-profiler", Samples, "/a.so", false}} }, OK, "other agents", "does not change classes", ""},
		{"a debugger", func(f *Facts) { f.Agents = []Agent{{"jdwp", Debugs, "libjdwp.so", true}} }, Note, "other agents", "breakpoint", ""},
		{"container", func(f *Facts) { f.JVM.OtherPIDs, f.JVM.OtherMounts, f.JVM.NamespacePID = true, true, 1 }, OK, "container", "its own PID is 1) and files", ""},
		{"memory", func(f *Facts) { f.Memory = Memory{1 << 30, 512 << 20} }, OK, "memory", "512.0 MiB of its memory limit of 1.0 GiB", ""},
		{"memory near its end", func(f *Facts) { f.Memory = Memory{1 << 30, 1000 << 20} }, Warn, "memory", "24.0 MiB of", "raise"},
		{"memory over its end", func(f *Facts) { f.Memory = Memory{1 << 30, 2 << 30} }, Warn, "memory", "0 bytes of", "raise"},
		{"no /tmp", func(f *Facts) { f.Tmp = Place{} }, Stop, "/tmp", "cannot be opened", "write"},
		{"/tmp of another, for root", func(f *Facts) { f.Tmp, f.UID = Place{Denied: true}, 0 }, Stop, "/tmp", "not allowed to open", "capability SYS_PTRACE"},
		{"closed /tmp", func(f *Facts) { f.Tmp.ReadOnly = true }, Stop, "/tmp", "read-only", "write"},
		{"noexec /tmp", func(f *Facts) { f.Tmp.NoExec = true }, OK, "/tmp", "noexec does not matter", ""},
		{"small /dev/shm", func(f *Facts) { f.Shm = Place{Known: true, Size: 64 << 20, Free: 64 << 20} }, Note, "arena", "64.0 MiB of 64.0 MiB", "--shm-size"},
		{"no /dev/shm", func(f *Facts) { f.Shm = Place{} }, Note, "arena", "no /dev/shm", "--shm-size"},
		{"no room", func(f *Facts) { f.Shm, f.Tmp.Free = Place{}, 1<<20 }, Warn, "arena", "0 bytes and 1.0 MiB", "make room"},
	} {
		facts := plain()
		tt.change(&facts)
		findings := Judge(facts)
		matches := func(f Finding) bool {
			return f.Severity == tt.severity && f.Subject == tt.subject && strings.Contains(f.Text, tt.text) &&
				strings.Contains(f.Remedy, tt.remedy) && (tt.remedy != "" || f.Remedy == "")
		}
		if !slices.ContainsFunc(findings, matches) {
			t.Errorf("%s: no %v of %q with %q and %q in\n%+v", tt.name, tt.severity, tt.subject, tt.text, tt.remedy, findings)
		}
		if Worst(findings) < tt.severity {
			t.Errorf("%s: worst is %v", tt.name, Worst(findings))
		}
	}
}

func TestInvitedNeedsNoAttach(t *testing.T) {
	f := plain()
	no := process.Verdict{Answer: process.No, Reason: "off; on"}
	f.Invited, f.JVM.Attach, f.JVM.Agents, f.TracksDependencies = true, no, no, process.No
	if findings := Judge(f); Worst(findings) != Note {
		t.Errorf("%+v", findings)
	}
}

func TestNoSecurityManager(t *testing.T) {
	for version, value := range map[string]string{"17.0.15": "allow", "21": "disallow", "25": ""} {
		f := plain()
		f.JVM.Version, f.Properties = version, map[string]string{"java.security.manager": value}
		if slices.ContainsFunc(Judge(f), func(f Finding) bool { return f.Subject == "security" }) {
			t.Errorf("JDK %s, %q: a SecurityManager", version, value)
		}
	}
}

func TestVersions(t *testing.T) {
	type version struct{ feature, interim, update int }
	for text, want := range map[string]struct {
		version
		loses bool
	}{
		"1.8.0_402": {version{8, 0, 402}, true}, "11.0.2": {version{11, 0, 2}, true}, "17": {version{17, 0, 0}, true},
		"17.0.15": {version{17, 0, 15}, true}, "17.0.20": {version{17, 0, 20}, false}, "18.0.2.1": {version{18, 0, 2}, true},
		"19": {version{19, 0, 0}, false}, "26-ea": {version{26, 0, 0}, false}, "25.0.3+9": {version{25, 0, 3}, false}, "": {version{}, false},
	} {
		parsed, _ := jdk.ParseVersion(text)
		loses := jdk.ParameterNames.In(parsed)
		if (version{parsed.Feature, parsed.Interim, parsed.Update}) != want.version || loses != want.loses {
			t.Errorf("%q: %+v, loses names %v", text, parsed, loses)
		}
	}
}

func TestSeverity(t *testing.T) {
	if text, err := Warn.MarshalText(); string(text) != "warn" || err != nil || Severity(9).String() != "unknown" {
		t.Errorf("%s, %v, %v", text, err, Severity(9))
	}
}
