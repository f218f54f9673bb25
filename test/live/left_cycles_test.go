package live_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/test/live"
)

// cycles is how often a program is entered, instrumented and left; settled is
// after how many of them a JVM has all it makes once.
const (
	cycles  = 500
	settled = 100
	looks   = 100 // between two looks at the program
)

// mostLearned bounds, in bytes a cycle, what a JVM that compiles learns about
// its own methods, and keeps with them, while an agent comes and goes. The agent's
// classes, if they stayed, would be two hundred KiB. Compilers learn now more and now
// less; what stays of each cycle would be seen between any two looks.
// TestCyclesLeaveNoByte shows that it is this alone.
const mostLearned = 6 << 10

// TestCyclesUnderLoadLeaveNothing enters a busy program, instruments and leaves
// it, hundreds of times.
func TestCyclesUnderLoadLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: it takes a minute")
	}
	cycling(t, nil, func(h *host) {
		h.StartLoad(1)
		h.cycle(settled)
		threads := h.oracle.Live("sonde.").Threads
		first := h.occupied()
		woven := h.woven()
		last := first
		least := last.Metaspace
		for range (cycles - settled) / looks {
			h.cycle(looks)
			before := last.Metaspace
			last = h.occupied()
			least = min(least, last.Metaspace-before)
			h.t.Logf("Metaspace %d, %d threads, %d descriptors, %d mappings", last.Metaspace, last.Threads, len(last.Descriptors), len(last.Mappings))
		}
		for _, line := range woven.Diff(h.woven()) {
			h.t.Error("woven otherwise: " + line)
		}
		h.same("descriptors", first.Descriptors, last.Descriptors)
		h.same("mappings", first.Mappings, last.Mappings)
		h.same("Java threads", threads, h.oracle.Live("sonde.").Threads)
		if grown := least / looks; grown > mostLearned {
			h.t.Errorf("Metaspace grows by %d bytes a cycle, or more", grown)
		}
		if grown := (last.Metaspace - first.Metaspace) / (cycles - settled); grown > 2*mostLearned {
			h.t.Errorf("Metaspace grows by %d bytes a cycle in all", grown)
		}
		h.StopLoad()
		h.nothingStays()
	})
}

// TestCyclesLeaveNoByte does the same in a JVM that only interprets, and so
// learns nothing about methods. There Metaspace must not grow by one byte more
// than an agent that does nothing makes it grow.
func TestCyclesLeaveNoByte(t *testing.T) {
	const few = 60
	cycling(t, []string{"-Xint"}, func(h *host) {
		empty := live.EmptyAgent(h.t, h.JDK)
		attach := func() {
			for range few {
				h.Order(empty, "")
			}
		}
		attach()
		bare := h.occupied()
		attach()
		kept := h.occupied().Metaspace - bare.Metaspace
		h.cycle(few)
		first := h.occupied()
		h.cycle(few)
		second := h.occupied()
		grown := second.Metaspace - first.Metaspace
		h.t.Logf("bytes of Metaspace for %d attaches: %d by an empty agent, %d by Sonde with hooks", few, kept, grown)
		if grown > max(kept, madeOnce) {
			h.t.Errorf("%d cycles leave %d bytes, %d attaches of an empty agent %d", few, grown, few, kept)
		}
		h.same("descriptors", first.Descriptors, second.Descriptors)
		if first.Threads != second.Threads {
			h.t.Errorf("%d threads, then %d", first.Threads, second.Threads)
		}
	})
}

// madeOnce is what JDK 25 makes for the method of an agent that was called often
// by reflection: two hidden classes, whichever agent it is.
const madeOnce = 8 << 10

// cycling starts a program on each JDK whose JVM has as many threads of its own
// at the end as at the start.
func cycling(t *testing.T, options []string, test func(h *host)) {
	t.Helper()
	options = append(options, "-XX:+UseSerialGC", "-XX:-UseDynamicNumberOfCompilerThreads")
	hostsWith(t, []string{byAttach}, options, test, live.Hammer)
}

// cycle enters, instruments and leaves so often; then the last agent's threads
// have ended.
func (h *host) cycle(times int) {
	h.t.Helper()
	for range times {
		s, err := session.Open(context.Background(), h.PID, session.Settings{Command: "sonde count"})
		if err != nil {
			h.t.Fatalf("%v\nstderr: %s", err, h.Stderr())
		}
		h.instrument(s, "hammer.**")
		h.undo(s)
		if err := s.Release(); err != nil {
			h.t.Fatal(err)
		}
	}
	h.await("the agent's threads end", func() bool { return len(h.ourThreads()) == 0 })
}

// woven is the code that runs while hooks are in.
func (h *host) woven() live.Snapshot {
	h.t.Helper()
	s := h.open()
	h.instrument(s, "hammer.**")
	snapshot := h.oracle.Methods("hammer.")
	h.undo(s)
	if !slices.ContainsFunc(snapshot, func(m live.Method) bool { return strings.HasPrefix(m.Name, "tiny") }) {
		h.t.Error("the hammer's methods are not to be seen")
	}
	return snapshot
}
