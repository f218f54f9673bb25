// Overhead measures what hooks cost the program they are in, and holds that
// against bars.
//
//	go run ./bench/overhead [--rounds N] [--phases N] [--pairs N] [--jdk N] [--only PATTERN] [--json]
//
// On each JDK a Java program runs that times itself. It has its methods three
// times over: bare, with two readings of the clock around each body, and with
// hooks, which internal/session weaves into the running program and switches
// from mode to mode. Every round runs all of it in turn, in batches of about a
// millisecond, so that what else the machine does hits all alike and falls out
// of medians. What attaching alone costs is measured on two JVMs in turns, of
// which one is never touched.
//
// The exit code is 1 where a bar is missed, or nobody can tell, and 2 where
// something could not be measured.
package main

import (
	"context"
	"flag"
	"os"
	"regexp"

	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

type options struct {
	rounds, batches int
	phases, pairs   int
	jdk             int
	only            *regexp.Regexp // names of modes
	json            bool
	sources         string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 61, "rounds through all twins, shapes and modes")
	flag.IntVar(&o.batches, "batches", 5, "batches for each of them in a round")
	flag.IntVar(&o.phases, "phases", 6, "how often a JVM is attached to, to see what that costs")
	flag.IntVar(&o.pairs, "pairs", 120, "pairs of turns of both JVMs in each phase")
	flag.IntVar(&o.jdk, "jdk", 0, "only this major version")
	only := flag.String("only", "", "only modes whose names match this regular expression, and what they are compared with")
	flag.BoolVar(&o.json, "json", false, "print JSON instead of tables")
	flag.StringVar(&o.sources, "sources", "bench/overhead/java", "folder with the Java program")
	flag.Parse()
	o.only = regexp.MustCompile(*only)
	machine.Main("bench/overhead", func(ctx context.Context) (bool, error) {
		return machine.Compare(o.jdk, o.json, func(jdk jvmtest.JDK) (*report, error) { return measure(ctx, jdk, o) })
	})
}

func measure(ctx context.Context, jdk jvmtest.JDK, o options) (*report, error) {
	classes, err := compile(jdk, o.sources)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(classes)
	r := &report{JDK: jdk.Version, LoadBefore: machine.Load(), modes: chosen(o.only)}
	if o.rounds > 0 {
		if err := r.measureHooks(ctx, jdk, classes, o); err != nil {
			return nil, err
		}
	}
	if o.phases > 0 {
		if err := r.measureAttached(ctx, jdk, classes, o); err != nil {
			return nil, err
		}
	}
	r.LoadAfter = machine.Load()
	r.judge()
	return r, nil
}
