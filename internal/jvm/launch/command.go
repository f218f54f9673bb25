package launch

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// IsJava tells whether a command is the JVM's own launcher, which takes options.
func IsJava(command string) bool { return filepath.Base(command) == "java" }

// withAgent is a command line and its environment, changed so that the JVM it
// starts has the agent: by its first option, or by a variable where the command is not
// java itself.
func withAgent(words, environment []string, option *AgentOption) (changed, env []string, err error) {
	if IsJava(words[0]) {
		word, err := option.word()
		return slices.Insert(slices.Clone(words), 1, word), environment, err
	}
	text, err := option.Text()
	if err != nil {
		return nil, nil, err
	}
	env = slices.Clone(environment)
	at := slices.IndexFunc(env, func(entry string) bool { return strings.HasPrefix(entry, ToolOptions+"=") })
	if at < 0 {
		return words, append(env, ToolOptions+"="+text), nil
	}
	env[at] += " " + text
	return words, env, nil
}

// markVariable is in the environment of all processes that a launch has started, and of
// theirs. Its value is of this one launch.
const markVariable = "SONDE_RUN"

// newMark is an entry of the environment that no other launch has.
func newMark() string {
	raw := make([]byte, 8)
	_, _ = rand.Read(raw) // it never fails
	return fmt.Sprintf("%s=%d-%x", markVariable, os.Getpid(), raw)
}

// withMark marks an environment. A mark of another launch, within which this one happens,
// goes: the last entry of a name would not count for all programs.
func withMark(environment []string, mark string) []string {
	others := slices.DeleteFunc(slices.Clone(environment), func(entry string) bool { return strings.HasPrefix(entry, markVariable+"=") })
	return append(others, mark)
}

// hasMark tells whether a process is of the launch with a mark. That of another user
// cannot be looked at, and is not.
func hasMark(pid int, mark string) bool {
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && slices.Contains(strings.Split(string(environment), "\x00"), mark)
}

// marked are the processes of the launch with a mark.
func marked(mark string) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil // nothing is known
	}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && hasMark(pid, mark) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}
