package attach

import (
	"errors"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// What can be in the way. Each text is the first half of an error's line; the
// rest is the remedy.
var (
	ErrNoProcess   = errors.New("there is no such process")
	ErrNotJVM      = errors.New("it is not a JVM")
	ErrOpenJ9      = errors.New("it is an OpenJ9 JVM")
	ErrPermission  = errors.New("it is another user's")
	ErrDisabled    = errors.New("it cannot be attached to")
	ErrAgentsOff   = errors.New("it loads no agents")
	ErrReadOnlyTmp = errors.New("its /tmp is read-only")
	ErrGone        = errors.New("it ended meanwhile")
	ErrTimeout     = errors.New("it did not answer in time")
	ErrImpostor    = errors.New("another process answers in its place")
	ErrCommand     = errors.New("it refused the command")
	ErrAgent       = errors.New("the agent did not start")
	ErrTooLong     = errors.New("the command is too long for it")
)

// An Error is one line: which process, what is in the way, what to do. It
// answers to one of the errors above.
type Error = process.Obstacle
