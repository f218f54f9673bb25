package perfevents

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
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

// burn starts a busy thread for each line that it reads, and writes its TID.
func burn() {
	runtime.GOMAXPROCS(16)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		tid := make(chan int)
		go func() {
			runtime.LockOSThread()
			tid <- unix.Gettid()
			if lines.Text() == "end" {
				return // the thread ends
			}
			for n := 0; ; n++ {
				if n%1_000_000 == 0 {
					unix.Getppid()
				}
			}
		}()
		fmt.Println(<-tid)
	}
}

// A target is a process with busy threads.
type target struct {
	pid   int
	input io.Writer
	lines *bufio.Scanner
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
	return &target{command.Process.Pid, input, bufio.NewScanner(output)}
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
	e, err := Open(pid, o)
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

func TestEveryThreadIsSampledOnce(t *testing.T) {
	testEveryThread(t)
}

func TestEveryThreadIsSampledOnceByOrdinaryUser(t *testing.T) {
	const variable = "SONDE_PERFEVENTS_NOBODY"
	if os.Getenv(variable) == "" {
		jvmtest.AgainAsNobody(t, variable+"=yes")
		return
	}
	testEveryThread(t)
}

func testEveryThread(t *testing.T) {
	p := startTarget(t)
	tids := []int{p.thread(t, "run"), p.thread(t, "run")}
	e := open(t, p.pid, Options{Frequency: 500, Stack: 4096, Kernel: true})
	tids = append(tids, p.thread(t, "run"))
	p.thread(t, "end") // a thread that creates threads may have ended
	tids = append(tids, p.thread(t, "run"))

	before := map[int]time.Duration{}
	for _, tid := range tids {
		before[tid] = used(t, p.pid, tid)
	}
	counts, sums := map[int]int{}, map[int]time.Duration{}
	until(t, e, func(s *Sample) {
		counts[s.TID]++
		sums[s.TID] += s.Period
		if !s.HasRegisters || s.IP() == 0 || len(s.Stack) == 0 {
			t.Errorf("thread %d: registers %v, instruction %#x, %d bytes of stack", s.TID, s.HasRegisters, s.IP(), len(s.Stack))
		}
	}, func() bool {
		for _, tid := range tids {
			if counts[tid] < 100 {
				return false
			}
		}
		return true
	})
	for _, tid := range tids {
		const margin = 50 * time.Millisecond
		if limit := used(t, p.pid, tid) * 3 / 2; sums[tid] > limit+margin {
			t.Errorf("thread %d: samples for %v, more than its %v of processor time", tid, sums[tid], limit)
		}
		t.Log(tid, counts[tid], sums[tid], used(t, p.pid, tid))
	}
	total, err := e.CPUTime()
	t.Log(total, err, e.KernelExcluded, len(e.late), len(e.processors[0].data))
}
