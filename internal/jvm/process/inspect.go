package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/perfdata"
)

// Errors of Inspect.
var (
	ErrNoProcess = errors.New("no such process")
	ErrNotJVM    = errors.New("not a JVM: it has no libjvm.so in memory")
)

// Inspect tells what is known of one process, or by ErrNoProcess and ErrNotJVM
// that it is gone or no JVM.
func (h Host) Inspect(pid int) (*JVM, error) {
	j, err := h.inspect(pid)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		err = ErrNoProcess
	}
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	return j, nil
}

func (h Host) inspect(pid int) (*JVM, error) {
	p, err := h.readProcess(pid)
	if err != nil {
		return nil, err
	}
	j := &JVM{
		PID: pid, NamespacePID: p.namespacePID, OtherPIDs: p.otherPIDs, OtherMounts: h.otherMounts(pid),
		UID: p.uid, GID: p.gid, User: UserName(p.uid), CatchesQuit: p.catchesQuit(), Stopped: p.stopped,
		startTicks: p.startTicks,
	}
	if j.Started, err = h.started(p.startTicks, time.Now()); err != nil {
		return nil, err
	}
	maps, err := h.readMaps(pid)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return h.hidden(j, p)
	case err != nil:
		return nil, err
	case maps.libjvm == "" && !maps.openJ9:
		return nil, ErrNotJVM
	}
	h.fill(j, p, maps)
	if !h.Same(j) {
		return nil, ErrNoProcess
	}
	return j, nil
}

// Same tells whether a JVM's process is still the one that was inspected, and
// not a later one with its number.
func (h Host) Same(j *JVM) bool {
	stat, err := os.ReadFile(h.path(j.PID, "stat"))
	if err != nil {
		return false
	}
	ticks, err := parseStartTicks(stat)
	return err == nil && ticks == j.startTicks
}

// hidden is what is known of a process we may not look into: its command line.
func (h Host) hidden(j *JVM, p process) (*JVM, error) {
	if len(p.command) == 0 || filepath.Base(p.command[0]) != "java" {
		return nil, ErrNotJVM
	}
	j.Kind, j.Inside = Hidden, PresenceUnknown
	unreadable := func(string) ([]byte, error) { return nil, fs.ErrPermission }
	j.Main = collect(sources{command: p.command, launcher: true, readFile: unreadable}).main
	reason := fmt.Sprintf("it belongs to %s: %s to see more", j.User, j.Access())
	j.Attach, j.Agents = Verdict{Unknown, reason}, Verdict{Unknown, reason}
	return j, nil
}

// fill adds what only the user of the process, and root, may read.
func (h Host) fill(j *JVM, p process, maps mapped) {
	o := collect(h.sources(p))
	j.Main = o.main
	if library := maps.libjvm; library != "" {
		j.Image = h.path(j.PID, path.Join("root", path.Dir(library), "..", "modules"))
		r := readRelease(func(name string) ([]byte, error) { return h.readInside(j.PID, name) }, library)
		j.Version, j.Vendor = r.version, r.vendor
		maps.openJ9 = maps.openJ9 || strings.EqualFold(r.variant, "openj9")
	}
	j.Kind = HotSpot
	if maps.openJ9 {
		j.Kind = OpenJ9
	}
	counters := h.readCounters(j.PID, maps.counters)
	if counters != nil {
		j.addCounters(counters)
		// Words of a value with spaces could pass for options, so the command
		// line goes first where it tells all.
		if text, whole := counters.Arguments(); !o.complete && whole {
			o.words, o.complete = strings.Fields(text+" "+counters.Flags()), true
		}
	}
	j.ReducedSignal = reducesSignals(o.words)
	j.judge(o, counters)
	j.Arenas, j.Pack = maps.arenas, h.pack(j, maps.arenas)
	if j.Pack != nil && j.Pack.Arena != "" && !j.HasArena(j.Pack.Arena) { // a name that its user gave it
		j.Arenas = append(j.Arenas, j.Pack.Arena)
	}
	j.Inside = h.presence(j)
}

// readCounters returns nil where a JVM publishes none, or none yet.
func (h Host) readCounters(pid int, path string) *perfdata.Counters {
	if path == "" {
		return nil
	}
	file, err := openPlain(func(flags int) (*os.File, error) { return h.OpenInside(pid, path, flags) }, os.O_RDONLY, nil)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	// What could be read before a defect is true: entries are only ever added.
	counters, _ := perfdata.Read(file)
	return counters
}

func (j *JVM) addCounters(c *perfdata.Counters) {
	if v := c.JavaVersion(); v != "" {
		j.Version = v
	}
	if v := c.VMVendor(); v != "" {
		j.Vendor = v
	}
	j.Name = c.VMName()
	heap := c.Heap()
	j.HeapUsed, j.HeapMax = heap.Used, heap.Max
	if j.Main == "" {
		j.Main, _, _ = strings.Cut(c.Command(), " ")
	}
}

func (h Host) sources(p process) sources {
	exe, err := os.Readlink(h.path(p.pid, "exe"))
	if err != nil && len(p.command) > 0 {
		exe = p.command[0]
	}
	s := sources{
		command:     p.command,
		launcher:    filepath.Base(strings.TrimSuffix(exe, " (deleted)")) == "java",
		environment: map[string]string{},
		readFile: func(name string) ([]byte, error) {
			if strings.HasPrefix(name, "/") {
				return h.readInside(p.pid, name)
			}
			return readSmall(func(flags int) (*os.File, error) { return h.OpenWorking(p.pid, name, flags) })
		},
	}
	environ, err := os.ReadFile(h.path(p.pid, "environ"))
	s.environOK = err == nil
	for _, entry := range splitZeros(environ) {
		name, value, _ := strings.Cut(entry, "=")
		s.environment[name] = value
	}
	return s
}

func (h Host) readInside(pid int, name string) ([]byte, error) {
	return readSmall(func(flags int) (*os.File, error) { return h.OpenInside(pid, name, flags) })
}

// UserName is the name of a user on this host, as ps prints it.
func UserName(uid uint32) string {
	number := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(number); err == nil && u.Username != "" {
		return u.Username
	}
	return number
}
