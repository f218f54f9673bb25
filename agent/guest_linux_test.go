package agent_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A guest is the fixture under way, with the agent in it.
type guest struct {
	*peer
	target  *jvmtest.Running
	classes string // directory
	weaver  *weave.Weaver
	live    *weave.Template
}

func liveTemplate(t *testing.T) *weave.Template {
	t.Helper()
	return compileTemplate(t, agent.LiveTemplate)
}

func compileTemplate(t *testing.T, source func() (class []byte, method string)) *weave.Template {
	t.Helper()
	template, err := weave.CompileTemplate(source())
	if err != nil {
		t.Fatal(err)
	}
	return template
}

func everyGuest(t *testing.T, test func(t *testing.T, g *guest)) {
	everyProgram(t, "Guest", test)
}

// everyProgram runs a fixture, by its class, on each JDK.
func everyProgram(t *testing.T, main string, test func(t *testing.T, g *guest)) {
	live := liveTemplate(t)
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			dir := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{filepath.Join("testdata", main+".java")}})
			target := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-cp", dir, main}})
			p := meet(t, target, door{open: attachTo}, false)
			test(t, &guest{p, target, dir, weave.NewWeaver(), live})
		})
	}
}

// tell has the guest do something, and gives what it says of it.
func (g *guest) tell(what string, calls int) string {
	g.t.Helper()
	if _, err := fmt.Fprintln(g.target.Stdin, what, calls); err != nil {
		g.t.Fatal(err)
	}
	return g.target.Await(g.t, what+" ")
}

type listed struct {
	handle, loader uint32
	flags          byte
}

func (g *guest) list() map[string][]listed {
	g.t.Helper()
	g.ask(list, nil)
	all := make(map[string][]listed)
	for last := false; !last; {
		part := g.reply(classes)
		last = part.u8() == 1
		for range part.u32() {
			one := listed{part.u32(), part.u32(), part.u8()}
			name := part.text()
			all[name] = append(all[name], one)
		}
	}
	return all
}

func (g *guest) mapArena() (*arena.Arena, string) {
	g.t.Helper()
	return g.mapArenaOf(1 << 20)
}

func (g *guest) mapArenaOf(size int64) (*arena.Arena, string) {
	g.t.Helper()
	file, err := os.CreateTemp(g.t.TempDir(), "arena")
	if err != nil {
		g.t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(size); err != nil {
		g.t.Fatal(err)
	}
	a, err := arena.Create(file, size, arena.Owner{Target: g.target.PID, Sonde: os.Getpid(), Command: "the test"})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { a.Close() })
	body := binary.BigEndian.AppendUint64(text(file.Name()), uint64(a.Length()))
	g.ask(mapArena, binary.BigEndian.AppendUint32(body, a.Epoch()))
	g.reply(done)
	return a, file.Name()
}

// serve weaves the class the agent asks for, which must be this one.
func (g *guest) serve(name string, handle uint32) {
	g.t.Helper()
	question := g.receive(transform)
	if got := question.u32(); got != handle {
		g.t.Errorf("asked for class %d, want %d", got, handle)
	}
	question.u32()
	if got := question.text(); got != name || question.request%2 != 0 {
		g.t.Fatalf("request %d for %s, want %s", question.request, got, name)
	}
	changed := g.weave(question.bytes(), "next")
	file, err := os.ReadFile(filepath.Join(g.classes, name+".class"))
	if err != nil {
		g.t.Fatal(err)
	}
	g.send(woven, question.request, append(text(changed), text(string(file))...))
}

// weave gives a class with a hook in the methods of this name.
func (g *guest) weave(class []byte, method string) string {
	g.t.Helper()
	return g.weaveWith(class, g.live, func(m weave.MethodInfo) bool { return m.Name == method })
}

func (g *guest) weaveWith(class []byte, template *weave.Template, isWanted func(weave.MethodInfo) bool) string {
	g.t.Helper()
	result, err := g.weaver.Weave(class, func(m weave.MethodInfo) []*weave.Template {
		if !isWanted(m) {
			return nil
		}
		return []*weave.Template{template}
	})
	if err != nil || result.Bytes == nil {
		g.t.Fatalf("%+v, %v", result, err)
	}
	return string(result.Bytes)
}

// hook puts hooks into Guest$Work and Late, and switches them on.
func (g *guest) hook() {
	g.t.Helper()
	work := g.list()["Guest$Work"][0].handle
	g.ask(install, numbers(work))
	g.serve("Guest$Work", work)
	installedOne := g.reply(installed)
	if nanos, gone, text := installedOne.u64(), installedOne.u32(), installedOne.text(); nanos == 0 || gone != 0 || text != "" {
		g.t.Fatalf("installed in %d ns, %d gone, %s", nanos, gone, text)
	}
	g.watch("La", "te", "Lami")
	g.reply(done)
	g.switchOn(weave.MethodID("Guest$Work", "next", "(I)I"), weave.MethodID("Late", "next", "(I)I"))
}

// watch has classes shown by one filter, except those that an exclude names.
func (g *guest) watch(prefix, suffix, exclude string) {
	g.t.Helper()
	body := append(binary.BigEndian.AppendUint32(nil, 1), append(text(prefix), text(suffix)...)...)
	g.ask(watch, append(binary.BigEndian.AppendUint32(body, 1), text(exclude)...))
}

func (g *guest) switchOn(ids ...int32) {
	g.t.Helper()
	var wanted []arena.Probe
	for _, id := range ids {
		wanted = append(wanted, arena.Probe{ID: uint32(id), Flags: arena.On})
	}
	g.set(wanted...)
}

// set gives the hooks their settings.
func (g *guest) set(wanted ...arena.Probe) {
	g.t.Helper()
	table, err := arena.SwitchTable(wanted)
	if err != nil {
		g.t.Fatal(err)
	}
	body := binary.BigEndian.AppendUint32(nil, uint32(len(table)))
	for _, word := range table {
		body = binary.BigEndian.AppendUint64(body, word)
	}
	g.ask(probes, body)
	g.reply(done)
}

func calls(t *testing.T, a *arena.Arena, class string) uint64 {
	t.Helper()
	sum, err := a.Sum(0)
	if err != nil {
		t.Fatal(err)
	}
	if totals := sum.Methods[uint32(weave.MethodID(class, "next", "(I)I"))]; totals != nil {
		return totals.Calls
	}
	return 0
}

func (g *guest) original(handle uint32) (found bool, content []byte) {
	g.t.Helper()
	answer := g.reply(original)
	if got := answer.u32(); got != handle {
		g.t.Fatalf("class %d, want %d", got, handle)
	}
	return answer.u8() == 1, answer.bytes()
}
