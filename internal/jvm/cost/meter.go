// Package cost measures the cost of an action to a JVM from outside, without asking the JVM:
// how long it was stopped, and how much CPU time its compilers used.
//
// Pauses come from the counters that the JVM publishes in shared memory (package
// perfdata), which a JVM with -XX:-UsePerfData or -XX:+PerfDisableSharedMem does not have.
// Processor time comes from /proc, where the compilers' threads are found by their names. JDK 8 does not
// name its threads there. Every result says which of its numbers are known.
//
// All of a JVM's pauses in an interval count, whatever caused them: a collection in the
// same interval is in the sum. So an interval should begin and end close to the action.
package cost

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/perfdata"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// ErrGone is returned for a JVM that has ended.
var ErrGone = errors.New("the JVM has ended")

// A Meter reads the pauses and processor times of one JVM. Close must not run beside other methods.
type Meter struct {
	host     process.Host
	jvm      *process.JVM
	counters *os.File // nil where there are none

	lock   sync.Mutex
	census census
}

// Watch prepares to read. It does not fail: readings say what is not known.
func Watch(jvm *process.JVM) *Meter {
	m := &Meter{host: process.Local, jvm: jvm}
	m.counters, _ = m.host.OpenCounters(jvm) // it stays readable when somebody clears /tmp
	return m
}

// Close releases the JVM's counters.
func (m *Meter) Close() {
	if m.counters != nil {
		_ = m.counters.Close()
		m.counters = nil
	}
}

// Read returns the current state of the JVM's counters. Its only error is ErrGone. It
// takes less than a millisecond; the first few calls take about ten microseconds more for
// each of the JVM's threads.
func (m *Meter) Read() (Reading, error) {
	var r Reading
	m.readCounters(&r)
	// Pauses need the exact time most, so the reading has theirs.
	r.At = time.Now()
	dir := filepath.Join(m.host.Proc, strconv.Itoa(m.jvm.PID))
	m.lock.Lock()
	threads, err := m.census.read(dir)
	m.lock.Unlock()
	if err == nil {
		r.threads = threads
		for _, t := range threads {
			r.Known.Compilers = r.Known.Compilers || t.role == compiler
			r.Known.VMThread = r.Known.VMThread || t.role == vmThread
		}
	}
	if s, err := process.ReadStat(filepath.Join(dir, "stat")); err == nil {
		r.process, r.Known.Process = s.CPU, true
	}
	// Checked last, so that nothing above was read from a later process with this PID.
	if !m.host.Same(m.jvm) {
		return Reading{}, fmt.Errorf("process %d: %w", m.jvm.PID, ErrGone)
	}
	return r, nil
}

// Stopped returns for how long the JVM has stopped all threads in all its pauses; false if that is not known. A pause is
// counted when it ends. It takes far less time than Read.
func (m *Meter) Stopped() (stopped time.Duration, ok bool) {
	var r Reading
	m.readCounters(&r)
	return r.counters.pause, r.Known.Pauses
}

// Collections returns how many collections of garbage have ended, and how long they took; false if that is not known.
func (m *Meter) Collections() (n int64, took time.Duration, ok bool) {
	if found := m.published(); found != nil {
		return collectionsFrom(found)
	}
	return 0, 0, false
}

// published returns the counters of the JVM; nil if there are none.
func (m *Meter) published() *perfdata.Counters {
	if m.counters == nil {
		return nil
	}
	// Entries before a defect are valid: entries are only ever added.
	found, _ := perfdata.Read(io.NewSectionReader(m.counters, 0, perfdata.MaxSize))
	return found
}

func (m *Meter) readCounters(r *Reading) {
	found := m.published()
	if found == nil {
		return
	}
	r.counters, r.Known.Pauses, r.Known.Compiles = countersFrom(found)
}

// Known says which numbers were read.
type Known struct {
	Pauses    bool // safepoints and how long they lasted
	Compiles  bool // how long compilations took
	Compilers bool // processor time of the compiler threads
	VMThread  bool // processor time of the thread that executes operations at safepoints
	Process   bool // processor time of the whole process
}

func (k Known) and(other Known) Known {
	return Known{
		Pauses:    k.Pauses && other.Pauses,
		Compiles:  k.Compiles && other.Compiles,
		Compilers: k.Compilers && other.Compilers,
		VMThread:  k.VMThread && other.VMThread,
		Process:   k.Process && other.Process,
	}
}

// A Reading is the state of a JVM's counters at one moment. Most of it is meaningful only
// as the difference of two readings.
type Reading struct {
	At    time.Time
	Known Known

	counters counters
	threads  map[threadKey]thread // the compiler threads and the VM thread
	process  time.Duration
}

// Compiled returns the processor time that the current compiler threads have used since
// they started; false where it was not read. It is 0 for a JVM without such threads, which
// interprets all code.
func (r Reading) Compiled() (time.Duration, bool) {
	var worked time.Duration
	for _, t := range r.threads {
		if t.role == compiler {
			worked += t.cpu
		}
	}
	return worked, r.Known.Compilers || r.Known.VMThread
}

// A Cost is what happened in a JVM between two readings.
type Cost struct {
	Known   Known
	Elapsed time.Duration

	Safepoints  int           // how often all threads were stopped
	Pause       time.Duration // how long in all, with the wait until the last thread stopped
	CompileTime time.Duration // from begin to end of each compilation that ended in the interval

	// Processor time. The kernel updates it at ticks, some milliseconds apart.
	CompileCPU time.Duration // of the compiler threads, except those that ended in the interval
	VMThread   time.Duration
	Rest       time.Duration // of all other threads, collectors included; in steps of 10 ms
	// CompileWait is how long compiler threads were ready to run without a processor. It is
	// 0 where the kernel does not report it.
	CompileWait time.Duration
}

// Until returns what happened from one reading to a later one of the same JVM.
func (r Reading) Until(later Reading) Cost {
	c := Cost{Known: r.Known.and(later.Known), Elapsed: later.At.Sub(r.At)}
	if c.Known.Pauses {
		c.Safepoints = int(rise(r.counters.safepoints, later.counters.safepoints))
		c.Pause = rise(r.counters.pause, later.counters.pause)
	}
	if c.Known.Compiles {
		c.CompileTime = rise(r.counters.compileTime, later.counters.compileTime)
	}
	for key, t := range later.threads {
		earlier := r.threads[key] // zero for a thread that began since
		used := rise(earlier.cpu, t.cpu)
		switch {
		case t.role == compiler && c.Known.Compilers:
			c.CompileCPU += used
			c.CompileWait += rise(earlier.wait, t.wait)
		case t.role == vmThread && c.Known.VMThread:
			c.VMThread += used
		}
	}
	if c.Known.Process {
		c.Rest = max(0, rise(r.process, later.process)-c.CompileCPU-c.VMThread)
	}
	return c
}

// Then joins a cost with that of the interval right after it.
func (c Cost) Then(next Cost) Cost {
	return Cost{
		Known:       c.Known.and(next.Known),
		Elapsed:     c.Elapsed + next.Elapsed,
		Safepoints:  c.Safepoints + next.Safepoints,
		Pause:       c.Pause + next.Pause,
		CompileTime: c.CompileTime + next.CompileTime,
		CompileCPU:  c.CompileCPU + next.CompileCPU,
		CompileWait: c.CompileWait + next.CompileWait,
		VMThread:    c.VMThread + next.VMThread,
		Rest:        c.Rest + next.Rest,
	}
}

// rise returns by how much a counter rose; 0 if it fell, which means that it was misread.
func rise[N ~int64](before, after N) N { return max(0, after-before) }
