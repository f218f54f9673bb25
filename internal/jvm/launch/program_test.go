package launch

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// TestHeld starts programs that are held, directly and by another command: each
// is found, begins when it is let go, and leaves no process.
func TestHeld(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		classpath, mainClass := jvmtest.Waiting(t, jdk)
		java := []string{jdk.Tool("java"), "-cp", classpath, mainClass}
		for name, words := range map[string][]string{"java": java, "another": {"sh", "-c", strings.Join(java, " ") + "; exit 3"}} {
			t.Run(fmt.Sprintf("jdk%d/%s", jdk.Major, name), func(t *testing.T) {
				p, err := Start(words, Settings{Hold: mostPatience, AgentDir: t.TempDir()})
				if err != nil {
					t.Fatal(err)
				}
				found := 0
				p.Watch(t.Context(), func(jvm *process.JVM) {
					found++
					if name == "java" && jvm.PID != p.PID {
						t.Errorf("process %d was started, %d found", p.PID, jvm.PID)
					}
					if held, err := targetfs.LetGo(jvm); !held || err != nil {
						t.Errorf("held %v, %v", held, err)
					}
				})
				if code := p.ExitCode(); found != 1 || code != map[string]int{"java": 0, "another": 3}[name] {
					t.Errorf("%d found, exit code %d", found, code)
				}
				if left := p.Left(); len(left) > 0 {
					t.Errorf("processes are left: %v", left)
				}
			})
		}
	}
}

// mostPatience is how long a program is held that nobody lets go.
const mostPatience = 10 * 60e9

// TestHoldEnds shows that a program nobody lets go begins by itself.
func TestHoldEnds(t *testing.T) {
	jdk := jvmtest.JDKs(t)[0]
	classpath, mainClass := jvmtest.Waiting(t, jdk)
	p, err := Start([]string{jdk.Tool("java"), "-cp", classpath, mainClass}, Settings{Hold: 1e9, AgentDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if code := p.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestCannotStart(t *testing.T) {
	if _, err := Start([]string{filepath.Join(t.TempDir(), "none")}, Settings{}); err == nil || !strings.Contains(err.Error(), "none cannot be started") {
		t.Errorf("%v", err)
	}
}

// TestNotHeldByOneThatIsGone: the variable outlives the command that would let a program go.
func TestNotHeldByOneThatIsGone(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	for _, jdk := range jvmtest.JDKs(t) {
		jar, err := KeepJar(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		word, err := (&AgentOption{Jar: jar, Hold: mostPatience, By: gone.Process.Pid}).word()
		if err != nil {
			t.Fatal(err)
		}
		classpath, mainClass := jvmtest.Waiting(t, jdk)
		jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{word, "-cp", classpath, mainClass}}) // waits for its first line
	}
}
