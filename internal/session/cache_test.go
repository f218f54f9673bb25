package session

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// cachedSession is one without a JVM that keeps what it weaves in a directory. What was
// kept is there when the returned function has been called.
func cachedSession(t testing.TB, dir string) (*Session, func()) {
	t.Helper()
	kept := cache.Open(cache.Options{Dir: dir}, func(err error) { t.Error(err) })
	s := weavingSession(t, kept)
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
		return Hook{MethodRef: classfile.MethodRef{Class: "a/B", Name: name, Descriptor: "()V"}, Flags: arena.On}
	}
	site := func(caller string) Site {
		return Site{
			Caller: classfile.MethodRef{Class: "a/B", Name: caller, Descriptor: "()V"},
			Called: classfile.MethodRef{Class: "java/lang/Thread", Name: "yield", Descriptor: "()V"},
			Native: Hook{MethodRef: classfile.MethodRef{Class: "java/lang/Thread", Name: "yield", Descriptor: "()V"}, Flags: arena.On},
		}
	}
	s.addTargets(Request{
		Hooks: []Hook{hook("m"), hook("broken"), hook("native"), hook("calls")}, Sites: []Site{site("calls"), site("lost")},
	})
	s.addSpots([]instrument.Spot{
		spotOf("m", instrument.Watches, "a", always{}), spotOf("m", instrument.Watches, "b", always{steps: 3}), spotOf("m", instrument.Anchors, "c"),
		spotOf("lean", instrument.Watches, "a", always{steps: 70_000}), spotOf("lean", instrument.Watches, "b"), // too long: woven without
		spotOf("native", instrument.Watches, "a"), spotOf("bridge", instrument.Tags, "a"), spotOf("none", instrument.Watches, "a"),
		spotOf("m", instrument.Watches, "bad", always{fails: true}),
	})
}

// noted is what the session has recorded of a class.
type noted struct {
	Woven   []byte
	Off     inactive
	Methods []Method
	Left    []LeftAlone
	Spots   map[uint32]bool
	Probes  map[uint32]arena.Probe
	Fresh   []arena.Method
	Classes int
}

func (s *Session) weaveNoted(t *testing.T, class []byte) noted {
	t.Helper()
	woven, off, err := s.weaveBytes(t.Context(), "a/B", class)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(off.hooks)
	slices.Sort(off.spots)
	fresh := slices.Clone(s.state.undescribed)
	slices.SortFunc(fresh, func(a, b arena.Method) int { return int(int64(a.ID) - int64(b.ID)) })
	return noted{
		bytes.Clone(woven), off, s.methods(), s.leftAlone(), s.state.spots.woven, s.state.probes, fresh, s.wovenClasses(),
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
		have.Woven = want.Woven
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
	watched := func(form instrument.Form, codes ...weave.Lowered) func(*Session) {
		return func(s *Session) {
			p := spotOf("m", instrument.Watches, "a", codes...)
			p.Form = form
			s.addSpots([]instrument.Spot{p})
		}
	}
	called := func(caller string) func(*Session) {
		return func(s *Session) {
			s.addTargets(Request{Sites: []Site{{
				Caller: classfile.MethodRef{Class: "a/B", Name: caller, Descriptor: "()V"},
				Called: classfile.MethodRef{Class: "java/lang/Thread", Name: "yield", Descriptor: "()V"},
				Native: Hook{MethodRef: classfile.MethodRef{Class: "java/lang/Thread", Name: "yield", Descriptor: "()V"}},
			}}})
		}
	}
	dir := filepath.Join(t.TempDir(), "cache")
	class := busyClass()
	for name, ask := range map[string]func(*Session){
		"a hook": func(s *Session) {
			s.addTargets(Request{Hooks: []Hook{{MethodRef: classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"}}}})
		},
		"another hook": func(s *Session) {
			s.addTargets(Request{Hooks: []Hook{{MethodRef: classfile.MethodRef{Class: "a/B", Name: "plain", Descriptor: "()V"}}}})
		},
		"no condition":      watched(instrument.Plain),
		"a condition":       watched(instrument.Plain, always{}),
		"another condition": watched(instrument.Plain, always{steps: 1}),
		"another constant":  watched(instrument.Plain, always{calls: "a/C"}),
		"at exit":           watched(instrument.Late, nil, always{}),
		"at entry":          watched(instrument.Late, always{}),
		"a value":           watched(instrument.Capturing),
		"another key":       func(s *Session) { s.addSpots([]instrument.Spot{spotOf("m", instrument.Watches, "b")}) },
		"another kind":      func(s *Session) { s.addSpots([]instrument.Spot{spotOf("m", instrument.Anchors, "a")}) },
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

// BenchmarkCacheBesideWeaving puts a class that the cache has beside the same woven
// again, with all that a session does: it is ordered, found or woven, and noted. Classes
// are some of java.base, a fifth of them at a time, by size; with hooks in all their
// methods, and in one.
func BenchmarkCacheBesideWeaving(b *testing.B) {
	classes := benchClasses(b)
	for _, of := range []string{"all", "one"} {
		plain, dir := bareSession(b), filepath.Join(b.TempDir(), "cache")
		filling, keep := cachedSession(b, dir)
		filling.settings.Notice = func(text string) { b.Log(text) }
		askFor(b, filling, classes, of)
		keep()
		cached, keep := cachedSession(b, dir)
		cached.settings.Notice = func(text string) { b.Log(text) }
		defer keep()
		askFor(b, plain, classes, of)
		askFor(b, cached, classes, of)
		for part := range 5 {
			some := classes[part*len(classes)/5 : (part+1)*len(classes)/5]
			total := 0
			for _, c := range some {
				total += len(c.file)
			}
			for _, way := range []struct {
				name string
				s    *Session
			}{{"weave", plain}, {"hit", cached}} {
				b.Run(fmt.Sprintf("%s/%dB/%s", of, total/len(some), way.name), func(b *testing.B) {
					i, before := 0, processorTime(b)
					for b.Loop() {
						some[i%len(some)].weave(b, way.s)
						i++
					}
					b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
				})
			}
		}
		if n := cached.Weavings().Woven; n > 0 {
			b.Errorf("%d classes were not found: %+v", n, cached.Weavings())
		}
	}
}

// processorTime is what this process has taken of it, which others on the machine do not
// change much.
func processorTime(b *testing.B) int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
		b.Fatal(err)
	}
	return now.Nano()
}

// A benchClass is one with methods that can have hooks.
type benchClass struct {
	name    string
	file    []byte
	methods []Hook
}

// askFor asks for hooks in all classes, and has each woven once.
func askFor(b *testing.B, s *Session, classes []benchClass, of string) {
	for i := range classes {
		s.addTargets(classes[i].request(of))
		classes[i].weave(b, s)
	}
}

func (c *benchClass) request(of string) Request {
	if of == "one" {
		return Request{Hooks: c.methods[:1]}
	}
	return Request{Hooks: c.methods}
}

func (c *benchClass) weave(b *testing.B, s *Session) {
	if woven, _, err := s.weaveBytes(b.Context(), c.name, c.file); err != nil || len(woven) == 0 {
		b.Fatal(c.name, err)
	}
}

func benchClasses(b *testing.B) (classes []benchClass) {
	b.Helper()
	jdks := jvmtest.Installed()
	if len(jdks) == 0 {
		b.Skip("NOT MEASURED: no JDK is installed")
	}
	image, err := jimage.Open(jdks[0].Image())
	if err != nil {
		b.Skip("NOT MEASURED: ", err)
	}
	defer image.Close()
	live, err := weave.CompileTemplate(agent.LiveTemplate())
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	err = image.Each(func(module, path string, data []byte) error {
		if n++; module != "java.base" || !strings.HasSuffix(path, ".class") || n%12 != 0 {
			return nil
		}
		c := benchClass{file: bytes.Clone(data)}
		result, err := weave.NewWeaver().Weave(c.file, func(m weave.MethodInfo) []*weave.Template {
			c.name = m.Class
			return []*weave.Template{live}
		})
		if err == nil && instrument.Exemption(c.name) == "" {
			for _, r := range result.Methods {
				if r.Woven {
					c.methods = append(c.methods, Hook{MethodRef: classfile.MethodRef{Class: c.name, Name: r.Name, Descriptor: r.Descriptor}})
				}
			}
		}
		if len(c.methods) > 0 {
			classes = append(classes, c)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	slices.SortFunc(classes, func(a, b benchClass) int { return len(a.file) - len(b.file) })
	return classes
}
