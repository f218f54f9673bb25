// Profile measures what a profile from a root high in the call tree costs a
// program: H2 under a mix of SQL, and javac compiling a large tree.
//
//	go run ./bench/profile [--jdks 17,25] [--programs H2,javac] [--phases N] [--minutes N]
//
// On each JDK a program runs beside an untouched twin, in turn without hooks and
// profiled: exact, sampled, and auto within its budget. VisualVM's engine then does
// the same job from the same root, if it is installed (.ci/setup visualvm). With
// --minutes, auto also runs that long and has to stay inside its budget all told.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/profile"
)

type options struct {
	jdks, programs, profilers string
	phases, minutes           int
	budget                    float64
	scheme                    string
	lengths                   lengths
}

func main() {
	var o options
	flag.StringVar(&o.jdks, "jdks", "", "versions, such as 17,25; all that are installed if empty")
	flag.StringVar(&o.programs, "programs", "H2,javac", "programs to profile")
	flag.StringVar(&o.profilers, "profilers", "nothing,exact,sampled,auto,jfluid", "who profiles; also jfluid-sampled, jfluid-eager")
	flag.IntVar(&o.phases, "phases", 2, "how often each of ours profiles a program; JFluid does once")
	flag.IntVar(&o.minutes, "minutes", 0, "also profile by auto for so many minutes, all told")
	flag.Float64Var(&o.budget, "budget", profile.DefaultBudget, "of auto")
	flag.StringVar(&o.scheme, "scheme", "", "lazy or eager; what costs less if empty")
	flag.DurationVar(&o.lengths.warm, "warm", 10*time.Second, "processor time a program has before its first phase")
	flag.DurationVar(&o.lengths.before, "before", 3*time.Second, "how long it runs without hooks in a phase, before and after")
	flag.DurationVar(&o.lengths.settle, "settle", 2*time.Second, "how long it runs with all hooks in before that counts")
	flag.DurationVar(&o.lengths.measuring, "measuring", 5*time.Second, "how long that counts")
	flag.DurationVar(&o.lengths.recovery, "recovery", 4*time.Second, "how long it runs after hooks went out before that counts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "bench/profile: %v\n", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, o options) error {
	jdks := slices.DeleteFunc(slices.Clone(jvmtest.Installed()), func(jdk jvmtest.JDK) bool {
		return o.jdks != "" && !slices.Contains(strings.Split(o.jdks, ","), strconv.Itoa(jdk.Major))
	})
	if len(jdks) == 0 {
		return fmt.Errorf("no such JDK found: install one below /usr/lib/jvm or name its home in SONDE_JDKS")
	}
	printHead()
	var verdicts []string
	var failures []error
	for _, jdk := range jdks {
		folder, err := filepath.Abs(filepath.Join("build", "bench-profile", jdk.Version))
		if err != nil {
			return err
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if err := compile(jdk, folder); err != nil {
			return fmt.Errorf("JDK %s: %w", jdk.Version, err)
		}
		for _, s := range subjects {
			if slices.Contains(strings.Split(o.programs, ","), s.name) {
				said, err := measure(ctx, jdk, s, folder, o)
				if err != nil {
					failures = append(failures, fmt.Errorf("JDK %s, %s: %w", jdk.Version, s.name, err))
				}
				if ctx.Err() != nil {
					return ctx.Err()
				}
				verdicts = append(verdicts, said...)
			}
		}
	}
	printLegend()
	fmt.Println()
	for _, verdict := range verdicts {
		fmt.Println(verdict)
	}
	return errors.Join(failures...)
}
