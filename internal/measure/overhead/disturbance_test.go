package overhead

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/session"
)

func near(got, want float64) bool { return math.Abs(got-want) < 0.005 }

func ratesOf(all ...float64) (r rates) {
	for _, rate := range all {
		r.add(rate)
	}
	return r
}

func TestLostByCalls(t *testing.T) {
	steady := ratesOf(100, 100, 100, 100)
	for name, tt := range map[string]struct {
		rates     rates
		calls     uint64
		known     bool
		want, off float64
	}{
		"half of the time":     {steady, 200, true, 2, 0},
		"all of it":            {steady, 0, true, 4, 0},
		"nothing":              {steady, 400, true, 0, 0},
		"faster than later":    {steady, 500, true, 0, 0},
		"varying rates":        {ratesOf(80, 120, 80, 120), 200, true, 2, 0.78},
		"too few intervals":    {ratesOf(100, 100, 100), 200, false, 0, 0},
		"too few calls":        {ratesOf(1, 1, 1, 1), 2, false, 0, 0},
		"no calls at all":      {ratesOf(0, 0, 0, 0), 0, false, 0, 0},
		"nothing was followed": {rates{}, 200, false, 0, 0},
	} {
		got, known := tt.rates.lost(4*time.Second, tt.calls)
		want := cost.Estimate{Value: tt.want, Low: tt.want - tt.off, High: tt.want + tt.off}
		if known != tt.known || !near(got.Value, want.Value) || !near(got.Low, want.Low) || !near(got.High, want.High) {
			t.Errorf("%s: lost %+v, %t; want %+v, %t", name, got, known, want, tt.known)
		}
	}
}

// TestDisturbance runs while the clock stands still: work lost so far depends on it.
func TestDisturbance(t *testing.T) { synctest.Test(t, disturbances) }

func disturbances(t *testing.T) {
	t.Helper()
	fast := map[jfr.FrameKind]int{jfr.C2: 400}
	slow := map[jfr.FrameKind]int{jfr.C2: 200, jfr.Interpreted: 200}
	hooks := &cost.Estimate{Value: 0.01, Low: 0.005, High: 0.02}
	now := time.Now()
	followed := func(before, during map[jfr.FrameKind]int) *Pace {
		p := &Pace{before: samplesOf("a", before)}
		p.was = slownessOf(p.before)
		p.during.add(samplesOf("a", during))
		p.goingIn.add(samplesOf("a", slow))
		p.changing, p.firstChanged, p.results = now.Add(-5*time.Second), now.Add(-4*time.Second), now
		p.soFar, p.calls = 200, ratesOf(100, 100, 100, 100)
		return p
	}
	unsettled := followed(fast, nil)
	unsettled.results = time.Time{}
	noCalls := followed(fast, fast)
	noCalls.calls = rates{}
	measured := followed(fast, fast)
	measured.work, measured.alone = ratesOf(80, 82, 78, 80), ratesOf(100, 101, 99, 100)
	other := followed(fast, slow) // it does other work by now
	other.work, other.alone = ratesOf(150, 151, 149, 150), ratesOf(100, 101, 99, 100)
	wide := followed(fast, slow) // most of the interval is above 1
	wide.work, wide.alone = ratesOf(100, 160, 40, 100), ratesOf(80, 81, 79, 80)
	onlySeen := followed(fast, fast)
	onlySeen.whole = tally{samples: 1000, inHooks: 100}
	varying := followed(fast, fast)
	varying.work, varying.alone = ratesOf(80, 120, 40, 80), ratesOf(100, 140, 60, 100)
	for name, tt := range map[string]struct {
		pace  *Pace
		hooks *cost.Estimate
		want  string // the beginning of the text
	}{
		"as before":          {followed(fast, fast), hooks, "disturbance: while measured, the program had 99 % of its former speed (97.1 to 99.5 %); work lost going in: 2.5 s (2.0 to 2.5 s), coming out: unknown"},
		"half as fast":       {followed(fast, slow), hooks, "disturbance: while measured, the program had 49.5 % of its former speed (44.2 to 99.5 %); work lost"},
		"faster than before": {followed(slow, fast), hooks, "disturbance: while measured, the program had 99 % of"},
		"by its calls":       {measured, hooks, "disturbance: while measured, the program had 80 % of its former speed (78.3 to 81.7 %); without hooks, times may be up to 21.3 % lower; work lost"},
		"its calls vary":     {varying, hooks, "disturbance: while measured, the program had 99 % of its former speed (97.1 to 99.5 %); without hooks, times may be up to 60.8 % lower; work lost"},
		"it does other work": {other, hooks, "disturbance: while measured, the program had 49.5 % of"},
		"perhaps faster":     {wide, hooks, "disturbance: while measured, the program had 49.5 % of"},
		"only seen":          {onlySeen, nil, "disturbance: while measured, the program had 90 % of its former speed"},
		"it never settled":   {unsettled, hooks, "disturbance: while measured, the program had 49.5 % of its former speed (44.2 to 99.5 %); work lost going in: at most 2.7 s"},
		"no calls":           {noCalls, hooks, "disturbance: while measured, the program had 99 % of its former speed (97.1 to 99.5 %); work lost going in: at most 2.7 s"},
		"few samples":        {followed(fast, nil), hooks, "disturbance: speed while measured unknown (too few samples of it); work lost going in: 2.5 s"},
		"cost of hooks":      {followed(fast, fast), nil, "disturbance: speed while measured unknown (how much of its time hooks took is not known)"},
		"nobody watched it":  {nil, hooks, "disturbance: speed while measured unknown (it was not watched before it had hooks); work lost going in: unknown, coming out: unknown"},
		"nobody sampled it":  {&Pace{account: account{results: now}}, hooks, "disturbance: speed while measured unknown (too few samples of it); work lost going in: unknown, coming out: unknown"},
	} {
		if got := tt.pace.Disturbance(tt.hooks).String(); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s:\n got %s\nwant %s…", name, got, tt.want)
		}
	}
	for name, tt := range map[string]struct {
		hooks    cost.Estimate
		disturbs bool // a profile, which subtracts what hooks take
	}{
		"hooks take little":    {*hooks, true},
		"hooks take all of it": {cost.Estimate{Value: 0.19, Low: 0.18, High: 0.2}, false},
	} {
		d := measured.Disturbance(&tt.hooks)
		const text = "DISTURBED: these times are of a program that had about 80 % of its former speed (78.3 to 81.7 %), because "
		const want = text + "HotSpot compiles methods with hooks less well, or the load of the machine has changed: use fewer hooks, or measure again"
		const whole = text + "hooks take time, and HotSpot compiles methods with hooks less well: use fewer hooks"
		if got := d.Disturbed(); got != whole {
			t.Errorf("%s: got %q, want %q", name, got, whole)
		}
		if got := d.Slowed(); (got == want) != tt.disturbs {
			t.Errorf("%s: a profile says %q", name, got)
		}
	}
}

func TestFollow(t *testing.T) {
	p := &Pace{before: samplesOf("a", map[jfr.FrameKind]int{jfr.C2: 100}), account: account{by: ByCompilers}}
	p.Changed()
	p.after = samplesOf("a", map[jfr.FrameKind]int{jfr.C2: 70})
	read := make(chan struct{})
	p.Follow(t.Context(), nil, func(classfile.MethodRef) bool { return false }, 7, func() (uint64, error) {
		select {
		case read <- struct{}{}:
		default:
		}
		return 0, nil
	})
	<-read
	p.Leave(t.Context())
	if p.isFollowing() || p.soFar != 7 || p.during.samples != 70 || p.was.Samples != 100 {
		t.Errorf("following %t, %d calls before, %d samples, %d before; want false, 7, 70, 100", p.isFollowing(), p.soFar, p.during.samples, p.was.Samples)
	}
	if lost := p.Recover(t.Context(), time.Minute, nil); lost != nil {
		t.Errorf("lost %v although nothing sampled it", lost)
	}
	p.Close(t.Context())
	var none *Pace // all of them must accept nil
	none.Rest(t.Context())
	none.Follow(t.Context(), nil, nil, 0, nil)
	none.Alone(t.Context(), 0, nil)
	none.Leave(t.Context())
	none.Close(t.Context())
}

func TestHookShare(t *testing.T) {
	each := &session.HookCost{Low: 80, Median: 100, High: 120}
	since := cost.Cost{Known: cost.Known{Process: true}, Elapsed: time.Second, Rest: time.Second}
	got := HookShare(Plain, each, []Used{{Calls: 100_000, Timed: 100_000}, {}}, since)
	want := cost.Estimate{Value: 0.025, Low: 0.008, High: 0.03} // half of the 300 ns of a rare call remain
	if got == nil || !near(got.Value, want.Value) || !near(got.Low, want.Low) || !near(got.High, want.High) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := HookShare(Plain, nil, nil, since); got != nil {
		t.Errorf("%+v of hooks whose cost is unknown", got)
	}
	if got := HookShare(Plain, each, nil, cost.Cost{Elapsed: time.Second}); got != nil {
		t.Errorf("%+v of unknown processor time", got)
	}
}

func TestSlowedBy(t *testing.T) {
	meansOf := func(each ...uint64) (m *Means) {
		m = &Means{}
		var nanos, calls uint64
		for _, mean := range append([]uint64{1}, each...) {
			nanos, calls = nanos+10*mean, calls+10
			m.Add(nanos, calls)
		}
		return m
	}
	slow, fast := meansOf(200, 200, 200, 200), meansOf(100, 100, 100, 100)
	for name, tt := range map[string]struct {
		with, without *Means
		want          *cost.Estimate
	}{
		"twice as slow":     {slow, fast, &cost.Estimate{Value: 0.5, Low: 0.5, High: 0.5}},
		"no slower":         {fast, slow, &cost.Estimate{}},
		"varying times":     {meansOf(180, 220, 180, 220), fast, &cost.Estimate{Value: 0.5, Low: 0.443, High: 0.557}},
		"too few intervals": {slow, meansOf(100, 100), nil},
		"no calls":          {slow, &Means{}, nil},
	} {
		got := SlowedBy(tt.with, tt.without)
		if (got == nil) != (tt.want == nil) || got != nil && (!near(got.Value, tt.want.Value) || !near(got.Low, tt.want.Low) || !near(got.High, tt.want.High)) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

func TestTracedCallsAreSlower(t *testing.T) {
	meansOf := func(nanos ...float64) *Means {
		var m Means
		for _, n := range nanos {
			m.add(2 * n)
		}
		return m.Times(0.5)
	}
	without := meansOf(100, 101, 99, 100, 100)
	for _, test := range []struct {
		traced   *Means
		isSlower bool
	}{
		{meansOf(200, 190, 210, 205), true},
		{meansOf(100, 105, 104, 103), false},
		{meansOf(101, 99, 102, 700), false}, // one call of them may be slow by chance
		{meansOf(200, 200), false},          // too few
	} {
		if got := SlowerThan(test.traced, without); (got != "") != test.isSlower {
			t.Errorf("traced calls of %v beside others of 100: %q, want slower: %t", test.traced.mean, got, test.isSlower)
		}
	}
}
