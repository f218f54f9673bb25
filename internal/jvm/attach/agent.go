package attach

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// What JPLIS, the JDK's code behind Java agents, returns.
const (
	agentBadJar    = 100
	agentNotOnPath = 101
	agentThrew     = 102
)

// LoadAgent has the JVM load a Java agent: a jar, by its absolute path as the
// JVM sees it, and the text its agentmain gets.
func (c *Conn) LoadAgent(ctx context.Context, jar, options string) error {
	switch {
	case c.jvm.Agents.Answer == process.No:
		return c.fail(ErrAgentsOff, c.jvm.Agents.Reason, nil)
	case !path.IsAbs(jar):
		return c.fail(ErrAgent, fmt.Sprintf("%s is not an absolute path", jar), nil)
	case strings.Contains(jar, "="):
		return c.fail(ErrAgent, fmt.Sprintf("%s holds =, which ends a path here: use another", jar), nil)
	}
	if options != "" {
		options = "=" + options
	}
	for began, pause := time.Now(), firstPause; ; pause = min(2*pause, longestPause) {
		reply, err := c.Execute(ctx, "load", "instrument", "false", jar+options)
		if err != nil {
			return err
		}
		if !isBooting(reply) {
			return c.agentError(jar, reply)
		}
		if time.Since(began) > bootLimit {
			return c.fail(ErrAgent, "its modules are not there yet: try again when it has started", nil)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// bootLimit bounds what a JVM that answers may take until it has its modules, which it needs
// for agents: most need tens of milliseconds.
const bootLimit = 5 * time.Second

// isBooting is whether the JVM looked for the module of agents before it had any, or, as JDK 25
// does a little later, says that it has not begun. What an agent throws is not told in these ways.
func isBooting(reply Reply) bool {
	text := strings.TrimSpace(reply.Text)
	return reply.Code == -1 && text == "java.lang.NullPointerException" ||
		text == "Dynamic agent loading is only permitted in the live phase"
}

// agentError reads the reply to a load, in which a code of 0 says little: JDK 25
// refuses with it, and the agent's own result stands in the text, after
// "return code: " since JDK 9.
func (c *Conn) agentError(jar string, reply Reply) error {
	text := strings.TrimSpace(reply.Text)
	result, err := strconv.Atoi(strings.TrimPrefix(text, "return code: "))
	switch {
	case reply.Code == 0 && err == nil && result == 0:
		return nil
	case reply.Code == 0 && err == nil:
		return c.fail(ErrAgent, agentResult(jar, result), nil)
	case strings.Contains(text, "agent loading is not enabled"):
		return c.fail(ErrAgentsOff, "agents are switched off (-XX:-EnableDynamicAgentLoading): "+
			"start it without that option, or with -javaagent", nil)
	case strings.Contains(text, "FindException") && strings.Contains(text, "java.instrument"):
		return c.fail(ErrAgentsOff, "its run-time image lacks the module java.instrument: "+
			"add it with jlink --add-modules java.instrument", nil)
	case text == "":
		return c.fail(ErrAgent, fmt.Sprintf("code %d without a reason", reply.Code), nil)
	}
	return c.fail(ErrAgent, firstLine(text), nil)
}

func agentResult(jar string, result int) string {
	switch result {
	case agentBadJar:
		return jar + " is not there for the JVM, or has no Agent-Class: put it where the JVM and its user can read it"
	case agentNotOnPath:
		return jar + " cannot be added to the class path"
	case agentThrew:
		return "its agentmain threw; the stack trace is on the program's error stream"
	}
	return fmt.Sprintf("it returned %d", result)
}
