// Floor measures how slow H2 becomes if every method has a hook, and how slow it would at least become.
//
//	go run ./bench/floor [-jdk N] [-turns 3]
//
// The floors are templates that do the least that such a hook can do, woven into H2's jar by sonde
// instrument: one adds to an array of counters; one follows the calling context in a tree of Java objects. Neither reads a
// clock, knows threads, or could be read by another process. Beside them are sonde count of all methods, and
// sonde profile with one timed call in 1,000. Each is a new JVM; they take turns with an untouched one.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

var (
	turns  = flag.Int("turns", 3, "how often each is measured")
	warm   = flag.Duration("warm", 20*time.Second, "how long H2 runs before it is measured")
	length = flag.Duration("length", 8*time.Second, "how long it is measured")
)

const (
	library = "/usr/share/java/h2.jar"
	root    = "org.h2.jdbc.JdbcPreparedStatement.executeQuery"
)

// A way is how every method gets a hook.
type way struct {
	name     string
	template string   // woven before H2 starts; "" if none
	command  []string // of sonde while it runs; nil if none
}

var ways = []way{
	{name: "untouched"},
	{name: "floor: a counter in an array", template: "FloorCount.java"},
	{name: "floor: a tree of Java objects", template: "FloorTree.java"},
	{name: "sonde count", command: []string{"count", "org.h2.**"}},
	{name: "sonde profile --sample 1/1000", command: []string{"profile", "--root", root, "--into", "org.h2.**", "--sample", "1/1000"}},
}

func main() {
	harness.Main("floor", func(ctx context.Context, r *harness.Report) error {
		return harness.WithSonde(ctx, func(folder, sonde string) error {
			b := &bench{folder: folder, sonde: sonde, nanos: map[string][]float64{}}
			table := r.Table("JDK", "every method has", "microseconds per query", "slowdown")
			return harness.EachJDK(func(jdk jvmtest.JDK) error {
				if err := b.measure(ctx, jdk); err != nil {
					return err
				}
				base := harness.Median(b.nanos[ways[0].name])
				for _, w := range ways {
					spread := harness.SpreadOf(b.nanos[w.name])
					table.Row(jdk.Major, w.name, spread.Times(1e-3).Text("%.0f"), "× "+spread.Times(1/base).Text("%.1f"))
				}
				clear(b.nanos)
				return nil
			})
		})
	})
}

type bench struct {
	folder, sonde string
	nanos         map[string][]float64 // of a query
}

func (b *bench) measure(ctx context.Context, jdk jvmtest.JDK) error {
	classes, err := harness.Compile(jdk, harness.Source{
		Files:     []string{"bench/undisturbed/java/Clocked.java", "bench/undisturbed/java/H2Root.java", "bench/floor/java/Floor.java"},
		Classpath: library,
	})
	if err != nil {
		return err
	}
	defer os.RemoveAll(classes)
	jars := map[string]string{}
	for _, w := range ways {
		jars[w.name] = library
		if w.template == "" {
			continue
		}
		jar := filepath.Join(b.folder, fmt.Sprintf("%d-%s.jar", jdk.Major, w.template))
		command := exec.CommandContext(ctx, b.sonde, "instrument", library, "-o", jar, "--template", "bench/floor/java/"+w.template, "--match", "org.h2.**",
			"--template-classpath", classes, "--javac", jdk.Tool("javac"))
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("sonde instrument: %w\n%s", err, out)
		}
		jars[w.name] = jar
	}
	for range *turns {
		for _, w := range ways {
			nanos, err := b.run(ctx, jdk, classes, jars[w.name], w)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			b.nanos[w.name] = append(b.nanos[w.name], nanos)
			fmt.Fprintf(os.Stderr, "%s JDK %d, %s: %.0f µs\n", time.Now().Format("15:04:05"), jdk.Major, w.name, nanos/1e3)
		}
	}
	return nil
}

// run returns the time of a query.
func (b *bench) run(ctx context.Context, jdk jvmtest.JDK, classes, jar string, w way) (float64, error) {
	program, err := harness.Start(jdk, "-Xms512m", "-Xmx512m", "-XX:+UseSerialGC", "-cp", classes+":"+jar, "Clocked", "H2Root")
	if err != nil {
		return 0, err
	}
	defer program.Close()
	if err := process.Pause(ctx, *warm); err != nil {
		return 0, err
	}
	if w.command != nil {
		return b.under(ctx, program, w.command)
	}
	return between(program, func() error { return process.Pause(ctx, *length) })
}

// between returns the time of a query while something happens.
func between(program *harness.Program, during func() error) (float64, error) {
	before, err := program.Ask("now")
	if err != nil {
		return 0, err
	}
	if err := during(); err != nil {
		return 0, err
	}
	after, err := program.Ask("now")
	if err != nil {
		return 0, err
	}
	if after[0] <= before[0] {
		return 0, errors.New("there was no query")
	}
	return (after[1] - before[1]) / (after[0] - before[0]), nil
}

// under returns the time of a query while results of a command are measured. The program is asked at any time; the command says
// afterwards from when to when it measured.
func (b *bench) under(ctx context.Context, program *harness.Program, command []string) (float64, error) {
	type reading struct {
		at           time.Time
		calls, nanos float64
	}
	arguments := slices.Concat(command[:1], []string{strconv.Itoa(program.PID())}, command[1:], []string{"--duration", length.String(), "--json", "--no-service", "--no-cache"})
	run := exec.CommandContext(ctx, b.sonde, arguments...)
	var out, messages bytes.Buffer
	run.Stdout, run.Stderr = &out, &messages
	if err := run.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	var readings []reading
	for running := true; running; {
		select {
		case err := <-ended:
			if err != nil {
				return 0, fmt.Errorf("%w: %s", err, messages.Bytes())
			}
			running = false
		case <-time.After(100 * time.Millisecond):
			now, err := program.Ask("now")
			if err != nil {
				return 0, err
			}
			readings = append(readings, reading{time.Now(), now[0], now[1]})
		}
	}
	var measured struct {
		Began   time.Time     `json:"began"`
		Seconds float64       `json:"seconds"`   // of sonde count
		Took    time.Duration `json:"tookNanos"` // of sonde profile
	}
	if err := json.Unmarshal(out.Bytes(), &measured); err != nil {
		return 0, err
	}
	until := measured.Began.Add(cmp.Or(measured.Took, time.Duration(measured.Seconds*float64(time.Second))))
	readings = slices.DeleteFunc(readings, func(r reading) bool { return r.at.Before(measured.Began) || r.at.After(until) })
	if len(readings) < 2 || readings[len(readings)-1].calls <= readings[0].calls {
		return 0, errors.New("there was no query while results were measured")
	}
	first, last := readings[0], readings[len(readings)-1]
	return (last.nanos - first.nanos) / (last.calls - first.calls), nil
}
