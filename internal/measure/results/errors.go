package results

import (
	"errors"
	"fmt"
	"strings"
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

// A SeveralError is a process that does not run, of whose number several users have left
// arenas: which of them is its own cannot be told.
type SeveralError struct {
	PID    int
	Arenas []string // each with its user
}

func (e *SeveralError) Error() string {
	return fmt.Sprintf("process %d does not run, and several users have left arenas of its number: name the file, as in sonde report FILE (%s)",
		e.PID, strings.Join(e.Arenas, ", "))
}
