package agent_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// What a pack has is woven as it loads, and counts exactly; what differs by a bit, or
// cannot see the hooks, is loaded as it is, counted and named. All of it goes when that
// is asked for.
func TestPackWeavesWhatLoads(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			p := newPacked(t, jdk)
			p.start("arena=" + filepath.Join(p.dir, "a-%p.arena"))
			a := p.open(filepath.Join(p.dir, fmt.Sprintf("a-%d.arena", p.target.PID)))
			p.tells("work 100", "5050")
			p.tells("changed 1", fmt.Sprint(0x12345678^1))
			p.tells("twins 1", fmt.Sprint(0x23456789, 0x23456789^1))
			one := uint32(0x23456789)
			_, limit := a.Room()
			p.tells("crowd 300", fmt.Sprint(int32(150*one+150*(one^1))))
			await(t, "more room, as so many threads have taken most of it", func() bool {
				_, raised := a.Room()
				return raised > limit
			})
			p.tells("blind 1", "7")
			p.tells("thrown 1", fmt.Sprintf("PackedWork.fail(Packed.java:%d)", lineOf(t, "// the line that is thrown from")))
			p.counts(a, map[string]uint64{"next": 100, "fail": 1, "twin": 151, "other twin": 151})
			wantLeft := []arena.Unwoven{{Why: arena.Differs, Class: "PackedChanged"}, {Why: arena.Blind, Class: "PackedLost"}}
			account, _, err := a.Account()
			if err != nil || account.Woven != 303 || account.Differs != 1 || account.Blind != 1 || account.Failed != 0 ||
				!slices.Equal(account.Left, wantLeft) {
				t.Errorf("%+v, %v", account, err)
			}
			if owner, err := a.Owner(); err != nil || owner.Target != p.target.PID || owner.TargetStart == 0 || owner.Command != "pack "+p.file {
				t.Errorf("%+v, %v", owner, err)
			}
			// Another agent's retransformation leaves the hooks in.
			p.tell("retransform 1")
			p.tells("work 10", "55")
			p.counts(a, map[string]uint64{"next": 110, "fail": 1, "twin": 151, "other twin": 151})

			refusedBy := meet(t, p.target, door{open: attachTo}, false)
			if holder := refusedBy.receive(refused).text(); holder != "pack "+p.file {
				t.Errorf("held by %q", holder)
			}
			refusedBy.ended()
			a.AskStop()
			await(t, "the end of the notice", func() bool { return p.notice() == "" })
			p.tells("work 10", "55")
			p.counts(a, map[string]uint64{"next": 110, "fail": 1, "twin": 151, "other twin": 151})
			isGone(t, p.target)
			// A compiler that is at work on a method of ours keeps its class a moment longer.
			await(t, "the end of the agent's own loader", func() bool {
				jcmd(t, p.target, "GC.run")
				return !strings.Contains(jcmd(t, p.target, "VM.classloaders"), "OwnLoader")
			})
			p.tells("threads 1", "1") // the standby thread
			next := meet(t, p.target, door{open: attachTo}, false)
			next.ask(ping, nil)
			next.reply(done)
			next.leave()
		})
	}
}

// A pack that cannot be used does no harm, and the notice has the reason.
func TestPackThatCannotBeUsedIsLeftOut(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			p := newPacked(t, jdk)
			file, err := os.ReadFile(p.file)
			if err != nil {
				t.Fatal(err)
			}
			file[300] ^= 0x10
			if err := os.WriteFile(p.file, file, 0o600); err != nil {
				t.Fatal(err)
			}
			p.start("arena=" + p.dir)
			if want := "\n" + p.file + "\n" + p.file + " is damaged: make it again with `sonde pack`\n"; p.notice() != want {
				t.Errorf("the notice says %q, want %q", p.notice(), want)
			}
			p.tells("work 100", "5050")
			p.tells("threads 1", "1")
			if found, _ := filepath.Glob(filepath.Join(p.dir, "*arena*")); len(found) != 0 {
				t.Errorf("there is %q", found)
			}
			if hooks := jcmd(t, p.target, "VM.class_hierarchy"); strings.Contains(hooks, "SondeHooks") {
				t.Error("hooks were defined that nobody needs")
			}
			for _, other := range []string{"-Dsun.arch.data.model=32", "-javaagent:" + p.otherAgent() + "=Eclipse OpenJ9 VM"} {
				p.options = []string{other}
				p.start("arena=" + p.dir)
				if want := "\n" + p.file + "\npacks need a HotSpot JVM of 64 bits; "; !strings.HasPrefix(p.notice(), want) {
					t.Errorf("with %s the notice says %q, want %q", other, p.notice(), want)
				}
				p.tells("threads 1", "1")
			}
		})
	}
}

// TestPackOfOthersIsLeftOut: a pack is code, so it is used only if nobody could have written it who could not write the
// agent's jar as well.
func TestPackOfOthersIsLeftOut(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: files of another user cannot be made here (be root)")
	}
	for _, jdk := range jvmtest.OneJDK(t) {
		p := newPacked(t, jdk)
		beside := p.file
		folder := filepath.Join(p.dir, "packs")
		apart := filepath.Join(folder, "b.pack")
		link := filepath.Join(p.dir, "link.pack")
		data, err := os.ReadFile(p.file)
		if err := errors.Join(err, os.Mkdir(folder, 0o755), os.WriteFile(apart, data, 0o600), os.Symlink(apart, link)); err != nil {
			t.Fatal(err)
		}
		const other, open = " belongs to another user", " can be written by others (chmod go-w prevents this)"
		for _, tt := range []struct {
			name, pack, changed string
			owner               int
			mode                os.FileMode
			why                 string
		}{
			{"own", apart, apart, 0, 0o600, ""},
			{"another's", apart, apart, nobody, 0o644, other},
			{"another's by a link", link, apart, nobody, 0o644, other},
			{"for all to write", apart, apart, 0, 0o646, open},
			{"for the group to write", beside, beside, 0, 0o664, open},
			{"in another's directory", apart, folder, nobody, 0o755, other},
			{"in a directory for all to write", apart, folder, 0, 0o777, open},
			{"in a sticky directory", apart, folder, 0, 0o777 | os.ModeSticky, ""},
			{"beside the jar in a directory for all to write", beside, p.dir, 0, 0o777, ""},
		} {
			t.Run(tt.name, func(t *testing.T) {
				before, err := os.Stat(tt.changed)
				if err := errors.Join(err, os.Chown(tt.changed, tt.owner, 0), os.Chmod(tt.changed, tt.mode)); err != nil {
					t.Fatal(err)
				}
				p.t, p.file = t, tt.pack
				arenas := t.TempDir()
				p.start("arena=" + arenas)
				await(t, "the notice", func() bool { return p.notice() != "" })
				want := filepath.Join(arenas, fmt.Sprintf("sonde-%d.arena", p.target.PID)) + "\n" + tt.pack + "\n"
				if tt.why != "" {
					want = "\n" + tt.pack + "\nother users could replace the code there: " + tt.changed + tt.why + "\n"
				}
				if got := p.notice(); got != want {
					t.Errorf("the notice says %q, want %q", got, want)
				}
				if err := errors.Join(os.Chown(tt.changed, 0, 0), os.Chmod(tt.changed, before.Mode())); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// What the filter leaves out starts as if there were no agent; and a program that ends
// at once leaves what it did in its arena.
func TestPackIsForThoseWhoAreMeant(t *testing.T) {
	jdk := jvmtest.OneJDK(t)[0]
	p := newPacked(t, jdk)
	arenas := filepath.Join(p.dir, "arenas")
	if err := os.Mkdir(arenas, 0o700); err != nil {
		t.Fatal(err)
	}
	p.start("arena="+arenas, "only=*ker", "only=Unpacked")
	p.tells("threads 1", "0")
	if found, _ := os.ReadDir(arenas); len(found) != 0 || p.notice() != "" {
		t.Errorf("there is %v, and the notice %q", found, p.notice())
	}
	p.start("arena="+arenas, "not=Unpacked", "only=Pack*d", "not=*ker")
	p.tells("work 3", "6")
	if err := p.target.Stdin.Close(); err != nil {
		t.Fatal(err)
	}
	<-p.target.Ended()
	if p.notice() != "" {
		t.Error("the notice is still there")
	}
	path := filepath.Join(arenas, fmt.Sprintf("sonde-%d.arena", p.target.PID))
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	p.counts(p.open(path), map[string]uint64{"next": 3})
	if found, _ := os.ReadDir(arenas); len(found) != 1 {
		t.Errorf("besides the arena there is %v", found)
	}
}

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

// start starts the program with the pack, and another agent after Sonde's.
func (p *packed) start(arguments ...string) {
	p.t.Helper()
	jar := filepath.Join(p.dir, "agent of sonde.jar")
	if err := os.WriteFile(jar, agent.AgentJar(), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.target = jvmtest.Start(p.t, p.jdk, jvmtest.Launch{Brief: true, Args: append(slices.Clone(p.options), []string{
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

// tell sends a command to the program.
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

// Labels for which the ring, which is not read, has no room are all one, and no
// call is lost.
func TestPackTellsSoManyLabelsApart(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			const room, labels = 256, 300
			p := newPacked(t, jdk)
			path := filepath.Join(p.dir, "a.arena")
			p.start("arena=" + path)
			a := p.open(path)
			p.tells(fmt.Sprint("labels ", labels), fmt.Sprint(2*labels))
			p.tells(fmt.Sprint("labels ", labels), fmt.Sprint(4*labels))
			arrivals, err := a.Arrivals(0)
			if err != nil {
				t.Fatal(err)
			}
			want := map[uint32]uint64{arena.LabelOther: 4 * (labels - room)}
			for _, arrival := range arrivals {
				want[arrival.ID] = 4
			}
			if len(want) != 1+room {
				t.Fatalf("%d labels are reported", len(want)-1)
			}
			eachNode(t, a, func(node arena.Node, above uint32) {
				if !arena.IsLabel(above) {
					return
				}
				if p.ids[node.ID] != "labelled" || node.Calls != want[above] {
					t.Errorf("%s has %d calls with label %d, want %d", p.ids[node.ID], node.Calls, above, want[above])
				}
				delete(want, above)
			})
			if len(want) != 0 {
				t.Errorf("there are no calls of %v", want)
			}
		})
	}
}

// Hooks are called before the program needs them, and what that measures is not the program's: neither a
// method has more calls, nor is a call left under way or the thread inside anything.
func TestPackRehearsesItsHooks(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			p := newPacked(t, jdk)
			path := filepath.Join(p.dir, "a.arena")
			p.start("arena=" + path)
			a := p.open(path)
			await(t, "calls of hooks by nobody, by threads that are new, that have ended", func() bool { return isRehearsed(t, a) })
			p.tells("work 100", "5050")
			p.counts(a, map[string]uint64{"next": 100})
		})
	}
}

// isRehearsed reports whether the agent has called the hooks often enough to take all paths.
func isRehearsed(t *testing.T, a *arena.Arena) bool {
	t.Helper()
	const some = 512 // calls, of which each 64th is of a thread that is as if it were new
	threads, err := a.Threads()
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		for _, node := range thread.Nodes {
			if node.ID == arena.CalibrationID && node.Calls > some && thread.Owners > 1 {
				return node.Timed == node.Calls && len(thread.Stack) == 0
			}
		}
	}
	return false
}

// A search for a hook that is not in the table ends however small and full the table is, be it
// made by the agent's own rehearsal, which has no room in some, or by a thread of the program.
func TestPackSearchesEndInSmallTables(t *testing.T) {
	full := func(slots int) func([]arena.WatchEntry) ([]uint64, error) {
		return func(entries []arena.WatchEntry) ([]uint64, error) {
			table := make([]uint64, 0, 4*slots)
			for _, entry := range entries[:min(slots, len(entries))] { // ids are even, then odd: each is where it is looked for
				word, err := entry.Entry()
				if err != nil {
					return nil, err
				}
				table = append(table, word, 0, 0, 0)
			}
			return table[:4*slots], nil
		}
	}
	for _, jdk := range jvmtest.OneJDK(t) {
		for _, test := range []struct {
			name      string
			spots     int
			table     func([]arena.WatchEntry) ([]uint64, error)
			calls     map[string]uint64
			rehearses bool
		}{
			{"one hook", 1, arena.WatchTable, map[string]uint64{"next": 100}, true},
			{"one hook and no room to rehearse", 1, full(2), map[string]uint64{"next": 100}, false},
			{"no empty entry", 3, full(2), map[string]uint64{"next": 100, "changed": 1}, false},
		} {
			t.Run(fmt.Sprintf("jdk%d/%s", jdk.Major, test.name), func(t *testing.T) {
				t.Parallel() // a search that does not end is waited for
				p := newPacked(t, jdk)
				p.table = test.table
				p.pack([]packedSpot{
					spotIn(filepath.Join(p.classes, "PackedWork.class"), "next", "next"),
					spotIn(filepath.Join(p.classes, "PackedChanged.class"), "number", "changed"),
					spotIn(filepath.Join(p.classes, "PackedWork.class"), "fail", "fail"),
				}[:test.spots]...)
				path := filepath.Join(p.dir, "a.arena")
				p.start("arena=" + path)
				a := p.open(path)
				p.tells("work 100", "5050")
				p.tell("changed 1")
				p.tell("thrown 1")
				if test.rehearses {
					await(t, "the end of the rehearsal", func() bool { return isRehearsed(t, a) })
				}
				p.counts(a, test.calls)
				a.AskStop()
				await(t, "the end of the notice", func() bool { return p.notice() == "" })
				isGone(t, p.target)
				p.tells("work 100", "5050")
				p.counts(a, test.calls)
			})
		}
	}
}

// Who looks for a pack finds its notice, whatever cleans up in /tmp; and a pack whose
// arena that cannot be found any more removes itself.
func TestPackIsFoundOrGone(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel() // it waits for looks that are seconds apart
			p := newPacked(t, jdk)
			path := filepath.Join(p.dir, "a.arena")
			p.start("arena=" + path)
			p.open(path)
			p.tells("work 3", "6")
			notice := fmt.Sprintf("/tmp/.sonde_pack%d", p.target.PID)
			old := time.Now().Add(-2 * time.Hour)
			if err := os.Chtimes(notice, old, old); err != nil {
				t.Fatal(err)
			}
			await(t, "a notice that is not old", func() bool {
				info, err := os.Stat(notice)
				return err == nil && info.ModTime().After(old.Add(time.Hour))
			})
			if err := os.Remove(notice); err != nil {
				t.Fatal(err)
			}
			p.open(path) // waits for the notice
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			await(t, "what became of it", func() bool {
				return strings.HasPrefix(p.notice(), "\n"+p.file+"\nthe arena "+path+" was removed while the program was running; ")
			})
			isGone(t, p.target)
			p.tells("work 3", "6")
			p.tells("threads 1", "1")
		})
	}
}

// A program that met no class of the pack leaves no arena where none was asked for.
func TestPackLeavesNoArenaInWhichNothingIs(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			p := newPacked(t, jdk)
			for line, want := range map[string]bool{"threads 1": false, "changed 1": true, "work 1": true} {
				p.start()
				await(t, "the notice", func() bool { return p.notice() != "" })
				path, _, _ := strings.Cut(p.notice(), "\n")
				if !strings.HasPrefix(path, fmt.Sprintf("/tmp/sonde-%d-", p.target.PID)) {
					t.Fatalf("the arena is %q", path)
				}
				p.tell(line)
				if err := p.target.Stdin.Close(); err != nil {
					t.Fatal(err)
				}
				<-p.target.Ended()
				if isThere := os.Remove(path) == nil; isThere != want || p.notice() != "" {
					t.Errorf("after %q its arena is there: %v; and the notice says %q", line, isThere, p.notice())
				}
			}
		})
	}
}
