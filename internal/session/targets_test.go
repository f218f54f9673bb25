package session

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestWhatAFollowerAsksForElsewhereIsOwed has a class that loads make a call in
// another, which is woven, one to be hooked, and reflection one to be told.
func TestWhatAFollowerAsksForElsewhereIsOwed(t *testing.T) {
	s := &Session{}
	s.book.init()
	s.choices.add(&s.book, Request{Hooks: []Hook{{Class: "a/B", Name: "m", Descriptor: "()V"}}})
	s.book.note("a/B", results(&s.book, "a/B"), pickedM, &s.choices)
	s.choices.take(time.Now())
	if s.Owes() {
		t.Error("something is owed where all is woven")
	}
	request := Request{Hooks: []Hook{{Class: "c/D", Name: "m", Descriptor: "()V"}}}
	s.book.follower = &Follower{Loading: func(string, []byte) Request { return request }}
	s.ask(control.Transform{Name: "c/D"})
	if s.Owes() {
		t.Error("a class is owed that is woven as it loads")
	}
	request.Reflection = true
	request.Sites = []Site{{
		Class: "a/B", Name: "m", Descriptor: "()V", Owner: "n/N", Called: "n", CalledDescriptor: "()V",
		Native: Hook{Class: "n/N", Name: "n", Descriptor: "()V"},
	}}
	s.ask(control.Transform{Name: "e/F"})
	if !s.Owes() {
		t.Error("nothing is owed")
	}
	due := s.choices.take(time.Now())
	for _, class := range append(ReflectiveClasses(), "a/B") {
		if due[class] == nil {
			t.Errorf("%s is not owed, but %v", class, due)
		}
	}
	if !s.Owes() {
		t.Error("the agent was not asked to tell of reflection")
	}
	s.choices.following = true
	s.ask(control.Transform{Name: "g/H"})
	if s.Owes() {
		t.Errorf("what is known is owed again: %v", s.choices.owed)
	}
}

// TestADebtIsTriedAgainAFewTimes looks for a class that never comes, beside one that
// is woven.
func TestADebtIsTriedAgainAFewTimes(t *testing.T) {
	var c choices
	now := time.Now()
	c.giveBack(map[string]*debt{"a/B": {}})
	for tries := range mostTries {
		due := c.take(now)
		if len(due) != 1 {
			t.Fatalf("after %d tries due is %v", tries, due)
		}
		again, lost := postpone(due, []candidate{{handle: uint32(tries), name: "a/B"}, {handle: 100, name: "c/D"}}, now)
		if len(lost) != 0 || len(again["a/B"].woven) != tries+1 {
			t.Fatalf("after %d tries %v is lost, owed %+v", tries, lost, again["a/B"])
		}
		c.giveBack(again)
		if c.owes(now) || len(c.take(now)) != 0 {
			t.Errorf("after %d tries it is looked for at once", tries)
		}
		now = again["a/B"].due
	}
	if again, lost := postpone(c.take(now), nil, now); len(again) != 0 || !slices.Equal(lost, []string{"a/B"}) {
		t.Errorf("lost is %v, owed %v", lost, again)
	}
	c.giveBack(map[string]*debt{"a/B": {}})
	c.giveBack(map[string]*debt{"a/B": {tries: 3, due: now.Add(time.Hour)}})
	if !c.owes(now) {
		t.Error("what was asked for anew waits for what was tried before")
	}
}

func TestEveryClassOfANameIsMet(t *testing.T) {
	var s store
	names := []string{"a/B"}
	if !s.arrive("a/B", []byte{1}) || s.arrive("a/B", []byte{2}) {
		t.Error("the first is not alone, or the second is")
	}
	one := control.Class{Handle: 1, Name: "a.B", Flags: control.Modifiable}
	two := control.Class{Handle: 2, Name: "a.B", Flags: control.Modifiable}
	s.meet([]control.Class{one})
	if unmet := s.unmet(names); len(unmet) != 1 || !s.awaits("a/B") {
		t.Errorf("one of two is met, unmet are %v", unmet)
	}
	s.meet([]control.Class{one, two})
	if found := s.find(names); len(found) != 2 || len(s.unmet(names)) != 0 || s.awaits("a/B") {
		t.Errorf("found %v, unmet are %v", found, s.unmet(names))
	}
	s.arrive("a/B", []byte{3})
	s.meet([]control.Class{one, two, {Handle: 3, Name: "a.B"}})
	if file := s.fileOf("a/B", 3); len(file) != 1 || file[0] != 3 || s.fileOf("a/B", 2) != nil {
		t.Errorf("the third has the file %v, the second %v", file, s.fileOf("a/B", 2))
	}
	s.arrive("a/B", nil)
	if !s.giveUp("a/B") || len(s.unmet(names)) != 0 || s.giveUp("c/D") {
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
		if left := s.LeftAlone(); len(s.Captured().Batches) > 0 && (len(left) != 1 || left[0].Class != "construction/fresh/Failing") {
			t.Errorf("left alone: %v", left)
		}
		round := Hook{Class: main, Name: "round", Descriptor: "()J"}
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
		if !s.Owes() || hook() != 1 || s.Owes() || !s.IsHooked(s.ID(main, round.Name, round.Descriptor)) {
			t.Errorf("what is owed is not woven: %v, left alone %v", s.Methods(), s.LeftAlone())
		}
		if classes := hook(Hook{Class: sound, Name: "step", Descriptor: "(JI)J", Flags: arena.On}); classes != 2 {
			t.Errorf("%d classes of one name are woven, of 2", classes)
		}
		asked.Store(&map[string]Request{sound: {Hooks: []Hook{{Class: sound, Name: "<clinit>", Descriptor: "()V", Flags: arena.On}}}})
		room := roomForSwitches(s)
		p.Run(1)
		if left := roomForSwitches(s); room < 1 || left != room-1 {
			t.Errorf("the agent's table, which had room for %d, was not changed in place, but has room for %d", room, left)
		}
		if steps, begun := told(t, s, "construction.fresh.Sound.step"), told(t, s, "construction.fresh.Sound.<clinit>"); steps.Calls != 5 || begun.Calls != 1 {
			t.Errorf("%d calls of step, %d of the initialiser, want 5 and 1", steps.Calls, begun.Calls)
		}
		if !s.Owes() {
			t.Error("the classes that were loaded before are not owed")
		}
		if classes := hook(); classes != 3 || s.Owes() {
			t.Errorf("%d classes of one name are woven, of 3; more are owed: %v", classes, s.Owes())
		}
		p.Check()
	})
}

func roomForSwitches(s *Session) int {
	s.book.lock.Lock()
	defer s.book.lock.Unlock()
	return s.book.switches.room
}
