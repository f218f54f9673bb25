package live_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/test/live"
)

// everything is the program, and so much of the JDK that every thread meets it.
var everything = []string{
	"blocking.**", "calls.**", "construction.**", "dynamic.**", "exceptions.**", "hammer.**", "loading.**", "neighbour.**",
	"recursion.**", "reflected.**", "shapes.**", "threads.**", "java.util.**", "java.lang.String.*", "java.lang.Integer.*",
	// Its initialiser fails; after that the JVM lets nobody change it, so its hooks stay, inert, and are remarked.
	"!construction.fresh.Failing.*",
}

var everyWorkload = append(slices.Clone(live.Everyday), live.Hammer)

// looked are the classes whose code is compared.
var looked = []string{
	"blocking.", "calls.", "construction.", "dynamic.", "exceptions.", "hammer.", "loading.", "neighbour.", "recursion.",
	"reflected.", "shapes.", "threads.", "java.util.", "java.lang.String", "java.lang.Integer",
}

// TestUndoneCodeAndReflectionAreWhatTheyWere asks the JVM itself, before, while
// and after a program and the JDK below it have hooks.
func TestUndoneCodeAndReflectionAreWhatTheyWere(t *testing.T) {
	hosts(t, bothDoors, func(h *host) {
		h.Keep()
		// What only the hooks' coming loads or links is there before.
		h.undo(h.open())
		reflected := h.reflection()
		before, check := h.oracle.Methods(looked...), h.Check()
		s := h.open()
		h.instrument(s, everything...)
		h.hooked(s, before)
		h.same("reflection with hooks in", reflected, h.reflection())
		h.Again()
		if with := h.Check(); with != check {
			h.t.Errorf("check %s, with hooks %s", check, with)
		}
		restored := h.undo(s).Restored
		if int(restored.Classes) < s.Classes() {
			h.t.Errorf("%d classes were put back of %d", restored.Classes, s.Classes())
		}
		after := h.oracle.Methods(looked...)
		h.sameCode(before, after)
		h.same("reflection after undo", reflected, h.reflection())
		if left := h.Check(); left != check {
			h.t.Errorf("check %s, after undo %s", check, left)
		}
		h.t.Logf("%d methods of %d classes had hooks; %d methods are what they were", len(s.Methods()), s.Classes(), len(stable(before)))
	}, everyWorkload...)
}

// hooked demands that each method said to have hooks runs other code than
// before, in as many classes as have its name; so what is compared can differ.
func (h *host) hooked(s *session.Session, before live.Snapshot) {
	h.t.Helper()
	other := make(map[string]bool)
	for _, line := range changed(before, h.oracle.Methods(looked...)) {
		words := strings.Fields(line)
		other[strings.TrimPrefix(words[1], "{")+"."+words[3]+words[4]] = true
	}
	known := make(map[string]bool)
	for _, m := range stable(before) {
		known[m.Class+"."+m.Name+m.Descriptor] = true
	}
	jdk := 0
	for _, m := range s.Methods() {
		if name := m.String(); known[name] && !other[name] {
			h.t.Errorf("%s has hooks, and runs the code it ran", name)
		}
		if strings.HasPrefix(m.Class, "java/") {
			jdk++
		}
	}
	if len(s.Methods()) < 3000 || jdk < 2000 {
		h.t.Errorf("only %d methods have hooks, %d of the JDK", len(s.Methods()), jdk)
	}
}

// sameCode demands that every method means what it meant, and is the same byte
// by byte but where the JVM numbers constants anew at any retransformation: the
// same methods must change so in a twin to which only that is done.
func (h *host) sameCode(before, after live.Snapshot) {
	h.t.Helper()
	for _, line := range stable(before).DiffMeaning(after) {
		if strings.HasPrefix(line, "-") {
			h.t.Error("after undo " + line)
		}
	}
	renumbered := changed(before, after)
	if len(renumbered) == 0 {
		return
	}
	twin := startHost(h.t, h.JDK, live.Attach, everyWorkload...)
	twin.Keep()
	twin.Reflect() // it makes proxies
	other := live.OtherAgent(h.t, h.JDK)
	untouched := twin.oracle.Methods(looked...)
	var orders []string
	for _, line := range renumbered {
		orders = append(orders, "retransform "+strings.TrimPrefix(strings.Fields(line)[1], "{"))
	}
	twin.Order(other, strings.Join(slices.Compact(orders), ";"))
	for _, line := range missing(renumbered, changed(untouched, twin.oracle.Methods(looked...))) {
		h.t.Error("constants are numbered anew, and not by every retransformation: " + line)
	}
	h.t.Logf("%d methods have constants that the JVM numbers anew at any retransformation", len(renumbered))
}

// changed lists the methods that were and are not, byte by byte.
func changed(before, after live.Snapshot) []string {
	return slices.DeleteFunc(stable(before).Diff(after), func(line string) bool { return strings.HasPrefix(line, "+") })
}

// stable leaves out what a JVM makes and drops by itself: classes not linked
// yet, hidden ones, those it makes for reflection, and what Loading lets go.
func stable(all live.Snapshot) live.Snapshot {
	return slices.DeleteFunc(slices.Clone(all), func(m live.Method) bool {
		return m.Name == "" || strings.ContainsAny(m.Class, "/+") || strings.HasPrefix(m.Class, "sonde.") ||
			strings.HasPrefix(m.Class, "jdk.internal.reflect.Generated") || strings.HasPrefix(m.Class, "jdk.proxy")
	})
}
