// Truth holds what profiles say of times against what the same methods need
// without hooks.
//
//	go run ./bench/truth [--runs N] [--repeats N] [--time D] [--short D] [--jdk N] [--only PATTERN] [--visualvm=false]
//
// On each JDK a Java program runs that has its methods twice: in one twin hooks
// go in, the other never has any. While a profile runs, batches of both alternate,
// a few milliseconds each, so that what else the machine does hits both alike;
// the mean of the bare twin's batches is the truth. It holds the call itself too.
// That the twins are equal is shown by times of the first before any hook is in
// and after all are out.
//
// Exact profiles are read with calibration, and beside it without. Sampled ones are
// short and many: what counts is how often the truth lies within their interval.
// VisualVM's engine is read on the same program, where it is installed.
//
// The exit code is 1 where a demand is not met, and 2 where something could not
// be measured.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

type options struct {
	runs, repeats int
	time, short   time.Duration
	jdk           int
	visualVM      bool
	only          *regexp.Regexp // names of cases
	sources       string
}

func main() {
	var o options
	flag.IntVar(&o.runs, "runs", 5, "exact profiles; medians over them are judged")
	flag.IntVar(&o.repeats, "repeats", 100, "sampled profiles")
	flag.DurationVar(&o.time, "time", 600*time.Millisecond, "how long each case works in an exact profile")
	flag.DurationVar(&o.short, "short", 100*time.Millisecond, "how long each case works in a sampled profile")
	flag.IntVar(&o.jdk, "jdk", 0, "only this major version")
	flag.BoolVar(&o.visualVM, "visualvm", true, "beside it VisualVM's engine, where it is installed")
	flag.StringVar(&o.sources, "sources", "bench/truth/java", "folder with the Java program")
	only := flag.String("only", "", "only cases whose names match this regular expression, such as Tiny|Us1")
	flag.Parse()
	o.only = regexp.MustCompile(*only)
	machine.Main("bench/truth", func(ctx context.Context) (bool, error) { return run(ctx, o) })
}

func run(ctx context.Context, o options) (met bool, err error) {
	jdks, err := machine.JDKs(o.jdk)
	if err != nil {
		return false, err
	}
	met = true
	for _, jdk := range jdks {
		r, err := measure(ctx, jdk, o)
		if err != nil {
			return false, fmt.Errorf("JDK %s: %w", jdk.Version, err)
		}
		r.print(os.Stdout)
		met = met && r.allMet()
	}
	return met, nil
}

func measure(ctx context.Context, jdk jvmtest.JDK, o options) (*report, error) {
	classes, err := compile(jdk, o.sources)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(classes)
	p, err := start(jdk, classes)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	r := newReport(jdk, o)
	if err := p.warm(r.cases()); err != nil {
		return nil, err
	}
	if len(r.Exact) > 0 {
		if err := r.measureExact(ctx, p, o); err != nil {
			return nil, err
		}
		if o.visualVM {
			if err := r.measureVisualVM(ctx, jdk, classes, o); err != nil {
				return nil, err
			}
		}
	}
	if len(r.Sampled) > 0 {
		if err := r.measureSampled(ctx, p, o); err != nil {
			return nil, err
		}
	}
	r.judge()
	return r, nil
}
