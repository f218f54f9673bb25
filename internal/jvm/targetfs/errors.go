package targetfs

import (
	"errors"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// What can be in the way. Each text is the first half of an error's line; the
// rest is the remedy.
var (
	ErrPermission = errors.New("it is another user's")
	ErrGone       = errors.New("it ended meanwhile")
	ErrReadOnly   = errors.New("its user can write to no directory of its own")
	ErrUnsafe     = errors.New("others could change what Sonde puts there")
	ErrFull       = errors.New("its file system is full")
	ErrNetwork    = errors.New("its loopback cannot be listened on")
	ErrNoStandby  = errors.New("no agent waits in it")
	ErrNotTaken   = errors.New("its agent did not take the invitation")
	ErrFiles      = errors.New("files for its agent cannot be made")
	ErrLeft       = errors.New("something of Sonde's is left in its file system")
)

// An Error is one line: which process, what is in the way, what to do. It
// answers to one of the errors above.
type Error = process.Obstacle
