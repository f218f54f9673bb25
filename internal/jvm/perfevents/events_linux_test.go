//go:build amd64 || arm64

package perfevents

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// burning makes this test program a target.
const burning = "SONDE_PERFEVENTS_BURN"

func TestMain(m *testing.M) {
	if os.Getenv(burning) != "" {
		burn()
		return
	}
	os.Exit(m.Run())
}

// burn starts a thread for each line that it reads, and writes its TID; for "some", when the thread has run for half a second.
func burn() {
	runtime.GOMAXPROCS(64)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		work, tid := lines.Text(), make(chan int)
		go func() {
			runtime.LockOSThread()
			if work == "some" {
				for !hasRun(500 * time.Millisecond) {
				}
				tid <- unix.Gettid()
				return
			}
			tid <- unix.Gettid()
			switch work {
			case "end": // the thread ends
			case "kernel":
				readZeros()
			default:
				for { //nolint:staticcheck // it is busy
				}
			}
		}()
		fmt.Println(<-tid)
	}
}

// hasRun reports whether the calling thread has used this processor time.
func hasRun(d time.Duration) bool {
	var used unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used)
	return err != nil || time.Duration(used.Nano()) > d
}

// readZeros spends its time in the kernel.
func readZeros() {
	zeros, err := os.Open("/dev/zero")
	for data := make([]byte, 1<<20); err == nil; {
		_, err = zeros.Read(data)
	}
}

// A target is a process with busy threads.
type target struct {
	command *exec.Cmd
	pid     int
	input   io.Writer
	lines   *bufio.Scanner
}

func startTarget(t *testing.T) *target {
	t.Helper()
	command := exec.Command("/proc/self/exe")
	command.Env = append(os.Environ(), burning+"=yes")
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Kill() //nolint:errcheck // it may have ended
		command.Wait()         //nolint:errcheck // it was killed
	})
	return &target{command, command.Process.Pid, input, bufio.NewScanner(output)}
}

// thread starts a thread and returns its TID.
func (p *target) thread(t *testing.T, line string) int {
	t.Helper()
	fmt.Fprintln(p.input, line)
	if !p.lines.Scan() {
		t.Fatal("the target has ended:", p.lines.Err())
	}
	tid, err := strconv.Atoi(p.lines.Text())
	if err != nil {
		t.Fatal(err)
	}
	return tid
}

func open(t *testing.T, pid int, o Options) *Events {
	t.Helper()
	return openMeanwhile(t, pid, o, func() {})
}

// openMeanwhile opens events while a function runs.
func openMeanwhile(t *testing.T, pid int, o Options, meanwhile func()) *Events {
	t.Helper()
	var e *Events
	var err error
	var opening sync.WaitGroup
	opening.Go(func() { e, err = Open(pid, o) })
	meanwhile()
	opening.Wait()
	if errors.Is(err, ErrParanoid) || errors.Is(err, ErrBlocked) || errors.Is(err, ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// until reads samples until enough returns true.
func until(t *testing.T, e *Events, yield func(*Sample), enough func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !enough() {
		if time.Now().After(deadline) {
			t.Fatal("no samples within a minute")
		}
		if err := e.Wait(t.Context(), 10*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Read(yield); err != nil {
			t.Fatal(err)
		}
	}
}

// used returns the processor time of a thread.
func used(t *testing.T, pid, tid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, tid))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), " ")
	ns, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(ns)
}

// alsoAsNobody runs a test, and then again as an ordinary user.
func alsoAsNobody(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	const variable = "SONDE_PERFEVENTS_NOBODY"
	if os.Getenv(variable) != "" {
		test(t)
		return
	}
	t.Run("self", test)
	t.Run("nobody", func(t *testing.T) {
		if value := readNumber("/proc/sys/kernel/perf_event_paranoid", 2); value > 2 {
			t.Skipf("NOT TESTED: kernel.perf_event_paranoid is %d", value)
		}
		jvmtest.AgainAsNobody(t, variable+"=yes")
	})
}

// Threads that start before, while and after events are opened are all sampled, and none by two events.
func TestEveryThreadIsSampledOnce(t *testing.T) { alsoAsNobody(t, testEveryThreadIsSampledOnce) }

func testEveryThreadIsSampledOnce(t *testing.T) {
	p := startTarget(t)
	tids := []int{p.thread(t, "run"), p.thread(t, "run")}
	e := openMeanwhile(t, p.pid, Options{Frequency: 500, Stack: 4096}, func() {
		for range 8 {
			tids = append(tids, p.thread(t, "run"))
			p.thread(t, "end") // the creator of a thread may end before it
		}
	})
	tids = append(tids, p.thread(t, "run"))

	counts, sums := map[int]int{}, map[int]time.Duration{}
	until(t, e, func(s *Sample) {
		counts[s.TID]++
		sums[s.TID] += s.Period
		if s.Period != 2*time.Millisecond || s.At <= 0 {
			t.Errorf("thread %d: a sample at %v for %v", s.TID, s.At, s.Period)
		}
	}, func() bool {
		return !slices.ContainsFunc(tids, func(tid int) bool { return counts[tid] < 50 })
	})
	for _, tid := range tids {
		if got, most := sums[tid], used(t, p.pid, tid)*5/4+20*time.Millisecond; got > most {
			t.Errorf("thread %d: samples for %v, more than its processor time, %v", tid, got, most)
		}
	}
}

func TestSecondEventIsClosed(t *testing.T) {
	p := startTarget(t)
	e := open(t, p.pid, Options{Frequency: 1000})
	e.listed = time.Now().Add(time.Hour) // no events but these
	tid := p.thread(t, "run")
	counts := map[int]int{}
	count := func(s *Sample) { counts[s.TID]++ }
	until(t, e, count, func() bool { return counts[tid] > 0 }) // it has inherited events
	before := maps.Clone(e.late)
	if err := e.add(tid, true); err != nil {
		t.Fatal(err)
	}
	second := func() (n int) {
		for number := range e.late {
			if _, other := before[number]; !other {
				n++
			}
		}
		return n
	}
	if got, want := second(), len(e.processors); got != want {
		t.Fatalf("%d late events, want one for each of %d processors", got, want)
	}
	until(t, e, count, func() bool { return second() < len(e.processors) })
	counts = map[int]int{}
	until(t, e, count, func() bool { return counts[tid] > 10 }) // the inherited events remain
}

func TestRegistersAndStack(t *testing.T) { alsoAsNobody(t, testRegistersAndStack) }

func testRegistersAndStack(t *testing.T) {
	p := startTarget(t)
	tid := p.thread(t, "run")
	e := open(t, p.pid, Options{Frequency: 1000, Stack: 1024})
	found := 0
	until(t, e, func(s *Sample) {
		if s.TID != tid {
			return
		}
		found++
		registers := s.DWARF()
		stack, code := mapping(t, p.pid, s.SP()), mapping(t, p.pid, s.IP())
		if !s.HasRegisters || registers[len(registers)-1] != s.IP() || !strings.Contains(stack, " rw") || !strings.Contains(code, "r-x") {
			t.Errorf("registers %v %x, stack in %q, instruction in %q", s.HasRegisters, registers, stack, code)
		}
		if len(s.Stack) == 0 || len(s.Stack) > 1024 {
			t.Errorf("%d bytes of stack, want 1 to 1024", len(s.Stack))
		}
	}, func() bool { return found > 10 })
}

// mapping returns the line of /proc/PID/maps for an address.
func mapping(t *testing.T, pid int, address uint64) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var from, to uint64
		if n, _ := fmt.Sscanf(line, "%x-%x", &from, &to); n == 2 && from <= address && address < to {
			return line
		}
	}
	return ""
}

func TestTimeInTheKernel(t *testing.T) { alsoAsNobody(t, testTimeInTheKernel) }

func testTimeInTheKernel(t *testing.T) {
	p := startTarget(t)
	p.thread(t, "kernel")
	e := open(t, p.pid, Options{Frequency: 1000, Stack: 64, Kernel: true})
	inKernel, sum := 0, time.Duration(0)
	until(t, e, func(s *Sample) {
		sum += s.Period
		if len(s.Kernel) > 0 {
			inKernel++
		}
		for _, ip := range s.Kernel {
			if int64(ip) > 0 {
				t.Errorf("%#x is not an address of the kernel", ip)
			}
		}
	}, func() bool {
		total, err := e.CPUTime()
		if err != nil {
			t.Fatal(err)
		}
		if e.KernelExcluded {
			return total-sum > 100*time.Millisecond // the time in the kernel is only in the counters
		}
		return inKernel > 10
	})
	if e.KernelExcluded && inKernel > 0 {
		t.Errorf("%d samples with kernel frames, want none", inKernel)
	}
}

func TestWait(t *testing.T) {
	p := startTarget(t)
	e := open(t, p.pid, Options{Frequency: 1000, Stack: 1<<16 - 8})
	if err := e.Wait(t.Context(), time.Millisecond); err != nil {
		t.Errorf("an idle process: %v", err)
	}
	p.thread(t, "run")
	begin := time.Now()
	if err := e.Wait(t.Context(), time.Hour); err != nil || time.Since(begin) > time.Minute {
		t.Errorf("half a ring after %v: %v", time.Since(begin), err)
	}
	n := 0
	if _, err := e.Read(func(*Sample) { n++ }); err != nil || n == 0 {
		t.Errorf("%d samples, %v", n, err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Wait(done, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is done: %v", err)
	}
	// A ring that is not read loses samples.
	for lost, deadline := 0, time.Now().Add(time.Minute); lost == 0; {
		if time.Now().After(deadline) {
			t.Fatal("no sample is lost within a minute")
		}
		p.thread(t, "some")
		var err error
		if lost, err = e.Read(func(*Sample) {}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestClose(t *testing.T) {
	p := startTarget(t)
	p.thread(t, "run")
	before := openFiles(t)
	e := open(t, p.pid, Options{Frequency: 100})
	for range 2 {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d open files, want %d", after, before)
	}
	if _, err := e.Read(func(*Sample) { t.Error("a sample after Close") }); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Read after Close: %v", err)
	}
	if err := e.Wait(t.Context(), time.Hour); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Wait after Close: %v", err)
	}
}

func openFiles(t *testing.T) (n int) {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if link, _ := os.Readlink("/proc/self/fd/" + file.Name()); strings.Contains(link, "perf_event") || strings.Contains(link, "/task") {
			n++
		}
	}
	return n
}

func TestEndOfProcess(t *testing.T) {
	p := startTarget(t)
	e := open(t, p.pid, Options{Frequency: 100})
	p.command.Process.Kill() //nolint:errcheck // it is running
	p.command.Wait()         //nolint:errcheck // it was killed
	e.listed = time.Time{}
	if _, err := e.Read(func(*Sample) {}); !errors.Is(err, ErrEnded) {
		t.Errorf("Read: %v, want %v", err, ErrEnded)
	}
	if _, err := Open(p.pid, Options{Frequency: 100}); !errors.Is(err, ErrEnded) {
		t.Errorf("Open: %v, want %v", err, ErrEnded)
	}
}

func TestOpenRefuses(t *testing.T) { alsoAsNobody(t, testOpenRefuses) }

func testOpenRefuses(t *testing.T) {
	if os.Geteuid() != 0 {
		if _, err := Open(1, Options{Frequency: 100}); !errors.Is(err, ErrPermission) {
			t.Errorf("a process of root: %v, want %v", err, ErrPermission)
		}
	}
	for _, o := range []Options{{}, {Frequency: -1}, {Frequency: 1 << 30}, {Frequency: 1, Stack: 4}, {Frequency: 1, Stack: -8}, {Frequency: 1, Stack: 1 << 16}} {
		if e, err := Open(os.Getpid(), o); err == nil {
			e.Close()
			t.Errorf("%+v is accepted", o)
		}
	}
}

func TestErrorsNameARemedy(t *testing.T) {
	e := &Events{pid: 7}
	for _, test := range []struct {
		err    error
		kind   error
		remedy string
	}{
		{e.explainOwn(unix.EACCES), ErrParanoid, "sysctl kernel.perf_event_paranoid=2, or give Sonde CAP_PERFMON"},
		{e.explainOwn(unix.EPERM), ErrBlocked, "--cap-add PERFMON"},
		{e.explainOwn(unix.ENOSYS), ErrBlocked, "--security-opt seccomp="},
		{e.explainOwn(unix.EMFILE), ErrFiles, "ulimit -n"},
		{e.explain(unix.EACCES), ErrPermission, "be its user or root"},
		{e.explain(unix.EINVAL), ErrUnavailable, "Linux"},
	} {
		if !errors.Is(test.err, test.kind) || !strings.Contains(test.err.Error(), test.remedy) || strings.Contains(test.err.Error(), "\n") {
			t.Errorf("%v: want one line of kind %q with %q", test.err, test.kind, test.remedy)
		}
	}
}
