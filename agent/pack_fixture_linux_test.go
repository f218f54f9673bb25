package agent_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// A packed is the fixture with a pack of its classes, some of which have changed since.
type packed struct {
	t       *testing.T
	jdk     jvmtest.JDK
	dir     string
	classes string    // directory
	twins   [2]string // directories
	file    string    // the pack
	options []string  // of the JVM
	table   func([]arena.WatchEntry) ([]uint64, error)
	ids     map[uint32]string // of spots
	target  *jvmtest.Running
}

func newPacked(t *testing.T, jdk jvmtest.JDK) *packed {
	t.Helper()
	p := &packed{t: t, jdk: jdk, dir: t.TempDir(), ids: make(map[uint32]string), table: arena.WatchTable}
	p.classes = filepath.Join(p.dir, "classes")
	p.copy(filepath.Join("testdata", "Packed.java"), p.classes)
	for i := range p.twins {
		p.twins[i] = filepath.Join(p.dir, fmt.Sprintf("twin%d", i))
		p.copy(filepath.Join("testdata", "packed", "PackedTwin.java"), p.twins[i])
	}
	p.flip(filepath.Join(p.twins[1], "PackedTwin.class"), 0x23456789)
	p.pack(
		spotIn(filepath.Join(p.classes, "PackedWork.class"), "next", "next"),
		spotIn(filepath.Join(p.classes, "PackedWork.class"), "fail", "fail"),
		spotIn(filepath.Join(p.classes, "PackedChanged.class"), "number", "changed"),
		spotIn(filepath.Join(p.classes, "PackedLost.class"), "number", "lost"),
		packedSpot{filepath.Join(p.classes, "PackedLabels.class"), "as", packedTagName, [3]uint64{packedTag}},
		packedSpot{filepath.Join(p.classes, "PackedLabels.class"), "count", "labelled", [3]uint64{0, 0, 1 << packedTag}},
		spotIn(filepath.Join(p.twins[0], "PackedTwin.class"), "number", "twin"),
		spotIn(filepath.Join(p.twins[1], "PackedTwin.class"), "number", "other twin"),
	)
	p.flip(filepath.Join(p.classes, "PackedChanged.class"), 0x12345678)
	return p
}

// copy compiles sources, and gives the classes in a directory of their own.
func (p *packed) copy(source, to string) {
	p.t.Helper()
	dir := jvmtest.Compile(p.t, p.jdk, jvmtest.Fixture{Sources: []string{source}})
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		p.t.Fatal(err)
	}
}

// flip changes one bit of a class file: the last of a constant.
func (p *packed) flip(file string, constant uint32) {
	p.t.Helper()
	class, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	at := bytes.Index(class, binary.BigEndian.AppendUint32(nil, constant))
	if at < 0 {
		p.t.Fatalf("%s has no constant %#x", file, constant)
	}
	class[at+3] ^= 1
	if err := os.Chmod(file, 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, class, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// packedTag is the number of a tag whose point has this name.
const packedTag, packedTagName = 3, "label"

// A packedSpot is a method of a class file that is watched, by a name of its own.
type packedSpot struct {
	file, method, name string
	words              [3]uint64
}

func spotIn(file, method, name string) packedSpot {
	return packedSpot{file: file, method: method, name: name}
}

// pack makes the pack.
func (p *packed) pack(spots ...packedSpot) {
	p.t.Helper()
	content := &pack.Content{Build: agent.AgentBuild(), Engine: cache.Engine(), Title: "Packed"}
	watch := boundTemplate(p.t, agent.WatchTemplate, nil)
	tag := boundTemplate(p.t, agent.TagTemplate, firstArgument{"PackedLabels", "as", "(Ljava/lang/String;)V"})
	files := make(map[string]map[string]*weave.Template) // by file and method
	var entries []arena.WatchEntry
	for i, s := range spots {
		id := uint32(90_000 + i)
		p.ids[id] = s.name
		if files[s.file] == nil {
			files[s.file] = make(map[string]*weave.Template)
		}
		files[s.file][s.method] = watch.As(int32(id))
		flags := arena.On | arena.Timed | arena.Flat
		if s.name == packedTagName {
			files[s.file][s.method] = tag.As(int32(id))
			flags = arena.On
		}
		entries = append(entries, arena.WatchEntry{Probe: arena.Probe{ID: id, Flags: flags}, Words: s.words})
		class := strings.TrimSuffix(filepath.Base(s.file), ".class")
		content.Names = append(content.Names, pack.Name{ID: id, Class: class, Method: s.method, Descriptor: "()V", Probe: s.name})
	}
	table, err := p.table(entries)
	if err != nil {
		p.t.Fatal(err)
	}
	content.Watches = control.Watches{Table: table}
	for file, methods := range files {
		content.Classes = append(content.Classes, p.woven(file, methods))
	}
	p.file = filepath.Join(p.dir, "a.pack")
	to, err := os.Create(p.file)
	if err != nil {
		p.t.Fatal(err)
	}
	defer to.Close()
	if err := pack.Write(to, content); err != nil {
		p.t.Fatal(err)
	}
}

func (p *packed) woven(file string, methods map[string]*weave.Template) pack.Class {
	p.t.Helper()
	original, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	result, err := weave.NewWeaver().Weave(original, func(m weave.MethodInfo) []*weave.Template {
		if methods[m.Name] == nil {
			return nil
		}
		return []*weave.Template{methods[m.Name]}
	})
	if err != nil || result.Bytes == nil {
		p.t.Fatalf("%s: %+v, %v", file, result, err)
	}
	class := strings.TrimSuffix(filepath.Base(file), ".class")
	return pack.Class{Original: original, Entry: cache.NewEntry(cache.Weaving{
		Class: class, Original: cache.OriginalOf(original), Result: result,
	})}
}

// start starts the program with the pack, and another agent behind Sonde's.
func (p *packed) start(arguments ...string) {
	p.t.Helper()
	jar := filepath.Join(p.dir, "agent of sonde.jar")
	if err := os.WriteFile(jar, agent.AgentJar(), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.target = jvmtest.Start(p.t, p.jdk, jvmtest.Launch{Args: append(slices.Clone(p.options), []string{
		"-javaagent:" + jar + "=" + strings.Join(append(arguments, "pack="+p.file), ","), "-javaagent:" + p.otherAgent(),
		"-cp", p.classes, "Packed", p.twins[0], p.twins[1],
	}...)})
}

// otherAgent is a jar that has the program's main class be an agent.
func (p *packed) otherAgent() string {
	p.t.Helper()
	file, err := os.Create(filepath.Join(p.dir, "other.jar"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer file.Close()
	jar := zip.NewWriter(file)
	manifest, err := jar.Create("META-INF/MANIFEST.MF")
	if err != nil {
		p.t.Fatal(err)
	}
	const text = "Manifest-Version: 1.0\nPremain-Class: Packed\nCan-Retransform-Classes: true\n"
	if _, err := io.WriteString(manifest, text); err != nil {
		p.t.Fatal(err)
	}
	if err := jar.Close(); err != nil {
		p.t.Fatal(err)
	}
	return file.Name()
}

// notice is what the program's notice says; empty where there is none.
func (p *packed) notice() string {
	text, _ := os.ReadFile(fmt.Sprintf("/tmp/.sonde_pack%d", p.target.PID))
	return string(text)
}

// open maps the arena, for which the notice names it.
func (p *packed) open(path string) *arena.Arena {
	p.t.Helper()
	select {
	case <-p.target.Ended():
	default:
		await(p.t, "the notice", func() bool { return p.notice() != "" })
		if want := path + "\n" + p.file + "\n"; p.notice() != want {
			p.t.Fatalf("the notice says %q, want %q", p.notice(), want)
		}
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	defer file.Close()
	a, err := arena.Open(file, true)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { a.Close() })
	return a
}

// tell has the program do something.
func (p *packed) tell(line string) string {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.target.Stdin, line); err != nil {
		p.t.Fatal(err)
	}
	what, _, _ := strings.Cut(line, " ")
	return strings.TrimPrefix(p.target.Await(p.t, what+" "), what+" ")
}

func (p *packed) tells(line, want string) {
	p.t.Helper()
	if got := p.tell(line); got != want {
		p.t.Errorf("%s: it says %q, want %q", line, got, want)
	}
}

// counts compares the calls of all spots.
func (p *packed) counts(a *arena.Arena, want map[string]uint64) {
	p.t.Helper()
	sum, err := a.Sum(0)
	if err != nil {
		p.t.Fatal(err)
	}
	got := make(map[string]uint64)
	for id, totals := range sum.Methods {
		got[p.ids[id]] = totals.Calls
		if totals.Timed != totals.Calls {
			p.t.Errorf("%s: %d of %d calls are timed", p.ids[id], totals.Timed, totals.Calls)
		}
	}
	if !maps.Equal(got, want) {
		p.t.Errorf("calls are %v, want %v", got, want)
	}
}

// lineOf is where a text is in the fixture.
func lineOf(t *testing.T, text string) int {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", "Packed.java"))
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(source), text)
	if !found {
		t.Fatalf("the fixture has no %q", text)
	}
	return strings.Count(before, "\n") + 1
}
