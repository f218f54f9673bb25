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

// A Kind is what sort of JVM a process is.
type Kind string

// The kinds told apart.
const (
	HotSpot Kind = "HotSpot" // speaks HotSpot's attach protocol
	OpenJ9  Kind = "OpenJ9"  // has a protocol of its own, and dumps core files on SIGQUIT
	Hidden  Kind = "hidden"  // named java, but we may not look into it
)

// A JVM is a process that runs Java, with what is known of it. Empty and zero
// values are not known.
type JVM struct {
	PID           int // here
	NamespacePID  int // in its own pid namespace, by which its files are named
	OtherPIDs     bool
	OtherMounts   bool // its files are not ours
	UID, GID      uint32
	User          string // or the number of one without a name
	Kind          Kind
	Version       string // of the JDK
	Name          string // of the virtual machine
	Vendor        string
	Main          string // class, module/class or jar
	Started       time.Time
	HeapUsed      int64
	HeapMax       int64
	Attach        Verdict // may one attach?
	Agents        Verdict // may one load agents?
	CatchesQuit   bool    // SIGQUIT does not kill it
	ReducedSignal bool    // it leaves SIGQUIT to the program (-Xrs)
	Stopped       bool    // by a signal or a debugger
	Inside        Presence
	Image         string   // path here of the JDK's lib/modules, if it has one; "" where not known
	Arenas        []string // mapped, by the paths /proc gives; the files may be gone
	Pack          *Pack    // that it was started with; nil where there is none

	startTicks uint64 // with PID, unique until the next boot
}

// Uptime is for how long the process has run.
func (j *JVM) Uptime() time.Duration { return time.Since(j.Started) }

// Access says who one must be to look into the process and to attach to it.
func (j *JVM) Access() string {
	if j.UID == 0 {
		return "be root"
	}
	return "be " + j.User + " or root"
}

// An Answer is one of three.
type Answer string

// The answers.
const (
	Yes     Answer = "yes"
	No      Answer = "no"
	Unknown Answer = "unknown"
)

// A Verdict is an answer with the reason where it is not yes.
type Verdict struct {
	Answer Answer
	Reason string // and the remedy
}

// StartTicks is when the process started, in clock ticks since the boot: with
// its number it names the process for good.
func (j *JVM) StartTicks() uint64 { return j.startTicks }

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

// judge decides whether one may attach to the JVM and load agents into it. The
// JVM's own word counts before what its options imply.
func (j *JVM) judge(o options, counters *perfdata.Counters) {
	if j.Kind == OpenJ9 {
		const reason = "OpenJ9 speaks another attach protocol: run the program on a HotSpot JVM"
		j.Attach, j.Agents = Verdict{No, reason}, Verdict{No, reason}
		return
	}
	j.Attach = j.judgeAttach(o, counters)
	switch {
	case j.Attach.Answer != Yes:
		j.Agents = j.Attach
	case !flag(o.words, "EnableDynamicAgentLoading", true):
		j.Agents = Verdict{No, "agents are switched off (-XX:-EnableDynamicAgentLoading): " +
			"start it without that option, or with -javaagent"}
	case !o.complete:
		j.Agents = Verdict{Unknown, "some of its options cannot be read: try"}
	default:
		j.Agents = Verdict{Answer: Yes}
	}
}

func (j *JVM) judgeAttach(o options, counters *perfdata.Counters) Verdict {
	off := Verdict{No, "attaching is switched off (-XX:+DisableAttachMechanism): " +
		"start it without that option, or with -javaagent"}
	if counters != nil {
		switch enabled, known := counters.AttachEnabled(); {
		case known && enabled:
			return Verdict{Answer: Yes}
		case known:
			return off
		}
	}
	switch {
	case flag(o.words, "DisableAttachMechanism", false):
		return off
	case !o.complete:
		return Verdict{Unknown, "it publishes no counters and not all of its options can be read: " +
			"start it with -XX:+UsePerfData"}
	case !j.CatchesQuit && !j.ReducedSignal:
		return Verdict{Unknown, fmt.Sprintf("it does not catch SIGQUIT yet, as a JVM that is starting: look at %d again", j.PID)}
	}
	return Verdict{Answer: Yes}
}

// release is what a JDK's release file says of it.
type release struct {
	version, vendor, variant string
}

// readRelease looks for the release file of the JDK a library belongs to, at
// most as far up as JDK 8 has it from jre/lib/amd64/server.
func readRelease(read func(path string) ([]byte, error), libjvm string) release {
	const highest = 5
	directory := path.Dir(libjvm)
	for range highest {
		directory = path.Dir(directory)
		if text, err := read(path.Join(directory, "release")); err == nil {
			return parseRelease(string(text))
		}
	}
	return release{}
}

func parseRelease(text string) (r release) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.Trim(value, `"`)
		switch name {
		case "JAVA_VERSION":
			r.version = value
		case "IMPLEMENTOR":
			r.vendor = value
		case "JVM_VARIANT":
			r.variant = value
		}
	}
	return r
}

// An Obstacle is an error in one line: which process, what is in the way, what
// to do. It answers to its kind, and to what failed.
type Obstacle struct {
	PID    int
	Kind   error
	Detail string // and remedy
	Cause  error  // nil where nothing deeper failed
}

func (o *Obstacle) Error() string {
	text := fmt.Sprintf("process %d: %v", o.PID, o.Kind)
	if o.Detail != "" {
		text += ": " + o.Detail
	}
	if o.Cause != nil {
		text += " (" + o.Cause.Error() + ")"
	}
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// Unwrap gives what is in the way and what failed.
func (o *Obstacle) Unwrap() []error {
	if o.Cause == nil {
		return []error{o.Kind}
	}
	return []error{o.Kind, o.Cause}
}
