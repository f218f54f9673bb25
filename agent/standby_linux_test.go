package agent_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// The thread that waits for an invitation outlives an interrupt, and neither it
// nor a Sonde that is refused is measured: the program alone is.
func TestStandbyAndTheRefusedAreNotMeasured(t *testing.T) {
	d := doors(t)[1]
	live := liveTemplate(t)
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			dir := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{filepath.Join("testdata", "Guest.java")}})
			target := jvmtest.Start(t, jdk, jvmtest.Launch{Args: append(append([]string{}, d.args...), "-cp", dir, "Guest")})
			meet(t, target, d, false).leave() // so the thread is there, and waits
			g := &guest{target: target, classes: dir, weaver: weave.NewWeaver(), live: live, peer: &peer{t: t}}
			if got := g.tell("interrupt", 1); got != "interrupt 1" {
				t.Fatal(got)
			}
			g.peer = meet(t, target, d, false)
			a, _ := g.mapArena()
			g.hookInto("java/io/File", "exists")
			g.hookInto("java/util/ArrayDeque", "addLast")
			exists := weave.MethodID("java/io/File", "exists", "()Z")
			g.switchOn(exists, weave.MethodID("java/util/ArrayDeque", "addLast", "(Ljava/lang/Object;)V"))
			for range 2 {
				second := meet(t, target, d, false)
				second.receive(refused)
				second.ended()
			}
			if got := g.tell("exists", 7); got != "exists 7" {
				t.Error(got)
			}
			sum, err := a.Sum(0)
			if err != nil || len(sum.Methods) != 1 || sum.Methods[uint32(exists)] == nil || sum.Methods[uint32(exists)].Calls != 7 {
				t.Errorf("%+v, %v; want 7 calls of one method", sum, err)
			}
			g.leave()
			isGone(t, target)
		})
	}
}

// hookInto puts hooks into the methods of this name of a class of the JDK.
func (g *guest) hookInto(class, method string) {
	g.t.Helper()
	g.weaveInto(class, g.live, func(m weave.MethodInfo) bool { return m.Name == method })
}

// weaveInto puts a template into methods of a class of the JDK.
func (g *guest) weaveInto(class string, template *weave.Template, isWanted func(weave.MethodInfo) bool) {
	g.t.Helper()
	g.ask(install, numbers(g.list()[strings.ReplaceAll(class, "/", ".")][0].handle))
	question := g.receive(transform)
	question.take(8) // class and loader
	if name := question.text(); name != class {
		g.t.Fatal(name)
	}
	g.send(woven, question.request, append(text(g.weaveWith(question.bytes(), template, isWanted)), text("")...))
	g.reply(installed)
}

// What would harm the program is refused, and the session goes on.
func TestValuesThatCannotBeAreRefused(t *testing.T) {
	everyGuest(t, func(t *testing.T, g *guest) {
		file := filepath.Join(t.TempDir(), "arena")
		const tooLong = 1<<30 + 1
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, tooLong); err != nil {
			t.Fatal(err)
		}
		refuse := func(kind byte, body []byte, want string) {
			t.Helper()
			g.ask(kind, body)
			if got := g.reply(failed).text(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		body := binary.BigEndian.AppendUint64(text(file), tooLong)
		refuse(mapArena, binary.BigEndian.AppendUint32(body, 1),
			"java.io.IOException: an arena of 1073741825 bytes cannot be mapped")
		g.mapArena()
		full := binary.BigEndian.AppendUint32(nil, 2)
		full = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(full, 1<<32|1), 2<<32|1)
		refuse(probes, full, "the table of probes has no empty entry")
		entries := func(words ...uint64) []byte {
			body := binary.BigEndian.AppendUint32(nil, uint32(len(words)))
			for _, entry := range words {
				body = binary.BigEndian.AppendUint64(body, entry)
			}
			return body
		}
		const noRoom = "there is no table of probes, or no room in it"
		refuse(change, entries(3<<32|1), noRoom)
		g.ask(probes, entries(0, 0, 2<<32, 0))
		g.reply(done)
		refuse(change, entries(3<<32, 4<<32, 5<<32), noRoom)
		g.ask(change, entries(2<<32|1, 6<<32, 7<<32)) // the first is there already
		g.reply(done)
		refuse(change, entries(8<<32), noRoom)
		table := func(member string, words ...uint64) []byte {
			body := append([]byte{0}, entries(words...)...)
			if member == "" {
				return append(body, make([]byte, 8)...)
			}
			body = append(binary.BigEndian.AppendUint32(body, 1), text(member)...)
			return append(body, make([]byte, 8)...)
		}
		const notEntries = "the table of watches has not a power of two of entries"
		refuse(watches, table("", 1<<32|1, 0, 0), notEntries)
		refuse(watches, table("", make([]uint64, 12)...), notEntries)
		refuse(watches, table("", 1<<32|1, 0, 0, 0), "the table of watches has no empty entry")
		refuse(watches, table("nowhere", make([]uint64, 8)...), "java.lang.IllegalArgumentException: not a method: nowhere")
		for _, asked := range [][]byte{
			calibration(1_000_001, arena.On, 0, 0), calibration(1<<31, arena.On, 0, 0),
			calibration(1, arena.On, 1, 1_000_001), calibration(1, arena.On, 1, 1<<31), calibration(1, arena.On, 4, 1),
		} {
			refuse(calibrate, asked, "that is more than 1000000 rounds or steps, or a body of an unknown kind")
		}
		g.leave()
	})
}
