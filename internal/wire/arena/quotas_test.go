package arena

import (
	"errors"
	"math"
	"testing"
)

func TestQuotas(t *testing.T) {
	a := newArena(t, 1<<18, 1<<18)
	if a.SetQuota(1, 5); a.IsUsedUp(1) || a.memory.u32(headerQuotas) != 0 {
		t.Error("a quota is there before it is made")
	}
	for _, number := range []uint16{1, 2, MostQuotas} {
		if err := a.MakeQuota(number); err != nil {
			t.Fatal(err)
		}
	}
	if used, _ := a.Room(); used != headerSize+MostQuotas*quotaSize {
		t.Errorf("%d bytes are used, want one table", used)
	}
	taken := func(number uint16) *uint64 {
		return a.memory.word64(uint64(a.memory.u32(headerQuotas))*layoutUnit + uint64(number-1)*quotaSize + quotaTaken)
	}
	for _, step := range []struct {
		name string
		do   func()
		want [3]bool // which are used up
	}{
		{"empty", func() {}, [3]bool{true, true, true}},
		{"calls", func() { a.SetQuota(1, 2); a.SetQuota(MostQuotas, math.MaxUint64) }, [3]bool{false, true, false}},
		{"one is taken", func() { *taken(1)++ }, [3]bool{false, true, false}},
		{"the last is", func() { *taken(1)++ }, [3]bool{true, true, false}},
		{"there are more", func() { a.SetQuota(1, 3) }, [3]bool{false, true, false}},
		{"it begins again", func() { _ = a.MakeQuota(1); a.SetQuota(1, 1) }, [3]bool{false, true, false}},
	} {
		step.do()
		if got := [3]bool{a.IsUsedUp(1), a.IsUsedUp(2), a.IsUsedUp(MostQuotas)}; got != step.want {
			t.Errorf("%s: used up %v, want %v", step.name, got, step.want)
		}
	}
	if most := a.memory.u64(uint64(a.memory.u32(headerQuotas))*layoutUnit + (MostQuotas-1)*quotaSize + quotaMost); most != math.MaxInt64 {
		t.Errorf("hooks read %#x as a number with a sign", most)
	}
	if a.IsUsedUp(0) || a.IsUsedUp(MostQuotas+1) {
		t.Error("there are quotas of other numbers")
	}
	if err := newArena(t, 1<<14, 1<<14).MakeQuota(1); !errors.Is(err, ErrFull) {
		t.Errorf("got %v, want %v", err, ErrFull)
	}
	a.memory.put32(headerQuotas, 1)
	if err := a.MakeQuota(1); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v, want %v", err, ErrDamaged)
	}
}
