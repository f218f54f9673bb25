package pack

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// classOf is a class file, as far as a pack is concerned, and what becomes of it.
func classOf(name, original, woven string) Class {
	return Class{
		Original: []byte(original),
		Entry: &cache.Entry{
			Class: name, Original: cache.OriginalOf([]byte(original)), Engine: "the engine", Made: time.UnixMilli(1_700_000_000_000),
			Woven: []byte(woven), Methods: []cache.Method{
				{Name: "pay", Descriptor: "(I)V", Woven: true, HasID: true, ID: 77, Templates: []string{"watch"}, Offsets: "\x00\x05\x09"},
				{Name: "print", Descriptor: "()V", Reason: weave.Reason{Kind: weave.TooLarge, Detail: "70000 bytes"}},
			},
		},
	}
}

// sampleContent is small, with something of everything, in the order of packs. All
// names are as class files have them: the last has a letter beyond the first 2^16.
func sampleContent(t testing.TB) *Content {
	t.Helper()
	table, err := arena.WatchTable([]arena.WatchEntry{
		{Probe: arena.Probe{ID: 0x1234567, Flags: arena.On | arena.Timed}, Words: [3]uint64{1, 0, 2}},
		{Probe: arena.Probe{ID: 0x89abcdef, Flags: arena.On}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const text = "a class file begins with cafebabe, goes on with constants, and ends with attributes"
	old := classOf("a/Two", text, text+" and hooks")
	old.Entry.Engine = "another engine"
	return &Content{
		Build: "0123456789abcdef0123456789abcdef", Engine: "the engine", Title: "shop.jar", Probes: []byte("probes:\n"),
		Watches: control.Watches{
			Table: table, Anchors: []control.Anchor{{Member: "a/B.c(I)V", Positions: 5}, {Member: "a/\xd0\x96.c()V", Positions: 1 << 27}},
			Bridges: []string{"a/\xc3\xb6.d()V", "x/Y.<init>()V"},
		},
		Names: []Name{
			{ID: 0x1234567, Class: "a/B", Method: "c", Descriptor: "(I)V", Probe: "slow", Sequence: "x > y", Groups: []string{"user", "tenant"}},
			{ID: 0x89abcdef, Class: "a/Two", Method: "d", Descriptor: "()V", Probe: "all"},
		},
		Classes: []Class{
			classOf("a/B", text, "hooks "+text),
			classOf("a/Two", text+"!", "hooks, "+text+"!"),
			old,
			classOf("a/\xc3\xb6", "short", "something else"),
			classOf("a/\xed\xa0\xbd\xed\xb8\x80", text, text),
		},
		Left: []Left{{Class: "a/C", Reason: "a rule"}, {Class: "a/D", Method: "e()V", Reason: "too large"}},
	}
}

// asRead is what comes back of a content.
func asRead(c *Content) *Content {
	read := *c
	read.Classes = nil
	for _, class := range c.Classes {
		e := *class.Entry
		e.Woven, e.Made = nil, time.Time{}
		read.Classes = append(read.Classes, Class{Entry: &e})
	}
	return &read
}

func written(t testing.TB, c *Content) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := Write(&file, c); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func opened(t testing.TB, file []byte) *Pack {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.pack")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func wantContent(t testing.TB, p *Pack, want *Content) {
	t.Helper()
	got, err := p.Content()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the content is\n%+v, not\n%+v", got, want)
	}
}

// wantClasses looks each class up.
func wantClasses(t testing.TB, p *Pack, classes []Class) {
	t.Helper()
	for _, c := range classes {
		got, found := p.Find(c.Entry.Class, c.Original)
		if !found || !bytes.Equal(got.Woven, c.Entry.Woven) {
			t.Errorf("%q: found %v, %+v", c.Entry.Class, found, got)
		}
	}
}
