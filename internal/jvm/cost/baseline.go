package cost

import (
	"context"
	"fmt"
	"math"
	"time"
)

// A Baseline is how busy a JVM's compilers were before something was done.
type Baseline struct {
	Known     bool
	Rate      float64 // seconds of compiling a second
	Spread    float64 // standard deviation of the rate from one interval to the next
	Busy      float64 // as Rate, with the time compilers waited for a processor
	Wavering  float64 // standard deviation of that
	Intervals int
	Length    time.Duration // of all intervals together
}

// Idle is the baseline of compilers that have nothing to do, to wait for a JVM
// to warm up.
var Idle = Baseline{Known: true, Intervals: 1, Length: time.Second}

// BaselineOf takes the baseline from readings in their order, three at least.
func BaselineOf(readings []Reading) Baseline {
	var rates, busy []float64
	var whole Cost
	for i := 1; i < len(readings); i++ {
		c := readings[i-1].Until(readings[i])
		spent, known := c.compiling()
		if !known || c.Elapsed <= 0 {
			return Baseline{}
		}
		rates = append(rates, spent.Seconds()/c.Elapsed.Seconds())
		busy = append(busy, (spent+c.CompileWait).Seconds()/c.Elapsed.Seconds())
		if i == 1 {
			whole = c
			continue
		}
		whole = whole.Then(c)
	}
	if len(rates) < 2 {
		return Baseline{}
	}
	spent, _ := whole.compiling()
	b := Baseline{Known: true, Intervals: len(rates), Length: whole.Elapsed}
	b.Rate = spent.Seconds() / b.Length.Seconds()
	b.Busy = (spent + whole.CompileWait).Seconds() / b.Length.Seconds()
	b.Spread, b.Wavering = deviation(rates, b.Rate), deviation(busy, b.Busy)
	return b
}

// deviation is the standard deviation of samples from their mean.
func deviation(samples []float64, mean float64) float64 {
	sum := 0.0
	for _, sample := range samples {
		sum += (sample - mean) * (sample - mean)
	}
	return math.Sqrt(sum / float64(len(samples)-1))
}

// compiling is what compilers used: processor time, or where the threads cannot
// be told apart the time the JVM says its compilations took.
func (c Cost) compiling() (time.Duration, bool) {
	if c.Known.Compilers {
		return c.CompileCPU, true
	}
	return c.CompileTime, c.Known.Compiles
}

// A Reader is a *Meter.
type Reader interface {
	Read() (Reading, error)
}

// Observe reads at equal distances for as long as one wants the baseline to be,
// which should be a second or more. The last reading is the one to begin from.
func Observe(ctx context.Context, m Reader, length, every time.Duration) (Baseline, Reading, error) {
	return observe(ctx, m, length, every, pause)
}

func observe(ctx context.Context, m Reader, length, every time.Duration, wait waiter) (Baseline, Reading, error) {
	var readings []Reading
	for {
		r, err := m.Read()
		if err != nil {
			return Baseline{}, Reading{}, fmt.Errorf("observing the compilers: %w", err)
		}
		readings = append(readings, r)
		if len(readings) > 2 && r.At.Sub(readings[0].At) >= length {
			return BaselineOf(readings), r, nil
		}
		if err := wait(ctx, every); err != nil {
			return Baseline{}, Reading{}, fmt.Errorf("observing the compilers: %w", err)
		}
	}
}

// A waiter lets time pass, unless the context ends before.
type waiter func(context.Context, time.Duration) error

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
