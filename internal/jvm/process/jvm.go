package process

import (
	"cmp"
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

	"github.com/sonde-jvm/sonde/internal/jvm/asuser"
	"github.com/sonde-jvm/sonde/internal/jvm/perfdata"
)

// A Kind is the implementation of a JVM.
type Kind string

// The kinds of JVMs.
const (
	HotSpot Kind = "HotSpot" // speaks HotSpot's attach protocol
	OpenJ9  Kind = "OpenJ9"  // has another protocol, and dumps core files on SIGQUIT
	Hidden  Kind = "hidden"  // named java, but we may not inspect it
)

// A JVM is a process that runs Java. Empty and zero values are unknown.
type JVM struct {
	PID           int
	NamespacePID  int // in its own PID namespace, as used in the names of its files
	OtherPIDs     bool
	OtherMounts   bool // it has a mount namespace of its own
	UID, GID      uint32
	Groups        []uint32 // supplementary
	User          string   // or the number of a user without a name
	Kind          Kind
	Version       string // of the JDK
	Name          string // of the virtual machine
	Vendor        string
	Modules       []string // of the run-time image
	Main          string   // class, module/class or jar
	ClassPath     []string // as the process was started with it; names may be relative
	Started       time.Time
	HeapUsed      int64
	HeapMax       int64
	Attach        Verdict // may one attach?
	Agents        Verdict // may one load agents?
	CatchesQuit   bool    // SIGQUIT does not kill it
	ReducedSignal bool    // it leaves SIGQUIT to the program (-Xrs)
	Stopped       bool    // by a signal or a debugger
	Restricted    bool    // its options install a SecurityManager, which JDK 24 and later ignore
	Inside        Presence
	Library       string   // path of libjvm.so, as the process sees it
	Image         string   // path of the JDK's lib/modules or, of JDK 8, lib/rt.jar, as the process sees it
	Arenas        []string // mapped arenas, by their paths in /proc; the files may be gone
	Pack          *Pack    // the pack that it was started with; nil for none

	startTicks uint64   // with PID, unique until the next boot
	options    []string // that it was started with, as far as they are known
}

// Identity returns the user that the process runs as.
func (j *JVM) Identity() asuser.User { return asuser.User{UID: j.UID, GID: j.GID, Groups: j.Groups} }

// Uptime returns how long the process has run.
func (j *JVM) Uptime() time.Duration { return time.Since(j.Started) }

// Property returns the value of a system property that an option sets; "" if none does.
func (j *JVM) Property(name string) (value string) {
	for _, word := range j.options {
		if text, is := strings.CutPrefix(word, "-D"+name+"="); is {
			value = text
		}
	}
	return value
}

// Access returns an instruction to become a user who may inspect the process and attach to it.
func (j *JVM) Access() string { return j.AccessFor(os.Geteuid()) }

// AccessFor is Access for another user than that of this process.
func (j *JVM) AccessFor(user int) string {
	switch {
	case user == 0:
		return "root lacks rights here: give Sonde the capability SYS_PTRACE, and for JVMs of other users SETUID, SETGID and KILL"
	case j.UID == 0:
		return "be root"
	}
	return "be " + j.User + " or root"
}

// An Answer is yes, no or unknown.
type Answer string

// The answers.
const (
	Yes     Answer = "yes"
	No      Answer = "no"
	Unknown Answer = "unknown"
)

// A Verdict is an answer, with a reason unless it is yes.
type Verdict struct {
	Answer Answer `json:"allowed"`
	Reason string `json:"reason,omitempty"` // with a remedy
}

// StartTicks returns the start of the process in clock ticks since the boot. Together with the PID
// it identifies the process.
func (j *JVM) StartTicks() uint64 { return j.startTicks }

// Errors of Inspect.
var (
	ErrNoProcess = errors.New("no such process")
	ErrNotJVM    = errors.New("not a JVM: it has no libjvm.so in memory")
)

// Inspect returns the facts about a JVM. It fails with ErrNoProcess or ErrNotJVM if the process has
// ended or is not a JVM.
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
	s, err := h.readStatus(pid)
	if err != nil {
		return nil, err
	}
	stat, err := ReadStat(h.Path(pid, "stat"))
	if err != nil {
		return nil, err
	}
	command, err := h.ReadList(pid, "cmdline")
	if err != nil {
		return nil, err
	}
	j := &JVM{
		PID: pid, NamespacePID: s.innermost(), OtherPIDs: len(s.numbers) > 1, OtherMounts: h.hasOtherMounts(pid),
		UID: s.uid, GID: s.gid, Groups: s.groups, User: UserName(s.uid), CatchesQuit: s.catchesQuit(), Stopped: s.stopped,
		startTicks: stat.Start,
	}
	if j.Started, err = h.started(stat.Start, time.Now()); err != nil {
		return nil, err
	}
	maps, err := h.readMaps(pid)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return h.hidden(j, command)
	case err != nil:
		return nil, err
	case maps.libjvm == "" && !maps.openJ9:
		return nil, ErrNotJVM
	}
	h.fill(j, command, maps)
	if !h.Same(j) {
		return nil, ErrNoProcess
	}
	return j, nil
}

// Same reports whether a JVM's process is still the inspected one, not a later one with its PID.
func (h Host) Same(j *JVM) bool {
	stat, err := ReadStat(h.Path(j.PID, "stat"))
	return err == nil && stat.Start == j.startTicks
}

// hidden fills in the facts about a process that we may not inspect, from its command line.
func (h Host) hidden(j *JVM, command []string) (*JVM, error) {
	if len(command) == 0 || filepath.Base(command[0]) != "java" {
		return nil, ErrNotJVM
	}
	j.Kind, j.Inside = Hidden, PresenceUnknown
	unreadable := func(string) ([]byte, error) { return nil, fs.ErrPermission }
	j.Main = collect(sources{command: command, launcher: true, readFile: unreadable}).main
	reason := fmt.Sprintf("owned by %s; %s to see more", j.User, j.Access())
	j.Attach, j.Agents = Verdict{Unknown, reason}, Verdict{Unknown, reason}
	return j, nil
}

// fill adds the facts that only the user of the process, and root, may read.
func (h Host) fill(j *JVM, command []string, maps mapped) {
	o := collect(h.sources(j, command))
	j.Main = o.main
	if j.Library = maps.libjvm; j.Library != "" {
		j.Image = imageOf(j.Library)
		r := readRelease(func(name string) ([]byte, error) { return h.readSmall(j, name) }, j.Library)
		j.Version, j.Vendor, j.Modules = r.version, r.vendor, r.modules
		maps.openJ9 = maps.openJ9 || strings.EqualFold(r.variant, "openj9")
	}
	j.Kind = HotSpot
	if maps.openJ9 {
		j.Kind = OpenJ9
	}
	counters := h.readCounters(j, maps)
	if counters != nil {
		j.addCounters(counters)
		// Words of a value with spaces could pass for options, so a complete command line is
		// preferred.
		if text, whole := counters.Arguments(); !o.complete && whole {
			o.words, o.complete = strings.Fields(text+" "+counters.Text("java.rt.vmFlags")), true
		}
	}
	if j.Version == "" && j.Kind == HotSpot {
		// Some packages of JDK 8 have no release file, and a JVM whose user has no name has no counters.
		j.Version = h.versionInLibrary(j)
	}
	j.ReducedSignal, j.options = reducesSignals(o.words), o.words
	j.Restricted = installsSecurityManager(o.words)
	if o.classPath != "" {
		j.ClassPath = strings.Split(o.classPath, ":")
	}
	j.judge(o, counters)
	j.Arenas, j.Pack = maps.arenas, h.pack(j, maps.arenas)
	if j.Pack != nil && j.Pack.Arena != "" && !j.HasArena(j.Pack.Arena) { // its user chose the name
		j.Arenas = append(j.Arenas, j.Pack.Arena)
	}
	j.Inside = h.presence(j)
}

// imageOf returns the file with the JDK's classes: lib/modules if the library is lib/server/libjvm.so, or, of JDK 8,
// lib/rt.jar where the library is lib/amd64/server/libjvm.so.
func imageOf(library string) string {
	lib := path.Dir(path.Dir(library))
	if path.Base(lib) == "lib" {
		return path.Join(lib, "modules")
	}
	return path.Join(path.Dir(lib), "rt.jar")
}

// OpenCounters opens the file in which a JVM publishes its counters. It is found by its mapping because its
// name contains the user name as the JVM sees it.
func (h Host) OpenCounters(j *JVM) (*os.File, error) {
	maps, err := h.readMaps(j.PID)
	if err != nil {
		return nil, err
	}
	return h.openCounters(j, maps)
}

func (h Host) openCounters(j *JVM, maps mapped) (*os.File, error) {
	if maps.counters == "" {
		return nil, fs.ErrNotExist
	}
	// The JVM's user may have put anything in its place.
	file, err := h.OpenFile(j, maps.counters, perfdata.MaxSize)
	if errors.Is(err, fs.ErrPermission) { // it was root when it created the file
		return h.OpenMapped(j, maps.counters, os.O_RDONLY)
	}
	return file, err
}

// readCounters returns nil if a JVM publishes no counters, or none yet.
func (h Host) readCounters(j *JVM, maps mapped) *perfdata.Counters {
	file, err := h.openCounters(j, maps)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	// Counters before a defect are valid, because entries are only ever added.
	counters, _ := perfdata.Read(file)
	return counters
}

func (j *JVM) addCounters(c *perfdata.Counters) {
	j.Version = cmp.Or(c.Text("java.property.java.version"), j.Version)
	j.Vendor = cmp.Or(c.Text("java.property.java.vm.vendor"), j.Vendor)
	j.Name = c.Text("java.property.java.vm.name")
	j.HeapUsed, j.HeapMax = c.Heap()
	if j.Main == "" {
		j.Main, _, _ = strings.Cut(c.Text("sun.rt.javaCommand"), " ")
	}
	if classPath := c.Text("java.property.java.class.path"); len(classPath) < longestText { // longer ones are cut off
		j.ClassPath = strings.Split(classPath, ":")
	}
}

// longestText is the length to which a JVM cuts the texts that it publishes.
const longestText = 1023

func (h Host) sources(j *JVM, command []string) sources {
	exe, err := os.Readlink(h.Path(j.PID, "exe"))
	if err != nil && len(command) > 0 {
		exe = command[0]
	}
	s := sources{
		command:     command,
		launcher:    filepath.Base(strings.TrimSuffix(exe, " (deleted)")) == "java",
		environment: map[string]string{},
		readFile:    func(name string) ([]byte, error) { return h.readSmall(j, name) },
	}
	environ, err := h.ReadList(j.PID, "environ")
	s.environOK = err == nil
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		s.environment[name] = value
	}
	return s
}

// UserName returns the name of a user on this host, or the number if it has none.
func UserName(uid uint32) string {
	number := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(number); err == nil && u.Username != "" {
		return u.Username
	}
	return number
}

// allowIt is the remedy if an option of a JVM keeps agents out.
const allowIt = "start it without that option, or with -javaagent (sonde agent-jar)"

// NoAgents is why a JVM loads no agents, with the remedy.
const NoAgents = "its option -XX:-EnableDynamicAgentLoading forbids loading agents; " + allowIt

// judge decides whether one may attach to the JVM and load agents into it. What the JVM itself
// publishes takes precedence over its options.
func (j *JVM) judge(o options, counters *perfdata.Counters) {
	if j.Kind == OpenJ9 {
		const reason = "OpenJ9 speaks another attach protocol; run the program on a HotSpot JVM"
		j.Attach, j.Agents = Verdict{No, reason}, Verdict{No, reason}
		return
	}
	j.Attach = j.judgeAttach(o, counters)
	switch {
	case j.Attach.Answer != Yes:
		j.Agents = j.Attach
	case !flag(o.words, "EnableDynamicAgentLoading", true):
		j.Agents = Verdict{No, NoAgents}
	case !o.complete:
		j.Agents = Verdict{Unknown, "not all of its options can be read, so whether it allows agents is unknown; attach to find out"}
	default:
		j.Agents = Verdict{Answer: Yes}
	}
}

func (j *JVM) judgeAttach(o options, counters *perfdata.Counters) Verdict {
	off := Verdict{No, "its option -XX:+DisableAttachMechanism forbids attaching; " + allowIt}
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
		return Verdict{Unknown, "it publishes no counters and not all of its options can be read, so whether it allows attaching is unknown; " +
			"start it with -XX:+UsePerfData"}
	case !j.CatchesQuit && !j.ReducedSignal:
		return Verdict{Unknown, "it does not handle SIGQUIT yet, probably because it is still starting; try again"}
	}
	return Verdict{Answer: Yes}
}

// release is the content of a JDK's release file.
type release struct {
	version, vendor, variant string
	modules                  []string
}

// readRelease looks for the release file of the JDK that a library belongs to. JDK 8 has its library
// deepest, in jre/lib/amd64/server.
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
		case "MODULES":
			r.modules = strings.Fields(value)
		}
	}
	return r
}

// An Obstacle is an error in one line: the process, the problem and the remedy. It wraps its kind
// and its cause.
type Obstacle struct {
	PID    int
	Kind   error
	Detail string // with a remedy
	Cause  error  // nil if there is none
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

// Unwrap returns the kind and the cause.
func (o *Obstacle) Unwrap() []error {
	if o.Cause == nil {
		return []error{o.Kind}
	}
	return []error{o.Kind, o.Cause}
}
