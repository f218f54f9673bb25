package cct

import "math"

// A sample is what the drawn calls of a node say: how many, their mean, the
// variance between them, and how many calls they speak for.
type sample struct {
	drawn, calls   float64
	mean, variance float64
}

// How an interval is made wider than Student's, which supposes times that spread
// evenly. Times of calls do not: most are alike and a few are many times longer,
// and a sample that has met too few of those looks surer than it is. So the upper
// bound is that of the sample with one more call, as slow as one might have
// escaped it. TestIntervalsHold shows that intervals made so hold.
const (
	// quantile is the normal one for 98 %: who counts how often a hundred
	// intervals hold shall find 95 of them nearly always, not half the time.
	quantile = 2.3263478740408408
	// slowest is how many times the mean an unseen call may take while few were
	// drawn: below about sixty, a tenth of all calls may have stayed unseen.
	slowest, seenEnough = 10, 60
	// unseen is how many times longer than the long ones seen it may be.
	unseen = 2
	// leastDrawn is from where on a spread between calls is known at all.
	leastDrawn = 2
)

// interval is how far all calls together may be below and above calls × mean.
func (s sample) interval() (below, above float64) {
	if s.drawn < leastDrawn {
		return math.Inf(1), math.Inf(1)
	}
	left := math.Max(0, 1-s.drawn/s.calls) // what was not seen is all that can err
	if left == 0 {
		return 0, 0
	}
	t := student(s.drawn - 1)
	below = t * math.Sqrt(s.variance/s.drawn*left)
	slow := s.slow()
	n := s.drawn + 1
	mean := s.mean + (slow-s.mean)/n
	spread := s.variance*(s.drawn-1) + s.drawn*sq(s.mean-mean) + sq(slow-mean)
	above = (mean-s.mean)*left + t*math.Sqrt(spread/s.drawn/n*left)
	return below * s.calls, above * s.calls
}

// slow is the time of a call that the sample may have missed. The squares' share
// tells where the time of long calls lies: it is the mean over nanoseconds, not
// over calls.
func (s sample) slow() float64 {
	if s.mean <= 0 {
		return unseen * math.Sqrt(s.variance)
	}
	times := math.Min(slowest, slowest*seenEnough/s.drawn)
	return math.Max(times*s.mean, unseen*(s.variance/s.mean+s.mean))
}

func sq(x float64) float64 { return x * x }

// student is the quantile of Student's distribution for the normal one's: by its
// expansion in the degrees of freedom, which is within a hundredth from six on;
// below it the exact figures stand.
func student(freedom float64) float64 {
	exact := []float64{1: 31.82051595, 2: 6.96455673, 3: 4.54070286, 4: 3.74694739, 5: 3.36492999}
	if i := int(freedom); i >= 1 && i < len(exact) {
		return exact[i]
	}
	const z = quantile
	const z3, z5, z7 = z * z * z, z * z * z * z * z, z * z * z * z * z * z * z
	f := freedom
	return z + (z3+z)/(4*f) + (5*z5+16*z3+3*z)/(96*f*f) + (3*z7+19*z5+17*z3-15*z)/(384*f*f*f)
}
