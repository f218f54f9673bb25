// Redefine measures what it costs a busy program when one of its classes is
// redefined, in two ways at once: by the account the program keeps of its own
// speed, which is the truth, and by package toll, which looks from outside.
//
//	go run ./bench/redefine [--workers N] [--copies N] [--warm D] [--follow D] [--json]
//
// On each JDK two programs run. One has its hot, central class retransformed
// three times; the other one a cold class first. Both begin with a round in
// which nothing is done, which shows the noise.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

type options struct {
	workers, copies int
	warm, follow    time.Duration
	json            bool
	sources         string
}

func main() {
	var o options
	flag.IntVar(&o.workers, "workers", 1, "threads of the program that work")
	flag.IntVar(&o.copies, "copies", 120, "classes for each worker that depend on the central one")
	flag.DurationVar(&o.warm, "warm", 12*time.Second, "how long the program runs before the first round")
	flag.DurationVar(&o.follow, "follow", 6*time.Second, "how long after a retransformation work may be lost, at least")
	flag.BoolVar(&o.json, "json", false, "print JSON instead of a table")
	flag.StringVar(&o.sources, "sources", "bench/redefine/java", "folder with the program and its agent")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "bench/redefine: %v\n", err)
		os.Exit(2)
	}
}

// nothing is the class of a round in which none is retransformed.
const nothing = ""

// scenarios are the classes retransformed in the rounds of one program.
var scenarios = [][]string{
	{nothing, "Central", "Central", "Central"},
	{nothing, "Cold", "Central", "Central"},
}

func run(ctx context.Context, o options) error {
	jdks := jvmtest.Installed()
	if len(jdks) == 0 {
		return fmt.Errorf("no JDK found: install one below /usr/lib/jvm or name its home in SONDE_JDKS")
	}
	var all []round
	if !o.json {
		printHead()
	}
	for _, jdk := range jdks {
		for number, classes := range scenarios {
			rounds, err := measure(ctx, jdk, o, classes, func(r round) {
				if !o.json {
					r.Program = number + 1
					r.print()
				}
			})
			if err != nil {
				return fmt.Errorf("JDK %s: %w", jdk.Version, err)
			}
			all = append(all, rounds...)
		}
	}
	if o.json {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(all)
	}
	printLegend()
	return nil
}
