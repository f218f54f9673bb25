package agent_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// calling is a condition that calls a method of the fixture with the first argument.
type calling struct{ method, callee string }

func (c calling) Lower(weave.Moment) (*weave.Fragment, error) {
	return &weave.Fragment{
		Class: "Tasks", Method: c.method, Descr: "(I)I", MaxStack: 2,
		Steps: []weave.Step{
			{Do: weave.DoArgument, Kind: 'I'},
			{Do: weave.DoConstant, Op: opcode.Invokestatic, Const: weave.Constant{
				Tag: classfile.TagMethodref, Text: "Tasks", Name: c.callee, Descr: "(I)I",
			}},
		},
	}, nil
}

// What threads keep of a context that was put into them by hooks of an earlier arena,
// or when positions meant other elements, does nothing.
func TestContextsOfBeforeAreForgotten(t *testing.T) {
	everyProgram(t, "Tasks", func(t *testing.T, g *guest) {
		w := watchTasks(t)
		begin := func() *arena.Arena {
			a := g.mapWithRing(8 << 20)
			g.hookHandOff()
			g.hookAll(w, "Tasks")
			g.setWatches(w, 0)
			return a
		}
		check := func(a *arena.Arena, labels map[uint32]string) {
			t.Helper()
			got := taskTruth(t, a, labels)
			// Three threads, each of which is outside twice and inside once.
			want := map[string]uint64{"calls": 9, "inside": 3, "traced": 3, "tag:null": 6, "tag:two": 3}
			if !maps.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		}
		begin()
		g.tell("hold", 1)
		g.ask(restore, nil)
		g.reply(restored)
		a := begin()
		g.tell("release", 1)
		check(a, make(map[uint32]string))
		g.ask(restore, nil)
		g.reply(restored)

		a = begin()
		g.tell("hold", 1)
		g.setWatches(w, 1)
		g.tell("release", 1)
		check(a, make(map[uint32]string))
		g.leave()
	})
}

// A condition may call what has hooks, even the method it is a condition of: that is
// not the program's doing. One that fails is counted.
func TestConditionsAreAskedInSilence(t *testing.T) {
	everyProgram(t, "Tasks", func(t *testing.T, g *guest) {
		const silent, failing, plain = 90_000, 90_001, 90_002
		w := &watching{hooks: map[string][]*weave.Template{"Tasks.own(I)I": {
			boundTemplate(t, agent.WatchTemplate, calling{"own", "own"}).As(silent),
			boundTemplate(t, agent.WatchTemplate, calling{"own", "unclear"}).As(failing),
			boundTemplate(t, agent.WatchTemplate, nil).As(plain),
		}}}
		for _, id := range []uint32{silent, failing, plain} {
			w.entries = append(w.entries, arena.WatchEntry{Probe: arena.Probe{ID: id, Flags: arena.On | arena.Timed}})
		}
		a, _ := g.mapArenaOf(1 << 20)
		g.hookAll(w, "Tasks")
		g.setWatches(w, 0)
		const rounds = 50 // of each of the numbers 0 to 4
		g.tell("own", rounds)
		sum, err := a.Sum(0)
		if err != nil {
			t.Fatal(err)
		}
		for id, want := range map[uint32][2]uint64{silent: {rounds, 3 * rounds}, failing: {rounds, rounds}, plain: {5 * rounds, 0}} {
			got := sum.Methods[id]
			if got == nil || got.Calls != want[0] || got.Undecided != want[1] {
				t.Errorf("%d: %+v, want %v", id, got, want)
			}
		}
		g.leave()
	})
}

// Calls are told apart by their callers in a row.
func TestRowsOfCallersAreLabels(t *testing.T) {
	everyProgram(t, "Tasks", func(t *testing.T, g *guest) {
		const one, three, eight = 90_000, 90_001, 90_002
		spot := boundTemplate(t, agent.WatchTemplate, nil)
		w := &watching{hooks: map[string][]*weave.Template{
			"Tasks.last(LTasks$Context;)I": {spot.As(one), spot.As(three), spot.As(eight)},
		}}
		for id, length := range map[uint32]uint64{one: 1, three: 3, eight: 8} {
			w.entries = append(w.entries, arena.WatchEntry{
				Probe: arena.Probe{ID: id, Flags: arena.On | arena.Timed}, Words: [3]uint64{0, 0, length << 32},
			})
		}
		for range 2 {
			a := g.mapWithRing(1 << 20)
			g.hookAll(w, "Tasks")
			g.setWatches(w, 0)
			const rounds = 10
			g.tell("row", rounds)
			labels := make(map[uint32]string)
			for _, arrival := range g.arrivals(a, 0, 6) {
				labels[arrival.ID] = arrival.Text
			}
			got := make(map[uint32]map[string]uint64)
			eachNode(t, a, func(node arena.Node, above uint32) {
				if !arena.IsLabel(above) {
					return
				}
				if got[node.ID] == nil {
					got[node.ID] = make(map[string]uint64)
				}
				names := strings.ReplaceAll(labels[above], "(LTasks$Context;)I", "")
				got[node.ID][names] += node.Calls
				if node.Timed != node.Calls || node.Nanos == 0 {
					t.Errorf("%+v was to be timed", node)
				}
			})
			// Each of the five contexts calls second from first; three of them once more, and last.
			if want := (map[string]uint64{"CTasks.second": 8 * rounds, "CTasks.first": 3 * rounds}); !maps.Equal(got[one], want) {
				t.Errorf("%v, want %v", got[one], want)
			}
			for _, id := range []uint32{three, eight} {
				rows := slices.Sorted(maps.Keys(got[id]))
				if len(rows) != 2 || !strings.HasPrefix(rows[0], "CTasks.first\nTasks.") || !strings.HasPrefix(rows[1], "CTasks.second\nTasks.first\nTasks.") ||
					got[id][rows[0]] != 3*rounds || got[id][rows[1]] != 8*rounds {
					t.Errorf("%d: %v", id, got[id])
				}
			}
			if n := strings.Count(slices.Sorted(maps.Keys(got[three]))[1], "\n"); n != 2 {
				t.Errorf("three in a row are %d", n+1)
			}
			g.ask(restore, nil)
			g.reply(restored)
		}
		g.leave()
	})
}
