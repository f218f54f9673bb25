package live_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/test/live"
)

// What stays in a JVM that Sonde has left, and why. Whatever else is found
// fails the tests.
var (
	// The first Stub answers every later attach, so it is of the system loader,
	// which unloads nothing; hook classes are of the boot loader, and named
	// after the build.
	staysLoaded = []string{
		"sonde.agent.Stub", "sonde.agent.StubLoader",
		hookClass, hookClass + "Absence", hookClass + "Arrivals", hookClass + "Aside", hookClass + "Calibration",
		hookClass + "Caller", hookClass + "Callers", hookClass + "Carried", hookClass + "Control", hookClass + "Direct",
		hookClass + "HandOff", hookClass + "Label", hookClass + "Labels", hookClass + "Mapping", hookClass + "Members",
		hookClass + "Path", hookClass + "Places", hookClass + "Pool", hookClass + "Rehearsal", hookClass + "Ring", hookClass + "Row", hookClass + "Spread",
		hookClass + "State", hookClass + "Tag", hookClass + "Tags", hookClass + "Tasks", hookClass + "Told",
		hookClass + "Trace", hookClass + "Transaction", hookClass + "Tree", hookClass + "Walk", hookClass + "Watch",
		hookClass + "Watches",
	}
	hookClass = strings.ReplaceAll(agent.HookClass(), "/", ".")
	// The agent that waits since the JVM's start.
	staysWaiting       = []string{"sonde.agent.Standby", "sonde.agent.Hold", "sonde.agent.Note", "sonde.agent.Trust"}
	staysWaitingThread = "sonde-standby"
	// The jar is on the class path of the system loader, by a path that is the
	// same at each attach, where it stays as long as the JVM runs. Then the JDK's own for its first Unix socket: a
	// random source for names of sockets, and a descriptor to put in the place
	// of those that are being closed.
	staysOpen = []string{"sonde-agent.jar", ".sonde-0/agent-", "/dev/random", "/dev/urandom", "socket:"}
	// The JDK's libraries for agents, jars and sockets.
	staysMapped = []string{"libinstrument.so", "libnio.so", "libnet.so", "libextnet.so", "libzip.so"}
)

// TestUndoneNothingOfOursStays walks the heap and looks at the process after a
// program had hooks, and again after it had them a second time.
func TestUndoneNothingOfOursStays(t *testing.T) {
	hosts(t, bothDoors, func(h *host) {
		before := h.occupied()
		threads := h.oracle.Live("sonde.").Threads
		h.visit()
		first := h.occupied()
		h.onlyNamed("descriptors", before.Descriptors, first.Descriptors, staysOpen)
		h.onlyNamed("mappings", before.Mappings, first.Mappings, staysMapped)
		h.visit()
		second := h.occupied()
		h.same("descriptors at a second visit", first.Descriptors, second.Descriptors)
		h.same("mappings at a second visit", first.Mappings, second.Mappings)
		h.same("Java threads", threads, h.oracle.Live("sonde.").Threads)
		h.t.Logf("kept: %q, %q", missing(first.Descriptors, before.Descriptors), missing(first.Mappings, before.Mappings))
	}, live.Calls, live.Hammer)
}

// occupied is the footprint. A jar that is open must be there for the program to read.
func (h *host) occupied() live.Footprint {
	h.t.Helper()
	f := h.Footprint()
	for _, target := range f.Descriptors {
		if strings.Contains(target, "/agent-") && strings.HasSuffix(target, " (deleted)") {
			h.t.Errorf("the class path names a file that is gone: %s", target)
		}
	}
	return f
}

// visit puts hooks in and takes them out, while they are busy.
func (h *host) visit() {
	h.t.Helper()
	s := h.open()
	h.StartLoad(1)
	h.instrument(s, "calls.**", "hammer.**", "java.util.ArrayList.*")
	if inside := h.oracle.Live("sonde.agent.control."); inside.Instances() == 0 || !slices.Contains(inside.Threads, "sonde-work") {
		h.t.Error("nothing of ours is found while we are there: what is looked for can not be seen")
	}
	h.StopLoad()
	h.undo(s)
	h.nothingStays()
}

// nothingStays demands that threads, classes, loaders and files of ours are
// gone but for those that are named. The agent's last thread ends just after
// Sonde has been told that all is undone.
func (h *host) nothingStays() {
	h.t.Helper()
	h.await("the agent's threads end", func() bool { return len(h.ourThreads()) == 0 })
	named := staysLoaded
	if h.door.Name == byFlag {
		named = append(slices.Clone(named), staysWaiting...)
	}
	// A compiler that is at work on a method of ours keeps its class a moment longer.
	var alive live.Alive
	h.await("our loader is collected", func() bool {
		alive = h.oracle.Live("sonde.", "java.lang.SondeHooks")
		return !slices.ContainsFunc(alive.Classes, func(c live.LoadedClass) bool { return !slices.Contains(named, c.Name) })
	})
	for _, class := range alive.Classes {
		if !slices.Contains(named, class.Name) {
			h.t.Errorf("%s of %s is still loaded, held: %q", class.Name, class.Loader, alive.Held)
		}
		if class.Instances > 0 && !slices.Contains(staysWaiting, class.Name) {
			h.t.Errorf("%d objects of %s live, held: %q", class.Instances, class.Name, alive.Held)
		}
	}
	for _, file := range h.files() {
		if h.door.Name != byFlag || !strings.HasPrefix(filepath.Base(file), ".sonde_pid") {
			h.t.Errorf("%s is still there", file)
		}
	}
	for _, mapping := range h.mapped() {
		h.t.Errorf("%s is still mapped", mapping)
	}
}

// ourThreads are those that the operating system knows by our names.
func (h *host) ourThreads() []string {
	h.t.Helper()
	ours := make(map[string]bool)
	for _, name := range h.taskNames() {
		if strings.HasPrefix(name, "sonde-") && (h.door.Name != byFlag || name != staysWaitingThread) {
			ours[name] = true
		}
	}
	return slices.Sorted(maps.Keys(ours))
}

// onlyNamed demands that what was is, and that what is new is on a list.
func (h *host) onlyNamed(what string, before, after, named []string) {
	h.t.Helper()
	for _, line := range missing(before, after) {
		h.t.Errorf("%s: %s was, and is not", what, line)
	}
	for _, line := range missing(after, before) {
		if !slices.ContainsFunc(named, func(name string) bool { return strings.Contains(line, name) }) {
			h.t.Errorf("%s: %s is, and was not", what, line)
		}
	}
}
