package main

import (
	"math"
	"slices"
)

// A spread is the median of what single rounds showed, with the quartiles.
type spread struct {
	Median, Low, High float64
}

func spreadOf(values []float64) spread {
	return spread{quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75)}
}

// quantile interpolates between the two values nearest to it; NaN of none.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}

func median(values []float64) float64 { return quantile(values, 0.5) }

// mean is the average, with how far the true one may be off, 95 times in 100,
// by Student's distribution.
func mean(values []float64) (average, within float64) {
	n := float64(len(values))
	for _, v := range values {
		average += v / n
	}
	if len(values) < 2 {
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
