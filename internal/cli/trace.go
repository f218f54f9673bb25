package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sonde-jvm/sonde/internal/classes/own"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/otlp"
	"github.com/sonde-jvm/sonde/internal/report/text"
	"github.com/sonde-jvm/sonde/internal/service"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/categories"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// The values of --show besides numbers.
const (
	showSlowest = "slowest"
	showAll     = "all"
	showNone    = "none"
)

type traceCommand struct {
	targetFlags
	contexts   contextFlags
	levels     int
	slowerThan time.Duration
	captures   []string
	allow      []string
	own        []string
	join       bool
	propagate  bool
	with       []string
	others     []*traceCommand // for the JVMs of with
	outgoing   []string
	limit      int
	sample     uint32
	duration   time.Duration
	show       string
	json       bool
	outputs    []string
	otlp       string
	otlpJSON   string // otlp.Settings, from the environment of the client
	sends      otlp.Settings
	flagSet    *pflag.FlagSet
	wanted     *probeset.Set
}

func newTrace(s streams) *cobra.Command {
	c := &traceCommand{targetFlags: targetFlags{streams: s, usualBudget: overhead.Usual}}
	command := &cobra.Command{
		Use:     "trace PID [METHOD...]",
		Short:   "Trace transactions of a running JVM: each call in time and depth",
		Long:    traceLong,
		Example: traceExamples,
		Args:    atLeast("PID"),
		RunE:    checkAndRun(c),
	}
	flags := command.Flags()
	registerCategories(flags, &c.categories, "trace calls of these `CATEGORIES`, as sonde calls knows them; incoming ones, if there are any")
	flags.Var(number(&c.levels, 4, 1, mostTraceLevels), "levels", "trace `N` levels of calls below the method")
	flags.Var(span(&c.slowerThan, 0, 0, 0), "slower-than", "keep only transactions that took longer")
	flags.StringArrayVar(&c.captures, "capture", nil, "`EXPR` whose value is recorded, such as '$1.id' or '$return'; may be repeated")
	flags.StringArrayVar(&c.allow, "allow", nil, "`NAME` that is shown although it sounds like a secret; may be repeated")
	flags.StringSliceVar(&c.own, "own", nil, "package of the program itself, whose methods are traced first; may be repeated (default: guessed from main class and class path)")
	flags.BoolVar(&c.propagate, "propagate", false, "write traceparent headers on the HTTP requests of traced transactions, so that the programs that they call join their traces: changes what the program sends")
	flags.StringSliceVar(&c.with, "with", nil, "`PID` of a JVM on this host that answers HTTP requests of the transactions: its calls are shown as parts of the transactions; may be repeated; implies --propagate")
	flags.BoolVar(&c.join, "join", true, "use the trace id of the request: from its traceparent header, or from an OpenTelemetry agent in the JVM")
	flags.StringSliceVar(&c.outgoing, "outgoing", usualOutgoing, "trace outgoing calls of these `CATEGORIES` at any depth, with their statement, host or destination; none for no category")
	flags.Var(number(&c.limit, 20, 1, mostTransactions), "limit", "end when `N` transactions are kept")
	flags.Var(oneIn(&c.sample, 1), "sample", "trace one transaction in N, chosen at random: 1/100")
	flags.VarP(span(&c.duration, 0, 0, 0), "duration", "d", "end after this time; 0 continues until --limit or Ctrl-C")
	flags.StringVar(&c.show, "show", showSlowest, "draw the transaction of this `NUMBER`, or slowest, all, none")
	flags.BoolVar(&c.json, "json", false, "write a JSON object per transaction, each on its own line, and one at the end")
	flags.StringArrayVarP(&c.outputs, "output", "o", nil, "file to write: .html, .json, .trace.json, .otlp.json or .txt; may be repeated")
	flags.StringVar(&c.otlp, "otlp", "", "`URL` of an OTLP receiver that gets transactions as they end, such as http://localhost:4318; env: as OTEL_EXPORTER_OTLP_ENDPOINT says")
	flags.StringVar(&c.otlpJSON, otlpSettingsFlag, "", "how to send to the receiver, as JSON: endpoint, headers, timeoutNanos, gzip")
	hide(command, otlpSettingsFlag)
	c.flagSet = flags
	c.contexts.register(command)
	hide(command, "context", "by-tag") // these group results, and each transaction is a result of its own
	c.targetFlags.register(flags)
	c.registerYes(flags)
	c.settle.register(flags)
	c.registerBudget(flags)
	return command
}

var usualOutgoing = []string{categories.Databases, categories.Web, categories.Messaging}

const (
	mostTraceLevels  = 100
	mostTransactions = 10_000
)

func (c *traceCommand) check(args []string, _ func(string) bool) (err error) {
	if err := c.parse(args); err != nil {
		return err
	}
	switch {
	case c.contexts.context != 0 || len(c.contexts.byTag) > 0:
		return usage("--context and --by-tag are for sonde count and sonde monitor: in a trace, each transaction has its own tags")
	case !c.isShowable():
		return usage("--show %q: must be a number from 1 on, slowest, all or none", c.show)
	}
	if err := checkPackages("own", c.own); err != nil {
		return err
	}
	c.propagate = c.propagate || len(c.with) > 0
	if c.wanted, err = c.want(); err != nil {
		return err
	}
	for _, text := range c.with {
		pid, err := processNumber(text)
		if err != nil {
			return err
		}
		if pid == c.pid {
			return usage("--with %d: this is the traced process itself", pid)
		}
		other, err := c.requestsOf(pid)
		if err != nil {
			return err
		}
		c.others = append(c.others, other)
	}
	if err := c.checkOTLP(); err != nil {
		return err
	}
	return checkOutputs(c.outputs, report.Traces("").Check)
}

// otlpSettingsFlag passes what the environment says to the service, whose environment is another.
const otlpSettingsFlag = "otlp-settings"

func (c *traceCommand) checkOTLP() (err error) {
	switch {
	case c.otlpJSON != "":
		if err := json.Unmarshal([]byte(c.otlpJSON), &c.sends); err != nil {
			return usage("--%s: %w", otlpSettingsFlag, err)
		}
		if _, err := otlp.Endpoint(c.sends.Endpoint); err != nil {
			return usage("--%s: %w", otlpSettingsFlag, err)
		}
	case c.otlp != "":
		if c.sends, err = otlp.NewSettings(c.otlp, os.Getenv); err != nil {
			return usage("--otlp %w", err)
		}
		encoded, err := json.Marshal(c.sends)
		if err != nil {
			return err
		}
		return c.flagSet.Set(otlpSettingsFlag, string(encoded))
	}
	return nil
}

func (c *traceCommand) isShowable() bool {
	if c.show == showSlowest || c.show == showAll || c.show == showNone {
		return true
	}
	number, err := strconv.Atoi(c.show)
	return err == nil && number > 0
}

func (c *traceCommand) want() (*probeset.Set, error) {
	set, err := c.contexts.set(c.methods)
	if err != nil {
		return nil, err
	}
	set.HandOff = c.contexts.handOff
	p := &set.Probes[0]
	p.Name, p.Level, p.Levels, p.SlowerThan, p.Allow = tracedName, probeset.Trace, c.levels, c.slowerThan, c.allow
	for _, text := range c.captures {
		value, err := expr.Parse(text)
		if err != nil {
			return nil, usage("--capture: %w", err)
		}
		p.Captures = append(p.Captures, value)
	}
	if len(c.captures) > 0 {
		p.Level = probeset.Capture
	}
	if c.sample > 1 {
		p.Sample = c.sample
	}
	if c.join {
		ids, err := categories.TraceIDs(c.methods)
		if err != nil {
			return nil, err
		}
		set.Tags = append(set.Tags, ids...)
	}
	if c.propagate {
		tags, err := categories.Propagation()
		if err != nil {
			return nil, err
		}
		set.Tags = append(set.Tags, tags...)
	}
	if err := set.Check(); err != nil {
		return nil, &usageError{err}
	}
	if err := c.addOutgoing(set); err != nil || !c.join {
		return set, err
	}
	incoming, err := categories.Incoming()
	with := *set
	if with.Tags = slices.Concat(set.Tags, incoming); with.Check() == nil { // there is room for them
		*set = with
	}
	return set, err
}

// addOutgoing adds the outgoing calls of transactions to a set. If nobody has asked for them, they are left out of a set
// that has no room for their tags.
func (c *traceCommand) addOutgoing(set *probeset.Set) error {
	if len(c.outgoing) == 0 || slices.Equal(c.outgoing, []string{showNone}) {
		return nil
	}
	probes, tags, err := categories.Outgoing(c.outgoing...)
	if err != nil {
		return usage("--outgoing: %w", err)
	}
	with := *set
	with.Probes, with.Tags = slices.Concat(set.Probes, probes), slices.Concat(set.Tags, tags)
	if err := with.Check(); err == nil {
		*set = with
	} else if c.flagSet.Changed("outgoing") {
		return usage("--outgoing: %w", err)
	}
	return nil
}

func (c *traceCommand) conditions() (texts []string) {
	for _, sequence := range c.contexts.within {
		texts = append(texts, "within "+sequence)
	}
	if c.contexts.when != "" {
		texts = append(texts, "when "+c.contexts.when)
	}
	if c.slowerThan > 0 {
		texts = append(texts, "slower than "+format.Duration(c.slowerThan))
	}
	if c.sample > 1 {
		texts = append(texts, fmt.Sprintf("one in %s at random", format.Grouped(int(c.sample))))
	}
	return texts
}

const traceLong = `Trace transactions of a running JVM: what is called, when and for how long, from the
entry of a method to its exit, on all threads that work for it. The method gets a hook,
and so do the methods it can call according to the bytecode of the loaded classes. Methods
that are called get hooks in their callees too, down to --levels. The first transactions only
show what is called. If there is no transaction for 1 s, all possible callees get hooks.
Methods of the JDK and small methods without calls are not traced. Calls of types of the
JDK such as Iterator, Runnable and Function are followed into the program's own packages
(--own), into the project of the method, and where samples have shown them; calls of proxies
only into own packages. Methods of libraries are traced if own packages call them, but not
calls between methods of libraries. Methods of own packages are also traced if a library calls
them. A proxy is shown with the name of its interface: Repository$Proxy12. All hooks
are removed when --limit transactions are kept, after --duration, or at Ctrl-C.

Calls that go out of the program, to databases, web servers and message brokers, are traced
at any depth, with the statement (without literals), the host or the queue. --outgoing
chooses categories, as sonde calls knows them: files and sockets are possible, too. Values
that are bound to statements, headers and bodies are not read. If the method answers web
requests or handles messages (of JMS), their method and path or queue are shown, too.

With --propagate the program sends a traceparent (W3C) with the HTTP requests of its
transactions, so that the called programs join the trace. Requests that have one already are
not changed. --with PID also traces the requests that another JVM of this host answers, and puts
them below the calls that have sent them.

Each transaction prints a line when it ends:
#         its number                     CALLS   traced calls; + if some found no room
WHEN      when it began                  ERR     calls that ended with an exception
DURATION  time of the method itself      THREAD  the thread it ran in

Then the slowest one (or --show NUMBER, all, none) is drawn, time from left to right and
depth from top to bottom:
█ own time of the method      ░ time in calls that have their own line below
× 37  calls of one method inside another one, drawn as one line
◆     its hook acts only in a context or under a condition
⇢     handed to another thread: executors, CompletableFuture, new and virtual threads

--slower-than and conditions on $return, $exception and $elapsed are decided when the
transaction ends; the other transactions are not kept. New hooks make
the JVM discard compiled code, so calls are slow at first. With --slower-than or
$elapsed, Sonde keeps nothing if the program does not run as before within --settle.
The cost of hooks and clock per call is measured in the JVM and subtracted from all
times, except for calls that are too deep to be recorded: if a trace slows the program
down, use fewer --levels. If hooks cost more than --budget, fewer transactions are traced,
chosen at random, as with --sample.

--capture records values at entry and exit of the method, up to four each, 256
characters at most. A value whose name sounds like a secret (password, token, card
number, …) is not read unless --allow names it, and is removed from texts that contain
it.

Each thread writes its calls into a ring buffer that Sonde empties. If the ring is full,
calls are only counted and never wait. The number of such calls is printed at the end,
as are calls whose condition failed and tasks that belong to an unknown transaction.

A transaction has the trace id of the request that it works for, if there is one: from
the header traceparent (W3C) of servlets, the JDK's HttpServer and Netty, or from the
current span of an OpenTelemetry agent in the JVM. For that, and for method, path and queue,
filters, servlets and listeners get hooks, too, which read nothing else. With --join=false,
they get none, and every transaction has an id of its own.

--otlp sends transactions to a receiver while the trace is running, by HTTP and protobuf. A
receiver that cannot be reached, or is overloaded, is tried again. The variables
OTEL_EXPORTER_OTLP_HEADERS, _TIMEOUT and _COMPRESSION are read, and with --otlp env also
_ENDPOINT. Variables with TRACES in their names, such as OTEL_EXPORTER_OTLP_TRACES_HEADERS,
take precedence.

` + contextLong + `

Files (-o) by the end of their names:
.html                      a page with list and waterfalls, works without a network
.json                      all data (docs/formats/trace.md)
.trace.json .perfetto.json Chrome's format: Perfetto, speedscope
.otlp.json                 OpenTelemetry; --otlp sends the same to a receiver
.txt                       as on the terminal, with every transaction drawn`

const traceExamples = `  sonde trace 4711 com.acme.Shop.checkout
  sonde trace 4711 --category web --slower-than 1s
  sonde trace 4711 com.acme.Shop.checkout --slower-than 200ms --limit 5 -o slow.html
  sonde trace 4711 com.acme.Shop.checkout --when '$1.customer.tier == "gold"' --levels 6
  sonde trace 4711 com.acme.Pay.charge --within 'com.acme.Web.handle >> com.acme.Order.*'
  sonde trace 4711 com.acme.Shop.checkout --tag 'tenant=$1.tenant' --capture '$1.id' --capture '$return.total'
  sonde trace 4711 com.acme.Shop.checkout --sample 1/100 --duration 1m --otlp http://localhost:4318
  OTEL_EXPORTER_OTLP_HEADERS=api-key=… sonde trace 4711 com.acme.Shop.checkout --otlp https://otlp.example.com
  sonde trace 4711 com.acme.Shop.checkout --with 4712
  sonde trace 4711 com.acme.Shop.checkout --json | jq .durationNanos`

const (
	// readEvery is short enough that a ring of the usual size holds the calls of a thread
	// in between, up to about 100,000 per second. Reading more often is not worth its cost.
	readEvery = 20 * time.Millisecond
	// readsAtOnce is how often rings that are not empty are read again at once: busy
	// threads have filled them in the meantime.
	readsAtOnce = 3
	// settleTime is how long a transaction that has ended waits for other threads that
	// work for it. Later calls are only in the final reports.
	settleTime = 500 * time.Millisecond
	// ringBytes is the size of a thread's ring, for about 2,700 calls. lateRingBytes is
	// used if all calls of a transaction stay in the ring until its end decides.
	ringBytes     = 128 << 10
	lateRingBytes = 256 << 10
)

type traceRun struct {
	*traceCommand
	liveSession
	rings    *trace.Reader
	terminal text.Terminal
	kept     []*trace.Transaction
	beyond   uint64
	hasTitle bool // the list has its title
	drawn    time.Time
	means    overhead.Means // of the traced method
	slower   string         // that traced calls take longer than others; "" if they do not
	stream   *otlp.Stream   // nil without --otlp
	streamed int            // of the kept transactions

	companions   []*companion
	isJoinedOnly bool // only transactions that others have caused are kept
}

func (c *traceCommand) run(ctx context.Context) error {
	defer ignoreBrokenPipe()()
	r := c.newRun()
	err := r.startCompanions(ctx)
	if err == nil {
		err = r.begin(ctx)
	}
	if err != nil {
		return errors.Join(err, r.endCompanions(ctx))
	}
	defer func() { _ = r.liveSession.session.Release() }()
	return r.finish(ctx, r.watch(ctx))
}

func (c *traceCommand) newRun() *traceRun {
	width := c.outWidth()
	r := &traceRun{
		traceCommand: c, terminal: text.Terminal{Width: width, Colours: c.hasColours(width)},
		liveSession: liveSession{target: &c.targetFlags, screen: newScreen(c.streams), applied: appliedSet{set: c.wanted}, isTraced: true, isCompared: true},
	}
	r.applied.options = liveprobes.Options{Own: own.Given(c.own), Lazy: true}
	return r
}

// begin puts the hooks in, and begins to trace.
func (r *traceRun) begin(ctx context.Context) error {
	c := r.traceCommand
	r.prepare = func() error { return r.explore(ctx) }
	if err := r.enter(ctx, "trace", arena.On|arena.Timed, 0); err != nil {
		return err
	}
	if why := r.recovery.Disturbed(); why != "" && (c.slowerThan > 0 || strings.Contains(c.contexts.when, "$elapsed")) && ctx.Err() == nil {
		return r.abandon(ctx, fmt.Errorf("nothing was traced, because Sonde's changes still slow the program (%v): --settle waits longer, --no-settle traces at once", r.recovery))
	}
	var settle time.Duration
	if c.wanted.HandOff {
		settle = settleTime
	}
	r.rings = trace.NewReader(r.liveSession.session, r.applied.Probes, c.allow, settle)
	r.measureTraceCost(ctx, r.rings)
	if c.sends.Endpoint != "" {
		r.stream = otlp.NewStream(c.sends, r.target(), version())
	}
	return nil
}

func (c *traceCommand) ringBytes() uint32 {
	if c.slowerThan > 0 {
		return lateRingBytes
	}
	return ringBytes
}

// explore puts hooks into the methods below the root, as far as they are called.
func (r *traceRun) explore(ctx context.Context) error {
	if err := r.liveSession.session.SetRings(r.ringBytes(), uint32(r.levels)); err != nil {
		return err
	}
	traced, err := r.applied.Explore(ctx)
	if err != nil {
		return err
	}
	r.liveSession.session.Restart()
	r.reportTraced(traced)
	return nil
}

func (r *traceRun) reportTraced(t *liveprobes.Traced) {
	if t.Methods > 0 {
		text := fmt.Sprintf("%s of %s below traced as well, up to %s deep", format.Count(t.Methods, "method", "methods"), format.Count(t.Classes, "class", "classes"), format.Count(r.levels, "level", "levels"))
		if t.Untraced > 0 {
			text += fmt.Sprintf("; %s more, the deepest ones, are not: use fewer --levels", format.Grouped(t.Untraced))
		}
		r.screen.say("%s", text)
		r.screen.say("%s", format.Printable(r.applied.Own().String()))
	}
	for _, p := range r.applied.report.Probes {
		for _, capture := range p.Redacted {
			r.screen.say("note: --capture %s sounds like a secret and is not read; --allow NAME shows it", format.Printable(capture))
		}
	}
}

// measureTraceCost measures the cost of hooks per call: when they have just gone in, and at the
// end, when the JVM has compiled the hooked methods.
func (v *liveSession) measureTraceCost(ctx context.Context, rings *trace.Reader) {
	v.cost.Measure(ctx)
	inner, err := v.session.ClockCost(ctx)
	if err != nil {
		if ctx.Err() == nil {
			v.remark("the cost of the clock could not be measured, so times include it: " + format.OneLine(err))
		}
		return
	}
	cost := trace.Cost{Inner: inner}
	if all := v.cost.Cost(); all != nil {
		cost.Outer = max(0, all.Median-inner)
	}
	rings.SetCost(cost)
}

// readRings reads what was traced since the last call. The end reports errors.
func readRings(rings *trace.Reader) {
	for range readsAtOnce {
		if isMore, err := rings.Read(); err != nil || !isMore {
			return
		}
	}
}

// watch shows transactions as they end, and returns why it ended.
func (r *traceRun) watch(ctx context.Context) ending {
	s := waitLoop{done: r.liveSession.session.Done(), why: r.endedBy, screen: r.screen}
	s.addTask(readEvery, func() ending {
		if r.duration > 0 && time.Since(r.began) >= r.duration {
			return endedDuration
		}
		if ended := afterWrite(r.step()); ended != notEnded {
			return ended
		}
		if len(r.kept) == r.limit {
			if err := r.applied.SetLevel(ctx, tracedName, probeset.Count); err != nil && ctx.Err() == nil {
				r.remark(format.OneLine(err))
			}
			return endedLimit
		}
		return notEnded
	})
	if r.stream != nil && len(r.companions) == 0 {
		s.addTask(streamEvery, func() ending {
			r.sendKept(ctx)
			return notEnded
		})
	}
	s.addTask(meansEvery, func() ending {
		r.means.Add(r.rootTotals())
		return notEnded
	})
	return s.wait(ctx)
}

const (
	// meansEvery is the interval in which the mean of the traced method is determined, and untracedIntervals
	// how many of them are measured without hooks below it.
	meansEvery        = 250 * time.Millisecond
	untracedIntervals = 5
)

// streamEvery is how often transactions are given to the stream.
const streamEvery = time.Second

// sendKept gives the stream the transactions that it has not got, with the names of their threads.
func (r *traceRun) sendKept(ctx context.Context) {
	fresh := r.kept[r.streamed:]
	if len(fresh) == 0 {
		return
	}
	r.streamed = len(r.kept)
	r.rings.Complete(fresh)
	if threads, err := r.liveSession.session.ThreadNames(ctx); err == nil { // without names they have numbers
		for _, t := range fresh {
			t.NameThreads(threads)
		}
	}
	r.stream.Add(fresh)
}

// rootTotals returns the time of all timed calls of the traced method so far, and their number.
func (r *traceRun) rootTotals() (nanos, timed uint64) {
	nanos, timed, _ = r.rootCalls()
	return nanos, timed
}

// rootCalls returns also the number of all calls.
func (r *traceRun) rootCalls() (nanos, timed, calls uint64) {
	found, err := r.applied.Results()
	if err != nil {
		return 0, 0, 0 // the end reports it
	}
	for i := range found.Rows {
		nanos, timed, calls = nanos+found.Rows[i].Nanos, timed+found.Rows[i].Timed, calls+found.Rows[i].Calls
	}
	return nanos, timed, calls
}

// compareUntraced determines what the hooks below the traced method cost it: for a second, only the method
// itself is timed. Short traces have too few calls for that. Of some calls of the method, others were timed and traced.
func (r *traceRun) compareUntraced(ctx context.Context, timed, calls uint64) {
	if r.pace == nil || !r.means.IsEnough() || r.applied.SetLevel(ctx, tracedName, probeset.Time) != nil {
		return
	}
	var without overhead.Means
	for range untracedIntervals {
		without.Add(r.rootTotals())
		if process.Pause(ctx, meansEvery) != nil {
			break
		}
	}
	without.Add(r.rootTotals())
	traced, others := float64(timed)*r.means.Mean(), float64(calls-min(timed, calls))*without.Mean()
	r.hooksTook = overhead.SlowedBy(&r.means, &without).Times(traced / max(1, traced+others))
	var measured, corrected float64
	for _, t := range r.kept {
		measured, corrected = measured+float64(t.Root.Measured), corrected+float64(t.Duration)
	}
	if measured > 0 && (len(r.conditions()) == 0 || len(r.conditions()) == 1 && r.sample > 1) { // others choose calls that are not like the rest
		r.slower = overhead.SlowerThan(r.means.Times(corrected/measured), &without)
	}
}

// step reads the rings, and shows transactions that have become whole.
func (r *traceRun) step() error {
	readRings(r.rings)
	err := r.keep(r.rings.TakeNow())
	r.drawProgress()
	return err
}

// keep keeps transactions up to the limit.
func (r *traceRun) keep(taken []*trace.Transaction) error {
	for _, t := range taken {
		if r.isJoinedOnly && t.Parent.Trace == [16]byte{} {
			continue
		}
		if len(r.kept) == r.limit {
			r.beyond++
			continue
		}
		r.kept = append(r.kept, t)
		if r.isListedLater() {
			continue
		}
		if err := r.list(len(r.kept), t); err != nil {
			return err
		}
	}
	return nil
}

// isListedLater reports whether the end lists transactions: a terminal shows them until then, or they lack what other programs
// have done for them.
func (r *traceRun) isListedLater() bool {
	return r.isDrawn() || r.isJoinedOnly || len(r.others) > 0
}

// isDrawn reports whether a terminal shows transactions while they come.
func (r *traceRun) isDrawn() bool { return !r.screen.silent && !r.json }

// finish reads what was traced before the hooks go out, and writes it.
func (r *traceRun) finish(ctx context.Context, ended ending) error {
	var failure error
	if ended == endedUnread {
		failure = syscall.EPIPE // files are written all the same
	}
	took := time.Since(r.began)
	r.pace.End()
	_, timed, calls := r.rootCalls()
	failure = errors.Join(failure, r.readRest(ended))
	r.complete(ctx, ended)
	failure = errors.Join(failure, r.endCompanions(ctx))
	if !ended.isOut() {
		r.compareUntraced(ctx, timed, calls)
	}
	r.reportLate(r.leftAlone())
	result := r.result(took)
	r.screen.clear()
	if r.isListedLater() {
		for i, one := range r.kept {
			failure = errors.Join(failure, r.list(i+1, one))
		}
	}
	farewell, err := r.leave(ctx, ended)
	result.Disturbed, result.Disturbance = cmp.Or(r.disturbed(), r.slower), r.disturbance
	failure = errors.Join(failure, err, r.write(result, ended))
	r.reportFarewell(farewell)
	if len(result.Transactions) == 0 && failure == nil {
		failure = r.noneError(result)
	}
	return failure
}

// readRest reads what was written last.
func (r *traceRun) readRest(ended ending) error {
	rest, err := r.rings.Finish()
	if ended == endedUnread {
		r.kept = append(r.kept, rest[:min(len(rest), r.limit-len(r.kept))]...)
		return err
	}
	return errors.Join(err, r.keep(rest))
}

// namesLimit is how long a JVM may take to answer at the end.
const namesLimit = 3 * time.Second

// complete adds to transactions everything that is known now: names, the cost of hooks,
// and the names of live threads if the JVM still runs.
func (r *traceRun) complete(ctx context.Context, ended ending) {
	var threads map[uint64]string
	if !ended.isOut() && len(r.kept) > 0 {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), namesLimit)
		defer cancel()
		r.measureTraceCost(ctx, r.rings)
		threads, _ = r.liveSession.session.ThreadNames(ctx) // without names they have numbers
	}
	r.rings.Complete(r.kept)
	for _, t := range r.kept {
		t.NameThreads(threads)
	}
}

func (r *traceRun) target() trace.Target {
	s := r.liveSession.session
	return trace.Target{PID: r.pid, Command: s.JVM().Main, JDK: fmt.Sprint(s.JDK())}
}

func (r *traceRun) result(took time.Duration) *trace.Trace {
	t := &trace.Trace{
		Target: r.target(), Command: commandLine("trace", r.patterns), Methods: r.patterns, Conditions: r.conditions(), Levels: r.levels,
		Began: r.began, Took: took, Transactions: r.kept, Cost: r.rings.Cost(),
	}
	weavings := r.liveSession.session.Weavings()
	t.Woven, t.Cached = weavings.Woven, weavings.Cached
	t.Losses = trace.Losses{Counts: r.rings.Counts(), NotChosen: r.rings.Rings.Discarded, Dropped: r.rings.Rings.Dropped, Beyond: r.beyond}
	if r.limit > 0 && len(r.kept) >= r.limit {
		// Transactions that were running when the limit was reached are no loss.
		t.Losses.Beyond += t.Losses.Unfinished
		t.Losses.Unfinished, t.Losses.Strays = 0, 0
	}
	if results, err := r.applied.Results(); err == nil {
		t.Losses.Ambiguous, t.Losses.ContextsLost = results.Ambiguous, results.ContextsLost
		for i := range results.Rows {
			t.Losses.Undecided += results.Rows[i].Undecided
		}
		if slices.ContainsFunc(results.Rows, func(row liveprobes.Row) bool { return row.LowerBound }) {
			r.remark("there may have been more calls: " + session.WhyLowerBound)
		}
	}
	if r.rings.Damaged > 0 {
		r.remark(fmt.Sprintf("the buffer of a thread was damaged (%s): calls in it were lost", format.Count(int(r.rings.Damaged), "time", "times")))
	}
	if n := r.applied.Unexplored(); n > 0 {
		r.remark(fmt.Sprintf("%s first called after tracing began: what they call has no hooks and is part of their own time; trace again while they are used", format.Count(n, "traced method was", "traced methods were")))
	}
	t.Notes = r.remarksWith(nil)
	return t
}

func (r *traceRun) write(t *trace.Trace, ended ending) error {
	reportWritten, failed := r.writeOutputs(r.outputs, func(path string) error { return report.Traces(version()).WriteFile(path, t) })
	defer reportWritten()
	keepFiles(r.streams, report.Traces(version()), t)
	if ended != endedUnread {
		failed = errors.Join(failed, r.writeReport(t))
	}
	if r.stream == nil {
		return failed
	}
	r.stream.Add(t.Transactions)
	sent, err := r.stream.Close()
	if sent > 0 {
		r.screen.say("sent %s to %s", format.Count(sent, "span", "spans"), r.sends.Endpoint)
	}
	return errors.Join(failed, err)
}

func (r *traceRun) writeReport(t *trace.Trace) error {
	if r.json {
		return r.writeLine(document.NewTraceEnd(t))
	}
	out := bufio.NewWriter(r.out) // keeps the first error until Flush
	writeDisturbed(out, t.Disturbed)
	for number, one := range t.Transactions {
		if r.isShown(number+1, one, t) {
			_, _ = fmt.Fprintln(out)
			if err := text.WriteTransaction(out, number+1, one, r.terminal); err != nil {
				return err
			}
		}
	}
	_, _ = fmt.Fprintln(out)
	text.WriteTraceSummary(out, t, r.terminal)
	if number, err := strconv.Atoi(r.show); err == nil && number > len(t.Transactions) {
		_, _ = fmt.Fprintf(out, "There is no transaction %d to show\n", number)
	}
	return out.Flush()
}

func (r *traceRun) isShown(number int, one *trace.Transaction, t *trace.Trace) bool {
	switch r.show {
	case showAll:
		return true
	case showNone:
		return false
	case showSlowest:
		return one == t.Slowest()
	}
	return r.show == strconv.Itoa(number)
}

func (r *traceRun) noneError(t *trace.Trace) error {
	methods, took := strings.Join(r.patterns, ", "), format.Duration(t.Took.Round(time.Millisecond))
	switch {
	case t.Losses.NotChosen > 0:
		return fmt.Errorf("none of %s of %s within %s met the conditions: %s",
			format.Count(int(t.Losses.NotChosen), "call", "calls"), methods, took, strings.Join(t.Conditions, "; "))
	case t.Losses.Undecided > 0:
		return fmt.Errorf("the condition could not be evaluated in any of %s: check what may be null in it; it can read only collections of the JDK, such as ArrayList and HashMap", format.Count(int(t.Losses.Undecided), "call", "calls"))
	case t.Losses.Unfinished > 0:
		return fmt.Errorf("%s of %s began but did not end within %s: trace longer, or trace a method that is called by %s",
			format.Count(int(t.Losses.Unfinished), "call", "calls"), methods, took, methods)
	case r.hasNoMethod():
		return fmt.Errorf("no method that matches %s was loaded within %s: nothing was traced; check the pattern, or trace while the method is used", methods, took)
	case len(r.applied.conditionNote()) > 0:
		return fmt.Errorf("no call of %s within %s met all conditions: %s; %s", methods, took, strings.Join(t.Conditions, "; "), r.applied.conditionNote()[0])
	case len(t.Conditions) > 0:
		return fmt.Errorf("no call of %s within %s met all conditions: %s", methods, took, strings.Join(t.Conditions, "; "))
	}
	if results, err := r.applied.Results(); err == nil && slices.ContainsFunc(results.Rows, func(row liveprobes.Row) bool { return row.LowerBound }) {
		return fmt.Errorf("no call of %s was seen within %s; %s: trace its caller instead", methods, took, session.WhyLowerBound)
	}
	return fmt.Errorf("%s was not called within %s: trace longer, or while it is used (calls that began earlier are not seen)", methods, took)
}

func (r *traceRun) hasNoMethod() bool {
	for _, p := range r.applied.report.Probes {
		if len(p.Methods) > 0 {
			return false
		}
	}
	return r.rings.Rings.Opened == 0
}

// list writes a transaction.
func (r *traceRun) list(number int, t *trace.Transaction) error {
	if r.json {
		return r.writeLine(document.NewTransaction(r.target(), t))
	}
	if !r.hasTitle {
		r.hasTitle = true
		if err := r.screen.print(r.out, text.TraceHeader(r.terminal)+"\n"); err != nil {
			return err
		}
	}
	return r.screen.print(r.out, text.TraceLine(number, t, r.terminal)+"\n")
}

func (r *traceRun) writeLine(value any) error {
	var line strings.Builder
	if err := document.Write(&line, value); err != nil {
		return err
	}
	return r.screen.print(r.out, line.String())
}

const progressEvery = 250 * time.Millisecond

func (r *traceRun) drawProgress() {
	if !r.isDrawn() || time.Since(r.drawn) < progressEvery {
		return
	}
	r.drawn = time.Now()
	_ = r.rings.Count() // the end reports errors
	state := fmt.Sprintf("%s of %s kept, %s begun", format.Grouped(len(r.kept)), format.Grouped(r.limit), format.Grouped(int(r.rings.Rings.Opened)))
	state += ringsText(r.rings.Rings)
	state += ", " + format.Duration(time.Since(r.began).Round(100*time.Millisecond))
	r.screen.show(func(width int) service.Frame {
		return traceFrame(r.pid, commandLine("trace", r.patterns), state, r.kept, width)
	})
}

// traceFrame shows transactions, the newest first.
func traceFrame(pid int, command, state string, kept []*trace.Transaction, width int) service.Frame {
	terminal := text.Terminal{Width: width}
	frame := service.Frame{PID: pid, Lines: []string{command, state}, Titles: text.TraceHeader(terminal)}
	for i, t := range slices.Backward(kept) {
		row := format.Row{Text: text.TraceLine(i+1, t, terminal), Name: strconv.Itoa(i + 1), Method: t.Root.Class + "." + t.Root.Method}
		frame.Rows = append(frame.Rows, row)
	}
	frame.Rows = frame.Rows[:min(len(frame.Rows), mostRows)]
	return frame
}
