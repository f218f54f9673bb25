package arena

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAnArenaTellsItsOwnerToWhoeverOpensIt(t *testing.T) {
	owner := Owner{Target: 4711, TargetStart: 99, Sonde: 12, Command: strings.Repeat("x", 600), Opened: time.Unix(5, 7)}
	file := newFile(t, 1<<16)
	a, err := Create(file, 1<<15, owner)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	b, err := Open(file, true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	owner.Command = owner.Command[:512]
	if have, err := b.Owner(); err != nil || have != owner {
		t.Errorf("%+v, %v", have, err)
	}
	if b.Epoch() == 0 || b.Epoch() != a.Epoch() || b.Epoch() > layoutMostEpoch {
		t.Errorf("epochs %d and %d", a.Epoch(), b.Epoch())
	}
	if used, limit := b.Room(); used != headerSize || limit != 1<<15 || b.Length() != 1<<16 {
		t.Errorf("room %d of %d of %d", used, limit, b.Length())
	}
	b.AskStop()
	if !a.StopAsked() {
		t.Error("what one asks the other does not see")
	}
}

func TestWhatIsNoArenaIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(memory){
		"another magic":   func(m memory) { m[0]++ },
		"another version": func(m memory) { m.put32(headerVersion, layoutVersion+1) },
		"another length":  func(m memory) { m.put64(headerLength, 1<<15) },
	} {
		file := newFile(t, 1<<16)
		a, err := Create(file, 1<<16, Owner{})
		if err != nil {
			t.Fatal(err)
		}
		spoil(a.memory)
		_ = a.Close()
		if _, err := Open(file, false); !errors.Is(err, ErrNotArena) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(newFile(t, headerSize-1), false); !errors.Is(err, ErrNotArena) {
		t.Errorf("a file too short: %v", err)
	}
	for _, limit := range []int64{headerSize - 1, 1<<16 + 1} {
		if _, err := Create(newFile(t, 1<<16), limit, Owner{}); err == nil {
			t.Errorf("a limit of %d was accepted", limit)
		}
	}
}

func TestNamesAddUp(t *testing.T) {
	a := newArena(t, 1<<16, 1<<13)
	first := []Method{{ID: 2, Name: "a.B.c()V"}, {ID: 1<<32 - 1, Name: "a.B.<init>()V", LowerBound: true}}
	second := []Method{{ID: 3, Name: "ä.Ö.ü(I)V"}}
	for _, methods := range [][]Method{first, nil, second} {
		if err := a.Describe(methods); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := a.Methods(); err != nil || !slices.Equal(have, append(second, first...)) {
		t.Errorf("%v, %v", have, err)
	}
}

// A method whose calls are a lower bound is in every sum from when it was described on.
func TestLowerBoundsAreSummed(t *testing.T) {
	a := newArena(t, 1<<16, 1<<13)
	for _, m := range []Method{{ID: 70_001, Name: "a.B.c()V"}, {ID: 70_002, Name: "a.B.d()V", LowerBound: true}, {ID: 70_003, Name: "a.B.e()V", LowerBound: true}} {
		if err := a.Describe([]Method{m}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			sum, err := a.Sum(0)
			if err != nil {
				t.Fatal(err)
			}
			for id := uint32(70_001); id <= 70_003; id++ {
				if got, want := sum.Methods[id] != nil && sum.Methods[id].LowerBound, id > 70_001 && id <= m.ID; got != want {
					t.Errorf("with %s described, %d is a lower bound: %v, want %v", m.Name, id, got, want)
				}
			}
		}
	}
}

func TestAFullArenaSaysSoAndLosesNothing(t *testing.T) {
	a := newArena(t, 1<<16, 1<<13)
	long := []Method{{ID: 2, Name: strings.Repeat("x", 1<<13)}}
	if err := a.Describe(long); !errors.Is(err, ErrFull) {
		t.Errorf("names: %v", err)
	}
	if err := a.MakeSpill(1 << 10); !errors.Is(err, ErrFull) {
		t.Errorf("spill table: %v", err)
	}
	if used, _ := a.Room(); used != headerSize {
		t.Errorf("what found no room took %d bytes", used-headerSize)
	}
	a.Raise(1 << 15)
	if err := a.Describe(long); err != nil {
		t.Errorf("after more was allocated: %v", err)
	}
}

// TestAFileCutShortIsDamaged takes the pages away under the mapping: touching
// them is a SIGBUS.
func TestAFileCutShortIsDamaged(t *testing.T) {
	for name, left := range map[string]int64{"to nothing": 0, "behind its header": headerSize} {
		t.Run(name, func(t *testing.T) {
			file := newFile(t, 1<<20)
			a, err := Create(file, 1<<20, Owner{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = a.Close() }()
			m := &model{t: t, arena: a}
			m.thread(1, false).enter(3, On|Timed)
			if err := errors.Join(a.MakeSpill(64), a.Describe([]Method{{ID: 2, Name: "a.b()V"}})); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(file.Name(), left); err != nil {
				t.Fatal(err)
			}
			_, summing := a.Sum(0)
			_, threads := a.Threads()
			_, methods := a.Methods()
			for what, err := range map[string]error{
				"Sum": summing, "Threads": threads, "Methods": methods,
				"Describe": a.Describe([]Method{{ID: 3, Name: "c.d()V"}}), "MakeSpill": a.MakeSpill(64),
			} {
				if !errors.Is(err, ErrDamaged) {
					t.Errorf("%s: %v", what, err)
				}
			}
			a.Raise(1 << 20)
			a.AskStop()
			_, _ = a.Owner()
			a.Room()
			if left == 0 && (a.StopAsked() || a.Epoch() != 0 || a.OpenedNanos() != 0) {
				t.Error("there is something in an empty file")
			}
		})
	}
}
