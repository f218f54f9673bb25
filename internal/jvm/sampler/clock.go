package sampler

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// A clock tells what processor time the threads of a JVM have used. It asks the
// kernel, never the JVM.
type clock struct {
	tasks string           // /proc/PID/task
	inner bool             // the JVM numbers its threads in a namespace of its own
	names map[string]int64 // by our number, that of the JVM's namespace
}

func newClock(jvm *process.JVM) *clock {
	return &clock{
		tasks: filepath.Join(process.Local.Proc, strconv.Itoa(jvm.PID), "task"),
		inner: jvm.OtherPIDs, names: map[string]int64{},
	}
}

// read is the processor time of each thread since it began, by its number as the
// JVM knows it. Threads that end meanwhile are left out.
func (c *clock) read() map[int64]time.Duration {
	entries, err := os.ReadDir(c.tasks)
	if err != nil {
		return nil
	}
	times := make(map[int64]time.Duration, len(entries))
	for _, entry := range entries {
		number, ok := c.number(entry.Name())
		if !ok {
			continue
		}
		if used, ok := c.used(entry.Name()); ok {
			times[number] = used
		}
	}
	return times
}

// used reads nanoseconds where the kernel keeps them, else ticks.
func (c *clock) used(thread string) (time.Duration, bool) {
	text, err := os.ReadFile(filepath.Join(c.tasks, thread, "schedstat"))
	if err == nil {
		first, _, _ := strings.Cut(string(text), " ")
		if nanos, err := strconv.ParseInt(first, 10, 64); err == nil {
			return time.Duration(nanos), true
		}
	}
	s, err := readStat(filepath.Join(c.tasks, thread, "stat"))
	if err != nil {
		return 0, false
	}
	user, err := s.number(fieldUser)
	if err != nil {
		return 0, false
	}
	system, err := s.number(fieldSystem)
	return time.Duration(user+system) * tick, err == nil
}

func (c *clock) number(thread string) (int64, bool) {
	if known, ok := c.names[thread]; ok {
		return known, true
	}
	number, err := strconv.ParseInt(thread, 10, 64)
	if c.inner && err == nil {
		number, err = c.innerNumber(thread)
	}
	if err != nil {
		return 0, false
	}
	c.names[thread] = number
	return number, true
}

// innerNumber is the last of the numbers a thread has, one for each namespace
// from ours inwards.
func (c *clock) innerNumber(thread string) (int64, error) {
	text, err := os.ReadFile(filepath.Join(c.tasks, thread, "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, is := strings.CutPrefix(line, "NSpid:"); is {
			fields := strings.Fields(value)
			return strconv.ParseInt(fields[len(fields)-1], 10, 64)
		}
	}
	return strconv.ParseInt(thread, 10, 64)
}

// hasRecorder tells, without asking the JVM, whether its flight recorder was ever
// started: its threads stay. Asking the JVM would start it.
func hasRecorder(pid int) bool {
	names, _ := filepath.Glob(filepath.Join(process.Local.Proc, strconv.Itoa(pid), "task", "*", "comm")) // the pattern is well formed
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && strings.HasPrefix(string(text), "JFR ") {
			return true
		}
	}
	return false
}

// Fields of /proc/PID/stat, counted from 1 as proc(5) does.
const (
	fieldState  = 3
	fieldUser   = 14 // time in user mode, in ticks
	fieldSystem = 15
	fieldStart  = 22
)

// tick is the unit of times in /proc on every Linux there is.
const tick = 10 * time.Millisecond

// errEnded is a process that nobody has asked for its exit code yet.
var errEnded = errors.New("the process has ended")

// A stat is a line of /proc/PID/stat from its third field on. The second, the
// command, may hold anything, so its closing parenthesis, the last, is where
// counting begins.
type stat []string

func readStat(file string) (stat, error) {
	line, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	fields := stat(strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:])))
	if len(fields) <= fieldStart-fieldState {
		return nil, fmt.Errorf("%s: only %d fields after the command", file, len(fields))
	}
	return fields, nil
}

func (s stat) number(field int) (uint64, error) {
	return strconv.ParseUint(s[field-fieldState], 10, 64)
}

// startTicks is when a process started, in ticks since the boot.
func startTicks(pid int) (uint64, error) {
	s, err := readStat(filepath.Join(process.Local.Proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	if state := s[0]; state == "Z" || state == "X" {
		return 0, errEnded
	}
	return s.number(fieldStart)
}
