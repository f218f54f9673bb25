package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// Judge evaluates the facts. Findings are in the order of interest: whether Sonde may enter, what the JVM
// is, what it will cost, and what else is inside.
func Judge(f Facts) []Finding {
	version, _ := jdk.ParseVersion(f.JVM.Version) // zero if unknown
	j := &judge{facts: &f, version: version}
	j.kind()
	if f.JVM.Kind != process.HotSpot {
		return j.findings // the other checks do not apply
	}
	j.access()
	j.attach()
	j.agentLoading()
	j.runtime()
	j.sampling()
	j.presence()
	j.redefinition()
	j.verification()
	j.securityManager()
	j.sharing()
	j.compilation()
	j.counters()
	j.options()
	j.agents()
	j.containment()
	j.places()
	j.virtualThreads()
	return j.findings
}

type judge struct {
	facts    *Facts
	version  jdk.Version // zero if unknown
	findings []Finding
}

func (j *judge) find(severity Severity, subject, text, remedy string) {
	j.findings = append(j.findings, Finding{severity, subject, text, remedy})
}

// newest is the newest JDK that Sonde supports; see jdk.Hooks for the oldest ones.
const newest = 26

func (j *judge) kind() {
	jvm := j.facts.JVM
	switch {
	case jvm.Kind == process.OpenJ9:
		j.find(Stop, "JVM", "it is an OpenJ9 JVM, which speaks another attach protocol", "run the program on a HotSpot JVM")
	case jvm.Kind == process.Hidden:
		j.find(Stop, "JVM", "it belongs to "+jvm.User+" and cannot be inspected", jvm.AccessFor(j.facts.UID))
	case jvm.Kind != process.HotSpot:
		j.find(Stop, "JVM", fmt.Sprintf("it is a JVM of an unknown kind, %q", jvm.Kind), "run the program on a HotSpot JVM")
	case j.version.Feature == 0:
		j.find(Warn, "JVM", "it is a HotSpot JVM of an unknown version", "")
	case !jdk.Hooks(j.version):
		j.find(Stop, "JVM", "Sonde does not support JDK "+jvm.Version, "run the program on JDK 8, or on JDK 11 or later")
	case j.version.Feature > newest:
		j.find(Warn, "JVM", fmt.Sprintf("JDK %s is newer than %d, the newest that this Sonde supports", jvm.Version, newest), "use a newer version of Sonde")
	default:
		text := "HotSpot, JDK " + jvm.Version
		if jvm.Vendor != "" {
			text += ", " + jvm.Vendor
		}
		j.find(OK, "JVM", text, "")
	}
}

// sampling says how hot spots are found.
func (j *judge) sampling() {
	switch v := j.facts.Sampling; {
	case v.Answer == process.Yes:
		j.find(OK, "sampling", "by the kernel, which changes nothing in the JVM", "")
	case v.Answer == process.No && j.facts.JVM.Attach.Answer == process.No:
		j.find(Warn, "sampling", "the kernel cannot sample it, and its flight recorder needs attaching: "+v.Reason, "")
	case v.Answer == process.No:
		j.find(Note, "sampling", "the kernel cannot sample it, so its flight recorder or thread dumps are used: "+v.Reason, "")
	}
}

func (j *judge) access() {
	jvm := j.facts.JVM
	if j.facts.UID != 0 && (j.facts.UID != int(jvm.UID) || j.facts.GID != int(jvm.GID)) {
		j.find(Stop, "access", "it belongs to "+jvm.User+" and answers only that user", jvm.AccessFor(j.facts.UID))
	}
	if jvm.Stopped {
		j.find(Stop, "access", "it is stopped by a signal or a debugger", fmt.Sprintf("resume it with kill -CONT %d", jvm.PID))
	}
}

// attach passes a JVM in which Sonde's agent waits already.
func (j *judge) attach() {
	if j.facts.Invited {
		j.find(OK, "attach", "not needed, because Sonde's agent was loaded at the start and waits", "")
		return
	}
	j.verdict("attach", "allowed", j.facts.JVM.Attach)
	if j.facts.AskError != nil {
		j.find(Warn, "attach", "its flags could not be read: "+j.facts.AskError.Error(), "")
	}
}

func (j *judge) verdict(subject, yes string, v process.Verdict) {
	text, remedy, _ := strings.Cut(v.Reason, "; ")
	switch v.Answer {
	case process.Yes:
		j.find(OK, subject, yes, "")
	case process.No:
		j.find(Stop, subject, text, remedy)
	default:
		j.find(Warn, subject, text, remedy)
	}
}

func (j *judge) agentLoading() {
	f := j.facts
	if f.Invited || f.JVM.Attach.Answer == process.No {
		return // not needed, or reported already
	}
	if f.Asked && !f.flag("EnableDynamicAgentLoading", true) {
		j.verdict("agents", "", process.Verdict{Answer: process.No, Reason: process.NoAgents})
		return
	}
	const warns = 21
	if f.JVM.Agents.Answer == process.Yes && j.version.Feature >= warns && f.Flags["EnableDynamicAgentLoading"] != "true" {
		j.find(Note, "agents", "allowed, but the JVM will print a warning on the program's error stream",
			"start it with -XX:+EnableDynamicAgentLoading to avoid the warning")
		return
	}
	j.verdict("agents", "allowed", f.JVM.Agents)
}

func (j *judge) runtime() {
	modules := j.facts.JVM.Modules
	if len(modules) > 0 && !slices.Contains(modules, "java.instrument") {
		j.find(Stop, "modules", "its run-time image lacks the module java.instrument",
			"add it with jlink --add-modules java.instrument")
	}
}

func (j *judge) presence() {
	if inside := j.facts.JVM.Inside; inside == process.Inside || inside == process.Packed {
		j.find(Note, "Sonde", "Sonde already has an agent in this JVM, and methods may have hooks", fmt.Sprintf("sonde status %d shows the details", j.facts.JVM.PID))
	}
}

// redefinition reports the cost of changing classes, and the faults of the JDK in doing so.
func (j *judge) redefinition() {
	f := j.facts
	atStart := f.Invited || slices.ContainsFunc(f.Agents, func(a Agent) bool { return a.AtStart && a.Trait != Samples })
	const everything = "the first change to a class will discard all compiled code, so the program will be slow for seconds"
	const remedy = "attach when the program has little load, or start it with -javaagent (sonde agent-jar)"
	switch {
	case !f.flag("AlwaysRecordEvolDependencies", true):
		j.find(Warn, "redefinition", everything+" (-XX:-AlwaysRecordEvolDependencies)", "start it without that option")
	case f.TracksDependencies == process.Yes:
		j.find(OK, "redefinition", "changing a class discards only the code that depends on it", "")
	case f.TracksDependencies == process.Unknown:
		j.find(Warn, "redefinition", "it is unknown whether this JVM records the dependencies of compiled code; if it does not, "+everything, remedy)
	case atStart:
		j.find(Note, "redefinition", "an agent was loaded at the start, so compiled code probably survives the first change to a class", "")
	default:
		j.find(Warn, "redefinition", everything, remedy)
	}
	if j.version.Feature != 0 && j.version.Feature < 15 {
		j.find(Warn, "redefinition", "before JDK 15 changing or restoring a class stops the program for some milliseconds",
			"select few classes")
	}
	if jdk.ParameterNames.In(j.version) {
		j.find(Note, "redefinition", "this JDK loses parameter names when it retransforms a class; "+
			"Sonde uses the class file instead, and lists classes that get no hooks because it cannot find their file", "")
	}
	if f.flag("AllowEnhancedClassRedefinition", false) {
		j.find(Warn, "redefinition", "it was started with -XX:+AllowEnhancedClassRedefinition, with which Sonde was never tested", "start it without that option")
	}
}

func (j *judge) verification() {
	f := j.facts
	switch {
	case !f.flag("BytecodeVerificationRemote", true):
		j.find(Warn, "verification", "it does not verify classes (-Xverify:none), so a class that another JVM would reject could crash it", "start it without that option")
	case f.flag("BytecodeVerificationLocal", false):
		j.find(Note, "verification", "it also verifies the JDK's own classes (-Xverify:all)", "")
	}
}

func (j *judge) securityManager() {
	const last = 23 // the JDK that can have one
	value, set := j.facts.Properties["java.security.manager"]
	set = set && value != "allow" && value != "disallow" || j.facts.JVM.Restricted
	if !set || j.version.Feature > last {
		return
	}
	const grant = "grant java.security.AllPermission to the agent's jar in its policy, or start it without -Djava.security.manager"
	if j.facts.Properties["java.security.policy"] == "" && j.facts.JVM.Property("java.security.policy") == "" {
		j.find(Stop, "security", "a SecurityManager with the default policy is installed, which lets no agent work, not even an agent that is loaded at the start", grant)
		return
	}
	j.find(Warn, "security", "a SecurityManager is installed, so Sonde can enter only if its policy allows that", grant)
}

func (j *judge) sharing() {
	f := j.facts
	for _, name := range []string{"SharedArchiveFile", "AOTCache"} {
		if file := f.Flags[name]; file != "" {
			j.find(OK, "sharing", fmt.Sprintf("classes come from an archive (-XX:%s=%s); the JVM makes a private copy of a class when Sonde changes it", name, file), "")
		}
	}
	for _, name := range []string{"ArchiveClassesAtExit", "AOTCacheOutput", "AOTConfiguration"} {
		if f.Flags[name] != "" {
			j.find(Note, "sharing", fmt.Sprintf("it will write an archive of its classes (-XX:%s), which will not contain the classes that Sonde has changed", name), "")
		}
	}
}

func (j *judge) compilation() {
	f := j.facts
	level, err := strconv.Atoi(f.Flags["TieredStopAtLevel"])
	const full = 4
	switch {
	case slices.Contains(f.Arguments, "-Xint"):
		j.find(Warn, "compilation", "it only interprets (-Xint), so a hook costs many times as much as in compiled code", "")
	case err == nil && level < full:
		j.find(Note, "compilation", fmt.Sprintf("its optimising compiler is off (-XX:TieredStopAtLevel=%d), so hooks cost more than usual", level), "")
	case f.flag("UseJVMCICompiler", false):
		j.find(Note, "compilation", "it uses another compiler (JVMCI), with which the cost of hooks was never measured", "")
	}
}

func (j *judge) counters() {
	f := j.facts
	if f.Asked && (!f.flag("UsePerfData", true) || f.flag("PerfDisableSharedMem", false)) {
		j.find(Note, "counters", "it publishes no counters, so the pauses that Sonde causes cannot be reported", "start it with -XX:+UsePerfData and without -XX:+PerfDisableSharedMem")
	}
}

func (j *judge) options() {
	for _, name := range []string{"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"} {
		if value := strings.TrimSpace(j.facts.Environment[name]); value != "" {
			j.find(Note, "options", fmt.Sprintf("some options come from the environment: %s=%s", name, value), "")
		}
	}
}

func (j *judge) agents() {
	for _, a := range j.facts.Agents {
		loaded := "at run time"
		if a.AtStart {
			loaded = "at startup"
		}
		text := fmt.Sprintf("the agent %s was loaded %s and %s (%s)", a.Name, loaded, a.Trait, a.Path)
		switch a.Trait {
		case Redefines:
			j.find(Warn, "other agents", text, "use it and Sonde one after the other, because each may undo the changes of the other")
		case Transforms:
			j.find(Note, "other agents", text+"; Sonde keeps its changes", "")
		case Debugs:
			j.find(Note, "other agents", text+"; a thread stopped at a breakpoint in a hook delays Sonde", "")
		default:
			j.find(OK, "other agents", text, "")
		}
	}
}

func (j *judge) containment() {
	jvm := j.facts.JVM
	var own []string
	if jvm.OtherPIDs {
		own = append(own, fmt.Sprintf("processes (its own PID is %d)", jvm.NamespacePID))
	}
	if jvm.OtherMounts {
		own = append(own, "files")
	}
	if len(own) > 0 {
		j.find(OK, "container", "it has its own namespaces for "+strings.Join(own, " and "), "")
	}
	m := j.facts.Memory
	if m.Limit == 0 {
		return
	}
	left := m.Limit - m.Used
	text := fmt.Sprintf("%s of its memory limit of %s are free", size(left), size(m.Limit))
	if left < roomForArena || left < m.Limit/20 {
		j.find(Warn, "memory", text+"; the memory that Sonde maps also counts, and the kernel kills processes over the limit", "raise the limit, or select fewer methods")
		return
	}
	j.find(OK, "memory", text, "")
}

// roomForArena is the memory that a session with many methods and threads takes.
const roomForArena = 128 << 20

func (j *judge) places() {
	tmp, shm := j.facts.Tmp, j.facts.Shm
	switch {
	case tmp.Denied:
		j.find(Stop, "/tmp", "this user is not allowed to open its /tmp", j.facts.JVM.AccessFor(j.facts.UID))
	case !tmp.Known:
		j.find(Stop, "/tmp", "its /tmp cannot be opened", "provide a /tmp that its user can write to")
	case tmp.ReadOnly:
		j.find(Stop, "/tmp", "its /tmp is read-only", "mount a /tmp that its user can write to")
	case tmp.NoExec:
		j.find(OK, "/tmp", "writable; noexec does not matter", "")
	default:
		j.find(OK, "/tmp", "writable", "")
	}
	roomy := func(p Place) bool { return p.Known && !p.ReadOnly && p.Free >= 2*roomForArena }
	switch {
	case roomy(shm):
		j.find(OK, "arena", fmt.Sprintf("/dev/shm has room, %s of %s", size(shm.Free), size(shm.Size)), "")
	case roomy(tmp):
		text := "it has no /dev/shm that can be written to"
		if shm.Known && !shm.ReadOnly {
			text = fmt.Sprintf("its /dev/shm has %s of %s left", size(shm.Free), size(shm.Size))
		}
		j.find(Note, "arena", text+", so measurements go to /tmp, where a slow disk may delay the program",
			"give it a larger /dev/shm (docker --shm-size)")
	case tmp.Known && !tmp.ReadOnly:
		j.find(Warn, "arena", fmt.Sprintf("its /dev/shm and its /tmp have little room, %s and %s, so little can be measured at once",
			size(shm.Free), size(tmp.Free)), "make room, or give it a larger /dev/shm (docker --shm-size)")
	}
}

func (j *judge) virtualThreads() {
	const since = 21
	if j.version.Feature >= since {
		j.find(OK, "virtual threads", "this JDK has them, and Sonde measures them like other threads", "")
	}
}

// size formats a number of bytes.
func size(n int64) string {
	n = max(n, 0)
	const step = 1024
	value, units := float64(n), []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	unit := 0
	for value >= step && unit < len(units)-1 {
		value /= step
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d %s", n, units[0])
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}
