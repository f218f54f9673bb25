package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Labels beyond those that the ring has room for, which nobody empties, are all one, and no
// call is lost.
func TestPackTellsSoManyLabelsApart(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
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
				t.Fatalf("%d labels are told", len(want)-1)
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
	for _, jdk := range jvmtest.JDKs(t) {
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

// isRehearsed reports whether hooks were called by nobody often enough for all paths to be taken.
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
	for _, jdk := range jvmtest.JDKs(t) {
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
// arena nobody can find any more takes itself out.
func TestPackIsFoundOrGone(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
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
				return strings.HasPrefix(p.notice(), "\n"+p.file+"\n"+path+", which its measurements went to, was removed: ")
			})
			isGone(t, p.target)
			p.tells("work 3", "6")
			p.tells("threads 1", "1")
		})
	}
}

// A program that met no class of the pack leaves no arena where none was asked for.
func TestPackLeavesNoArenaInWhichNothingIs(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
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
