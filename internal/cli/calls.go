package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/categories"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// callsCommand is a monitor of the methods that Sonde's own rules name.
type callsCommand struct{ monitorCommand }

func newCalls(s streams) *cobra.Command {
	c := &callsCommand{monitorCommand: monitorCommand{targetFlags: targetFlags{streams: s, usualBudget: overhead.Usual}, name: "calls", sample: 1}}
	command := &cobra.Command{
		Use:   "calls PID",
		Short: "Show the calls that a JVM answers and makes: web requests, statements of databases, messages",
		Long:  callsLong,
		Example: `  sonde calls 4711
  sonde calls 4711 --category db --sort mean
  sonde calls 4711 --category tasks,routes
  sonde calls 4711 --by caller --duration 1m
  sonde calls 4711 --json | jq '.rows[] | select(.category == "db")'
  sonde calls 4711 --listen 9187`,
		Args: exactly("PID"),
		RunE: checkAndRun(c),
	}
	flags := command.Flags()
	usual, others := categories.Names()
	flags.StringSliceVar(&c.categories, "category", nil,
		fmt.Sprintf("show only these `CATEGORIES`: %s; and %s, which have to be named", strings.Join(usual, ", "), strings.Join(others, ", ")))
	flags.Var(oneOf(&c.by, byKey, byKey, byCaller), "by", "one row per key, or per key and incoming call that made it")
	c.registerMonitor(flags)
	c.sort = "time"
	flags.Lookup("sort").DefValue = c.sort
	return command
}

const callsLong = `Show the calls that a JVM answers and makes, whatever libraries it uses: Sonde knows the
types that such calls go through, and puts hooks into all classes that implement them, also
into those that load later. When the command ends, it removes all hooks and prints a
summary of the whole time.

web in         requests: servlets (javax and jakarta), the JDK's HttpServer, Netty; by method
               and path. Numbers, UUIDs and other parts that identify something are shown as {}.
               ERRORS are answers with a status from 500 on (not of Netty), and exceptions.
               Of Netty, the time until its thread has passed on the request
web out        requests of HttpURLConnection, java.net.http.HttpClient and Apache's HttpClient
               4 and 5, by host. Only the first getInputStream of a connection is counted,
               because later ones return at once. For sendAsync, the time until the request is under way
db out         statements executed by JDBC, by their text. Literals are shown as ?, and a
               list of them as one. A statement that was prepared before Sonde came has no text
messaging in   messages that listeners of JMS (javax and jakarta) handle, by queue or topic
messaging out  messages that JMS and Kafka send, by queue or topic; for Kafka, the time until a
               record is in the producer's queue. Messages that a consumer of JMS receives, by
               queue or topic (ActiveMQ only), and polls of Kafka that return records, by client
               id: their time includes the wait

These are shown only if --category names them:
tasks in       tasks of executors and of other threads: Runnable.run and Callable.call of classes
               and lambda expressions outside the JDK, and methods with Spring's @Scheduled and
               @Async, by method
routes in      methods of Spring's controllers (@RequestMapping, @GetMapping and so on)
sockets out    connect, read and write of sockets and socket channels, by the address of the
               other end (JDK 17 and later)
files out      read and write of streams, channels and RandomAccessFile, by path

Only the outermost call of a category and direction in each thread counts: the statement of
a pool around that of a driver is one call. Headers, bodies, query strings, contents of
messages, and values that are bound to statements are never read.

CALLS/S     calls that began in the interval, per second; in the summary, of the whole time
MEAN, P99   time of the calls that ended in the interval, as in sonde monitor
ERRORS      calls that ended with an exception, or as above
QUEUE       only with tasks: mean time from the submission of a task until a thread begins it; of a
            scheduled one, from when it is due. Not part of the other times
SHARE       part of the time of all incoming calls (of tasks and routes only if there are no
            others); for outgoing calls, of those that incoming calls have made in their own thread
RUNNING     threads that are in such a call now
CALL        the key: method and path, the statement, the host and so on

The summary line also has what the program allocates, as the JVM counts it for each thread (read from
its memory), the collections of garbage that ended and the part of the time that they took, as the JVM
publishes it: of most collectors, their pauses.

Lines that begin with lock: say how many threads wait on average for a lock that another thread has,
a monitor or one of java.util.concurrent, where they wait, the class of the lock, and where it is held. That
comes from samples of the kernel, which change nothing in the program (sonde hot --wall shows all waits).

With --by caller, the outgoing calls that a request or a message makes are below it, with how many each
makes: 10 × SELECT … is a loop that executes a statement. Their SHARE is that of all incoming calls.

On a terminal, the table is updated in place:
Keys  t, c, e, m, 9, r, n  sort by time, calls, errors, mean, P99, running, name
      g                    rows by key or by caller
      arrows               select a row, Enter profiles or traces its method
      /                    filter    p  pause    ?  help    q  quit, as Ctrl-C
Without a terminal, one line per interval is printed for each row that has calls.

With --json, one object is written per interval, each on its own line, as by sonde monitor.
--prometheus and --listen serve the same series as sonde monitor, with the labels category,
direction and tag_NAME, or class and method. The times of web requests, statements and messages
have the names of OpenTelemetry's semantic conventions instead of sonde_call_seconds, such as
http_server_request_duration_seconds with http_request_method and http_route.

Exit code: 0 if there is a result, 1 if there is none or on an error, 2 for an invalid command
line, 3 if a condition of --fail-if holds.`

func (c *callsCommand) check(args []string, _ func(string) bool) (err error) {
	if c.pid, err = processNumber(args[0]); err != nil {
		return err
	}
	rules, err := categories.Read(c.categories...)
	if err != nil {
		return usage("--category: %w", err)
	}
	c.rules, c.wanted, c.patterns = &callRules{rules}, rules.Set, c.categories
	return c.checkExport()
}

var (
	callColumns = func() []format.Column {
		columns := format.Columns("CATEGORY", ">CALLS", ">CALLS/S", ">ERRORS", ">MEAN", ">P99", ">SHARE", ">RUNNING", "CALL")
		columns[len(columns)-1].KeepStart = true
		return columns
	}()
	// queueAt is where the column of the time in a queue is, if there are tasks.
	queueAt        = 6
	callExpendable = []string{"RUNNING", "CALLS", "QUEUE", "P99", "SHARE", "ERRORS"}
)

// callRules arrange the rows of a monitor by the categories of calls.
type callRules struct{ *categories.Rules }

// haveTasks reports whether tasks are shown, which may wait in a queue.
func (c *callRules) haveTasks() bool {
	return slices.Contains(c.All, categories.Category{Name: categories.Tasks, Direction: probeset.In})
}

func (c *callRules) columns() []format.Column {
	if !c.haveTasks() {
		return callColumns
	}
	return slices.Insert(slices.Clone(callColumns), queueAt, format.Columns(">QUEUE")...)
}

// Names of calls without a key.
const (
	noKey      = "(unknown)"
	noText     = "(prepared before Sonde came)"
	noIncoming = "(no incoming call)"
)

// madeBy is before the incoming call in the name of an outgoing one.
const madeBy = " < "

// keyOf returns the key of a row, and its name for people; "" for a row of no call.
func (c *callRules) keyOf(row *results.Row, by string) (key monitor.Key, name string) {
	category := c.Of(row.Probe)
	key = monitor.Key{Category: category.Name, Direction: category.Direction.String()}
	tags := c.Key(category)
	if len(tags) == 0 {
		key.Method = monitor.Method{Class: row.Class, Name: row.Name, Descriptor: row.Descriptor}
		return key, row.Class + "." + row.Name
	}
	// Calls without a label found no room, and so have no time, or began while labels were read.
	if len(row.Label.Tags) == 0 && !row.Label.Other && !row.Label.Unknown && row.Totals.Untimed == 0 {
		return key, ""
	}
	name = nameOfCall(row.Label, tags)
	isLeftOut := func(t results.TagValue) bool { return !slices.Contains(tags, t.Name) }
	if callers := c.Callers(); by == byCaller && category.Direction == probeset.Out && len(callers) > 0 {
		caller := callerOf(row.Label, callers)
		name += madeBy + cmp.Or(caller, noIncoming)
		isLeftOut = func(t results.TagValue) bool {
			isOfCaller := slices.Contains(callers, t.Name)
			return isOfCaller && caller != "" && !t.Set || !isOfCaller && !slices.Contains(tags, t.Name)
		}
	}
	label := row.Label
	label.Tags = slices.DeleteFunc(slices.Clone(label.Tags), isLeftOut)
	grouped := contextKey("", label)
	key.Tags, key.Callers = grouped.Tags, grouped.Callers
	return key, name
}

// verbs are before the values of tags that could be confused with each other.
var verbs = map[string]string{"destination": "send ", "consumer": "receive "}

func nameOfCall(label results.Label, tags []string) string {
	var words []string
	for _, tag := range label.Tags {
		switch {
		case !slices.Contains(tags, tag.Name):
		case tag.Name == "statement" && tag.Null:
			words = append(words, noText)
		case tag.Set && !tag.Null:
			words = append(words, verbs[tag.Name]+tag.Value)
		}
	}
	if label.Other {
		words = append(words, label.String())
	}
	return cmp.Or(strings.Join(words, " "), noKey)
}

// callerOf returns the incoming call that has made a call; "" if there is none.
func callerOf(label results.Label, callers []string) string {
	var words []string
	for _, tag := range label.Tags {
		if slices.Contains(callers, tag.Name) && tag.Set {
			words = append(words, tag.String())
		}
	}
	return strings.Join(words, " ")
}

// addInside adds rows for outgoing calls that incoming calls have made; takeShares removes them.
func (c *callRules) addInside(groups *monitor.Groups, rows map[uint32]results.Row) {
	met := make(map[monitor.Key]bool)
	for id, keys := range groups.Of {
		row := rows[id]
		if c.Of(row.Probe).Direction != probeset.Out || callerOf(row.Label, c.Callers()) == "" {
			continue
		}
		for _, key := range keys {
			if key.Inside = true; !met[key] {
				met[key] = true
				groups.Keys = append(groups.Keys, key)
			}
			groups.Of[id] = append(groups.Of[id], key)
		}
	}
}

// takeShares returns the parts of the time of incoming calls that rows have.
func takeShares(i *monitor.Interval) map[monitor.Key]float64 {
	var whole, extra float64
	for n := range i.Rows {
		switch key := i.Rows[n].Key; {
		case key.Direction != probeset.In.String():
		case categories.IsExtra(key.Category): // other incoming calls may be inside
			extra += i.Rows[n].Nanos
		default:
			whole += i.Rows[n].Nanos
		}
	}
	whole = cmp.Or(whole, extra)
	shares := make(map[monitor.Key]float64)
	i.Rows = slices.DeleteFunc(i.Rows, func(r monitor.Row) bool {
		if key := r.Key; whole > 0 && (key.Inside || key.Direction == probeset.In.String()) {
			key.Inside = false
			shares[key] = min(1, r.Nanos/whole)
		}
		return r.Key.Inside
	})
	return shares
}

// methodOf returns the method that has most calls of a row.
func (c *callRules) methodOf(table *monitorTable, rows map[uint32]results.Row, of monitor.Key, by string) (method string) {
	most := uint64(0)
	for id, totals := range table.to.Methods {
		row, is := rows[id]
		if !is || totals.Calls <= most {
			continue
		}
		if key, _ := c.keyOf(&row, by); key == of {
			most, method = totals.Calls, row.Class+"."+row.Name
		}
	}
	return method
}

// underCallers puts the rows of outgoing calls below those of the incoming calls that make them.
func underCallers(rows []monitor.Row) (ordered []monitor.Row) {
	isOut := func(r monitor.Row) bool { return r.Key.Direction == probeset.Out.String() }
	placed := make(map[monitor.Key]bool, len(rows))
	place := func(row monitor.Row) {
		if !placed[row.Key] {
			placed[row.Key] = true
			ordered = append(ordered, row)
		}
	}
	for _, row := range rows {
		if isOut(row) {
			break // incoming calls are the first
		}
		place(row)
		for _, below := range rows {
			if isOut(below) && isMadeBy(below.Key, row.Key) {
				place(below)
			}
		}
	}
	for _, row := range rows {
		place(row)
	}
	return ordered
}

// isMadeBy reports whether the calls of a row are made by incoming calls of another one, whose
// tags are then the last ones of the row.
func isMadeBy(key, incoming monitor.Key) bool { return strings.HasSuffix(key.Tags, "\n"+incoming.Tags) }

// callTexts returns the cells of rows. Below an incoming call are the calls it makes, with their number.
func (b *liveTable) callTexts(t *monitorTable, rows []monitor.Row) (texts [][]string) {
	var incoming *monitor.Row
	for n := range rows {
		row, name := &rows[n], t.names[rows[n].Key]
		switch isOut := row.Key.Direction == probeset.Out.String(); {
		case b.view.by != byCaller:
		case !isOut:
			incoming = row
		case incoming != nil && incoming.Calls > 0 && isMadeBy(row.Key, incoming.Key):
			name = name[:max(0, strings.LastIndex(name, madeBy))]
			name = fmt.Sprintf("└ %.3g × %s", float64(row.Calls)/float64(incoming.Calls), name)
		}
		mean, p99, share := "-", "-", "-"
		if row.Timed > 0 {
			mean = format.Call(row.Mean)
		}
		if row.Placed > 0 {
			p99 = format.Call(row.P99)
		}
		if part, is := t.shares[row.Key]; is {
			share = format.Percent(part)
		}
		cells := []string{
			row.Key.Category + " " + row.Key.Direction, callsText(row.Calls, row.LowerBound), format.Rate(row.Rate), format.Grouped(int(row.Errors)),
			mean, p99, share, format.Grouped(row.Running), format.Printable(name),
		}
		if b.rules.haveTasks() {
			queue := "-"
			if row.Queued > 0 {
				queue = format.Call(row.Queue)
			}
			cells = slices.Insert(cells, queueAt, queue)
		}
		texts = append(texts, cells)
	}
	return texts
}

// summary returns a line with the calls of each category, and about the heap.
func (c *callRules) summary(t *monitorTable) string {
	var parts []string
	var incoming float64
	for _, category := range c.All {
		var calls, errors uint64
		var rate float64
		for n := range t.Rows {
			if r := &t.Rows[n]; r.Key.Category == category.Name && r.Key.Direction == category.Direction.String() {
				calls, errors, rate = calls+r.Calls, errors+r.Errors, rate+r.Rate
			}
		}
		if calls == 0 {
			continue
		}
		text := fmt.Sprintf("%v %s/s", category, format.Rate(rate))
		if errors > 0 {
			text += fmt.Sprintf(" (%s)", format.Count(int(errors), "error", "errors"))
		}
		switch {
		case category.Direction == probeset.In && !categories.IsExtra(category.Name):
			incoming += float64(calls)
		case category.Direction == probeset.Out && incoming > 0:
			text += fmt.Sprintf(" (%.3g for each incoming call)", float64(calls)/incoming)
		}
		parts = append(parts, text)
	}
	return cmp.Or(strings.Join(parts, ", "), "no calls") + memoryText(t, incoming)
}

// memoryText says what the program has allocated, and how much of the time the garbage collector took.
func memoryText(t *monitorTable, incoming float64) (text string) {
	if rate, isKnown := t.to.AllocationSince(t.from); isKnown && rate >= 1 {
		text = fmt.Sprintf("; %s/s allocated", format.Size(int64(rate)))
		if incoming > 0 {
			text += fmt.Sprintf(" (%s for each incoming call)", format.Size(int64(rate*t.Length.Seconds()/incoming)))
		}
	}
	if gc := t.to.GC.Since(t.from.GC); gc != nil && t.Length > 0 {
		text += fmt.Sprintf("; %s, %s of the time", format.Count(int(gc.Count), "garbage collection", "garbage collections"), format.Percent(gc.Time.Seconds()/t.Length.Seconds()))
	}
	return text
}

// An outsideWatch samples which threads wait for locks that others have, and reads what the program allocates.
type outsideWatch struct {
	samples *sampler.Sampler
	recent  *hotspots.Window
	all     *hotspots.Collection
	sampler.Allocation
}

const (
	// locksRecent is the shortest time of which waits are shown, and mostLocks how many lines of them.
	locksRecent = time.Second
	mostLocks   = 5
)

func watchOutside(ctx context.Context, pid int, interval time.Duration) (*outsideWatch, error) {
	samples, err := sampler.Start(ctx, pid, sampler.Steady(true))
	if err != nil {
		return nil, err
	}
	return &outsideWatch{samples: samples, recent: hotspots.NewWindow(max(interval, locksRecent)), all: hotspots.NewCollection()}, nil
}

func (w *outsideWatch) poll() {
	batch, err := w.samples.Poll(context.Background()) // does not wait
	if err != nil {
		return // the end of the session says why
	}
	w.Allocation = batch.Allocation
	waits := hotspots.WithoutHooks(hotspots.Contended(batch.Samples))
	w.recent.Add(batch.At, waits, batch.Period, nil)
	w.all.Add(batch.At, waits, batch.Period, nil)
}

// places returns where threads wait for locks: in the whole time, or in the latest interval.
func (w *outsideWatch) places(whole bool) []hotspots.Place {
	if whole {
		return w.all.Table(time.Now()).Places()
	}
	return w.recent.Table(time.Now()).Places()
}

// reportRules reports where the hooks of Sonde's own rules are.
func (v *liveSession) reportRules(took string) {
	methods := 0
	for _, p := range v.applied.report.Probes {
		methods += len(p.Methods)
	}
	if methods == 0 {
		v.screen.say("note: no class is loaded that makes or answers such calls; classes that load later get their hooks then")
		return
	}
	v.screen.say("hooks in %s%s", format.Count(methods, "method", "methods"), took)
}
