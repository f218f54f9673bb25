package process

import (
	"fmt"

	"github.com/sonde-jvm/sonde/internal/jvm/perfdata"
)

// judge decides whether one may attach to the JVM and load agents into it. The
// JVM's own word counts before what its options imply.
func (j *JVM) judge(o options, counters *perfdata.Counters) {
	if j.Kind == OpenJ9 {
		const reason = "OpenJ9 speaks another attach protocol: run the program on a HotSpot JVM"
		j.Attach, j.Agents = Verdict{No, reason}, Verdict{No, reason}
		return
	}
	j.Attach = j.judgeAttach(o, counters)
	switch {
	case j.Attach.Answer != Yes:
		j.Agents = j.Attach
	case !flag(o.words, "EnableDynamicAgentLoading", true):
		j.Agents = Verdict{No, "agents are switched off (-XX:-EnableDynamicAgentLoading): " +
			"start it without that option, or with -javaagent"}
	case !o.complete:
		j.Agents = Verdict{Unknown, "some of its options cannot be read: try"}
	default:
		j.Agents = Verdict{Answer: Yes}
	}
}

func (j *JVM) judgeAttach(o options, counters *perfdata.Counters) Verdict {
	off := Verdict{No, "attaching is switched off (-XX:+DisableAttachMechanism): " +
		"start it without that option, or with -javaagent"}
	if counters != nil {
		switch enabled, known := counters.AttachEnabled(); {
		case known && enabled:
			return Verdict{Answer: Yes}
		case known:
			return off
		}
	}
	switch {
	case flag(o.words, "DisableAttachMechanism", false):
		return off
	case !o.complete:
		return Verdict{Unknown, "it publishes no counters and not all of its options can be read: " +
			"start it with -XX:+UsePerfData"}
	case !j.CatchesQuit && !j.ReducedSignal:
		return Verdict{Unknown, fmt.Sprintf("it does not catch SIGQUIT yet, as a JVM that is starting: look at %d again", j.PID)}
	}
	return Verdict{Answer: Yes}
}
