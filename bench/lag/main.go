// Lag measures how far what `sonde hot` shows is behind real time: a program runs one
// method all the time, its JVM's flight recorder is read as `sonde hot` reads it, and
// for each moment in which there might be news it is told how old the newest sample is.
//
//	go run ./bench/lag [-jdk N] [-for 20s] [-json]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sonde-jvm/sonde/bench/driver"
	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

const (
	bar  = 2.0 // seconds
	poll = 200 * time.Millisecond
)

// A report is what was found on one JDK. Ages are in seconds.
type report struct {
	JDK     string
	Samples int
	Median  float64
	Worst   float64
	Load    string
	Met     bool
}

// AllMet reports whether the bar is met.
func (r *report) AllMet() bool { return r.Met }

// Print tells what was found.
func (r *report) Print(w io.Writer) {
	verdict := "NOT MET"
	if r.Met {
		verdict = "met"
	}
	fmt.Fprintf(w, "JDK %-8s %5d samples; the newest is %.2f s old (median), %.2f s at worst (within %.0f s: %s); load %s\n",
		r.JDK, r.Samples, r.Median, r.Worst, bar, verdict, r.Load)
}

func main() {
	jdk := flag.Int("jdk", 0, "only this major version")
	long := flag.Duration("for", 20*time.Second, "how long is looked")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	machine.Main("bench/lag", func(ctx context.Context) (bool, error) {
		return machine.Compare(*jdk, *asJSON, func(jdk jvmtest.JDK) (*report, error) { return measure(ctx, jdk, *long) })
	})
}

func measure(ctx context.Context, jdk jvmtest.JDK, long time.Duration) (*report, error) {
	classes, err := filepath.Abs(filepath.Join("build", "bench-lag", jdk.Version))
	if err != nil {
		return nil, err
	}
	out, err := exec.Command(jdk.Tool("javac"), "-d", classes, "bench/lag/java/Spin.java").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("javac (run from the top of the repository): %w\n%s", err, out)
	}
	program, err := driver.Start(jdk, "-cp", classes, "Spin")
	if err != nil {
		return nil, err
	}
	defer program.Close()
	sampler, err := sampler.Start(ctx, program.PID(), sampler.Options{Source: sampler.FlightRecorder})
	if err != nil {
		return nil, err
	}
	r := &report{JDK: jdk.Version}
	ages, err := follow(ctx, sampler, long, r)
	if closing := sampler.Close(context.WithoutCancel(ctx)); err == nil {
		err = closing
	}
	if err != nil {
		return nil, err
	}
	if len(ages) == 0 {
		return nil, fmt.Errorf("no sample came in %v", long)
	}
	r.Median, r.Worst, r.Load = spread.Median(ages), spread.Quantile(ages, 1), machine.Load()
	r.Met = r.Worst <= bar
	return r, nil
}

// follow gives the age of the newest sample at each look, from the first sample on.
func follow(ctx context.Context, sampler *sampler.Sampler, long time.Duration, r *report) (ages []float64, err error) {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	var newest time.Time
	for end := time.Now().Add(long); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C:
		}
		batch, err := sampler.Poll(ctx)
		if err != nil {
			return nil, err
		}
		if !newest.IsZero() {
			ages = append(ages, time.Since(newest).Seconds()) // just before the news are seen it is oldest
		}
		for _, s := range batch.Samples {
			if s.At.After(newest) {
				newest = s.At
			}
		}
		r.Samples += len(batch.Samples)
	}
	return ages, nil
}
