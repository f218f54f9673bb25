package live_test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// A host is a program that is entered, left, and looked at from outside.
type host struct {
	*live.Program
	t      *testing.T
	door   live.Door
	oracle *live.Oracle
}

// hosts runs a test on one JDK by one of these doors, which its name decides, in a
// soak on each JDK by each door.
func hosts(t *testing.T, doors []string, test func(h *host), workloads ...string) {
	t.Helper()
	hostsWith(t, jvmtest.OneJDK(t), doors, nil, test, workloads...)
}

// hostsWith is like hosts with these JDKs, for programs that run with options of java.
func hostsWith(t *testing.T, jdks []jvmtest.JDK, doors, options []string, test func(h *host), workloads ...string) {
	t.Helper()
	t.Parallel()
	for _, jdk := range jdks {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			for _, name := range jvmtest.OneOf(t, doors) {
				t.Run(name, func(t *testing.T) { test(startHost(t, jdk, doorOf(t, name).With(options...), workloads...)) })
			}
		})
	}
}

const byAttach, byFlag = "attach", "javaagent"

var bothDoors = []string{byAttach, byFlag}

func doorOf(t *testing.T, name string) live.Door {
	t.Helper()
	if name == byAttach {
		return live.Attach
	}
	jar := filepath.Join(t.TempDir(), "sonde-agent.jar")
	if err := os.WriteFile(jar, agent.AgentJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	return live.JavaAgent(jar)
}

// startHost starts a program, has it do everything it can, and lets it have
// been attached to, so that what the JVM makes for that is there.
func startHost(t *testing.T, jdk jvmtest.JDK, door live.Door, workloads ...string) *host {
	t.Helper()
	p := live.Start(t, jdk, door, workloads...)
	p.Run(2)
	h := &host{p, t, door, live.NewOracle(t, p)}
	h.oracle.Live("sonde.")
	if door.Name == byFlag {
		h.await("the agent waits for an invitation", func() bool { return len(h.files()) == 1 })
	}
	return h
}

// wait only bounds what hangs: what is awaited comes, or never does.
const wait = 5 * time.Minute

func (h *host) await(what string, holds func() bool) {
	h.t.Helper()
	limit := time.Now().Add(wait)
	for !holds() {
		if time.Now().After(limit) {
			h.t.Fatalf("%s: not within %v\nstderr: %s", what, wait, h.Stderr())
		}
		time.Sleep(5 * time.Millisecond) // only between looks
	}
}

// open enters the program.
func (h *host) open() *session.Look {
	h.t.Helper()
	s, err := session.Open(context.Background(), h.PID, session.Settings{Command: "sonde count"})
	if err != nil {
		h.t.Fatalf("%v\nstderr: %s", err, h.Stderr())
	}
	h.t.Cleanup(func() {
		_, _ = s.Close(context.Background()) // where a test failed before it did
		_ = s.Release()
	})
	return s
}

// instrument puts timed hooks into what patterns name.
func (h *host) instrument(s *session.Look, patterns ...string) {
	h.t.Helper()
	set, err := pattern.ParseSet(patterns...)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := s.Instrument(context.Background(), session.Wanted{Methods: set, Flags: arena.On | arena.Timed}); err != nil {
		h.t.Fatal(err)
	}
	if len(s.Methods()) == 0 {
		h.t.Fatalf("nothing was instrumented: %v", s.LeftAlone())
	}
}

// undo leaves the program, with nothing to remark.
func (h *host) undo(s *session.Look) session.Farewell {
	h.t.Helper()
	farewell, err := s.Close(context.Background())
	if err != nil || len(farewell.Remarks) > 0 {
		h.t.Fatalf("leaving: %v %q", err, farewell.Remarks)
	}
	return farewell
}

// same reports each line in which two lists differ.
func (h *host) same(what string, before, after []string) {
	h.t.Helper()
	for _, line := range missing(before, after) {
		h.t.Errorf("%s: was, and is not: %s", what, line)
	}
	for _, line := range missing(after, before) {
		h.t.Errorf("%s: is, and was not: %s", what, line)
	}
}

// missing lists what is in one list more often than in another.
func missing(from, in []string) []string {
	rest := slices.Clone(in)
	var lines []string
	for _, line := range from {
		if i := slices.Index(rest, line); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

func (h *host) reflection() []string { return strings.Split(h.Reflect(), "\n") }

// files are ours, of sessions with the program or waiting for one.
func (h *host) files() []string {
	var found []string
	for _, pattern := range []string{"/tmp/.sonde-%d-*", "/tmp/.sonde_invite%d*", "/tmp/.sonde_pid%d", "/dev/shm/sonde-%d-*", "/tmp/sonde-%d-*", "/var/tmp/.sonde-%d-*"} {
		names, _ := filepath.Glob(fmt.Sprintf(pattern, h.PID)) // the patterns are well formed
		found = append(found, names...)
	}
	return found
}

// taskNames are the names of the program's threads, as the system has them.
func (h *host) taskNames() []string {
	h.t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", h.PID))
	if err != nil || len(tasks) == 0 {
		h.t.Fatalf("process %d has no threads: %v\nstderr: %s", h.PID, err, h.Stderr())
	}
	var names []string
	for _, task := range tasks {
		if name, err := os.ReadFile(task); err == nil { // else it has ended
			names = append(names, strings.TrimSpace(string(name)))
		}
	}
	return names
}

// mapped are the arenas that the program has mapped.
func (h *host) mapped() []string {
	h.t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", h.PID))
	if err != nil {
		h.t.Fatal(err)
	}
	var arenas []string
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, ".arena") {
			arenas = append(arenas, strings.TrimSpace(line))
		}
	}
	return arenas
}

// What stays in a JVM that Sonde has left, and why. Whatever else is found
// fails the tests.
var (
	// The first Stub answers every later attach, so it is of the system loader,
	// which unloads nothing; hook classes are of the boot loader, and named
	// after the build.
	staysLoaded = []string{
		"sonde.agent.Stub", "sonde.agent.StubLoader",
		hookClass, hookClass + "Absence", hookClass + "Arrivals", hookClass + "Aside", hookClass + "Calibration",
		hookClass + "Caller", hookClass + "Callers", hookClass + "Carried", hookClass + "Control", hookClass + "Direct",
		hookClass + "HandOff", hookClass + "Kept", hookClass + "Label", hookClass + "Labels", hookClass + "Mapping", hookClass + "Members", hookClass + "Parent", hookClass + "Part",
		hookClass + "Path", hookClass + "Places", hookClass + "Pool", hookClass + "Quota", hookClass + "Record", hookClass + "Rehearsal", hookClass + "Ring", hookClass + "Row", hookClass + "Spread",
		hookClass + "State", hookClass + "Tag", hookClass + "Tags", hookClass + "Tasks", hookClass + "Texts", hookClass + "Told",
		hookClass + "Trace", hookClass + "Transaction", hookClass + "Tree", hookClass + "Walk", hookClass + "Watch",
		hookClass + "Watches",
	}
	hookClass = strings.ReplaceAll(agent.HookClass(), "/", ".")
	// The agent that waits since the JVM's start.
	staysWaiting       = []string{"sonde.agent.Standby", "sonde.agent.Hold", "sonde.agent.Note", "sonde.agent.Trust"}
	staysWaitingThread = "sonde-standby"
	// The jar is on the class path of the system loader, by a path that is the
	// same at each attach, where it stays as long as the JVM runs. Then the JDK's own for its first Unix socket: a
	// random source for names of sockets, and a descriptor to put in the place
	// of those that are being closed.
	staysOpen = []string{"sonde-agent.jar", ".sonde-0/agent-", "/dev/random", "/dev/urandom", "socket:"}
	// The JDK's libraries for agents, jars and sockets.
	staysMapped = []string{"libinstrument.so", "libnio.so", "libnet.so", "libextnet.so", "libzip.so"}
)

// TestUndoneNothingOfOursStays walks the heap and looks at the process after a
// program had hooks, and again after it had them a second time.
func TestUndoneNothingOfOursStays(t *testing.T) {
	hosts(t, bothDoors, func(h *host) {
		before := h.occupied()
		threads := h.oracle.Live("sonde.").Threads
		h.visit()
		first := h.occupied()
		h.onlyNamed("descriptors", before.Descriptors, first.Descriptors, staysOpen)
		h.onlyNamed("mappings", before.Mappings, first.Mappings, staysMapped)
		h.visit()
		second := h.occupied()
		h.same("descriptors at a second visit", first.Descriptors, second.Descriptors)
		h.same("mappings at a second visit", first.Mappings, second.Mappings)
		h.same("Java threads", threads, h.oracle.Live("sonde.").Threads)
		h.t.Logf("kept: %q, %q", missing(first.Descriptors, before.Descriptors), missing(first.Mappings, before.Mappings))
	}, live.Calls, live.Hammer)
}

// occupied is the footprint. A jar that is open must be there for the program to read.
func (h *host) occupied() live.Footprint {
	h.t.Helper()
	f := h.Footprint()
	for _, target := range f.Descriptors {
		if strings.Contains(target, "/agent-") && strings.HasSuffix(target, " (deleted)") {
			h.t.Errorf("the class path names a file that is gone: %s", target)
		}
	}
	return f
}

// visit puts hooks in and takes them out, while they are busy.
func (h *host) visit() {
	h.t.Helper()
	s := h.open()
	h.StartLoad(1)
	h.instrument(s, "calls.**", "hammer.**", "java.util.ArrayList.*")
	if inside := h.oracle.Live("sonde.agent.control."); inside.Instances() == 0 || !slices.Contains(inside.Threads, "sonde-work") {
		h.t.Error("nothing of ours is found while we are there: what is looked for can not be seen")
	}
	h.StopLoad()
	h.undo(s)
	h.nothingStays()
}

// nothingStays demands that threads, classes, loaders and files of ours are
// gone but for those that are named. The agent's last thread ends just after
// Sonde has received the message that all is undone.
func (h *host) nothingStays() {
	h.t.Helper()
	h.await("the agent's threads end", func() bool { return len(h.ourThreads()) == 0 })
	named := staysLoaded
	if h.door.Name == byFlag {
		named = append(slices.Clone(named), staysWaiting...)
	}
	// A compiler that is at work on a method of ours keeps its class a moment longer.
	var alive live.Alive
	h.await("our loader is collected", func() bool {
		alive = h.oracle.Live("sonde.", "java.lang.SondeHooks")
		return !slices.ContainsFunc(alive.Classes, func(c live.LoadedClass) bool { return !slices.Contains(named, c.Name) })
	})
	for _, class := range alive.Classes {
		if !slices.Contains(named, class.Name) {
			h.t.Errorf("%s of %s is still loaded, held: %q", class.Name, class.Loader, alive.Held)
		}
		if class.Instances > 0 && !slices.Contains(staysWaiting, class.Name) {
			h.t.Errorf("%d objects of %s live, held: %q", class.Instances, class.Name, alive.Held)
		}
	}
	for _, file := range h.files() {
		if h.door.Name != byFlag || !strings.HasPrefix(filepath.Base(file), ".sonde_pid") {
			h.t.Errorf("%s is still there", file)
		}
	}
	for _, mapping := range h.mapped() {
		h.t.Errorf("%s is still mapped", mapping)
	}
}

// ourThreads are those that the operating system knows by our names.
func (h *host) ourThreads() []string {
	h.t.Helper()
	ours := make(map[string]bool)
	for _, name := range h.taskNames() {
		if strings.HasPrefix(name, "sonde-") && (h.door.Name != byFlag || name != staysWaitingThread) {
			ours[name] = true
		}
	}
	return slices.Sorted(maps.Keys(ours))
}

// onlyNamed demands that what was is, and that what is new is on a list.
func (h *host) onlyNamed(what string, before, after, named []string) {
	h.t.Helper()
	for _, line := range missing(before, after) {
		h.t.Errorf("%s: %s was, and is not", what, line)
	}
	for _, line := range missing(after, before) {
		if !slices.ContainsFunc(named, func(name string) bool { return strings.Contains(line, name) }) {
			h.t.Errorf("%s: %s is, and was not", what, line)
		}
	}
}

// everything is the program, and so much of the JDK that every thread meets it.
var everything = []string{
	"blocking.**", "calls.**", "construction.**", "dynamic.**", "exceptions.**", "hammer.**", "loading.**", "neighbour.**",
	"recursion.**", "reflected.**", "shapes.**", "threads.**", "java.util.**", "java.lang.String.*", "java.lang.Integer.*",
	// Its initialiser fails; after that the JVM lets nobody change it, so its hooks stay, inert, and are remarked.
	"!construction.fresh.Failing.*",
}

var everyWorkload = append(slices.Clone(live.Everyday), live.Hammer)

// looked are the classes whose code is compared.
var looked = []string{
	"blocking.", "calls.", "construction.", "dynamic.", "exceptions.", "hammer.", "loading.", "neighbour.", "recursion.",
	"reflected.", "shapes.", "threads.", "java.util.", "java.lang.String", "java.lang.Integer",
}

// TestUndoneCodeAndReflectionAreWhatTheyWere asks the JVM itself, before, while
// and after a program and the JDK below it have hooks. It runs on each JDK: they
// differ in what retransformation loses.
func TestUndoneCodeAndReflectionAreWhatTheyWere(t *testing.T) {
	hostsWith(t, jvmtest.JDKs(t), bothDoors, nil, func(h *host) {
		h.Keep()
		// What only the hooks' coming loads or links is there before.
		h.undo(h.open())
		reflected := h.reflection()
		before, check := h.oracle.Methods(looked...), h.Check()
		s := h.open()
		h.instrument(s, everything...)
		h.hooked(s, before)
		h.same("reflection with hooks in", reflected, h.reflection())
		h.Again()
		if with := h.Check(); with != check {
			h.t.Errorf("check %s, with hooks %s", check, with)
		}
		restored := h.undo(s).Restored
		if int(restored.Classes) < s.Classes() {
			h.t.Errorf("%d classes were put back of %d", restored.Classes, s.Classes())
		}
		after := h.oracle.Methods(looked...)
		h.sameCode(before, after)
		h.same("reflection after undo", reflected, h.reflection())
		if left := h.Check(); left != check {
			h.t.Errorf("check %s, after undo %s", check, left)
		}
		h.t.Logf("%d methods of %d classes had hooks; %d methods are what they were", len(s.Methods()), s.Classes(), len(stable(before)))
	}, everyWorkload...)
}

// hooked demands that each method said to have hooks runs other code than
// before, in as many classes as have its name; so what is compared can differ.
func (h *host) hooked(s *session.Look, before live.Snapshot) {
	h.t.Helper()
	other := make(map[string]bool)
	for _, line := range changed(before, h.oracle.Methods(looked...)) {
		words := strings.Fields(line)
		other[strings.TrimPrefix(words[1], "{")+"."+words[3]+words[4]] = true
	}
	known := make(map[string]bool)
	for _, m := range stable(before) {
		known[m.Class+"."+m.Name+m.Descriptor] = true
	}
	jdk := 0
	for _, m := range s.Methods() {
		if name := m.String(); known[name] && !other[name] {
			h.t.Errorf("%s has hooks, and runs the code it ran", name)
		}
		if strings.HasPrefix(m.Class, "java/") {
			jdk++
		}
	}
	if len(s.Methods()) < 3000 || jdk < 2000 {
		h.t.Errorf("only %d methods have hooks, %d of the JDK", len(s.Methods()), jdk)
	}
}

// sameCode demands that every method means what it meant, and is the same byte
// by byte but where the JVM renumbers constants at any retransformation: the
// same methods must change so in a twin to which only that is done.
func (h *host) sameCode(before, after live.Snapshot) {
	h.t.Helper()
	for _, line := range stable(before).DiffMeaning(after) {
		if strings.HasPrefix(line, "-") {
			h.t.Error("after undo " + line)
		}
	}
	renumbered := changed(before, after)
	if len(renumbered) == 0 {
		return
	}
	twin := startHost(h.t, h.JDK, live.Attach, everyWorkload...)
	twin.Keep()
	twin.Reflect() // it makes proxies
	other := live.OtherAgent(h.t, h.JDK)
	untouched := twin.oracle.Methods(looked...)
	var orders []string
	for _, line := range renumbered {
		orders = append(orders, "retransform "+strings.TrimPrefix(strings.Fields(line)[1], "{"))
	}
	twin.Order(other, strings.Join(slices.Compact(orders), ";"))
	for _, line := range missing(renumbered, changed(untouched, twin.oracle.Methods(looked...))) {
		h.t.Error("constants were renumbered, but not by every retransformation: " + line)
	}
	h.t.Logf("%d methods have constants that the JVM renumbers at every retransformation", len(renumbered))
}

// changed lists the methods that were and are not, byte by byte.
func changed(before, after live.Snapshot) []string {
	return slices.DeleteFunc(stable(before).Diff(after), func(line string) bool { return strings.HasPrefix(line, "+") })
}

// stable leaves out what a JVM makes and drops by itself: classes not linked
// yet, hidden ones, those it makes for reflection, and what Loading lets go.
func stable(all live.Snapshot) live.Snapshot {
	return slices.DeleteFunc(slices.Clone(all), func(m live.Method) bool {
		return m.Name == "" || strings.ContainsAny(m.Class, "/+") || strings.HasPrefix(m.Class, "sonde.") ||
			strings.HasPrefix(m.Class, "jdk.internal.reflect.Generated") || strings.HasPrefix(m.Class, "jdk.proxy")
	})
}

// TestHooksThatAreTakenBackLeaveNothing takes some hooks out while others stay, and
// asks the JVM what runs. A class without hooks is not touched again when all is
// undone.
func TestHooksThatAreTakenBackLeaveNothing(t *testing.T) {
	hook := func(class, name, descriptor string) session.Hook {
		return session.Hook{MethodRef: classfile.MethodRef{Class: class, Name: name, Descriptor: descriptor}, Flags: arena.On}
	}
	stays := hook("hammer/Main", "tinyStatic", "(J)J")
	goes := []session.Hook{hook("hammer/Main", "tinyVirtual", "(J)J"), hook("hammer/Main$Pair", "tinySynchronized", "()J")}
	hosts(t, []string{byAttach}, func(h *host) {
		reflected, before := h.reflection(), h.oracle.Methods("hammer.")
		s := h.open()
		if _, err := s.Prefetch(t.Context(), func(class string) bool { return strings.HasPrefix(class, "hammer/") }, nil); err != nil {
			h.t.Fatal(err)
		}
		if _, err := s.Hook(t.Context(), session.Request{Hooks: append(goes, stays)}); err != nil {
			h.t.Fatal(err)
		}
		h.runs("with hooks", before, "tinyStatic", "tinyVirtual", "tinySynchronized")
		taken, err := s.Unhook(t.Context(), session.Request{Hooks: goes})
		if err != nil || len(taken.Batches) != 1 || taken.Batches[0].Classes != 2 {
			h.t.Fatalf("taken out in %+v: %v", taken.Batches, err)
		}
		h.runs("with two taken out", before, "tinyStatic")
		if methods := s.Methods(); len(methods) != 1 || methods[0].Name != "tinyStatic" || s.Classes() != 1 {
			h.t.Errorf("%v have hooks, in %d classes", methods, s.Classes())
		}
		h.Run(1)
		for _, gone := range goes {
			if sum, err := s.Sum(); err != nil || sum.Methods[s.ID(gone.MethodRef)] != nil {
				h.t.Errorf("%s is counted, though its hook is out (%v)", gone.Name, err)
			}
		}
		h.same("reflection with two taken out", reflected, h.reflection())
		if _, err := s.Hook(t.Context(), session.Request{Hooks: goes[1:]}); err != nil {
			h.t.Fatal(err)
		}
		h.runs("with one back in", before, "tinyStatic", "tinySynchronized")
		if _, err := s.Unhook(t.Context(), session.Request{Hooks: goes[1:]}); err != nil {
			h.t.Fatal(err)
		}
		if restored := h.undo(s).Restored; restored.Classes != 1 {
			h.t.Errorf("%d classes were put back, of one with hooks", restored.Classes)
		}
		h.runs("undone", before)
		h.same("reflection after undo", reflected, h.reflection())
	}, live.Hammer)
}

// runs demands that just some methods run another code than before.
func (h *host) runs(when string, before live.Snapshot, others ...string) {
	h.t.Helper()
	var names []string
	for _, line := range stable(before).DiffMeaning(h.oracle.Methods("hammer.")) {
		if words := strings.Fields(line); strings.HasPrefix(line, "-") {
			names = append(names, words[3])
		}
	}
	h.same(when+", methods of another code", others, names)
}

// Environment variables of a test of this binary that runs in its own process: the JVM to
// enter and the lease.
const (
	toEnter   = "SONDE_TEST_ENTER"
	withLease = "SONDE_TEST_LEASE"
)

// TestSondeOfItsOwn is no test, but what others run in another process: a Sonde
// that has hooks in a program, until it is killed or the session ends.
func TestSondeOfItsOwn(t *testing.T) {
	pid, err := strconv.Atoi(os.Getenv(toEnter))
	if err != nil {
		t.Skip("it is run by other tests")
	}
	lease, err := time.ParseDuration(os.Getenv(withLease))
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(context.Background(), pid, session.Settings{Command: "sonde count", Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	set, err := pattern.ParseSet("calls.**", "hammer.**", "java.util.ArrayList.*")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Instrument(context.Background(), session.Wanted{Methods: set, Flags: arena.On | arena.Timed}); err != nil {
		t.Fatal(err)
	}
	fmt.Println("\nhooked")
	<-s.Done()
	fmt.Println("\nended:", s.Err())
	_, err = s.Close(context.Background())
	fmt.Println("\nclosed:", err)
}

// A sonde is another process that has hooks in a program.
type sonde struct {
	*exec.Cmd
	lines *bufio.Scanner
}

func (h *host) otherSonde(lease time.Duration) *sonde {
	h.t.Helper()
	command := exec.Command(os.Args[0], "-test.run=^TestSondeOfItsOwn$", "-test.v")
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%d", toEnter, h.PID), withLease+"="+lease.String())
	out, err := command.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		_ = command.Process.Kill() // where a test failed before it did
		_ = command.Wait()
	})
	s := &sonde{command, bufio.NewScanner(out)}
	h.says(s, "hooked")
	return s
}

// says waits for a line of the other process.
func (h *host) says(s *sonde, prefix string) string {
	h.t.Helper()
	var all []string
	for s.lines.Scan() {
		all = append(all, s.lines.Text())
		if strings.HasPrefix(s.lines.Text(), prefix) {
			return s.lines.Text()
		}
	}
	h.t.Fatalf("the other Sonde ended before %q: %q", prefix, all)
	return ""
}

func (h *host) signal(s *sonde, signal syscall.Signal) {
	h.t.Helper()
	if err := s.Process.Signal(signal); err != nil {
		h.t.Fatal(err)
	}
}

// TestKilledSondeLeavesNothing kills a Sonde that has hooks in a busy program.
func TestKilledSondeLeavesNothing(t *testing.T) {
	hosts(t, bothDoors, func(h *host) {
		before, check := h.oracle.Methods(looked...), h.Check()
		h.StartLoad(1)
		s := h.otherSonde(time.Hour) // so that the agent learns of it by the end of the connection
		h.inside(before)
		h.signal(s, syscall.SIGKILL)
		_ = s.Wait()
		h.alone(before, check)
		// Its directory, with a socket in it, waits for the next Sonde, and is
		// taken for left over when it is not new any more.
		long := time.Now().Add(-time.Hour)
		for _, directory := range h.files() {
			if strings.Contains(directory, ".sonde-") {
				if err := os.Chtimes(directory, long, long); err != nil {
					h.t.Fatal(err)
				}
			}
		}
		if _, err := targetfs.Sweep(context.Background(), process.Local); err != nil {
			h.t.Fatal(err)
		}
		h.nothingStays()
	}, live.Calls, live.Hammer)
}

// TestStoppedSondeLosesItsLease stops a Sonde for longer than its lease: the
// agent takes all out, and the Sonde learns that when it goes on.
func TestStoppedSondeLosesItsLease(t *testing.T) {
	hosts(t, []string{byAttach}, func(h *host) {
		before, check := h.oracle.Methods(looked...), h.Check()
		h.StartLoad(1)
		// Long enough for a Sonde that hardly gets a processor to renew it until it is stopped.
		s := h.otherSonde(5 * time.Second)
		h.inside(before)
		h.signal(s, syscall.SIGSTOP)
		h.alone(before, check)
		h.signal(s, syscall.SIGCONT)
		if reported := h.says(s, "ended: "); reported == "ended: <nil>" {
			h.t.Errorf("the Sonde says %q", reported)
		}
		if reported := h.says(s, "closed: "); reported != "closed: <nil>" {
			h.t.Errorf("the Sonde says %q", reported)
		}
		h.nothingStays()
	}, live.Calls, live.Hammer)
}

// inside demands that hooks are in.
func (h *host) inside(before live.Snapshot) {
	h.t.Helper()
	if len(changed(before, h.oracle.Methods(looked...))) == 0 || len(h.mapped()) == 0 {
		h.t.Error("the other Sonde has no hooks in the program")
	}
}

// alone demands that the agent takes everything out without its Sonde, the
// program running on. What a Sonde that lives, or was killed, holds of its files
// stays its own; but the arena, which takes memory, is gone.
func (h *host) alone(before live.Snapshot, check string) {
	h.t.Helper()
	h.await("the agent leaves", func() bool { return len(h.ourThreads()) == 0 && len(h.mapped()) == 0 })
	h.StopLoad()
	h.sameCode(before, h.oracle.Methods(looked...))
	for _, file := range h.files() {
		if strings.HasSuffix(file, ".arena") {
			h.t.Errorf("%s is still there", file)
		}
	}
	if left := h.Check(); left != check {
		h.t.Errorf("check %s, then %s", check, left)
	}
}

// cycles is how often a program is entered, instrumented and left; settled is
// after how many of them a JVM has all it makes once.
var (
	cycles  = jvmtest.Times(24, 500)
	settled = jvmtest.Times(8, 100)
	looks   = jvmtest.Times(8, 100) // between two looks at the program
)

// mostLearned bounds, in bytes a cycle, what a JVM that compiles learns about
// its own methods, and keeps with them, while an agent comes and goes. The agent's
// classes, if they stayed, would be two hundred KiB. Compilers learn now more and now
// less; what stays of each cycle would be seen between any two looks.
// TestCyclesLeaveNoByte shows that it is this alone.
// A young JVM learns more, so outside a soak, which cycles less, the bound is wider.
var mostLearned = int64(jvmtest.Times(48<<10, 6<<10))

// TestCyclesUnderLoadLeaveNothing enters a busy program, instruments and leaves
// it, hundreds of times.
func TestCyclesUnderLoadLeaveNothing(t *testing.T) {
	cycling(t, nil, func(h *host) {
		h.StartLoad(1)
		h.cycle(settled)
		threads := h.oracle.Live("sonde.").Threads
		first := h.occupied()
		woven := h.woven()
		last := first
		least := last.Metaspace
		for range (cycles - settled) / looks {
			h.cycle(looks)
			before := last.Metaspace
			last = h.occupied()
			least = min(least, last.Metaspace-before)
			h.t.Logf("Metaspace %d, %d threads, %d descriptors, %d mappings", last.Metaspace, last.Threads, len(last.Descriptors), len(last.Mappings))
		}
		for _, line := range woven.Diff(h.woven()) {
			h.t.Error("woven otherwise: " + line)
		}
		h.same("descriptors", first.Descriptors, last.Descriptors)
		h.same("mappings", first.Mappings, last.Mappings)
		h.same("Java threads", threads, h.oracle.Live("sonde.").Threads)
		if grown := least / int64(looks); grown > mostLearned {
			h.t.Errorf("Metaspace grows by %d bytes a cycle, or more", grown)
		}
		if grown := (last.Metaspace - first.Metaspace) / int64(cycles-settled); grown > 2*mostLearned {
			h.t.Errorf("Metaspace grows by %d bytes a cycle in all", grown)
		}
		h.StopLoad()
		h.nothingStays()
	})
}

// TestCyclesLeaveNoByte does the same in a JVM that only interprets, and so
// learns nothing about methods. There Metaspace must not grow by one byte more
// than an agent that does nothing makes it grow.
func TestCyclesLeaveNoByte(t *testing.T) {
	few := jvmtest.Times(10, 60)
	cycling(t, []string{"-Xint"}, func(h *host) {
		empty := live.EmptyAgent(h.t, h.JDK)
		attach := func() {
			for range few {
				h.Order(empty, "")
			}
		}
		attach()
		bare := h.occupied()
		attach()
		kept := h.occupied().Metaspace - bare.Metaspace
		h.cycle(few)
		first := h.occupied()
		h.cycle(few)
		// The last agent's loader can be unloaded when its threads have left the JVM, just after they have ended.
		var second live.Footprint
		h.await("Metaspace is as small as before", func() bool {
			second = h.occupied()
			grown := second.Metaspace - first.Metaspace
			h.t.Logf("bytes of Metaspace for %d attaches: %d by an empty agent, %d by Sonde with hooks", few, kept, grown)
			return grown <= max(kept, madeOnce)
		})
		h.same("descriptors", first.Descriptors, second.Descriptors)
		if first.Threads != second.Threads {
			h.t.Errorf("%d threads, then %d", first.Threads, second.Threads)
		}
	})
}

// madeOnce is what JDK 25 makes for the method of an agent that was called often
// by reflection: two hidden classes, whichever agent it is.
const madeOnce = 8 << 10

// cycling starts a program whose JVM has as many threads of its own at the end as
// at the start, on one JDK, in a soak on each.
func cycling(t *testing.T, options []string, test func(h *host)) {
	t.Helper()
	options = append(options, "-XX:+UseSerialGC", "-XX:-UseDynamicNumberOfCompilerThreads")
	hostsWith(t, jvmtest.OneJDK(t), []string{byAttach}, options, test, live.Hammer)
}

// cycle enters, instruments and leaves so often; then the last agent's threads
// have ended.
func (h *host) cycle(times int) {
	h.t.Helper()
	for range times {
		s, err := session.Open(context.Background(), h.PID, session.Settings{Command: "sonde count"})
		if err != nil {
			h.t.Fatalf("%v\nstderr: %s", err, h.Stderr())
		}
		h.instrument(s, "hammer.**")
		h.undo(s)
		if err := s.Release(); err != nil {
			h.t.Fatal(err)
		}
	}
	h.await("the agent's threads end", func() bool { return len(h.ourThreads()) == 0 })
}

// woven is the code that runs while hooks are in.
func (h *host) woven() live.Snapshot {
	h.t.Helper()
	s := h.open()
	h.instrument(s, "hammer.**")
	snapshot := h.oracle.Methods("hammer.")
	h.undo(s)
	if !slices.ContainsFunc(snapshot, func(m live.Method) bool { return strings.HasPrefix(m.Name, "tiny") }) {
		h.t.Error("the hammer's methods are not to be seen")
	}
	return snapshot
}
