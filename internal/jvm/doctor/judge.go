package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// Judge says what the facts mean for Sonde, in the order a reader wants them:
// may it, what is it, what will it cost, what else is there.
func Judge(f Facts) []Finding {
	version, _ := jdk.ParseVersion(f.JVM.Version) // what cannot be read is not known
	j := &judge{facts: &f, version: version}
	j.kind()
	if f.JVM.Kind != process.HotSpot {
		return j.findings // nothing of the rest holds for it
	}
	j.access()
	j.attach()
	j.agentLoading()
	j.runtime()
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
	version  jdk.Version // zero is not known
	findings []Finding
}

func (j *judge) find(severity Severity, subject, text, remedy string) {
	j.findings = append(j.findings, Finding{severity, subject, text, remedy})
}

// The JDKs Sonde is made for.
const oldest, newest = 11, 25

func (j *judge) kind() {
	jvm := j.facts.JVM
	switch {
	case jvm.Kind == process.OpenJ9:
		j.find(Stop, "JVM", "an OpenJ9 JVM, which speaks another attach protocol", "run the program on a HotSpot JVM")
	case jvm.Kind == process.Hidden:
		j.find(Stop, "JVM", "it belongs to "+jvm.User+" and cannot be looked into", jvm.Access())
	case jvm.Kind != process.HotSpot:
		j.find(Stop, "JVM", fmt.Sprintf("a JVM of an unknown kind, %q", jvm.Kind), "run the program on a HotSpot JVM")
	case j.version.Feature == 0:
		j.find(Warn, "JVM", "HotSpot of an unknown version", "")
	case j.version.Feature < oldest:
		j.find(Stop, "JVM", fmt.Sprintf("JDK %s is older than %d", jvm.Version, oldest), "run the program on a newer JDK")
	case j.version.Feature > newest:
		j.find(Warn, "JVM", fmt.Sprintf("JDK %s is newer than %d, the newest this Sonde knows", jvm.Version, newest), "see whether there is a newer Sonde")
	default:
		text := "HotSpot, JDK " + jvm.Version
		if jvm.Vendor != "" {
			text += ", " + jvm.Vendor
		}
		j.find(OK, "JVM", text, "")
	}
}

func (j *judge) access() {
	jvm := j.facts.JVM
	if j.facts.UID != 0 && (j.facts.UID != int(jvm.UID) || j.facts.GID != int(jvm.GID)) {
		j.find(Stop, "access", "it belongs to "+jvm.User+", and answers its own user alone", jvm.Access())
	}
	if jvm.Stopped {
		j.find(Stop, "access", "it is stopped, by a signal or a debugger", fmt.Sprintf("kill -CONT %d resumes it", jvm.PID))
	}
}

// attach: no verdict forbids a JVM in which Sonde's agent waits already.
func (j *judge) attach() {
	if j.facts.Invited {
		j.find(OK, "attach", "not needed: Sonde's agent was started with it and waits", "")
		return
	}
	j.verdict("attach", "allowed", j.facts.JVM.Attach)
	if j.facts.AskError != nil {
		j.find(Warn, "attach", "it did not tell its flags: "+j.facts.AskError.Error(), "")
	}
}

func (j *judge) verdict(subject, yes string, v process.Verdict) {
	text, remedy, _ := strings.Cut(v.Reason, ": ")
	switch v.Answer {
	case process.Yes:
		j.find(OK, subject, yes, "")
	case process.No:
		j.find(Stop, subject, text, remedy)
	default:
		j.find(Warn, subject, "not known: "+text, remedy)
	}
}

func (j *judge) agentLoading() {
	f := j.facts
	if f.Invited || f.JVM.Attach.Answer == process.No {
		return // not needed, or said already
	}
	if f.Asked && !f.flag("EnableDynamicAgentLoading", true) {
		j.find(Stop, "agents", "loading agents is switched off (-XX:-EnableDynamicAgentLoading)",
			"start it without that option, or with -javaagent (sonde agent-jar)")
		return
	}
	const warns = 21
	if f.JVM.Agents.Answer == process.Yes && j.version.Feature >= warns && f.Flags["EnableDynamicAgentLoading"] != "true" {
		j.find(Note, "agents", "allowed; the JVM will print a warning about it on the program's error stream",
			"start it with -XX:+EnableDynamicAgentLoading to have none")
		return
	}
	j.verdict("agents", "allowed", f.JVM.Agents)
}

func (j *judge) runtime() {
	modules := j.facts.Modules
	if len(modules) > 0 && !slices.Contains(modules, "java.instrument") {
		j.find(Stop, "modules", "its run-time image lacks the module java.instrument",
			"add it with jlink --add-modules java.instrument")
	}
}

func (j *judge) presence() {
	if inside := j.facts.JVM.Inside; inside == process.Inside || inside == process.Packed {
		j.find(Note, "Sonde", "inside already: methods may be woven", fmt.Sprintf("sonde status %d", j.facts.JVM.PID))
	}
}

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
		slices.ContainsFunc(jdk.Bugs(j.version), func(b jdk.Bug) bool { return b.ID == forgets })
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

func (j *judge) agents() {
	for _, a := range j.facts.Agents {
		came := "came after the start"
		if a.AtStart {
			came = "was there from the start"
		}
		text := fmt.Sprintf("%s is inside: it %s, and %s (%s)", a.Name, came, a.Trait, a.Path)
		switch a.Trait {
		case Redefines:
			j.find(Warn, "other agents", text, "use it and Sonde one after the other: each may undo what the other has changed")
		case Transforms:
			j.find(Note, "other agents", text+"; what it has changed is kept", "")
		case Debugs:
			j.find(Note, "other agents", text+"; a thread stopped at a breakpoint in a hook holds Sonde up", "")
		default:
			j.find(OK, "other agents", text, "")
		}
	}
}

func (j *judge) containment() {
	jvm := j.facts.JVM
	var own []string
	if jvm.OtherPIDs {
		own = append(own, fmt.Sprintf("processes (it sees itself as %d)", jvm.NamespacePID))
	}
	if jvm.OtherMounts {
		own = append(own, "files")
	}
	if len(own) > 0 {
		j.find(OK, "container", "it has a namespace of its own for "+strings.Join(own, " and "), "")
	}
	m := j.facts.Memory
	if m.Limit == 0 {
		return
	}
	left := m.Limit - m.Used
	text := fmt.Sprintf("%s of its limit of %s are left", size(left), size(m.Limit))
	if left < roomForArena || left < m.Limit/20 {
		j.find(Warn, "memory", text+": what Sonde maps counts, and the kernel kills what goes over", "raise the limit, or watch fewer methods")
		return
	}
	j.find(OK, "memory", text, "")
}

// roomForArena is what a session of many methods and threads takes.
const roomForArena = 128 << 20

func (j *judge) places() {
	tmp, shm := j.facts.Tmp, j.facts.Shm
	switch {
	case !tmp.Known:
		j.find(Stop, "/tmp", "it has none that can be reached", "give it one that its user can write")
	case tmp.ReadOnly:
		j.find(Stop, "/tmp", "it is read-only", "mount one that its user can write")
	case tmp.NoExec:
		j.find(OK, "/tmp", "writable; that nothing in it can be executed does not matter", "")
	default:
		j.find(OK, "/tmp", "writable", "")
	}
	roomy := func(p Place) bool { return p.Known && !p.ReadOnly && p.Free >= 2*roomForArena }
	switch {
	case roomy(shm):
		j.find(OK, "arena", fmt.Sprintf("/dev/shm has room, %s of %s", size(shm.Free), size(shm.Size)), "")
	case roomy(tmp):
		text := "it has no /dev/shm to write to"
		if shm.Known && !shm.ReadOnly {
			text = fmt.Sprintf("its /dev/shm has %s of %s left", size(shm.Free), size(shm.Size))
		}
		j.find(Note, "arena", text+": measurements go to /tmp, where a slow disk may make the program wait",
			"give it a larger /dev/shm (docker --shm-size)")
	case tmp.Known && !tmp.ReadOnly:
		j.find(Warn, "arena", fmt.Sprintf("neither its /dev/shm nor its /tmp has much room, %s and %s: little can be measured at once",
			size(shm.Free), size(tmp.Free)), "make room, or give it a larger /dev/shm (docker --shm-size)")
	}
}

func (j *judge) virtualThreads() {
	const since = 21
	if j.version.Feature >= since {
		j.find(OK, "virtual threads", "this JDK has them, and they are measured as all others are", "")
	}
}

// size is a number of bytes as people say it.
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
