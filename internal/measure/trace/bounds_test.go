package trace

import (
	"testing"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

func TestTheOldestIsGivenUp(t *testing.T) {
	a := NewAssembler(Options{MostOpen: 4})
	for id := range uint64(10) {
		a.Add(1, call(100+id, 1, 10*id, 5))
	}
	if counts := a.Counts(); counts.GivenUp != 6 || counts.Strays != 6 || a.Waiting() != 4 {
		t.Errorf("%d waiting, counts %+v", a.Waiting(), counts)
	}
	// The root of one that was given up is no transaction: its calls are missing.
	a.Add(1, call(100, 0, 0, 500))
	a.Add(1, call(109, 0, 0, 500))
	if taken := a.Flush(); len(taken) != 1 || taken[0].ID != 109 || len(taken[0].Root.Children) != 1 {
		t.Errorf("taken %+v", taken)
	}
}

func TestOneThatWaitsForPartsOnlyIsHandedOutInTime(t *testing.T) {
	a := NewAssembler(Options{MostOpen: 2, Settle: 1 << 60})
	for id := range uint64(5) {
		a.Add(1, call(100+id, 0, 10*id, 5))
	}
	if taken := a.Take(100); len(taken) != 3 || a.Counts().GivenUp != 0 {
		t.Errorf("%d handed out, counts %+v", len(taken), a.Counts())
	}
}

func TestHeldCallsAreBounded(t *testing.T) {
	a := NewAssembler(Options{MostHeld: 100})
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
	a := NewAssembler(Options{Names: generatedNames{}, MostCalls: most})
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

// TestNonsenseIsHarmless feeds records no hook would write.
func TestNonsenseIsHarmless(t *testing.T) {
	for seed := range uint64(30) {
		g := newGenerator(seed)
		a := NewAssembler(Options{Names: generatedNames{}, MostOpen: 8, MostCalls: 20, MostHeld: 200})
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
