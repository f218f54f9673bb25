package cli

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/service"
)

// anotherVersion returns a copy of the program that is another version of it: its time differs.
func anotherVersion(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("sonde")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	another := filepath.Join(t.TempDir(), "sonde")
	if err := os.WriteFile(another, program, 0o700); err != nil {
		t.Fatal(err)
	}
	when := time.Now().Add(-time.Hour)
	if err := os.Chtimes(another, when, when); err != nil {
		t.Fatal(err)
	}
	return another
}

// TestTwoVersions: two versions of Sonde, for one user, have a service each. They look at
// different JVMs at the same time. In a JVM that one holds, the other is refused, and it can only
// remove everything.
func TestTwoVersions(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			dir := ownDirectory(t)
			v := &versions{t, newOwnService(t, "sonde", dir), newOwnService(t, anotherVersion(t), dir), kindsOfLooks(t)}
			held, other := startLooked(t, jdk), startLooked(t, jdk)
			held.sonde, other.sonde = v.first.run, v.second.run
			v.serveBoth(held, other)
			v.refuse(held)
			v.undo(held)
			held.nothingRuns()
			other.nothingRuns()
		})
	}
}

// versions are two versions of Sonde.
type versions struct {
	t             *testing.T
	first, second *ownService
	kinds         []kindOfLook
}

// serveBoth counts in two JVMs, each by one version.
func (v *versions) serveBoth(held, other *lookedProgram) {
	v.t.Helper()
	kind := &v.kinds[2]
	for _, p := range []*lookedProgram{held, other} {
		l, why := p.startLook(kind)
		if l == nil {
			v.t.Fatal(why)
		}
		defer func() {
			own := p.work(2)
			if have, _ := l.have(v.t, p.endLook(l)); !maps.Equal(withoutZeros(have), withoutZeros(kind.want(own))) {
				v.t.Errorf("counted %v, want %v", have, kind.want(own))
			}
		}()
	}
	if a, b := v.first.process(), v.second.process(); a == 0 || b == 0 || a == b {
		v.t.Errorf("the services are the processes %d and %d", a, b)
	}
	for _, o := range []*ownService{v.first, v.second} {
		running := 0
		for _, l := range o.looks(v.t) {
			if l.State == service.Running {
				running++
			}
		}
		if running != 2 {
			v.t.Errorf("one version lists %d running looks of both", running)
		}
	}
}

// refuse asks the second version for what the first one has.
func (v *versions) refuse(held *lookedProgram) {
	v.t.Helper()
	applied, why := held.startLook(&v.kinds[0])
	if applied == nil {
		v.t.Fatal(why)
	}
	isHeld := fmt.Sprintf("sonde: process %s is held by sonde serve, process %d: wait, or free it with sonde undo %s\n", held.pid, v.first.process(), held.pid)
	isElsewhere := fmt.Sprintf("look %s runs in a service of another version of Sonde", applied.number)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"count", held.pid, "looked.Looked$Pay.*"}, isHeld},
		{[]string{"count", held.pid, "looked.Looked$Pay.*", "--background"}, isHeld},
		{[]string{"count", held.pid, "looked.Looked$Pay.*", "--no-service"}, isHeld},
		{[]string{"profile", held.pid, "--root", "looked.Looked$Web.handle"}, isHeld},
		{append([]string{"apply", held.pid}, v.kinds[0].args...), isElsewhere},
		{[]string{"apply", held.pid, "--end"}, isElsewhere},
		{[]string{"show", applied.number}, isElsewhere},
		{[]string{"end", applied.number}, isElsewhere},
		{[]string{"undo", held.pid, "--look", applied.number}, isElsewhere},
	} {
		code, out, stderr := v.second.run(v.t, tt.args...)
		if code != exitError || out != "" || !strings.Contains(stderr, tt.want) || strings.Count(stderr, "\n") != 1 {
			v.t.Errorf("sonde %s: exit code %d: %s%s\nwant %s", strings.Join(tt.args, " "), code, out, stderr, tt.want)
		}
	}
	own := held.work(3)
	want := applied.kindOfLook.want(own)
	if have, _ := applied.have(v.t, held.endLook(applied)); !maps.Equal(withoutZeros(have), withoutZeros(want)) {
		v.t.Errorf("counted %v, want %v", have, want)
	}
}

// undo removes with the second version what the first one has.
func (v *versions) undo(held *lookedProgram) {
	v.t.Helper()
	l, why := held.startLook(&v.kinds[2])
	if l == nil {
		v.t.Fatal(why)
	}
	own := held.work(1)
	if code, out, stderr := v.second.run(v.t, "undo", held.pid); code != exitOK || !strings.HasPrefix(out, "removed the hooks of ") {
		v.t.Errorf("sonde undo: exit code %d: %s%s", code, out, stderr)
	}
	number, _ := strconv.Atoi(l.number)
	within(v.t, "the end of the look whose hooks were removed", func() bool { return v.first.looks(v.t)[number].State == service.Ended })
	_, out, _ := v.second.run(v.t, "show", l.number, "--json") // results are of all versions
	have, _ := l.have(v.t, out)
	if want := l.kindOfLook.want(own); !maps.Equal(withoutZeros(have), withoutZeros(want)) || ending(parse[document.Count](v.t, out).Ended) != endedUndone {
		v.t.Errorf("counted %v, want %v: %s", have, want, out)
	}
}
