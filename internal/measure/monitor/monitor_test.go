package monitor

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

const (
	pay, charge, idle = uint32(100), uint32(101), uint32(102)
	second            = int64(time.Second)
)

func spread(times ...uint64) *arena.Spread {
	s := &arena.Spread{}
	for _, nanos := range times {
		s.Record(nanos)
	}
	return s
}

// byPattern has pay in two groups, charge in one, and one group without methods.
func byPattern() *Groups {
	pays, all, none := Key{Pattern: "a.Order.pay"}, Key{Pattern: "a.**"}, Key{Pattern: "b.**"}
	return &Groups{Keys: []Key{pays, all, none}, Of: map[uint32][]Key{pay: {pays, all}, charge: {all}, idle: {all}}}
}

func TestIntervalOfTwoReadings(t *testing.T) {
	before := &Reading{At: 10 * second, Methods: map[uint32]*arena.Totals{
		pay: {Calls: 100, Threw: 3, Timed: 100, Nanos: 100_000, Max: 5000, Spread: spread(5000)},
	}, Lost: 1}
	after := &Reading{At: 12 * second, Methods: map[uint32]*arena.Totals{
		pay:    {Calls: 110, Threw: 5, Timed: 104, Nanos: 104_200, Max: 5000, Untimed: 2, Spread: spread(5000, 1000, 1000, 1000, 1200)},
		charge: {Calls: 1, Timed: 1, Nanos: 9050, Max: 9050, Spread: spread(9050)},
	}, Lost: 4, Called: 3}
	i := Between(before, after, byPattern(), Options{Stall: time.Second, Clock: 50})
	if i.Length != 2*time.Second || i.Lost != 3 || i.Threads != 3 || len(i.Rows) != 3 {
		t.Errorf("%+v", i)
	}
	p := i.Rows[0]
	if p.Calls != 10 || p.Rate != 5 || p.Errors != 2 || p.Timed != 4 || p.Untimed != 2 || p.Nanos != 4000 || p.Mean != 1000 {
		t.Errorf("%+v", p)
	}
	for name, times := range map[string][2]float64{"median": {p.P50, 950}, "p90": {p.P90, 1150}, "p99": {p.P99, 1150}, "max": {p.Max, 1150}} {
		if math.Abs(times[0]-times[1]) > times[1]/16+1 {
			t.Errorf("the %s is %v, not %v", name, times[0], times[1])
		}
	}
	all := i.Rows[1]
	if all.Calls != 11 || all.Timed != 5 || all.Max != 9000 || all.Spread.Count() != 5 {
		t.Errorf("%+v", all)
	}
	if total := i.Total; total.Calls != 11 || total.Errors != 2 || total.Max != 9000 {
		t.Errorf("the total is %+v", total)
	}
	if none := i.Rows[2]; none.Calls != 0 || none.Mean != 0 || none.Rate != 0 || none.Key.Pattern != "b.**" {
		t.Errorf("%+v", none)
	}
}

func TestTimesAreNeverBelowZero(t *testing.T) {
	after := &Reading{At: second, Methods: map[uint32]*arena.Totals{pay: {Calls: 2, Timed: 2, Nanos: 60, Max: 30, Spread: spread(30, 30)}}}
	r := Between(Start(0), after, byPattern(), Options{Clock: 40}).Rows[0]
	if r.Mean != 0 || r.P50 != 0 || r.Max != 0 || r.Nanos != 0 || r.Timed != 2 {
		t.Errorf("%+v", r)
	}
}

// TestTimesWithoutRoom has a method without room for the distribution of its times.
func TestTimesWithoutRoom(t *testing.T) {
	after := &Reading{At: second, Methods: map[uint32]*arena.Totals{pay: {Calls: 2, Timed: 2, Nanos: 60, Max: 40}}}
	r := Between(Start(0), after, byPattern(), Options{}).Rows[0]
	if r.Mean != 30 || r.Max != 40 || r.Placed != 0 || r.P99 != 0 {
		t.Errorf("%+v", r)
	}
}

func frame(id uint32, start int64) arena.Frame { return arena.Frame{ID: id, Node: id, Start: start} }

func TestCallsUnderWay(t *testing.T) {
	now := 100 * second
	after := &Reading{At: now, Threads: []arena.Thread{
		{ID: 1, Stack: []arena.Frame{frame(pay, now-5*second), frame(pay, now-4*second), frame(charge, now-second/2)}}, // calls itself
		{ID: 2, Stack: []arena.Frame{frame(charge, now-second/2)}},
		{ID: 4, Stack: []arena.Frame{frame(arena.CalibrationID, now-9*second)}},
		{ID: 3, Virtual: true, Stack: []arena.Frame{{ID: pay, Node: pay}, frame(charge, now-3*second)}}, // the outer is only counted
	}}
	i := Between(Start(now-second), after, byPattern(), Options{Stall: 2500 * time.Millisecond})
	if p := i.Rows[0]; p.Running != 1 || p.Stalled != 1 || p.Oldest != 5*time.Second {
		t.Errorf("%+v", p)
	}
	for _, r := range []Row{i.Rows[1], i.Total} {
		if r.Running != 3 || r.Stalled != 2 || r.Oldest != 5*time.Second {
			t.Errorf("%+v", r)
		}
	}
	if len(i.Stalls) != 2 {
		t.Fatalf("%+v", i.Stalls)
	}
	if s := i.Stalls[0]; s.Thread != 1 || s.IsNew || len(s.Calls) != 3 || s.Calls[2] != (Call{charge, time.Second / 2}) {
		t.Errorf("%+v", s)
	}
	if s := i.Stalls[1]; s.Thread != 3 || !s.IsNew || !s.Virtual || len(s.Calls) != 1 {
		t.Errorf("%+v", s)
	}
}

func TestManyStallsAreCountedAndSomeTold(t *testing.T) {
	after := &Reading{At: 100 * second}
	for n := 1; n <= 3*MostStalls; n++ {
		after.Threads = append(after.Threads, arena.Thread{ID: uint64(n), Stack: []arena.Frame{frame(pay, int64(n)*second)}})
	}
	i := Between(Start(0), after, byPattern(), Options{Stall: time.Second})
	if i.Total.Stalled != 3*MostStalls || len(i.Stalls) != MostStalls || i.Stalls[0].Thread != 1 {
		t.Errorf("%d stalled, %d listed, thread %d first", i.Total.Stalled, len(i.Stalls), i.Stalls[0].Thread)
	}
}

func TestADeepStallIsToldByItsEnds(t *testing.T) {
	var stack []arena.Frame
	for n := 1; n <= 1000; n++ {
		stack = append(stack, frame(pay, int64(n)))
	}
	after := &Reading{At: 100 * second, Threads: []arena.Thread{{ID: 1, Stack: stack}}}
	stall := Between(Start(0), after, byPattern(), Options{Stall: time.Second}).Stalls[0]
	if len(stall.Calls) != 2*EndCalls || stall.Omitted != 1000-2*EndCalls || stall.Calls[0].Age-stall.Calls[2*EndCalls-1].Age != 999 {
		t.Errorf("%+v", stall)
	}
}

// A script is a source that says one thing after the other.
type script struct {
	sums   []*arena.Summary
	stacks [][]arena.Thread
	now    int64
}

var errOver = errors.New("the script is over")

func (s *script) Sum() (*arena.Summary, error) {
	if len(s.sums) == 0 {
		return nil, errOver
	}
	sum := s.sums[0]
	s.sums = s.sums[1:]
	return sum, nil
}

func (s *script) Stacks() ([]arena.Thread, error) {
	if len(s.stacks) == 0 {
		return nil, errOver
	}
	threads := s.stacks[0]
	s.stacks = s.stacks[1:]
	return threads, nil
}

func (s *script) Now() int64 { return s.now }

// TestWhatOnlySeemsOldIsNoStall has a look find beginnings of calls that have ended.
func TestWhatOnlySeemsOldIsNoStall(t *testing.T) {
	now := 100 * second
	hangs, seems, ended, other := frame(pay, second), frame(pay, 2*second), frame(charge, second), frame(charge, 3*second)
	s := &script{now: now, sums: []*arena.Summary{{}}, stacks: [][]arena.Thread{
		{{ID: 1, Root: 1, Stack: []arena.Frame{hangs, ended}}, {ID: 2, Root: 2, Stack: []arena.Frame{seems}}, {ID: 3, Root: 3, Stack: []arena.Frame{other}}},
		{{ID: 1, Root: 1, Stack: []arena.Frame{hangs}}, {ID: 2, Root: 2, Stack: []arena.Frame{frame(pay, now)}}, {ID: 3, Root: 3, Stack: []arena.Frame{frame(pay, 3*second)}}},
	}}
	r, err := Take(s, Start(0), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	i := Between(Start(0), r, byPattern(), Options{Stall: time.Second})
	if i.Total.Stalled != 1 || len(i.Stalls) != 1 || i.Stalls[0].Thread != 1 || len(i.Stalls[0].Calls) != 1 {
		t.Errorf("%+v", i.Stalls)
	}
}

func TestYoungCallsAreLookedAtOnce(t *testing.T) {
	s := &script{now: 10 * second, sums: []*arena.Summary{{}}, stacks: [][]arena.Thread{{{ID: 1, Stack: []arena.Frame{frame(pay, 9*second)}}}}}
	if r, err := Take(s, Start(0), 2*time.Second); err != nil || len(r.Threads) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := Take(s, Start(0), time.Second); !errors.Is(err, errOver) {
		t.Errorf("%v", err)
	}
}

// TestReadingsAddUp: many intervals add up to the whole.
func TestReadingsAddUp(t *testing.T) {
	sum := func(n int) *arena.Summary {
		totals := &arena.Totals{Calls: uint64(3 * n), Timed: uint64(2 * n), Nanos: uint64(2000 * n), Max: uint64(1000 + n), Spread: spread()}
		for range n {
			totals.Spread.Record(1000)
			totals.Spread.Record(uint64(1000 + n))
		}
		return &arena.Summary{Methods: map[uint32]*arena.Totals{pay: totals}}
	}
	s := &script{}
	begin := Start(0)
	last, added := begin, Row{}
	for n := 1; n <= 5; n++ {
		s.now += second
		s.sums, s.stacks = append(s.sums, sum(n)), append(s.stacks, nil)
		r, err := Take(s, last, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		row := Between(last, r, byPattern(), Options{}).Total
		added.Calls, added.Timed = added.Calls+row.Calls, added.Timed+row.Timed
		last = r
	}
	if all := Between(begin, last, byPattern(), Options{}).Total; all.Calls != added.Calls || all.Timed != added.Timed || all.Calls != 15 || all.Max != 1005 || all.Rate != 3 {
		t.Errorf("%+v, and by intervals %+v", all, added)
	}
}
