package trace

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// TestAnyInterleavingGivesTheSameTransactions is the assembler's law.
func TestAnyInterleavingGivesTheSameTransactions(t *testing.T) {
	for seed := range uint64(300) {
		g := newGenerator(seed)
		for range 1 + g.IntN(12) {
			g.transaction(uint32(1+g.IntN(3)), [][]uint32{nil, {4}, {4, 5}, {5, 6, 7}}[g.IntN(4)])
		}
		settle := []time.Duration{0, 100, time.Second}[g.IntN(3)]
		a := NewAssembler(Options{Names: generatedNames, Settle: settle})
		taken := g.feed(a)
		if len(taken) != len(g.want) {
			t.Errorf("seed %d: %d transactions of %d", seed, len(taken), len(g.want))
		}
		for _, got := range taken {
			want := g.want[got.ID]
			if want == nil {
				t.Fatalf("seed %d: transaction %x was discarded, or handed out twice", seed, got.ID)
			}
			delete(g.want, got.ID)
			if shapeOf(got) != shapeOf(want) {
				t.Fatalf("seed %d:\n got %s\nwant %s", seed, shapeOf(got), shapeOf(want))
			}
			if got.Tags["tier"] != "gold" || got.Root.Tags["tier"] != "gold" {
				t.Fatalf("seed %d: tags %v", seed, got.Tags)
			}
			checkTimes(t, got)
		}
		if counts := a.Counts(); counts.GivenUp+counts.Unfinished+counts.Strays > 0 {
			t.Errorf("seed %d: lost something: %+v", seed, counts)
		}
	}
}

// checkTimes holds times to each other: without a cost what calls have for themselves
// adds up to the whole.
func checkTimes(t *testing.T, tx *Transaction) {
	t.Helper()
	for c := range tx.All() {
		sum := c.Self
		for _, child := range c.Children {
			sum += child.Duration
			if child.Start < c.Start || child.Start+child.Measured > c.Start+c.Measured {
				t.Errorf("a call lies outside the one around it: %s", shape(c))
			}
		}
		if sum != c.Duration || c.Duration != c.Measured {
			t.Errorf("times do not add up: %v of %v, measured %v", sum, c.Duration, c.Measured)
		}
	}
	if tx.Duration != tx.Root.Duration || tx.Extent() < tx.Duration {
		t.Errorf("duration %v, extent %v", tx.Duration, tx.Extent())
	}
}

func call(id uint64, depth uint32, start, nanos uint64) arena.Record {
	return arena.Record{Kind: arena.CallRecord, Transaction: id, Depth: depth, ID: 1 + depth, Start: start, Nanos: nanos, Root: depth == 0}
}

func TestCostIsTakenOff(t *testing.T) {
	a := NewAssembler(Options{Names: generatedNames, Cost: Cost{Inner: 30, Outer: 70}})
	const ring = 1
	a.Add(ring, call(5, 2, 1200, 130))
	a.Add(ring, call(5, 1, 1100, 500))
	a.Add(ring, call(5, 1, 1700, 20)) // shorter than the clock's own time
	a.Add(ring, call(5, 0, 1000, 1000))
	tx := a.Take(2000)[0]
	first, second := tx.Root.Children[0], tx.Root.Children[1]
	for _, check := range []struct {
		name      string
		got, want time.Duration
	}{
		{"inner", first.Children[0].Self, 100},
		{"its caller's own", first.Self, 500 - 30 - 130 - 70},
		{"its caller", first.Duration, 500 - 30 - 30 - 70},
		{"one below the cost", second.Duration, 0},
		{"the root's own", tx.Root.Self, 1000 - 30 - (500 + 70) - (20 + 70)},
		{"the transaction", tx.Duration, 310 + 370},
		{"as measured", tx.Root.Measured, 1000},
	} {
		if check.got != check.want {
			t.Errorf("%s: %v, want %v", check.name, check.got, check.want)
		}
	}
}

func TestWallClock(t *testing.T) {
	wall := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	a := NewAssembler(Options{Names: generatedNames, Clock: Clock{wall, 5_000_000_000}})
	a.Add(1, call(5, 0, 7_500_000_000, 10))
	if got := a.Take(1e10)[0].Begin; !got.Equal(wall.Add(2500 * time.Millisecond)) {
		t.Errorf("began at %v", got)
	}
	if got := (Clock{wall, 500}).At(400); !got.Equal(wall.Add(-100)) {
		t.Errorf("before the moment: %v", got)
	}
}

func TestPartsAfterTheEndAreJoinedAndCounted(t *testing.T) {
	a := NewAssembler(Options{Names: generatedNames, Settle: 100})
	a.Add(1, call(5, 0, 1000, 50))
	if taken := a.Take(1100); len(taken) != 0 {
		t.Fatalf("handed out after 50 ns of 100")
	}
	taken := a.Take(1150)
	if len(taken) != 1 {
		t.Fatalf("%d handed out", len(taken))
	}
	late := call(5, 1, 1020, 900)
	late.Handed = true
	a.Add(2, late)
	a.Take(1150)
	if tx := taken[0]; len(tx.Parts) != 1 || tx.Late != 1 || tx.Extent() != 920 || tx.Parts[0].Method != "m2" {
		t.Errorf("late part: %+v", tx)
	}
	if a.Counts().LateParts != 1 || len(a.Flush()) != 0 {
		t.Errorf("counts %+v", a.Counts())
	}
}

func TestCallsWhoseOuterCallHasNotEndedAreKept(t *testing.T) {
	a := NewAssembler(Options{Names: generatedNames, Settle: time.Second})
	a.Add(2, call(5, 2, 1020, 10))
	a.Add(1, call(5, 0, 1000, 50))
	a.Add(1, call(6, 1, 1100, 10)) // its root never ends
	taken := a.Flush()
	if len(taken) != 1 || len(taken[0].Parts) != 1 || !taken[0].Parts[0].Handed {
		t.Fatalf("taken %+v", taken)
	}
	if counts := a.Counts(); counts.Unfinished != 1 || counts.Strays != 1 {
		t.Errorf("counts %+v", counts)
	}
}

func TestTransactionsFromBeforeAllHooksAreDropped(t *testing.T) {
	a := NewAssembler(Options{Names: generatedNames, Since: 1000})
	a.Add(1, call(5, 1, 1010, 10))
	a.Add(1, call(5, 0, 990, 50))
	a.Add(1, call(6, 1, 1060, 10))
	a.Add(1, call(6, 0, 1050, 50))
	late := call(5, 1, 1020, 900)
	late.Handed = true
	taken := a.Take(2000)
	a.Add(2, late)
	if taken = append(taken, a.Flush()...); len(taken) != 1 || taken[0].ID != 6 || len(taken[0].Root.Children) != 1 {
		t.Errorf("taken %+v", taken)
	}
	if counts := a.Counts(); counts.Discarded != 1 || counts.Unfinished != 0 || counts.LateParts != 0 {
		t.Errorf("counts %+v", counts)
	}
}

func TestTheOldestIsGivenUp(t *testing.T) {
	a := NewAssembler(Options{Names: generatedNames, MostOpen: 4})
	for id := range uint64(10) {
		a.Add(1, call(100+id, 1, 10*id, 5))
	}
	if counts := a.Counts(); counts.GivenUp != 6 || counts.Strays != 6 || len(a.waiting) != 4 {
		t.Errorf("%d waiting, counts %+v", len(a.waiting), counts)
	}
	// The root of one that was given up is no transaction: its calls are missing.
	a.Add(1, call(100, 0, 0, 500))
	a.Add(1, call(109, 0, 0, 500))
	if taken := a.Flush(); len(taken) != 1 || taken[0].ID != 109 || len(taken[0].Root.Children) != 1 {
		t.Errorf("taken %+v", taken)
	}
}

func TestOneThatWaitsForPartsOnlyIsHandedOutInTime(t *testing.T) {
	a := NewAssembler(Options{Names: generatedNames, MostOpen: 2, Settle: 1 << 60})
	for id := range uint64(5) {
		a.Add(1, call(100+id, 0, 10*id, 5))
	}
	if taken := a.Take(100); len(taken) != 3 || a.Counts().GivenUp != 0 {
		t.Errorf("%d handed out, counts %+v", len(taken), a.Counts())
	}
}

func TestHeldCallsAreBounded(t *testing.T) {
	a := NewAssembler(Options{Names: generatedNames, MostHeld: 100})
	for id := range uint64(50) {
		for n := range uint64(10) {
			a.Add(1, call(100+id, 1, 100*id+n, 1))
		}
		if a.held > 100 {
			t.Fatalf("%d held", a.held)
		}
	}
	if counts := a.Counts(); counts.GivenUp != 40 || counts.Strays != 400 {
		t.Errorf("counts %+v", counts)
	}
}

// TestMoreCallsThanAreKept has their number and time all the same.
func TestMoreCallsThanAreKept(t *testing.T) {
	const most, pairs = 100, 5000
	a := NewAssembler(Options{Names: generatedNames, MostCalls: most})
	const ring = 1
	clock := uint64(1000)
	for range pairs {
		a.Add(ring, call(5, 2, clock+1, 2))
		a.Add(ring, call(5, 1, clock, 4))
		clock += 5
	}
	if a.held > 2*most {
		t.Fatalf("%d held", a.held)
	}
	a.Add(ring, call(5, 0, 900, clock))
	tx := a.Take(clock * 2)[0]
	if calls, _ := tx.Calls(); calls != 2*pairs+1 {
		t.Errorf("%d calls of %d", calls, 2*pairs+1)
	}
	want := tx.Root.Measured - 4*pairs
	if tx.Root.Self != want || tx.Root.Omitted.Calls == 0 {
		t.Errorf("self %v, want %v; omitted %+v", tx.Root.Self, want, tx.Root.Omitted)
	}
}

// TestManyCallsOfAMethodAreFolded keeps the longest ones, and the number and time of the others.
func TestManyCallsOfAMethodAreFolded(t *testing.T) {
	const rows = 906
	a := NewAssembler(Options{Names: generatedNames, Cost: Cost{Inner: 1, Outer: 2}})
	const ring = 1
	clock := uint64(1000)
	for row := range uint64(rows) {
		length := 100 + 1000*(row%10/9) // each tenth is long
		inner := call(5, 2, clock+1, 50)
		inner.Threw = row == 0
		a.Add(ring, inner)
		a.Add(ring, call(5, 1, clock, length))
		clock += length + 10
	}
	a.Add(ring, call(5, 0, 900, clock))
	tx := a.Take(clock * 2)[0]
	calls, errors := tx.Calls()
	if calls != 2*rows+1 || errors != 1 {
		t.Errorf("%d calls, %d errors; want %d and 1", calls, errors, 2*rows+1)
	}
	if n := len(tx.Root.Children); n != mostAlike || tx.Root.Children[0].Measured != 1100 {
		t.Errorf("%d children, the first took %v; want the longest %d", n, tx.Root.Children[0].Measured, mostAlike)
	}
	const folded, long, short = rows - mostAlike, rows/10 - mostAlike, rows - rows/10
	measured := time.Duration(long*1100 + short*100)
	inner := &Folded{Spot: 3, Class: "com.acme.Shop", Method: "m3", Calls: folded, Threw: 1, Measured: folded * 50, Duration: folded * 49, Self: folded * 49}
	want := &Folded{Spot: 2, Class: "com.acme.Shop", Method: "m2", Calls: folded, Measured: measured, Self: measured - folded*(1+50+2), Children: []*Folded{inner}}
	want.Duration = want.Self + inner.Duration
	if got := tx.Root.Folded; len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("folded %+v, want %+v", got[0], want)
	}
	if self := tx.Root.Measured - 1 - measured - mostAlike*1100 - 2*rows; tx.Root.Self != self {
		t.Errorf("self %v, want %v", tx.Root.Self, self)
	}
	if sum := tx.Root.Self + want.Duration + mostAlike*(1100-4); tx.Root.Duration != sum {
		t.Errorf("duration %v, want %v", tx.Root.Duration, sum)
	}
}

// TestNonsenseIsHarmless feeds records no hook would write.
func TestNonsenseIsHarmless(t *testing.T) {
	for seed := range uint64(30) {
		g := newGenerator(seed)
		a := NewAssembler(Options{Names: generatedNames, MostOpen: 8, MostCalls: 20, MostHeld: 200})
		for range 3000 {
			a.Add(uint32(g.IntN(5)), arena.Record{
				Kind: arena.RecordKind(g.IntN(5)), Transaction: uint64(g.IntN(20)), Depth: g.Uint32() >> g.IntN(32), ID: g.Uint32(), Start: g.Uint64() >> g.IntN(64),
				Nanos: g.Uint64() >> g.IntN(64), Label: g.Uint32(), Lost: g.Uint32(), Root: g.IntN(6) == 0, Handed: g.IntN(6) == 0, Index: uint8(g.IntN(256)),
			})
			if g.IntN(20) == 0 {
				a.Take(g.Uint64())
			}
			if a.held > 200 || a.held < 0 || len(a.waiting) > 8 {
				t.Fatalf("seed %d: %d held, %d waiting", seed, a.held, len(a.waiting))
			}
		}
		for _, tx := range a.Flush() {
			tx.Calls()
		}
	}
}

// TestGapsShowTheCostOfHooks has calls that follow each other at once.
func TestGapsShowTheCostOfHooks(t *testing.T) {
	const inner, outer, own, calls = 30, 110, 100, 1000
	for name, check := range map[string]struct {
		pause            uint64 // what the caller does between calls
		calibrated, want float64
	}{
		"close":                    {0, 60, outer},
		"far apart":                {5000, 60, 60},
		"longer than is plausible": {200, 60, 60},
		"not calibrated":           {0, 0, 0},
		"calibrated as longer":     {0, 120, 120},
	} {
		a := NewAssembler(Options{Names: generatedNames, Cost: Cost{inner, check.calibrated}})
		clock := uint64(1000)
		for range calls {
			a.Add(1, call(5, 1, clock, inner+own))
			clock += inner + own + outer + check.pause
		}
		a.Add(1, call(5, 0, 1000-inner, clock-1000+inner))
		tx := a.Take(2 * clock)[0]
		cost := a.Cost()
		if cost != (Cost{inner, check.want}) {
			t.Errorf("%s: cost %+v, want outer %v", name, cost, check.want)
		}
		tx.TakeOff(cost)
		if got, want := float64(tx.Root.Self), max(0, float64(check.pause)+outer-check.want)*calls; got < want-1 || got > want+1 {
			t.Errorf("%s: own time %v, want %v", name, got, want)
		}
	}
}

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

// transaction creates a transaction on a ring; other rings may have parts of it.
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

// generatedNames returns the names of everything that a generator makes.
func generatedNames() *liveprobes.Names {
	names := &liveprobes.Names{
		Spots:  map[uint32]probes.SpotName{},
		Labels: map[uint32]results.Label{generatedLabel: {Tags: []results.TagValue{{Name: "tier", Value: "gold", Set: true}}}},
	}
	for id := range uint32(generatedSpots + 1) {
		spot := probes.SpotName{Class: "com/acme/Shop", Name: fmt.Sprintf("m%d", id)}
		for index := range 3 {
			for _, exit := range []int{0, probes.ExitCapture} {
				spot.Captures = append(spot.Captures, probes.CaptureName{Index: index | exit, Text: fmt.Sprintf("$%d", index)})
			}
		}
		names.Spots[id] = spot
	}
	return names
}

// shape describes everything that records say about a call.
func shape(c *Call) string {
	var text strings.Builder
	fmt.Fprintf(&text, "#%d@%d+%d t%d %v %v(", c.Spot, c.start, c.Measured, c.ring, c.Threw, c.Handed)
	values := map[bool][]string{}
	for _, v := range c.Values {
		values[v.AtExit] = append(values[v.AtExit], fmt.Sprintf("%d=%s", v.Index&^probes.ExitCapture, v.Text))
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

// FuzzAssembler adds any records of up to four rings: they may contradict each other. No call is delivered twice, and
// what waits is bounded.
func FuzzAssembler(f *testing.F) {
	const kinds, root, handed, value, discarded = 0x07, 0x08, 0x10, 1, 2
	f.Add([]byte{
		0, 1, 2, 12, 5, 0, 1, 1, 11, 9, root, 1, 0, 10, 50, handed, 1, 0, 12, 3, 255, 0, 0, 0, 0,
		value, 2, 1, 1, 1, 0, 2, 1, 7, 7, discarded, 3, 0, 0, 0, root | handed, 2, 0, 200, 255, handed, 2, 9, 201, 255,
	})
	f.Fuzz(func(t *testing.T, data []byte) {
		a := NewAssembler(Options{Names: generatedNames, Settle: 5, MostOpen: 4, MostCalls: 16, MostHeld: 40, Cost: Cost{Inner: 1, Outer: 2}})
		calls, delivered := 0, map[*Transaction]bool{}
		seen := map[*Call]bool{}
		take := func(list []*Transaction) {
			for _, tx := range list {
				if delivered[tx] {
					t.Errorf("transaction %d was delivered twice", tx.ID)
				}
				delivered[tx] = true
			}
		}
		for data = data[:min(len(data), 1000)]; len(data) >= 5; data = data[5:] {
			if data[0] == 255 {
				take(a.Take(uint64(data[1])))
				continue
			}
			r := arena.Record{Transaction: uint64(data[1] % 8), Depth: uint32(data[2]), ID: uint32(data[2] % 4), Start: uint64(int8(data[3])), Nanos: uint64(int8(data[4])), Root: data[0]&root != 0, Handed: data[0]&handed != 0, Cut: data[0]&0x80 != 0}
			switch data[0] & kinds {
			case value:
				r.Kind, r.Text = arena.ValueRecord, string(data[3:5])
			case discarded:
				r.Kind = arena.DiscardedRecord
			default:
				r.Kind = arena.CallRecord
				calls++
			}
			a.Add(uint32(data[0]>>5)%4, r)
			if len(a.waiting) > 4 || len(a.delivered) > 4 || a.held > 40 || a.held < 0 {
				t.Fatalf("%d wait, %d are delivered, %d calls are held", len(a.waiting), len(a.delivered), a.held)
			}
		}
		take(a.Flush())
		for tx := range delivered {
			for c := range tx.All() {
				if seen[c] || c.Self < 0 || c.Start < 0 {
					t.Fatalf("a call twice (%t), or with impossible times: start %d, self %d: %s", seen[c], c.Start, c.Self, shape(c))
				}
				seen[c] = true
			}
		}
		if len(seen) > calls || a.held != 0 && len(a.delivered) == 0 {
			t.Errorf("%d calls out of %d records, %d held", len(seen), calls, a.held)
		}
	})
}

// TestManyLateParts hands work over again and again after the root has ended: it is added in time, and no more than
// MostCalls of it are kept.
func TestManyLateParts(t *testing.T) {
	const most, parts = 20_000, 30_000
	a := NewAssembler(Options{Names: generatedNames, MostCalls: most})
	a.Add(1, call(5, 0, 10, 1000))
	taken := a.Take(5000)
	for i := range uint64(parts) {
		a.Add(2, arena.Record{Kind: arena.CallRecord, Transaction: 5, Handed: true, ID: 1, Start: 2000 + 10*i, Nanos: 5})
	}
	if len(taken) != 1 || len(taken[0].Parts) > 0 {
		t.Fatalf("delivered before its parts: %v", taken)
	}
	a.Flush()
	tx := taken[0]
	if len(tx.Parts) != most || tx.Late != parts || tx.Lost != parts-most || a.Counts().LateParts != parts || a.held != 0 {
		t.Errorf("%d parts, %d late, %d lost, counts %+v, %d held; want %d, %d, %d, no other loss", len(tx.Parts), tx.Late, tx.Lost, a.Counts(), a.held, most, parts, parts-most)
	}
}
