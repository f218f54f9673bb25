package process

import "time"

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
