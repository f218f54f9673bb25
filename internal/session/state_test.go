package session

import (
	"context"
	"errors"
	"math"
	"strconv"
	"testing"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

func TestMethodsThatShareAnIDGetTheirOwn(t *testing.T) {
	var b book
	b.init()
	natural := uint32(weave.MethodID("a/B", "m", "()V"))
	// Others have what would be its id, and the one behind that.
	b.names[natural], b.names[natural+1] = "x/Y.one()V", "x/Y.two()V"
	got := uint32(b.identify("a/B", "m", "()V"))
	if got == natural || got == natural+1 || arena.ReservedID(got) {
		t.Errorf("id %#x, taken are %#x and the next", got, natural)
	}
	if again := uint32(b.identify("a/B", "m", "()V")); again != got {
		t.Errorf("id %#x, asked again %#x", got, again)
	}
	if b.names[got] != "a/B.m()V" {
		t.Errorf("id %#x is %s", got, b.names[got])
	}
}

// TestNoMethodHasAReservedID finds a method whose id is among the last, and has
// others have all that come behind: the search begins anew, past what is reserved.
func TestNoMethodHasAReservedID(t *testing.T) {
	const last = 1 << 12
	name, natural := "", uint32(0)
	for i := 0; natural <= math.MaxUint32-last; i++ {
		name = "m" + strconv.Itoa(i)
		natural = uint32(weave.MethodID("a/B", name, "()V"))
	}
	var b book
	b.init()
	for id := natural; id != 0; id++ {
		b.names[id] = "x/Y.z()V"
	}
	if !arena.ReservedID(0) || !arena.ReservedID(arena.CalibrationID) {
		t.Error("no id, or that of calibration, is not reserved")
	}
	if got := uint32(b.identify("a/B", name, "()V")); arena.ReservedID(got) || got >= natural {
		t.Errorf("id %#x where all from %#x on are taken", got, natural)
	}
}

func TestIDsAreTheSameInEverySession(t *testing.T) {
	var one, other book
	one.init()
	other.init()
	other.identify("c/D", "n", "()V")
	if a, b := one.identify("a/B", "m", "(I)V"), other.identify("a/B", "m", "(I)V"); a != b {
		t.Errorf("ids %#x and %#x", a, b)
	}
}

// results are those of a class with one method that is wanted and woven.
func results(b *book, class string) []weave.MethodResult {
	all, err := pattern.ParseSet("**")
	if err != nil {
		panic(err)
	}
	b.wanted = []Wanted{{Methods: all}}
	b.identify(class, "m", "()V")
	return []weave.MethodResult{{Name: "m", Descriptor: "()V", Woven: true}}
}

var pickedM = &picking{hooks: map[string]bool{"m()V": true}}

// TestAMethodIsOffUntilItsTableIsSent has a class of the same name load in
// another loader meanwhile: both must wait for the table.
func TestAMethodIsOffUntilItsTableIsSent(t *testing.T) {
	var b book
	b.init()
	woven := results(&b, "a/B")
	for range 2 {
		if len(b.note("a/B", woven, pickedM, nil)) != 1 {
			t.Error("a method is on that is in no table")
		}
	}
	id := b.ids["a/B.m()V"]
	b.switches.sent[id] = b.probes[id]
	if len(b.note("a/B", woven, pickedM, nil)) != 0 {
		t.Error("a method is off that is in the table")
	}
	b.probes[id] = arena.Probe{ID: id}
	if len(b.note("a/B", woven, pickedM, nil)) != 1 {
		t.Error("a method that is to be off is on in the table")
	}
	delete(b.switches.sent, id)
	if len(b.note("a/B", woven, pickedM, nil)) != 0 {
		t.Error("a table is to be sent for a method that is to be off")
	}
}

func TestAClassThatWasLeftAloneAfterAllIsNotWoven(t *testing.T) {
	s := &Session{}
	b := &s.book
	b.init()
	for _, class := range []string{"a/B", "a/B", "c/D"} {
		b.note(class, results(b, class), pickedM, nil)
	}
	s.remark("a/B was left alone: its class loader does not see the hooks")
	for copies := 2; copies >= 0; copies-- {
		want := 1
		if copies > 0 {
			want = 2
		}
		if len(s.Methods()) != want || len(b.fresh) != want || s.Classes() != want {
			t.Errorf("with %d copies %v are woven, to be described %v, %d classes", copies, s.Methods(), b.fresh, s.Classes())
		}
		s.remark("a/B was left alone: no answer came in time")
	}
	if len(s.LeftAlone()) != 2 {
		t.Errorf("left alone: %v", s.LeftAlone())
	}
}

// TestAMethodWithHooksAtItsCallsAloneIsNotHooked also has it chosen while it was
// being woven, too late.
func TestAMethodWithHooksAtItsCallsAloneIsNotHooked(t *testing.T) {
	s := &Session{}
	s.book.init()
	woven := results(&s.book, "a/B")
	woven[0].Sites = 1
	s.choices.add(&s.book, Request{Sites: []Site{{
		Class: "a/B", Name: "m", Descriptor: "()V", Owner: "n/N", Called: "n", CalledDescriptor: "()V",
		Native: Hook{Class: "n/N", Name: "n", Descriptor: "()V", Flags: arena.On},
	}}})
	off := s.book.note("a/B", woven, &picking{}, &s.choices)
	if s.IsHooked(s.ID("a/B", "m", "()V")) || !s.IsHooked(s.ID("n/N", "n", "()V")) {
		t.Errorf("hooked are %v", s.Methods())
	}
	if len(off) != 1 || off[0] != s.ID("n/N", "n", "()V") {
		t.Errorf("to be switched on: %#x", off)
	}
	if !s.choices.has("a/B") {
		t.Error("a class with a chosen call alone is not woven")
	}
}

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

func TestSplitMember(t *testing.T) {
	class, name, descriptor, ok := SplitMember("a/B.m(La/C;)V")
	if !ok || class != "a/B" || name != "m" || descriptor != "(La/C;)V" {
		t.Errorf("%q %q %q %t", class, name, descriptor, ok)
	}
	for _, text := range []string{"", "m()V", ".m()V", "a/B.m"} {
		if _, _, _, ok := SplitMember(text); ok {
			t.Errorf("%q was taken for a method", text)
		}
	}
}
