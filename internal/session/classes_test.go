package session

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestWhatAFollowerAsksForElsewhereIsOwed has a class that loads make a call in
// another, which is woven, one to be hooked, and reflection one to be told.
func TestWhatAFollowerAsksForElsewhereIsOwed(t *testing.T) {
	s := matchingSession(t)
	s.addTargets(Request{Hooks: []Hook{{MethodRef: classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"}}}})
	s.note("a/B", outcome("a/B"))
	s.state.classes.takePending(time.Now())
	if s.HasPending() {
		t.Error("something is owed where all is woven")
	}
	request := Request{Hooks: []Hook{{MethodRef: classfile.MethodRef{Class: "c/D", Name: "m", Descriptor: "()V"}}}}
	s.look(Settings{}).follower = &Follower{Loading: func(string, []byte) Request { return request }}
	s.askAboutLoading(control.Transform{Name: "c/D"})
	if s.HasPending() {
		t.Error("a class is owed that is woven as it loads")
	}
	request.Reflection = true
	request.Sites = []Site{{
		Caller: classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"},
		Called: classfile.MethodRef{Class: "n/N", Name: "n", Descriptor: "()V"},
		Native: Hook{MethodRef: classfile.MethodRef{Class: "n/N", Name: "n", Descriptor: "()V"}},
	}}
	s.askAboutLoading(control.Transform{Name: "e/F"})
	if !s.HasPending() {
		t.Error("nothing is owed")
	}
	due := s.state.classes.takePending(time.Now())
	for _, class := range append(instrument.ReflectiveClasses(), "a/B") {
		if due[class] == nil {
			t.Errorf("%s is not owed, but %v", class, due)
		}
	}
	if !s.HasPending() {
		t.Error("the agent was not asked to tell of reflection")
	}
	s.state.reflecting = true
	s.askAboutLoading(control.Transform{Name: "g/H"})
	if s.HasPending() {
		t.Errorf("what is known is owed again: %v", s.state.classes.pending)
	}
}

// TestADebtIsTriedAgainAFewTimes looks for a class that never comes, beside one that
// is woven.
func TestADebtIsTriedAgainAFewTimes(t *testing.T) {
	var c classTable
	c.init()
	now := time.Now()
	c.restorePending(map[string]*pendingClass{"a/B": {}})
	for tries := range mostTries {
		due := c.takePending(now)
		if len(due) != 1 {
			t.Fatalf("after %d tries due is %v", tries, due)
		}
		again, lost := postpone(due, []*loadedClass{{handle: uint32(tries), name: "a/B"}, {handle: 100, name: "c/D"}}, now)
		if len(lost) != 0 || len(again["a/B"].woven) != tries+1 {
			t.Fatalf("after %d tries %v is lost, owed %+v", tries, lost, again["a/B"])
		}
		c.restorePending(again)
		if c.hasPending(now) || len(c.takePending(now)) != 0 {
			t.Errorf("after %d tries it is looked for at once", tries)
		}
		now = again["a/B"].due
	}
	if again, lost := postpone(c.takePending(now), nil, now); len(again) != 0 || !slices.Equal(lost, []string{"a/B"}) {
		t.Errorf("lost is %v, owed %v", lost, again)
	}
	c.restorePending(map[string]*pendingClass{"a/B": {}})
	c.restorePending(map[string]*pendingClass{"a/B": {tries: 3, due: now.Add(time.Hour)}})
	if !c.hasPending(now) {
		t.Error("what was asked for anew waits for what was tried before")
	}
}

func TestEveryClassOfANameIsMet(t *testing.T) {
	var s classTable
	s.init()
	names := []string{"a/B"}
	if !s.show("a/B", []byte{1}) || s.show("a/B", []byte{2}) {
		t.Error("the first is not alone, or the second is")
	}
	one := control.Class{Handle: 1, Name: "a.B", Flags: control.Modifiable}
	two := control.Class{Handle: 2, Name: "a.B", Flags: control.Modifiable}
	s.identify([]control.Class{one})
	if missing := s.missing(names); len(missing) != 1 || !s.isLoading("a/B") {
		t.Errorf("one of two is met, missing are %v", missing)
	}
	s.identify([]control.Class{one, two})
	if found := s.find(names); len(found) != 2 || len(s.missing(names)) != 0 || s.isLoading("a/B") {
		t.Errorf("found %v, unmet are %v", found, s.missing(names))
	}
	s.show("a/B", []byte{3})
	s.identify([]control.Class{one, two, {Handle: 3, Name: "a.B"}})
	if file := s.file(3); len(file) != 1 || file[0] != 3 || s.file(2) != nil {
		t.Errorf("the third has the file %v, the second %v", file, s.file(2))
	}
	s.show("a/B", nil)
	if !s.giveUp("a/B") || len(s.missing(names)) != 0 || s.giveUp("c/D") {
		t.Error("others of the name are not known any more")
	}
}

// TestClassesThatLoadAreFollowed has classes of the same names loaded by one loader
// after another. Each gets its hooks, and what its loading asks for in others is owed.
func TestClassesThatLoadAreFollowed(t *testing.T) {
	const main, sound = "construction/Main", "construction/fresh/Sound"
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach.With("-XX:-ClassUnloading"), live.Construction)
		p.Run(1)
		s := open(t, p)
		if _, err := s.Prefetch(t.Context(), func(class string) bool { return strings.HasPrefix(class, "construction/") }, nil); err != nil {
			t.Fatal(err)
		}
		// A JVM does not let be seen what cannot be initialised.
		if left := s.leftAlone(); len(s.Captured().Batches) > 0 && (len(left) != 1 || left[0].Class != "construction/fresh/Failing") {
			t.Errorf("left alone: %v", left)
		}
		round := Hook{MethodRef: classfile.MethodRef{Class: main, Name: "round", Descriptor: "()J"}}
		var asked atomic.Pointer[map[string]Request]
		asked.Store(&map[string]Request{"construction/fresh/Constants": {Hooks: []Hook{round}}})
		follower := Follower{Excludes: []string{"java/", "jdk/", "sun/"}, Loading: func(class string, _ []byte) Request { return (*asked.Load())[class] }}
		if err := s.Follow(t.Context(), follower); err != nil {
			t.Fatal(err)
		}
		hook := func(hooks ...Hook) (classes int) {
			t.Helper()
			installation, err := s.Hook(t.Context(), Request{Hooks: hooks})
			if err != nil {
				t.Fatal(err)
			}
			for _, batch := range installation.Batches {
				classes += batch.Classes
			}
			return classes
		}
		p.Run(1)
		if !s.HasPending() || hook() != 1 || s.HasPending() || !s.IsHooked(s.ID(classfile.MethodRef{Class: main, Name: round.Name, Descriptor: round.Descriptor})) {
			t.Errorf("what is owed is not woven: %v, left alone %v", s.methods(), s.leftAlone())
		}
		if classes := hook(Hook{MethodRef: classfile.MethodRef{Class: sound, Name: "step", Descriptor: "(JI)J"}, Flags: arena.On}); classes != 2 {
			t.Errorf("%d classes of one name are woven, of 2", classes)
		}
		asked.Store(&map[string]Request{sound: {Hooks: []Hook{{MethodRef: classfile.MethodRef{Class: sound, Name: "<clinit>", Descriptor: "()V"}, Flags: arena.On}}}})
		room := roomForSwitches(s)
		p.Run(1)
		if left := roomForSwitches(s); room < 1 || left != room-1 {
			t.Errorf("the agent's table, which had room for %d, was not changed in place, but has room for %d", room, left)
		}
		if steps, begun := told(t, s, "construction.fresh.Sound.step"), told(t, s, "construction.fresh.Sound.<clinit>"); steps.Calls != 5 || begun.Calls != 1 {
			t.Errorf("%d calls of step, %d of the initialiser, want 5 and 1", steps.Calls, begun.Calls)
		}
		if !s.HasPending() {
			t.Error("the classes that were loaded before are not owed")
		}
		if classes := hook(); classes != 3 || s.HasPending() {
			t.Errorf("%d classes of one name are woven, of 3; more are owed: %v", classes, s.HasPending())
		}
		p.Check()
	})
}

func roomForSwitches(s *Look) int {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	return s.state.switches.room
}
