package sampler

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// A clock reads the processor time of the threads of a JVM from the kernel, without involving the
// JVM.
type clock struct {
	tasks string           // /proc/PID/task
	inner bool             // the JVM has a PID namespace of its own
	names map[string]int64 // numbers of threads in the JVM's namespace, by their numbers in ours

	own   map[int64]*jfr.Thread   // threads of the JVM
	times map[int64]time.Duration // the last reading
	ready map[int64]time.Duration // how long each thread was ready to run without a processor, at the last reading
}

func newClock(jvm *process.JVM) *clock {
	return &clock{tasks: process.Local.Path(jvm.PID, "task"), inner: jvm.OtherPIDs, names: map[string]int64{}, own: map[int64]*jfr.Thread{}}
}

// read returns the processor time of each thread since its start, by its number in the JVM's
// namespace. It omits threads that end meanwhile.
func (c *clock) read() map[int64]time.Duration {
	entries, err := os.ReadDir(c.tasks)
	if err != nil {
		return nil
	}
	times := make(map[int64]time.Duration, len(entries))
	c.ready = make(map[int64]time.Duration, len(entries))
	for _, entry := range entries {
		number, err := c.number(entry.Name())
		if err != nil {
			continue
		}
		if used, ready, err := process.ReadTimes(filepath.Join(c.tasks, entry.Name())); err == nil {
			times[number], c.ready[number] = used, ready
		}
	}
	return times
}

func (c *clock) number(thread string) (int64, error) {
	if known, ok := c.names[thread]; ok {
		return known, nil
	}
	number, err := strconv.Atoi(thread)
	if c.inner && err == nil {
		number, err = process.NamespaceID(filepath.Join(c.tasks, thread, "status"), number)
	}
	if err != nil {
		return 0, err
	}
	name, err := os.ReadFile(filepath.Join(c.tasks, thread, "comm"))
	if err != nil {
		return 0, err
	}
	t := &jfr.Thread{OSID: int64(number), Name: strings.TrimSpace(string(name))}
	if t.Kind() != jfr.ProgramThread {
		c.own[t.OSID] = t
	}
	c.names[thread] = t.OSID
	return t.OSID, nil
}

// sleeps reports whether a thread of the JVM waits in the kernel.
func (c *clock) sleeps(number int64) bool {
	thread := strconv.FormatInt(number, 10)
	if c.inner {
		c.read() // names all threads
		for name, known := range c.names {
			if known == number {
				thread = name
			}
		}
	}
	stat, err := process.ReadStat(filepath.Join(c.tasks, thread, "stat"))
	return err == nil && stat.Sleeps
}

// account returns the processor time that threads of the JVM have used since the last call.
func (c *clock) account(at time.Time, times map[int64]time.Duration) (samples []jfr.Sample) {
	for number, thread := range c.own {
		before, known := c.times[number]
		if used := times[number] - before; known && used > 0 {
			samples = append(samples, jfr.Sample{At: at, Source: jfr.Accounted, Period: used, Thread: thread, Stack: &jfr.Stack{}})
		}
	}
	c.times = times
	return samples
}

func hasRecorder(pid int) bool { return process.Local.HasRecorder(pid) }

// isAlive reports whether a JVM is still running. A zombie is not.
func isAlive(j *process.JVM) bool {
	s, err := process.ReadStat(process.Local.Path(j.PID, "stat"))
	return err == nil && !s.Ended && s.Start == j.StartTicks()
}
