package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// What a pack has is woven as it loads, and counts exactly; what differs by a bit, or
// cannot see the hooks, is loaded as it is, counted and named. All of it goes when that
// is asked for.
func TestPackWeavesWhatLoads(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
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
			p.tells("threads 1", "1") // the one that stands by
			next := meet(t, p.target, door{open: attachTo}, false)
			next.ask(ping, nil)
			next.reply(done)
			next.leave()
		})
	}
}

// A pack that cannot be used harms nobody, and the notice says why.
func TestPackThatCannotBeUsedIsLeftOut(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
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
				if want := "\n" + p.file + "\npacks need a HotSpot JVM of 64 bits: "; !strings.HasPrefix(p.notice(), want) {
					t.Errorf("with %s the notice says %q, want %q", other, p.notice(), want)
				}
				p.tells("threads 1", "1")
			}
		})
	}
}

// What the filter leaves out starts as if there were no agent; and a program that ends
// at once leaves what it did in its arena.
func TestPackIsForThoseWhoAreMeant(t *testing.T) {
	jdk := jvmtest.JDKs(t)[0]
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
		t.Errorf("beside the arena there is %v", found)
	}
}
