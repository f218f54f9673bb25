package pack

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

func wantDelta(t testing.TB, d *differ, original, woven []byte) []byte {
	t.Helper()
	delta := d.diff(original, woven)
	got, ok := apply(delta, original, d.dictionary, len(woven))
	if !ok || !bytes.Equal(got, woven) {
		t.Fatalf("%.99q becomes %.99q (%v), not %.99q, by %.99x", original, got, ok, woven, delta)
	}
	return delta
}

func TestDeltas(t *testing.T) {
	const text = "the quick brown fox jumps over the lazy dog"
	const longer = text + " and runs away from all of it again"
	for _, one := range []struct{ dictionary, original, woven, want string }{
		{"", "", "", ""},
		{"", "", "abc", "\x03abc"},
		{"", text, text, "\x00\xaf\x01"}, // all, behind a copy of nothing
		{"", text, "a " + text, "\x02a \xac\x01"},
		{"", longer, longer[:40] + "X" + longer[41:], "\x00\xa3\x01\x01X\x97\x01"},
		{"", text, text[:20] + "X" + text[21:], "+" + text[:20] + "X" + text[21:]}, // copies of so little are not worth their while
		{"", text, text + text, "\x00\xaf\x01\x00\xae\x01\x2b"},
		{text, "", text[4:], "\x00\x9e\x01\x27"},
	} {
		d := differ{dictionary: []byte(one.dictionary)}
		if delta := wantDelta(t, &d, []byte(one.original), []byte(one.woven)); string(delta) != one.want {
			t.Errorf("%q to %q: %q, not %q", one.original, one.woven, delta, one.want)
		}
	}
}

// mix makes something of pieces of others, and of noise.
func mix(random *rand.Rand, pieces ...[]byte) (made []byte) {
	for range random.IntN(30) {
		from := pieces[random.IntN(len(pieces))]
		if len(from) == 0 || random.IntN(4) == 0 {
			for range random.IntN(40) {
				made = append(made, byte(random.IntN(6)))
			}
			continue
		}
		at := random.IntN(len(from))
		made = append(made, from[at:at+random.IntN(len(from)-at)]...)
	}
	return made
}

func TestDeltasOfAnything(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 800 {
		noise := mix(random, nil)
		d := differ{dictionary: mix(random, noise)}
		original := mix(random, noise, d.dictionary)
		for range 3 {
			woven := mix(random, original, d.dictionary, noise)
			wantDelta(t, &d, original, woven)
		}
	}
}

// TestDamagedDeltasAreNoFault spoils deltas, which other checks would have found before.
func TestDamagedDeltasAreNoFault(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	noise := mix(random, nil)
	for range 5_000 {
		d := differ{dictionary: noise}
		original := mix(random, noise)
		woven := mix(random, original, noise)
		delta := d.diff(original, woven)
		for i := range delta {
			if random.IntN(20) == 0 {
				delta[i] = byte(random.Uint32())
			}
		}
		if got, ok := apply(delta, original, noise, len(woven)); ok && len(got) != len(woven) {
			t.Fatalf("%d bytes, not %d", len(got), len(woven))
		}
	}
}

// FuzzDelta: what a delta was made of comes back.
func FuzzDelta(f *testing.F) {
	f.Add([]byte("dictionary"), []byte("original"), []byte("original dictionary original"))
	f.Fuzz(func(t *testing.T, dictionary, original, woven []byte) {
		wantDelta(t, &differ{dictionary: dictionary}, original, woven)
	})
}

// TestPacksAreSmall packs classes of a real program, each with a hook in every method.
func TestPacksAreSmall(t *testing.T) {
	var c Content
	for _, one := range weaveJar(t, h2, 8) {
		c.Classes = append(c.Classes, one.entry())
		for _, m := range one.result.Methods {
			if m.Woven {
				c.Names = append(c.Names, Name{ID: uint32(len(c.Names)), Class: one.name, Method: strings.Clone(m.Name), Descriptor: strings.Clone(m.Descriptor)})
			}
		}
	}
	c.Watches = control.Watches{Table: make([]uint64, 4*2*len(c.Names))}
	p := opened(t, written(t, &c))
	wantClasses(t, p, c.Classes)
	s := p.Sizes()
	share := func(n int64) float64 { return float64(n) / float64(s.Woven) * 100 }
	t.Logf("%d methods of %d classes, %d bytes, woven %d; the pack has %d (%.0f%%): lookup %d, watches %d, dictionary %d, image %d, deltas %d (%.0f%%, %d of a method), cold %d",
		s.Methods, s.Classes, s.Original, s.Woven, s.File, share(s.File), s.Lookup, s.Watches, s.Dictionary, s.Image, s.Deltas, share(s.Deltas), s.Deltas/int64(s.Methods), s.Cold)
	if share(s.Deltas) > 50 {
		t.Errorf("deltas take %.0f%% of the woven classes", share(s.Deltas))
	}
}

// BenchmarkDiff is what making deltas costs, by class.
func BenchmarkDiff(b *testing.B) {
	classes := weaveJar(b, h2, 8)
	var d differ
	i, size := 0, 0
	for b.Loop() {
		c := &classes[i%len(classes)]
		d.diff(c.original, c.woven)
		size += len(c.woven)
		i++
	}
	b.SetBytes(int64(size / i))
}

// A wovenClass is a real one, before and after.
type wovenClass struct {
	name            string
	original, woven []byte
	result          *weave.Result
}

// entry is how a pack has it.
func (w *wovenClass) entry() Class {
	return Class{Original: w.original, Entry: cache.NewEntry(cache.Weaving{
		Class: w.name, Original: cache.OriginalOf(w.original), Result: w.result,
	})}
}

// h2 is a program that is installed where tests of whole programs run.
const h2 = "/usr/share/java/h2.jar"

// weaveJar puts a spot of its own into every method of one class in some of a jar.
func weaveJar(t testing.TB, jar string, oneIn int) (classes []wovenClass) {
	t.Helper()
	files, err := zip.OpenReader(jar)
	if os.IsNotExist(err) {
		t.Skip("NOT TESTED: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	seen := 0
	for _, file := range files.File {
		if !strings.HasSuffix(file.Name, ".class") || strings.HasSuffix(file.Name, "-info.class") {
			continue
		}
		if seen++; seen%oneIn != 0 {
			continue
		}
		from, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		class, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		if one, ok := weaveClass(t, class); ok {
			classes = append(classes, one)
		}
	}
	return classes
}

// weaveClass puts a spot into every method of a class that can have one.
func weaveClass(t testing.TB, class []byte) (woven wovenClass, ok bool) {
	t.Helper()
	template, err := weave.CompileTemplate(agent.WatchTemplate())
	if err != nil {
		t.Fatal(err)
	}
	if template, err = template.Bind(nil); err != nil {
		t.Fatal(err)
	}
	result, err := weave.NewWeaver().Weave(class, func(m weave.MethodInfo) []*weave.Template {
		woven.name = strings.Clone(m.Class)
		if !m.HasCode || m.Name == "<clinit>" {
			return nil
		}
		return []*weave.Template{template.As(weave.MethodID(classfile.MethodRef{Class: m.Class, Name: m.Name, Descriptor: m.Descriptor + fmt.Sprint(len(class))}))}
	})
	if err != nil || result.Bytes == nil {
		return wovenClass{}, false
	}
	woven.original, woven.woven, woven.result = class, bytes.Clone(result.Bytes), result
	woven.result.Bytes = woven.woven // the weaver keeps its own
	return woven, true
}
