package pack

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
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
}

// TestTemplatesComeBack: what templates of the user record has names in the pack, and tags have numbers.
func TestTemplatesComeBack(t *testing.T) {
	want := sampleContent(t)
	want.Tags = []string{"tenant", "refusals"}
	want.Records = []Record{
		{ID: 5, Probe: "slow"},
		{ID: 6, Probe: "slow", Record: weave.Record{Name: "cents", Kind: weave.Histogram}, Groups: []string{"tenant"}},
		{ID: 1<<32 - 1, Probe: "slow", Record: weave.Record{Name: "refusals", Kind: weave.Event}, Groups: []string{"tenant", "refusals"}},
	}
	p := opened(t, written(t, want))
	wantContent(t, p, asRead(want))
	want.Records[0].Kind = weave.Tag + 1
	if _, failed := read(written(t, want)); failed == nil || !errors.Is(failed, ErrDamaged) {
		t.Errorf("a record of an unknown kind: %v", failed)
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
		"no method of it is woven": func(c *Content) { c.Classes[0].Entry.Woven = nil },
		"differs from the class":   func(c *Content) { c.Classes[0].Original = []byte("another") },
		"is not the build":         func(c *Content) { c.Build = strings.Repeat("x", 33) },
		"not a name that a class":  func(c *Content) { c.Classes[0].Entry.Class = "a/\xf0\x9f\x98\x80" },
		"not a name that a class ": func(c *Content) { c.Watches.Bridges[0] = "\x80" },
		"a name that a class file": func(c *Content) { c.Watches.Anchors[0].Member = "\xc3" },
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
	plain := inflate(file[cold.at:], int(cold.at))
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
	p := opened(t, written(t, c))
	image := p.header.arena
	image.Bytes = p.bytes(p.header.parts.image)
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

// classOf is a class file, as far as a pack is concerned, and what becomes of it.
func classOf(name, original, woven string) Class {
	return Class{
		Original: []byte(original),
		Entry: &cache.Entry{
			Class: name, Original: cache.OriginalOf([]byte(original)), Engine: "the engine", Made: time.UnixMilli(1_700_000_000_000),
			Woven: []byte(woven), Methods: []cache.Method{
				{MethodResult: weave.MethodResult{Name: "pay", Descriptor: "(I)V", Woven: true}, HasID: true, ID: 77, Templates: []string{"watch"}, Offsets: "\x00\x05\x09"},
				{MethodResult: weave.MethodResult{Name: "print", Descriptor: "()V", Reason: &weave.Reason{Kind: weave.TooLarge, Detail: "70000 bytes"}}},
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
	if got := p.Content(); !reflect.DeepEqual(got, want) {
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

// TestHashesAreJavas has values that Java gives.
func TestHashesAreJavas(t *testing.T) {
	for name, want := range map[string]int32{
		"":                         0,
		"a":                        97,
		"hello":                    99162322,
		"java/lang/Object":         2080463411,
		"polygenelubricants":       -2147483648,
		"\xc3\xa4\xc3\xb6":         7314,
		"\xe4\xb8\xad":             20013,
		"\xed\xa0\xbd\xed\xb8\x80": 1772899,
		"\xc0\x80":                 0,
	} {
		all, err := units(name)
		if have := int32(hash(all)); err != nil || have != want {
			t.Errorf("%q: %d, not %d (%v)", name, have, want, err)
		}
	}
}

func TestTextsComeBack(t *testing.T) {
	for _, text := range []string{"", "a/B", "\xc0\x80", "\xc3\xbf", "\xc4\x80", "\xed\xa0\xbd\xed\xb8\x80", "a\xe4\xb8\xad"} {
		all, err := units(text)
		if err != nil {
			t.Fatal(err)
		}
		encoded, length := encodeText(all)
		if uint64(len(encoded)) != textSize(length) || decodeText(encoded, length) != text {
			t.Errorf("%q: %q, %#x", text, encoded, length)
		}
	}
}

// TestNamesThatShareAHash are told apart, and found.
func TestNamesThatShareAHash(t *testing.T) {
	var classes []Class
	for n := range 64 { // Aa and BB hash alike
		name := "p/"
		for i := range 6 {
			name += []string{"Aa", "BB"}[n>>i&1]
		}
		classes = append(classes, classOf(name, "class "+name, "woven "+name))
	}
	p := opened(t, written(t, &Content{Classes: classes[:60]}))
	wantClasses(t, p, classes[:60])
	for _, c := range classes[60:] {
		if p.Has(c.Entry.Class) {
			t.Errorf("%s is there", c.Entry.Class)
		}
	}
}

// TestNamesChosenToBeAlike: whoever makes names of one hash is not waited for.
func TestNamesChosenToBeAlike(t *testing.T) {
	records := make([]record, 100_000)
	if _, err := makeIndex(records[:1000]); err != nil {
		t.Error(err)
	}
	if _, err := makeIndex(records); !errors.Is(err, ErrAlike) {
		t.Error(err)
	}
	for i := range records {
		records[i][recordHash] = uint32(i) * 31
	}
	if _, err := makeIndex(records); err != nil {
		t.Error(err)
	}
}

// TestAMissCostsOneLook counts what names take that are not in a pack.
func TestAMissCostsOneLook(t *testing.T) {
	records := make([]record, 3000)
	names := make([]string, len(records))
	for i := range names {
		names[i] = fmt.Sprintf("com/acme/shop/%s/Order%d", strings.Repeat("x", i%7), i)
	}
	if _, err := link(records, names); err != nil {
		t.Fatal(err)
	}
	index, err := makeIndex(records)
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	const misses = 10_000
	for i := range misses {
		all, err := units(fmt.Sprintf("org/other/pieces/of/Program$%d", i))
		if err != nil {
			t.Fatal(err)
		}
		for at := slotOf(hash(all), len(index)); ; at = (at + 1) % len(index) {
			looks++
			if index[at] == 0 {
				break
			}
		}
	}
	if mean := float64(looks) / misses; mean > 1.3 {
		t.Errorf("a miss takes %.2f looks", mean)
	}
}

// realClass is a small class file with its woven form.
func realClass(t testing.TB) Class {
	t.Helper()
	class, err := os.ReadFile(filepath.FromSlash("../../../classfile/testdata/zoo/17/Nested$Deep.class"))
	if err != nil {
		t.Fatal(err)
	}
	woven, ok := weaveClass(t, class)
	if !ok {
		t.Fatal("it could not be woven")
	}
	return woven.entry()
}

// isFoundByAgent is what the agent asks: neither the name nor the SHA-256 helps.
func isFoundByAgent(p *Pack, file []byte) bool {
	for i := range p.records {
		if p.records[i].is(file) {
			return true
		}
	}
	return false
}

// TestAClassOneBitAwayIsNotFound turns every bit of a class file.
func TestAClassOneBitAwayIsNotFound(t *testing.T) {
	class := realClass(t)
	p := opened(t, written(t, &Content{Classes: []Class{class}}))
	wantClasses(t, p, []Class{class})
	near := bytes.Clone(class.Original)
	for at := range near {
		for bit := range 8 {
			near[at] ^= 1 << bit
			if _, found := p.Find(class.Entry.Class, near); found || isFoundByAgent(p, near) {
				t.Fatalf("byte %d, bit %d: it was found", at, bit)
			}
			near[at] ^= 1 << bit
		}
	}
	for n := range near {
		if isFoundByAgent(p, near[:n]) {
			t.Fatalf("cut to %d bytes it was found", n)
		}
	}
}

// TestABurstIsNotFound changes up to 32 bits in a row: each checksum alone must tell.
func TestABurstIsNotFound(t *testing.T) {
	class := realClass(t).Original
	sum32, sum32C := crc32.ChecksumIEEE(class), sum(class)
	random := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		near := bytes.Clone(class)
		at, burst := random.IntN(8*len(near)-31), random.Uint32()|1
		for i := range 32 {
			near[(at+i)/8] ^= byte(burst>>i&1) << ((at + i) % 8)
		}
		if crc32.ChecksumIEEE(near) == sum32 || sum(near) == sum32C {
			t.Fatalf("%#x at bit %d makes no difference", burst, at)
		}
	}
}

// TestClassesOfOneName has many with the same name, and asks for each.
func TestClassesOfOneName(t *testing.T) {
	var classes []Class
	for n := range 40 {
		name := "a/Same"
		if n%3 == 0 {
			name = "a/Other"
		}
		original := bytes.Repeat([]byte{byte(n)}, 50)
		woven := append([]byte("woven"), original...)
		classes = append(classes, Class{&cache.Entry{Class: name, Original: cache.OriginalOf(original), Woven: woven}, original})
	}
	p := opened(t, written(t, &Content{Classes: classes}))
	wantClasses(t, p, classes)
	if _, found := p.Find("a/Same", classes[0].Original); found {
		t.Error("it was found under another name")
	}
}
