// Observe measures whether what sonde observe proposes keeps its promise: H2 under a mix
// of SQL, the demo's shop with its customers, and a Tomcat with nothing but what comes
// with it.
//
//	go run ./bench/observe [-jdk N] [-programs H2,shop,Tomcat] [-budget 0.02] [-json]
//
// On each JDK a program runs beside an untouched twin. It is observed; then in turn it is
// left alone and has the proposed probes applied. Speeds are what a program does for a
// second of its own processor time, against its twin in the same windows, with the probes
// against when it is left alone. At the end the probes are applied once more and samples
// tell what they cover.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// Options are a run's. Times are processor time of each program, but for the look.
type options struct {
	jdk      int
	programs string
	budget   float64
	phases   int
	warm     time.Duration // before it is observed
	look     time.Duration // how long it is observed, by the clock
	rest     time.Duration // left alone, or with probes, in each phase
	settle   time.Duration // after hooks went in or out
	json     bool
}

func main() {
	var o options
	flag.IntVar(&o.jdk, "jdk", 0, "only this major version")
	flag.StringVar(&o.programs, "programs", "H2,shop,Tomcat", "programs to observe")
	flag.Float64Var(&o.budget, "budget", 0.02, "part of a program's processor time that probes may take")
	flag.IntVar(&o.phases, "phases", 4, "how often the probes are applied")
	flag.DurationVar(&o.warm, "warm", 25*time.Second, "processor time a program has before it is observed")
	flag.DurationVar(&o.look, "for", 20*time.Second, "how long it is observed")
	flag.DurationVar(&o.rest, "rest", 12*time.Second, "processor time it has left alone, and with probes, in each phase")
	flag.DurationVar(&o.settle, "settle", 5*time.Second, "processor time in which it settles after hooks went in or out")
	flag.BoolVar(&o.json, "json", false, "write JSON")
	flag.Parse()
	machine.Main("bench/observe", func(ctx context.Context) (bool, error) {
		return machine.Compare(o.jdk, o.json, func(jdk jvmtest.JDK) (*report, error) { return measureAll(ctx, jdk, o) })
	})
}

// measureAll observes the programs that were asked for, one after the other.
func measureAll(ctx context.Context, jdk jvmtest.JDK, o options) (*report, error) {
	folder, err := filepath.Abs(filepath.Join("build", "bench-observe", jdk.Version))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	r := &report{JDK: jdk.Version, LoadBefore: machine.Load()}
	for name := range strings.SplitSeq(o.programs, ",") {
		at := slices.IndexFunc(subjects, func(s subject) bool { return strings.EqualFold(s.name, name) })
		if at < 0 {
			return nil, fmt.Errorf("there is no program %q", name)
		}
		result, err := measure(ctx, jdk, subjects[at], folder, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r.Results = append(r.Results, result)
	}
	if len(r.Results) == 0 {
		return nil, errors.New("no program was asked for")
	}
	r.LoadAfter = machine.Load()
	return r, nil
}
