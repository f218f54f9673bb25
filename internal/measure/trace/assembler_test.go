package trace

import (
	"testing"
	"time"

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
		a := NewAssembler(Options{Names: generatedNames{}, Settle: settle})
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
	a := NewAssembler(Options{Names: generatedNames{}, Cost: Cost{Inner: 30, Outer: 70}})
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
	a := NewAssembler(Options{Clock: Clock{wall, 5_000_000_000}})
	a.Add(1, call(5, 0, 7_500_000_000, 10))
	if got := a.Take(1e10)[0].Begin; !got.Equal(wall.Add(2500 * time.Millisecond)) {
		t.Errorf("began at %v", got)
	}
	if got := (Clock{wall, 500}).At(400); !got.Equal(wall.Add(-100)) {
		t.Errorf("before the moment: %v", got)
	}
}

func TestPartsAfterTheEndAreJoinedAndCounted(t *testing.T) {
	a := NewAssembler(Options{Names: generatedNames{}, Settle: 100})
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
	if tx := taken[0]; len(tx.Parts) != 1 || tx.Late != 1 || tx.Extent() != 920 || tx.Parts[0].Method != "m2" {
		t.Errorf("late part: %+v", tx)
	}
	if a.Counts().LateParts != 1 || len(a.Flush()) != 0 {
		t.Errorf("counts %+v", a.Counts())
	}
}

func TestCallsWhoseOuterCallHasNotEndedAreKept(t *testing.T) {
	a := NewAssembler(Options{Names: generatedNames{}, Settle: time.Second})
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
