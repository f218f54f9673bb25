// Package jvmproc tells what can be known of the JVMs of a host without
// touching them: it reads /proc and the files processes name there, in their
// own mount namespaces, and sends nothing to anyone.
//
// Processes belong to others and may lie or vanish at any time. What cannot be
// read is left unknown; only what is known is acted on.
package process

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Host is where processes are looked for.
type Host struct {
	Proc string // "/proc", but in tests
}

// Local is this host.
var Local = Host{Proc: "/proc"}

func (h Host) path(pid int, name string) string {
	return filepath.Join(h.Proc, strconv.Itoa(pid), name)
}

// process is what everyone may read of a process.
type process struct {
	pid, namespacePID int
	otherPIDs         bool
	uid, gid          uint32 // effective
	catches           uint64 // signals, the lowest bit being signal 1
	stopped           bool
	startTicks        uint64
	command           []string
}

// readProcess fails where the process is gone.
func (h Host) readProcess(pid int) (p process, err error) {
	p.pid = pid
	status, err := os.ReadFile(h.path(pid, "status"))
	if err != nil {
		return p, err
	}
	if err := p.parseStatus(string(status)); err != nil {
		return p, fmt.Errorf("%s: %w", h.path(pid, "status"), err)
	}
	stat, err := os.ReadFile(h.path(pid, "stat"))
	if err != nil {
		return p, err
	}
	if p.startTicks, err = parseStartTicks(stat); err != nil {
		return p, fmt.Errorf("%s: %w", h.path(pid, "stat"), err)
	}
	command, err := os.ReadFile(h.path(pid, "cmdline"))
	if err != nil {
		return p, err
	}
	p.command = splitZeros(command)
	return p, nil
}

func (p *process) parseStatus(status string) error {
	p.namespacePID = p.pid
	ids := 0
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		var err error
		switch {
		case len(fields) == 0:
		case name == "Uid" && len(fields) > 1:
			p.uid, err = parseID(fields[1])
			ids++
		case name == "Gid" && len(fields) > 1:
			p.gid, err = parseID(fields[1])
			ids++
		case name == "NSpid":
			// One number for each namespace from ours inwards.
			p.namespacePID, err = strconv.Atoi(fields[len(fields)-1])
			p.otherPIDs = len(fields) > 1
		case name == "State":
			p.stopped = fields[0] == "T" || fields[0] == "t"
		case name == "SigCgt":
			p.catches, err = strconv.ParseUint(fields[0], 16, 64)
		}
		if err != nil {
			return fmt.Errorf("line %q: %w", strings.TrimSpace(line), err)
		}
	}
	if ids != 2 {
		return fmt.Errorf("no lines Uid and Gid")
	}
	return nil
}

func parseID(text string) (uint32, error) {
	id, err := strconv.ParseUint(text, 10, 32)
	return uint32(id), err
}

// catchesQuit tells whether SIGQUIT runs a handler instead of killing.
func (p *process) catchesQuit() bool { return p.catches&(1<<(syscall.SIGQUIT-1)) != 0 }

// parseStartTicks finds field 22 of a stat line. The command, field 2, may hold
// anything, so fields are counted after its closing parenthesis, the last.
func parseStartTicks(stat []byte) (uint64, error) {
	const after = 22 - 3 // field 3 comes first after the parenthesis
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= after {
		return 0, fmt.Errorf("only %d fields after the command", len(fields))
	}
	return strconv.ParseUint(fields[after], 10, 64)
}

// ticksPerSecond is the unit of times in /proc on every Linux there is.
const ticksPerSecond = 100

// started turns a start in ticks since boot into a time.
func (h Host) started(ticks uint64, now time.Time) (time.Time, error) {
	text, err := os.ReadFile(filepath.Join(h.Proc, "uptime"))
	if err != nil {
		return time.Time{}, err
	}
	first, _, _ := strings.Cut(string(text), " ")
	uptime, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: %w", filepath.Join(h.Proc, "uptime"), err)
	}
	age := max(0, uptime-float64(ticks)/ticksPerSecond)
	return now.Add(-time.Duration(age * float64(time.Second))), nil
}

// otherMounts tells whether a process has mounts of its own; where that cannot
// be read it says no.
func (h Host) otherMounts(pid int) bool {
	theirs, err := os.Readlink(h.path(pid, "ns/mnt"))
	if err != nil {
		return false
	}
	ours, err := os.Readlink(filepath.Join(h.Proc, "self", "ns/mnt"))
	return err == nil && ours != theirs
}

func splitZeros(data []byte) []string {
	text := strings.TrimSuffix(string(data), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}

// Find returns the JVMs that can be seen, by rising process number. Processes
// that end meanwhile, and those that cannot be told to be JVMs, are left out.
func (h Host) Find(ctx context.Context) ([]*JVM, error) {
	entries, err := os.ReadDir(h.Proc)
	if err != nil {
		return nil, err
	}
	var found []*JVM
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// What is odd about one process must not hide the others.
		if j, err := h.Inspect(pid); err == nil {
			found = append(found, j)
		}
	}
	slices.SortFunc(found, func(a, b *JVM) int { return cmp.Compare(a.PID, b.PID) })
	return found, nil
}

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

// Why a file is not opened that someone else has named.
var (
	ErrNotPlain  = errors.New("not a plain file")
	ErrForeign   = errors.New("it is another user's")
	ErrEmpty     = errors.New("it is empty")
	ErrNotMapped = errors.New("it is not the file that the process has in memory")
)

// A Judge looks at a plain file and at whose it is, before it is opened: an error of its
// keeps it closed.
type Judge func(info os.FileInfo, owner uint32) error

// NamedBy judges files that a user has named, for reading: those that this user, root or
// we have made, and those that everybody may read anyway.
func NamedBy(user uint32) Judge {
	return func(info os.FileInfo, owner uint32) error {
		const readableByAll = 0o004
		switch {
		case owner != user && owner != 0 && int(owner) != os.Geteuid() && info.Mode().Perm()&readableByAll == 0:
			return ErrForeign
		case info.Size() == 0: // so is what is made while it is read, as below /proc
			return ErrEmpty
		}
		return nil
	}
}
