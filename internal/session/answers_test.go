package session

import (
	"context"
	"errors"
	"testing"

	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// TestAnAnswerThatComesTooLateIsTakenBack has the agent say so before the class is
// noted as woven, between that and the answer, and behind both; another class of
// the same name is woven all the while.
func TestAnAnswerThatComesTooLateIsTakenBack(t *testing.T) {
	const notice = "a/B was left alone: " + unanswered
	for _, at := range []string{"before", "between", "behind"} {
		for _, isOver := range []bool{false, true} {
			s := &Session{}
			b := &s.book
			b.init()
			tell := func(moment string) {
				if moment == at {
					s.remark(notice)
				}
			}
			b.note("a/B", results(b, "a/B"), pickedM, nil)
			b.begin("a/B")
			tell("before")
			b.note("a/B", results(b, "a/B"), pickedM, nil)
			tell("between")
			isLate := b.end("a/B", isOver)
			if isLate {
				b.withdraw("a/B", unanswered)
			}
			tell("behind")
			if want := at != "behind" || isOver; isLate != want {
				t.Errorf("told %s, over %v: late %v", at, isOver, isLate)
			}
			if b.classes["a/B"] != 1 || len(s.Methods()) != 1 || len(b.answers) != 0 || len(s.LeftAlone()) != 1 {
				t.Errorf("told %s, over %v: %d classes, methods %v, questions %v, left alone %v",
					at, isOver, b.classes["a/B"], s.Methods(), b.answers, s.LeftAlone())
			}
			s.remark(notice)
			if b.classes["a/B"] != 0 || len(s.Methods()) != 0 {
				t.Errorf("told %s, over %v: the other class stays woven", at, isOver)
			}
		}
	}
}

// TestAFollowerThatTakesTooLong has nothing woven any more.
func TestAFollowerThatTakesTooLong(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &Session{}
	s.book.init()
	s.book.follower = &Follower{Loading: func(class string, _ []byte) Request {
		cancel()
		s.remark(class + " was left alone: " + unanswered)
		return Request{Hooks: []Hook{{Class: class, Name: "m", Descriptor: "()V"}}}
	}}
	if woven, err := s.weave(ctx, control.Transform{Name: "a/B"}); !errors.Is(err, errLate) || woven.New != nil {
		t.Errorf("woven: %v", err)
	}
	if s.Classes() != 0 || len(s.Methods()) != 0 || len(s.book.answers) != 0 {
		t.Errorf("hooked are %v, questions %v", s.Methods(), s.book.answers)
	}
}
