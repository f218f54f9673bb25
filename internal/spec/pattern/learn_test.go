package pattern_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

const (
	public      = uint16(1)
	bridge      = uint16(classfile.AccBridge | classfile.AccSynthetic)
	abstract    = uint16(classfile.AccAbstract)
	anInterface = uint16(classfile.AccAbstract | classfile.AccInterface)
)

// A method is made for a test. Its text is name(descriptor).
type method struct {
	text       string
	access     uint16
	annotation string // descriptor
	calls      string // class.name(descriptor)
}

// class returns a class with a superclass and interfaces: "a/B extends a/C implements a/D a/E".
func class(access uint16, declaration, annotation string, methods ...method) universe.Loaded {
	words := strings.Fields(declaration)
	b := classtest.NewBuilder(61, words[0])
	b.Access = access
	for i, word := range words {
		switch {
		case word == "extends":
			b.Super = b.Class(words[i+1])
		case i > 0 && slices.Contains(words[:i], "implements"):
			b.Interfaces = append(b.Interfaces, b.Class(word))
		}
	}
	annotated := func(kind, descriptor string) []byte {
		return b.Attribute(kind, uint16(1), b.Utf8(descriptor), uint16(0))
	}
	if annotation != "" {
		b.AddAttribute(annotated("RuntimeInvisibleAnnotations", annotation))
	}
	for _, m := range methods {
		name, parameters, _ := strings.Cut(m.text, "(")
		var attributes [][]byte
		if m.access&abstract == 0 {
			code := []byte{byte(opcode.Return)}
			if called, ok := classfile.ParseMethodRef(m.calls); ok {
				index := b.Method(called.Class, called.Name, called.Descriptor)
				code = classtest.Cat(uint8(opcode.Invokestatic), index, code)
			}
			attributes = append(attributes, b.Attribute("Code", uint16(1), uint16(1), uint32(len(code)), code, uint16(0), uint16(0)))
		}
		if m.annotation != "" {
			attributes = append(attributes, annotated("RuntimeVisibleAnnotations", m.annotation))
		}
		b.AddMethod(m.access, name, "("+parameters, attributes...)
	}
	return universe.Loaded{Name: words[0], Loader: 1, File: b.Bytes()}
}

// zoo are classes with types, annotations and calls. Subtypes come before their supertypes.
func zoo() []universe.Loaded {
	return []universe.Loaded{
		class(public, "a/Deep extends a/Memory", "", method{text: "put(I)V"}, method{text: "other()V"}),
		class(public, "a/Memory extends a/Partial", "", method{text: "put(I)V"}, method{text: "put(J)V"}),
		class(public|abstract, "a/Partial implements a/Store", "", method{text: "partial()V"}, method{text: "missing()V", access: abstract}),
		class(anInterface, "a/Store implements a/Closing", "", method{text: "put(I)V", access: abstract}, method{text: "twice()V"}),
		class(anInterface, "a/Closing", "", method{text: "close()V", access: abstract}),
		class(public, "a/File extends a/Writer implements a/Store", "", method{text: "close()V"}),
		class(public, "a/Writer", "", method{text: "put(I)V"}, method{text: "flush()V"}),
		class(anInterface, "a/Handler", "", method{text: "handle(Ljava/lang/Object;)V", access: abstract}),
		class(public, "a/Orders implements a/Handler", "", method{text: "handle(La/Order;)V"}, method{text: "handle(Ljava/lang/Object;)V", access: bridge, calls: "a.Orders.handle(La/Order;)V"}),
		class(public, "a/Clock", "Lx/Timed;", method{text: "<init>()V"}, method{text: "<clinit>()V"}, method{text: "tick()V"}, method{text: "lambda$0()V", access: uint16(classfile.AccSynthetic)}),
		class(public, "a/Work", "", method{text: "timed()V", annotation: "Lx/Timed;"}, method{text: "<init>()V", annotation: "Lx/Timed;"}, method{text: "plain()V", annotation: "Ly/timed;"}),
		class(anInterface, "a/Api", "", method{text: "get()V", access: abstract, annotation: "Lx/Get;"}, method{text: "set()V", access: abstract}),
		class(public, "a/Server implements a/Api", "", method{text: "get()V"}, method{text: "set()V"}),
		class(public, "a/Client", "", method{text: "one()V", calls: "net.Socket.connect(I)V"}, method{text: "two()V", calls: "net.Secure.connect(I)V"}, method{text: "three()V", calls: "net.Pipe.connect(I)V"}, method{text: "four()V"}),
		class(public, "net/Secure extends net/Socket", ""),
		class(public, "net/Socket", "", method{text: "connect(I)V"}),
	}
}

func TestLearn(t *testing.T) {
	for _, tt := range []struct {
		patterns string
		want     string // methods with code
	}{
		{"a.Store.put", "a/Deep.put(I)V a/Memory.put(I)V a/Writer.put(I)V"},
		{"a.Store.put(long)", ""},
		{"a.Store.*", "a/Deep.put(I)V a/Memory.put(I)V a/Store.twice()V a/Writer.put(I)V"},
		{"a.Store.twice", "a/Store.twice()V"},
		{"a.Store.close", "a/File.close()V"},
		{"a.Closing.close", "a/File.close()V"},
		{"a.Partial.missing", ""},
		{"a.Partial.partial", "a/Partial.partial()V"},
		{"a.Memory.put", "a/Memory.put(I)V a/Memory.put(J)V"},
		{"a.Memory+.put", "a/Deep.put(I)V a/Memory.put(I)V a/Memory.put(J)V"},
		{"a.Memory+.**", "a/Deep.other()V a/Deep.put(I)V a/Memory.put(I)V a/Memory.put(J)V"},
		{"a.Store+.put(int)", "a/Deep.put(I)V a/Memory.put(I)V"},
		{"a.Handler.handle", "a/Orders.handle(La/Order;)V"},
		{"@x.Timed", "a/Clock.tick()V a/Work.<init>()V a/Work.timed()V"},
		{"@**.Timed", "a/Clock.tick()V a/Work.<init>()V a/Work.timed()V"},
		{"@x.Get", "a/Server.get()V"},
		{"a.Api.*", "a/Server.get()V a/Server.set()V"},
		{"a.Api.* !@x.Get", "a/Server.set()V"},
		{"a.Memory.** !a.Store.put", "a/Memory.put(J)V"},
		{"** calls net.Socket.connect", "a/Client.one()V a/Client.two()V"},
		{"** calls net.*.connect", "a/Client.one()V a/Client.three()V a/Client.two()V"},
		{"** calls net.Socket.connect(long)", ""},
		{"a.Client.t* calls net.Socket+.*", "a/Client.two()V"},
		{"b.** calls net.Socket.connect", ""},
		{"a.Handler.handle calls net.Socket.connect", ""},
	} {
		set := parseSet(t, tt.patterns)
		u := universe.Of(nil, zoo())
		pattern.LearnAll(u, set.Patterns())
		if got := selected(u, set); got != tt.want {
			t.Errorf("%s selects %q, want %q", tt.patterns, got, tt.want)
		}
	}
}

// parseSet parses patterns that are separated by blanks; calls is part of a pattern.
func parseSet(t *testing.T, text string) *pattern.Set {
	t.Helper()
	words := strings.Fields(text)
	for i := 1; i+1 < len(words); i++ {
		if words[i] == "calls" {
			words = slices.Replace(words, i-1, i+2, strings.Join(words[i-1:i+2], " "))
		}
	}
	set, err := pattern.ParseSet(words...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// selected returns the methods with code that a set contains.
func selected(u *universe.Universe, set *pattern.Set) string {
	found := make(map[string]bool)
	for c := range u.All() {
		for i := range u.Open(c).Methods {
			m := &u.Open(c).Methods[i]
			name, descriptor, _ := u.Open(c).MemberName(m)
			ref := classfile.MethodRef{Class: c.Name, Name: string(name), Descriptor: string(descriptor)}
			if !m.Access.Has(classfile.AccAbstract) && set.Match(ref) {
				found[c.Name+"."+ref.Member()] = true
			}
			if set.Match(ref) && !set.MatchClass(c.Name) {
				found["not the class of "+ref.String()] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), " ")
}

// TestLearnLoaded: classes load one after the other, subclasses first, as in a JVM.
func TestLearnLoaded(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		loaded  int // classes that are loaded before
	}{{"a.Store.put", 0}, {"a.Store.put", 4}, {"a.Store+.put(int)", 0}, {"@x.Get", 0}} {
		want, set := parseSet(t, tt.pattern), parseSet(t, tt.pattern)
		all := universe.Of(nil, zoo())
		pattern.LearnAll(all, want.Patterns())
		u := universe.Of(nil, zoo()[:tt.loaded])
		pattern.LearnAll(u, set.Patterns())
		for _, c := range zoo()[tt.loaded:] {
			pattern.LearnLoaded(u, u.Load(c.Name, c.File), set.Patterns())
		}
		if got, want := selected(u, set), selected(all, want); got != want || got == "" {
			t.Errorf("%s with %d classes loaded before selects %q, want %q", tt.pattern, tt.loaded, got, want)
		}
	}
}

// TestDoubt: a class begins to load before what is above it, and must have its hooks then.
func TestDoubt(t *testing.T) {
	for _, text := range []string{"a.Store.put", "a.Store.put calls net.Socket.connect"} {
		set := parseSet(t, text)
		p := set.Includes()[0]
		u := universe.Of(nil, []universe.Loaded{class(anInterface, "a/Store", "", method{text: "put(I)V", access: abstract})})
		pattern.LearnAll(u, set.Patterns())
		late := method{text: "put(I)V", calls: "net.Socket.connect()V"}
		for _, tt := range []struct {
			loaded        universe.Loaded
			match, doubts string // classes
		}{
			{class(public, "b/Late extends b/Base", "", late), "b/Late", "b/Late"},
			{class(public, "b/Other extends b/Plain", "", late, method{text: "put(J)V"}), "b/Late b/Other", "b/Late b/Other"},
			{class(public, "b/Plain", ""), "b/Late", "b/Late"},
			{class(public, "b/Base extends b/Top", ""), "b/Late", "b/Late"},
			{class(public, "b/Top implements a/Store", ""), "b/Late", ""},
			{class(public, "b/Third extends b/Plain", "", late), "b/Late", ""},
		} {
			pattern.LearnLoaded(u, u.Load(tt.loaded.Name, tt.loaded.File), set.Patterns())
			var match, doubts []string
			for c := range u.All() {
				put := classfile.MethodRef{Class: c.Name, Name: "put", Descriptor: "(I)V"}
				if c.Name != "a/Store" && p.Match(put) {
					match = append(match, c.Name)
				}
				if p.Doubts(put) {
					doubts = append(doubts, c.Name)
				}
			}
			if strings.Join(match, " ") != tt.match || strings.Join(doubts, " ") != tt.doubts {
				t.Errorf("%s: after %s has loaded, it matches %q and doubts %q, want %q and %q", text, tt.loaded.Name, match, doubts, tt.match, tt.doubts)
			}
		}
	}
}

func TestNeedsTypes(t *testing.T) {
	u := universe.Of(nil, zoo())
	for _, tt := range []struct {
		pattern                     string
		needs, may, reads, isByName bool // reads a/Work
	}{
		{"a.Store.put", true, true, true, false},
		{"a.Store.twice", false, true, false, true},
		{"a.Memory.put", false, true, false, true},
		{"a.**", false, false, true, true},
		{"b.**", false, false, false, true},
		{"b.Unknown.put", false, true, false, true},
		{"a.Memory+.put", true, true, true, false},
		{"@x.Timed", true, true, true, false},
		{"a.** calls net.Socket.connect", false, false, true, false},
		{"b.** calls net.Socket.connect", false, false, false, false},
		{"@x.Timed calls net.Socket.connect", true, true, true, false},
	} {
		p := parseSet(t, tt.pattern).Includes()[0]
		pattern.LearnAll(u, []*pattern.Pattern{p})
		if p.NeedsTypes() != tt.needs || p.MayNeedTypes() != tt.may || p.ReadsClass("a/Work") != tt.reads || p.IsByName() != tt.isByName {
			t.Errorf("%s: needs types %t, may %t, reads a/Work %t, by name %t; want %+v", tt.pattern, p.NeedsTypes(), p.MayNeedTypes(), p.ReadsClass("a/Work"), p.IsByName(), tt)
		}
		if prefix, suffix := p.ClassBounds(); tt.needs && prefix+suffix != "" {
			t.Errorf("%s: bounds %q and %q, want none", tt.pattern, prefix, suffix)
		}
	}
}

// TestLearnSupers: a class without a file may have a method that matches.
func TestLearnSupers(t *testing.T) {
	proxy := universe.Loaded{Name: "$Proxy7", Loader: 1, Supers: []string{"java/lang/reflect/Proxy", "a/Store"}}
	for text, want := range map[string]bool{"a.Store.put": true, "a.Closing+.close": true, "a.Api.get": false, "@x.Timed": false, "a.Store.twice": false} {
		set := parseSet(t, text)
		pattern.LearnAll(universe.Of(nil, append(zoo(), proxy)), set.Patterns())
		if got := set.MatchClass("$Proxy7"); got != want {
			t.Errorf("%s may match a proxy of a/Store: %t, want %t", text, got, want)
		}
	}
}

func TestLackAndNear(t *testing.T) {
	for _, tt := range []struct {
		pattern, lack string
		near          []string
	}{
		{"a.Partial.missing", "no loaded class implements a.Partial.missing", nil},
		{"@z.Timed", "no method or class that is loaded carries @z.Timed", []string{"x.Timed", "y.timed"}},
		{"** calls a.Socket.connect", "no method of a loaded class that matches ** calls a.Socket.connect", []string{"net.Socket.connect"}},
		{"b.Memory+.put", "no loaded class has a method that matches b.Memory+.put", []string{"a.Memory"}},
		{"a.Memori+.put", "no loaded class has a method that matches a.Memori+.put", []string{"a.Memory"}},
		{"a.Memroy+.put", "no loaded class has a method that matches a.Memroy+.put", []string{"a.Memory"}},
		{"a.Memory.putt", "no loaded class implements a.Memory.putt", []string{"a.Memory.put"}},
		{"a.Hand+.put", "no loaded class has a method that matches a.Hand+.put", []string{}},
		{"@a.clock.Store", "no method or class that is loaded carries @a.clock.Store", []string{"a.Store"}},
	} {
		p := parseSet(t, tt.pattern).Includes()[0]
		u := universe.Of(nil, zoo())
		pattern.LearnAll(u, []*pattern.Pattern{p})
		names := func(yield func(string) bool) {
			for c := range u.All() {
				if !yield(c.Name) {
					return
				}
			}
		}
		if near := p.Near(names); p.IsMet() || p.Lack() != tt.lack || !slices.Equal(near, tt.near) && tt.near != nil {
			t.Errorf("%s: met %t, %q, near %q; want %q, near %q", tt.pattern, p.IsMet(), p.Lack(), near, tt.lack, tt.near)
		}
	}
}

func TestParseTypes(t *testing.T) {
	for text, want := range map[string]string{ // the text, or what is wrong
		"a.B+.c":                        "a.B+.c",
		"!a.B+.c(int)":                  "!a.B+.c(int)",
		" ** \t calls  a.B.c ":          "** calls a.B.c",
		"@a.B calls a.B#c":              "@a.B calls a.B.c",
		"!@a.B":                         "!@a.B",
		"a.*+.c":                        "+ stands for the subtypes of one class",
		"@a.B(int)":                     "'(' cannot be part of a name",
		"@":                             "a name is missing here",
		"a.B.c calls @a.B":              "a method is expected after calls",
		"a.B.c calls":                   "a blank cannot be part of a name",
		"a.B.c calls d.E.f calls g.H.i": "a blank cannot be part of a name",
		"calls a.B.c":                   "a blank cannot be part of a name",
	} {
		p, err := pattern.Parse(text)
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && p.String() != want {
			t.Errorf("%q: %v, %v, want %s", text, p, err, want)
		}
	}
}

func TestNamed(t *testing.T) {
	for text, want := range map[string]string{
		"a.Shop.pay":           "a.Shop.pay",
		"a.Shop$Cart.pay(int)": "a.Shop$Cart.pay",
		"a.*.pay":              "",
		"a.Shop.*":             "",
		"**":                   "",
		"a.Shop+.pay":          "",
		"@a.Timed":             "",
		"** calls a.Shop.pay":  "",
	} {
		p, err := pattern.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range p.Named() {
			names = append(names, m.QualifiedName())
		}
		if got := strings.Join(names, " "); got != want && (want == "" || !slices.Contains(names, want)) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
