package agent_test

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// The sequences of the fixture, as it has them: elements, and behind each how the next
// is reached, directly (/) or somewhere below (*). The last is of another method.
var pathSequences = []string{"A*", "A/", "A*B*", "A/B*", "A*B/C/", "A*A/", "P*", "L/", "A/A/A*", "A/L*", "D/"}

// The fixture's elements.
var pathElements = map[string]byte{
	"Paths.a(LPaths$Walk;)V": 'A', "Paths.deeper(LPaths$Walk;)V": 'A', "Paths.b(LPaths$Walk;)V": 'B', "Paths.c(LPaths$Walk;)V": 'C',
	"Paths.p(LPaths$Walk;)V": 'P', "Paths$Bridged.call(LPaths$Walk;)V": 'L', "Paths.d(LPaths$Walk;)V": 'D',
}

const pathSpotID, pathAnchorID = 70_000, 80_000

// A watching is what a test has watched.
type watching struct {
	entries []arena.WatchEntry
	hooks   map[string][]*weave.Template // by member, outermost first
	anchors map[string]uint32
	bridges []string
}

// watchPaths lays the sequences out, each element with a position of its own.
func watchPaths(t *testing.T) *watching {
	w := &watching{hooks: make(map[string][]*weave.Template), anchors: make(map[string]uint32), bridges: []string{
		"Paths$Bridged.call(Ljava/lang/Object;)V", "Paths$Told.call(Ljava/lang/Object;)V",
	}}
	spot, anchor := boundTemplate(t, agent.WatchTemplate, nil), compileTemplate(t, agent.AnchorTemplate)
	var first, below, direct [256]uint64
	next := 0
	for i, sequence := range pathSequences {
		for at := 0; at < len(sequence); at += 2 {
			bit := uint64(1) << next
			switch {
			case at == 0:
				first[sequence[at]] |= bit
			case sequence[at-1] == '*':
				below[sequence[at]] |= bit
			default:
				direct[sequence[at]] |= bit
			}
			next++
		}
		needed := uint64(1) << (next - 1)
		if strings.HasSuffix(sequence, "/") {
			needed <<= 32
		}
		member := "Paths.p(LPaths$Walk;)V"
		if sequence == "D/" {
			member = "Paths$Told.call(LPaths$Walk;)V"
		}
		w.entries = append(w.entries, arena.WatchEntry{
			Probe: arena.Probe{ID: uint32(pathSpotID + i), Flags: arena.On | arena.Flat}, Words: [3]uint64{needed},
		})
		w.hooks[member] = append(w.hooks[member], spot.As(int32(pathSpotID+i)))
	}
	id := pathAnchorID
	for member, element := range pathElements {
		w.entries = append(w.entries, arena.WatchEntry{
			Probe: arena.Probe{ID: uint32(id), Flags: arena.On},
			Words: [3]uint64{below[element] | first[element]<<32, direct[element]},
		})
		w.anchors[member] = uint32(first[element] | below[element] | direct[element])
		w.hooks[member] = append(w.hooks[member], anchor.As(int32(id)))
		id++
	}
	return w
}

func boundTemplate(t *testing.T, source func() ([]byte, string), code ...weave.Lowered) *weave.Template {
	t.Helper()
	bound, err := compileTemplate(t, source).Bind(code...)
	if err != nil {
		t.Fatal(err)
	}
	return bound
}

// hookAll weaves what is watched into classes.
func (g *guest) hookAll(w *watching, classes ...string) {
	g.t.Helper()
	for _, class := range classes {
		g.ask(install, numbers(g.list()[strings.ReplaceAll(class, "/", ".")][0].handle))
		question := g.receive(transform)
		question.take(8) // class and loader
		question.text()
		result, err := g.weaver.Weave(question.bytes(), func(m weave.MethodInfo) []*weave.Template {
			return w.hooks[m.Class+"."+m.Name+m.Descriptor]
		})
		if err != nil || result.Bytes == nil {
			g.t.Fatalf("%s: %+v, %v", class, result, err)
		}
		g.send(woven, question.request, append(text(string(result.Bytes)), text("")...))
		if answer := g.reply(installed); answer.u64() == 0 || answer.u32() != 0 {
			g.t.Fatalf("%s is not woven", class)
		}
	}
}

// setWatches switches what is watched on.
func (g *guest) setWatches(w *watching, fresh byte) {
	g.t.Helper()
	table, err := arena.WatchTable(w.entries)
	if err != nil {
		g.t.Fatal(err)
	}
	body := binary.BigEndian.AppendUint32([]byte{fresh}, uint32(len(table)))
	for _, word := range table {
		body = binary.BigEndian.AppendUint64(body, word)
	}
	body = binary.BigEndian.AppendUint32(body, uint32(len(w.anchors)))
	for member, positions := range w.anchors {
		body = binary.BigEndian.AppendUint32(append(body, text(member)...), positions)
	}
	body = binary.BigEndian.AppendUint32(body, uint32(len(w.bridges)))
	for _, bridge := range w.bridges {
		body = append(body, text(bridge)...)
	}
	g.ask(watches, body)
	g.reply(done)
}

// spotCalls are the calls counted for spots, less those of before.
func spotCalls(t *testing.T, a *arena.Arena, first, count int, before []uint64) (calls []uint64) {
	t.Helper()
	sum, err := a.Sum(0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range count {
		n := uint64(0)
		if totals := sum.Methods[uint32(first+i)]; totals != nil {
			n = totals.Calls
		}
		if before != nil {
			n -= before[i]
		}
		calls = append(calls, n)
	}
	return calls
}

// Hooks agree with the program itself, which keeps its own stack, on every call.
func TestPathsAreThoseOfTheStack(t *testing.T) {
	everyProgram(t, "Paths", func(t *testing.T, g *guest) {
		w := watchPaths(t)
		for round := range 2 {
			a, _ := g.mapArenaOf(8 << 20)
			g.hookAll(w, "Paths", "Paths$Bridged", "Paths$Told")
			if round > 0 {
				w.bridges = nil // these JDKs tell them by themselves
			}
			g.setWatches(w, 0)
			before := make([]uint64, len(pathSequences))
			for _, do := range []string{"walk 1", "walk 2", "threads 60", "overflow 1", "walk 3"} {
				what, number, _ := strings.Cut(do, " ")
				n, _ := strconv.Atoi(number)
				told := strings.TrimPrefix(g.tell(what, n), what+" ")
				got := spotCalls(t, a, pathSpotID, len(pathSequences), before)
				if have := strings.Trim(fmt.Sprint(got), "[]"); have != told {
					t.Errorf("round %d, %s: of %v\nhooks say   %s\nprogram says %s", round, do, pathSequences, have, told)
				}
				for i := range got {
					before[i] += got[i]
					if got[i] == 0 && what == "walk" {
						t.Errorf("%s never held", pathSequences[i])
					}
				}
			}
			if _, lost := a.ContextLosses(); lost != 0 {
				t.Errorf("%d contexts lost", lost)
			}
			g.ask(restore, nil)
			g.reply(restored)
		}
		g.leave()
	})
}
