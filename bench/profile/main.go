// Profile measures what a profile from a root high in the call tree costs a
// program: H2 under a mix of SQL, and javac compiling a large tree.
//
//	go run ./bench/profile [--jdk N] [--programs H2,javac] [--profilers …] [--phases N] [--minutes N] [--again] [--together] [--json FILE]
//
// On each JDK a program runs beside an untouched twin, on a processor each if there
// are two, or both on one (--together), in turn without hooks and profiled: exact,
// sampled, and auto within its budget. VisualVM's engine does the same job from the
// same root, if it is installed (.ci/setup visualvm). With --minutes, auto also stays
// that long and has to be inside its budget all told. Each row has a fresh pair of
// JVMs, which run until their pace is steady: by processor time, it changes by no more
// than 2 % from ten seconds to the next ten.
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
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
)

type options struct {
	jdk                 int
	programs, profilers string
	phases, minutes     int
	budget              float64
	scheme              string
	again               bool // it was profiled before
	together            bool // both programs work on one processor
	lengths             lengths
	json                string
}

func main() {
	var o options
	flag.IntVar(&o.jdk, "jdk", 0, "only this major version")
	flag.StringVar(&o.programs, "programs", "H2,javac", "programs to profile")
	flag.StringVar(&o.profilers, "profilers", "nothing,exact,sampled,auto,jfluid", "who profiles; also jfluid-sampled, jfluid-eager; none if empty")
	flag.IntVar(&o.phases, "phases", 2, "how often each of ours profiles a program; JFluid does once")
	flag.IntVar(&o.minutes, "minutes", 0, "also profile by auto for so many minutes, all told")
	flag.Float64Var(&o.budget, "budget", profile.DefaultBudget, "of auto")
	flag.StringVar(&o.scheme, "scheme", "", "lazy or eager; what costs less if empty")
	flag.BoolVar(&o.again, "again", false, "profile it once before that counts: JVMs before 21 throw all compiled code away at their first redefinition, whoever asks for it")
	flag.BoolVar(&o.together, "together", false, "have program and twin work on one processor, by turns of milliseconds: figures by processor time are steadier, those by the clock tell less")
	flag.StringVar(&o.json, "json", "", "file to write the figures to as well")
	flag.DurationVar(&o.lengths.warm, "warm", 10*time.Second, "processor time a program has at least before its first phase")
	flag.DurationVar(&o.lengths.warmest, "warmest", 90*time.Second, "how long it is waited for to become steady")
	flag.DurationVar(&o.lengths.before, "before", 5*time.Second, "how long it runs without hooks in a phase, before and after; with --minutes six times that")
	flag.DurationVar(&o.lengths.settle, "settle", 4*time.Second, "how long it runs with all hooks in before that counts; with --minutes three times that")
	flag.DurationVar(&o.lengths.measuring, "measuring", 6*time.Second, "how long that counts")
	flag.DurationVar(&o.lengths.recovery, "recovery", 5*time.Second, "how long it runs at least after hooks went out before that counts; it has to be at 95 % of its pace again")
	flag.DurationVar(&o.lengths.patience, "patience", 90*time.Second, "how much longer each of those may take until a round has ended, or the old pace is reached")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "bench/profile: %v\n", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, o options) error {
	jdks, err := machine.JDKs(o.jdk)
	if err != nil {
		return err
	}
	var all []row
	var failures []error
	before := machine.Load()
	printHead()
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
			if slices.Contains(strings.Split(o.programs, ","), s.name) && ctx.Err() == nil {
				rows, err := measure(ctx, jdk, s, folder, o)
				if err != nil {
					failures = append(failures, fmt.Errorf("JDK %s, %s: %w", jdk.Version, s.name, err))
				}
				all = append(all, rows...)
			}
		}
	}
	printLegend(all, before)
	if o.json != "" {
		failures = append(failures, writeJSON(o.json, all, before))
	}
	return errors.Join(failures...)
}
