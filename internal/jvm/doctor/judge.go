package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/weave/original"
)

// Judge says what the facts mean for Sonde, in the order a reader wants them:
// may it, what is it, what will it cost, what else is there.
func Judge(f Facts) []Finding {
	version, _ := original.ParseVersion(f.JVM.Version) // what cannot be read is not known
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
	version  original.Version // zero is not known
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
