package overhead

import (
	"slices"
	"time"
)

// budgetWindow is the time over which hooks must keep the budget.
const budgetWindow = 10 * time.Second

// Shares are the parts of a program's processor time that hooks took.
type Shares struct {
	parts   []usedTime // of the last ten seconds
	largest float64
}

type usedTime struct {
	until                 time.Time
	elapsed, hooks, whole time.Duration
}

// Add adds a time that has ended at a moment, the processor time of hooks in it, and that of the program.
// It returns the part of the last ten seconds.
func (s *Shares) Add(until time.Time, elapsed, hooks, whole time.Duration) float64 {
	s.parts = append(s.parts, usedTime{until, elapsed, hooks, whole})
	s.parts = slices.DeleteFunc(s.parts, func(u usedTime) bool { return until.Sub(u.until) >= budgetWindow })
	var sum usedTime
	for _, u := range s.parts {
		sum.elapsed, sum.hooks, sum.whole = sum.elapsed+u.elapsed, sum.hooks+u.hooks, sum.whole+u.whole
	}
	if sum.whole <= 0 || sum.elapsed <= 0 {
		return 0
	}
	if sum.elapsed < budgetWindow { // before that, there were no hooks
		sum.whole = time.Duration(float64(sum.whole) * float64(budgetWindow) / float64(sum.elapsed))
	}
	part := float64(sum.hooks) / float64(sum.whole)
	s.largest = max(s.largest, part)
	return part
}

// Largest returns the largest part in any ten seconds.
func (s *Shares) Largest() float64 { return s.largest }
