package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sonde-jvm/sonde/bench/spread"
)

// The rule by which a program is warm: what it does for a second of processor time
// changes by no more than this from five windows to the next five.
const (
	warmWindow  = 2 * time.Second
	warmWindows = 5
	mostChange  = 0.02
)

// change is by how much the pace changed between the last two stretches of
// windows; NaN where there were not so many.
func (t track) change() float64 {
	windows := t.windows(0, math.MaxInt64, warmWindow)
	if len(windows) < 2*warmWindows {
		return math.NaN()
	}
	var rates []float64
	for _, w := range windows[len(windows)-2*warmWindows:] {
		if p, err := t.pace(w[0], w[1]); err == nil {
			rates = append(rates, p.cpu)
		}
	}
	if len(rates) < 2*warmWindows {
		return math.NaN()
	}
	return spread.Median(rates[warmWindows:])/spread.Median(rates[:warmWindows]) - 1
}

// warm lets both run until each had its processor time, however busy the machine
// is, and is steady. Programs that do not become so are taken as they are, and
// that is said.
func (s *stand) warm(ctx context.Context) error {
	const busy, look = 2 * time.Minute, 500 * time.Millisecond
	began := now()
	for {
		took, p := now()-began, s.pair()
		touched, twin := p.touched.change(), p.twin.change()
		enough := p.touched.used() >= s.lengths.warm && p.twin.used() >= s.lengths.warm
		steady := math.Abs(touched) <= mostChange && math.Abs(twin) <= mostChange // false of NaN
		switch {
		case enough && steady:
			s.warmed = fmt.Sprintf("steady after %.0f s", took.Seconds())
			return nil
		case enough && took >= s.lengths.warmest:
			s.warmed = fmt.Sprintf("not steady after %.0f s: changing by %s, its twin by %s", took.Seconds(), percent(touched), percent(twin))
			return nil
		case took >= s.lengths.warmest+busy:
			return errors.New("the programs do not get the processor time to warm up: the machine is too busy")
		}
		if err := s.touched.run(ctx, look); err != nil {
			return err
		}
	}
}

func percent(change float64) string {
	if math.IsNaN(change) {
		return "nobody knows, in so few rounds"
	}
	return fmt.Sprintf("%+.1f %%", 100*change)
}
