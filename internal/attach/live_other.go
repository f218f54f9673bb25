//go:build !linux

package attach

import (
	"errors"

	"github.com/sonde-jvm/sonde/internal/attach/jvmproc"
)

func newLive(_ jvmproc.Host, jvm *jvmproc.JVM) (target, error) {
	return nil, &Error{PID: jvm.PID, Kind: ErrDisabled, Detail: "sonde attaches on Linux only", Cause: errors.ErrUnsupported}
}
