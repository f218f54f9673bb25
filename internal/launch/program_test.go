package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/attach/jvmproc"
	"github.com/sonde-jvm/sonde/internal/foothold"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// TestHeld starts programs that are held, directly and by another command: each
// is found, begins when it is let go, and leaves nothing.
func TestHeld(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		classpath, mainClass := jvmtest.Waiting(t, jdk)
		java := []string{jdk.Tool("java"), "-cp", classpath, mainClass}
		for name, words := range map[string][]string{"java": java, "another": {"sh", "-c", strings.Join(java, " ") + "; exit 3"}} {
			t.Run(fmt.Sprintf("jdk%d/%s", jdk.Major, name), func(t *testing.T) {
				p, err := Start(words, mostPatience)
				if err != nil {
					t.Fatal(err)
				}
				found := 0
				p.Watch(t.Context(), func(jvm *jvmproc.JVM) {
					found++
					if name == "java" && jvm.PID != p.PID {
						t.Errorf("process %d was started, %d found", p.PID, jvm.PID)
					}
					if held, err := foothold.LetGo(jvm); !held || err != nil {
						t.Errorf("held %v, %v", held, err)
					}
				})
				if code := p.ExitCode(); found != 1 || code != map[string]int{"java": 0, "another": 3}[name] {
					t.Errorf("%d found, exit code %d", found, code)
				}
				if err := p.Close(); err != nil {
					t.Error(err)
				}
				if _, err := os.Stat(filepath.Dir(p.jar.Path)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the jar is left: %v", err)
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
	p, err := Start([]string{jdk.Tool("java"), "-cp", classpath, mainClass}, 1e9)
	if err != nil {
		t.Fatal(err)
	}
	if code := p.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestCannotStart(t *testing.T) {
	if _, err := Start([]string{filepath.Join(t.TempDir(), "none")}, 0); err == nil || !strings.Contains(err.Error(), "none cannot be started") {
		t.Errorf("%v", err)
	}
}
