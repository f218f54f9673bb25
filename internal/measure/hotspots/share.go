package hotspots

import "math"

// A Share is a part of all that ran, with the interval in which the truth lies in
// 19 of 20 cases, as far as samples are independent of one another.
type Share struct {
	Part, Low, High float64
}

// ShareOf is the part that a weight is of a whole that counts as n samples, with
// Wilson's interval, which holds for small numbers as well.
func ShareOf(weight, whole, n float64) Share {
	if whole <= 0 || n <= 0 {
		return Share{}
	}
	const z = 1.96
	p := min(1, weight/whole)
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	spread := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return Share{Part: p, Low: max(0, min(p, middle-spread)), High: min(1, max(p, middle+spread))}
}

// countOf is how many samples of equal weight say as much as some of unequal
// weight.
func countOf(weights []float64) float64 {
	var sum, squares float64
	for _, w := range weights {
		sum += w
		squares += w * w
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / squares
}
