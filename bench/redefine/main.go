// Redefine measures what it costs a busy program when one of its classes is
// redefined, in two ways at once: by the program's own record of its
// speed, which is the truth, and by package cost, which measures from outside.
//
//	go run ./bench/redefine [-jdk N] [-workers N] [-copies N] [-warm D] [-follow D]
//
// On each JDK two programs run. One has its hot, central class retransformed
// three times; the other one a cold class first. Both begin with a round in
// which nothing is done, which shows the noise.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"strconv"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

var (
	workers = flag.Int("workers", 1, "number of worker threads")
	copies  = flag.Int("copies", 120, "classes per worker that depend on the central class")
	warm    = flag.Duration("warm", 12*time.Second, "how long the program runs before the first round")
	follow  = flag.Duration("follow", 6*time.Second, "minimum time after a retransformation in which lost work is counted")
)

func main() {
	harness.Main("redefine", func(ctx context.Context, r *harness.Report) error {
		table := r.Table("JDK", "program", "round", "class", "call, ms", "pause, ms", "stops", "compilers, ms", "VM thread, ms",
			"recompilation, ms", "at rest after, s", "lost, s", "below 10 %, s", "back after, s", "speed after", "lost / recompilation", "lost / rest")
		r.Note("%s", legend)
		return harness.EachJDK(func(jdk jvmtest.JDK) error {
			for number, classes := range scenarios {
				if err := measure(ctx, jdk, number+1, classes, table); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// nothing is the class of a round in which none is retransformed.
const nothing = ""

// scenarios are the classes retransformed in the rounds of one program.
var scenarios = [][]string{
	{nothing, "Central", "Central", "Central"},
	{nothing, "Cold", "Central", "Central"},
}

// A round is one class retransformed once, seen from both sides.
type round struct {
	class string // "" where none was
	call  time.Duration
	batch cost.Cost // from just before to just after the call
	loss  loss
	dip   dip
}

// measure runs one program through its rounds.
func measure(ctx context.Context, jdk jvmtest.JDK, number int, classes []string, table *harness.Table) error {
	p, err := startProgram(jdk)
	if err != nil {
		return err
	}
	defer p.close()
	conn, err := attach.Open(ctx, p.PID())
	if err != nil {
		return err
	}
	defer conn.Close()
	meter := cost.Watch(conn.JVM())
	defer meter.Close()
	if err := pause(ctx, *warm); err != nil {
		return err
	}
	for i, class := range classes {
		r := round{class: class}
		if err := r.measure(ctx, p, conn, meter); err != nil {
			return fmt.Errorf("round %d: %w", i, err)
		}
		r.add(table, jdk.Version, number, i)
	}
	return nil
}

func (r *round) measure(ctx context.Context, p *program, conn *attach.Conn, meter *cost.Meter) error {
	if err := quiesce(ctx, meter); err != nil {
		return err
	}
	if _, err := p.AskWords("mark"); err != nil {
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
	words, err := p.AskWords("now")
	if err != nil {
		return err
	}
	from, err := strconv.ParseInt(words[len(words)-1], 10, 64)
	if err != nil {
		return err
	}
	if r.class != nothing {
		if err := conn.LoadAgent(ctx, p.agent, r.class); err != nil {
			return err
		}
		if r.call, err = callTime(p); err != nil {
			return err
		}
	}
	end, err := meter.Read()
	if err != nil {
		return err
	}
	r.batch = start.Until(end)
	if r.loss, err = settle(ctx, watch(meter, start), baseline, patient, pause); err != nil {
		return err
	}
	const after = 2 * time.Second
	meanwhile := max(*follow, r.loss.Unsettled)
	if err := pause(ctx, meanwhile+after-time.Since(start.At)); err != nil {
		return err
	}
	if words, err = p.AskWords("notes"); err != nil {
		return err
	}
	notes, err := parseNotes(words)
	if err != nil {
		return err
	}
	r.dip, err = dipOf(notes, time.Duration(from), time.Duration(from)+meanwhile)
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
		err = fmt.Errorf("its compilers did not come to rest within %v: the machine is too busy, or -copies too many", patience)
	}
	return err
}

// callTime is how long the agent's call took, by its own account.
func callTime(p *program) (time.Duration, error) {
	words, err := p.AwaitWords("retransformed")
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

// add adds the round to the table.
func (r *round) add(table *harness.Table, jdk string, program, number int) {
	rest := fmt.Sprintf("%.2f", r.loss.Unsettled.Seconds())
	if !r.loss.Settled {
		rest = "> " + rest
	}
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()) }
	table.Row(jdk, program, number, cmp.Or(r.class, "-"), millis(r.call), millis(r.batch.Pause), r.batch.Safepoints, millis(r.batch.CompileCPU),
		millis(r.batch.VMThread), millis(r.loss.Recompile)+" ± "+millis(r.loss.Error), rest, seconds(r.dip.Lost), seconds(r.dip.Slow), seconds(r.dip.Back),
		fmt.Sprintf("%.0f %%", 100*r.dip.After/r.dip.Rate), ratio(r.dip.Lost, r.loss.Recompile), ratio(r.dip.Lost, r.loss.Unsettled))
}

const legend = `During the call: the agent's call, all pauses and their number, processor time of compilers and VM thread.
After it, from outside: processor time of compilation above that before, ± one standard error; when the compilers were
at rest again. By the program's own account: work lost (processor time of its threads that brought nothing, at its former
speed), processor time below a tenth of that speed, when it was back at 95 % of it, and its speed when all was over. In
rounds without a class the work lost is noise. Ratios: work lost to processor time of recompilation, and to the time until
the compilers were at rest.`

func millis(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }

// ratio leaves out what is divided by next to nothing.
func ratio(a, b time.Duration) string {
	const little = 20 * time.Millisecond
	if b < little {
		return "-"
	}
	return fmt.Sprintf("%.2f", a.Seconds()/b.Seconds())
}
