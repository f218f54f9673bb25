package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// IsJava tells whether a command is the JVM's own launcher, which takes options.
func IsJava(command string) bool { return filepath.Base(command) == "java" }

// option has a JVM load the agent, and hold its program for so long at most.
func option(jar string, hold time.Duration) string {
	text := "-javaagent:" + jar
	if hold > 0 {
		text += fmt.Sprintf("=hold=%d", max(1, int64(hold.Round(time.Second)/time.Second)))
	}
	return text
}

// withAgent is a command line and its environment, changed so that the JVM it
// starts has an option: as its first, or by a variable where the command is not
// java itself.
func withAgent(words, environment []string, option string) (changed, env []string) {
	if IsJava(words[0]) {
		return slices.Insert(slices.Clone(words), 1, option), environment
	}
	env = slices.Clone(environment)
	at := slices.IndexFunc(env, func(entry string) bool { return strings.HasPrefix(entry, ToolOptions+"=") })
	if at < 0 {
		return words, append(env, ToolOptions+"="+option)
	}
	env[at] += " " + option
	return words, env
}

// isOf tells whether a process has our option in its environment: the path of the
// jar is of this one launch.
func isOf(pid int, jar string) bool {
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && strings.Contains(string(environment), "-javaagent:"+jar)
}
