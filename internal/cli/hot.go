package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/text"
	"github.com/sonde-jvm/sonde/internal/service"
)

type hotCommand struct {
	streams
	sampler.Options
	pid      int
	file     string // a file to read; empty for a process
	once     bool   // one result at the end, nothing before
	isShort  bool   // nobody asked for a duration: if nothing ran, sample longer
	json     bool
	threads  bool
	flame    bool
	sort     string
	filter   string
	top      int
	interval time.Duration
	window   time.Duration
	duration time.Duration
	outputs  []string
	source   sourceFlags
}

func newHot(s streams) *cobra.Command {
	c := &hotCommand{streams: s}
	command := &cobra.Command{
		Use:   "hot PID|FILE",
		Short: "Show where a running JVM spends its time, without changing it",
		Long:  hotLong,
		Example: `  sonde hot 4711
  sonde hot 4711 --duration 30s -o hot.html -o hot.pb.gz
  sonde hot 4711 --threads --filter com.acme
  sonde hot 4711 --flame
  sonde hot 4711 --wall --duration 1m
  sonde hot recording.jfr --top 20
  sonde hot hot.json --threads
  sonde hot 4711 --json | jq '.methods[0]'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("unexpected argument %q: -o FILE names a file to write", args[1])
			}
			return exactly("PID or FILE")(cmd, args)
		},
		RunE: checkAndRun(c),
	}
	flags := command.Flags()
	flags.VarP(span(&c.duration, 0, 0, mostDuration), "duration", "d", "sample for this time, then show all of it; 0 continues until Ctrl-C")
	flags.BoolVar(&c.once, "once", false, "the same as --duration with the length of --window")
	flags.BoolVar(&c.json, "json", false, "write JSON: one object, or with --interval one per interval")
	flags.BoolVar(&c.threads, "threads", false, "show threads instead of methods")
	flags.BoolVar(&c.flame, "flame", false, "show a flame graph instead of methods")
	flags.BoolVar(&c.Waiting, "wall", false, "count waiting threads as well, by what they wait for")
	flags.Var(oneOf(&c.sort, text.BySelf, text.BySelf, text.ByTotal, text.ByName), "sort", "self, total or name")
	flags.StringVar(&c.filter, "filter", "", "show only methods or threads with this text in their names")
	flags.VarP(number(&c.top, 0, 0, 0), "top", "n", "show at most `N` rows; 0 shows all that fit, or 30 at the end")
	flags.Var(span(&c.interval, time.Second, leastInterval, 0), "interval", intervalUsage)
	flags.Var(span(&c.window, 10*time.Second, leastWindow, mostWindow), "window", "length of time that a live table covers")
	flags.StringArrayVarP(&c.outputs, "output", "o", nil, "file to write at the end: .html, .pb.gz, .collapsed, .otlp.json, .json or .txt; may be repeated")
	flags.BoolVar(&c.CPUTime, "cpu-time", false, "make the flight recorder sample by processor time; an experimental feature of JDK 25 and later")
	c.source.register(command)
	hide(command, "once")
	return command
}

const (
	leastWindow  = time.Second
	mostWindow   = 10 * time.Minute
	mostDuration = 24 * time.Hour
)

func (c *hotCommand) check(args []string, given func(string) bool) (err error) {
	if err := c.checkTarget(args[0], given); err != nil {
		return err
	}
	if c.Source, err = c.source.choose(); err != nil {
		return err
	}
	if c.CPUTime && c.Source == sampler.Auto {
		c.Source = sampler.FlightRecorder
	}
	switch {
	case c.CPUTime && c.Source != sampler.FlightRecorder:
		return usage("--cpu-time needs the flight recorder: use it without --sampler")
	case c.threads && c.flame:
		return usage("--threads and --flame cannot be used together")
	}
	// Without a terminal or an interval, one table is enough.
	c.once = c.once || c.json && !given("interval") || !c.json && !c.isLive()
	if c.once && c.duration == 0 {
		c.duration, c.isShort = c.window, true
	}
	return checkOutputs(c.outputs, report.HotSpots.Check)
}

// checkTarget reads what to look at: a process or a file.
func (c *hotCommand) checkTarget(target string, given func(string) bool) (err error) {
	c.pid, err = processNumber(target)
	if err == nil {
		return nil
	}
	suffixes := []string{".jfr", ".json", ".html"}
	if _, missing := os.Stat(target); missing != nil && !slices.Contains(suffixes, strings.ToLower(filepath.Ext(target))) {
		return err
	}
	c.file = target
	for _, flag := range []string{"duration", "once", "interval", "window", "cpu-time", "sampler", "recorder", "thread-dumps"} {
		if given(flag) {
			return usage("--%s needs a running program: name its PID; sonde ps lists JVMs", flag)
		}
	}
	return nil
}

const hotLong = `Show where a running JVM spends its time, as top does for processes. FILE is a flight
recording, or a .json or .html file that sonde hot -o has written. No agent is loaded and no
hook is installed.

SELF    part of all samples with the method on top of the stack
95 %    95 % confidence interval of SELF
TOTAL   part of all samples with the method anywhere on the stack
KIND    how most of its own samples ran: interpreted, compiled (by C1 or C2, if the
        sampler distinguishes them), inlined into the caller, or native. For other code:
        a library, VM (the JVM itself), stub (code that the JVM has generated for
        itself), kernel. Of inlined methods, the JVM records only some places, so a
        neighbour may be named: a JVM that is started with -XX:+UnlockDiagnosticVMOptions
        -XX:+DebugNonSafepoints records all places
LINE    line of most of its own samples
CPU     with --threads: processor time of the thread, from the kernel

While another command of Sonde has hooks in the JVM, the time in a hook counts for the
method with the hook.

Time outside Java code has rows of its own if the sampler sees it: threads of the JVM as
"GC", "JIT compiler" and "VM", other code by library and function. Below the table, a
line says which part of the processor time was Java, native, VM, kernel and unknown:
stacks that could not be walked.

--sampler chooses what takes the samples
  kernel    the kernel, 100 samples per second of processor time of each thread. Sonde
            walks the stacks from outside: nothing in the JVM changes, and attaching need
            not be allowed. It needs root, or a JVM of the same user and the usual settings
            kernel.perf_event_paranoid <= 2 and kernel.yama.ptrace_scope = 0
  recorder  the flight recorder of the JVM, 50 samples per second of each running Java
            thread. Sonde reads them while they are written. When the command ends, it
            stops its recording and removes the files. If Sonde is killed, the recording
            ends by itself within 10 minutes; the next sonde hot of that JVM, or sonde
            undo, stops it earlier. Recordings of others are not disturbed, but contain
            Sonde's samples while both run. The first start loads about 700 classes, and
            before JDK 21 makes HotSpot discard all compiled code
  dumps     thread dumps, at most ten per second. They are biased, because they show
            threads only at safepoints
  auto      the kernel; where that is not permitted, the recorder; dumps where the recorder
            cannot be used or would make HotSpot discard all compiled code

Samples count running threads. To the recorder and to dumps, a thread in native code may
also be waiting there. Methods that are known to wait, such as EPoll.wait, do not count; the processor time that
a thread used outside Java code is distributed over its other native methods.

--wall also counts waiting threads, by the method of the program in which they wait and
by what they wait for: a monitor, notify (in Object.wait), park (locks, queues, idle
threads of pools), sleep, I/O, JVM (a collection of garbage, or another stop). THREADS is
the average number of threads there. For a monitor or a lock of java.util.concurrent, the
class is shown, and with the kernel's samples also the current method of the thread that
holds it. With the flight recorder, Sonde takes four thread dumps per second for that. A
recording in a file shows the waits that it contains, usually those longer than 20 ms.

--flame shows a flame graph: a line for each call, below its caller, with a bar for its
part of the time. A call that is the only one below its caller is not indented. Methods
that sonde calls assigns to a category have the name and colour of the category, if their
names are enough to know it: [db], [web], [messaging], [sockets], [files], [locks].

-o writes the result to files, in the format of their names: .html for a browser, with
a flame graph, .pb.gz for go tool pprof, .collapsed for other flame graphs, .otlp.json
for OpenTelemetry, .json, .txt.

Keys  s, t, n  sort by self, total, name    h, f  threads, flame graph
      arrows   select a row, Enter profiles or traces its method
      /        filter    p  pause    ?  help    q  quit, as Ctrl-C

Without a terminal, the command works as with --duration 10s. With --json, one object is
written; with --json and --interval, one per interval, each on its own line.`

const (
	// hotPoll is how often samples are read. The JVM writes them once a second.
	hotPoll = 200 * time.Millisecond
	// hotLate is how long samples of the flight recorder are waited for at the end.
	hotLate = 1500 * time.Millisecond
)

type hotRun struct {
	*hotCommand
	sampler *sampler.Sampler
	recent  *hotspots.Window
	all     *hotspots.Collection // nil without a duration
	screen  *screen
	view    hotView
	drawn   time.Time
	notes   []string
	polled  time.Time
	until   time.Time // later samples do not count; zero for no limit
	failure error     // why it could not go on
}

func (c *hotCommand) run(ctx context.Context) error {
	defer ignoreBrokenPipe()()
	if c.file != "" {
		return c.read(ctx)
	}
	if _, err := inspect(c.pid); err != nil {
		return err
	}
	c.Accounts = true
	sampler, err := sampler.Start(ctx, c.pid, c.Options)
	if err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted before there was a result; nothing is left in the JVM")
		}
		return err
	}
	r := &hotRun{hotCommand: c, sampler: sampler, recent: hotspots.NewWindow(c.window), screen: newScreen(c.streams), view: c.newView()}
	if c.duration > 0 {
		r.all = hotspots.NewCollection()
	}
	if bias := sampler.Bias(); bias != "" {
		r.remark("samples are biased: they are taken " + bias)
	}
	_, _ = fmt.Fprintf(c.err, "sampling process %d%s\n", c.pid, r.howToEnd())
	r.ready()
	r.watch(ctx)
	r.screen.clear()
	closing := sampler.Close(ctx)
	return errors.Join(r.finish(), closing)
}

// read shows what a file contains.
func (c *hotCommand) read(ctx context.Context) error {
	result, err := report.ReadHotSpots(ctx, c.file, c.Waiting)
	if err != nil {
		return err
	}
	r := &hotRun{hotCommand: c, screen: newScreen(c.streams), view: c.newView()}
	for _, note := range result.Notes {
		r.screen.note(note)
	}
	return r.write(result)
}

func (r *hotRun) howToEnd() string {
	switch {
	case r.duration > 0:
		return " for " + format.Duration(r.duration)
	case r.json:
		return "; Ctrl-C ends it"
	}
	return ""
}

// watch takes samples and shows them until the end, and returns why that came.
func (r *hotRun) watch(ctx context.Context) ending {
	var s waitLoop
	if !r.once && !r.json {
		s.screen, s.press = r.screen, r.view.press
	}
	began := time.Now()
	if r.duration > 0 {
		r.until = began.Add(r.duration)
	}
	s.addTask(hotPoll, func() ending {
		batch, err := r.sampler.Poll(ctx)
		r.add(batch)
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
		case r.hasEnough(batch, batch.At.Sub(began)):
			return endedDuration
		}
		return notEnded
	})
	return s.wait(ctx)
}

func (r *hotRun) add(batch sampler.Batch) {
	r.polled = batch.At
	if !r.until.IsZero() && batch.At.After(r.until) {
		batch.At, batch.Times = r.until, nil
		batch.Samples = slices.DeleteFunc(batch.Samples, func(s jfr.Sample) bool { return s.At.After(r.until) })
	}
	// What a compiler has inlined into a hook, or next to it, would be shown as time of the hook.
	batch.Samples = hotspots.WithoutHooks(batch.Samples)
	if r.all != nil {
		r.all.Add(batch.At, batch.Samples, batch.Period, batch.Times)
	}
	if !r.once {
		r.recent.Add(batch.At, batch.Samples, batch.Period, batch.Times)
	}
}

// late returns how late samples may be.
func (r *hotRun) late() time.Duration {
	if r.sampler != nil && r.sampler.Source() != sampler.FlightRecorder {
		return 0
	}
	return hotLate
}

// hasEnough reports whether the time to sample is over. If nobody asked for a certain time and
// nothing ran, up to two more windows are taken. Thread dumps of a busy JVM may take long and are
// far apart then: a window is as long as the time between two of them, up to a minute.
func (r *hotRun) hasEnough(batch sampler.Batch, passed time.Duration) bool {
	const most = 3
	length := r.duration
	switch {
	case length == 0 || passed < length+r.late():
		return false
	case !r.isShort:
		return true
	}
	r.until = time.Time{}
	length = max(length, min(batch.Period, time.Minute))
	return passed >= most*length+r.late() || r.all.Table(batch.At).Samples > 0
}

// show draws or writes the table if it is due.
func (r *hotRun) show(now time.Time) error {
	if r.once || now.Sub(r.drawn) < r.interval {
		return nil
	}
	r.drawn = now
	if r.json {
		return document.Write(r.out, r.document(r.result(r.recent.Table(now))))
	}
	result := r.result(r.recent.Table(now))
	r.screen.show(func(width int) service.Frame { return r.view.frame(result, r.top, width) })
	return nil
}

func (r *hotRun) remark(text string) {
	r.notes = append(r.notes, text)
	r.screen.note(text)
}

func (r *hotRun) result(t *hotspots.Table) *hotspots.Result {
	jvm, source := r.sampler.JVM(), r.sampler.Source()
	return &hotspots.Result{
		Table: t, Target: cct.Target{PID: r.pid, Command: jvm.Main, JDK: jvm.Version}, Source: source.String(), Limits: source.Limits(),
		Bias: r.sampler.Bias(), Wall: r.Waiting, Notes: r.notes,
	}
}

func (r *hotRun) document(result *hotspots.Result) *document.Hot {
	methods := r.view.form().Methods(result.Table)
	if r.top > 0 {
		methods = methods[:min(r.top, len(methods))]
	}
	return document.NewHot(result, methods)
}

// finish writes the last result. If the JVM has exited in the meantime, there is one all the same.
func (r *hotRun) finish() error {
	result := r.result(r.recent.Table(r.polled))
	if r.all != nil {
		to := r.polled.Add(-r.late())
		if !r.until.IsZero() && r.until.Before(r.polled) {
			to = r.until
		}
		result = r.result(r.all.Table(to))
	}
	if result.Samples == 0 && !(r.Waiting && len(result.Places()) > 0) {
		return errors.Join(r.failure, r.nothing(result))
	}
	return errors.Join(r.failure, r.write(result))
}

func (r *hotRun) write(result *hotspots.Result) error {
	reportWritten, failed := r.writeOutputs(r.outputs, func(path string) error { return report.HotSpots.WriteFile(path, result) })
	defer reportWritten()
	keepFiles(r.streams, report.HotSpots, result)
	switch {
	case !r.json:
		return errors.Join(failed, text.WriteHot(r.out, result, r.view.form(), cmp.Or(r.top, finalRows), r.outWidth()))
	case r.once:
		return errors.Join(failed, document.Write(r.out, r.document(result).WithTree(result)))
	}
	return failed
}

// finalRows is the length of the last table without --top.
const finalRows = 30

func (r *hotRun) nothing(result *hotspots.Result) error {
	if result.Waiting > 0 {
		return fmt.Errorf("process %d: all sampled threads were waiting: sample while the program works, or longer with --duration", r.pid)
	}
	return fmt.Errorf("process %d: no thread was running Java code: sample while the program works, or longer with --duration", r.pid)
}

var hotKeys = map[rune]string{'s': text.BySelf, 't': text.ByTotal, 'n': text.ByName}

// hotForms are the keys that change between a form and the table of methods.
var hotForms = map[rune]text.HotForm{'h': text.HotThreads, 'f': text.HotFlame}

// A hotView says which rows of a table are shown, and how. Keys change it.
type hotView struct {
	sort, filter string
	ofThreads    bool // the filter is for names of threads
	shows        text.HotForm
}

func (c *hotCommand) newView() hotView {
	v := hotView{filter: c.filter, sort: c.sort, ofThreads: c.threads}
	switch {
	case c.threads:
		v.shows = text.HotThreads
	case c.flame:
		v.shows = text.HotFlame
	}
	return v
}

func (v *hotView) form() text.HotView {
	form := text.HotView{Form: v.shows, Sort: v.sort}
	if v.ofThreads == (v.shows == text.HotThreads) {
		form.Filter = v.filter
	}
	return form
}

func (v *hotView) press(key rune) {
	v.sort = cmp.Or(hotKeys[key], v.sort)
	if form, is := hotForms[key]; is && form != v.shows {
		v.shows = form
	} else if is {
		v.shows = text.HotMethods
	}
}

func (v *hotView) frame(r *hotspots.Result, top, width int) service.Frame {
	most := mostRows
	if v.shows == text.HotFlame {
		most = mostTreeRows
	}
	sort, keys := v.sort, "[s]elf [t]otal [n]ame "
	switch {
	case v.shows == text.HotFlame:
		sort, keys = "", ""
	case v.shows == text.HotThreads || r.Wall:
		keys = "[s]hare [n]ame "
		if sort != text.ByName {
			sort = "share"
		}
	}
	titles, rows, hidden := v.form().Rows(r, cmp.Or(top, most), width)
	return service.Frame{
		PID: r.Target.PID, Lines: text.HotHead(r, width), Titles: titles, Rows: rows, Foot: moreLine(hidden), Sort: sort,
		Keys: keys + "t[h]reads [f]lame",
	}
}
