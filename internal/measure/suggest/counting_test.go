package suggest

import (
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// TestModes checks what hooks do after a glance: rarely called methods are timed, then
// counted, and what would cost too much is off.
func TestModes(t *testing.T) {
	const timed, counted = arena.On | arena.Flat | arena.Timed, arena.On | arena.Flat
	probe := overhead.ProbeCost{Timed: 300} // with the cold cost a microsecond a call
	candidates := []*Candidate{{Pattern: "often"}, {Pattern: "rare"}, {Pattern: "medium"}}
	for _, tt := range []struct {
		budget float64    // of a processor
		rates  [3]float64 // calls a second
		want   [3]arena.Flags
	}{
		{0.02, [3]float64{0, 0, 0}, [3]arena.Flags{timed, timed, timed}},
		{0.02, [3]float64{5000, 100, 1000}, [3]arena.Flags{timed, timed, timed}},
		{0.02, [3]float64{50_000, 100, 1000}, [3]arena.Flags{counted, timed, timed}},
		{0.02, [3]float64{50_000, 15_000, 25_000}, [3]arena.Flags{counted, timed, counted}},
		{0.02, [3]float64{10e6, 100, 1000}, [3]arena.Flags{0, timed, timed}},
		{0.02, [3]float64{10e6, 10e6, 10e6}, [3]arena.Flags{0, 0, 0}},
		{0.2, [3]float64{10e6, 100, 1000}, [3]arena.Flags{counted, timed, timed}},
	} {
		glanced := make(tallies)
		for i, one := range candidates {
			glanced[one] = tally{calls: uint64(tt.rates[i]), over: time.Second}
		}
		setModes(candidates, glanced, probe, tt.budget)
		for i, one := range candidates {
			if one.flags != tt.want[i] {
				t.Errorf("%g: %s with %g calls a second has flags %v, want %v", tt.budget, one.Pattern, tt.rates[i], one.flags, tt.want[i])
			}
		}
	}
}

// TestSteadiness checks how many slices of a second are counted if four seconds are asked
// for.
func TestSteadiness(t *testing.T) {
	for name, tt := range map[string]struct {
		calls []uint64 // in each slice; the last goes on
		want  int
	}{
		"steady":                {[]uint64{1000}, 4},
		"a little faster":       {[]uint64{1000, 1050, 1090}, 4},
		"faster at the end":     {[]uint64{1000, 1000, 1000, 2000}, 6},
		"faster, then steady":   {[]uint64{100, 200, 400, 800, 1600, 3200}, 8},
		"faster for ever":       {[]uint64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536}, 16},
		"slower does not count": {[]uint64{1000, 500, 900}, 4},
	} {
		s := steadiness{long: 4 * time.Second, most: 16 * time.Second}
		slices := 0
		for ; !s.isOver(); slices++ {
			s.add(tally{calls: tt.calls[min(slices, len(tt.calls)-1)], over: time.Second, cpu: time.Second})
		}
		if slices != tt.want {
			t.Errorf("%s: %d slices, want %d", name, slices, tt.want)
		}
	}
}

func TestPartOfProcessorTime(t *testing.T) {
	for _, tt := range []struct {
		t    tally
		use  float64
		want float64
	}{
		{tally{calls: 1000, over: time.Second, cpu: time.Second}, 4, 0.001},
		{tally{calls: 1000, over: time.Second, cpu: 50 * time.Millisecond}, 2, 0.0005}, // too little to be exact
		{tally{calls: 1000, over: time.Second}, 0, 0.01},                               // an idle program
		{tally{calls: 1000}, 1, 0},
	} {
		if got := tt.t.part(1000, tt.use); got != tt.want {
			t.Errorf("%+v: %g, want %g", tt, got, tt.want)
		}
	}
}

func TestCandidateTakesWhatWasCounted(t *testing.T) {
	probe := overhead.ProbeCost{Timed: 300, Thin: 75}
	all := tally{calls: 4000, timed: 3000, nanos: 3_000_000, over: 4 * time.Second, cpu: 4 * time.Second}
	latest := tally{calls: 2000, over: time.Second, cpu: time.Second}
	c := Candidate{flags: timeCalls}
	c.take(all, latest, 100, probe, 1)
	if !c.Measured || c.PerSecond != 2000 || c.Ended != 3000 || c.Mean != 900 {
		t.Errorf("%+v", c)
	}
	if want := latest.part(probe.Call(2000, false), 1); c.Cost != want || c.Thin >= c.Cost {
		t.Errorf("costs %g, thinned %g; want %g: the latest is more", c.Cost, c.Thin, want)
	}
	c.flags = countCalls
	c.take(all, tally{}, 100, probe, 1)
	if c.Ended != 4000 || c.Cost != all.part(probe.Call(1000, false), 1) {
		t.Errorf("%+v", c)
	}
}
