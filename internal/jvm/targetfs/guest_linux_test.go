package targetfs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

const nobody = 65534

// A guest is a JVM that does what an agent would.
type guest struct {
	*jvmtest.Running
	jvm *process.JVM
}

// startGuest starts one, where wrap leads to: if it says so, as its only child.
func startGuest(t *testing.T, jdk jvmtest.JDK, wrap []string) guest {
	t.Helper()
	compiled := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/Guest.java"}})
	public := jvmtest.PublicDirectory(t)
	if err := os.CopyFS(public, os.DirFS(compiled)); err != nil {
		t.Fatal(err)
	}
	running := jvmtest.Start(t, jdk, jvmtest.Launch{
		Wrap: wrap, Args: []string{"-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp", public, "Guest"},
	})
	pid := running.PID
	if slices.Contains(wrap, "--fork") {
		pid = running.Child(t)
	}
	return guest{running, inspect(t, pid)}
}

func inspect(t *testing.T, pid int) *process.JVM {
	t.Helper()
	jvm, err := process.Local.Inspect(pid)
	if err != nil {
		t.Fatal(err)
	}
	return jvm
}

func oldest(t *testing.T) jvmtest.JDK {
	t.Helper()
	return jvmtest.Need(t, jvmtest.Supported[0])
}

// does has the guest act and returns what it says to that.
func (g guest) does(t *testing.T, command ...string) string {
	t.Helper()
	if _, err := fmt.Fprintln(g.Stdin, strings.Join(command, " ")); err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(g.Await(t, "did "), "did ")
}

// end ends the guest, and what namespaces it had.
func (g guest) end() {
	_ = g.Stdin.Close()
	<-g.Ended()
}

// seen is a path of the target's, seen from here.
func (g guest) seen(name string) string {
	return filepath.Join("/proc", strconv.Itoa(g.jvm.PID), "root", name)
}

// alone tells whether the guest has a /tmp of its own. In one for all, other
// tests may need the same directory of jars, which then outlives ours.
func (g guest) alone() bool { return g.jvm.OtherMounts }

// kinds are the targets there are: whose, and where.
func kinds(t *testing.T) map[string][]string {
	t.Helper()
	elsewhere := jvmtest.OtherNamespaces(t, "rw")
	other := jvmtest.AsNobody(t)
	return map[string][]string{
		"ours": nil, "nobody's": other, "elsewhere": elsewhere, "nobody's elsewhere": slices.Concat(elsewhere, other),
	}
}

func mustMake(t *testing.T, jvm *process.JVM) *Foothold {
	t.Helper()
	f, err := Make(jvm)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// only has footholds and arenas made, and leftovers looked for, in these places.
func only(t *testing.T, names ...string) {
	t.Helper()
	before, beforeArenas := places, arenaPlaces
	places, arenaPlaces = names, names
	t.Cleanup(func() { places, arenaPlaces = before, beforeArenas })
}

// ownPlace is a directory for all, as /tmp is, with nothing in it, and the only
// one there is.
func ownPlace(t *testing.T) string {
	t.Helper()
	dir := jvmtest.PublicDirectory(t)
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	only(t, dir)
	return dir
}

var ours = regexp.MustCompile(`^\.?sonde[-_]`)

// noneIn makes sure that nothing of ours lies in a directory.
func noneIn(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if ours.MatchString(entry.Name()) {
			t.Errorf("%s is left", filepath.Join(dir, entry.Name()))
		}
	}
}
