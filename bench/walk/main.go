// Walk measures what a walk costs a program, beside instrumenting all of the same
// classes at once: H2 under a mix of SQL, and a program of many small methods.
//
//	go run ./bench/walk [-jdk N] [-programs H2,orders] [-phases N] [-again] [-timeline] [-json FILE]
//
// On each JDK a program runs beside an untouched twin, on a processor each if there
// are two. In turn it is left alone, walked, left alone, has a timed hook in every
// method of the classes that were on the ways the walk found, for as long as the walk
// took, and is left alone again. Speeds are what a program does for a second of its
// own processor time, against its twin in the same windows.
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
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// Options are a run's. Times are processor time of the program, but for the stay.
type options struct {
	jdk      int
	programs string
	phases   int
	warm     time.Duration // before its first phase
	rest     time.Duration // left alone between
	settle   time.Duration // after hooks went in or out: what is lost meanwhile is lost to that
	stay     time.Duration // how long a walk goes on looking for new hot spots, by the clock
	json     string
	timeline bool
	again    bool // it was walked before
}

func main() {
	var o options
	flag.IntVar(&o.jdk, "jdk", 0, "only this major version")
	flag.StringVar(&o.programs, "programs", "H2,orders", "programs to walk")
	flag.IntVar(&o.phases, "phases", 2, "how often each is walked, and instrumented")
	flag.DurationVar(&o.warm, "warm", 30*time.Second, "processor time a program has before its first phase")
	flag.DurationVar(&o.rest, "rest", 15*time.Second, "processor time it has between, left alone")
	flag.DurationVar(&o.settle, "settle", 6*time.Second, "processor time in which a program settles after hooks went in or out")
	flag.DurationVar(&o.stay, "stay", 60*time.Second, "how long a walk goes on looking for new hot spots")
	flag.BoolVar(&o.timeline, "timeline", false, "tell how fast it was throughout each walk")
	flag.BoolVar(&o.again, "again", false, "walk it once before that counts: JVMs before 21 throw all compiled code away at their first redefinition, whoever asks for it")
	flag.StringVar(&o.json, "json", "", "file to write the figures to as well")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "bench/walk: %v\n", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, o options) error {
	jdks, err := machine.JDKs(o.jdk)
	if err != nil {
		return err
	}
	var all []*result
	var failures []error
	load := machine.Load()
	printHead(os.Stdout)
	for _, jdk := range jdks {
		classes, err := classesFor(jdk)
		if err != nil {
			return fmt.Errorf("JDK %s: %w", jdk.Version, err)
		}
		for _, s := range subjects {
			if !slices.Contains(strings.Split(o.programs, ","), s.name) || ctx.Err() != nil {
				continue
			}
			r, err := measure(ctx, jdk, s, classes, o)
			if err != nil {
				failures = append(failures, fmt.Errorf("JDK %s, %s: %w", jdk.Version, s.name, err))
			}
			if r != nil {
				r.print(os.Stdout)
				all = append(all, r)
			}
		}
	}
	printLegend(os.Stdout, load)
	for _, r := range all {
		r.printBars(os.Stdout)
	}
	if o.json != "" {
		failures = append(failures, writeJSON(o.json, all, load))
	}
	return errors.Join(failures...)
}

// classesFor compiles the programs, below the folder of what is built.
func classesFor(jdk jvmtest.JDK) (string, error) {
	folder, err := filepath.Abs(filepath.Join("build", "bench-walk", jdk.Version))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	return folder, compile(jdk, folder)
}
