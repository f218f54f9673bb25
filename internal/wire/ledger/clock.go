package ledger

import (
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic is the clock that System.nanoTime reads.
func Monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0
	}
	return now.Nano()
}

// Ahead is what a target's clock is ahead of ours, by what it read at a moment that is
// known: nothing, but in another time namespace. The wall clock, by which the moment
// is known, may have been set meanwhile; a minute of that is let pass.
func Ahead(reading int64, at time.Time) int64 {
	ahead := reading - (Monotonic() - int64(time.Since(at)))
	if ahead > -int64(time.Minute) && ahead < int64(time.Minute) {
		return 0
	}
	return ahead
}

// AheadNow is Ahead of a clock that was just read, by us after it was: a reading that is
// later than ours, by however little, is of another clock.
func AheadNow(reading int64) int64 {
	ahead := reading - Monotonic()
	if ahead > -int64(time.Minute) && ahead <= 0 {
		return 0
	}
	return ahead
}
