package pack

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

var update = flag.Bool("update", false, "write the golden anew; read the difference before you commit it")

func TestContentComesBack(t *testing.T) {
	want := sampleContent(t)
	slices.SortFunc(want.Classes[1:3], func(a, b Class) int {
		return bytes.Compare(a.Entry.Original.Digest[:], b.Entry.Original.Digest[:])
	})
	p := opened(t, written(t, want))
	wantContent(t, p, asRead(want))
	wantClasses(t, p, want.Classes)
	for _, absent := range []string{"", "a/C", "a/b", "a/\xff", "AaAa", "AaBB", "a/\xed\xa0\xbd"} {
		if _, found := p.Find(absent, want.Classes[0].Original); found || p.Has(absent) {
			t.Errorf("%q was found", absent)
		}
	}
	if _, found := p.Find("a/B", want.Classes[1].Original); found || !p.Has("a/B") {
		t.Error("a class was found by the bytes of another")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Content(); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed pack: %v", err)
	}
	if _, found := p.Find("a/B", want.Classes[0].Original); found {
		t.Error("a closed pack finds classes")
	}
}

func TestAnEmptyPackIsOne(t *testing.T) {
	p := opened(t, written(t, &Content{}))
	wantContent(t, p, &Content{})
	if _, found := p.Find("a/B", nil); found {
		t.Error("it finds something")
	}
	if s := p.Sizes(); s.Classes != 0 || s.Deltas != 0 || s.File == 0 {
		t.Errorf("%+v", s)
	}
}

// TestOrderAndTimesDoNotMatter also has a class that is there twice.
func TestOrderAndTimesDoNotMatter(t *testing.T) {
	want := written(t, sampleContent(t))
	random := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		c := sampleContent(t)
		c.Classes = append(c.Classes, c.Classes[3])
		random.Shuffle(len(c.Classes), func(i, j int) { c.Classes[i], c.Classes[j] = c.Classes[j], c.Classes[i] })
		for _, class := range c.Classes {
			class.Entry.Made = class.Entry.Made.Add(1e9)
		}
		if !bytes.Equal(written(t, c), want) {
			t.Fatal("the same content makes other bytes")
		}
	}
}

func TestWhatCannotBePackedIsRefused(t *testing.T) {
	for want, spoil := range map[string]func(c *Content){
		"nothing of it is woven": func(c *Content) { c.Classes[0].Entry.Woven = nil },
		"not the one that was":   func(c *Content) { c.Classes[0].Original = []byte("another") },
		"is no build":            func(c *Content) { c.Build = strings.Repeat("x", 33) },
		"no class file has it":   func(c *Content) { c.Classes[0].Entry.Class = "a/\xf0\x9f\x98\x80" },
		"no class file has it'":  func(c *Content) { c.Watches.Bridges[0] = "\x80" },
		"no class file has it\"": func(c *Content) { c.Watches.Anchors[0].Member = "\xc3" },
		"in two ways": func(c *Content) {
			other := *c.Classes[0].Entry
			other.Woven = []byte("other")
			c.Classes = append(c.Classes, Class{&other, c.Classes[0].Original})
		},
	} {
		c := sampleContent(t)
		spoil(c)
		err := Write(new(bytes.Buffer), c)
		if want = strings.TrimRight(want, `'"`); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
}

// TestGolden leaves out the image, which the arena's own tests are for, and how the cold part is
// deflated, which may change with Go.
func TestGolden(t *testing.T) {
	c := sampleContent(t)
	c.Classes = c.Classes[:3]
	file := written(t, c)
	p := opened(t, file)
	clear(file[frontSumAt : frontSumAt+4])
	clear(file[summedFrom : summedFrom+8])
	image, cold := p.header.parts.image, p.header.parts.cold
	plain, err := inflate(file[cold.at:], int(cold.at))
	if err != nil {
		t.Fatal(err)
	}
	p.header.parts.cold.size, p.header.length, p.header.coldSum = 0, 0, 0
	copy(file[summedFrom:], p.header.append(nil)[summedFrom:])
	file = slices.Concat(file[:image.at], file[image.at+image.size:cold.at], []byte(plain))
	golden := filepath.Join("testdata", "small.hex")
	have := []byte(hex.Dump(file))
	if *update {
		if err := os.WriteFile(golden, have, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("the pack is not that of %s: say so in docs/formats/pack.md and raise the version, or find out why\n%s", golden, have)
	}
}

// TestTheImageIsAnArena does what the agent does.
func TestTheImageIsAnArena(t *testing.T) {
	c := sampleContent(t)
	image, err := opened(t, written(t, c)).Image()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "arena"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(image.Length); err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(image.Bytes, 0); err != nil {
		t.Fatal(err)
	}
	a, err := arena.Open(file, false)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	names, err := a.Methods()
	if want := []arena.Method{{ID: 0x1234567, Name: "a.B.c(I)V"}, {ID: 0x89abcdef, Name: "a.Two.d()V"}}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%v, %v", names, err)
	}
}
