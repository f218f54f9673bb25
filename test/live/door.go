package live

import (
	"os"
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A Door is how a program is started, and so how Sonde can come in.
type Door struct {
	Name    string
	Options []string // of java
	Wrap    []string // a command that runs java, such as jvmtest.AsNobody
}

// Attach is the door of a program that nobody prepared.
var Attach = Door{Name: "attach"}

// JavaAgent is the door of a program that was started with an agent.
func JavaAgent(jar string) Door {
	return Door{Name: "javaagent", Options: []string{"-javaagent:" + jar}}
}

// With returns the door with more options of java.
func (d Door) With(options ...string) Door {
	d.Options = slices.Concat(d.Options, options)
	return d
}

// reachable returns a directory with the same files that the program can read:
// another user cannot look into this one's cache.
func (d Door) reachable(t testing.TB, directory string) string {
	t.Helper()
	if len(d.Wrap) == 0 {
		return directory
	}
	public := jvmtest.PublicDirectory(t)
	if err := os.CopyFS(public, os.DirFS(directory)); err != nil {
		t.Fatal(err)
	}
	return public
}
