package build

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/spec/spectest"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
)

const sellProbe = `
version: 1
probes:
  - name: sell
    methods: goods.Store.sell
    level: time
`

// TestPlanKnowsArchives: jars in jars, wars, directories and every version of a class.
func TestPlanKnowsArchives(t *testing.T) {
	dir, files := goods(t)
	store := files["goods/Store"]
	inner := jarOf(t, map[string][]byte{"goods/Store.class": store})
	for name, entries := range map[string]map[string][]byte{
		"jar":    {"goods/Store.class": store, "module-info.class": {1}},
		"boot":   {"BOOT-INF/lib/store.jar": inner},
		"war":    {"WEB-INF/classes/goods/Store.class": store},
		"lib":    {"WEB-INF/lib/store.jar": inner, "WEB-INF/lib/again.jar": inner},
		"signed": {"goods/Store.class": store, "META-INF/A.SF": []byte("x"), "META-INF/A.RSA": {1}},
	} {
		p := plan(t, sellProbe, Settings{}, writeJar(t, entries))
		if got := told(p); got != "goods/Store | static | no rule names it | +sell" {
			t.Errorf("%s: %s", name, got)
		}
	}
	p := plan(t, sellProbe, Settings{}, dir)
	if got := told(p); got != "goods/Store | static | no rule names it | +sell" || p.Read != 4 {
		t.Errorf("%d: %s", p.Read, got)
	}
	if !strings.HasSuffix(p.Classes[0].In, filepath.Join("goods", "Store.class")) {
		t.Error(p.Classes[0].In)
	}
	several := writeJar(t, map[string][]byte{"goods/Store.class": store, "META-INF/versions/17/goods/Store.class": other(store)})
	p = plan(t, sellProbe, Settings{}, several)
	if len(p.Classes) != 2 || !p.Classes[0].IsPacked() || !p.Classes[1].IsPacked() || p.Classes[0].In == p.Classes[1].In {
		t.Errorf("%+v", p.Classes)
	}
	content, err := p.Content()
	if err != nil {
		t.Fatal(err)
	}
	if len(content.Classes) != 2 || len(content.Names) != 1 || len(content.Watches.Table) == 0 || content.Title != "app.jar" {
		t.Errorf("%+v", content)
	}
}

// TestPlanByType: methods are selected by type and by call, also by types of the JDK.
func TestPlanByType(t *testing.T) {
	dir, _ := goods(t)
	for pattern, want := range map[string]string{
		"java.lang.Record.hashCode":            "goods/Grade | static | no rule names it | +hashCode",
		"'goods.** calls goods.Item.getPrice'": "goods/Store | static | no rule names it | +first | +sell",
		"goods.Item+.getWeight":                "goods/Item | static | no rule names it | +getWeight",
	} {
		p := plan(t, strings.Replace(sellProbe, "goods.Store.sell", pattern, 1), settings(t), dir)
		if got := told(p); got != want {
			t.Errorf("%s: got %s, want %s", pattern, got, want)
		}
	}
}

// TestConditionsBeforehand: getters are called of the class that is woven, whose bytes are
// known when it loads. Of others fields are read: those classes may be of another version.
func TestConditionsBeforehand(t *testing.T) {
	dir, _ := goods(t)
	s := settings(t)
	of := func(when string) (*Planned, error) {
		set := read(t, sellProbe)
		set.Probes[0].When = spectest.Expr(when)
		return Plan(t.Context(), []string{dir}, set, s)
	}
	for _, when := range []string{"$1.weight > 3", "$this.stock > 3", "$this.getStock() > 3", "$return > 3"} {
		if _, err := of(when); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	for when, want := range map[string]string{
		"$1.getWeight() > 3": "another version of goods.Item than these files; read a field that goods.Store can see",
		"$1.price > 3":       "goods.Item.price is private, and goods.Item.getPrice cannot be called",
		"$2.value() > 1":     "another version of goods.Grade",
		"$this.idle() > 1":   "goods.Store has no method without arguments idle",
		"$this.full":         "goods.Store.isFull can be overridden",
		"$this.dear":         "goods.Store.isDear uses a static member of goods.Item or of a class",
		"$this.first() > 1":  "goods.Item.getPrice cannot be called",
	} {
		p, err := of(when)
		if isWrong := when == "$this.idle() > 1"; isWrong {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error is %v, want %q", when, err, want)
			}
			continue
		}
		if err != nil || len(p.Dropped) != 1 || !strings.Contains(p.Dropped[0], want) || !strings.Contains(p.Dropped[0], "sonde apply") || !errors.Is(p.Refusal(), ErrEmpty) {
			t.Errorf("%s: %v; %+v; want that the probe is dropped because of %q", when, err, p, want)
		}
	}
}

// TestSeveralClassesOfAName: a condition must mean the same in each.
func TestSeveralClassesOfAName(t *testing.T) {
	_, files := goods(t)
	set := read(t, sellProbe)
	set.Probes[0].When = spectest.Expr("$1.weight > 3")
	jar := writeJar(t, map[string][]byte{
		"goods/Store.class": files["goods/Store"], "goods/Item.class": files["goods/Item"], "META-INF/versions/17/goods/Item.class": other(files["goods/Item"]),
	})
	p, err := Plan(t.Context(), []string{jar}, set, settings(t))
	if err != nil || len(p.Dropped) != 1 || !strings.Contains(p.Dropped[0], "goods.Item is not known") {
		t.Errorf("%v; %+v; want that the probe is dropped because goods.Item is not known", err, p)
	}
}

// TestRules: the first that names a class decides.
func TestRules(t *testing.T) {
	dir, _ := goods(t)
	const probes = `
version: 1
probes:
  - name: all
    methods: ['goods.**', java.lang.Integer.parseInt, 'goods.Store.none', '!**.<init>', '!goods.Main.*']
    level: count
weave:
  - classes: goods.Item
    when: %
  - classes: goods.Grade
    when: never
  - classes: goods.**
    when: static
`
	for _, when := range []string{"load", "dynamic", "never"} {
		p := plan(t, strings.Replace(probes, "%", when, 1), settings(t), dir)
		same(t, told(p), strings.Join([]string{
			"goods/Grade | never | rule goods.Grade says never",
			"goods/Item | " + when + " | rule goods.Item says " + when,
			"goods/Store | static | rule goods.** says static | +getStock | +isFull | +isDear | +first | +sell | +weigh | +idle | -lock()V probe all: it is native: it has no bytecode for a hook",
			"java/lang/Integer | dynamic | " + ofJDK,
		}, "\n"))
		if len(p.Unmatched) != 2 || p.Unmatched[0] != (Unmatched{"probe all", "goods.Store.none", false}) || p.Unmatched[1] != (Unmatched{"probe all", "java.lang.Integer.parseInt", true}) {
			t.Errorf("%+v", p.Unmatched)
		}
		if p.Classes[1].Methods != 2 || p.Classes[0].Methods != 4 {
			t.Errorf("%+v", p.Classes)
		}
		content, err := p.Content()
		if err != nil {
			t.Fatal(err)
		}
		if len(content.Left) != 3 || content.Left[0] != (pack.Left{Class: "goods/Grade", Reason: "rule goods.Grade says never"}) {
			t.Errorf("%+v", content.Left)
		}
	}
	p := plan(t, strings.Replace(strings.Replace(sellProbe, "sell\n    level", "*\n    level", 1), "probes:", "weave: [{classes: '**', when: load}]\nprobes:", 1), settings(t), dir)
	if err := p.Refusal(); !errors.Is(err, ErrEmpty) {
		t.Error(err)
	}
	if len(p.Unmatched) != 0 {
		t.Errorf("%+v", p.Unmatched)
	}
}

// TestRefusals: what a pack cannot do is said in one line.
func TestRefusals(t *testing.T) {
	dir, _ := goods(t)
	p := plan(t, strings.Replace(sellProbe, "level: time", "level: trace\n    for: 3s", 1)+"  - name: more\n    methods: goods.Store.sell\n    captures: [$return]\n", Settings{}, dir)
	if _, err := p.Content(); err != nil {
		t.Error(err)
	}
	if want := "in a pack, probe sell has level time: level trace needs a running Sonde"; len(p.Dropped) != 2 || p.Dropped[0] != want {
		t.Errorf("dropped is %q, want %q and another", p.Dropped, want)
	}
	if !strings.Contains(told(p), "+sell") || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "for: and calls: of sell") {
		t.Errorf("%s %q", told(p), p.Notes)
	}
	p = plan(t, strings.Replace(sellProbe, "level: time", "within: goods.Main.main", 1), Settings{}, dir)
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "do not follow tasks") || !strings.Contains(told(p), "goods/Main | static | no rule names it | +main") {
		t.Errorf("%s %q", told(p), p.Notes)
	}
	p = plan(t, strings.Replace(sellProbe, "level: time", "context: 2", 1)+"hand-off: false\n", Settings{}, dir)
	if len(p.Notes) != 1 || p.Notes[0] != "results of sell are grouped by tags, callers or texts of events: in a pack, the first 256 groups of all probes together are distinguished, and the rest is counted as (other); sonde apply distinguishes more" {
		t.Errorf("%q", p.Notes)
	}
	if _, err := Plan(t.Context(), []string{jvmtest.Need(t, 17).Image()}, read(t, sellProbe), Settings{}); !errors.As(err, new(*ImageError)) {
		t.Error(err)
	}
	if _, err := Plan(t.Context(), []string{"no.jar"}, read(t, sellProbe), Settings{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	broken := writeJar(t, map[string][]byte{"WEB-INF/classes/goods/Store.class": []byte("\xca\xfe\xba\xbe"), "other/Class.class": {1}})
	p = plan(t, sellProbe, Settings{}, broken)
	if len(p.Broken) != 1 || p.Broken[0].Class != "goods/Store" || !errors.Is(p.Refusal(), ErrEmpty) {
		t.Errorf("%+v", p.Broken)
	}
}

// TestTemplate: a template of the user is in the pack with the names of what it records, and tags have the numbers by which hooks
// set them, also where one of the file is not in the pack.
func TestTemplate(t *testing.T) {
	dir, _ := goods(t)
	runtime := filepath.Join(t.TempDir(), "runtime.jar")
	if err := os.WriteFile(runtime, agent.RuntimeJar(), 0o600); err != nil {
		t.Fatal(err)
	}
	compiled := jvmtest.Compile(t, jvmtest.Need(t, 17), jvmtest.Fixture{Sources: []string{"testdata/Sold.java"}, Classpath: []string{runtime}, Flags: []string{"--release", "8", "-Xlint:-options"}})
	class, err := os.ReadFile(filepath.Join(compiled, "Sold.class"))
	if err != nil {
		t.Fatal(err)
	}
	set := read(t, sellProbe+"tags:\n  - {name: weight, value: $1.getWeight(), at: goods.Store.sell}\n  - {name: stock, value: $this.stock, at: goods.Store.sell}\n")
	set.Probes[0].Own, set.Probes[0].GroupBy = &probeset.OwnTemplate{File: "Sold.java", Class: class}, []string{"stock"}
	p, err := Plan(t.Context(), []string{dir}, set, settings(t))
	if err != nil {
		t.Fatal(err)
	}
	content, err := p.Content()
	if err != nil {
		t.Fatal(err)
	}
	var records []string
	entries := make(map[uint64]bool)
	for _, word := range content.Watches.Table {
		entries[word>>32] = true
	}
	for _, r := range content.Records {
		records = append(records, fmt.Sprintf("%s %s %v %q", r.Probe, r.Name, r.Kind, r.Groups))
		if !entries[uint64(r.ID)] {
			t.Errorf("%+v is not in the table", r)
		}
	}
	slices.Sort(records)
	same(t, strings.Join(records, "\n"), `sell  counter ["stock"]`+"\n"+`sell refused event ["stock" "refused"]`+"\n"+`sell sold counter ["stock"]`)
	same(t, fmt.Sprintf("%q %d", content.Tags, len(content.Names)), `["stock" "refused"] 1`)
	if len(p.Dropped) != 1 || !strings.Contains(p.Dropped[0], "tag weight") {
		t.Errorf("dropped is %q", p.Dropped)
	}
}

// TestSamePackTwice: the same classes and the same set make the same bytes, wherever the
// archive lies, and whether classes are woven or kept.
func TestSamePackTwice(t *testing.T) {
	_, files := goods(t)
	set := strings.Replace(sellProbe, "goods.Store.sell", "goods.*.*", 1)
	var first []byte
	for range 3 {
		p := plan(t, set, Settings{Probes: []byte(set)}, writeJar(t, map[string][]byte{
			"goods/Store.class": files["goods/Store"], "goods/Item.class": files["goods/Item"], "goods/Grade.class": files["goods/Grade"],
		}))
		got := packed(t, p)
		if first == nil {
			first = got
		}
		if !bytes.Equal(got, first) {
			t.Error("the pack differs")
		}
	}
}

func packed(t *testing.T, p *Planned) []byte {
	t.Helper()
	content, err := p.Content()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := pack.Write(&out, content); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// h2Jar is what Debian installs.
const h2Jar = "/usr/share/java/h2.jar"

// TestPacksH2: a real program, read back.
func TestPacksH2(t *testing.T) {
	if _, err := os.Stat(h2Jar); err != nil {
		t.Skipf("MISSING %s: install libh2-java", h2Jar)
	}
	const probes = `
version: 1
probes:
  - name: commands
    methods: ['org.h2.command.**', '!**.toString']
    level: time
`
	p := plan(t, probes, settings(t), h2Jar)
	content := packed(t, p)
	path := filepath.Join(t.TempDir(), "h2.pack")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	opened, err := pack.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i := range p.Classes {
		f := &p.Classes[i]
		if !f.IsPacked() {
			continue
		}
		entry, is := opened.Find(f.Class, f.original)
		if !is || !bytes.Equal(entry.Woven, f.entry.Woven) {
			t.Errorf("%s comes back as something else", f.Class)
		}
		if _, is := opened.Find(f.Class, other(f.original)); is {
			t.Errorf("%s is found for another class file", f.Class)
		}
		found++
	}
	if found < 100 {
		t.Errorf("%d classes", found)
	}
	if p.Classes[0].When != probeset.Static {
		t.Errorf("%+v", p.Classes[0])
	}
}

// goods compiles the fixture, and gives its directory and its class files by name.
func goods(t *testing.T) (dir string, files map[string][]byte) {
	t.Helper()
	sources, err := filepath.Glob("testdata/goods/*.java")
	if err != nil {
		t.Fatal(err)
	}
	dir = jvmtest.Compile(t, jvmtest.Need(t, 17), jvmtest.Fixture{Sources: sources, Flags: []string{"--release", "17"}})
	files = make(map[string][]byte)
	for _, name := range []string{"goods/Store", "goods/Item", "goods/Grade"} {
		if files[name], err = os.ReadFile(filepath.Join(dir, name+".class")); err != nil {
			t.Fatal(err)
		}
	}
	return dir, files
}

// other is a class file with other bytes and the same code.
func other(class []byte) []byte {
	changed := slices.Clone(class)
	changed[7]-- // of the version
	return changed
}

// jarOf makes a jar in memory.
func jarOf(t *testing.T, entries map[string][]byte) []byte {
	t.Helper()
	var jar bytes.Buffer
	out := zip.NewWriter(&jar)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		entry, err := out.Create(name)
		if err == nil {
			_, err = entry.Write(entries[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return jar.Bytes()
}

func writeJar(t *testing.T, entries map[string][]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "app.jar")
	if err := os.WriteFile(path, jarOf(t, entries), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read reads a set.
func read(t *testing.T, text string) *probeset.Set {
	t.Helper()
	set, err := probeset.Parse([]byte(text), "probes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// settings are the usual ones, with a JDK.
func settings(t *testing.T) Settings {
	t.Helper()
	return Settings{Image: jvmtest.Need(t, 17).Image(), Notice: func(text string) { t.Log(text) }}
}

func plan(t *testing.T, set string, s Settings, paths ...string) *Planned {
	t.Helper()
	p, err := Plan(t.Context(), paths, read(t, set), s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// told are fates in a line each: class, fate, why, methods and what is left.
func told(p *Planned) string {
	var lines []string
	for i := range p.Classes {
		f := &p.Classes[i]
		words := []string{f.Class, f.When.String(), f.Why}
		for j := range f.entryMethods() {
			words = append(words, "+"+f.entryMethods()[j])
		}
		for _, left := range f.Left {
			words = append(words, "-"+left.Method+" "+left.Reason)
		}
		lines = append(lines, strings.Join(words, " | "))
	}
	return strings.Join(lines, "\n")
}

// entryMethods are the names of methods that are woven.
func (f *Fate) entryMethods() (names []string) {
	if f.entry == nil {
		return nil
	}
	for i := range f.entry.Methods {
		if m := &f.entry.Methods[i]; m.Woven {
			names = append(names, m.Name)
		}
	}
	return names
}

// same compares texts.
func same(t *testing.T, have, want string) {
	t.Helper()
	if have != want {
		t.Errorf("have\n%s\nwant\n%s", have, want)
	}
}
