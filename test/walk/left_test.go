package walk_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/test/live"
)

// A sight is the code that a program ran before it was walked; none if nobody asked.
type sight struct {
	oracle *live.Oracle
	code   live.Snapshot
}

// looked are classes of the JDK that the programs use.
var looked = []string{"java.util.HashMap", "java.util.ArrayList", "java.util.stream.", "java.util.zip.Deflater", "java.lang.Thread", "java.lang.VirtualThread"}

// look asks the JVM what it runs.
func (p *program) look() sight {
	p.t.Helper()
	s := sight{oracle: live.NewOracle(p.t, &live.Program{Running: p.Running, JDK: p.jdk})}
	s.code = s.oracle.Methods(p.classes()...)
	return s
}

func (p *program) classes() []string {
	return append([]string{p.fixture.name + ".", "harness."}, looked...)
}

// sameCode demands that a program runs the code that it ran.
func (p *program) sameCode(before sight) {
	p.t.Helper()
	known := make(map[string]bool)
	for _, m := range before.code {
		known[m.Class] = m.Name != "" // the others may have been linked since
	}
	for _, line := range before.code.DiffMeaning(before.oracle.Methods(p.classes()...)) {
		words := strings.Fields(strings.TrimLeft(line, "+- {"))
		if known[words[0]] {
			p.t.Errorf("the code is not what it was: %s", line)
		}
	}
}

// untouched demands that a program runs the code that it ran, where that is known, and
// that neither threads nor files nor recordings of ours are left.
func (p *program) untouched(before sight) {
	p.t.Helper()
	if before.oracle != nil {
		p.sameCode(before)
	}
	jvm, err := process.Local.Inspect(p.PID)
	if err != nil {
		p.t.Fatal(err)
	}
	occupants, unreachable, err := session.Occupants(p.t.Context(), jvm, false)
	if err != nil || len(unreachable) > 0 || len(occupants) > 0 {
		p.t.Errorf("inside are still: %v, %v, %v", occupants, unreachable, err)
	}
	p.await("the agent's threads end", func() bool { return len(p.ourThreads()) == 0 })
	for _, pattern := range []string{"/tmp/.sonde-%d-*", "/tmp/.sonde_invite%d*", "/dev/shm/sonde-%d-*"} {
		if names, _ := filepath.Glob(fmt.Sprintf(pattern, p.PID)); len(names) > 0 { // the patterns are well formed
			p.t.Errorf("still there: %q", names)
		}
	}
	p.unrecorded()
}

// unrecorded demands that no flight recording is left.
func (p *program) unrecorded() {
	p.t.Helper()
	conn, err := attach.Open(p.t.Context(), p.PID)
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	reply, err := conn.Execute(p.t.Context(), "jcmd", "JFR.check")
	if err != nil || !strings.Contains(reply.Text, "No available recordings") {
		p.t.Errorf("the flight recorder says %q, %v", reply.Text, err)
	}
}

// wait bounds what a JVM may take; what is awaited comes, or never does.
const wait = time.Minute

func (p *program) await(what string, holds func() bool) {
	p.t.Helper()
	limit := time.Now().Add(wait)
	for !holds() {
		if time.Now().After(limit) {
			p.t.Fatalf("%s: not within %v\nstderr: %s", what, wait, p.Stderr())
		}
		time.Sleep(5 * time.Millisecond) // only between looks
	}
}

// ourThreads are those that the operating system knows by our names.
func (p *program) ourThreads() []string {
	p.t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", p.PID))
	if err != nil || len(tasks) == 0 {
		p.t.Fatalf("process %d has no threads: %v\nstderr: %s", p.PID, err, p.Stderr())
	}
	var ours []string
	for _, task := range tasks {
		if name, err := os.ReadFile(task); err == nil && strings.HasPrefix(string(name), "sonde-") { // else it has ended
			ours = append(ours, strings.TrimSpace(string(name)))
		}
	}
	return ours
}
