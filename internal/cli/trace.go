package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/otlp"
	"github.com/sonde-jvm/sonde/internal/report/text"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// What --show knows besides numbers.
const (
	showSlowest = "slowest"
	showAll     = "all"
	showNone    = "none"
)

// tracing is a `sonde trace` command line.
type tracing struct {
	choice
	contexts   contextFlags
	levels     int
	slowerThan time.Duration
	captures   []string
	allow      []string
	limit      int
	sample     lot
	duration   time.Duration
	show       string
	json       bool
	outputs    []string
	otlp       string
	wanted     *probeset.Set
}

func newTrace(s streams) *cobra.Command {
	c := &tracing{choice: choice{streams: s}, sample: 1}
	command := &cobra.Command{
		Use:     "trace PID METHOD...",
		Short:   "Trace transactions of a running JVM: each call in time and depth",
		Long:    traceLong,
		Example: traceExamples,
		Args:    atLeast("PID", "METHOD"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(args); err != nil {
				return err
			}
			return c.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.IntVar(&c.levels, "levels", 4, "how many levels of calls below are traced, too")
	flags.DurationVar(&c.slowerThan, "slower-than", 0, "keep only transactions that took longer")
	flags.StringArrayVar(&c.captures, "capture", nil, "`EXPR` whose value is noted, such as '$1.id' or '$return'; may be repeated")
	flags.StringArrayVar(&c.allow, "allow", nil, "`NAME` that is shown though it sounds like a secret; may be repeated")
	flags.IntVar(&c.limit, "limit", 20, "end when so many transactions are kept")
	flags.Var(&c.sample, "sample", "trace one transaction in so many, by chance: 1/100")
	flags.DurationVar(&c.duration, "for", 0, "end after this time; 0 for --limit or Ctrl-C")
	flags.StringVar(&c.show, "show", showSlowest, "draw the transaction of this `NUMBER`, or slowest, all, none")
	flags.BoolVar(&c.json, "json", false, "write a JSON object for each transaction, on its line, and one at the end")
	flags.StringArrayVarP(&c.outputs, "output", "o", nil, "file to write: .html, .json, .trace.json, .otlp.json or .txt; may be repeated")
	flags.StringVar(&c.otlp, "otlp", "", "`URL` of an OTLP receiver to send all that was kept to, such as http://localhost:4318")
	c.contexts.register(flags)
	for _, name := range []string{"context", "by-tag"} { // these tell results apart, and here each transaction is one
		if err := flags.MarkHidden(name); err != nil {
			panic(err)
		}
	}
	flags.BoolVar(&c.force, "force", false, "put hooks also into classes that the JDK damages by that")
	c.cache.register(flags)
	flags.BoolVar(&c.listLeft, "left", false, "list all that is left alone")
	return command
}

// A lot is one in so many.
type lot uint32

func (l *lot) String() string { return "1/" + strconv.FormatUint(uint64(*l), 10) }
func (*lot) Type() string     { return "1/K" }

// Set reads 1/K.
func (l *lot) Set(text string) error {
	of, isOne := strings.CutPrefix(strings.ReplaceAll(text, " ", ""), "1/")
	n, err := strconv.ParseUint(of, 10, 32)
	if !isOne || err != nil || n < 1 || n > mostPeriod {
		return fmt.Errorf("must be 1/K with K from 1 to %d, such as 1/100", mostPeriod)
	}
	*l = lot(n)
	return nil
}

const (
	mostTraceLevels  = 100
	mostTransactions = 10_000
)

// check reads the command line; what is wrong with it is said before the JVM is
// touched.
func (c *tracing) check(args []string) (err error) {
	if err := c.choose(args); err != nil {
		return err
	}
	switch {
	case c.levels < 1 || c.levels > mostTraceLevels:
		return usage("--levels must be from 1 to %d", mostTraceLevels)
	case c.slowerThan < 0:
		return usage("--slower-than must not be negative")
	case c.limit < 1 || c.limit > mostTransactions:
		return usage("--limit must be from 1 to %d", mostTransactions)
	case c.duration < 0:
		return usage("--for must not be negative")
	case c.contexts.context != 0 || len(c.contexts.byTag) > 0:
		return usage("--context and --by-tag are for sonde count and sonde monitor: here each transaction has its tags")
	case !c.isShowable():
		return usage("--show %q: must be a number from 1 on, slowest, all or none", c.show)
	}
	for _, text := range c.captures {
		if _, err := expr.Parse(text); err != nil {
			return usage("--capture: %w", err)
		}
	}
	if c.wanted, err = c.want(); err != nil {
		return err
	}
	if c.otlp != "" {
		if c.otlp, err = otlp.Endpoint(c.otlp); err != nil {
			return usage("--otlp %w", err)
		}
	}
	return checkOutputs(c.outputs, report.TraceFormat)
}

func (c *tracing) isShowable() bool {
	if c.show == showSlowest || c.show == showAll || c.show == showNone {
		return true
	}
	number, err := strconv.Atoi(c.show)
	return err == nil && number > 0
}

// want is the set that the command line asks for.
func (c *tracing) want() (*probeset.Set, error) {
	set, err := c.contexts.set(c.patterns)
	if err != nil {
		return nil, err
	}
	set.HandOff = c.contexts.handOff
	p := &set.Probes[0]
	p.Level, p.Levels, p.SlowerThan, p.Captures, p.Allow = probeset.Trace, c.levels, c.slowerThan, c.captures, c.allow
	if len(c.captures) > 0 {
		p.Level = probeset.Capture
	}
	if c.sample > 1 {
		p.Sample = uint32(c.sample)
	}
	if err := set.Check(); err != nil {
		return nil, &usageError{err}
	}
	return set, nil
}

// conditions say in words which transactions are chosen.
func (c *tracing) conditions() (texts []string) {
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
		texts = append(texts, fmt.Sprintf("one in %s by chance", format.Grouped(int(c.sample))))
	}
	return texts
}

const traceLong = `Trace transactions of a running JVM: what is called, when and for how long, from the
entry of a method to its exit, on all threads that work for it. Hooks are put into
the method and, --levels deep, into what it can call by the bytecode of loaded
classes; methods of the JDK and small ones that call nothing are not traced. When
as many as --limit are kept, or by --for or Ctrl-C, all is taken out again.

Each transaction is a line as it ends:
#         its number                     CALLS   traced in it; + if some had no room
WHEN      when it began                  ERR     of those, ended with an exception
DURATION  of the method itself           THREAD  in which it ran

Then the slowest (--show NUMBER, all, none) is drawn, time across and depth down:
█ self time of the method     ░ time in calls below that are drawn themselves
× 37  calls of one method inside one other, together in a line
◆     its hook acts only in a context, or on a condition
⇢     handed to another thread: executors, CompletableFuture, virtual threads

--slower-than, and conditions on $return, $exception and $elapsed, are decided when
the transaction ends: nothing of others is kept. Putting hooks in makes the JVM discard
compiled code, so calls are slow at first: with --slower-than or $elapsed, nothing is
kept, and --for does not begin, until the compilers are idle again (45 s at most). What hooks and clock take of each
call is measured in the JVM and taken off all times, but not of calls that are too
deep to be recorded: where a trace slows the program down, take fewer --levels.

--capture notes values at entry and exit of the method: up to four of each, 256
characters at most. What is named for a secret (password, token, card number, …)
is not read unless --allow names it, and taken out of texts that contain it.

A thread writes calls into a ring that Sonde empties. Where it is full calls are
counted only, and never wait: how many is told at the end, as are calls whose
condition failed and tasks of which it is not known whose they are.

` + contextLong + `

Files (-o) by their names:
.html                      a page with list and waterfalls, which needs no network
.json                      all that is known (docs/formats/trace.md)
.trace.json .perfetto.json Chrome's format: Perfetto, speedscope
.otlp.json                 OpenTelemetry's; --otlp sends the same to a receiver
.txt                       as the terminal shows it, each transaction drawn

Patterns are those of sonde instrument; a leading ! takes methods out.

Exit code: 0 when there is a transaction, 1 if none or on an error, 2 for a wrong
command line.`

const traceExamples = `  sonde trace 4711 com.acme.Shop.checkout
  sonde trace 4711 com.acme.Shop.checkout --slower-than 200ms --limit 5 -o slow.html
  sonde trace 4711 com.acme.Shop.checkout --when '$1.customer.tier == "gold"' --levels 6
  sonde trace 4711 com.acme.Pay.charge --within 'com.acme.Web.handle >> com.acme.Order.*'
  sonde trace 4711 com.acme.Shop.checkout --tag 'tenant=$1.tenant' --capture '$1.id' --capture '$return.total'
  sonde trace 4711 com.acme.Shop.checkout --sample 1/100 --for 1m --otlp http://localhost:4318
  sonde trace 4711 com.acme.Shop.checkout --json | jq .durationNanos`

const (
	// readEvery is often enough that a ring of the usual size holds what a thread
	// traces in between, some 100,000 calls a second: more is not worth what it costs.
	readEvery = 20 * time.Millisecond
	// readsAtOnce is how often rings are read again at once where there is something:
	// busy threads have filled them meanwhile.
	readsAtOnce = 3
	// settleTime is what other threads have, when a transaction has ended, to end what
	// they do for it before it is shown. What comes later is in the end's reports.
	settleTime = 500 * time.Millisecond
	// ringBytes is what a thread's ring holds, some 2,700 calls; lateRingBytes where all
	// calls of a transaction are in it until its end has decided.
	ringBytes     = 128 << 10
	lateRingBytes = 256 << 10
)

// A traceRun is a `sonde trace` at work.
type traceRun struct {
	*tracing
	visit
	rings    *trace.RingReader
	names    *trace.LiveNames
	redact   *trace.Redactor
	terminal text.Terminal
	kept     []*trace.Transaction
	beyond   uint64
	settling overhead.Settling
	looked   cost.Reading // of the compilers, the last while the program settles
	early    uint64       // transactions that began before it had settled
	sum      trace.Rings
	told     bool // the list has its title
	drawn    time.Time
}

func (c *tracing) run(ctx context.Context) error {
	defer outliveReader()()
	r := &traceRun{
		tracing: c, redact: trace.NewRedactor(c.allow), terminal: c.terminal(),
		visit: visit{choice: &c.choice, screen: newScreen(c.streams), watching: watching{set: c.wanted}},
	}
	if err := r.enter(ctx, "trace", arena.On|arena.Timed, 0); err != nil {
		return err
	}
	s := r.visit.session
	defer func() { _ = s.Release() }()
	r.names = trace.NewLiveNames(r.watching.Watch)
	if err := s.SetRings(c.ringBytes(), uint32(c.levels)); err != nil {
		return r.abandon(ctx, err)
	}
	options := trace.Options{
		Names: r.names, Redact: r.redact, Clock: trace.Clock{Wall: time.Now(), Nanos: uint64(s.Now())},
	}
	if c.wanted.HandOff {
		options.Settle = settleTime
	}
	r.rings = trace.NewRingReader(s, trace.NewAssembler(options))
	r.tellTraced()
	r.measureCost(ctx)
	r.settling = overhead.Settling{Rule: overhead.ForTrace, State: overhead.Settled}
	if c.keepsSlow() {
		r.settling.State = overhead.Unsettled
		reading, err := s.Read()
		if err != nil {
			return r.abandon(ctx, err)
		}
		r.looked = reading
		r.screen.say("no call is kept until the JVM has compiled again what has hooks now, as calls are slow until then")
	}
	return r.finish(ctx, r.watch(ctx))
}

func (c *tracing) ringBytes() uint32 {
	if c.slowerThan > 0 {
		return lateRingBytes
	}
	return ringBytes
}

// terminal is what the list and waterfalls are written for.
func (c *tracing) terminal() text.Terminal {
	width := c.outWidth()
	return text.Terminal{Width: width, Colours: hasColours(width)}
}

// tellTraced says how much below the methods is traced.
func (r *traceRun) tellTraced() {
	for _, p := range r.watching.report.Probes {
		if p.Traced > 0 {
			text := fmt.Sprintf("%s below traced as well, %s deep", format.Count(p.Traced, "method", "methods"), format.Count(r.levels, "level", "levels"))
			if p.Untraced > 0 {
				text += fmt.Sprintf("; %s more are not, the farthest: fewer --levels trace the nearest whole", format.Grouped(p.Untraced))
			}
			r.screen.say("%s", text)
		}
		for _, capture := range p.Redacted {
			r.screen.say("note: --capture %s sounds like a secret and is not read: --allow NAME shows it", format.Printable(capture))
		}
	}
}

// measureCost learns what hooks take of each call. It is done when they have just gone
// in, and again at the end, when a JVM has compiled what they made new.
func (r *traceRun) measureCost(ctx context.Context) {
	r.cost.Measure(ctx)
	inner, err := r.visit.session.ClockCost(ctx)
	if err != nil {
		if ctx.Err() == nil {
			r.remark("what the clock costs could not be measured, so times hold it: " + format.OneLine(err))
		}
		return
	}
	cost := trace.Cost{Inner: inner}
	if all := r.cost.Cost(); all != nil {
		cost.Outer = max(0, all.Median-inner)
	}
	r.rings.Assembler.SetCost(cost)
}

// watch shows transactions as they end, and returns why it ended.
func (r *traceRun) watch(ctx context.Context) ending {
	s := stay{done: r.visit.session.Done(), why: r.endedBy}
	s.addTask(readEvery, func() ending {
		if r.duration > 0 && r.settling.State != overhead.Unsettled && time.Since(r.began) >= r.duration {
			return endedDuration
		}
		r.lookAtCompilers()
		if ended := afterWrite(r.step()); ended != goesOn {
			return ended
		}
		if len(r.kept) == r.limit {
			r.switchOff(ctx)
			return endedLimit
		}
		return goesOn
	})
	return s.wait(ctx)
}

// step reads what is there, and shows what has become whole.
func (r *traceRun) step() error {
	for range readsAtOnce {
		isMore, err := r.rings.Read()
		if err != nil {
			return nil //nolint:nilerr // the end will say it
		}
		if !isMore {
			break
		}
	}
	err := r.keep(r.rings.Assembler.Take(uint64(r.visit.session.Now())))
	r.drawProgress()
	return err
}

// keep takes transactions as far as they are wanted.
func (r *traceRun) keep(taken []*trace.Transaction) error {
	if len(taken) == 0 {
		return nil
	}
	r.names.Refresh()
	for _, t := range taken {
		if r.isDisturbed(t) {
			r.early++
			continue
		}
		if len(r.kept) == r.limit {
			r.beyond++
			continue
		}
		t.Resolve(r.names, r.redact)
		r.kept = append(r.kept, t)
		if err := r.tell(t); err != nil {
			return err
		}
	}
	return nil
}

// switchOff ends tracing by a flag, before the hooks are taken out.
func (r *traceRun) switchOff(ctx context.Context) {
	if err := r.watching.SetLevel(ctx, probeName, probeset.Count); err != nil && ctx.Err() == nil {
		r.remark(format.OneLine(err))
	}
}
