package agent_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// What the fixture's hot methods are called, by their ids.
var hot = map[uint32]string{
	idOf("work", "(I)I"):    "work",
	idOf("recurse", "(I)I"): "recurse",
	idOf("fail", "(I)I"):    "fail",
	idOf("<init>", "(I)V"):  "<init>",
}

func idOf(name, descriptor string) uint32 {
	return uint32(weave.MethodID(classfile.MethodRef{Class: "Callers$Hot", Name: name, Descriptor: descriptor}))
}

// hookHot puts hooks into the hot methods.
func (g *guest) hookHot() {
	g.t.Helper()
	g.weaveInto("Callers$Hot", g.live, func(m weave.MethodInfo) bool { return hot[idOf(m.Name, m.Descriptor)] != "" })
}

// setHot sets them all.
func (g *guest) setHot(flags arena.Flags, period uint32) {
	g.t.Helper()
	var wanted []arena.Probe
	for id := range hot {
		wanted = append(wanted, arena.Probe{ID: id, Flags: flags, Period: period})
	}
	g.set(wanted...)
}

// mapWithRing maps an arena in which callers can be announced.
func (g *guest) mapWithRing(size int64) *arena.Arena {
	g.t.Helper()
	a, _ := g.mapArenaOf(size)
	if err := a.MakeArrivals(); err != nil {
		g.t.Fatal(err)
	}
	return a
}

func edgesOf(t *testing.T, a *arena.Arena) []arena.Edge {
	t.Helper()
	threads, err := a.Threads()
	if err != nil {
		t.Fatal(err)
	}
	return arena.Edges(threads)
}

// drawn are the calls that were drawn, by "method < caller".
func drawn(t *testing.T, a *arena.Arena) map[string]uint64 {
	t.Helper()
	arrivals, err := a.Arrivals(0)
	if err != nil {
		t.Fatal(err)
	}
	names := map[uint32]string{arena.CallerUnknown: "unknown", arena.CallerEntry: "entry"}
	for _, arrival := range arrivals {
		if names[arrival.ID] != "" || !arena.IsCaller(arrival.ID) {
			t.Errorf("%+v was %q before", arrival, names[arrival.ID])
		}
		names[arrival.ID] = arrival.Text
	}
	calls := make(map[string]uint64)
	for _, edge := range edgesOf(t, a) {
		if names[edge.Caller] == "" {
			t.Errorf("caller %d was not reported", edge.Caller)
		}
		calls[hot[edge.Method]+" < "+names[edge.Caller]] += edge.Calls
	}
	return calls
}

// callsOf are all calls of the hot methods.
func callsOf(t *testing.T, a *arena.Arena) (calls uint64) {
	t.Helper()
	sum, err := a.Sum(0)
	if err != nil {
		t.Fatal(err)
	}
	for id := range hot {
		if totals := sum.Methods[id]; totals != nil {
			calls += totals.Calls
		}
	}
	return calls
}

func same(t *testing.T, have, want map[string]uint64) {
	t.Helper()
	if maps.Equal(have, want) {
		return
	}
	for _, edge := range slices.Sorted(maps.Keys(have)) {
		t.Errorf("have %s: %d", edge, have[edge])
	}
	for _, edge := range slices.Sorted(maps.Keys(want)) {
		t.Errorf("want %s: %d", edge, want[edge])
	}
}

// wayCallers is what the fixture's ways to call come to, each taken once: the
// nearest frame of another method, where hidden and reflection frames are none.
var wayCallers = []struct{ way, edge string }{
	{"static", "work < Callers.byStatic()I"},
	{"virtual", "work < Callers$Derived.virtual()I"},
	{"interface", "work < Callers$Way.face()I"},
	{"lambda", "work < Callers.lambda$call$0(I)I"},
	{"reference", "work < Callers.apply(Ljava/util/function/IntUnaryOperator;)I"},
	{"reflection", "work < Callers.byReflection()I"},
	{"reflection", "<init> < Callers.byReflection()I"},
	{"constructor", "work < Callers$Maker.<init>()V"},
	{"constructor", "<init> < Callers$Maker.<init>()V"},
	{"throwing", "fail < Callers.byThrowing()I"},
}

func TestCallersAreFound(t *testing.T) {
	everyProgram(t, "Callers", func(t *testing.T, g *guest) {
		for _, mode := range []arena.Flags{0, arena.Timed | arena.Spreads, arena.Sampled | arena.Spreads} {
			a := g.mapWithRing(1 << 20)
			g.hookHot()
			g.setHot(arena.On|arena.Callers|mode, 1)
			const rounds, deep, crowd = 30, 40, 20
			want := make(map[string]uint64)
			calls, told := uint64(0), ""
			for _, way := range wayCallers {
				if way.way != told {
					g.tell(way.way, rounds)
					told = way.way
				}
				want[way.edge] += rounds
				calls += rounds
			}
			g.tell("recursion", deep)
			want["recurse < Callers.byRecursion(I)I"] = deep + 1
			g.tell("threads", crowd)
			want["work < Callers$Task.run()V"] = 10 * crowd
			calls += deep + 1 + 10*crowd
			same(t, drawn(t, a), want)
			if got := callsOf(t, a); got != calls {
				t.Errorf("%d calls, of %d", got, calls)
			}
			for _, edge := range edgesOf(t, a) {
				checkTimes(t, edge, mode)
			}
			sum, err := a.Sum(0)
			if err != nil || sum.Methods[idOf("fail", "(I)I")].Threw != rounds {
				t.Errorf("%v exceptions, %v", sum.Methods[idOf("fail", "(I)I")], err)
			}
			g.ask(restore, nil)
			g.reply(restored)
		}
		g.leave()
		isGone(t, g.target)
		if objects := jcmd(t, g.target, "GC.class_histogram"); !strings.Contains(objects, "java.lang.String") || strings.Contains(objects, "SondeHooks") {
			t.Error("hooks have left objects behind")
		}
	})
}

// checkTimes holds the parts of an edge against each other.
func checkTimes(t *testing.T, edge arena.Edge, mode arena.Flags) {
	t.Helper()
	if mode&(arena.Timed|arena.Sampled) == 0 {
		if edge.Timed != 0 || edge.Spread != nil {
			t.Errorf("%+v was not to be timed", edge)
		}
		return
	}
	if edge.Timed != edge.Calls || edge.Nanos < edge.Max || edge.Max == 0 || edge.Spread == nil || edge.Spread.Count() != edge.Timed {
		t.Errorf("%+v", edge)
		return
	}
	if longest := edge.Spread.Quantile(1); math.Abs(longest-float64(edge.Max)) > float64(edge.Max)/16 {
		t.Errorf("the longest took %v ns, the spread says %v", edge.Max, longest)
	}
	if hot[edge.Method] == "recurse" && edge.Nanos != edge.Max {
		t.Errorf("calls inside a call were added to it: %+v", edge)
	}
}

// A method that nobody calls begins a thread. A hook that stands in the caller, or
// in a frame that walks do not show, has nobody between the caller and itself. Who
// is too far up is not found.
func TestCallersAtTheEnds(t *testing.T) {
	everyProgram(t, "Callers", func(t *testing.T, g *guest) {
		g.tell("entry", 1) // loads its class
		a := g.mapWithRing(1 << 20)
		g.hookHot()
		g.setHot(arena.On|arena.Callers, 1)
		const deep, sight = 100, 64
		g.tell("recursion", deep)
		same(t, drawn(t, a), map[string]uint64{
			"recurse < Callers.byRecursion(I)I": sight - 1, "recurse < unknown": deep + 1 - (sight - 1),
		})
		if got := g.tell("overflow", 1); got != "overflow 1" || drawn(t, a)["work < Callers.byStatic()I"] != 1 {
			t.Errorf("%s, %v", got, drawn(t, a))
		}
		g.ask(restore, nil)
		g.reply(restored)

		a = g.mapWithRing(1 << 20)
		g.weaveInto("Callers$Entry", g.live, func(m weave.MethodInfo) bool { return m.Name == "run" })
		g.weaveInto("Callers", g.live, func(m weave.MethodInfo) bool { return m.Name == "byStatic" })
		g.weaveInto("java/lang/reflect/Method", g.live, func(m weave.MethodInfo) bool { return m.Name == "invoke" })
		const invoke = "(Ljava/lang/Object;[Ljava/lang/Object;)Ljava/lang/Object;"
		entry := uint32(weave.MethodID(classfile.MethodRef{Class: "Callers$Entry", Name: "run", Descriptor: "()V"}))
		site := uint32(weave.MethodID(classfile.MethodRef{Class: "Callers", Name: "byStatic", Descriptor: "()I"}))
		reflected := uint32(weave.MethodID(classfile.MethodRef{Class: "java/lang/reflect/Method", Name: "invoke", Descriptor: invoke}))
		g.set(
			arena.Probe{ID: entry, Flags: arena.On | arena.Callers},
			arena.Probe{ID: site, Flags: arena.On | arena.Callers | arena.Here},
			arena.Probe{ID: reflected, Flags: arena.On | arena.Callers | arena.Here},
		)
		g.tell("entry", 3)
		g.tell("static", 4)
		g.tell("reflection", 5)
		arrivals, err := a.Arrivals(0)
		if err != nil || len(arrivals) != 2 || arrivals[0].Text != "Callers.byStatic()I" || arrivals[1].Text != "Callers.byReflection()I" {
			t.Fatalf("%+v, %v", arrivals, err)
		}
		have := make(map[[2]uint32]uint64)
		for _, edge := range edgesOf(t, a) {
			have[[2]uint32{edge.Method, edge.Caller}] = edge.Calls
		}
		if !maps.Equal(have, map[[2]uint32]uint64{
			{entry, arena.CallerEntry}: 3, {site, arrivals[0].ID}: 4, {reflected, arrivals[1].ID}: 5,
		}) {
			t.Errorf("%v", have)
		}
		// The caller of calibration is not reported.
		g.ask(calibrate, calibration(100, arena.Callers|arena.Timed, 1, 10))
		if runs := g.reply(calibrated).u32(); runs == 0 {
			t.Error("nothing was calibrated")
		}
		if arrivals, err := a.Arrivals(2); err != nil || len(arrivals) != 0 {
			t.Errorf("%+v, %v", arrivals, err)
		}
		g.leave()
	})
}

// One call in k is drawn on average; the next is at most 2k-1 calls away.
func TestCallersAreDrawnByLot(t *testing.T) {
	everyProgram(t, "Callers", func(t *testing.T, g *guest) {
		a := g.mapWithRing(1 << 20)
		g.hookHot()
		const period, rounds = 8, 10_000
		g.setHot(arena.On|arena.Callers|arena.Timed, period)
		g.tell("static", rounds)
		got := drawn(t, a)["work < Callers.byStatic()I"]
		if callsOf(t, a) != rounds || got < rounds/(2*period-1) || got > rounds/2 {
			t.Errorf("%d of %d calls were drawn", got, callsOf(t, a))
		}
		// What is not inside a context is not counted either.
		g.weaveInto("Callers", g.live, func(m weave.MethodInfo) bool { return m.Name == "byStatic" })
		root := arena.Probe{ID: uint32(weave.MethodID(classfile.MethodRef{Class: "Callers", Name: "byStatic", Descriptor: "()I"})), Flags: arena.On | arena.Timed | arena.Root}
		inside := arena.Probe{ID: idOf("work", "(I)I"), Flags: arena.On | arena.Callers | arena.Timed | arena.Inside}
		g.set(root, inside)
		before := edgesOf(t, a)[0]
		g.tell("virtual", 10)
		g.tell("static", 10)
		after := edgesOf(t, a)
		if calls := callsOf(t, a) - rounds; calls != 10 || len(after) != 1 || after[0].Calls-before.Calls != 10 {
			t.Errorf("%d calls inside the context; %+v", calls, after)
		}
		// Who called, and is timed, did not do what looking for it took. Its tree does not see the time of a flat hook.
		caller := nodeOf(t, a, root.ID)
		took := adjustmentOf(t, a, caller.Ref)
		if took.Calls != 10 || took.Nanos == 0 || uint64(caller.Self)+took.Nanos != caller.Nanos {
			t.Errorf("%+v, adjusted by %+v", caller, took)
		}
		g.leave()
	})
}

// Times are counted by how long they are in trees and without, of all calls or of
// those that are drawn, and only where that is asked for.
func TestTimesAreSpread(t *testing.T) {
	everyProgram(t, "Callers", func(t *testing.T, g *guest) {
		for _, flags := range []arena.Flags{arena.Timed, arena.Timed | arena.Flat, arena.Sampled, arena.Sampled | arena.Flat, 0} {
			for _, spread := range []arena.Flags{0, arena.Spreads} {
				a, _ := g.mapArena()
				g.hookHot()
				g.setHot(arena.On|flags|spread, 5)
				g.tell("static", 300)
				g.tell("throwing", 300)
				for _, id := range []uint32{idOf("work", "(I)I"), idOf("fail", "(I)I")} {
					node := nodeOf(t, a, id)
					isSpread := flags != 0 && spread != 0
					if node.Calls != 300 || (node.Timed > 0) != (flags != 0) || (node.Spread != nil) != isSpread {
						t.Errorf("flags %#x: %+v", flags|spread, node)
					} else if isSpread {
						checkTimes(t, arena.Edge{Totals: arena.Totals{
							Calls: node.Timed, Timed: node.Timed, Nanos: node.Nanos, Max: node.Max, Spread: node.Spread,
						}}, flags)
					}
				}
				g.ask(restore, nil)
				g.reply(restored)
			}
		}
		g.leave()
	})
}

// adjustmentOf is the time that Sonde took in a node.
func adjustmentOf(t *testing.T, a *arena.Arena, parent uint32) (found arena.Node) {
	t.Helper()
	threads, err := a.Threads()
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		for _, node := range thread.Nodes {
			if node.ID == arena.AdjustmentID && node.Parent == parent {
				found = node
			}
		}
	}
	return found
}

// More callers than there are numbers are unknown; those that found no room to be
// announced are announced later.
func TestCallersAreBounded(t *testing.T) {
	everyProgram(t, "Callers", func(t *testing.T, g *guest) {
		const many, numbers, ring = 5000, 4094, 256
		g.tell("many", many)
		a := g.mapWithRing(8 << 20)
		g.hookHot()
		g.setHot(arena.On|arena.Callers, 1)
		g.tell("many", many)
		var total, unknown uint64
		edges := edgesOf(t, a)
		for _, edge := range edges {
			total += edge.Calls
			if edge.Caller == arena.CallerUnknown {
				unknown = edge.Calls
			} else if edge.Calls != 1 {
				t.Errorf("%d is two callers", edge.Caller)
			}
		}
		if total != many || unknown < many-numbers || uint64(len(edges)) != many-unknown+1 || len(edges) < numbers/2 {
			t.Errorf("%d edges, %d calls, %d of them by unknown callers", len(edges), total, unknown)
		}
		told := make(map[uint32]bool)
		for round := range 2 {
			if round > 0 {
				a.Answer(ring)
				g.tell("many", many)
			}
			for _, arrival := range g.arrivals(a, uint64(round)*ring, ring) {
				if arrival.Text != "One.applyAsInt(I)I" || told[arrival.ID] {
					t.Errorf("%+v", arrival)
				}
				told[arrival.ID] = true
			}
		}
		g.leave()
	})
}
