// Undo measures whether a program is as fast after its hooks were taken out as it was
// before they went in.
//
//	go run ./bench/undo [-jdk N] [-pairs N] [-slice D] [-settle D] [-rounds N]
//
// On each JDK two equal programs run, one of which is never touched. They work in turns, a
// slice of processor time each. What counts is how much the touched program did relative
// to its twin right after: before, while hooks are in all its methods, and after undo. A
// round is entering, instrumenting and leaving.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

var (
	pairs  = flag.Int("pairs", 25, "slices of each program per phase")
	rounds = flag.Int("rounds", 3, "how often hooks are added and removed")
	slice  = flag.Duration("slice", 100*time.Millisecond, "processor time of a slice")
	settle = flag.Duration("settle", 5*time.Second, "time for the JIT compilers to settle after each change")
)

func main() {
	harness.Main("undo", func(ctx context.Context, r *harness.Report) error {
		table := r.Table("JDK", "phase", "relative to the twin", "relative to before")
		r.Note("Operations of the touched program for each operation of its untouched twin, by processor time, in slices that " +
			"alternate; median and quartiles. Relative to before: the same median divided by that of the first phase.")
		return harness.EachJDK(func(jdk jvmtest.JDK) error { return measure(ctx, jdk, table) })
	})
}

func measure(ctx context.Context, jdk jvmtest.JDK, table *harness.Table) error {
	classes, err := harness.Compile(jdk, harness.Source{Files: []string{"bench/undo/java/*.java"}, Flags: []string{"--release", "11"}})
	if err != nil {
		return err
	}
	defer os.RemoveAll(classes)
	var both [2]*harness.Program // the touched one first
	for i := range both {
		if both[i], err = harness.Start(jdk, "-Xmx128m", "-cp", classes, "Twin"); err != nil {
			return err
		}
		defer both[i].Close()
	}
	before, err := phase(ctx, both)
	if err != nil {
		return err
	}
	add := func(name string, now harness.Spread) {
		table.Row(jdk.Version, name, now.Text("%.3f"), fmt.Sprintf("%.3f", now.Median/before.Median))
	}
	add("before", before)
	for round := 1; round <= *rounds; round++ {
		err := harness.InSession(ctx, both[0].PID(), func(s *session.Look) error {
			if err := instrument(ctx, s); err != nil {
				return err
			}
			during, err := phase(ctx, both)
			add(fmt.Sprintf("hooks in, round %d", round), during)
			return err
		})
		if err != nil {
			return err
		}
		after, err := phase(ctx, both)
		if err != nil {
			return err
		}
		add(fmt.Sprintf("undone, round %d", round), after)
	}
	return nil
}

// instrument times every call of the program's methods and of the collections they use.
func instrument(ctx context.Context, s *session.Look) error {
	methods, err := pattern.ParseSet("Twin*.*", "java.util.ArrayList*.*", "java.util.HashMap*.*")
	if err != nil {
		return err
	}
	_, err = s.Instrument(ctx, session.Wanted{Methods: methods, Flags: arena.On | arena.Timed})
	return err
}

// phase lets both programs settle and then compares them, pair by pair. Which of them
// works first changes from pair to pair.
func phase(ctx context.Context, both [2]*harness.Program) (harness.Spread, error) {
	for end := time.Now().Add(*settle); time.Now().Before(end); {
		if _, err := pair(both, false); err != nil {
			return harness.Spread{}, err
		}
	}
	var ratios []float64
	for i := range *pairs {
		ratio, err := pair(both, i%2 == 1)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return harness.Spread{}, err
		}
		ratios = append(ratios, ratio)
	}
	return harness.SpreadOf(ratios), nil
}

// pair gives each program a slice, and returns the ratio of their rates.
func pair(both [2]*harness.Program, twinFirst bool) (float64, error) {
	order := []int{0, 1}
	if twinFirst {
		slices.Reverse(order)
	}
	var rates [2]float64
	for _, i := range order {
		did, err := both[i].Ask("work", slice.Milliseconds())
		if err != nil {
			return 0, err
		}
		if len(did) != 2 || did[1] <= 0 {
			return 0, fmt.Errorf("the program answered %v", did)
		}
		rates[i] = did[0] / did[1]
	}
	return rates[0] / rates[1], nil
}
