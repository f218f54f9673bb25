package cost

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"
)

// script is a JVM whose compilers use so much in each interval; time passes by
// waiting alone.
type script struct {
	now      time.Time
	reading  Reading
	use      []time.Duration // from one reading to the next; the last one goes on
	starved  bool            // compilers wait all the time they do not run
	failWith error           // once use is at its end
}

func newScript(use ...time.Duration) *script {
	return &script{now: time.Unix(1_700_000_000, 0), use: use}
}

func (s *script) wait(ctx context.Context, d time.Duration) error {
	s.now = s.now.Add(d)
	spent := s.use[0]
	if len(s.use) > 1 {
		s.use = s.use[1:]
	}
	next := s.reading.threads[threadKey{1, 1}]
	next.role, next.cpu = compiler, next.cpu+spent
	if s.starved {
		next.wait += d - spent
	}
	s.reading.threads = map[threadKey]thread{{1, 1}: next}
	return ctx.Err()
}

func (s *script) Read() (Reading, error) {
	if s.failWith != nil && len(s.use) == 1 {
		return Reading{}, s.failWith
	}
	r := s.reading
	r.At, r.Known = s.now, Known{Compilers: true}
	return r, nil
}

func times(n int, d time.Duration) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = d
	}
	return all
}

func TestObserve(t *testing.T) {
	s := newScript(10*ms, 20*ms, 10*ms, 20*ms, 1000*ms)
	b, last, err := observe(t.Context(), s, 400*ms, 100*ms, s.wait)
	if err != nil {
		t.Fatal(err)
	}
	if !b.Known || b.Intervals != 4 || b.Length != 400*ms || math.Abs(b.Rate-0.15) > 1e-9 || math.Abs(b.Spread-0.05*math.Sqrt(4.0/3)) > 1e-9 ||
		b.Busy != b.Rate || b.Wavering != b.Spread {
		t.Errorf("%+v", b)
	}
	if last.threads[threadKey{1, 1}].cpu != 60*ms {
		t.Errorf("last reading %+v", last)
	}
	if b := BaselineOf([]Reading{last, last, last}); b.Known {
		t.Errorf("of readings at one moment: %+v", b)
	}
	if b := BaselineOf(make([]Reading, 3)); b.Known {
		t.Errorf("of readings that know nothing: %+v", b)
	}
}

func TestSettle(t *testing.T) {
	rule := Rule{}.orDefault()
	busy := Baseline{Known: true, Rate: 0.3, Spread: 0.1, Busy: 0.3, Wavering: 0.1, Intervals: 20, Length: 2 * time.Second}
	for _, tt := range []struct {
		name      string
		before    Baseline
		use       []time.Duration
		settled   bool
		unsettled time.Duration
		recompile time.Duration
	}{
		{"nothing happens", Idle, times(1, 0), true, 0, 0},
		{"a burst", Idle, append(times(10, 90*ms), 0), true, time.Second, 900 * ms},
		{"a gap in it", Idle, append(append(times(3, 90*ms), times(5, 0)...), 90*ms, 0), true, 900 * ms, 360 * ms},
		{"back to busy", busy, append(times(10, 100*ms), 30*ms), true, 900 * ms, 700 * ms},
		{"without end", Idle, times(1, 50*ms), false, 20 * time.Second, 10 * time.Second},
	} {
		s := newScript(tt.use...)
		start, _ := s.Read()
		got, err := settle(t.Context(), s, start, tt.before, rule, s.wait)
		if err != nil || !got.Known || got.Settled != tt.settled {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
		if (got.Unsettled - tt.unsettled).Abs() > rule.Every {
			t.Errorf("%s: unsettled for %v, want %v", tt.name, got.Unsettled, tt.unsettled)
		}
		if (got.Recompile - tt.recompile).Abs() > ms {
			t.Errorf("%s: recompiled for %v, want %v", tt.name, got.Recompile, tt.recompile)
		}
		if wavers := tt.before.Spread > 0; got.Error < granularity || wavers != (got.Error > granularity) {
			t.Errorf("%s: error %v", tt.name, got.Error)
		}
	}
}

func TestSettleEndsEarly(t *testing.T) {
	rule := Rule{}.orDefault()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s := newScript(90 * ms)
	start, _ := s.Read()
	if l, err := settle(ended, s, start, Idle, rule, s.wait); !errors.Is(err, context.Canceled) || l.Settled {
		t.Errorf("%+v, %v", l, err)
	}
	s = newScript(90*ms, 90*ms, 0)
	s.failWith = ErrGone
	l, err := settle(t.Context(), s, start, Idle, rule, s.wait)
	if !errors.Is(err, ErrGone) || l.Settled || l.Recompile != 90*ms {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestStarvedIsNotSettled(t *testing.T) {
	s := newScript(0)
	s.starved = true
	start, _ := s.Read()
	if l, err := settle(t.Context(), s, start, Idle, Rule{}.orDefault(), s.wait); err != nil || l.Settled || l.Cost.CompileWait != l.Cost.Elapsed {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestSettleWithoutBaselineKnowsNothing(t *testing.T) {
	s := newScript(0)
	start, _ := s.Read()
	l, err := settle(t.Context(), s, start, Baseline{}, Rule{Every: ms, Quiet: ms, Bound: 10 * ms}, s.wait)
	if err != nil || l.Known || l.Settled || l.Recompile != 0 {
		t.Errorf("%+v, %v", l, err)
	}
}
