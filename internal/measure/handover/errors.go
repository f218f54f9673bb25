package handover

import (
	"errors"
	"fmt"
)

// ErrNone says that no Sonde answers for the JVM.
var ErrNone = errors.New("no sonde apply holds it")

// ErrUnheard says that the other Sonde took no part in the conversation that could be
// understood.
var ErrUnheard = errors.New("the Sonde that holds it does not answer as it should")

// errGone says that a directory was removed while its lock was waited for.
var errGone = errors.New("the directory is gone")

// HeldError says that another Sonde answers for the JVM already.
type HeldError struct{ Target Target }

func (e *HeldError) Error() string {
	return fmt.Sprintf("another sonde apply holds process %d: sonde apply --end %d ends it", e.Target.PID, e.Target.PID)
}

// UnsafeError says that a directory cannot be trusted.
type UnsafeError struct{ Dir, Why string }

func (e *UnsafeError) Error() string {
	return fmt.Sprintf("%s %s: remove it, or set XDG_RUNTIME_DIR to a directory of your own", e.Dir, e.Why)
}

// StrangerError says that somebody else is at the other end.
type StrangerError struct {
	PID int
	UID uint32
}

func (e *StrangerError) Error() string {
	return fmt.Sprintf("process %d of user %d is at the other end, neither of this user nor root", e.PID, e.UID)
}

// RefusedError is what the Sonde that holds the JVM says why it did not do it.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }
