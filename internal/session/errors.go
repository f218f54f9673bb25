package session

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// HeldError reports that another Sonde, or the agent of a pack, holds the JVM.
type HeldError struct {
	PID    int
	Holder string
}

// packHolder is the prefix of the name of a pack's agent.
const packHolder = "pack "

func (e *HeldError) Error() string {
	if strings.HasPrefix(e.Holder, packHolder) {
		return fmt.Sprintf("process %d was started with %s, whose hooks are not known yet: try again in a moment, or remove the pack with sonde undo %d", e.PID, e.Holder, e.PID)
	}
	return fmt.Sprintf("process %d is held by %s: wait, or free it with sonde undo %d", e.PID, e.Holder, e.PID)
}

// NoSuchJVM reports that a process does not exist or is not a JVM.
type NoSuchJVM struct {
	PID   int
	Cause error
}

func (e *NoSuchJVM) Error() string {
	if errors.Is(e.Cause, process.ErrNoProcess) {
		return fmt.Sprintf("process %d: there is no such process: sonde ps lists the running JVMs", e.PID)
	}
	if errors.Is(e.Cause, process.ErrNotJVM) {
		return fmt.Sprintf("process %d: %v: sonde ps lists the running JVMs", e.PID, process.ErrNotJVM)
	}
	return fmt.Sprintf("%v: sonde ps lists the running JVMs", e.Cause)
}

// Unwrap returns the cause.
func (e *NoSuchJVM) Unwrap() error { return e.Cause }

// A NotRestoredError reports that a JVM still had hooks when Sonde stopped waiting
// for it. Nobody renews its lease any more, so it restores its classes by itself.
type NotRestoredError struct {
	PID   int
	Cause error
}

func (e *NotRestoredError) Error() string {
	return fmt.Sprintf("process %d has not restored all of its classes yet (%v); the agent continues without Sonde, and sonde status %d shows when it has finished", e.PID, e.Cause, e.PID)
}

// Unwrap returns why Sonde stopped waiting.
func (e *NotRestoredError) Unwrap() error { return e.Cause }
