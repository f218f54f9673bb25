package attach

import (
	"archive/zip"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// agentJar compiles a tiny agent that prints a line, or throws when told to.
func agentJar(t *testing.T, jdk jvmtest.JDK) string {
	t.Helper()
	source := filepath.Join(t.TempDir(), "Agent.java")
	const text = `public class Agent { public static void agentmain(String options) {
		if ("throw".equals(options)) throw new IllegalStateException("as told");
		System.out.println("agent with " + options); } }`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{source}, Flags: []string{"--release", "8"}})
	class, err := os.ReadFile(filepath.Join(classes, "Agent.class"))
	if err != nil {
		t.Fatal(err)
	}
	jar := filepath.Join(jvmtest.PublicDirectory(t), "agent.jar")
	file, err := os.Create(jar)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	for _, entry := range []struct{ name, text string }{
		{"META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nAgent-Class: Agent\n\n"}, {"Agent.class", string(class)},
	} {
		w, err := archive.Create(entry.name)
		if err == nil {
			_, err = w.Write([]byte(entry.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), file.Close(), os.Chmod(jar, 0o644)); err != nil {
		t.Fatal(err)
	}
	return jar
}

func TestLoadAgent(t *testing.T) {
	onEachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		jar := agentJar(t, jdk)
		jvm := start(t, jdk, nil)
		c := mustOpen(t, jvm.PID)
		for _, options := range []string{"a=b,c d", "again"} {
			if err := c.LoadAgent(t.Context(), jar, options); err != nil {
				t.Fatal(err)
			}
			if line := jvm.Await(t, "agent with"); line != "agent with "+options {
				t.Errorf("agent printed %q", line)
			}
		}
		if err := c.LoadAgent(t.Context(), jar+".none", ""); !errors.Is(err, ErrAgent) || !strings.Contains(err.Error(), "is not there") {
			t.Errorf("no jar: %v", err)
		}
		if err := c.LoadAgent(t.Context(), jar, "throw"); !errors.Is(err, ErrAgent) || !strings.Contains(err.Error(), "threw") {
			t.Errorf("agent that throws: %v", err)
		}
	})
}

// TestLoadAgentAsAJVMStarts enters JVMs that can only just be entered, before they have
// their modules.
func TestLoadAgentAsAJVMStarts(t *testing.T) {
	onEachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		jar := agentJar(t, jdk)
		classpath, mainClass := jvmtest.Waiting(t, jdk)
		command := exec.Command(jdk.Tool("java"), "-Xmx64m", "-cp", classpath, mainClass)
		stdin, err := command.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stdout strings.Builder
		command.Stdout = &stdout
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		const hangs = time.Minute
		c, err := Open(t.Context(), command.Process.Pid)
		for began := time.Now(); err != nil && time.Since(began) < hangs; {
			c, err = Open(t.Context(), command.Process.Pid) // it is no JVM yet, or does not listen
		}
		if err == nil {
			err = c.LoadAgent(t.Context(), jar, "early")
			c.Close()
		}
		_ = stdin.Close()
		if waited := command.Wait(); err != nil || waited != nil || !strings.Contains(stdout.String(), "agent with early") {
			t.Errorf("%v; it ended with %v and printed %q", err, waited, stdout.String())
		}
	})
}

func TestAgentsSwitchedOff(t *testing.T) {
	onEachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		jar := agentJar(t, jdk)
		jvm := start(t, jdk, nil, "-XX:-EnableDynamicAgentLoading")
		c := mustOpen(t, jvm.PID)
		if err := c.LoadAgent(t.Context(), jar, ""); !errors.Is(err, ErrAgentsOff) {
			t.Errorf("known beforehand: %v", err)
		}
		// The same from the JVM's mouth.
		c.jvm.Agents = process.Verdict{Answer: process.Unknown}
		if err := c.LoadAgent(t.Context(), jar, ""); !errors.Is(err, ErrAgentsOff) {
			t.Errorf("said by the JVM: %v", err)
		}
	})
}
