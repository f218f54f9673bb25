package agent_test

import (
	"fmt"
	"math/rand"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// everyTracer runs the fixture that calls hooks as its input says.
func everyTracer(t *testing.T, test func(t *testing.T, g *guest)) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			dir := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{filepath.Join("testdata", "Traces.java")}})
			args := []string{"--add-opens", "java.base/java.lang=ALL-UNNAMED", "-cp", dir, "Traces"}
			target := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: args})
			p := meet(t, target, door{open: attachTo}, false)
			test(t, &guest{peer: p, target: target, classes: dir, weaver: weave.NewWeaver()})
		})
	}
}

// mapTraces maps a fresh arena and switches all settings on.
func (g *guest) mapTraces(ringBytes, levels uint32) *arena.Arena {
	g.t.Helper()
	a, _ := g.mapArenaOf(8 << 20)
	if err := a.SetRings(ringBytes, levels); err != nil {
		g.t.Fatal(err)
	}
	var all []arena.Probe
	for _, probe := range traced {
		all = append(all, probe)
	}
	g.set(all...)
	g.order("hooks %s", strings.ReplaceAll(agent.HookClass(), "/", "."))
	return a
}

func (g *guest) unmap() {
	g.t.Helper()
	g.ask(restore, nil)
	if answer := g.reply(restored); answer.u64() == 0 || answer.u32() != 0 || answer.u8() != 1 {
		g.t.Errorf("not unmapped: %q", answer.body)
	}
}

// order gives the fixture a line, and returns what it did.
func (g *guest) order(format string, args ...any) string {
	g.t.Helper()
	line := fmt.Sprintf(format, args...)
	if _, err := fmt.Fprintln(g.target.Stdin, line); err != nil {
		g.t.Fatal(err)
	}
	word, _, _ := strings.Cut(line, " ")
	_, did, _ := strings.Cut(g.target.Await(g.t, word+" "), " ")
	return strings.TrimPrefix(did, "did ")
}

// steps has a thread take steps, in which settings have names.
func (g *guest) steps(thread, script string) string {
	g.t.Helper()
	words := strings.Fields(script)
	for i, word := range words {
		name, isEnter := strings.CutPrefix(word, "e")
		count, looped, isLoop := strings.Cut(word, ":")
		switch {
		case isEnter:
			words[i] = fmt.Sprint("e", traced[name].ID)
		case isLoop && word[0] == 'h':
			words[i] = fmt.Sprint(count, ":", traced[looped].ID)
		}
	}
	return g.order("%s %s", thread, strings.Join(words, " "))
}

// read gives the records that came, by ring: the first made is "A".
func readTraces(t *testing.T, a *arena.Arena) (texts map[string][]string) {
	t.Helper()
	rings, err := a.Rings()
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(rings)
	names := make(map[uint32]string)
	for i, ring := range rings {
		names[ring.Ref()] = string(rune('A' + i))
	}
	texts = make(map[string][]string)
	for _, ring := range rings {
		last := uint64(0)
		if err := ring.Read(func(r arena.Record) {
			texts[names[ring.Ref()]] = append(texts[names[ring.Ref()]], textOf(r, names))
			if r.Kind == arena.CallRecord && (r.Start+r.Nanos < last && !r.Cut || r.Thread == 0 || r.Label != 0) {
				t.Errorf("%+v ended before the one before it, at %d", r, last)
			}
			last = max(last, r.Start+r.Nanos)
		}); err != nil {
			t.Error(err)
		}
	}
	return texts
}

func textOf(r arena.Record, rings map[uint32]string) string {
	transaction := fmt.Sprint(rings[uint32(r.Transaction>>32)], uint32(r.Transaction))
	if r.Kind == arena.DiscardedRecord {
		return transaction + " discarded"
	}
	name := ""
	for one, probe := range traced {
		if probe.ID == r.ID {
			name = one
		}
	}
	text := fmt.Sprintf("%s %s %d", transaction, name, r.Depth)
	if r.Kind == arena.ValueRecord {
		value := "'" + r.Text + "'"
		if r.Null {
			value = "null"
		}
		if r.Failed {
			value = "failed"
		}
		text += fmt.Sprintf(" value %d %s", r.Index, value)
		if r.AtExit {
			text += " at exit"
		}
		return text
	}
	for _, flag := range []struct {
		is   bool
		text string
	}{{r.Threw, " threw"}, {r.Cut, " cut"}, {r.Root, " root"}, {r.Handed, " handed"}, {r.Lost != 0, fmt.Sprint(" lost ", r.Lost)}} {
		if flag.is {
			text += flag.text
		}
	}
	return text
}

// A scene is what threads do, and what their rings show then.
type scene struct {
	name  string
	steps []string // "thread: steps => what becomes of them"
	rings []string // "ring: record, record", in the order of rings
}

var scenes = []scene{
	{"nested calls", []string{"a: eroot ein x ein ein x x x => F F - F F - - -"},
		[]string{"A: A1 in 1, A1 in 2, A1 in 1, A1 root 0 root"}},
	{"nothing outside", []string{"a: ein x eany x eroot eany x x ein x => 0 - 1 - F F - - 0 -"},
		[]string{"A: A1 any 1, A1 root 0 root"}},
	{"exceptions", []string{"a: eroot ein f f => F F - -"}, []string{"A: A1 in 1 threw, A1 root 0 threw root"}},
	{"a root inside itself", []string{"a: eroot eroot x ein x x eroot x => F F - F - - F -"},
		[]string{"A: A1 root 1, A1 in 1, A1 root 0 root, A2 root 0 root"}},
	{"exits that never came", []string{"a: eroot ein ein g g x => F F F - - -"},
		[]string{"A: A1 in 2 cut, A1 in 1 cut, A1 root 0 root"}},
	{"a root whose exit never came", []string{"a: elate eroot ein g g s1 ein x => F F F - - - 0 -"},
		[]string{"A: A1 in 1 cut, A1 root 0 cut root"}},
	{"verdicts of calls inside", []string{"a: eroot elin s1 elin s0 elin s-1 elin S2 elin x x => F F - F - F - F - F - -"},
		[]string{"A: A1 lin 1, A1 lin 1, A1 root 0 root"}},
	{"values", []string{"a: eroot q c0:ab c257:- elin c1:abc ein x s0 ebare q c0:no x ein c3:- c128:xyz x x => F true - - F - F - - F false - - F - - - -"},
		[]string{"A: A1 root 0 value 0 'ab', A1 root 0 value 1 failed, A1 in 2, A1 bare 1, A1 in 1 value 3 null, " +
			"A1 in 1 value 0 'xyz' at exit, A1 in 1, A1 root 0 root"}},
	{"a verdict of no", []string{"a: elroot ein x s0 => F F - -", "a: elroot ein x s-1 => F F - -", "a: elroot ein f S1 => F F - -"},
		[]string{"A: A3 in 1 threw, A3 lroot 0 threw root"}},
	{"a verdict that never came", []string{"a: elate elroot ein x g s1 => F F F - - -"}, nil},
	{"nothing before the verdict", []string{"a: elroot ein x => F F -"}, nil},
	{"elapsed", []string{"a: elate d s1 eany d x => F true - 1 false -"}, nil},
	{"a part on another thread", []string{"a: eroot t1 => F T", "b: ein x j1 ein ein x x p ein x => 0 - - F F - - - 0 -", "a: ein x x => F - -"},
		[]string{"A: A1 in 1, A1 root 0 root", "B: A1 in 1, A1 in 0 handed"}},
	{"a discarded transaction with a part", []string{"a: elroot t1 => F T", "b: j1 ein x p => - F - -", "a: s0 => -"},
		[]string{"A: A1 discarded", "B: A1 in 0 handed"}},
	{"a part inside another transaction", []string{"a: eroot t1 => F T", "b: eroot ein j1 ein x eroot x p ein x x x => F F - F - F - - F - - -", "a: x => -"},
		[]string{"A: A1 root 0 root", "B: A1 in 0 handed, A1 root 0 handed, B1 in 2, B1 in 1, B1 root 0 root"}},
	{"a part in its own thread", []string{"a: eroot t1 j1 ein x p ein x x => F T - F - - F - -"},
		[]string{"A: A1 in 1, A1 in 1, A1 root 0 root"}},
	{"no transaction for a while", []string{"a: eroot j0 ein x eroot x p ein x x => F - 0 - F - - F - -"},
		[]string{"A: A2 root 0 root, A1 in 1, A1 root 0 root"}},
	{"a part while the verdict is open", []string{"a: eroot t1 => F T", "b: elroot ein x j1 ein x p ein x s0 => F F - - F - - F - -", "a: x => -"},
		[]string{"A: A1 root 0 root", "B: A1 in 0 handed"}},
	{"a part that never ended", []string{"a: eroot t1 => F T", "b: eroot ein j1 ein g x x => F F - F - - -", "a: x => -"},
		[]string{"A: A1 root 0 root", "B: A1 in 0 cut handed, B1 in 1, B1 root 0 root"}},
	{"a tree", []string{"a: eroot etree etree x x x => F F F - - -"}, []string{"A: A1 tree 2, A1 tree 1, A1 root 0 root"}},
}

func TestTracesTellWhatHappened(t *testing.T) {
	everyTracer(t, func(t *testing.T, g *guest) {
		for i, s := range scenes {
			a := g.mapTraces(1<<17, 0)
			for _, line := range s.steps {
				thread, rest, _ := strings.Cut(line, ": ")
				steps, want, _ := strings.Cut(rest, " => ")
				if got := g.steps(fmt.Sprint(thread, i), steps); got != want {
					t.Errorf("%s: %s gave %s, want %s", s.name, steps, got, want)
				}
			}
			var got []string
			read := readTraces(t, a)
			for _, ring := range []string{"A", "B"} {
				if len(read[ring]) > 0 {
					got = append(got, ring+": "+strings.Join(read[ring], ", "))
				}
			}
			if !slices.Equal(got, s.rings) {
				t.Errorf("%s:\n%s\nwant\n%s", s.name, strings.Join(got, "\n"), strings.Join(s.rings, "\n"))
			}
			g.unmap()
		}
		g.leave()
	})
}

// TestRandomTraces has two threads do what comes, and hand transactions to each
// other; a model of the contract says what their rings have to show.
func TestRandomTraces(t *testing.T) {
	everyTracer(t, func(t *testing.T, g *guest) {
		for seed := range int64(4) {
			a := g.mapTraces(1<<20, 0)
			play := newPlay(rand.New(rand.NewSource(seed)), []string{fmt.Sprint("v", seed), fmt.Sprint("p", seed)})
			for range 60 {
				actor, steps, want := play.next()
				if got := g.steps(actor, strings.Join(steps, " ")); got != strings.Join(want, " ") {
					t.Fatalf("seed %d: %s\n%v\ngave %s\nwant %s", seed, actor, steps, got, strings.Join(want, " "))
				}
			}
			read, counted := readTraces(t, a), make(map[string]uint64)
			for _, actor := range play.actors {
				if want := actor.thread.published(); !slices.Equal(read[actor.thread.ring], want) {
					t.Fatalf("seed %d, ring %s\n%s", seed, actor.thread.ring, firstDifference(read[actor.thread.ring], want))
				}
				for name, calls := range actor.thread.counted {
					counted[name] += calls
				}
			}
			sum, err := a.Sum(0)
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range counted {
				if totals := sum.Methods[traced[name].ID]; totals == nil || totals.Calls != want {
					t.Errorf("seed %d: %s: %+v, want %d calls", seed, name, totals, want)
				}
			}
			g.unmap()
			for _, actor := range play.actors { // exits of calls that began before come to nothing
				g.order("%s %s .", actor.name, strings.TrimSpace(strings.Repeat("x ", len(actor.calls))))
			}
		}
		g.leave()
	})
}

func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			from := max(i-3, 0)
			return fmt.Sprintf("record %d of %d and %d:\n%q\nwant\n%q", i, len(got), len(want), got[from:min(i+3, len(got))], want[from:min(i+3, len(want))])
		}
	}
	return "none"
}

// stateOf is that of the arena's only ring.
func stateOf(t *testing.T, a *arena.Arena) arena.RingState {
	t.Helper()
	rings, err := a.Rings()
	if err != nil || len(rings) != 1 {
		t.Fatalf("%d rings, %v", len(rings), err)
	}
	state, err := rings[0].State()
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func tracedTotals(t *testing.T, a *arena.Arena, name string) *arena.Totals {
	t.Helper()
	sum, err := a.Sum(0)
	if err != nil {
		t.Fatal(err)
	}
	if totals := sum.Methods[traced[name].ID]; totals != nil {
		return totals
	}
	return &arena.Totals{}
}

// TestTracesHaveBounds asks of one program after the other, in one JVM.
func TestTracesHaveBounds(t *testing.T) {
	everyTracer(t, func(t *testing.T, g *guest) {
		for _, test := range []func(*testing.T, *guest){
			fullRingsDropAndCount, fullRingsAreLeftAlone, tracesEndAtALevel, someRootsOpenTransactions,
			arenasWithoutRoomForARing, transactionsOutliveNoArena, fullRingsKeepWhatHasRoom,
		} {
			test(t, g)
		}
		g.leave()
	})
}

// fullRingsDropAndCount has more calls than a ring has room for: outer calls are
// kept, what is lost is counted, and there is room again when Sonde has read.
func fullRingsDropAndCount(t *testing.T, g *guest) {
	for _, root := range []string{"root", "lroot"} {
		a := g.mapTraces(1024, 0)
		const calls = 1000
		for round := range 5 {
			became := g.steps("a", fmt.Sprintf("e%s ein c0:%064d h%d:in x x", root, 0, calls))
			var framed int
			if _, err := fmt.Sscanf(became, "F F - %d - -", &framed); err != nil || framed < 10 || framed > 20 {
				t.Fatalf("%s: %s", root, became)
			}
			got := readTraces(t, a)["A"]
			transaction := fmt.Sprint("A", round+1)
			if want := fmt.Sprintf("%s %s 0 root lost %d", transaction, root, calls-framed); len(got) != framed+3 || got[len(got)-1] != want {
				t.Fatalf("%s: %d records for %d calls, the last %q, want %q", root, len(got), framed+2, got[len(got)-1], want)
			}
			if !slices.Contains(got, transaction+" in 1") {
				t.Errorf("%s: the outer call is lost: %q", root, got)
			}
			state := stateOf(t, a)
			if in := tracedTotals(t, a, "in"); in.Calls != uint64(round+1)*(calls+1) || in.Calls-in.Timed != state.Dropped {
				t.Errorf("%s: %d calls, of which %d were timed and %d dropped", root, in.Calls, in.Timed, state.Dropped)
			}
			if state.Opened != uint64(round+1) || state.Transaction != 0 || state.Unread != 0 {
				t.Errorf("%s: %+v", root, state)
			}
		}
		g.unmap()
		g.order("a .")
	}
}

// fullRingsAreLeftAlone has roots that find no room: they are counted, and nothing
// is traced below them.
func fullRingsAreLeftAlone(t *testing.T, g *guest) {
	a := g.mapTraces(1024, 0)
	framed, err := strconv.Atoi(g.steps("a", "h500:root"))
	if err != nil || framed < 15 || framed > 21 {
		t.Fatalf("%d roots traced, %v", framed, err)
	}
	if got := g.steps("a", "eroot ein x x elroot d ein x s1"); got != "1 0 - - F true 0 - -" {
		t.Error(got)
	}
	if state := stateOf(t, a); state.Dropped != uint64(500-framed)+2 || state.Opened != uint64(framed) {
		t.Errorf("%+v", state)
	}
	if root, late := tracedTotals(t, a, "root"), tracedTotals(t, a, "lroot"); root.Calls != 501 || late.Calls != 1 {
		t.Errorf("%+v, %+v", root, late)
	}
	if got := len(readTraces(t, a)["A"]); got != framed {
		t.Errorf("%d records, want %d", got, framed)
	}
	if got := g.steps("a", "eroot ein x x"); got != "F F - -" {
		t.Error(got)
	}
	g.unmap()
	g.order("a .")
}

func tracesEndAtALevel(t *testing.T, g *guest) {
	a := g.mapTraces(1<<17, 1)
	if got := g.steps("a", "eroot ein ein elin s1 x x elin elin s0 s1 x"); got != "F F 1 F - - - F F - - -" {
		t.Error(got)
	}
	want := []string{"A1 in 1", "A1 lin 1", "A1 root 0 root"}
	if got := readTraces(t, a)["A"]; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if in, late := tracedTotals(t, a, "in"), tracedTotals(t, a, "lin"); in.Calls != 2 || late.Calls != 2 || stateOf(t, a).Dropped != 0 {
		t.Errorf("%+v, %+v", in, late)
	}
	g.unmap()
	g.order("a .")
}

// someRootsOpenTransactions draws one in ten by lot, so that at most 19 calls lie
// between two.
func someRootsOpenTransactions(t *testing.T, g *guest) {
	a := g.mapTraces(1<<20, 0)
	framed, err := strconv.Atoi(g.steps("a", "h2000:some"))
	if err != nil || framed < 2000/19 || framed > 1000 {
		t.Errorf("%d transactions, %v", framed, err)
	}
	if state, calls := stateOf(t, a), tracedTotals(t, a, "some"); state.Opened != uint64(framed) || calls.Calls != 2000 || calls.Timed != uint64(framed) {
		t.Errorf("%+v, %+v", state, calls)
	}
	g.unmap()
	g.order("a .")
}

// arenasWithoutRoomForARing count calls, and say how many they did not trace.
func arenasWithoutRoomForARing(t *testing.T, g *guest) {
	a := g.mapTraces(1<<26, 0)
	if got := g.steps("a", "eroot ein x x elroot s1 elroot s0"); got != "1 0 - - F - F -" {
		t.Error(got)
	}
	if rings, err := a.Rings(); len(rings) != 0 || err != nil {
		t.Errorf("%d rings, %v", len(rings), err)
	}
	if missed, err := a.Ringless(); missed != 3 || err != nil {
		t.Errorf("%d, %v", missed, err)
	}
	if root, late := tracedTotals(t, a, "root"), tracedTotals(t, a, "lroot"); root.Calls != 1 || late.Calls != 1 {
		t.Errorf("%+v, %+v", root, late)
	}
	g.unmap()
	g.order("a .")
}

// transactionsOutliveNoArena has the arena go while calls are under way.
func transactionsOutliveNoArena(t *testing.T, g *guest) {
	g.mapTraces(1<<17, 0)
	if got := g.steps("a", "eroot elin ein t1"); got != "F F F T" {
		t.Error(got)
	}
	g.unmap()
	if got := g.steps("a", "q d c0:x x s0 x eroot x"); got != "false false - - - - 0 -" {
		t.Error(got)
	}
	a := g.mapTraces(1<<17, 0)
	if got := g.steps("a", "ein x eroot ein x x"); got != "0 - F F - -" {
		t.Error(got)
	}
	if got, want := readTraces(t, a)["A"], []string{"A1 in 1", "A1 root 0 root"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	g.unmap()
	g.order("a .")
}

// fullRingsKeepWhatHasRoom is TestRandomTraces with rings that are full most of the
// time, and read now and then.
func fullRingsKeepWhatHasRoom(t *testing.T, g *guest) {
	a := g.mapTraces(1024, 0)
	random := rand.New(rand.NewSource(1))
	play := newPlay(random, []string{"v", "w"})
	play.ask = func(actor, step string) string { return g.steps(actor, step) }
	play.probes = slices.DeleteFunc(play.probes, func(name string) bool { return name == "bare" })
	read := make(map[string][]string)
	for turn := range 60 {
		play.next()
		if turn%4 != 0 {
			continue
		}
		for ring, texts := range readTraces(t, a) {
			read[ring] = append(read[ring], texts...)
		}
		for _, actor := range play.actors {
			if want := actor.thread.published(); !slices.Equal(read[actor.thread.ring], want) {
				t.Fatalf("turn %d, ring %s\n%s", turn, actor.thread.ring, firstDifference(read[actor.thread.ring], want))
			}
		}
	}
	dropped := uint64(0)
	rings, err := a.Rings()
	if err != nil {
		t.Fatal(err)
	}
	for _, ring := range rings {
		state, err := ring.State()
		if err != nil {
			t.Fatal(err)
		}
		dropped += state.Dropped
	}
	if dropped < 50 {
		t.Errorf("only %d calls found no room", dropped)
	}
	g.unmap()
}
