// Undo measures whether a program is as fast after its hooks were taken out as
// it was before they went in.
//
//	go run ./bench/undo [--pairs N] [--slice D] [--settle D] [--rounds N]
//
// On each JDK two equal programs run, one of which is never touched. They work
// in turns, a slice of processor time each, and what counts is how much the one did of
// what its untouched twin did right after: before, while hooks are in all its
// methods, and after undo. A round is entering, instrumenting and leaving.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

type options struct {
	pairs, rounds int
	slice, settle time.Duration
	sources       string
}

func main() {
	var o options
	flag.IntVar(&o.pairs, "pairs", 25, "slices of each program in one phase")
	flag.IntVar(&o.rounds, "rounds", 3, "how often hooks go in and out")
	flag.DurationVar(&o.slice, "slice", 100*time.Millisecond, "how long one program works before the other")
	flag.DurationVar(&o.settle, "settle", 5*time.Second, "how long both work after each change, for the compilers, before it counts")
	flag.StringVar(&o.sources, "sources", "bench/undo/java", "folder with the program")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "bench/undo: %v\n", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, o options) error {
	jdks := jvmtest.Installed()
	if len(jdks) == 0 {
		return fmt.Errorf("no JDK found: install one below /usr/lib/jvm or name its home in SONDE_JDKS")
	}
	printHead()
	for _, jdk := range jdks {
		if err := measure(ctx, jdk, o); err != nil {
			return fmt.Errorf("JDK %s: %w", jdk.Version, err)
		}
	}
	printLegend()
	return nil
}

func measure(ctx context.Context, jdk jvmtest.JDK, o options) error {
	touched, err := startProgram(jdk, o.sources)
	if err != nil {
		return err
	}
	defer touched.close()
	twin, err := startProgram(jdk, o.sources)
	if err != nil {
		return err
	}
	defer twin.close()
	t := turns{touched, twin, o}
	before, err := t.phase(ctx)
	if err != nil {
		return err
	}
	before.print(jdk.Version, "before", before)
	for round := 1; round <= o.rounds; round++ {
		s, err := instrument(ctx, touched.process.Process.Pid)
		if err != nil {
			return err
		}
		during, err := t.phase(ctx)
		if err == nil {
			_, err = s.Close(ctx)
		}
		if err != nil {
			return err
		}
		if err := s.Release(); err != nil {
			return err
		}
		during.print(jdk.Version, fmt.Sprintf("hooks in %d", round), before)
		after, err := t.phase(ctx)
		if err != nil {
			return err
		}
		after.print(jdk.Version, fmt.Sprintf("undone %d", round), before)
	}
	return nil
}

// instrument times every call of the program's methods and of the collections
// they use.
func instrument(ctx context.Context, pid int) (*session.Session, error) {
	methods, err := pattern.ParseSet("Twin*.*", "java.util.ArrayList*.*", "java.util.HashMap*.*")
	if err != nil {
		return nil, err
	}
	s, err := session.Open(ctx, pid, session.Settings{Command: "bench/undo"})
	if err != nil {
		return nil, err
	}
	if _, err := s.Instrument(ctx, session.Wanted{Methods: methods, Flags: arena.On | arena.Timed}); err != nil {
		_, _ = s.Close(ctx) // what failed first is what counts
		return nil, err
	}
	return s, nil
}
