package results

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
)

// OfProcess reads what the agent of a pack in a JVM has measured, or has before the JVM
// ended. Where no pack is named it is the one that the agent was given.
func OfProcess(ctx context.Context, pid int, packPath string) (*Harvest, error) {
	jvm, err := process.Local.Inspect(pid)
	switch {
	case errors.Is(err, process.ErrNoProcess):
		return ofEnded(ctx, pid, packPath)
	case errors.Is(err, process.ErrNotJVM): // its number may have been a JVM's before
		h, failed := ofEnded(ctx, pid, packPath)
		if errors.Is(failed, ErrNoArena) {
			return nil, err
		}
		return h, failed
	case err != nil:
		return nil, err
	}
	return OfJVM(jvm, packPath)
}

// OfJVM is OfProcess of a JVM that runs.
func OfJVM(jvm *process.JVM, packPath string) (*Harvest, error) {
	if jvm.Pack == nil || jvm.Pack.Arena == "" {
		none := &NoArenaError{PID: jvm.PID, Lives: true}
		if jvm.Pack != nil {
			none.Problem = jvm.Pack.Problem
		}
		return nil, none
	}
	file, err := process.Local.OpenMapped(jvm, jvm.Pack.Arena, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("the arena of process %d: %w", jvm.PID, err)
	}
	defer func() { _ = file.Close() }()
	h, err := read(file, jvm.Pack.Arena)
	if err != nil {
		return nil, err
	}
	h.runsIn(jvm)
	if packPath != "" {
		if err := h.use(packPath, packPath); err != nil {
			h.Close()
			return nil, err
		}
		return h, nil
	}
	if err := h.useInside(jvm); err != nil {
		var of *pack.FileError
		if errors.As(err, &of) {
			err = fmt.Errorf("%s: %w", jvm.Pack.Path, of.Kind)
		}
		h.Notes = append(h.Notes, fmt.Sprintf("probes have no names, as its pack cannot be read: %v", err))
	}
	return h, nil
}

// useInside reads the pack that a JVM was given, where the JVM has it.
func (h *Harvest) useInside(jvm *process.JVM) error {
	file, err := process.Local.OpenNamed(jvm, jvm.Pack.Path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return h.useFile(file, jvm.Pack.Path)
}
