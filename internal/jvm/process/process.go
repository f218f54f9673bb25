// Package process finds the JVMs of a host and inspects them without touching them: it reads
// /proc and, through it, files in the mount namespaces of processes, and sends nothing to any
// process.
//
// The processes belong to others and may lie or disappear at any time. Facts that cannot be read
// are left unknown; only known facts are acted on.
package process

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Host is a machine whose processes are inspected.
type Host struct {
	Proc string // "/proc", except in tests
}

// Local is this host.
var Local = Host{Proc: "/proc"}

// Path returns the path of a file of a process in /proc.
func (h Host) Path(pid int, name string) string {
	return filepath.Join(h.Proc, strconv.Itoa(pid), name)
}

// mostProc bounds what is read of a file in /proc. A process can have 65,530 mappings of files with names of 4 KiB.
const mostProc = 64 << 20

// Read returns the content of a file of a process in /proc, up to a limit.
func (h Host) Read(pid int, name string) ([]byte, error) {
	file, err := os.Open(h.Path(pid, name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, mostProc))
}

// ReadList returns the strings of a file of a process in /proc that ends each with a zero byte,
// such as cmdline and environ.
func (h Host) ReadList(pid int, name string) ([]string, error) {
	data, err := h.Read(pid, name)
	text := strings.TrimSuffix(string(data), "\x00")
	if text == "" {
		return nil, err
	}
	return strings.Split(text, "\x00"), err
}

// PIDs returns the processes that can be seen, in ascending order.
func (h Host) PIDs() ([]int, error) {
	entries, err := os.ReadDir(h.Proc)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// Find returns the JVMs that can be seen, in ascending order of their PIDs. It omits processes
// that end meanwhile and those that cannot be identified as JVMs.
func (h Host) Find(ctx context.Context) ([]*JVM, error) { return inspectAll(ctx, h, h.Inspect) }

// inspectAll omits processes that cannot be inspected: a problem with one must not hide the others.
func inspectAll[T any](ctx context.Context, h Host, inspect func(pid int) (T, error)) (found []T, err error) {
	pids, err := h.PIDs()
	for _, pid := range pids {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if one, err := inspect(pid); err == nil {
			found = append(found, one)
		}
	}
	return found, err
}

// A Process is any process, JVM or not.
type Process struct {
	PID     int
	Numbers []int // PID, and its PIDs in the namespaces nested in ours
	UID     uint32
	Mounts  string   // identifies its mount namespace; "" if unknown
	Arenas  []string // mapped arenas, as in JVM; nil if unknown
}

// Processes returns all processes that can be seen.
func (h Host) Processes(ctx context.Context) ([]Process, error) {
	return inspectAll(ctx, h, func(pid int) (Process, error) {
		s, err := h.readStatus(pid)
		p := Process{PID: pid, Numbers: s.numbers, UID: s.uid}
		p.Mounts, _ = os.Readlink(h.Path(pid, "ns/mnt"))
		if maps, err := h.readMaps(pid); err == nil {
			p.Arenas = maps.arenas
		}
		return p, err
	})
}

// initialPIDs is the initial PID namespace of Linux.
const initialPIDs = "pid:[4026531836]"

// SeesAll reports whether every process of the machine can be seen. A container shares files with
// processes that it does not see.
func (h Host) SeesAll() bool {
	ours, err := h.PIDNamespace()
	return err == nil && ours == initialPIDs
}

// PIDNamespace returns the name of the PID namespace of this process, such as pid:[4026531836].
func (h Host) PIDNamespace() (string, error) { return os.Readlink(h.Proc + "/self/ns/pid") }

// hasOtherMounts reports whether a process has a mount namespace of its own; false if unknown.
func (h Host) hasOtherMounts(pid int) bool {
	theirs, err := os.Readlink(h.Path(pid, "ns/mnt"))
	if err != nil {
		return false
	}
	ours, err := os.Readlink(filepath.Join(h.Proc, "self", "ns/mnt"))
	return err == nil && ours != theirs
}

// status is the content of /proc/PID/status, which everyone may read.
type status struct {
	numbers  []int  // PIDs, from our namespace inwards
	uid, gid uint32 // effective
	groups   []uint32
	catches  uint64 // signals; bit 0 is signal 1
	stopped  bool
}

// readStatus fails if the process has ended.
func (h Host) readStatus(pid int) (status, error) {
	text, err := h.Read(pid, "status")
	if err != nil {
		return status{}, err
	}
	s, err := parseStatus(string(text), pid)
	if err != nil {
		return s, fmt.Errorf("%s: %w", h.Path(pid, "status"), err)
	}
	return s, nil
}

func parseStatus(text string, pid int) (s status, err error) {
	ids := 0
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		var err error
		switch {
		case len(fields) == 0:
		case name == "Uid" && len(fields) > 1:
			s.uid, err = parseID(fields[1])
			ids++
		case name == "Gid" && len(fields) > 1:
			s.gid, err = parseID(fields[1])
			ids++
		case name == "Groups":
			s.groups, err = parseIDs(fields)
		case name == "NSpid":
			s.numbers, err = parseNumbers(fields)
		case name == "State":
			s.stopped = fields[0] == "T" || fields[0] == "t"
		case name == "SigCgt":
			s.catches, err = strconv.ParseUint(fields[0], 16, 64)
		}
		if err != nil {
			return s, fmt.Errorf("line %q: %w", strings.TrimSpace(line), err)
		}
	}
	if ids != 2 {
		return s, fmt.Errorf("the lines Uid and Gid are missing")
	}
	if len(s.numbers) == 0 {
		s.numbers = []int{pid}
	}
	return s, nil
}

func parseID(text string) (uint32, error) {
	id, err := strconv.ParseUint(text, 10, 32)
	return uint32(id), err
}

func parseIDs(fields []string) ([]uint32, error) {
	ids := make([]uint32, len(fields))
	for i, field := range fields {
		id, err := parseID(field)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}

func parseNumbers(fields []string) ([]int, error) {
	numbers := make([]int, len(fields))
	for i, field := range fields {
		n, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		numbers[i] = n
	}
	return numbers, nil
}

// innermost returns the PID in the process's own namespace.
func (s *status) innermost() int { return s.numbers[len(s.numbers)-1] }

// catchesQuit reports whether SIGQUIT runs a handler instead of killing the process.
func (s *status) catchesQuit() bool { return s.catches&(1<<(syscall.SIGQUIT-1)) != 0 }

// NamespaceID returns the PID of a process or thread in its own PID namespace, by its status file.
func NamespaceID(statusFile string, id int) (int, error) {
	text, err := os.ReadFile(statusFile)
	if err != nil {
		return 0, err
	}
	s, err := parseStatus(string(text), id)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", statusFile, err)
	}
	return s.innermost(), nil
}

// Tick is the unit of times in /proc, on every Linux in use.
const Tick = 10 * time.Millisecond

// A Stat is the content of /proc/PID/stat, or of a thread's stat file.
type Stat struct {
	Command string // name of the process or thread, at most 15 bytes
	Ended   bool   // it is a zombie: its parent has not read its exit code yet
	Sleeps  bool   // it waits for something, also where it cannot be interrupted
	CPU     time.Duration
	Start   uint64 // in ticks since the boot
}

// ReadStat reads a stat file.
func ReadStat(name string) (Stat, error) {
	line, err := readLine(name)
	if err != nil {
		return Stat{}, err
	}
	s, err := parseStat(line)
	if err != nil {
		return Stat{}, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// parseStat reads a stat line. The command, field 2, may contain anything, so fields are counted
// from the last closing parenthesis on.
func parseStat(line []byte) (s Stat, err error) {
	const first, user, system, start = 3, 14, 15, 22 // numbers of fields in proc(5)
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return s, fmt.Errorf("it contains no command name: %.60q", line)
	}
	s.Command = string(line[open+1 : end])
	fields := strings.Fields(string(line[end+1:]))
	if len(fields) <= start-first {
		return s, fmt.Errorf("it has only %d fields after the command name", len(fields))
	}
	s.Ended = fields[0] == "Z" || fields[0] == "X"
	s.Sleeps = fields[0] == "S" || fields[0] == "D"
	inUser, err1 := strconv.ParseUint(fields[user-first], 10, 48)
	inSystem, err2 := strconv.ParseUint(fields[system-first], 10, 48)
	s.CPU = time.Duration(inUser+inSystem) * Tick
	var err3 error
	s.Start, err3 = strconv.ParseUint(fields[start-first], 10, 64)
	return s, cmp.Or(err1, err2, err3)
}

// ReadTimes reads how long a thread has run, and how long it was ready to run without a processor, by
// its folder in /proc. Where the kernel does not count nanoseconds, the first is in ticks and the second 0.
func ReadTimes(folder string) (run, wait time.Duration, err error) {
	if text, err := readLine(folder + "/schedstat"); err == nil {
		if run, wait, err = parseSchedstat(string(text)); err == nil && run > 0 {
			return run, wait, nil
		}
	}
	s, err := ReadStat(filepath.Join(folder, "stat"))
	return s.CPU, 0, err
}

func parseSchedstat(line string) (run, wait time.Duration, err error) {
	first, rest, _ := strings.Cut(line, " ")
	second, _, _ := strings.Cut(rest, " ")
	ran, err1 := strconv.ParseUint(first, 10, 63)
	waited, err2 := strconv.ParseUint(second, 10, 63)
	return time.Duration(ran), time.Duration(waited), cmp.Or(err1, err2)
}

// Pause waits for a duration, or until the context ends.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// started converts a start in ticks since the boot to a time.
func (h Host) started(ticks uint64, now time.Time) (time.Time, error) {
	name := filepath.Join(h.Proc, "uptime")
	text, err := os.ReadFile(name)
	if err != nil {
		return time.Time{}, err
	}
	first, _, _ := strings.Cut(string(text), " ")
	uptime, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: %w", name, err)
	}
	age := max(0, uptime-float64(ticks)*Tick.Seconds())
	return now.Add(-time.Duration(age * float64(time.Second))), nil
}

// Reasons not to open a file that someone else has named.
var (
	ErrNotPlain  = errors.New("not a plain file")
	ErrForeign   = errors.New("it belongs to another user")
	ErrEmpty     = errors.New("it is empty")
	ErrTooLarge  = errors.New("it is too large")
	ErrNotMapped = errors.New("it is not the file that the process has mapped")
)

// A Judge inspects a plain file and its owner before it is opened. If it returns an error, the file
// is not opened.
type Judge func(info os.FileInfo, owner uint32) error

// NamedBy returns a Judge for reading files that a user has named when there is no JVM any more as which they could be
// opened: it accepts files of this user, and files that everyone may read, up to a size.
func NamedBy(user uint32, most int64) Judge {
	return func(info os.FileInfo, owner uint32) error {
		const readableByAll = 0o004
		if owner != user && info.Mode().Perm()&readableByAll == 0 {
			return ErrForeign
		}
		return atMost(most)(info, owner)
	}
}

// OpenFile opens a file that a JVM or its user has named, for reading. Every file of a target is opened by this
// function, OpenFolder or OpenMapped. It is opened as the JVM sees it and with the rights of its user, so that it
// contains nothing that the user could not read anyway. Links cannot lead outside the JVM's root directory. It must
// be a plain file, neither empty nor larger than most bytes, so that opening it neither blocks nor triggers a device.
// A relative name begins at the JVM's working directory.
func (h Host) OpenFile(j *JVM, name string, most int64) (*os.File, error) {
	return h.openPlainInside(j, name, os.O_RDONLY, atMost(most))
}

// atMost returns a Judge of the size of a file. Files that are generated when they are read, such as those in /proc,
// seem to be empty.
func atMost(most int64) Judge {
	return func(info os.FileInfo, _ uint32) error {
		switch {
		case info.Size() == 0:
			return ErrEmpty
		case info.Size() > most:
			return fmt.Errorf("%w: it has %d bytes, and at most %d are accepted", ErrTooLarge, info.Size(), most)
		}
		return nil
	}
}

// readSmall reads a file that a JVM or its user has named.
func (h Host) readSmall(j *JVM, name string) ([]byte, error) {
	const most = 1 << 20
	file, err := h.OpenFile(j, name, most)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, most))
}

// A Folder is a directory of a JVM. Its names are opened with the rights of the JVM's user, and nothing outside it can
// be reached.
type Folder struct {
	dir *os.File
	jvm *JVM
}

// OpenFolder opens a directory that a JVM or its user has named, as OpenFile opens files.
func (h Host) OpenFolder(j *JVM, name string) (*Folder, error) {
	dir, err := h.openFolder(j, name)
	if err != nil {
		return nil, err
	}
	return &Folder{dir, j}, nil
}

// Close releases the directory.
func (f *Folder) Close() error { return f.dir.Close() }

// Open implements [fs.FS]. It opens plain files and directories for reading.
func (f *Folder) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	file, err := f.open(name)
	if err != nil { // not a nil *os.File in an fs.File
		return nil, err
	}
	return file, nil
}

// List returns up to some entries of the directory, in order of their names. Those before an error are returned with it.
func (f *Folder) List(most int) ([]fs.DirEntry, error) {
	dir, err := f.open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.ReadDir(most)
	if errors.Is(err, io.EOF) { // there are none
		err = nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}
