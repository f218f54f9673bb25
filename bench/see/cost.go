package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// rates are samples a second, in the order in which a turn has them. The one that is judged comes twice.
var rates = []int{20, judgedAt, 1000, judgedAt}

// The bar of sampling.
const (
	mostLost = 0.005
	judgedAt = 100 // samples a second
)

// A stretch is a time in which H2 was sampled, or was left alone.
type stretch struct {
	byCPU   float64       // what H2 did of what its twin did, each for the same processor time
	byClock float64       // the same, each in the same time
	own     time.Duration // processor time of this process, for each second
	start   time.Duration // the same to begin sampling
	samples float64       // for each second
}

// A loss is what sampling cost, relative to the stretches before and after.
type loss struct {
	byCPU, byClock float64 // part of the work
	own            time.Duration
	stretch
}

func lossOf(before, during, after stretch) loss {
	return loss{
		byCPU:   1 - during.byCPU/((before.byCPU+after.byCPU)/2),
		byClock: 1 - during.byClock/((before.byClock+after.byClock)/2),
		own:     during.own - (before.own+after.own)/2,
		stretch: during,
	}
}

// A recording is what the start of the flight recorder cost.
type recording struct {
	slower []float64     // how many times, by window
	lost   time.Duration // processor time of the program that brought nothing
}

// A cost is what was found on one JDK.
type cost struct {
	jdk       int
	losses    map[int][]loss // by rate
	recording *recording
}

type costs []*cost

type twins struct {
	*harness.Pair[*harness.Program]
}

// measure samples H2 and leaves it alone, by turns, on one JDK.
func (all *costs) measure(ctx context.Context, jdk jvmtest.JDK, classes string) error {
	pair, err := harness.StartPair(ctx, func(string) (*harness.Program, error) {
		return subjects[0].start(jdk, classes, nil,
			"org/h2/jdbc/JdbcPreparedStatement.executeQuery()Ljava/sql/ResultSet;", "org/h2/jdbc/JdbcPreparedStatement.executeUpdate()I")
	})
	if err != nil {
		return err
	}
	defer pair.Close()
	t := twins{pair}
	c := &cost{jdk: jdk.Major, losses: map[int][]loss{}}
	*all = append(*all, c)
	if _, err := t.Run(ctx, *warmTwins); err != nil {
		return err
	}
	before, err := t.run(ctx)
	if err != nil {
		return err
	}
	for i := range *turns {
		progress("JDK %d, cost, turn %d", jdk.Major, i+1)
		for _, rate := range rates {
			during, err := t.sample(ctx, rate)
			if err != nil {
				return err
			}
			after, err := t.run(ctx)
			if err != nil {
				return err
			}
			c.losses[rate] = append(c.losses[rate], lossOf(before, during, after))
			before = after
		}
	}
	if jdk.Major < 21 { // newer ones do not discard compiled code
		progress("JDK %d, flight recorder", jdk.Major)
		c.recording, err = t.record(ctx, before.byCPU)
	}
	return err
}

var errNoReadings = errors.New("the programs did nothing between two readings: let turns be longer")

// run lets both programs run.
func (t twins) run(ctx context.Context) (s stretch, err error) {
	began, used := time.Now(), ownTime()
	span, err := t.Run(ctx, *window)
	if err != nil {
		return s, err
	}
	s.own = perSecond(ownTime()-used, time.Since(began))
	track, err := t.Seen()
	if err != nil {
		return s, err
	}
	return s, s.compare(track.Within(span))
}

// compare sets the speeds.
func (s *stretch) compare(t harness.Track) (err error) {
	if len(t) < 2 {
		return errNoReadings
	}
	first, last := t[0], t[len(t)-1]
	if last.Twin.Done == first.Twin.Done {
		return errNoReadings
	}
	s.byClock = (last.Touched.Done - first.Touched.Done) / (last.Twin.Done - first.Twin.Done)
	s.byCPU, err = t.Share()
	return err
}

// sample samples H2 meanwhile.
func (t twins) sample(ctx context.Context, rate int) (s stretch, err error) {
	used := ownTime()
	kernel, err := sampler.Start(ctx, t.Touched.PID(), sampler.Options{Source: sampler.Kernel, Period: time.Second / time.Duration(rate)})
	if err != nil {
		return s, err
	}
	start, began := ownTime()-used, time.Now()
	s, err = t.run(ctx)
	s.start = start
	batch, failed := kernel.Poll(ctx)
	s.samples = float64(len(batch.Samples)) / time.Since(began).Seconds()
	return s, errors.Join(err, failed, kernel.Close(ctx))
}

// record starts the flight recorder of H2, which did a share of what its twin did before.
func (t twins) record(ctx context.Context, before float64) (*recording, error) {
	began := time.Now()
	recorder, err := sampler.Start(ctx, t.Touched.PID(), sampler.Options{Source: sampler.FlightRecorder})
	if err != nil {
		return nil, err
	}
	span, err := t.Run(ctx, *recorded)
	if err := errors.Join(err, recorder.Close(ctx)); err != nil {
		return nil, err
	}
	track, err := t.Seen()
	if err != nil {
		return nil, err
	}
	span.From = began
	r := &recording{lost: track.Lost(span, before)}
	for _, share := range track.Shares(span) {
		r.slower = append(r.slower, before/share)
	}
	return r, nil
}

// ownTime returns the processor time of this process.
func ownTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0 // it cannot fail for this process
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func perSecond(used, elapsed time.Duration) time.Duration {
	return time.Duration(float64(used) / elapsed.Seconds())
}

func (all costs) report(r *harness.Report) {
	table := r.Table("JDK", "samples a second", "loss for the same processor time", "loss by the clock", "turns", "samples taken a second",
		"Sonde's processor time a second", "to begin")
	r.Note(costLegend, *window)
	for _, c := range all {
		for _, rate := range slices.Sorted(maps.Keys(c.losses)) {
			losses := c.losses[rate]
			byCPU, within := meanOf(losses, func(l loss) float64 { return l.byCPU })
			byClock, withinClock := meanOf(losses, func(l loss) float64 { return l.byClock })
			milliseconds := func(value func(loss) time.Duration) string {
				return harness.Over(losses, func(l loss) float64 { return float64(value(l)) / 1e6 }).Text("%.1f") + " ms"
			}
			table.Row(c.jdk, rate, fmt.Sprintf("%+.2f %% ± %.2f", 100*byCPU, 100*within), fmt.Sprintf("%+.2f %% ± %.2f", 100*byClock, 100*withinClock), len(losses),
				harness.Over(losses, func(l loss) float64 { return l.samples }).Text("%.0f"),
				milliseconds(func(l loss) time.Duration { return l.own }), milliseconds(func(l loss) time.Duration { return l.start }))
			if rate != judgedAt {
				continue
			}
			verdict := harness.Unclear
			switch {
			case byCPU+within <= mostLost:
				verdict = harness.Met
			case byCPU-within > mostLost:
				verdict = harness.Missed
			}
			r.Bar(verdict, "JDK %d: H2 loses %+.2f %% ± %.2f of its work at %d samples a second (at most %.1f %%)", c.jdk, 100*byCPU, 100*within, rate, 100*mostLost)
		}
	}
	for _, c := range all {
		if c.recording == nil {
			continue
		}
		text := ""
		for _, times := range c.recording.slower {
			text += fmt.Sprintf(" %.2f", times)
		}
		r.Note("Start of the flight recorder on JDK %d: H2 lost %.1f s of processor time in the %v after it. In windows of %v after the start it was slower by these factors:%s.",
			c.jdk, c.recording.lost.Seconds(), *recorded, harness.Window, text)
	}
}

func meanOf(losses []loss, value func(loss) float64) (average, within float64) {
	values := make([]float64, 0, len(losses))
	for _, l := range losses {
		values = append(values, value(l))
	}
	return harness.Mean(values)
}

const costLegend = `H2 and an untouched twin run at the same time. H2 is sampled for %v of processor time and left alone for as long, by turns. Loss: by how much
H2 does less of what its twin does while it is sampled than in the stretches just before and just after; mean with its 95 %% interval. For the same
processor time of the working threads, which includes the interrupts of sampling; and by the clock, which also includes that Sonde runs on the two processors
that both programs keep busy. Sonde's processor time, median and quartiles: for a second of sampling, above that of this benchmark without
sampling; and once, to find its way in the JVM.`
