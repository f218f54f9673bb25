package cost

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A role is the purpose of a thread.
type role int

const (
	other role = iota
	compiler
	vmThread
)

// threadKey identifies one thread and no later one with the same number.
type threadKey struct {
	id    int
	start uint64
}

type thread struct {
	role role
	cpu  time.Duration
	wait time.Duration // ready to run without a processor; 0 where the kernel does not report it
}

// roleOf returns the role of a thread by the name HotSpot gives it, of which the kernel
// keeps fifteen bytes: "C1 CompilerThread0", "C2 CompilerThread0", "JVMCI
// CompilerThread0", "VM Thread". If a program gives its own threads such names, they are
// counted as the JVM's; nothing else happens.
func roleOf(name string) role {
	if name == "VM Thread" {
		return vmThread
	}
	for _, kind := range []string{"C1", "C2", "JVMCI"} {
		if strings.HasPrefix(name, truncated(kind+" CompilerThread")) {
			return compiler
		}
	}
	return other
}

func truncated(name string) string {
	const kept = 15
	return name[:min(len(name), kept)]
}

// tick is the unit of times in /proc, the same on every Linux.
const tick = 10 * time.Millisecond

// A stat is the part of a line of /proc/PID/stat, or of a task's, that is needed.
type stat struct {
	name  string
	cpu   time.Duration // in whole ticks
	start uint64
}

// parseStat counts fields from the end of the name, which is the last parenthesis: a name
// may contain anything.
func parseStat(line []byte) (s stat, err error) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return s, fmt.Errorf("a stat line without a name: %.60q", line)
	}
	s.name = string(line[open+1 : end])
	const first, user, system, start = 3, 14, 15, 22 // numbers of fields in proc(5)
	fields := strings.Fields(string(line[end+1:]))
	if len(fields) <= start-first {
		return s, fmt.Errorf("only %d fields after the name: %.60q", len(fields), line)
	}
	for _, field := range []int{user, system} {
		ticks, err := strconv.ParseUint(fields[field-first], 10, 48)
		if err != nil {
			return s, fmt.Errorf("processor time: %w", err)
		}
		s.cpu += time.Duration(ticks) * tick
	}
	if s.start, err = strconv.ParseUint(fields[start-first], 10, 64); err != nil {
		return s, fmt.Errorf("start time: %w", err)
	}
	return s, nil
}

// parseSchedstat returns how long a task has run and how long it has waited for a
// processor.
func parseSchedstat(line []byte) (run, wait time.Duration, err error) {
	fields := strings.Fields(string(line))
	const known = 2
	if len(fields) < known {
		return 0, 0, fmt.Errorf("only %d fields: %.60q", len(fields), line)
	}
	var nanos [known]uint64
	for i := range nanos {
		if nanos[i], err = strconv.ParseUint(fields[i], 10, 63); err != nil {
			return 0, 0, err
		}
	}
	return time.Duration(nanos[0]), time.Duration(nanos[1]), nil
}

// A census finds the threads of a process that have a role. It remembers the others, of
// which a program may have thousands, and reads each only a few times: a thread gets its
// name soon after its start, not with it.
type census struct {
	others map[int]int // how often each was read, by number
}

// looks is how often a thread is read before it counts as one of the program's until it
// ends.
const looks = 5

// read returns the threads that have a role, without those that end meanwhile.
func (c *census) read(process string) (map[threadKey]thread, error) {
	folder := filepath.Join(process, "task")
	// Readdirnames does not sort the names nor read each file, unlike os.ReadDir.
	dir, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	found := map[threadKey]thread{}
	others := make(map[int]int, len(names)) // without those that have ended
	for _, name := range names {
		id, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if c.others[id] >= looks {
			others[id] = looks
			continue
		}
		key, t, ok := readThread(filepath.Join(folder, name), id)
		switch {
		case !ok:
		case t.role == other:
			others[id] = c.others[id] + 1
		default:
			found[key] = t
		}
	}
	c.others = others
	return found, nil
}

func readThread(folder string, id int) (threadKey, thread, bool) {
	line, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return threadKey{}, thread{}, false
	}
	s, err := parseStat(line)
	if err != nil {
		return threadKey{}, thread{}, false
	}
	t := thread{role: roleOf(s.name), cpu: s.cpu}
	if t.role != other {
		// Finer than ticks, where the kernel has it.
		if line, err := os.ReadFile(filepath.Join(folder, "schedstat")); err == nil {
			if run, wait, err := parseSchedstat(line); err == nil && run > 0 {
				t.cpu, t.wait = run, wait
			}
		}
	}
	return threadKey{id, s.start}, t, true
}
