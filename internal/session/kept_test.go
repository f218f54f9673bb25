package session

import (
	"bytes"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// cachedSession is one without a JVM that keeps what it weaves in a directory. What was
// kept is there when the returned function has been called.
func cachedSession(t testing.TB, dir string) (*Session, func()) {
	t.Helper()
	kept := cache.Open(cache.Options{Dir: dir}, func(err error) { t.Error(err) })
	s := &Session{}
	s.settings.Cache = kept
	s.book.init()
	if err := s.compileTemplates(); err != nil {
		t.Fatal(err)
	}
	return s, func() {
		if err := kept.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// busyClass is a/B with what a class can have that matters: methods that are woven,
// one that is malformed, a native call, one that is woven only without its condition.
func busyClass() []byte {
	b := classtest.NewBuilder(61, "a/B")
	b.Access |= uint16(classfile.AccAbstract)
	body := func() []byte { return classtest.NewAssembler().Op("return").Code(b, 0, 1) }
	b.AddMethod(1, "m", "()V", body())
	b.AddMethod(1, "lean", "()V", body())
	b.AddMethod(1, "plain", "()V", body())
	b.AddMethod(uint16(classfile.AccBridge|classfile.AccPublic), "bridge", "()V", body())
	b.AddMethod(uint16(classfile.AccNative|classfile.AccPublic), "native", "()V")
	b.AddMethod(1, "broken", "()V", classtest.NewAssembler().Raw(uint8(0xfd)).Code(b, 0, 1))
	call := b.Method("java/lang/Thread", "yield", "()V")
	b.AddMethod(1, "calls", "()V", classtest.NewAssembler().Op("invokestatic", call).Op("return").Code(b, 0, 1))
	b.AddMethod(1, "lost", "()V", classtest.NewAssembler().Op("return").Op("invokestatic", call).Op("return").Code(b, 0, 1))
	return b.Bytes()
}

// askAll asks for hooks, calls and spots in busyClass.
func (s *Session) askAll() {
	hook := func(name string) Hook {
		return Hook{Class: "a/B", Name: name, Descriptor: "()V", Flags: arena.On}
	}
	site := func(caller string) Site {
		return Site{
			Class: "a/B", Name: caller, Descriptor: "()V", Owner: "java/lang/Thread", Called: "yield", CalledDescriptor: "()V",
			Native: Hook{Class: "java/lang/Thread", Name: "yield", Descriptor: "()V", Flags: arena.On},
		}
	}
	s.choices.add(&s.book, Request{
		Hooks: []Hook{hook("m"), hook("broken"), hook("native"), hook("calls")}, Sites: []Site{site("calls"), site("lost")},
	})
	s.addSpots([]Spot{
		spotOf("m", Watches, "a", always{}), spotOf("m", Watches, "b", always{steps: 3}), spotOf("m", Anchors, "c"),
		spotOf("lean", Watches, "a", always{steps: 70_000}), spotOf("lean", Watches, "b"), // too long: woven without
		spotOf("native", Watches, "a"), spotOf("bridge", Tags, "a"), spotOf("none", Watches, "a"),
		spotOf("m", Watches, "bad", always{fails: true}),
	})
}

// noted is what the book has of a class.
type noted struct {
	Woven   []byte
	Off     undone
	Methods []Method
	Left    []LeftAlone
	Spots   map[uint32]bool
	Probes  map[uint32]arena.Probe
	Fresh   []arena.Method
	Classes map[string]int
	IDs     map[string]uint32
}

func (s *Session) weaveNoted(t *testing.T, class []byte) noted {
	t.Helper()
	woven, off, err := s.weaveBytes(t.Context(), "a/B", class)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(off.hooks)
	slices.Sort(off.spots)
	fresh := slices.Clone(s.book.fresh)
	slices.SortFunc(fresh, func(a, b arena.Method) int { return int(int64(a.ID) - int64(b.ID)) })
	return noted{
		bytes.Clone(woven), off, s.Methods(), s.LeftAlone(), s.book.wovenSpots(), s.book.probes, fresh, s.book.classes, s.book.ids,
	}
}

// TestCacheGivesWhatTheWeaverDid weaves a class without a cache, into one, and out of
// it: the class and all that is known of it are the same.
func TestCacheGivesWhatTheWeaverDid(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	class := busyClass()
	plain := bareSession(t)
	plain.askAll()
	want := plain.weaveNoted(t, class)
	if len(want.Methods) < 3 || len(want.Left) < 7 || len(want.Spots) != 4 {
		t.Fatalf("the class has too little: %+v, %+v, %v", want.Methods, want.Left, want.Spots)
	}
	for _, counts := range []Weavings{{Woven: 2, Missed: 2}, {Cached: 2}} { // with the long condition, and without
		s, keep := cachedSession(t, dir)
		s.askAll()
		have := s.weaveNoted(t, class)
		keep()
		if !bytes.Equal(have.Woven, want.Woven) {
			t.Errorf("%+v: other bytes", counts)
		}
		have.Woven, have.IDs = want.Woven, want.IDs // ids that no hook has may be known or not
		if !reflect.DeepEqual(have, want) {
			t.Errorf("%+v: noted\n%+v, want\n%+v", counts, have, want)
		}
		if s.Weavings() != counts {
			t.Errorf("%+v, want %+v", s.Weavings(), counts)
		}
	}
}

// TestCacheTellsOrdersApart has one thing differ at a time: none may be given what was
// woven for another.
func TestCacheTellsOrdersApart(t *testing.T) {
	watched := func(form Form, codes ...weave.Lowered) func(*Session) {
		return func(s *Session) {
			p := spotOf("m", Watches, "a", codes...)
			p.Form = form
			s.addSpots([]Spot{p})
		}
	}
	called := func(caller string) func(*Session) {
		return func(s *Session) {
			s.choices.add(&s.book, Request{Sites: []Site{{
				Class: "a/B", Name: caller, Descriptor: "()V", Owner: "java/lang/Thread", Called: "yield", CalledDescriptor: "()V",
				Native: Hook{Class: "java/lang/Thread", Name: "yield", Descriptor: "()V"},
			}}})
		}
	}
	dir := filepath.Join(t.TempDir(), "cache")
	class := busyClass()
	for name, ask := range map[string]func(*Session){
		"a hook": func(s *Session) {
			s.choices.add(&s.book, Request{Hooks: []Hook{{Class: "a/B", Name: "m", Descriptor: "()V"}}})
		},
		"another hook": func(s *Session) {
			s.choices.add(&s.book, Request{Hooks: []Hook{{Class: "a/B", Name: "plain", Descriptor: "()V"}}})
		},
		"no condition":      watched(Plain),
		"a condition":       watched(Plain, always{}),
		"another condition": watched(Plain, always{steps: 1}),
		"another constant":  watched(Plain, always{calls: "a/C"}),
		"at exit":           watched(Late, nil, always{}),
		"at entry":          watched(Late, always{}),
		"a value":           watched(Capturing),
		"another key":       func(s *Session) { s.addSpots([]Spot{spotOf("m", Watches, "b")}) },
		"another kind":      func(s *Session) { s.addSpots([]Spot{spotOf("m", Anchors, "a")}) },
		"a call":            called("calls"),
		"a call elsewhere":  called("lost"),
	} {
		for _, counts := range []Weavings{{Woven: 1, Missed: 1}, {Cached: 1}} {
			s, keep := cachedSession(t, dir)
			ask(s)
			woven := s.weaveNoted(t, class)
			keep()
			if s.Weavings() != counts {
				t.Errorf("%s: %+v, want %+v", name, s.Weavings(), counts)
			}
			plain := bareSession(t)
			ask(plain)
			if want := plain.weaveNoted(t, class); !bytes.Equal(woven.Woven, want.Woven) {
				t.Errorf("%s: other bytes than without a cache", name)
			}
		}
	}
}

// TestCacheLeavesOtherIDsAlone has two methods share an id, so that one has another
// than what is kept says.
func TestCacheLeavesOtherIDsAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	ask := func(s *Session) {
		s.choices.add(&s.book, Request{Hooks: []Hook{{Class: "a/B", Name: "m", Descriptor: "()V"}}})
	}
	first, keep := cachedSession(t, dir)
	ask(first)
	first.weaveNoted(t, busyClass())
	keep()
	s, keep := cachedSession(t, dir)
	defer keep()
	s.book.names[uint32(weave.MethodID("a/B", "m", "()V"))] = "another"
	ask(s)
	woven := s.weaveNoted(t, busyClass()).Woven
	if have := idsIn(t, woven, "m"); !slices.Equal(have, []uint32{s.ID("a/B", "m", "()V")}) || s.Weavings().Cached != 0 {
		t.Errorf("ids %#x, %+v", have, s.Weavings())
	}
}

// TestFingerprintsTellAllApart changes one field of a step at a time.
func TestFingerprintsTellAllApart(t *testing.T) {
	s, keep := cachedSession(t, filepath.Join(t.TempDir(), "cache"))
	defer keep()
	seen := make(map[string]weave.Step)
	for _, step := range []weave.Step{
		{}, {Do: weave.DoLocal}, {Op: opcode.Nop + 1}, {Value: 1}, {Kind: 'J'}, {Live: []weave.Variable{{Slot: 1, Descriptor: "I"}}}, {Stack: []string{"I"}},
		{Stack: []string{"I", "I"}}, {Const: weave.Constant{Text: "a\" b"}}, {Const: weave.Constant{Text: "a\xed b"}}, {Const: weave.Constant{Text: "a\xee b"}},
		{Const: weave.Constant{Name: "a"}}, {Const: weave.Constant{Descr: "a"}}, {Const: weave.Constant{Raw: []byte{1}}}, {Const: weave.Constant{Raw: []byte{2}}},
	} {
		print := s.fingerprint([]weave.Lowered{fixed{step}})
		if other, is := seen[print]; is || print != s.fingerprint([]weave.Lowered{fixed{step}}) {
			t.Errorf("%+v has the fingerprint of %+v, or two", step, other)
		}
		seen[print] = step
	}
	if len(seen[s.fingerprint([]weave.Lowered{nil, fixed{}})].Stack) != 0 || s.fingerprint([]weave.Lowered{nil, fixed{}}) == s.fingerprint([]weave.Lowered{fixed{}}) {
		t.Error("a condition's number makes no difference")
	}
}

// fixed is code of one step.
type fixed struct{ step weave.Step }

func (f fixed) Lower(weave.Moment) (*weave.Fragment, error) {
	return &weave.Fragment{Steps: []weave.Step{f.step}}, nil
}

// TestSlowCacheIsAskedNoMore goes on without, and says so once.
func TestSlowCacheIsAskedNoMore(t *testing.T) {
	s, keep := cachedSession(t, filepath.Join(t.TempDir(), "cache"))
	defer keep()
	var notices []string
	s.settings.Notice = func(text string) { notices = append(notices, text) }
	s.choices.add(&s.book, Request{Hooks: []Hook{{Class: "a/B", Name: "m", Descriptor: "()V"}}})
	s.noteSlow()
	s.noteSlow()
	if woven := s.weaveNoted(t, busyClass()).Woven; len(woven) == 0 || s.Weavings() != (Weavings{Woven: 1}) || len(notices) != 1 {
		t.Errorf("%d bytes, %+v, %q", len(woven), s.Weavings(), notices)
	}
}
