package jfr

import (
	"slices"
	"strings"
)

// A Thread is a thread of the JVM.
type Thread struct {
	JavaID  int64 // 0 if it is not a Java thread
	OSID    int64
	Name    string
	Virtual bool
}

// VirtualThreads stands for all virtual threads: there may be millions.
var VirtualThreads = &Thread{Name: "virtual threads", Virtual: true}

// A ThreadKind distinguishes threads of the JVM from threads of the program.
type ThreadKind string

// The kinds of threads.
const (
	ProgramThread  ThreadKind = ""
	GCThread       ThreadKind = "GC"
	CompilerThread ThreadKind = "JIT compiler"
	VMThread       ThreadKind = "VM"
)

// threadKinds are prefixes of the names of HotSpot's threads, JDK 8 to 26. The kernel keeps 15
// bytes of a name, so none is longer. Threads that execute methods of the JDK, such as Finalizer,
// are not listed.
var threadKinds = []struct {
	kind     ThreadKind
	prefixes []string
}{
	{GCThread, []string{
		"GC Thread#", "GC task thread#", "Gang worker#", "G1 Main", "G1 Conc", "G1 Refine#", "G1 Service", "G1 Young RemSe", "G1 Parallel Mar",
		"ParGC Thread", "Concurrent Mark", "CMS Main Thread", "Shenandoah", "ZDriver", "ZDirector", "ZWorker", "ZStat", "ZUncommit", "ZUnmapper",
		"XDriver", "XDirector", "XWorker", "XStat", "XUncommit", "XUnmapper", "Surrogate Locke", "StrDedup",
	}},
	{CompilerThread, []string{"C1 CompilerThre", "C2 CompilerThre", "JVMCI CompilerT", "CompilerThread", "Sweeper thread"}},
	{VMThread, []string{
		"VM Thread", "VM Periodic Tas", "Signal Dispatch", "Service Thread", "Monitor Deflati", "Attach Listener", "Notification Th", "JFR Sampler Thr", "JFR Thread Samp",
		"JFR Recorder Th", "AsyncLog Thread", "Unified Logging", "DestroyJavaVM",
	}},
}

// Kind returns the kind of a thread, by its name.
func (t *Thread) Kind() ThreadKind {
	for _, k := range threadKinds {
		if slices.ContainsFunc(k.prefixes, func(prefix string) bool { return strings.HasPrefix(t.Name, prefix) }) {
			return k.kind
		}
	}
	return ProgramThread
}

// idleThreads are prefixes of the names of threads that execute methods of the JDK for itself.
var idleThreads = []string{"Reference Handler", "Finalizer", "Common-Cleaner", "Cleaner-", "JFR ", "process reaper"}

// IsOfProgram reports whether a thread is neither one of the JVM nor one of those that the JDK
// has for itself, which mostly wait.
func (t *Thread) IsOfProgram() bool {
	return t.Kind() == ProgramThread && !slices.ContainsFunc(idleThreads, func(prefix string) bool { return strings.HasPrefix(t.Name, prefix) })
}

// IsSondes reports whether a thread belongs to Sonde's agent, which no result describes.
func (t *Thread) IsSondes() bool { return strings.HasPrefix(t.Name, "sonde-") }

// A Wait is what a thread waits for.
type Wait string

// The waits.
const (
	Running      Wait = ""        // it does not wait, or is not known to
	Monitor      Wait = "monitor" // to enter a synchronized block or method
	Notification Wait = "notify"  // in Object.wait
	Parked       Wait = "park"    // in LockSupport.park: locks, queues, idle threads of pools
	Sleeping     Wait = "sleep"
	IO           Wait = "I/O"
	InJVM        Wait = "JVM" // for the JVM: a collection of garbage, another safepoint, a class, a new thread
	UnknownWait  Wait = "unknown"
)

// waits are native methods that only wait: for events, connections, other threads or processes.
// Methods that may also work, such as reads, are not listed.
var waits = map[string]map[Wait][]string{
	"java/lang/Object":                        {Notification: {"wait", "wait0"}},
	"java/lang/Thread":                        {Sleeping: {"sleep", "sleep0", "sleepNanos0", "yield0"}},
	"java/lang/ref/Reference":                 {UnknownWait: {"waitForReferencePendingList"}},
	"java/lang/ProcessHandleImpl":             {UnknownWait: {"waitForProcessExit0"}},
	"java/lang/UNIXProcess":                   {UnknownWait: {"waitForProcessExit"}},
	"java/net/PlainSocketImpl":                {IO: {"socketAccept"}},
	"java/net/PlainDatagramSocketImpl":        {IO: {"receive0", "peekData"}},
	"jdk/internal/misc/Unsafe":                {Parked: {"park"}},
	"sun/misc/Unsafe":                         {Parked: {"park"}},
	"sun/nio/ch/EPoll":                        {IO: {"wait"}},
	"sun/nio/ch/EPollArrayWrapper":            {IO: {"epollWait"}},
	"sun/nio/ch/EPollPort":                    {IO: {"epollWait"}},
	"sun/nio/ch/Net":                          {IO: {"poll", "accept", "pollConnect"}},
	"sun/nio/ch/ServerSocketChannelImpl":      {IO: {"accept0"}},
	"sun/nio/fs/LinuxWatchService":            {IO: {"poll"}},
	"io/netty/channel/epoll/Native":           {IO: {"epollWait", "epollWait0", "epollBusyWait0"}},
	"io/netty/channel/uring/Native":           {IO: {"ioUringEnter"}},
	"io/netty/incubator/channel/uring/Native": {IO: {"ioUringEnter"}},
}

// WaitIn returns what the innermost Java method of a stack only waits for; Running if it may
// work. Shaded copies of a library count as the library.
func (s *Stack) WaitIn() Wait {
	for _, f := range s.Frames {
		if f.IsJava() {
			return waitIn(f.Method.Class, f.Method.Name)
		}
	}
	return Running
}

func waitIn(class, method string) Wait {
	for wait, methods := range waits[class] {
		if slices.Contains(methods, method) {
			return wait
		}
	}
	if at := strings.Index(class, "/io/netty/"); at >= 0 {
		return waitIn(class[at+1:], method)
	}
	return Running
}
