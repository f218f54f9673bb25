package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/ledger"
)

// rowsByProbe is --by of a pack: in place of patterns it has probes.
const rowsByProbe = "probe"

const usualAttachSort = "calls"

// attaching is a `sonde attach` command line.
type attaching struct {
	applying // for --weave
	pack     string
	weave    bool
	once     bool
	stall    time.Duration
	by       string
	sort     string
	top      int
}

func newAttach(s streams) *cobra.Command {
	c := &attaching{applying: applying{choice: choice{streams: s}, keep: usualKeep}}
	command := &cobra.Command{
		Use:     "attach PID",
		Short:   "Show what a pack in a running JVM measures, or take its place",
		Long:    attachLong,
		Example: attachExamples,
		Args:    exactly("PID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.paced = cmd.Flags().Changed("interval")
			if err := c.check(args, cmd.Flags().Changed); err != nil {
				return err
			}
			return c.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.pack, "pack", "", "`FILE` the program was started with, where the one it names cannot be read")
	flags.BoolVar(&c.once, "once", false, "tell all since the program began, and end")
	flags.DurationVar(&c.interval, "interval", time.Second, "how long the time is that a table, line or object is about")
	flags.DurationVar(&c.duration, "for", 0, "end after this time; 0 for Ctrl-C")
	flags.DurationVar(&c.stall, "stall", time.Second, "a call that is older has stalled")
	flags.StringVar(&c.by, "by", rowsByProbe, "a row for each probe or for each method")
	flags.StringVar(&c.sort, "sort", usualAttachSort, "calls, errors, mean, p99, running or name; with --once what sonde report has, total where nothing is said")
	flags.IntVar(&c.top, "top", 0, "show so many rows; 0 for all")
	flags.BoolVar(&c.json, "json", false, "write JSON: an object at each interval, or one with --once")
	flags.BoolVar(&c.weave, "weave", false, "take the pack out and have this Sonde apply its probes")
	flags.StringVarP(&c.file, "file", "f", "", "with --weave: `FILE` of probes in place of the pack's own")
	flags.BoolVar(&c.yes, "yes", false, "with --weave: do not ask before something is changed")
	flags.BoolVar(&c.force, "force", false, "with --weave: put hooks also into classes that the JDK damages by that")
	flags.BoolVar(&c.listLeft, "left", false, "with --weave: list all that is left alone")
	c.cache.register(flags)
	return command
}

// Flags that only one of the ways has.
var (
	liveFlags  = []string{"for", "interval", "stall", "by"} // not with --once
	lookFlags  = []string{"once", "stall", "by", "sort", "top"}
	weaveFlags = []string{"file", "yes", "force", "left", "cache", "cache-share", "cache-trust", "no-cache"}
)

// check reads the command line; what is wrong with it is said before the JVM is looked at.
func (c *attaching) check(args []string, isSet func(flag string) bool) (err error) {
	if c.pid, err = processNumber(args[0]); err != nil {
		return err
	}
	if err := c.checkWay(isSet); err != nil {
		return err
	}
	if err := checkTimes(c.interval, c.stall, c.duration); err != nil {
		return err
	}
	switch {
	case c.by != rowsByProbe && c.by != byMethod:
		return usage("--by %q: probe or method", c.by)
	case c.once && results.Orders[c.sort] == nil:
		return usage("--sort %q: with --once it is one of %s", c.sort, strings.Join(slices.Sorted(maps.Keys(results.Orders)), ", "))
	case !c.once && monitorOrders[c.sort] == nil:
		return usage("--sort %q: %s", c.sort, strings.Join(slices.Sorted(maps.Keys(monitorOrders)), ", "))
	case c.top < 0:
		return usage("--top must not be negative")
	}
	if c.file != "" {
		c.title = c.file
		c.set, err = readSet(c.streams, c.file)
	}
	return err
}

// checkWay holds flags to whether this shows, tells once or weaves.
func (c *attaching) checkWay(isSet func(flag string) bool) error {
	of, other := weaveFlags, "goes with --weave alone"
	if c.weave {
		of, other = lookFlags, "does not go with --weave"
	}
	if at := slices.IndexFunc(of, isSet); at >= 0 {
		return usage("--%s %s", of[at], other)
	}
	if !c.once {
		return nil
	}
	if at := slices.IndexFunc(liveFlags, isSet); at >= 0 {
		return usage("--%s does not go with --once, which tells all since the program began", liveFlags[at])
	}
	if !isSet("sort") {
		c.sort = usualReportSort
	}
	return nil
}

func (c *attaching) run(ctx context.Context) error {
	jvm, err := inspect(c.pid)
	if err != nil {
		return err
	}
	h, err := results.OfJVM(jvm, c.pack)
	if err != nil {
		return insideRemedy(err, c.pid, c.pack)
	}
	defer h.Close()
	switch {
	case c.weave:
		return c.takeOver(ctx, h)
	case c.once:
		r := &reporting{streams: c.streams, sort: c.sort, top: c.top, json: c.json}
		return r.write(h)
	}
	return c.show(ctx, h)
}

const attachLong = `Show what a pack in a running JVM measures, as it happens. The program was started
with -javaagent:sonde-agent.jar=pack=FILE (sonde env prints it), so that its classes
were woven as they loaded, without a Sonde. The arena that the agent writes is found by
the notice it has left; the JVM is not asked, and nothing is changed: this ends with
Ctrl-C as it began. The table is that of sonde monitor, with a row for each probe, or
--by method for each method, and the same keys. The first interval begins now;
--once tells all since the program began, as sonde report does, in its order.

What the pack could not weave is said at the beginning: classes whose bytes are not those
that were packed, or that load by a class loader that does not see the hooks.

--weave has this Sonde watch the JVM in place of the pack: the pack is taken out, as
sonde undo does, and its probes, or those of -f, are applied as sonde apply does, also
to classes that differ from the pack's. What the pack has measured stays in its
arena: sonde report tells it. When the command ends the JVM has no hooks any more, and
the pack comes back when the program is started again.

Exit code: 0 when there is a result, 1 on an error, 2 for a wrong command line.`

const attachExamples = `  sonde attach 4711
  sonde attach 4711 --by method --sort p99 --for 1m
  sonde attach 4711 --once --sort mean
  sonde attach 4711 --json | jq '.total.callsPerSecond'
  sonde attach 4711 --weave --for 10m
  sonde attach 4711 --weave -f more.yaml`

// takeOver takes the pack out and has this Sonde hold the JVM. All that can be checked
// is before anything is changed.
func (c *attaching) takeOver(ctx context.Context, h *results.Harvest) error {
	if c.set == nil {
		if h.Set == nil {
			return fmt.Errorf("the probes are in the pack, which cannot be read: name it with --pack, or probes with -f (%s)", notesText(h.Notes))
		}
		c.set, c.title = h.Set, h.Pack
	}
	writeChanges(c.err, probeset.Diff(nil, c.set), c.width)
	if !c.yes && !confirm(ctx, c.streams, fmt.Sprintf("take the pack out of process %d, and put this in?", c.pid)) {
		return errors.New("nothing was changed")
	}
	c.yes = true
	if err := c.evictPack(ctx, h); err != nil {
		return err
	}
	// A JVM in which something else has begun meanwhile says so itself.
	if err := c.hold(ctx, h.JVM, nil); err != nil {
		return fmt.Errorf("the pack is out of process %d, and no Sonde is in: %w", c.pid, err)
	}
	return nil
}

func notesText(notes []string) string {
	if len(notes) == 0 {
		return "it has none"
	}
	return notes[0]
}

// evictPack takes the pack out, and waits until it is.
func (c *attaching) evictPack(ctx context.Context, h *results.Harvest) error {
	occupants, unreachable, err := session.Owners(ctx, h.JVM, true)
	if err != nil {
		return err
	}
	found := false
	for _, o := range occupants {
		defer o.Close()
		if o.Pack == "" || found {
			continue
		}
		found = true
		start := time.Now()
		if err := evictFrom(ctx, c.streams, o); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(c.err, "took the pack out of process %d in %s; what it has measured: sonde report %s\n", c.pid, format.Duration(time.Since(start)), format.Printable(shellWord(h.Arena)))
	}
	if !found {
		for _, u := range unreachable {
			err = errors.Join(err, u)
		}
		return errors.Join(err, fmt.Errorf("the pack in process %d could not be reached: sonde status %d", c.pid, c.pid))
	}
	return nil
}

// An attachRun shows what a pack measures.
type attachRun struct {
	*attaching
	harvest *results.Harvest
	board   board
	rows    map[uint32]ledger.Row // by number
}

func (c *attaching) show(ctx context.Context, h *results.Harvest) error {
	defer outliveReader()()
	r := newAttachRun(c, h)
	if err := r.begin(); err != nil {
		return err
	}
	r.tell()
	var s stay
	s.endAfter(c.duration, time.Now())
	const lookEvery = 300 * time.Millisecond
	s.addTask(lookEvery, r.hasEnded)
	return r.finish(r.board.watch(ctx, &s, nil))
}

func newAttachRun(c *attaching, h *results.Harvest) *attachRun {
	r := &attachRun{attaching: c, harvest: h}
	by := byPattern
	if c.by == byMethod || h.Set == nil { // then no probe has a name
		by = byMethod
	}
	sample := sampleOf(h)
	r.board = board{
		streams: c.streams, screen: newScreen(c.streams), pid: c.pid, main: h.JVM.Main, interval: c.interval, sample: sample, times: timesText(sample),
		top: c.top, json: c.json, view: monitorView{sort: c.sort, by: by, hideIdle: true}, options: monitor.Options{Stall: c.stall},
		source: h, groups: r.groups, method: r.method, costs: r.accountLine, describe: r.describe,
	}
	return r
}

// begin takes the reading that all is counted from: what was before is not told.
func (r *attachRun) begin() error {
	first, err := monitor.Take(r.harvest, monitor.Start(r.harvest.Now()), r.stall)
	if err != nil {
		return err
	}
	r.board.begin(first)
	return nil
}

// sampleOf is the greatest that a probe of the pack has.
func sampleOf(h *results.Harvest) uint32 {
	sample := uint32(1)
	if h.Set != nil {
		for _, p := range h.Set.Probes {
			sample = max(sample, p.Sample)
		}
	}
	return sample
}

// tell says what the pack could not do.
func (r *attachRun) tell() {
	say := r.board.screen.say
	say("reading the arena of process %d; %s", r.pid, format.Printable(r.accountLine(nil)))
	if account, has, err := r.harvest.Account(); has && err == nil && len(account.Left) > 0 {
		say("%s: sonde attach %d --weave has this Sonde weave what it can", format.Printable(unwovenText(&account, mostNamed)), r.pid)
	}
	for _, note := range r.harvest.Notes {
		say("note: %s", format.Printable(note))
	}
}

// accountLine is what became of the pack's classes.
func (r *attachRun) accountLine(*monitorTable) string {
	name := r.harvest.JVM.Pack.Path
	account, has, err := r.harvest.Account()
	if err != nil || !has {
		return "pack " + name
	}
	return "classes of pack " + name + ": " + accountText(&account)
}

// groups are the rows of a table: a probe each, or a method.
func (r *attachRun) groups(by string) *monitor.Groups {
	groups := &monitor.Groups{Of: make(map[uint32][]monitor.Key)}
	results, err := r.harvest.Results()
	if err != nil {
		return groups // the end will say it
	}
	r.rows = make(map[uint32]ledger.Row, len(results.Rows))
	for _, row := range results.Rows {
		r.rows[row.Number] = row
		key := contextKey(row.Sequence, row.Label)
		if by == byMethod {
			key.Method = monitor.Method{Class: row.Class, Name: row.Method, Descriptor: row.Descriptor}
		} else if key.Pattern = row.Probe; row.Probe == "" {
			continue
		}
		if !slices.Contains(groups.Keys, key) {
			groups.Keys = append(groups.Keys, key)
		}
		groups.Of[row.Number] = []monitor.Key{key}
	}
	slices.SortFunc(groups.Keys, func(a, b monitor.Key) int {
		if order := strings.Compare(a.Pattern, b.Pattern); order != 0 {
			return order
		}
		return compareKeys(a, b)
	})
	return groups
}

func (r *attachRun) method(number uint32) (session.Method, bool) {
	row, is := r.rows[number]
	return session.Method{ID: number, MethodRef: classfile.MethodRef{Class: row.Class, Name: row.Method, Descriptor: row.Descriptor}}, is
}

// hasEnded reports whether the JVM has exited or the pack was taken out.
func (r *attachRun) hasEnded() ending {
	switch {
	case r.harvest.IsStopped():
		r.board.screen.say("note: the pack was taken out of process %d", r.pid)
		return endedUndone
	case !process.Local.Same(r.harvest.JVM):
		r.board.screen.say("note: process %d has ended", r.pid)
		return endedExited
	}
	return goesOn
}

// finish tells the whole time.
func (r *attachRun) finish(ended ending) error {
	failure := r.board.tellRest(ended)
	whole := r.board.look(r.board.first)
	whole.final, whole.ended = true, ended
	r.board.screen.clear()
	if r.json {
		return errors.Join(r.board.writeJSON(whole), failure)
	}
	return errors.Join(r.board.writeWhole(whole, nil), failure)
}

// describe adds what is known of the pack.
func (r *attachRun) describe(d *document.Monitor, _ *monitorTable) {
	d.Main, d.Pack, d.Arena, d.Remarks = r.board.main, r.harvest.JVM.Pack.Path, r.harvest.Arena, r.harvest.Notes
	if account, has, err := r.harvest.Account(); has && err == nil {
		d.Classes = document.NewAccount(&account)
	}
}
