// Ring measures what tracing costs a program that calls the traced method far more
// often than anybody can read: rings are full nearly always, calls are dropped and
// counted.
//
//	go run ./bench/ring [--rounds N] [--batch D] [--jdk N]
//
// On each JDK a Java program calls one method in a loop. Its hook now only counts, now
// traces every call as a transaction of its own, in batches by turns in one run; Sonde
// reads the rings all the while, as often as it does for a user. The figure is the share
// of the throughput that is left when calls are traced, for a method called ten million
// times a second and, without a bar, for one that does nothing. Time is what the calling
// thread had of a processor.
//
// The exit code is 1 where the bar is missed, and 2 where something could not be
// measured.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sonde-jvm/sonde/bench/driver"
	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// bar is the share of the throughput that must be left.
const bar = 0.95

type options struct {
	rounds  int
	batch   time.Duration
	jdk     int
	sources string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 30, "rounds, each with a batch of both ways")
	flag.DurationVar(&o.batch, "batch", 200*time.Millisecond, "how long a batch takes: several readings of the rings")
	flag.IntVar(&o.jdk, "jdk", 0, "only this major version")
	flag.StringVar(&o.sources, "sources", "bench/ring/java", "folder with the Java program")
	flag.Parse()
	machine.Main("bench/ring", func(ctx context.Context) (bool, error) { return run(ctx, o) })
}

func run(ctx context.Context, o options) (met bool, err error) {
	jdks, err := machine.JDKs(o.jdk)
	if err != nil {
		return false, err
	}
	met = true
	for _, jdk := range jdks {
		results, err := measure(ctx, jdk, o)
		if err != nil {
			return false, fmt.Errorf("JDK %s: %w", jdk.Version, err)
		}
		fmt.Printf("JDK %s, load %s; medians with quartiles\n", jdk.Version, machine.Load())
		for _, r := range results {
			r.print(os.Stdout)
			met = met && (!r.hasBar || r.share().Median >= bar)
		}
	}
	return met, nil
}

func measure(ctx context.Context, jdk jvmtest.JDK, o options) (results []*result, err error) {
	classes, err := compile(jdk, o.sources)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(classes)
	p, err := driver.Start(jdk, "-cp", classes, "ring.Ring")
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if _, err := p.One("time", 1000, 1); err != nil { // loads what is to be woven
		return nil, err
	}
	s, err := session.Open(ctx, p.PID(), session.Settings{Command: "bench/ring"})
	if err != nil {
		return nil, err
	}
	defer func() {
		_, closing := s.Close(ctx)
		_ = s.Release()
		if err == nil {
			err = closing
		}
	}()
	methods, err := pattern.ParseSet("ring.Ring.Work.work")
	if err != nil {
		return nil, err
	}
	if _, err := s.Instrument(ctx, session.Wanted{Methods: methods}); err != nil {
		return nil, err
	}
	if woven := len(s.Methods()); woven != 1 {
		return nil, fmt.Errorf("%d methods have hooks, not 1; left alone: %v", woven, s.LeftAlone())
	}
	t := &target{Program: p, session: s, methods: methods}
	for _, r := range []*result{{name: "ten million calls a second", wantNanos: 100, hasBar: true}, {name: "as fast as it goes"}} {
		if err := t.rounds(ctx, r, o); err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// compile makes the program's classes, in a new folder.
func compile(jdk jvmtest.JDK, sources string) (classes string, err error) {
	folder, err := os.MkdirTemp("", "sonde-ring-")
	if err != nil {
		return "", err
	}
	out, err := exec.Command(jdk.Tool("javac"), "-d", folder, filepath.Join(sources, "Ring.java")).CombinedOutput()
	if err != nil {
		_ = os.RemoveAll(folder)
		return "", fmt.Errorf("compiling %s: %w\n%s", sources, err, out)
	}
	return folder, nil
}
