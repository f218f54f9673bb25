//go:build !linux

package sampler

import (
	"context"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

func startKernel(_ context.Context, jvm *process.JVM, _ time.Duration, _ bool) (samples, error) {
	return nil, &Error{PID: jvm.PID, Kind: ErrNoKernel, Detail: "only Linux can"}
}
