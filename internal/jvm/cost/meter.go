// Package toll tells from outside, without the JVM taking part, what something
// done to a JVM cost it: how long it was stopped, and how much its compilers
// had to do again.
//
// Pauses come from the counters the JVM publishes in shared memory (package
// hsperf), which a JVM under -XX:-UsePerfData or -XX:+PerfDisableSharedMem does
// not have; processor time comes from /proc, by the names the kernel has for
// the JVM's threads, which JDK 8 does not give them. What could be read is said
// beside every number: a zero that is not known is no zero.
//
// All of a JVM's pauses in an interval are counted, whoever caused them: a
// collection in the same interval is in the sum, and the interval's end points
// should lie close to what is to be measured.
package cost

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/perfdata"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// ErrGone is returned for a JVM that has ended.
var ErrGone = errors.New("the JVM has ended")

// A Meter reads what one JVM has gone through. It is not for concurrent use.
type Meter struct {
	host     process.Host
	jvm      *process.JVM
	counters *os.File // nil where there are none
	census   census
}

// Watch prepares to read. It does not fail: what cannot be read is not known.
func Watch(jvm *process.JVM) *Meter { return watch(process.Local, jvm) }

func watch(host process.Host, jvm *process.JVM) *Meter {
	m := &Meter{host: host, jvm: jvm}
	m.counters, _ = openCounters(host, jvm) // not known then, and said so by each reading
	return m
}

// Close lets go of the JVM's counters.
func (m *Meter) Close() {
	if m.counters != nil {
		_ = m.counters.Close()
		m.counters = nil
	}
}

// Read tells where the JVM stands now. Its only error is ErrGone. It takes less
// than a millisecond; the first few some ten microseconds for each of the JVM's
// threads besides.
func (m *Meter) Read() (Reading, error) {
	var r Reading
	m.readCounters(&r)
	// Pauses are what one wants to be exact about, so theirs is the time.
	r.At = time.Now()
	process := filepath.Join(m.host.Proc, strconv.Itoa(m.jvm.PID))
	if threads, err := m.census.read(process); err == nil {
		r.threads = threads
		for _, t := range threads {
			r.Known.Compilers = r.Known.Compilers || t.role == compiler
			r.Known.VMThread = r.Known.VMThread || t.role == vmThread
		}
	}
	if line, err := os.ReadFile(filepath.Join(process, "stat")); err == nil {
		if s, err := parseStat(line); err == nil {
			r.process, r.Known.Process = s.cpu, true
		}
	}
	// Asked last, so that nothing above is of a later process of this number.
	if !m.host.Same(m.jvm) {
		return Reading{}, fmt.Errorf("process %d: %w", m.jvm.PID, ErrGone)
	}
	return r, nil
}

func (m *Meter) readCounters(r *Reading) {
	if m.counters == nil {
		return
	}
	// What stands before a defect is true: entries are only ever added.
	found, _ := perfdata.Read(io.NewSectionReader(m.counters, 0, perfdata.MaxSize))
	if found == nil {
		return
	}
	r.counters, r.Known.Pauses, r.Known.Compiles = countersFrom(found)
}

// Known tells which of the numbers beside it were read.
type Known struct {
	Pauses    bool // safepoints and how long they lasted
	Compiles  bool // compilations and how long they took
	Compilers bool // processor time of the compiler threads
	VMThread  bool // processor time of the thread that carries out operations at safepoints
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

// A Reading is where a JVM's counters stood at one moment. Mostly only the
// difference of two means something.
type Reading struct {
	At    time.Time
	Known Known

	counters counters
	threads  map[threadKey]thread // of the JVM's own threads that are told apart
	process  time.Duration
}

// Compiled is the processor time of the compiler threads there are, since each
// began; false where it was not read.
func (r Reading) Compiled() (time.Duration, bool) {
	var worked time.Duration
	for _, t := range r.threads {
		if t.role == compiler {
			worked += t.cpu
		}
	}
	return worked, r.Known.Compilers
}

// A Cost is what happened in a JVM between two readings.
type Cost struct {
	Known   Known
	Elapsed time.Duration

	Safepoints int           // how often all threads were stopped
	Pause      time.Duration // for how long in all, with the wait until the last stood still
	PauseSync  time.Duration // that wait alone, in which others still ran
	// Longest lies between these. They meet where there was one safepoint.
	LongestAtLeast, LongestAtMost time.Duration

	Compilations int
	CompileTime  time.Duration // from begin to end of each compilation that ended here

	// Processor time. The kernel brings it up to date at ticks, some
	// milliseconds apart.
	CompileCPU time.Duration // of the compiler threads
	VMThread   time.Duration
	Rest       time.Duration // of all others, collectors with them; in steps of 10 ms
	// CompileWait is for how long compiler threads were ready to run and had no
	// processor. It is 0 where the kernel does not tell.
	CompileWait time.Duration

	// Ended is how many compiler threads ended here. What each had used since
	// the first reading is not in CompileCPU, but in Rest.
	Ended int
}

// Until is what happened from one reading to a later one of the same JVM.
func (r Reading) Until(later Reading) Cost {
	c := Cost{Known: r.Known.and(later.Known), Elapsed: later.At.Sub(r.At)}
	if c.Known.Pauses {
		c.Safepoints = int(rise(r.counters.safepoints, later.counters.safepoints))
		c.Pause = rise(r.counters.pause, later.counters.pause)
		c.PauseSync = rise(r.counters.sync, later.counters.sync)
		c.LongestAtMost = c.Pause
		if c.Safepoints > 0 {
			c.LongestAtLeast = c.Pause / time.Duration(c.Safepoints)
		}
	}
	if c.Known.Compiles {
		c.Compilations = int(rise(r.counters.compiles, later.counters.compiles))
		c.CompileTime = rise(r.counters.compileTime, later.counters.compileTime)
	}
	c.addThreads(r, later)
	return c
}

func (c *Cost) addThreads(before, after Reading) {
	for key, t := range after.threads {
		earlier := before.threads[key] // zero for one that began since
		used := rise(earlier.cpu, t.cpu)
		switch {
		case t.role == compiler && c.Known.Compilers:
			c.CompileCPU += used
			c.CompileWait += rise(earlier.wait, t.wait)
		case t.role == vmThread && c.Known.VMThread:
			c.VMThread += used
		}
	}
	for key, t := range before.threads {
		if _, there := after.threads[key]; !there && t.role == compiler {
			c.Ended++
		}
	}
	if c.Known.Process {
		c.Rest = max(0, rise(before.process, after.process)-c.CompileCPU-c.VMThread)
	}
}

// Then joins a cost with that of the interval right after it. Readings taken
// often tell more of the longest pause than the two at the ends.
func (c Cost) Then(next Cost) Cost {
	return Cost{
		Known:          c.Known.and(next.Known),
		Elapsed:        c.Elapsed + next.Elapsed,
		Safepoints:     c.Safepoints + next.Safepoints,
		Pause:          c.Pause + next.Pause,
		PauseSync:      c.PauseSync + next.PauseSync,
		LongestAtLeast: max(c.LongestAtLeast, next.LongestAtLeast),
		LongestAtMost:  max(c.LongestAtMost, next.LongestAtMost),
		Compilations:   c.Compilations + next.Compilations,
		CompileTime:    c.CompileTime + next.CompileTime,
		CompileCPU:     c.CompileCPU + next.CompileCPU,
		CompileWait:    c.CompileWait + next.CompileWait,
		VMThread:       c.VMThread + next.VMThread,
		Rest:           c.Rest + next.Rest,
		Ended:          c.Ended + next.Ended,
	}
}

// rise is by how much a counter rose. One that fell was not read right, and
// says nothing.
func rise[N ~int64](before, after N) N { return max(0, after-before) }

const (
	// Compilers are idle that use less of a processor than this, and done when they
	// have been for so long.
	idleCompilers = 0.15
	idleFor       = 750 * time.Millisecond
)

// CompilersIdle reports whether compilers had little to do.
func (c Cost) CompilersIdle() bool {
	return c.CompileCPU.Seconds() <= idleCompilers*c.Elapsed.Seconds()
}

// A Lull is for how long compilers have had little to do.
type Lull struct{ idle time.Duration }

// Add takes in what happened since, and reports whether compilers are done with what
// a redefinition undid.
func (l *Lull) Add(since Cost) bool {
	if since.CompilersIdle() {
		l.idle += since.Elapsed
	} else {
		l.idle = 0
	}
	return l.idle >= idleFor
}

// warmRate is at how many calls a second of a method half of what is cold is warm.
const warmRate = 100_000

// Cold is the part that is left, of what a call of a hook costs beside what it costs in a
// loop, at a rate of calls a second. Where other work comes between two calls of a method
// processors have forgotten the hook by then, and what it writes to.
func Cold(rate float64) float64 { return 1 / (1 + rate/warmRate) }
