package attach

import (
	"errors"
	"fmt"

	"github.com/sonde-jvm/sonde/internal/jvm/asuser"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// preflight decides, without touching the process, that it is a HotSpot JVM
// that answers, and that we are one it answers to.
func preflight(host process.Host, pid int) (*process.JVM, error) {
	jvm, err := host.Inspect(pid)
	switch {
	case errors.Is(err, process.ErrNoProcess):
		return nil, &Error{PID: pid, Kind: ErrNoProcess, Detail: "sonde ps lists those there are"}
	case errors.Is(err, process.ErrNotJVM):
		return nil, &Error{PID: pid, Kind: ErrNotJVM, Detail: "sonde ps lists those there are"}
	case err != nil:
		return nil, &Error{PID: pid, Kind: ErrDisabled, Detail: "it cannot be looked into", Cause: err}
	}
	switch {
	case jvm.Kind == process.OpenJ9:
		return nil, &Error{PID: pid, Kind: ErrOpenJ9, Detail: jvm.Attach.Reason}
	case jvm.Kind == process.Hidden || !asuser.MayBecome(jvm.UID, jvm.GID):
		return nil, &Error{PID: pid, Kind: ErrPermission, Detail: jvm.Access()}
	case jvm.Attach.Answer != process.Yes:
		return nil, &Error{PID: pid, Kind: ErrDisabled, Detail: jvm.Attach.Reason}
	case jvm.Stopped:
		// It would heed the signal long after the note beside it is gone.
		return nil, &Error{PID: pid, Kind: ErrDisabled, Detail: fmt.Sprintf("it is stopped, by a signal or a debugger: kill -CONT %d resumes it", pid)}
	}
	return jvm, nil
}
