package sampler

import (
	"context"
	"errors"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// StopLeftovers stops the recordings that killed Sondes left running in a JVM,
// and returns their names. A JVM whose recorder was never started is not asked.
func StopLeftovers(ctx context.Context, pid int) ([]string, error) {
	if !hasRecorder(pid) {
		return nil, nil
	}
	conn, err := attach.Open(ctx, pid)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	r := &recording{jvm: conn}
	running, err := r.check(ctx)
	if errors.Is(err, ErrNoRecorder) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.stopDead(ctx, running)
}

// stopDead stops those of some recordings that are of a Sonde which is dead. One
// that is stopped already holds files until the JVM ends, and cannot be closed by
// any command; ours close when they stop.
func (r *recording) stopDead(ctx context.Context, running []Running) (stopped []string, err error) {
	var failed []error
	for _, one := range running {
		n, ours := parseName(one.Name)
		if !ours || n.life() != process.No || one.State != "running" {
			continue
		}
		if err := r.stopOne(ctx, n); err != nil {
			failed = append(failed, err)
			continue
		}
		stopped = append(stopped, one.Name)
	}
	return stopped, errors.Join(failed...)
}

// others are the recordings that are nobody's of Sonde.
func others(running []Running) (names []string) {
	for _, one := range running {
		if _, ours := parseName(one.Name); !ours && one.State == "running" {
			names = append(names, one.Name)
		}
	}
	return names
}
