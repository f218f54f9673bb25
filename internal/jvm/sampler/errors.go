package sampler

import (
	"errors"
	"fmt"
)

// What can be in the way of a recording.
var (
	// ErrNoRecorder is a JVM whose flight recorder cannot be used: thread dumps
	// are what remains.
	ErrNoRecorder = errors.New("it has no flight recorder that Sonde can use")
	// ErrRefused is a command of the recorder that failed.
	ErrRefused = errors.New("the flight recorder refused")
	// ErrEnded is a JVM that is no more.
	ErrEnded = errors.New("it has ended")
)

// An Error is one line: which process, what is in the way, why. It answers to
// one of the errors above.
type Error struct {
	PID    int
	Kind   error
	Detail string
}

func (e *Error) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("process %d: %v", e.PID, e.Kind)
	}
	return fmt.Sprintf("process %d: %v: %s", e.PID, e.Kind, e.Detail)
}

func (e *Error) Unwrap() error { return e.Kind }
