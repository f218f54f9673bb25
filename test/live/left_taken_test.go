package live_test

import (
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestHooksThatAreTakenBackLeaveNothing takes some hooks out while others stay, and
// asks the JVM what runs. A class without hooks is not touched again when all is
// undone.
func TestHooksThatAreTakenBackLeaveNothing(t *testing.T) {
	hook := func(class, name, descriptor string) session.Hook {
		return session.Hook{Class: class, Name: name, Descriptor: descriptor, Flags: arena.On}
	}
	stays := hook("hammer/Main", "tinyStatic", "(J)J")
	goes := []session.Hook{hook("hammer/Main", "tinyVirtual", "(J)J"), hook("hammer/Main$Pair", "tinySynchronized", "()J")}
	hosts(t, []string{byAttach}, func(h *host) {
		reflected, before := h.reflection(), h.oracle.Methods("hammer.")
		s := h.open()
		if _, err := s.Prefetch(t.Context(), func(class string) bool { return strings.HasPrefix(class, "hammer/") }, nil); err != nil {
			h.t.Fatal(err)
		}
		if _, err := s.Hook(t.Context(), session.Request{Hooks: append(goes, stays)}); err != nil {
			h.t.Fatal(err)
		}
		h.runs("with hooks", before, "tinyStatic", "tinyVirtual", "tinySynchronized")
		taken, err := s.Unhook(t.Context(), session.Request{Hooks: goes})
		if err != nil || len(taken.Batches) != 1 || taken.Batches[0].Classes != 2 {
			h.t.Fatalf("taken out in %+v: %v", taken.Batches, err)
		}
		h.runs("with two taken out", before, "tinyStatic")
		if methods := s.Methods(); len(methods) != 1 || methods[0].Name != "tinyStatic" || s.Classes() != 1 {
			h.t.Errorf("%v have hooks, in %d classes", methods, s.Classes())
		}
		h.Run(1)
		for _, gone := range goes {
			if sum, err := s.Sum(); err != nil || sum.Methods[s.ID(gone.Class, gone.Name, gone.Descriptor)] != nil {
				h.t.Errorf("%s is counted, though its hook is out (%v)", gone.Name, err)
			}
		}
		h.same("reflection with two taken out", reflected, h.reflection())
		if _, err := s.Hook(t.Context(), session.Request{Hooks: goes[1:]}); err != nil {
			h.t.Fatal(err)
		}
		h.runs("with one back in", before, "tinyStatic", "tinySynchronized")
		if _, err := s.Unhook(t.Context(), session.Request{Hooks: goes[1:]}); err != nil {
			h.t.Fatal(err)
		}
		if restored := h.undo(s).Restored; restored.Classes != 1 {
			h.t.Errorf("%d classes were put back, of one with hooks", restored.Classes)
		}
		h.runs("undone", before)
		h.same("reflection after undo", reflected, h.reflection())
	}, live.Hammer)
}

// runs demands that just some methods run another code than before.
func (h *host) runs(when string, before live.Snapshot, others ...string) {
	h.t.Helper()
	var names []string
	for _, line := range stable(before).DiffMeaning(h.oracle.Methods("hammer.")) {
		if words := strings.Fields(line); strings.HasPrefix(line, "-") {
			names = append(names, words[3])
		}
	}
	h.same(when+", methods of another code", others, names)
}
