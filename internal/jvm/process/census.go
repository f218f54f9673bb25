package process

import (
	"context"
	"os"
	"strconv"
	"strings"
)

// A Process is what is known of any process, JVM or not.
type Process struct {
	PID     int
	Numbers []int // PID, and those it has in the namespaces within ours
	UID     uint32
	Mounts  string   // names its mount namespace; "" where that may not be read
	Arenas  []string // mapped, as JVM has them; none where that may not be read
}

// Processes returns all processes that can be seen.
func (h Host) Processes(ctx context.Context) ([]Process, error) {
	entries, err := os.ReadDir(h.Proc)
	if err != nil {
		return nil, err
	}
	var all []Process
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if p, ok := h.census(pid); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// census fails where the process is gone.
func (h Host) census(pid int) (Process, bool) {
	status, err := os.ReadFile(h.path(pid, "status"))
	if err != nil {
		return Process{}, false
	}
	known := process{pid: pid}
	if known.parseStatus(string(status)) != nil {
		return Process{}, false
	}
	p := Process{PID: pid, Numbers: numbers(string(status), pid), UID: known.uid}
	p.Mounts, _ = os.Readlink(h.path(pid, "ns/mnt"))
	if maps, err := h.readMaps(pid); err == nil {
		p.Arenas = maps.arenas
	}
	return p, true
}

// numbers are those of the line NSpid, from our namespace inwards.
func numbers(status string, pid int) []int {
	for line := range strings.Lines(status) {
		fields, found := strings.CutPrefix(line, "NSpid:")
		if !found {
			continue
		}
		var all []int
		for _, field := range strings.Fields(fields) {
			if n, err := strconv.Atoi(field); err == nil {
				all = append(all, n)
			}
		}
		return all
	}
	return []int{pid}
}

// initialPIDs is what Linux calls the pid namespace it begins with.
const initialPIDs = "pid:[4026531836]"

// SeesAll tells whether every process of the machine can be seen: not from
// within a container, which shares files with processes it does not see.
func (h Host) SeesAll() bool {
	ours, err := os.Readlink(h.Proc + "/self/ns/pid")
	return err == nil && ours == initialPIDs
}
