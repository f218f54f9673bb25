package jvmtest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// RunLimit is how long Run lets a program run. It only bounds a program that
// hangs: no test depends on how long anything takes.
const RunLimit = 10 * time.Minute

// An Outcome is what a program left behind.
type Outcome struct {
	Stdout, Stderr string
	Exit           int
}

// Run runs java with these arguments to its end. Any exit code is an outcome;
// only a program that cannot be started or does not end fails the test.
func Run(t testing.TB, jdk JDK, args ...string) Outcome {
	t.Helper()
	return RunTool(t, jdk, "java", args...)
}

// RunTool is like Run for another of the JDK's programs.
func RunTool(t testing.TB, jdk JDK, tool string, args ...string) Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), RunLimit)
	defer cancel()
	command := exec.CommandContext(ctx, jdk.Tool(tool), args...)
	command.Env = cleanEnv()
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.Fatalf("%s %s did not end within %v\nstdout: %s\nstderr: %s", tool, args, RunLimit, tail(stdout), tail(stderr))
	case err != nil && !errors.As(err, &exit):
		t.Fatalf("%s %s: %v", tool, args, err)
	}
	return Outcome{stdout.String(), stderr.String(), command.ProcessState.ExitCode()}
}

// cleanEnv is the environment without what would change a JVM's options or
// make it print a note about them.
func cleanEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == "JAVA_TOOL_OPTIONS" || name == "_JAVA_OPTIONS" || name == "JDK_JAVA_OPTIONS" || name == "CLASSPATH"
	})
}

func tail(b bytes.Buffer) string {
	const limit = 4000
	text := b.Bytes()
	return string(text[max(0, len(text)-limit):])
}
