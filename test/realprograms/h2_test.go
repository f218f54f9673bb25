package realprograms

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/test/live"
)

var h2 = work{name: "H2Work", jars: []string{"h2"}, patterns: []string{"org.h2.**"}, release: "11"}

// TestH2SaysTheSameWithAHookInEveryMethod has a database answer the same with a
// hook in each of its methods, and the hooks count what its client counts.
func TestH2SaysTheSameWithAHookInEveryMethod(t *testing.T) {
	jar := filepath.Join(t.TempDir(), "agent.jar")
	if err := os.WriteFile(jar, agent.AgentJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	onAll(t, func(t *testing.T, jdk jvmtest.JDK) {
		for _, door := range []live.Door{live.Attach, live.JavaAgent(jar)} {
			t.Run(door.Name, func(t *testing.T) {
				p := start(t, jdk, jdk, h2.with(door.Options...))
				exercise(t, p, h2.patterns...)
				p.quiet()
			})
		}
	})
}
