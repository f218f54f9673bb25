//go:build !linux

package perfevents

import (
	"context"
	"errors"
	"time"
)

// Events needs Linux.
type Events struct {
	KernelExcluded bool
}

// Open needs Linux.
func Open(pid int, _ Options) (*Events, error) {
	return nil, &Error{PID: pid, Kind: ErrUnavailable, Detail: "perf_event_open exists on Linux only", Cause: errors.ErrUnsupported}
}

// Read needs Linux.
func (*Events) Read(func(*Sample)) (lost int, err error) { return 0, errors.ErrUnsupported }

// Wait needs Linux.
func (*Events) Wait(context.Context, time.Duration) error { return errors.ErrUnsupported }

// CPUTime needs Linux.
func (*Events) CPUTime() (time.Duration, error) { return 0, errors.ErrUnsupported }

// Throttled needs Linux.
func (*Events) Throttled() int { return 0 }

// Close does nothing.
func (*Events) Close() error { return nil }
