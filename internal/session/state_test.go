package session

import (
	"context"
	"errors"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// outcome is that of a class with one method that a pattern matches and that is woven.
func outcome(class string) *instrument.Outcome {
	return &instrument.Outcome{
		Methods: []instrument.Method{{
			MethodRef: classfile.MethodRef{Class: class, Name: "m", Descriptor: "()V"}, Hooked: true, Result: weave.MethodResult{Woven: true},
		}},
	}
}

// matchingSession is a session without a JVM that is asked for hooks in the methods of outcomes.
func matchingSession(t *testing.T) *Session {
	t.Helper()
	s := bareSession(t)
	for _, class := range []string{"a/B", "c/D"} {
		s.weaver.AddHook(Hook{MethodRef: classfile.MethodRef{Class: class, Name: "m", Descriptor: "()V"}, Flags: arena.On})
	}
	return s
}

// TestAMethodIsOffUntilItsTableIsSent has a class of the same name load in
// another loader meanwhile: both must wait for the table.
func TestAMethodIsOffUntilItsTableIsSent(t *testing.T) {
	s := matchingSession(t)
	for range 2 {
		if len(s.note("a/B", outcome("a/B")).hooks) != 1 {
			t.Error("a method is on that is in no table")
		}
	}
	id := s.ID(classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"})
	s.state.switches.sent[id] = s.state.probes[id]
	if len(s.note("a/B", outcome("a/B")).hooks) != 0 {
		t.Error("a method is off that is in the table")
	}
	s.state.probes[id] = arena.Probe{ID: id}
	if len(s.note("a/B", outcome("a/B")).hooks) != 1 {
		t.Error("a method that is to be off is on in the table")
	}
	delete(s.state.switches.sent, id)
	if len(s.note("a/B", outcome("a/B")).hooks) != 0 {
		t.Error("a table is to be sent for a method that is to be off")
	}
}

func TestAClassThatWasLeftAloneAfterAllIsNotWoven(t *testing.T) {
	s := matchingSession(t)
	for _, class := range []string{"a/B", "a/B", "c/D"} {
		s.note(class, outcome(class))
	}
	s.remark("a/B was left alone: its class loader cannot find Sonde's hook classes")
	for copies := 2; copies >= 0; copies-- {
		want := 1
		if copies > 0 {
			want = 2
		}
		if len(s.methods()) != want || len(s.state.undescribed) != want || s.wovenClasses() != want {
			t.Errorf("with %d copies %v are woven, to be described %v, %d classes", copies, s.methods(), s.state.undescribed, s.wovenClasses())
		}
		s.remark("a/B was left alone: Sonde did not answer within two seconds")
	}
	if len(s.leftAlone()) != 2 {
		t.Errorf("left alone: %v", s.leftAlone())
	}
}

// TestAMethodWithHooksOnlyAtItsCallsIsNotHooked asks for a hook in the method while its
// class is woven, so that hook is missing.
func TestAMethodWithHooksOnlyAtItsCallsIsNotHooked(t *testing.T) {
	s := bareSession(t)
	caller := classfile.MethodRef{Class: "a/B", Name: "calls", Descriptor: "()V"}
	native := classfile.MethodRef{Class: "java/lang/Thread", Name: "yield", Descriptor: "()V"}
	s.addTargets(Request{Sites: []Site{{Caller: caller, Called: native, Native: Hook{MethodRef: native, Flags: arena.On}}}})
	woven, err := s.weaver.Weave(t.Context(), busyClass())
	if err != nil {
		t.Fatal(err)
	}
	s.weaver.AddHook(Hook{MethodRef: caller, Flags: arena.On})
	off := s.note("a/B", woven).hooks
	if s.IsHooked(s.ID(caller)) || !s.IsHooked(s.ID(native)) {
		t.Errorf("methods with hooks: %v", s.methods())
	}
	if len(off) != 1 || off[0] != s.ID(native) {
		t.Errorf("to be switched on: %#x", off)
	}
	if !s.weaver.Names("a/B") {
		t.Error("a class with a hook only at a call is not woven")
	}
}

// TestAnAnswerThatComesTooLateIsTakenBack has the agent say so before the class is
// noted as woven, between that and the answer, and behind both; another class of
// the same name is woven all the while.
func TestAnAnswerThatComesTooLateIsTakenBack(t *testing.T) {
	const notice = "a/B was left alone: " + unanswered
	for _, at := range []string{"before", "between", "behind"} {
		for _, isOver := range []bool{false, true} {
			s := matchingSession(t)
			st := &s.state
			report := func(moment string) {
				if moment == at {
					s.remark(notice)
				}
			}
			s.note("a/B", outcome("a/B"))
			st.begin("a/B")
			report("before")
			s.note("a/B", outcome("a/B"))
			report("between")
			isLate := st.end("a/B", isOver)
			if isLate {
				st.withdraw("a/B", unanswered)
			}
			report("behind")
			if want := at != "behind" || isOver; isLate != want {
				t.Errorf("reported %s, over %v: late %v", at, isOver, isLate)
			}
			replies := st.classes.named("a/B").replies
			if st.classes.woven("a/B") != 1 || len(s.methods()) != 1 || replies != (lateReplies{}) || len(s.leftAlone()) != 1 {
				t.Errorf("reported %s, over %v: %d classes, methods %v, questions %v, left alone %v",
					at, isOver, st.classes.woven("a/B"), s.methods(), replies, s.leftAlone())
			}
			s.remark(notice)
			if st.classes.woven("a/B") != 0 || len(s.methods()) != 0 {
				t.Errorf("reported %s, over %v: the other class stays woven", at, isOver)
			}
		}
	}
}

// TestAFollowerThatTakesTooLong has nothing woven any more.
func TestAFollowerThatTakesTooLong(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := bareSession(t)
	s.look(Settings{}).follower = &Follower{Loading: func(class string, _ []byte) Request {
		cancel()
		s.remark(class + " was left alone: " + unanswered)
		return Request{Hooks: []Hook{{MethodRef: classfile.MethodRef{Class: class, Name: "m", Descriptor: "()V"}}}}
	}}
	if woven, err := s.weave(ctx, control.Transform{Name: "a/B"}); !errors.Is(err, errLate) || woven.New != nil {
		t.Errorf("woven: %v", err)
	}
	if s.wovenClasses() != 0 || len(s.methods()) != 0 || len(s.state.classes.names) != 1 {
		t.Errorf("hooked are %v, classes %v", s.methods(), s.state.classes.names)
	}
}

// wovenClasses returns how many classes have hooks of any look.
func (s *Session) wovenClasses() (n int) {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	for _, named := range s.state.classes.names {
		if named.woven > 0 {
			n++
		}
	}
	return n
}
