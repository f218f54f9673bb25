package live

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A Program is a fixture that runs and answers. What it cannot answer, or
// answers by a failure, ends the test.
type Program struct {
	*jvmtest.Running
	JDK jvmtest.JDK
	t   testing.TB
}

// Start compiles workloads, starts a program with them and waits until it is
// ready. The test's end ends it.
func Start(t testing.TB, jdk jvmtest.JDK, door Door, workloads ...string) *Program {
	t.Helper()
	args := command(t, jdk, door, workloads)
	return &Program{jvmtest.Start(t, jdk, jvmtest.Launch{Wrap: door.Wrap, Args: args}), jdk, t}
}

// roundsAtOnce is how many rounds are asked for by one command, so that the
// limit on waiting for an answer does not limit how much can be run.
const roundsAtOnce = 10

// Run runs so many rounds of each workload.
func (p *Program) Run(rounds int) {
	p.t.Helper()
	for ; rounds > 0; rounds -= roundsAtOnce {
		p.done(fmt.Sprintf("run %d", min(rounds, roundsAtOnce)))
	}
}

// StartLoad has threads run rounds until StopLoad.
func (p *Program) StartLoad(threads int) {
	p.t.Helper()
	p.done(fmt.Sprintf("start %d", threads))
}

// StopLoad ends what StartLoad began. It fails if any round had another result
// than the first.
func (p *Program) StopLoad() {
	p.t.Helper()
	p.done("stop")
}

// Block has each workload that knows how start threads that stay inside counted
// methods, and returns when all are there.
func (p *Program) Block(threads int) {
	p.t.Helper()
	p.done(fmt.Sprintf("block %d", threads))
}

// Unblock lets the threads of Block go and waits for their end.
func (p *Program) Unblock() {
	p.t.Helper()
	p.done("unblock")
}

// GC runs a full collection.
func (p *Program) GC() {
	p.t.Helper()
	p.done("gc")
}

// Check runs one more round and returns a sum over what came of it, which is
// the same each time. It fails if any round before had another result.
func (p *Program) Check() string {
	p.t.Helper()
	return p.ask("check", "check ")
}

// Rounds is how many rounds were run, summed over the workloads. It can be asked
// under load.
func (p *Program) Rounds() int64 {
	p.t.Helper()
	var rounds int64
	p.scan(p.ask("rounds", "rounds "), &rounds)
	return rounds
}

// Rate is how many operations Hammer has done, and the program's clock in
// nanoseconds. It can be asked under load.
func (p *Program) Rate() (operations, nanos int64) {
	p.t.Helper()
	p.scan(p.ask("rate", "rate "), &operations, &nanos)
	return operations, nanos
}

// Say is what the class of Neighbour says: "original-word" and 1000003 where no
// other agent has changed it.
func (p *Program) Say() (word string, number int) {
	p.t.Helper()
	p.scan(p.ask("say", "said "), &word, &number)
	return word, number
}

// Keep has Loading load one class by each of its loaders, and hold them.
func (p *Program) Keep() {
	p.t.Helper()
	p.done("keep")
}

// Again runs what Keep holds once: per class, work is entered once and step ten
// times, ending twice by an exception.
func (p *Program) Again() {
	p.t.Helper()
	p.done("again")
}

// Drop lets go what Keep holds.
func (p *Program) Drop() {
	p.t.Helper()
	p.done("drop")
}

// Reflect returns all that reflection tells about the workloads' classes, in
// sorted lines.
func (p *Program) Reflect() string {
	p.t.Helper()
	path := filepath.Join(openDirectory(p.t), "reflect")
	p.done("reflect " + path)
	data, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

func (p *Program) done(command string) {
	p.t.Helper()
	p.ask(command, "done")
}

// ask sends a command and returns its answer, one line, behind a prefix.
func (p *Program) ask(command, prefix string) string {
	p.t.Helper()
	p.send(command)
	line := p.Await(p.t, "")
	answer, ok := strings.CutPrefix(line, prefix)
	if !ok {
		p.t.Fatalf("the program answered %q to %q\nstderr: %s", line, command, p.Stderr())
	}
	return answer
}

func (p *Program) send(command string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.Stdin, command); err != nil {
		p.t.Fatalf("sending %q to the program: %v\nstderr: %s", command, err, p.Stderr())
	}
}

func (p *Program) scan(answer string, values ...any) {
	p.t.Helper()
	if _, err := fmt.Sscan(answer, values...); err != nil {
		p.t.Fatalf("the program answered %q: %v", answer, err)
	}
}

// openDirectory is a new directory into which a program of any user can write.
func openDirectory(t testing.TB) string {
	t.Helper()
	directory, err := os.MkdirTemp("", "sonde-live-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	if err := os.Chmod(directory, 0o777); err != nil {
		t.Fatal(err)
	}
	return directory
}
