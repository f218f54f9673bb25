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
	"strconv"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
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

// A round is one class retransformed once, seen from both sides.
type round struct {
	JDK     string
	Program int    // of this JDK
	Round   int    // of this program
	Class   string // "" where none was
	Call    time.Duration
	Batch   cost.Cost // from just before to just after the call
	Loss    loss
	Dip     dip
}

// measure runs one program through its rounds and tells each as it ends.
func measure(ctx context.Context, jdk jvmtest.JDK, o options, classes []string, tell func(round)) ([]round, error) {
	p, err := startProgram(jdk, o)
	if err != nil {
		return nil, err
	}
	defer p.close()
	conn, err := attach.Open(ctx, p.process.Process.Pid)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	meter := cost.Watch(conn.JVM())
	defer meter.Close()
	if err := pause(ctx, o.warm); err != nil {
		return nil, err
	}
	var rounds []round
	for i, class := range classes {
		r := round{JDK: jdk.Version, Round: i, Class: class}
		if err := r.measure(ctx, p, conn, meter, o); err != nil {
			return nil, fmt.Errorf("round %d: %w", i, err)
		}
		rounds = append(rounds, r)
		tell(r)
	}
	return rounds, nil
}

func (r *round) measure(ctx context.Context, p *program, conn *attach.Conn, meter *cost.Meter, o options) error {
	if err := quiesce(ctx, meter); err != nil {
		return err
	}
	if _, err := p.ask("mark"); err != nil {
		return err
	}
	const before, every = 2 * time.Second, 100 * time.Millisecond
	start, err := meter.Read()
	if err != nil {
		return err
	}
	baseline, err := observe(ctx, watch(meter, start), before, every, pause)
	if err != nil {
		return err
	}
	if start, err = meter.Read(); err != nil {
		return err
	}
	words, err := p.ask("now")
	if err != nil {
		return err
	}
	from, err := strconv.ParseInt(words[len(words)-1], 10, 64)
	if err != nil {
		return err
	}
	if r.Class != nothing {
		if err := conn.LoadAgent(ctx, p.agent(), r.Class); err != nil {
			return err
		}
		if r.Call, err = callTime(p); err != nil {
			return err
		}
	}
	end, err := meter.Read()
	if err != nil {
		return err
	}
	r.Batch = start.Until(end)
	if r.Loss, err = settle(ctx, watch(meter, start), baseline, patient, pause); err != nil {
		return err
	}
	const after = 2 * time.Second
	meanwhile := max(o.follow, r.Loss.Unsettled)
	if err := pause(ctx, meanwhile+after-time.Since(start.At)); err != nil {
		return err
	}
	if words, err = p.ask("notes"); err != nil {
		return err
	}
	notes, err := parseNotes(words)
	if err != nil {
		return err
	}
	r.Dip, err = dipOf(notes, time.Duration(from), time.Duration(from)+meanwhile)
	return err
}

// patience bounds the wait for compilers on a machine that is busy elsewhere.
const patience = time.Minute

var patient = rule{every: 100 * time.Millisecond, quiet: time.Second, bound: patience}

// quiesce waits until the program's code is compiled: a round that begins while
// the compilers still work has nothing to compare with.
func quiesce(ctx context.Context, meter *cost.Meter) error {
	now, err := meter.Read()
	if err != nil {
		return err
	}
	loss, err := settle(ctx, watch(meter, now), idle, patient, pause)
	if err == nil && !loss.Settled {
		err = fmt.Errorf("its compilers did not come to rest within %v: the machine is too busy, or --copies too many", patience)
	}
	return err
}

// callTime is how long the agent's call took, by its own account.
func callTime(p *program) (time.Duration, error) {
	words, err := p.await("retransformed")
	if err != nil {
		return 0, err
	}
	var times [2]int64
	for i := range times {
		if times[i], err = strconv.ParseInt(words[len(words)-2+i], 10, 64); err != nil {
			return 0, err
		}
	}
	return time.Duration(times[1] - times[0]), nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(max(d, 0)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func printHead() {
	fmt.Printf("%-8s %s %s %-8s | %6s %7s %6s %7s %6s | %13s %6s | %6s %6s %6s %6s | %9s %9s\n",
		"JDK", "p", "r", "class", "call", "pause", "stops", "compile", "VM", "recompile", "rest at",
		"lost", "<10%", "back", "after", "lost/rec.", "lost/rest")
}

func (r round) print() {
	class := r.Class
	if class == nothing {
		class = "-"
	}
	rest := fmt.Sprintf("%.2f", r.Loss.Unsettled.Seconds())
	if !r.Loss.Settled {
		rest = "> " + rest
	}
	fmt.Printf("%-8s %d %d %-8s | %6s %7s %6d %7s %6s | %6s ± %4s %6s | %6.2f %6.2f %6.2f %5.0f%% | %9s %9s\n",
		r.JDK, r.Program, r.Round, class,
		millis(r.Call), millis(r.Batch.Pause), r.Batch.Safepoints, millis(r.Batch.CompileCPU), millis(r.Batch.VMThread),
		millis(r.Loss.Recompile), millis(r.Loss.Error), rest,
		r.Dip.Lost.Seconds(), r.Dip.Slow.Seconds(), r.Dip.Back.Seconds(), 100*r.Dip.After/r.Dip.Rate,
		ratio(r.Dip.Lost, r.Loss.Recompile), ratio(r.Dip.Lost, r.Loss.Unsettled))
}

func printLegend() {
	fmt.Print(`
p program, r round.
During the call, in ms: the agent's call, all pauses and how many, processor time of compilers and VM thread.
After it, from outside: processor time of compilation above that before, in ms, ± one standard error;
when the compilers were at rest again, in s.
By the program's own account, in s: work lost (processor time of its threads that brought nothing, at its
former speed), processor time below a tenth of that speed, when it was back at 95 % of it; its speed when
all was over. In rounds without a class what is lost is noise.
Ratios: work lost to processor time of recompilation, and to the time until the compilers were at rest.
`)
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }

// ratio leaves out what is divided by next to nothing.
func ratio(a, b time.Duration) string {
	const little = 20 * time.Millisecond
	if b < little {
		return "-"
	}
	return fmt.Sprintf("%.2f", a.Seconds()/b.Seconds())
}
