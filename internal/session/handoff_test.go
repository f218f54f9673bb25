package session

import (
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// handing is a session without a JVM in which tasks carry their context.
func handing(t *testing.T, feature int) (s *Session, notices *[]string) {
	t.Helper()
	notices = new([]string)
	s = bareSession(t)
	s.jdk = jdk.Version{Feature: feature}
	s.settings.Notice = func(text string) { *notices = append(*notices, text) }
	s.weaver.AddHandOff()
	return s, notices
}

// classWith is a class that has methods which do nothing, by name and descriptor.
func classWith(name string, members ...string) []byte {
	b := classtest.NewBuilder(61, name)
	for _, member := range members {
		method, arguments, _ := strings.Cut(member, "(")
		end, body := "return", classtest.NewAssembler()
		switch arguments[strings.IndexByte(arguments, ')')+1] {
		case 'V':
		case 'I', 'Z':
			body, end = body.Op("iconst_0"), "ireturn"
		default:
			body, end = body.Op("aconst_null"), "areturn"
		}
		b.AddMethod(9, method, "("+arguments, body.Op(end).Code(b, 1, 8))
	}
	return b.Bytes()
}

// TestWhatIsNotFollowedIsTold has a JDK without some of the methods, and one that is
// too old to have them.
func TestWhatIsNotFollowedIsTold(t *testing.T) {
	const future, builders = "java/util/concurrent/FutureTask", "java/lang/ThreadBuilders"
	s, notices := handing(t, 25)
	for range 2 {
		for _, class := range []string{future, builders} {
			if _, _, err := s.weaveBytes(t.Context(), class, classWith(class, "runAndReset()Z")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(*notices) != 2 || !strings.Contains((*notices)[0], "submitted to an executor") || !strings.Contains((*notices)[1], "virtual threads") {
		t.Errorf("told: %q", *notices)
	}
	s, notices = handing(t, 18)
	if _, _, err := s.weaveBytes(t.Context(), builders, classWith(builders, "newVirtualThread()V")); err != nil || len(*notices) != 0 {
		t.Errorf("told of a JDK without virtual threads: %q, %v", *notices, err)
	}
}

// TestAnExemptClassOnlyHandsOn asks for hooks in one that must have none.
func TestAnExemptClassOnlyHandsOn(t *testing.T) {
	const builders = "java/lang/ThreadBuilders"
	s, _ := handing(t, 25)
	method, _ := classfile.ParseMethodRef(instrument.HandOffMethods(builders)[0].String())
	spot := instrument.Spot{MethodRef: classfile.MethodRef{Class: builders, Name: "other", Descriptor: "()V"}, Key: "a"}
	s.addSpots([]instrument.Spot{spot})
	class := classWith(builders, method.Member(), "other()V")
	if !s.mayWeave(control.Transform{Name: builders}) || s.mayWeave(control.Transform{Name: "java/lang/VirtualThread"}) {
		t.Error("the wrong classes may be woven")
	}
	woven, off, err := s.weaveBytes(t.Context(), builders, class)
	if err != nil || woven == nil || len(off.hooks) != 0 || len(off.spots) != 0 || len(s.methods()) != 0 {
		t.Errorf("hooks in %v, to be switched on %v: %v", s.methods(), off, err)
	}
	if ids := idsIn(t, woven, method.Name); len(ids) != 0 {
		t.Errorf("ids %#x stand in it", ids)
	}
	if left := s.leftAlone(); !slices.Contains(left, LeftAlone{Class: builders, Method: "other()V", Reason: instrument.Exemption(builders)}) {
		t.Errorf("left alone: %v", left)
	}
}

// TestHandOffsAreShownAsTheyLoad though nobody wants to see the JDK's classes.
func TestHandOffsAreShownAsTheyLoad(t *testing.T) {
	s, _ := handing(t, 25)
	s.look(Settings{}).follower = &Follower{Excludes: []string{"java/"}}
	filters, excludes := s.filters()
	if !slices.Equal(filters, []control.Filter{{}}) {
		t.Errorf("filters %v", filters)
	}
	for _, class := range instrument.HandOffClasses() {
		if isExcluded(slashed(class), excludes) {
			t.Errorf("%s is not shown", class)
		}
	}
	if !isExcluded("java/util/ArrayList", excludes) || !isExcluded("java/lang/String", excludes) || isExcluded("com/acme/Shop", excludes) {
		t.Errorf("of %d excludes none fits", len(excludes))
	}
}
