package cost

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
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
	for _, prefix := range []string{"C1 CompilerThre", "C2 CompilerThre", "JVMCI CompilerT"} {
		if strings.HasPrefix(name, prefix) {
			return compiler
		}
	}
	return other
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

// read returns the threads with a role, except threads that end during the call. Its argument is the
// process's directory in /proc.
func (c *census) read(dir string) (map[threadKey]thread, error) {
	folder := filepath.Join(dir, "task")
	// Readdirnames does not sort the names nor read each file, unlike os.ReadDir.
	tasks, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tasks.Close() }()
	names, err := tasks.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	found := map[threadKey]thread{}
	others := make(map[int]int, len(names)) // without threads that have ended
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
	s, err := process.ReadStat(filepath.Join(folder, "stat"))
	if err != nil {
		return threadKey{}, thread{}, false
	}
	t := thread{role: roleOf(s.Command)}
	if t.role != other {
		t.cpu, t.wait, err = process.ReadTimes(folder)
	}
	return threadKey{id, s.Start}, t, err == nil
}
