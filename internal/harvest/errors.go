package harvest

import (
	"errors"
	"fmt"
)

// ErrNoArena is answered to where there is nothing to read.
var ErrNoArena = errors.New("there is no arena of a pack")

// A NoArenaError is a process of which nothing is to be read.
type NoArenaError struct {
	PID     int
	Lives   bool   // it is a JVM that runs
	Problem string // why its agent has not taken the pack; empty where it was given none
}

func (e *NoArenaError) Error() string {
	switch {
	case e.Problem != "":
		return fmt.Sprintf("process %d was started with a pack, and runs without it: %s", e.PID, e.Problem)
	case e.Lives:
		return fmt.Sprintf("process %d has no pack in it: start the program with the option that sonde env --pack FILE prints, or see sonde status %d", e.PID, e.PID)
	}
	return fmt.Sprintf("process %d does not run, and has left no arena in /tmp: name the file, as in sonde report FILE", e.PID)
}

// Unwrap gives ErrNoArena.
func (e *NoArenaError) Unwrap() error { return ErrNoArena }
