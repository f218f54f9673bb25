// Lag measures how far `sonde hot` is behind real time: a program runs one method all
// the time, the flight recorder of its JVM is read as `sonde hot` reads it, and each poll
// notes the age of the newest sample that was known before it.
//
//	go run ./bench/lag [-jdk N] [-for 20s]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

const (
	most = 2.0 // seconds that the newest sample may be old
	poll = 200 * time.Millisecond
)

func main() {
	length := flag.Duration("for", 20*time.Second, "how long samples are read")
	harness.Main("lag", func(ctx context.Context, r *harness.Report) error {
		table := r.Table("JDK", "samples", "age of the newest, median", "at worst")
		return harness.EachJDK(func(jdk jvmtest.JDK) error {
			ages, samples, err := measure(ctx, jdk, *length)
			if err != nil {
				return err
			}
			worst := harness.Quantile(ages, 1)
			table.Row(jdk.Version, samples, fmt.Sprintf("%.2f s", harness.Median(ages)), fmt.Sprintf("%.2f s", worst))
			r.Bar(harness.Judge(worst <= most), "JDK %s: the newest sample is at most %.2f s old (at most %.0f s)", jdk.Version, worst, most)
			return nil
		})
	})
}

func measure(ctx context.Context, jdk jvmtest.JDK, length time.Duration) (ages []float64, samples int, err error) {
	classes, err := harness.Compile(jdk, harness.Source{Files: []string{"bench/lag/java/*.java"}})
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(classes)
	program, err := harness.Start(jdk, "-cp", classes, "Spin")
	if err != nil {
		return nil, 0, err
	}
	defer program.Close()
	s, err := sampler.Start(ctx, program.PID(), sampler.Options{Source: sampler.FlightRecorder})
	if err != nil {
		return nil, 0, err
	}
	ages, samples, err = follow(ctx, s, length)
	err = errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	if err == nil && len(ages) == 0 {
		err = fmt.Errorf("no sample came in %v", length)
	}
	return ages, samples, err
}

// follow returns the age of the newest sample at each poll, from the first sample on.
func follow(ctx context.Context, s *sampler.Sampler, length time.Duration) (ages []float64, samples int, err error) {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	var newest time.Time
	for end := time.Now().Add(length); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		case <-ticker.C:
		}
		batch, err := s.Poll(ctx)
		if err != nil {
			return nil, 0, err
		}
		if !newest.IsZero() {
			ages = append(ages, time.Since(newest).Seconds()) // it is oldest just before newer ones are seen
		}
		for _, sample := range batch.Samples {
			if sample.At.After(newest) {
				newest = sample.At
			}
		}
		samples += len(batch.Samples)
	}
	return ages, samples, nil
}
