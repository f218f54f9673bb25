package ledger

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic is the clock that System.nanoTime reads.
func monotonic() int64 {
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
	ahead := reading - (monotonic() - int64(time.Since(at)))
	if ahead > -int64(time.Minute) && ahead < int64(time.Minute) {
		return 0
	}
	return ahead
}
