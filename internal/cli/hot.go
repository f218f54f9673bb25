package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// hotting is a `sonde hot` command line.
type hotting struct {
	streams
	sampler.Options
	pid      int
	once     bool
	json     bool
	threads  bool
	sort     string
	filter   string
	top      int
	interval time.Duration
	window   time.Duration
	flame    string
	source   sourceFlags
}

func newHot(s streams) *cobra.Command {
	c := &hotting{streams: s}
	command := &cobra.Command{
		Use:   "hot PID",
		Short: "Show where a running JVM spends its time, without changing it",
		Long:  hotLong,
		Example: `  sonde hot 4711
  sonde hot 4711 --once --window 30s --top 20
  sonde hot 4711 --threads --filter com.acme
  sonde hot 4711 --once --flame hot.html
  sonde hot 4711 --json | jq '.methods[0]'`,
		Args: exactly("PID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(args, cmd.Flags().Changed("interval")); err != nil {
				return err
			}
			return c.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.BoolVar(&c.once, "once", false, "show one window and end")
	flags.BoolVar(&c.json, "json", false, "write JSON: one object, or with --interval one at each interval")
	flags.BoolVar(&c.threads, "threads", false, "show threads instead of methods")
	flags.StringVar(&c.sort, "sort", hotBySelf, "self, total or name")
	flags.StringVar(&c.filter, "filter", "", "show only what has this text in its name")
	flags.IntVar(&c.top, "top", 0, "show so many; 0 for all that fit, or at the end 30")
	flags.DurationVar(&c.interval, "interval", time.Second, "how often the table is drawn, or with --json an object written")
	flags.DurationVar(&c.window, "window", 10*time.Second, "the time a table is about")
	flags.StringVar(&c.flame, "flame", "", "file to write a flame graph of the last window to: .html")
	flags.BoolVar(&c.CPUTime, "cpu-time", false, "sample by processor time; JDK 25 and later, which call it experimental")
	c.source.register(flags)
	return command
}

const (
	leastWindow = time.Second
	mostWindow  = 10 * time.Minute
)

// check reads the command line; what is wrong with it is said before the JVM is
// asked anything.
func (c *hotting) check(args []string, paced bool) (err error) {
	if c.pid, err = processNumber(args[0]); err != nil {
		return err
	}
	if c.Source, err = c.source.choose(); err != nil {
		return err
	}
	switch {
	case hotOrders[c.sort] == nil:
		return usage("--sort %q: self, total or name", c.sort)
	case c.top < 0:
		return usage("--top must not be negative")
	case c.interval < leastInterval:
		return usage("--interval must be %v at least", leastInterval)
	case c.window < leastWindow || c.window > mostWindow:
		return usage("--window must be from %v to %v", leastWindow, mostWindow)
	case c.CPUTime && c.source.dumps:
		return usage("--cpu-time and --thread-dumps exclude one another")
	case c.flame != "" && !strings.HasSuffix(strings.ToLower(c.flame), ".html"):
		return usage("--flame %q: must end in .html", c.flame)
	}
	if c.flame != "" {
		if err := checkWritable(c.flame); err != nil {
			return err
		}
	}
	// What nobody looks at again is told once.
	c.once = c.once || c.json && !paced || !c.json && c.outWidth() == 0
	return nil
}

const hotLong = `Show where a running JVM spends its time, as top shows processes. The JVM's own
flight recorder takes the samples, 50 a second of each thread that runs, and Sonde
reads them while they are written: no agent is loaded and no hook put in. When
the command ends its recording is stopped, and its files are gone. A Sonde that
is killed leaves a recording that ends by itself within 10 minutes; the next sonde
hot of that JVM, or sonde undo, stops it before.

SELF    the part of all samples that has the method on top
95 %    where the true part lies in 19 of 20 cases
TOTAL   the part in which the method, or anything it called, ran
KIND    how most of its own samples ran: interpreted, compiled, inlined into
        their caller, or native
LINE    the line most of its own samples were at
CPU     with --threads: processor time of the thread, from the kernel

Samples count threads that run. A thread in native code may as well wait there:
methods known to wait, such as EPoll.wait, do not count; others share what
processor time their thread used beyond what its Java code accounts for.

Recordings of others go on undisturbed, but hold Sonde's samples, too, while both
run. Where no recorder can be read (before JDK 17, in images without jdk.jfr, with
-XX:-FlightRecorder) Sonde takes thread dumps instead: ten a second at most, marked
as biased, because they see threads only at safepoints.

On JDK 17 to 20 Sonde takes thread dumps, too, unless the JVM has recorded before:
starting the recorder redefines classes of the JDK, which makes HotSpot discard all
compiled code, so that samples show the interpreter. --recorder starts it all the
same. On every JDK the first start loads some 700 classes.

Keys  s, t, n  sort by self, total, name    h  threads or methods
      /        filter, Enter keeps it, Esc clears it
      p        pause                        q  quit, as Ctrl-C

Without a terminal it behaves as with --once. With --json one object is written;
with --interval as well, one at each interval, each on its line.

Exit code: 0 when there is a result, 1 on an error or when nothing ran, 2 for a
wrong command line.`

const (
	// hotPoll is how often is looked for samples. The JVM writes them once a
	// second; looking costs little.
	hotPoll = 200 * time.Millisecond
	// hotLate is how long is waited at the end for samples of the window.
	hotLate = 1500 * time.Millisecond
)

// A hotRun is a `sonde hot` at work.
type hotRun struct {
	*hotting
	sampler *sampler.Sampler
	window  *hotspots.Window
	screen  *screen
	view    hotView
	table   *hotspots.Table // the last
	drawn   time.Time
	notes   []string
	failure error // why it could not go on
}

func (c *hotting) run(ctx context.Context) error {
	defer outliveReader()()
	if _, err := inspect(c.pid); err != nil {
		return err
	}
	sampler, err := sampler.Start(ctx, c.pid, c.Options)
	if err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted before there was anything to show; nothing is left behind")
		}
		return err
	}
	r := &hotRun{
		hotting: c, sampler: sampler, window: hotspots.NewWindow(c.window), screen: newScreen(c.streams),
		view: hotView{typed: typed{filter: c.filter}, sort: c.sort, threads: c.threads},
	}
	if bias := sampler.Bias(); bias != "" {
		r.remark("biased: samples are taken " + bias)
	}
	_, _ = fmt.Fprintf(c.err, "sampling process %d%s\n", c.pid, r.howToEnd())
	r.watch(ctx)
	r.screen.clear()
	closing := sampler.Close(ctx)
	return errors.Join(r.finish(), closing)
}

func (r *hotRun) howToEnd() string {
	switch {
	case r.once:
		return " for " + format.Duration(r.hotting.window)
	case r.json:
		return "; Ctrl-C ends it"
	}
	return ""
}

// watch takes samples and shows them until the end, and returns why that came.
func (r *hotRun) watch(ctx context.Context) ending {
	var s stay
	if !r.once && !r.json {
		pressed, restore := readKeys()
		defer restore()
		r.view.hasKeys = pressed != nil
		s.keys, s.press = pressed, func(key rune) bool {
			quit := r.view.press(key)
			if !quit {
				r.draw()
			}
			return quit
		}
	}
	began := time.Now()
	s.addTask(hotPoll, func() ending {
		batch, err := r.sampler.Poll(ctx)
		r.window.Add(batch.At, batch.Samples, batch.Period, batch.Times)
		for _, note := range batch.Notes {
			r.remark(note)
		}
		if err == nil {
			err = r.show(batch.At)
		}
		switch {
		case errors.Is(err, sampler.ErrEnded):
			r.screen.say("%s", format.OneLine(err))
			return endedExited
		case err != nil:
			r.failure = err
			return endedLost
		case r.once && r.hasEnough(batch.At, batch.At.Sub(began)):
			return endedDuration
		}
		return goesOn
	})
	return s.wait(ctx)
}

// hasEnough tells whether a window is full that shows something. Where nothing ran
// it takes another, and a third: a dump of a busy JVM may take long.
func (r *hotRun) hasEnough(now time.Time, passed time.Duration) bool {
	const most = 3
	length := r.hotting.window
	if passed < length+hotLate {
		return false
	}
	return passed >= most*length+hotLate || r.window.Table(now).Samples > 0
}

// show draws or writes the table where it is due.
func (r *hotRun) show(now time.Time) error {
	if r.once || now.Sub(r.drawn) < r.interval {
		return nil
	}
	r.drawn = now
	if r.json {
		return r.writeJSON(r.window.Table(now))
	}
	if !r.view.paused || r.table == nil {
		r.table = r.window.Table(now)
	}
	r.draw()
	return nil
}

func (r *hotRun) draw() {
	if r.table == nil {
		return
	}
	width, height := r.screen.size()
	r.screen.draw(r.view.lines(r.table, r.headline(r.table), r.top, width, height))
}

// remark keeps and shows what the user should read.
func (r *hotRun) remark(text string) {
	r.notes = append(r.notes, text)
	r.screen.say("note: %s", format.Printable(text))
}

// finish writes the last table, and the flame graph. If the JVM has exited in the
// meantime, there is a result all the same.
func (r *hotRun) finish() error {
	table := r.table
	if !r.view.paused || table == nil {
		table = r.window.Table(time.Now())
	}
	if table.Samples == 0 {
		return errors.Join(r.failure, r.nothing(table))
	}
	failed := []error{r.failure}
	if r.flame != "" {
		failed = append(failed, r.writeFlame(table))
	}
	switch {
	case !r.json:
		failed = append(failed, r.writeText(table))
	case r.once:
		failed = append(failed, r.writeJSON(table))
	}
	return errors.Join(failed...)
}

// nothing says why there is nothing to show.
func (r *hotRun) nothing(table *hotspots.Table) error {
	if table.Waiting > 0 {
		return fmt.Errorf("process %d: all threads that were seen wait: look while it works, or longer with --window", r.pid)
	}
	return fmt.Errorf("process %d: no thread was seen running Java: look while it works, or longer with --window", r.pid)
}
