package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/bench/machine"
)

// worker is the name of the thread that works, in both programs.
const worker = "worker"

// shareProcessor has the threads that work in both programs take turns on one processor,
// some milliseconds each: what others on the machine do to the one they do to the other.
// All else of the programs, compilers and collectors, stays where the system puts it.
func (s *stand) shareProcessor(ctx context.Context) error {
	const look, patience = 100 * time.Millisecond, 30 * time.Second
	for _, p := range []*program{s.touched, s.twin} {
		for began := now(); len(p.track()) == 0; { // it has a worker before it says anything
			if now()-began > patience {
				return errors.New("the program says nothing")
			}
			if err := p.run(ctx, look); err != nil {
				return err
			}
		}
		thread, err := threadOf(p.pid(), worker)
		if err != nil {
			return err
		}
		var first unix.CPUSet
		first.Set(0)
		if err := unix.SchedSetaffinity(thread, &first); err != nil {
			return fmt.Errorf("keeping a thread on one processor: %w", err)
		}
	}
	return nil
}

// threadOf finds a thread of a process by its name.
func threadOf(pid int, name string) (int, error) {
	found := machine.Threads(pid, func(has string) bool { return has == name })
	if len(found) == 0 {
		return 0, fmt.Errorf("process %d has no thread %s", pid, name)
	}
	return strconv.Atoi(filepath.Base(found[0]))
}
