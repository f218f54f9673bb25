package main

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
)

// notesAt is the account of two threads, with the given steps in each stretch
// of 10 ms.
func notesAt(steps ...int64) []note {
	notes := []note{{}}
	for i, n := range steps {
		last := notes[len(notes)-1]
		at := time.Duration(i+1) * 10 * time.Millisecond
		notes = append(notes, note{at, last.done + n, 2 * at})
	}
	return notes
}

func repeat(n int, steps int64) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = steps
	}
	return all
}

func TestDip(t *testing.T) {
	steps := append(repeat(100, 1000), repeat(20, 0)...) // a second, then nothing for 0.2 s,
	steps = append(steps, repeat(40, 500)...)            // half speed for 0.4 s,
	steps = append(steps, repeat(240, 1000)...)          // and full speed
	d, err := dipOf(notesAt(steps...), time.Second, 3*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if want := 800 * time.Millisecond; (d.Lost - want).Abs() > time.Microsecond {
		t.Errorf("lost %v, want %v", d.Lost, want)
	}
	if want := 400 * time.Millisecond; d.Slow != want {
		t.Errorf("slow for %v, want %v", d.Slow, want)
	}
	// Half a second with 5 stretches at half speed has 95 % of all steps.
	if want := 550 * time.Millisecond; d.Back != want {
		t.Errorf("back at %v, want %v", d.Back, want)
	}
	if d.Rate != 50_000 || d.After != d.Rate {
		t.Errorf("rates %v, %v", d.Rate, d.After)
	}
}

func TestDipAsksForNotesOnBothSides(t *testing.T) {
	for _, moments := range [][2]time.Duration{{0, time.Second}, {time.Second, 2 * time.Second}, {9 * time.Second, 10 * time.Second}} {
		if d, err := dipOf(notesAt(repeat(150, 10)...), moments[0], moments[1]); err == nil {
			t.Errorf("%v: %+v", moments, d)
		}
	}
}

func TestParseNotes(t *testing.T) {
	got, err := parseNotes([]string{"10", "1", "9", "20", "5", "18", "at", "30"})
	if err != nil || len(got) != 2 || got[1] != (note{20, 5, 18}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, words := range [][]string{nil, {"1", "at", "2"}, {"x", "1", "1", "at", "2"}, {"1", "1", "x", "at", "2"}} {
		if got, err := parseNotes(words); err == nil {
			t.Errorf("%q: %v", words, got)
		}
	}
}

const ms = time.Millisecond

// script is a JVM whose compilers use so much in each interval; only waiting lets time
// pass.
type script struct {
	passed   cost.Cost       // since the last look
	use      []time.Duration // from one look to the next; the last one goes on
	starved  bool            // compilers wait all the time they do not run
	failWith error           // once use is at its end
}

func newScript(use ...time.Duration) *script { return &script{use: use} }

func (s *script) wait(ctx context.Context, d time.Duration) error {
	spent := s.use[0]
	if len(s.use) > 1 {
		s.use = s.use[1:]
	}
	s.passed.Elapsed += d
	s.passed.CompileCPU += spent
	if s.starved {
		s.passed.CompileWait += d - spent
	}
	return ctx.Err()
}

func (s *script) look() (cost.Cost, error) {
	if s.failWith != nil && len(s.use) == 1 {
		return cost.Cost{}, s.failWith
	}
	since := s.passed
	since.Known = cost.Known{Compilers: true}
	s.passed = cost.Cost{}
	return since, nil
}

func times(n int, d time.Duration) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = d
	}
	return all
}

var usual = rule{every: 100 * ms, quiet: time.Second, bound: 20 * time.Second}

func TestObserve(t *testing.T) {
	s := newScript(10*ms, 20*ms, 10*ms, 20*ms, 1000*ms)
	b, err := observe(t.Context(), s.look, 400*ms, 100*ms, s.wait)
	if err != nil {
		t.Fatal(err)
	}
	if !b.Known || b.Intervals != 4 || b.Length != 400*ms || math.Abs(b.Rate-0.15) > 1e-9 || math.Abs(b.Spread-0.05*math.Sqrt(4.0/3)) > 1e-9 ||
		b.Busy != b.Rate || b.Wavering != b.Spread {
		t.Errorf("%+v", b)
	}
	if b := baselineOf([]cost.Cost{{Known: cost.Known{Compilers: true}}, {Known: cost.Known{Compilers: true}}}); b.Known {
		t.Errorf("of intervals without length: %+v", b)
	}
	if b := baselineOf([]cost.Cost{{Elapsed: ms}, {Elapsed: ms}}); b.Known {
		t.Errorf("of intervals that know nothing: %+v", b)
	}
}

func TestSettle(t *testing.T) {
	busy := baseline{Known: true, Rate: 0.3, Spread: 0.1, Busy: 0.3, Wavering: 0.1, Intervals: 20, Length: 2 * time.Second}
	for _, tt := range []struct {
		name      string
		before    baseline
		use       []time.Duration
		settled   bool
		unsettled time.Duration
		recompile time.Duration
	}{
		{"nothing happens", idle, times(1, 0), true, 0, 0},
		{"a burst", idle, append(times(10, 90*ms), 0), true, time.Second, 900 * ms},
		{"a gap in it", idle, append(append(times(3, 90*ms), times(5, 0)...), 90*ms, 0), true, 900 * ms, 360 * ms},
		{"back to busy", busy, append(times(10, 100*ms), 30*ms), true, 900 * ms, 700 * ms},
		{"without end", idle, times(1, 50*ms), false, 20 * time.Second, 10 * time.Second},
	} {
		s := newScript(tt.use...)
		got, err := settle(t.Context(), s.look, tt.before, usual, s.wait)
		if err != nil || !got.Known || got.Settled != tt.settled {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
		if (got.Unsettled - tt.unsettled).Abs() > usual.every {
			t.Errorf("%s: unsettled for %v, want %v", tt.name, got.Unsettled, tt.unsettled)
		}
		if (got.Recompile - tt.recompile).Abs() > ms {
			t.Errorf("%s: recompiled for %v, want %v", tt.name, got.Recompile, tt.recompile)
		}
		if varies := tt.before.Spread > 0; got.Error < granularity || varies != (got.Error > granularity) {
			t.Errorf("%s: error %v", tt.name, got.Error)
		}
	}
}

func TestSettleEndsEarly(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s := newScript(90 * ms)
	if l, err := settle(ended, s.look, idle, usual, s.wait); !errors.Is(err, context.Canceled) || l.Settled {
		t.Errorf("%+v, %v", l, err)
	}
	s = newScript(90*ms, 90*ms, 0)
	s.failWith = cost.ErrGone
	l, err := settle(t.Context(), s.look, idle, usual, s.wait)
	if !errors.Is(err, cost.ErrGone) || l.Settled || l.Recompile != 90*ms {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestStarvedIsNotSettled(t *testing.T) {
	s := newScript(0)
	s.starved = true
	if l, err := settle(t.Context(), s.look, idle, usual, s.wait); err != nil || l.Settled || l.Cost.CompileWait != l.Cost.Elapsed {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestSettleWithoutBaselineKnowsNothing(t *testing.T) {
	s := newScript(0)
	l, err := settle(t.Context(), s.look, baseline{}, rule{ms, ms, 10 * ms}, s.wait)
	if err != nil || l.Known || l.Settled || l.Recompile != 0 {
		t.Errorf("%+v, %v", l, err)
	}
}
