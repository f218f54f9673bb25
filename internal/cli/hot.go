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
	flags.BoolVar(&c.json, "json", false, "write JSON: one object, or with --interval one per interval")
	flags.BoolVar(&c.threads, "threads", false, "show threads instead of methods")
	flags.Var(oneOf(&c.sort, hotBySelf, hotBySelf, hotByTotal, hotByName), "sort", "self, total or name")
	flags.StringVar(&c.filter, "filter", "", "show only methods or threads with this text in their names")
	flags.Var(number(&c.top, 0, 0, 0), "top", "show so many rows; 0 for all that fit, or 30 at the end")
	flags.Var(span(&c.interval, time.Second, leastInterval, 0), "interval", intervalUsage)
	flags.Var(span(&c.window, 10*time.Second, leastWindow, mostWindow), "window", "length of time that a table covers")
	flags.StringVar(&c.flame, "flame", "", "write a flame graph of the last window to this .html file")
	flags.BoolVar(&c.CPUTime, "cpu-time", false, "sample by processor time; an experimental feature of JDK 25 and later")
	c.source.register(flags)
	return command
}

const (
	leastWindow = time.Second
	mostWindow  = 10 * time.Minute
)

// check reads the command line, before the JVM is asked anything.
func (c *hotting) check(args []string, paced bool) (err error) {
	if c.pid, err = processNumber(args[0]); err != nil {
		return err
	}
	if c.Source, err = c.source.choose(); err != nil {
		return err
	}
	switch {
	case c.CPUTime && c.source.dumps:
		return usage("--cpu-time and --thread-dumps cannot be used together")
	case c.flame != "" && !strings.HasSuffix(strings.ToLower(c.flame), ".html"):
		return usage("--flame %q: must end in .html", c.flame)
	}
	if c.flame != "" {
		if err := checkWritable(c.flame); err != nil {
			return err
		}
	}
	// Without a terminal or an interval, one table is enough.
	c.once = c.once || c.json && !paced || !c.json && c.outWidth() == 0
	return nil
}

const hotLong = `Show where a running JVM spends its time, as top does for processes. The flight recorder
of the JVM takes the samples, 50 per second of each running thread, and Sonde reads them
while they are written: no agent is loaded and no hook is put in. When the command ends,
it stops its recording and removes the files. If Sonde is killed, the recording ends by
itself within 10 minutes; the next sonde hot of that JVM, or sonde undo, stops it
earlier.

SELF    part of all samples with the method on top of the stack
95 %    95 % confidence interval of SELF
TOTAL   part of all samples with the method anywhere on the stack
KIND    how most of its own samples ran: interpreted, compiled, inlined into the
        caller, or native
LINE    line of most of its own samples
CPU     with --threads: processor time of the thread, from the kernel

Samples count running threads. A thread in native code may also be waiting there.
Methods that are known to wait, such as EPoll.wait, do not count; others share the
processor time that their thread used beyond its Java code.

Recordings of others are not disturbed, but contain Sonde's samples while both run. If
the recorder cannot be used (before JDK 17, in images without jdk.jfr, with
-XX:-FlightRecorder), Sonde takes thread dumps instead, at most ten per second. They are
marked as biased, because they show threads only at safepoints.

On JDK 17 to 20, Sonde also takes thread dumps unless the JVM has recorded before:
starting the recorder redefines classes of the JDK, so that HotSpot discards all
compiled code and samples show the interpreter. --recorder starts it anyway. On every
JDK, the first start loads about 700 classes.

Keys  s, t, n  sort by self, total, name    h  threads or methods
      /        filter; Enter keeps it, Esc clears it
      p        pause                        q  quit, as Ctrl-C

Without a terminal, the command works as with --once. With --json, one object is
written; with --json and --interval, one per interval, each on its own line.

Exit code: 0 if there is a result, 1 on an error or if nothing ran, 2 for a wrong
command line.`

const (
	// hotPoll is how often samples are read. The JVM writes them once a second.
	hotPoll = 200 * time.Millisecond
	// hotLate is how long samples of the window are waited for at the end.
	hotLate = 1500 * time.Millisecond
)

// A hotRun is a running `sonde hot`.
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
			return errors.New("interrupted before there was a result; nothing is left in the JVM")
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

// hasEnough reports whether the window is full and has samples. If nothing ran, up to two
// more windows are taken, because a thread dump of a busy JVM may take long.
func (r *hotRun) hasEnough(now time.Time, passed time.Duration) bool {
	const most = 3
	length := r.hotting.window
	if passed < length+hotLate {
		return false
	}
	return passed >= most*length+hotLate || r.window.Table(now).Samples > 0
}

// show draws or writes the table if it is due.
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

// nothing says why there is no result.
func (r *hotRun) nothing(table *hotspots.Table) error {
	if table.Waiting > 0 {
		return fmt.Errorf("process %d: all sampled threads were waiting: sample while the program works, or longer with --window", r.pid)
	}
	return fmt.Errorf("process %d: no thread was running Java code: sample while the program works, or longer with --window", r.pid)
}
