//go:build !linux

package attach

import (
	"errors"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

func newLive(_ process.Host, jvm *process.JVM) (target, error) {
	return nil, &Error{PID: jvm.PID, Kind: ErrDisabled, Detail: "sonde attaches on Linux only", Cause: errors.ErrUnsupported}
}
