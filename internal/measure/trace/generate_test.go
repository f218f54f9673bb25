package trace

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A generator makes transactions and the records that hooks would write of them.
type generator struct {
	*rand.Rand
	clock uint64
	rings map[uint32][]arena.Record
	want  map[uint64]*Transaction
	next  uint64
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 17)), clock: 1000, rings: map[uint32][]arena.Record{}, want: map[uint64]*Transaction{}}
}

const (
	generatedLabel = 9000
	generatedSpots = 40
)

// transaction makes one on a ring; some of it may be handed to the rings behind.
func (g *generator) transaction(ring uint32, others []uint32) {
	g.next++
	t := &Transaction{ID: uint64(ring)<<32 | g.next}
	isDiscarded := len(others) > 0 && g.IntN(8) == 0
	begin := g.tick()
	t.Root = g.call(t, ring, 0, begin, others)
	if isDiscarded {
		g.rings[ring] = append(g.rings[ring], arena.Record{Kind: arena.DiscardedRecord, Transaction: t.ID})
		return
	}
	g.write(ring, t.ID, t.Root, arena.Record{Root: true})
	g.want[t.ID] = t
}

// tick lets some time pass, so that no two calls are the same by time alone.
func (g *generator) tick() uint64 {
	g.clock += 1 + uint64(g.IntN(50))
	return g.clock
}

// call makes a call that has begun, with all below it. It is written by the caller.
func (g *generator) call(t *Transaction, ring uint32, depth int, start uint64, others []uint32) *Call {
	c := &Call{Spot: uint32(1 + g.IntN(generatedSpots)), Depth: depth, start: start, ring: ring, Threw: g.IntN(9) == 0}
	for n := g.IntN(4 - min(depth, 3)); n > 0; n-- {
		inner := g.call(t, ring, depth+1, g.pass(), nil)
		g.write(ring, t.ID, inner, arena.Record{})
		c.Children = append(c.Children, inner)
	}
	for _, other := range others {
		if g.IntN(2) == 0 {
			t.Parts = append(t.Parts, g.part(t, other))
		}
	}
	if depth == 0 && g.IntN(4) == 0 { // a task done by the thread itself
		inline := g.part(t, ring)
		c.Children = append(c.Children, inline)
	}
	g.tick()
	c.Measured = time.Duration(g.clock - start)
	return c
}

// pass is the clock, which may stand still for what begins at once.
func (g *generator) pass() uint64 {
	g.clock += uint64(g.IntN(3))
	return g.clock
}

func (g *generator) part(t *Transaction, ring uint32) *Call {
	part := g.call(t, ring, 1, g.tick(), nil)
	part.Handed = true
	g.write(ring, t.ID, part, arena.Record{Handed: true})
	g.tick()
	return part
}

// write writes what the exit of a call does, values first.
func (g *generator) write(ring uint32, id uint64, c *Call, r arena.Record) {
	for index := range g.IntN(3) {
		value := Value{Index: index, Text: fmt.Sprintf("v%d", g.IntN(100)), AtExit: g.IntN(2) == 0}
		c.Values = append(c.Values, value)
		g.rings[ring] = append(g.rings[ring], arena.Record{
			Kind: arena.ValueRecord, Transaction: id, Depth: uint32(c.Depth), Index: uint8(index), Text: value.Text, AtExit: value.AtExit,
		})
	}
	r.Kind, r.Transaction, r.Depth, r.ID, r.Label = arena.CallRecord, id, uint32(c.Depth), c.Spot, generatedLabel
	r.Start, r.Nanos, r.Threw = c.start, uint64(c.Measured), c.Threw
	g.rings[ring] = append(g.rings[ring], r)
}

// feed hands the records to an assembler, those of each ring in their order and the
// rings as chance has it, and takes what is ready in between.
func (g *generator) feed(a *Assembler) (taken []*Transaction) {
	left := make([]uint32, 0, len(g.rings))
	for ring := range g.rings {
		left = append(left, ring)
	}
	for len(left) > 0 {
		at := g.IntN(len(left))
		ring := left[at]
		for n := 1 + g.IntN(12); n > 0 && len(g.rings[ring]) > 0; n-- {
			a.Add(ring, g.rings[ring][0])
			g.rings[ring] = g.rings[ring][1:]
		}
		if len(g.rings[ring]) == 0 {
			left = append(left[:at], left[at+1:]...)
		}
		if g.IntN(3) == 0 {
			taken = append(taken, a.Take(g.clock)...)
		}
	}
	return append(taken, a.Flush()...)
}

// generatedNames know all that a generator makes.
type generatedNames struct{}

func (generatedNames) Spot(id uint32) (Spot, bool) {
	spot := Spot{Class: "com/acme/Shop", Method: fmt.Sprintf("m%d", id)}
	for index := range 3 {
		for _, atExit := range []bool{false, true} {
			spot.Captures = append(spot.Captures, Capture{Index: index, AtExit: atExit, Expression: fmt.Sprintf("$%d", index)})
		}
	}
	return spot, id <= generatedSpots
}

func (generatedNames) Tags(label uint32) (map[string]string, bool) {
	return map[string]string{"tier": "gold"}, label == generatedLabel
}

// shape is all of a call that the records tell.
func shape(c *Call) string {
	var text strings.Builder
	fmt.Fprintf(&text, "#%d@%d+%d t%d %v %v(", c.Spot, c.start, c.Measured, c.ring, c.Threw, c.Handed)
	values := map[bool][]string{}
	for _, v := range c.Values {
		values[v.AtExit] = append(values[v.AtExit], fmt.Sprintf("%d=%s", v.Index, v.Text))
	}
	fmt.Fprint(&text, values[false], values[true])
	for _, child := range c.Children {
		text.WriteString(" " + shape(child))
	}
	return text.String() + ")"
}

func shapeOf(t *Transaction) string {
	text := shape(t.Root)
	for _, part := range t.Parts {
		text += "\n  part " + shape(part)
	}
	return text
}
