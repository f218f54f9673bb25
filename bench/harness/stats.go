package harness

import (
	"fmt"
	"math"
	"slices"
)

// A Spread is the median of several values with their quartiles.
type Spread struct {
	Median, Low, High float64
}

// SpreadOf returns the spread of values; of none it is NaN.
func SpreadOf(values []float64) Spread {
	return Spread{Median(values), Quantile(values, 0.25), Quantile(values, 0.75)}
}

// Over returns the spread, over rounds, of a value computed within each of them.
func Over[R any](rounds []R, value func(R) float64) Spread {
	values := make([]float64, 0, len(rounds))
	for _, round := range rounds {
		values = append(values, value(round))
	}
	return SpreadOf(values)
}

// Times returns the spread of the values multiplied by a factor.
func (s Spread) Times(factor float64) Spread {
	return Spread{s.Median * factor, s.Low * factor, s.High * factor}
}

// Text formats the median and, in parentheses, the quartiles, each by a verb of fmt.
func (s Spread) Text(verb string) string {
	return fmt.Sprintf(verb+" ("+verb+" to "+verb+")", s.Median, s.Low, s.High)
}

// Median returns the middle value; of none it is NaN.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Quantile interpolates between the two nearest values; of none it is NaN.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}

// Mean returns the average, and half the width of its 95 % confidence interval by
// Student's distribution, which is infinite for one value. Of none the average is NaN.
func Mean(values []float64) (average, within float64) {
	n := float64(len(values))
	if n == 0 {
		return math.NaN(), math.Inf(1)
	}
	for _, v := range values {
		average += v / n
	}
	if n == 1 {
		return average, math.Inf(1)
	}
	var squares float64
	for _, v := range values {
		squares += (v - average) * (v - average)
	}
	return average, student(len(values)-1) * math.Sqrt(squares/(n-1)/n)
}

// student returns the two-sided 95 % point for the given number of degrees of freedom.
func student(freedom int) float64 {
	table := []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228}
	if freedom <= len(table) {
		return table[freedom-1]
	}
	const normal = 1.95996
	return normal + 2.4/float64(freedom) // within 0.03 of the table from here on
}
