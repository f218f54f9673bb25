package launch

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// TestHeld starts programs that are held, directly and by another command: each
// is found, begins when it is let go, and leaves no process.
func TestHeld(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
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
	jdk := jvmtest.OneJDK(t)[0]
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
	for _, jdk := range jvmtest.OneJDK(t) {
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

func TestWithAgent(t *testing.T) {
	for _, tt := range []struct{ words, environment, wantWords, wantEnvironment []string }{
		{[]string{"java", "-jar", "a.jar"}, []string{"A=1"}, []string{"java", "-javaagent:/a b.jar", "-jar", "a.jar"}, []string{"A=1"}},
		{[]string{"/jdk/bin/java"}, nil, []string{"/jdk/bin/java", "-javaagent:/a b.jar"}, nil},
		{[]string{"mvn", "java"}, []string{"A=1"}, []string{"mvn", "java"}, []string{"A=1", `JAVA_TOOL_OPTIONS="-javaagent:/a b.jar"`}},
		{[]string{"./java.sh"}, []string{"JAVA_TOOL_OPTIONS=-Xmx1g", "A=1"}, []string{"./java.sh"}, []string{`JAVA_TOOL_OPTIONS=-Xmx1g "-javaagent:/a b.jar"`, "A=1"}},
	} {
		words, environment, err := withAgent(tt.words, tt.environment, &AgentOption{Jar: "/a b.jar"})
		if err != nil || !slices.Equal(words, tt.wantWords) || !slices.Equal(environment, tt.wantEnvironment) {
			t.Errorf("%v, %v: %v, %v, %v", tt.words, tt.environment, words, environment, err)
		}
	}
}

func TestHoldOption(t *testing.T) {
	for hold, want := range map[time.Duration]string{
		0: "-javaagent:/a.jar", time.Millisecond: "-javaagent:/a.jar=hold=1,by=7", 30 * time.Second: "-javaagent:/a.jar=hold=30,by=7",
	} {
		if got, err := (&AgentOption{Jar: "/a.jar", Hold: hold, By: 7}).word(); got != want || err != nil {
			t.Errorf("%v: %s, %v, want %s", hold, got, err, want)
		}
	}
}

func TestMark(t *testing.T) {
	mark, other := newMark(), newMark()
	env := withMark([]string{"A=1", other, "B=2"}, mark)
	if !slices.Equal(env, []string{"A=1", "B=2", mark}) || mark == other {
		t.Errorf("%v, %s", env, mark)
	}
}
