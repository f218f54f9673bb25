// Package spread sums up what repeated measurements showed.
package spread

import (
	"math"
	"slices"
)

// A Spread is the median of several figures with the quartiles.
type Spread struct {
	Median, Low, High float64
}

// Of is the spread of figures; NaN of none.
func Of(values []float64) Spread {
	return Spread{Median(values), Quantile(values, 0.25), Quantile(values, 0.75)}
}

// Median is the middle value; NaN of none.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Quantile interpolates between the two values nearest to it; NaN of none.
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

// Mean is the average, with how far the true one may be off, 95 times in 100,
// by Student's distribution. Of one value nobody knows how far; of none it is NaN.
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

// student is the two-sided 95 % point for so many degrees of freedom.
func student(freedom int) float64 {
	table := []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228}
	if freedom <= len(table) {
		return table[freedom-1]
	}
	const normal = 1.95996
	return normal + 2.4/float64(freedom) // within 0.03 of the table from here on
}
