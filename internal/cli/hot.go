package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/html"
)

type hotCommand struct {
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
	c := &hotCommand{streams: s}
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
		RunE: checkAndRun(c),
	}
	flags := command.Flags()
	flags.BoolVar(&c.once, "once", false, "show one window and end")
	flags.BoolVar(&c.json, "json", false, "write JSON: one object, or with --interval one per interval")
	flags.BoolVar(&c.threads, "threads", false, "show threads instead of methods")
	flags.Var(oneOf(&c.sort, hotBySelf, hotBySelf, hotByTotal, hotByName), "sort", "self, total or name")
	flags.StringVar(&c.filter, "filter", "", "show only methods or threads with this text in their names")
	flags.Var(number(&c.top, 0, 0, 0), "top", "show at most `N` rows; 0 shows all that fit, or 30 at the end")
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

func (c *hotCommand) check(args []string, given func(string) bool) (err error) {
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
	c.once = c.once || c.json && !given("interval") || !c.json && c.outWidth() == 0
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
Methods that are known to wait, such as EPoll.wait, do not count; the processor time that
a thread used outside Java code is distributed over its other native methods.

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
written; with --json and --interval, one per interval, each on its own line.`

const (
	// hotPoll is how often samples are read. The JVM writes them once a second.
	hotPoll = 200 * time.Millisecond
	// hotLate is how long samples of the window are waited for at the end.
	hotLate = 1500 * time.Millisecond
)

type hotRun struct {
	*hotCommand
	sampler *sampler.Sampler
	window  *hotspots.Window
	screen  *screen
	view    hotView
	table   *hotspots.Table // the last
	drawn   time.Time
	notes   []string
	failure error // why it could not go on
}

func (c *hotCommand) run(ctx context.Context) error {
	defer ignoreBrokenPipe()()
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
		hotCommand: c, sampler: sampler, window: hotspots.NewWindow(c.window), screen: newScreen(c.streams),
		view: hotView{tableView: tableView{filter: c.filter, sort: c.sort}, threads: c.threads},
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

func (r *hotRun) howToEnd() string {
	switch {
	case r.once:
		return " for " + format.Duration(r.hotCommand.window)
	case r.json:
		return "; Ctrl-C ends it"
	}
	return ""
}

// watch takes samples and shows them until the end, and returns why that came.
func (r *hotRun) watch(ctx context.Context) ending {
	var s waitLoop
	if !r.once && !r.json {
		pressed, restore := r.readKeys()
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
		case r.once && r.hasEnough(batch, batch.At.Sub(began)):
			return endedDuration
		}
		return notEnded
	})
	return s.wait(ctx)
}

// hasEnough reports whether the window is full and has samples. If nothing ran, up to two
// more windows are taken. Thread dumps of a busy JVM may take long and are far apart then:
// a window is as long as the time between two of them, up to a minute.
func (r *hotRun) hasEnough(batch sampler.Batch, passed time.Duration) bool {
	const most = 3
	length := r.hotCommand.window
	if passed < length+hotLate {
		return false
	}
	length = max(length, min(batch.Period, time.Minute))
	return passed >= most*length+hotLate || r.window.Table(batch.At).Samples > 0
}

// show draws or writes the table if it is due.
func (r *hotRun) show(now time.Time) error {
	if r.once || now.Sub(r.drawn) < r.interval {
		return nil
	}
	r.drawn = now
	if r.json {
		return document.Write(r.out, r.document(r.window.Table(now)))
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

func (r *hotRun) remark(text string) {
	r.notes = append(r.notes, text)
	r.screen.note(text)
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
	r.keepResult(r.document(table), func(out io.Writer) { r.writeText(out, table, 0) })
	switch {
	case !r.json:
		failed = append(failed, r.print(func(out io.Writer) { r.writeText(out, table, r.outWidth()) }))
	case r.once:
		failed = append(failed, document.Write(r.out, r.document(table)))
	}
	return errors.Join(failed...)
}

func (r *hotRun) nothing(table *hotspots.Table) error {
	if table.Waiting > 0 {
		return fmt.Errorf("process %d: all sampled threads were waiting: sample while the program works, or longer with --window", r.pid)
	}
	return fmt.Errorf("process %d: no thread was running Java code: sample while the program works, or longer with --window", r.pid)
}

const (
	hotBySelf  = "self"
	hotByTotal = "total"
	hotByName  = "name"
)

var hotKeys = map[rune]string{'s': hotBySelf, 't': hotByTotal, 'n': hotByName}

var hotOrders = map[string]func(a, b hotspots.Method) int{hotBySelf: hotspots.BySelf, hotByTotal: hotspots.ByTotal, hotByName: hotspots.ByName}

// A hotView says which rows of a table are shown, and how. Keys change it.
type hotView struct {
	tableView
	threads bool
}

func (v *hotView) press(key rune) (quit bool) {
	if !v.typing {
		v.sort = cmp.Or(hotKeys[key], v.sort)
		v.threads = v.threads != (key == 'h')
	}
	return v.tableView.press(key)
}

// methods returns the methods that pass the filter, in order; by self time, only methods
// that have some.
func (v *hotView) methods(t *hotspots.Table) []hotspots.Method {
	rows := slices.DeleteFunc(slices.Clone(t.Methods), func(m hotspots.Method) bool {
		return v.sort == hotBySelf && m.Samples == 0 || !v.passes(methodName(m.Method))
	})
	slices.SortStableFunc(rows, hotOrders[v.sort])
	return rows
}

// running returns the threads that pass the filter and did not only wait.
func (v *hotView) running(t *hotspots.Table) []hotspots.Thread {
	rows := slices.DeleteFunc(slices.Clone(t.Threads), func(th hotspots.Thread) bool {
		return th.Samples == 0 || !v.passes(th.Name)
	})
	if v.sort == hotByName {
		slices.SortStableFunc(rows, func(a, b hotspots.Thread) int { return strings.Compare(a.Name, b.Name) })
	}
	return rows
}

var (
	hotColumns    = format.Columns(">SELF", ">95 %", ">TOTAL", "KIND", ">LINE", "METHOD")
	narrowColumns = format.Columns(">SELF", ">TOTAL", "METHOD")
	threadColumns = format.Columns(">SHARE", ">95 %", ">CPU", ">SAMPLES", "MOST OF IT IN", "THREAD")
)

const (
	// narrow is the width below which only the most important columns are shown.
	narrow = 70
	// finalRows is the length of the last table without --top.
	finalRows = 30
	// longestTop bounds a column that is not the last.
	longestTop = 40
)

func (v *hotView) lines(t *hotspots.Table, head string, top, width, height int) []string {
	return frameLines([]string{head, v.keyLine(), ""}, nil, top, width, height, func(most int) ([]string, int) {
		return v.tableLines(t, most, width)
	})
}

func (v *hotView) keyLine() string {
	return v.tableView.keyLine("[s]elf [t]otal [n]ame  / filter  t[h]reads")
}

// tableLines returns the first rows of a table, and how many more there are.
func (v *hotView) tableLines(t *hotspots.Table, most, width int) (lines []string, hidden int) {
	if v.threads {
		shown, hidden := topOf(v.running(t), most)
		return format.TableLines(threadColumns, threadTexts(shown), width), hidden
	}
	shown, hidden := topOf(v.methods(t), most)
	columns, texts := hotColumns, hotTexts(shown, t.Methods)
	if width > 0 && width < narrow {
		columns = narrowColumns
		for i, row := range texts {
			texts[i] = []string{row[0], row[2], row[5]}
		}
	}
	return format.TableLines(columns, texts, width), hidden
}

func hotTexts(rows, all []hotspots.Method) [][]string {
	overloads := hotOverloads(all)
	texts := make([][]string, 0, len(rows))
	for _, m := range rows {
		self, interval, kind, line := "-", "", "", ""
		if m.Samples > 0 {
			self, interval, kind = partText(m.Self.Part), intervalText(m.Self), mostOf(m.Kinds)
			if first := m.Lines[0]; first.Line > 0 {
				line = strconv.Itoa(first.Line)
			}
		}
		row := rowOf(m.Method)
		texts = append(texts, []string{self, interval, partText(m.Total.Part), kind, line, format.Printable(rowName(&row, overloads))})
	}
	return texts
}

func threadTexts(rows []hotspots.Thread) [][]string {
	texts := make([][]string, 0, len(rows))
	for _, t := range rows {
		cpu, top := "-", ""
		if t.CPU >= 0 {
			cpu = partText(t.CPU)
		}
		if t.Top != nil {
			top = format.Printable(format.KeepEnd(methodName(t.Top), longestTop, 0))
		}
		name := t.Name
		if name == "" {
			name = "#" + strconv.FormatInt(t.JavaID, 10)
		}
		if t.Virtual {
			name += " (virtual)"
		}
		texts = append(texts, []string{partText(t.Share.Part), intervalText(t.Share), cpu, format.Grouped(t.Samples), top, format.Printable(name)})
	}
	return texts
}

func hotOverloads(methods []hotspots.Method) map[string]bool {
	rows := make([]results.Row, 0, len(methods))
	for _, m := range methods {
		rows = append(rows, rowOf(m.Method))
	}
	return overloadsOf(rows)
}

func rowOf(m *jfr.Method) results.Row {
	return results.Row{Class: className(m.Class), Name: m.Name, Descriptor: m.Descriptor}
}

func methodName(m *jfr.Method) string { return className(m.Class) + "." + m.Name }

// className returns the name of a class for people, without the address that the JVM adds
// to names of hidden classes.
func className(class string) string {
	for _, mark := range []string{"/0x", "+0x"} {
		if at := strings.LastIndex(class, mark); at > 0 {
			class = class[:at]
		}
	}
	return strings.ReplaceAll(class, "/", ".")
}

// mostOf returns the most frequent kind of frame, with its part if it is not the only one.
func mostOf(kinds map[string]float64) string {
	if len(kinds) == 0 {
		return ""
	}
	most := slices.MinFunc(slices.Collect(maps.Keys(kinds)), func(a, b string) int {
		return cmp.Or(cmp.Compare(kinds[b], kinds[a]), strings.Compare(a, b))
	})
	if kinds[most] < 0.995 {
		return fmt.Sprintf("%s %.0f %%", most, 100*kinds[most])
	}
	return most
}

func partText(part float64) string {
	if part > 0 && part < 0.0995 {
		return fmt.Sprintf("%.1f %%", 100*part)
	}
	return fmt.Sprintf("%.0f %%", 100*part)
}

func intervalText(s hotspots.Share) string { return fmt.Sprintf("%.0f-%.0f", 100*s.Low, 100*s.High) }

func (r *hotRun) headline(t *hotspots.Table) string {
	what := fmt.Sprintf("process %d", r.pid)
	if name := r.sampler.JVM().Main; name != "" {
		what += " (" + format.Printable(name) + ")"
	}
	seen := t.To.Sub(t.From)
	text := fmt.Sprintf("%s: %s in %s", what, format.Count(t.Samples, "sample", "samples"), format.Duration(seen))
	if t.Waiting > 0 {
		text += fmt.Sprintf(", without %s of waiting threads", format.Grouped(t.Waiting))
	}
	if r.sampler.Bias() != "" {
		text = "BIASED (thread dumps), " + text
	}
	return text
}

func (r *hotRun) writeText(out io.Writer, t *hotspots.Table, width int) {
	most := r.top
	if most == 0 {
		most = finalRows
	}
	lines, hidden := r.view.tableLines(t, most, width)
	lines = append(lines, "", r.headline(t))
	if hidden > 0 {
		lines = append(lines, format.Grouped(hidden)+" not shown (--top)")
	}
	writeLines(out, lines)
}

func (r *hotRun) writeFlame(t *hotspots.Table) error {
	jvm := r.sampler.JVM()
	samples := &html.Samples{
		Target: cct.Target{PID: r.pid, Command: jvm.Main, JDK: jvm.Version},
		Began:  t.From, Took: t.To.Sub(t.From), Count: t.Samples, Bias: r.sampler.Bias(),
	}
	addTree(samples, t.Tree(), float64(t.Unit))
	if err := report.Samples.WriteFile(r.flame, samples); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(r.err, "wrote %s\n", filepath.Clean(r.flame))
	return nil
}

// addTree adds a tree to samples, callers before callees. A weight of one is unit
// nanoseconds.
func addTree(to *html.Samples, top *hotspots.Node, unit float64) {
	numbers := map[*jfr.Method]int{}
	var add func(n *hotspots.Node, parent int)
	add = func(n *hotspots.Node, parent int) {
		node := html.SampleNode{Parent: parent, Method: -1, Self: n.Self * unit, Total: n.Total * unit}
		if m := n.Method; m != nil {
			number, known := numbers[m]
			if !known {
				number = len(to.Methods)
				numbers[m] = number
				to.Methods = append(to.Methods, cct.Method{Class: className(m.Class), Name: m.Name, Descriptor: m.Descriptor})
			}
			node.Method, node.Kinds = number, map[string]float64{}
			for kind, weight := range n.Kinds {
				node.Kinds[kind] = weight / n.Total
			}
		}
		place := len(to.Nodes)
		to.Nodes = append(to.Nodes, node)
		for _, c := range n.Children {
			add(c, place)
		}
	}
	add(top, -1)
}

func (r *hotRun) document(t *hotspots.Table) *document.Hot {
	jvm := r.sampler.JVM()
	object := &document.Hot{
		PID: r.pid, JDK: jvm.Version, Main: jvm.Main, Source: "flight recorder", Bias: r.sampler.Bias(),
		From: t.From, To: t.To, Samples: t.Samples, Waiting: t.Waiting,
		Methods: []document.HotMethod{}, Threads: []document.HotThread{}, Notes: r.notes,
	}
	if object.Bias != "" {
		object.Source = "thread dumps"
	}
	methods, _ := topOf(r.view.methods(t), r.top)
	for _, m := range methods {
		object.Methods = append(object.Methods, document.NewHotMethod(m, className(m.Class)))
	}
	for _, th := range t.Threads {
		row := document.HotThread{
			Name: th.Name, ID: th.JavaID, OSID: th.OSID, Virtual: th.Virtual,
			Share: th.Share, Samples: th.Samples, Waiting: th.Waiting,
		}
		if th.CPU >= 0 {
			row.CPU = &th.CPU
		}
		object.Threads = append(object.Threads, row)
	}
	return object
}
