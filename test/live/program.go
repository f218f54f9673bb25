package live

import (
	"archive/zip"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
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

// Run runs the given number of rounds of each workload.
func (p *Program) Run(rounds int) {
	p.t.Helper()
	for ; rounds > 0; rounds -= roundsAtOnce {
		p.done(fmt.Sprintf("run %d", min(rounds, roundsAtOnce)))
	}
}

// StartLoad starts threads that run rounds until StopLoad. Outside a soak they rest
// three quarters of the time, so that a small machine has time for what is tested.
func (p *Program) StartLoad(threads int) {
	p.t.Helper()
	how := "resting"
	if jvmtest.Soak() {
		how = "always"
	}
	p.done(fmt.Sprintf("start %d %s", threads, how))
}

// StopLoad ends what StartLoad began. It fails if any round had another result
// than the first.
func (p *Program) StopLoad() {
	p.t.Helper()
	p.done("stop")
}

// Block lets each workload that can start threads that stay inside counted
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

// Reflect returns all that reflection reports about the workloads' classes, in
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

// Workloads that can run together in one program, on every JDK.
const (
	Calls        = "calls"        // static, virtual, interface, bridge, varargs, synchronized
	Shapes       = "shapes"       // nested classes, enums, records, switches, finally
	Dynamic      = "dynamic"      // lambdas, references, reflection, handles, proxies, hidden classes
	Construction = "construction" // constructors and static initialisers that may fail
	Recursion    = "recursion"    // direct, mutual, 5,000 deep, endless
	Exceptions   = "exceptions"   // of every origin, through frames of all kinds
	Blocking     = "blocking"     // Block leaves threads inside nested methods
	Threads      = "threads"      // platform threads in waves; Block keeps thousands alive
	Loading      = "loading"      // loaders that delegate, that isolate, that confine
	Reflected    = "reflected"    // annotations, generics, records, parameter names
	Neighbour    = "neighbour"    // a class that the other agent changes too
	Library      = "library"      // methods of the JDK, called a known number of times
	Hammer       = "hammer"       // tiny methods called as fast as they can be
)

// Workloads with needs of their own.
const (
	Virtual = "virtual" // virtual threads, from JDK 21 on; a round is 10,000 of them
	Modular = "modular" // a program in a named module; runs alone
)

// Everyday lists the workloads that can run together on every JDK, without the
// one that would drown the others, and the one whose methods are not its own.
var Everyday = []string{
	Calls, Shapes, Dynamic, Construction, Recursion, Exceptions, Blocking, Threads, Loading, Reflected, Neighbour,
}

// firstWithVirtual is the first JDK that has virtual threads.
const firstWithVirtual = 21

// Supports reports whether a JDK can run a workload.
func Supports(jdk jvmtest.JDK, workload string) bool {
	return workload != Virtual || jdk.Major >= firstWithVirtual
}

// command compiles workloads and returns the arguments of java that run them.
func command(t testing.TB, jdk jvmtest.JDK, door Door, workloads []string) []string {
	t.Helper()
	for _, workload := range workloads {
		if !Supports(jdk, workload) {
			t.Fatalf("JDK %d cannot run the workload %s: ask Supports first", jdk.Major, workload)
		}
	}
	compiled := compiledWith(workloads)
	sources := javaFiles(t, "harness")
	for _, workload := range compiled {
		sources = append(sources, javaFiles(t, workload)...)
	}
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: sources, Flags: flags(workloads)})
	args := slices.Clone(door.Options)
	if fresh := freshSources(t, compiled); len(fresh) > 0 {
		later := jvmtest.Compile(t, jdk, jvmtest.Fixture{
			Sources: fresh, Classpath: []string{classes}, Flags: []string{"--release", "17"},
		})
		args = append(args, "-Dlive.fresh="+door.reachable(t, later))
	}
	classes = door.reachable(t, classes)
	if slices.Contains(workloads, Modular) {
		args = append(args, "-p", classes, "-m", "live.modular/harness.Harness")
	} else {
		args = append(args, "-cp", classes, "harness.Harness")
	}
	return append(args, workloads...)
}

// compiledWith is what is compiled for workloads: those that can run together
// always are, since compiling takes longer than most tests.
func compiledWith(workloads []string) []string {
	if slices.Contains(workloads, Modular) || slices.Contains(workloads, Virtual) {
		return workloads
	}
	return append(slices.Clone(Everyday), Library, Hammer)
}

// flags leaves parameter names out unless Reflected wants them: programs differ
// in whether they have them.
func flags(workloads []string) []string {
	release := "17"
	if slices.Contains(workloads, Virtual) {
		release = "21"
	}
	flags := []string{"--release", release}
	if slices.Contains(workloads, Reflected) {
		flags = append(flags, "-parameters")
	}
	return flags
}

func freshSources(t testing.TB, workloads []string) []string {
	t.Helper()
	var sources []string
	for _, workload := range workloads {
		directory := filepath.Join(workload, "fresh")
		if _, err := os.Stat(filepath.Join(testdata(t), directory)); err == nil {
			sources = append(sources, javaFiles(t, directory)...)
		}
	}
	return sources
}

func javaFiles(t testing.TB, directory string) []string {
	t.Helper()
	return sourceFiles(t, directory, "*.java")
}

func sourceFiles(t testing.TB, directory, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testdata(t), directory, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources %s in %s: %v", pattern, directory, err)
	}
	return files
}

// testdata is where the sources lie, for tests of other packages too.
func testdata(t testing.TB) string {
	t.Helper()
	module, err := jvmtest.Module()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(module, "test", "live", "testdata")
}

// A Trust says how far a program knows by itself what a method did.
type Trust string

// What the programs' own counts are worth.
const (
	Exact   Trust = "exact"   // both numbers are exact
	Entries Trust = "entries" // a constructor: entries are exact, exceptions only those behind super(...)
	About   Trust = "about"   // the stack may overflow before or after the method counts itself
	Hidden  Trust = "hidden"  // exact, in a hidden class, which cannot be woven
)

// A Count is what a program says about one of its methods.
type Count struct {
	Entered, Threw int64
	Trust          Trust
}

// Counts has a Count for each counted method, by names like
// calls/Plain.addInts(II)I.
type Counts map[string]Count

// Counts returns the program's own counts so far. They are exact if no load
// runs.
func (p *Program) Counts() Counts {
	p.t.Helper()
	return p.counts("counts")
}

// Expected returns what the counts should be by the number of rounds alone,
// without Block, Say, and what is counted only About.
func (p *Program) Expected() Counts {
	p.t.Helper()
	return p.counts("expected")
}

func (p *Program) counts(command string) Counts {
	p.t.Helper()
	p.send(command)
	counts := make(Counts)
	for {
		line := p.Await(p.t, "")
		if line == "end" {
			return counts
		}
		words := strings.Fields(line)
		if len(words) != 5 || words[0] != "count" {
			p.t.Fatalf("the program answered %q to %q\nstderr: %s", line, command, p.Stderr())
		}
		var count Count
		p.scan(strings.Join(words[2:], " "), &count.Entered, &count.Threw, &count.Trust)
		counts[words[1]] = count
	}
}

// Minus returns what was counted since an earlier state; methods that did
// nothing since are in it with zeros.
func (c Counts) Minus(earlier Counts) Counts {
	since := make(Counts)
	for method, count := range c {
		count.Entered -= earlier[method].Entered
		count.Threw -= earlier[method].Threw
		since[method] = count
	}
	return since
}

// Diff compares with what somebody else counted, as far as the program's counts
// can be trusted, and returns a line for each method that differs. What the
// other counted and the program does not know is no difference.
func (c Counts) Diff(other Counts) []string {
	var lines []string
	for _, method := range slices.Sorted(maps.Keys(c)) {
		own, theirs := c[method], other[method]
		switch {
		case own.Trust == About:
		case own.Trust == Hidden && theirs.Entered == 0 && theirs.Threw == 0:
		case own.Entered != theirs.Entered, own.Trust == Exact && own.Threw != theirs.Threw:
			lines = append(lines, fmt.Sprintf("%s: the program counted %d entries, %d exceptions (%s); the other %d, %d",
				method, own.Entered, own.Threw, own.Trust, theirs.Entered, theirs.Threw))
		}
	}
	return lines
}

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

// A Footprint is what a process occupies of the system.
type Footprint struct {
	Threads     int      // of the operating system
	Descriptors []string // what open file descriptors lead to, sorted
	Mappings    []string // mapped files, each once, sorted
	Metaspace   int64    // bytes in use for classes
}

var metaspaceUsed = regexp.MustCompile(`(?m)^\s*Both:\s+(\d+) bytes used`)

// Footprint collects garbage and looks at what the program occupies. It is the
// same twice only if the program is at rest, and attaching for it is not new.
func (p *Program) Footprint() Footprint {
	p.t.Helper()
	p.GC()
	process := fmt.Sprintf("/proc/%d", p.PID)
	tasks, err := os.ReadDir(filepath.Join(process, "task"))
	if err != nil {
		p.t.Fatal(err)
	}
	return Footprint{len(tasks), p.descriptors(process), p.mappings(process), p.metaspace()}
}

func (p *Program) descriptors(process string) []string {
	p.t.Helper()
	entries, err := os.ReadDir(filepath.Join(process, "fd"))
	if err != nil {
		p.t.Fatal(err)
	}
	var targets []string
	for _, entry := range entries {
		// A descriptor may be closed by now, which is as good as not listed.
		if target, err := os.Readlink(filepath.Join(process, "fd", entry.Name())); err == nil {
			targets = append(targets, target)
		}
	}
	slices.Sort(targets)
	return targets
}

func (p *Program) mappings(process string) []string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(process, "maps"))
	if err != nil {
		p.t.Fatal(err)
	}
	var files []string
	for line := range strings.Lines(string(text)) {
		if i := strings.IndexByte(line, '/'); i >= 0 {
			files = append(files, strings.TrimSpace(line[i:]))
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

func (p *Program) metaspace() int64 {
	p.t.Helper()
	conn, err := attach.Open(p.t.Context(), p.PID)
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	reply, err := conn.Execute(p.t.Context(), "jcmd", "VM.metaspace basic scale=1")
	if err != nil {
		p.t.Fatal(err)
	}
	match := metaspaceUsed.FindStringSubmatch(reply.Text)
	if match == nil {
		p.t.Fatalf("VM.metaspace does not report what is in use: %d %s", reply.Code, reply.Text)
	}
	used, err := strconv.ParseInt(match[1], 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return used
}

const otherManifest = `Manifest-Version: 1.0
Premain-Class: otheragent.OtherAgent
Agent-Class: otheragent.OtherAgent
Can-Retransform-Classes: true
Can-Redefine-Classes: true

`

// OtherAgent builds somebody else's agent and returns its jar. It takes orders,
// separated by ";", in its argument, at start ("-javaagent:jar=orders") or by
// Order:
//
//	change CLASS FROM TO        change a text or number, at every retransformation too
//	change-once CLASS FROM TO   change it where the class is loaded or redefined only
//	retransform CLASS           now
//	forget                      take the transformers out, and change nothing
func OtherAgent(t testing.TB, jdk jvmtest.JDK) string {
	t.Helper()
	return agentJar(t, jdk, "otheragent", otherManifest)
}

const emptyManifest = `Manifest-Version: 1.0
Agent-Class: emptyagent.EmptyAgent
Can-Retransform-Classes: true

`

// EmptyAgent builds an agent that does nothing, for Order, and returns its jar:
// what a JVM keeps of that one it keeps of any.
func EmptyAgent(t testing.TB, jdk jvmtest.JDK) string {
	t.Helper()
	return agentJar(t, jdk, "emptyagent", emptyManifest)
}

func agentJar(t testing.TB, jdk jvmtest.JDK, name, manifest string) string {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources: javaFiles(t, name), Flags: []string{"--release", "17"},
	})
	path := filepath.Join(openDirectory(t), name+".jar")
	if err := writeJar(path, manifest, classes); err != nil {
		t.Fatal(err)
	}
	return path
}

// Order attaches the other agent, or reaches the one that is there, with orders.
func (p *Program) Order(jar, orders string) {
	p.t.Helper()
	conn, err := attach.Open(p.t.Context(), p.PID)
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.LoadAgent(p.t.Context(), jar, orders); err != nil {
		p.t.Fatalf("%v\nstderr: %s", err, p.Stderr())
	}
}

func writeJar(path, manifest, classes string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	archive := zip.NewWriter(file)
	entry, err := archive.Create("META-INF/MANIFEST.MF")
	if err != nil {
		return err
	}
	if _, err := entry.Write([]byte(manifest)); err != nil {
		return err
	}
	if err := archive.AddFS(os.DirFS(classes)); err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return file.Close()
}
