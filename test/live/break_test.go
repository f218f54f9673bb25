package live_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
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
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// variants are JVMs that differ in how they run hooks, lay out memory, or stop
// their threads. A variant without a major version exists in every JDK.
var variants = []variant{
	{"as it comes", "", 0},
	{"interpreted", "-Xint", 0},
	{"safepoints a lot", "-XX:+UnlockDiagnosticVMOptions -XX:+SafepointALot -XX:GuaranteedSafepointInterval=1", 17},
	{"z", "-XX:+UseZGC", 0},
	{"wide references", "-XX:-UseCompressedOops", 17},
	{"compact headers", "-XX:+UseCompactObjectHeaders", 25},
}

// soaked are variants of a soak. Collectors with the same barriers as others run many other tests, JVMs with more safepoints
// of another kind are among the variants above, and a JVM that compiles all that it loads takes as long as all others together.
var soaked = []variant{
	{"compiled at once", "-Xcomp -XX:TieredStopAtLevel=1", 0},
	{"safepoints all the time", "-XX:+UnlockDiagnosticVMOptions -XX:GuaranteedSafepointInterval=1", 0},
	{"parallel", "-XX:+UseParallelGC -Xmx48m", 0},
	{"serial", "-XX:+UseSerialGC -Xmx48m", 0},
}

type variant struct {
	name    string
	options string
	major   int
}

// TestHooksComeAndGoUnderThreadsThatHammerThem weaves, measures, undoes and
// unmaps while threads are in the hooks, with collections in between; then
// counts are exact and the code is what it was. Outside a soak the JDKs take
// turns at the variants, except for the first, and cycles are few.
func TestHooksComeAndGoUnderThreadsThatHammerThem(t *testing.T) {
	all := variants
	if jvmtest.Soak() {
		all = slices.Concat(variants, soaked)
	}
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		for i, v := range all {
			cycles := jvmtest.Times(1, 4)
			switch {
			case i == 0:
				cycles = jvmtest.Times(4, 20) // what hooks do differs in four cycles, and comeAndGo collects garbage in each fifth
			case v.major == 0 && !jvmtest.Turn(t, jdk, i, len(all)):
				continue
			case v.major != 0 && v.major != jdk.Major:
				continue
			}
			t.Run(v.name, func(t *testing.T) {
				s := stage(t, jdk, live.Attach.With(strings.Fields(v.options)...), live.Hammer, live.Recursion, live.Neighbour, live.Calls)
				s.Run(1)
				before := s.remember()
				s.StartLoad(2)
				for i := range cycles {
					comeAndGo(s, i)
				}
				s.StopLoad()
				s.gone()
				since := s.Counts()
				visit := s.enter("exact")
				visit.hook(arena.Timed, fixtures...)
				s.Run(1)
				visit.exact(s, since)
				visit.leave()
				s.Check()
				s.asItWas(before)
			})
		}
	})
}

// comeAndGo is one cycle; what the hooks do differs from cycle to cycle.
func comeAndGo(s *scene, cycle int) {
	s.t.Helper()
	modes := []arena.Flags{arena.Timed | arena.Flat, 0, arena.Flat, arena.Timed}
	visit := s.enter("cycle")
	visit.hook(modes[cycle%len(modes)], "hammer.**", "recursion.**")
	s.moves()
	if visit.calls() == 0 {
		s.t.Error("hooks are in and on, and have seen nothing")
	}
	if cycle%5 == 0 {
		s.GC()
	}
	visit.switchTo(0, "hammer.**")
	visit.switchTo(arena.On|arena.Sampled, "hammer.**")
	visit.leave()
	if err := visit.Release(); err != nil {
		s.t.Error(err)
	}
	s.moves()
}

// victim names, in the environment of this binary run again, the process it is
// to enter over and over until it is killed.
const victim = "SONDE_LIVE_VICTIM"

// kills is how often Sonde is killed in one program.
var kills = jvmtest.Times(3, 10)

// TestSondeIsKilled kills Sonde at moments that a seed decides: the program goes
// on, its results hold, the next Sonde comes in, and nothing stays.
func TestSondeIsKilled(t *testing.T) {
	if pid := os.Getenv(victim); pid != "" {
		enterUntilKilled(t, pid)
		return
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SONDE_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	byOneDoorInTurn(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		random := rand.New(rand.NewPCG(seed, uint64(jdk.Major)))
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("to repeat: SONDE_SEED=%d", seed)
			}
		})
		s := stage(t, jdk, door, live.Hammer, live.Calls, live.Recursion, live.Neighbour)
		s.Run(1)
		before := s.remember()
		s.StartLoad(2)
		steps := make(map[string]int)
		for range kills {
			steps[killSondeIn(s, random)]++
			s.moves()
		}
		t.Logf("killed after the steps %v", steps)
		survivor := s.enter("survivor")
		survivor.hook(arena.Timed, "hammer.**")
		s.moves()
		if survivor.calls() == 0 {
			t.Error("the hooks of the next session have seen nothing")
		}
		survivor.leave()
		s.StopLoad()
		s.Check()
		s.sweep()
		s.asItWas(before)
	})
}

// killSondeIn starts a Sonde and kills it some steps, and up to some
// milliseconds, later. It returns the last step.
func killSondeIn(s *scene, random *rand.Rand) (last string) {
	s.t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestSondeIsKilled$", "-test.timeout="+patience.String())
	child.Env = append(os.Environ(), fmt.Sprintf("%s=%d", victim, s.jvm))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		s.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range random.IntN(9) + 1 {
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), "step ") {
			rest, _ := io.ReadAll(out)
			s.t.Errorf("the child ended: %s %s", lines.Text(), rest)
			break
		}
		last = strings.TrimPrefix(lines.Text(), "step ")
	}
	<-time.After(time.Duration(random.IntN(80_000)) * time.Microsecond) // anywhere in a step
	if err := child.Process.Kill(); err != nil {
		s.t.Error(err)
	}
	_ = child.Wait() // it was killed
	return last
}

// enterUntilKilled says after each step that it is done.
func enterUntilKilled(t *testing.T, pid string) {
	number, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	step := func(name string, err error) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fmt.Println("step", name)
	}
	step("begin", nil)
	for {
		opened, err := session.Open(t.Context(), number, session.Settings{Command: "to be killed"})
		if held := (*session.HeldError)(nil); errors.As(err, &held) {
			continue // the one before is still being undone
		}
		step("open", err)
		wanted := session.Wanted{Methods: set(t, "hammer.**", "calls.**", "recursion.**"), Flags: arena.On | arena.Timed}
		_, err = opened.Instrument(t.Context(), wanted)
		step("instrument", err)
		step("switch off", opened.Switch(t.Context(), wanted.Methods, 0, 0))
		step("switch on", opened.Switch(t.Context(), wanted.Methods, arena.On, 0))
		_, err = opened.Sum()
		step("sum", err)
		_, err = opened.Close(t.Context())
		step("close", errors.Join(err, opened.Release()))
	}
}

func agentJar(t *testing.T) string {
	t.Helper()
	path := jvmtest.PublicDirectory(t) + "/agent.jar"
	if err := os.WriteFile(path, agent.AgentJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestJVMIsKilled kills the program: what was measured until then is reported, to
// the last call, and the files go.
func TestJVMIsKilled(t *testing.T) {
	byOneDoorInTurn(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		s := stage(t, jdk, door, live.Hammer, live.Calls, live.Exceptions)
		s.Run(1)
		visit := s.enter("witness")
		visit.hook(arena.Timed, fixtures...)
		since := s.Counts()
		s.Run(3)
		truth := s.Counts().Minus(since)
		if err := syscall.Kill(s.jvm, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-s.Ended()
		<-visit.Done()
		if err := visit.Err(); !errors.Is(err, session.ErrExited) || !strings.HasPrefix(err.Error(), fmt.Sprintf("process %d", s.jvm)) {
			t.Errorf("the session ended because: %v", err)
		}
		compared(t, truth, visit.measured())
		if farewell, err := visit.close(); err != nil || len(farewell.Remarks) > 0 {
			t.Errorf("leaving: %v, %q", err, farewell.Remarks)
		}
		compared(t, truth, visit.measured())
		filesOf(t, s.jvm)
		if _, err := session.Open(context.Background(), s.jvm, session.Settings{}); err == nil {
			t.Error("a process that is gone was entered")
		}
	})
}

// A lone program is one without the harness.
type lone struct {
	*jvmtest.Running
	t   *testing.T
	jvm int
}

// lone starts a class of a testdata folder, under a shell that says last by
// which code it ended.
func startLone(t *testing.T, jdk jvmtest.JDK, folder, class string, options ...string) *lone {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources: []string{filepath.Join("testdata", folder, class+".java")}, Flags: []string{"--release", "17", "-Xlint:-options"},
	})
	args := append(append(crashOptions(t), options...), "-cp", classes, folder+"."+class)
	r := jvmtest.Start(t, jdk, jvmtest.Launch{Wrap: []string{"sh", "-c", `"$@"; echo "exit $?"`, "sh"}, Args: args})
	return &lone{r, t, r.Child(t)}
}

func (l *lone) send(words string) {
	l.t.Helper()
	if _, err := fmt.Fprintln(l.Stdin, words); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lone) hooked(flags arena.Flags, pattern string) *visit {
	l.t.Helper()
	opened, err := session.Open(context.Background(), l.jvm, session.Settings{Command: "guest"})
	if err != nil {
		l.t.Fatal(err)
	}
	v := visiting(l.t, opened)
	v.hook(flags, pattern)
	return v
}

// TestProgramEndsWithHooksIn ends a program in every way it can end: exit code and
// output are what they are without hooks, and Sonde reports what it measured.
func TestProgramEndsWithHooksIn(t *testing.T) {
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		endings := []struct {
			name string
			end  func(l *lone)
		}{
			{"exit", func(l *lone) { l.send("exit") }},
			{"throw", func(l *lone) { l.send("throw") }},
			{"eof", func(l *lone) { _ = l.Stdin.Close() }},
			{"SIGTERM", func(l *lone) { _ = syscall.Kill(l.jvm, syscall.SIGTERM) }},
		}
		for i, ending := range endings {
			if !jvmtest.Turn(t, jdk, i, len(endings)) {
				continue
			}
			t.Run(ending.name, func(t *testing.T) {
				var plain, hooked, plainErrors, hookedErrors string
				without := startLone(t, jdk, "ending", "Ending")
				ending.end(without)
				<-without.Ended()
				plain, plainErrors = without.Stdout(), without.Stderr()
				if !strings.Contains(plain, "\nlast words ") || !strings.Contains(plain, "\nexit ") {
					t.Fatalf("it said %q without hooks", plain)
				}
				l := startLone(t, jdk, "ending", "Ending")
				visit := l.hooked(arena.Timed, "ending.Ending$Work.*")
				seen := visit.calls()
				eventually(t, "hooks count", func() bool { return visit.calls() > seen })
				ending.end(l)
				<-l.Ended()
				<-visit.Done()
				hooked, hookedErrors = l.Stdout(), withoutWarnings(l.Stderr())
				if hooked != plain || hookedErrors != plainErrors {
					t.Errorf("with hooks it said %q %q, without %q %q", hooked, hookedErrors, plain, plainErrors)
				}
				if visit.calls() <= seen {
					t.Error("what was measured is lost")
				}
				if farewell, err := visit.close(); err != nil || len(farewell.Remarks) > 0 {
					t.Errorf("leaving: %v, %q", err, farewell.Remarks)
				}
				filesOf(t, l.jvm)
			})
		}
	})
}

// withoutWarnings drops what a JDK itself says of an agent that was loaded.
func withoutWarnings(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "WARNING: ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// TestThreadsAreStoppedInHooks interrupts and stops threads that are in hooks
// most of the time.
func TestThreadsAreStoppedInHooks(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		l := startLone(t, jdk, "ending", "Ending")
		for range jvmtest.Times(1, 3) {
			visit := l.hooked(arena.Timed, "ending.Ending$Work.*")
			l.send("interrupt 100")
			if answer := l.Await(t, "ended"); answer != "ended 200" {
				t.Errorf("it said %q", answer)
			}
			if visit.calls() == 0 {
				t.Error("hooks have seen nothing")
			}
			visit.leave()
		}
	})
}

// TestStacksOverflowInHooks reaches the end of the stack in hooks: the program
// gets its StackOverflowError and nothing else, and the arena can be unmapped.
func TestStacksOverflowInHooks(t *testing.T) {
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		modes := []string{"-Xmixed", "-Xint"}
		for i, options := range modes {
			if !jvmtest.Turn(t, jdk, i, len(modes)) {
				continue
			}
			t.Run(options, func(t *testing.T) {
				times := 100
				if options == "-Xint" {
					times = 10
				}
				l := startLone(t, jdk, "overflow", "Overflow", options)
				overflows := func() string {
					l.send(fmt.Sprintf("overflow %d", times))
					return l.Await(t, "overflowed")
				}
				plain := overflows()
				for _, flags := range []arena.Flags{0, arena.Timed, arena.Timed | arena.Flat} {
					visit := l.hooked(flags, "overflow.*.*")
					if got := overflows(); got != plain {
						t.Errorf("with hooks %q, without %q", got, plain)
					}
					if visit.calls() == 0 {
						t.Error("hooks have seen nothing")
					}
					visit.leave()
				}
				if got := overflows(); got != plain {
					t.Errorf("after hooks %q, before %q", got, plain)
				}
			})
		}
	})
}

// TestClassesAreUnloadedWhileWoven lets loaders come and go with hooks in their
// classes, which do not keep them alive.
func TestClassesAreUnloadedWhileWoven(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.Attach, live.Loading, live.Hammer)
		s.Run(1)
		oracle := live.NewOracle(t, s.Program)
		visit := s.enter("guest")
		visit.hook(0, "loading.**", "hammer.**")
		since := s.Counts()
		s.StartLoad(2)
		for range 5 {
			s.GC()
			s.moves()
		}
		s.StopLoad()
		s.Keep()
		s.Again()
		visit.exact(s, since)
		s.Drop()
		if alive := oracle.Live("loading.fresh."); len(alive.Classes) > 0 {
			t.Errorf("woven classes stay: %v, held by %q", alive.Classes, alive.Held)
		}
		visit.leave()
		s.Check()
		s.gone()
	})
}

// millionRounds is how many rounds of live.Virtual make a million threads, or
// outside a soak eighty thousand.
var millionRounds = jvmtest.Times(8, 100)

// TestMillionVirtualThreads runs a million virtual threads through hooks: the
// first half is counted exactly; during the second half hooks are switched and
// taken out.
func TestMillionVirtualThreads(t *testing.T) {
	jdk := jvmtest.Need(t, 25)
	s := stage(t, jdk, live.Attach, live.Virtual)
	s.Run(1)
	before := s.remember()
	visit := s.enter("guest")
	visit.hook(arena.Timed, "virtual.**")
	since := s.Counts()
	s.Run(millionRounds / 2)
	visit.exact(s, since)
	sum := visit.sum()
	for id, totals := range sum.Methods {
		if totals.Active != 0 {
			t.Errorf("method %x: %d calls are said to be under way", id, totals.Active)
		}
	}
	t.Logf("%d places were enough, %d bytes", sum.Threads, room(visit))
	s.StartLoad(1)
	begun := s.Rounds()
	for i := 0; s.Rounds() < begun+int64(millionRounds/2); i++ {
		visit.switchTo([]arena.Flags{0, arena.On, arena.On | arena.Sampled, arena.On | arena.Timed | arena.Flat}[i%4], "virtual.**")
		if i%20 == 19 {
			visit.leave()
			visit = s.enter("guest")
			visit.hook(0, "virtual.**")
		}
	}
	visit.leave()
	s.StopLoad()
	s.Check()
	s.asItWas(before)
}

// room is how much of the arena is used.
func room(v *visit) (bytes int64) {
	threads, err := v.Threads()
	if err != nil {
		v.t.Fatal(err)
	}
	for _, thread := range threads {
		bytes += int64(len(thread.Nodes)) * 64
	}
	return bytes
}

// manyThreads are alive at once, inside hooked methods: more than the first table of
// places has room for, which is 2,048.
var manyThreads = jvmtest.Times(2500, 5000)

// TestThousandsOfThreadsStayInside keeps threads inside hooks while others are
// counted, and while the hooks are taken out: their exits come after that.
func TestThousandsOfThreadsStayInside(t *testing.T) {
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.Attach, live.Threads)
		s.Run(1)
		before := s.remember()
		modes := []arena.Flags{arena.Timed, 0}
		for i, flags := range modes {
			if !jvmtest.Turn(t, jdk, i, len(modes)) {
				continue
			}
			visit := s.enter("guest")
			visit.hook(flags, "threads.**")
			since := s.Counts()
			s.Block(manyThreads)
			s.Run(2)
			visit.exact(s, since)
			for _, m := range visit.Methods() {
				totals := visit.sum().Methods[m.ID]
				// A call without room of its own is counted, and not known to be under way.
				if m.Name == "staysInside" && flags&arena.Timed != 0 && totals.Active+totals.Untimed != uint64(manyThreads) {
					t.Errorf("%d calls are under way and %d had no room, of %d", totals.Active, totals.Untimed, manyThreads)
				}
			}
			visit.leave()
			s.Unblock()
			s.Check()
		}
		s.asItWas(before)
	})
}

// small is how little room the file systems of a program have: enough for an
// arena to begin, and not to grow.
const small = "18m"

// TestFullDisk lets an arena use up all the room there is: calls are still
// counted, each of them, the program does not notice, and Sonde knows.
func TestFullDisk(t *testing.T) {
	const setUp = `mount -t tmpfs -o size="$0" none /dev/shm && mount -t tmpfs -o size="$0" none /tmp && mount -t proc proc /proc && exec "$@"`
	wrap := []string{"unshare", "--pid", "--mount", "--fork", "sh", "-c", setUp, small}
	if out, err := exec.Command(wrap[0], append(wrap[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: namespaces cannot be made here (be root): %v %s", err, out)
	}
	jvmtest.OnEach(t, jvmtest.OneJDK(t), func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.Door{Name: "small", Wrap: wrap}, live.Threads, live.Recursion, live.Hammer)
		s.Run(1)
		visit := s.enter("guest")
		visit.hook(arena.Timed, fixtures...)
		fill(t, s)
		since := s.Counts()
		s.Block(jvmtest.Times(2500, 6000))
		s.Run(2)
		eventually(t, "Sonde knows that there is no room", func() bool { return visit.Full() != nil })
		t.Log(visit.Full())
		s.Run(2)
		s.Unblock()
		visit.exact(s, since)
		spilled := uint64(0)
		for _, totals := range visit.sum().Methods {
			spilled += totals.Untimed
		}
		if spilled == 0 {
			t.Error("everything had room: the test shows nothing")
		}
		t.Logf("%d of %d calls had no room of their own", spilled, visit.calls())
		visit.leave()
		s.Check()
		s.gone()
		s.refused("there is no room", "no space is left")
		empty(t, s)
		s.gone()
		s.enter("at last").leave()
		s.Check()
	})
}

// fill leaves no room in the program's file systems.
func fill(t *testing.T, s *scene) {
	t.Helper()
	for _, filler := range fillers(s) {
		if out, err := exec.Command("dd", "if=/dev/zero", "of="+filler, "bs=64k").CombinedOutput(); err == nil {
			t.Fatalf("%s cannot be filled: %s", filler, out)
		}
	}
}

func empty(t *testing.T, s *scene) {
	t.Helper()
	for _, filler := range fillers(s) {
		if err := os.Remove(filler); err != nil {
			t.Error(err)
		}
	}
}

func fillers(s *scene) []string {
	root := fmt.Sprintf("/proc/%d/root", s.jvm)
	return []string{root + "/tmp/filler", root + "/dev/shm/filler"}
}

// TestTwoSondes opens a second session while a first is there: its error names who
// that is, the first does not notice, and the second can enter after it.
func TestTwoSondes(t *testing.T) {
	byOneDoorInTurn(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		s := stage(t, jdk, door, live.Hammer, live.Calls)
		s.Run(1)
		before := s.remember()
		first := s.enter("the first")
		first.hook(0, fixtures...)
		since := s.Counts()
		s.StartLoad(2)
		for range 3 {
			_, err := session.Open(context.Background(), s.jvm, session.Settings{Command: "the second"})
			var held *session.HeldError
			if !errors.As(err, &held) || held.Holder != fmt.Sprintf("the first, process %d", os.Getpid()) {
				t.Fatalf("the second Sonde got: %v", err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
		}
		s.moves()
		s.StopLoad()
		first.exact(s, since)
		if err := first.Err(); err != nil {
			t.Error(err)
		}
		first.leave()
		second, err := session.Open(context.Background(), s.jvm, session.Settings{Command: "the second"})
		if err != nil {
			t.Fatalf("after the first has left: %v", err)
		}
		visit := visiting(t, second)
		visit.hook(0, fixtures...)
		since = s.Counts()
		s.Run(1)
		visit.exact(s, since)
		visit.leave()
		s.asItWas(before)
	})
}

// TestAnotherAgentChangesTheSameClasses lets either come first, in both ways that
// an agent can take part, and either leave first: both effects are in force
// while both are there, ours are counted exactly, and each leaves the other's.
func TestAnotherAgentChangesTheSameClasses(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		other := live.OtherAgent(t, jdk)
		for _, order := range []string{"change", "change-once"} {
			t.Run(order+" from the start", func(t *testing.T) {
				door := live.JavaAgent(other + "=" + order + " neighbour.Spoken original-word changed")
				s := stage(t, jdk, door, live.Neighbour, live.Hammer)
				s.Run(1)
				before := s.remember()
				says(s, "changed")
				visit := s.enter("guest")
				visit.hook(arena.Timed, "neighbour.**", "hammer.**")
				neighbours(s, visit, "changed", func() { s.Order(other, "retransform neighbour.Spoken") })
				visit.leave()
				says(s, "changed")
				s.asItWas(before)
				if order == "change" {
					s.Order(other, "forget;retransform neighbour.Spoken")
					says(s, "original-word")
				}
			})
		}
		t.Run("after us", func(t *testing.T) {
			s := stage(t, jdk, live.Attach, live.Neighbour, live.Hammer)
			s.Run(1)
			before := s.remember()
			visit := s.enter("guest")
			visit.hook(arena.Timed, "neighbour.**", "hammer.**")
			neighbours(s, visit, "original-word", func() {})
			s.Order(other, "change neighbour.Spoken original-word changed;retransform neighbour.Spoken")
			neighbours(s, visit, "changed", func() { s.Order(other, "retransform neighbour.Spoken") })
			// The other leaves, and we stay.
			s.Order(other, "forget;retransform neighbour.Spoken")
			neighbours(s, visit, "original-word", func() {})
			// It comes again, and we leave.
			s.Order(other, "change neighbour.Spoken original-word changed;retransform neighbour.Spoken")
			visit.leave()
			says(s, "changed")
			s.Order(other, "forget;retransform neighbour.Spoken")
			says(s, "original-word")
			s.asItWas(before)
		})
		t.Run("all the time", func(t *testing.T) {
			s := stage(t, jdk, live.Attach, live.Neighbour, live.Hammer)
			s.Run(1)
			before := s.remember()
			s.Order(other, "change neighbour.Spoken original-word changed")
			s.StartLoad(2)
			for range jvmtest.Times(2, 5) {
				visit := s.enter("guest")
				visit.hook(0, "neighbour.**", "hammer.**")
				s.Order(other, "retransform neighbour.Spoken;retransform hammer.Main")
				says(s, "changed")
				calls := visit.calls()
				eventually(t, "hooks count on", func() bool { return visit.calls() > calls })
				visit.leave()
				s.Order(other, "retransform neighbour.Spoken;retransform hammer.Main")
				says(s, "changed")
			}
			s.StopLoad()
			s.Order(other, "forget;retransform neighbour.Spoken")
			s.Check()
			s.asItWas(before)
		})
	})
}

func says(s *scene, want string) {
	s.t.Helper()
	if word, number := s.Say(); word != want || number != 1_000_003 {
		s.t.Errorf("it says %s %d, want %s", word, number, want)
	}
}

// neighbours demands that both are in force, before and after something happens:
// the other's word is said, and our hooks count.
func neighbours(s *scene, visit *visit, word string, happens func()) {
	s.t.Helper()
	base := visit.measured()
	since := s.Counts()
	says(s, word)
	s.Run(2)
	happens()
	says(s, word)
	s.Run(2)
	compared(s.t, s.Counts().Minus(since), visit.measured().Minus(base))
}
