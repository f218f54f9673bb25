//go:build !linux

package sampler

import (
	"context"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

func startKernel(_ context.Context, jvm *process.JVM, _ Options) (samples, error) {
	return nil, &Error{PID: jvm.PID, Kind: ErrNoKernel, Detail: "only Linux can"}
}
