package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/weave/original"
)

// redefinition says what changing classes will cost, and what the JDK gets
// wrong about it.
func (j *judge) redefinition() {
	f := j.facts
	atStart := f.Invited || slices.ContainsFunc(f.Agents, func(a Agent) bool { return a.AtStart && a.Trait != Samples })
	const everything = "the first change to a class will make it throw away all compiled code: seconds at a fraction of its speed"
	const remedy = "choose a quiet moment, or start it with -javaagent (sonde agent-jar)"
	switch {
	case !f.flag("AlwaysRecordEvolDependencies", true):
		j.find(Warn, "redefinition", everything+" (-XX:-AlwaysRecordEvolDependencies)", "start it without that option")
	case f.TracksDependencies == process.Yes:
		j.find(OK, "redefinition", "costs what depends on the changed classes alone", "")
	case f.TracksDependencies == process.Unknown:
		j.find(Warn, "redefinition", "where it does not record what compiled code depends on, "+everything, remedy)
	case atStart:
		j.find(Note, "redefinition", "an agent was there from the start, so compiled code is likely to survive the first change to a class", "")
	default:
		j.find(Warn, "redefinition", everything, remedy)
	}
	if j.version.Feature != 0 && j.version.Feature < 15 {
		j.find(Warn, "redefinition", "before JDK 15 it stops the program for some milliseconds for each class that is changed or put back",
			"name few classes")
	}
	if j.losesParameterNames() {
		j.find(Note, "redefinition", "this JDK loses the names of parameters when it retransforms a class: "+
			"Sonde starts from class files instead, and leaves alone and names classes where that is not possible", "")
	}
	if f.flag("AllowEnhancedClassRedefinition", false) {
		j.find(Warn, "redefinition", "it was started with -XX:+AllowEnhancedClassRedefinition, with which Sonde was never tried", "start it without that option")
	}
}

// losesParameterNames: the JDK forgets the attribute MethodParameters.
func (j *judge) losesParameterNames() bool {
	const forgets = "JDK-8240908"
	return j.version.Feature != 0 &&
		slices.ContainsFunc(original.Bugs(j.version), func(b original.Bug) bool { return b.ID == forgets })
}

func (j *judge) verification() {
	f := j.facts
	switch {
	case !f.flag("BytecodeVerificationRemote", true):
		j.find(Warn, "verification", "it does not verify classes (-Xverify:none): what would be refused elsewhere could crash it", "start it without that option")
	case f.flag("BytecodeVerificationLocal", false):
		j.find(Note, "verification", "it verifies the JDK's own classes too (-Xverify:all)", "")
	}
}

func (j *judge) securityManager() {
	// Up to 23 there can be one; allow and disallow only say whether it may be
	// set later.
	const last = 23
	value, set := j.facts.property("java.security.manager")
	if set && value != "allow" && value != "disallow" && j.version.Feature <= last {
		j.find(Warn, "security", "a SecurityManager is installed: hooks go into a jar on the boot class path, "+
			"and the JVM will print a warning about class sharing on the program's error stream", "")
	}
}

func (j *judge) sharing() {
	f := j.facts
	for _, name := range []string{"SharedArchiveFile", "AOTCache"} {
		if file := f.Flags[name]; file != "" {
			j.find(OK, "sharing", fmt.Sprintf("classes come from an archive (-XX:%s=%s); those that are changed are copied", name, file), "")
		}
	}
	for _, name := range []string{"ArchiveClassesAtExit", "AOTCacheOutput", "AOTConfiguration"} {
		if f.Flags[name] != "" {
			j.find(Note, "sharing", fmt.Sprintf("it will write an archive of its classes (-XX:%s); those changed by Sonde will not be in it", name), "")
		}
	}
}

func (j *judge) compilation() {
	f := j.facts
	level, err := strconv.Atoi(f.Flags["TieredStopAtLevel"])
	const full = 4
	switch {
	case slices.Contains(f.Arguments, "-Xint"):
		j.find(Warn, "compilation", "it interprets only (-Xint): a hook costs many times what it costs in compiled code", "")
	case err == nil && level < full:
		j.find(Note, "compilation", fmt.Sprintf("its optimising compiler is off (-XX:TieredStopAtLevel=%d): hooks cost more than usual", level), "")
	case f.flag("UseJVMCICompiler", false):
		j.find(Note, "compilation", "it uses another compiler (JVMCI), for which the cost of hooks was never measured", "")
	}
}

func (j *judge) counters() {
	f := j.facts
	if f.Asked && (!f.flag("UsePerfData", true) || f.flag("PerfDisableSharedMem", false)) {
		j.find(Note, "counters", "it publishes no counters: the pauses Sonde causes cannot be told", "start it with -XX:+UsePerfData and without -XX:+PerfDisableSharedMem")
	}
}

func (j *judge) options() {
	for _, name := range []string{"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"} {
		if value := strings.TrimSpace(j.facts.Environment[name]); value != "" {
			j.find(Note, "options", fmt.Sprintf("some come from the environment: %s=%s", name, value), "")
		}
	}
}
