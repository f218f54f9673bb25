package cost

import "time"

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
