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

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// rowsByProbe is the value of --by for one row per probe.
const rowsByProbe = "probe"

const usualAttachSort = "calls"

type attachCommand struct {
	applyCommand // for --weave
	pack         string
	weave        bool
	once         bool
	stall        time.Duration
	by           string
	sort         string
	top          int
}

func newAttach(s streams) *cobra.Command {
	c := &attachCommand{applyCommand: applyCommand{targetFlags: targetFlags{streams: s}, keep: usualKeep}}
	command := &cobra.Command{
		Use:     "attach PID",
		Short:   "Show what a pack in a running JVM measures, or replace it",
		Long:    attachLong,
		Example: attachExamples,
		Args:    exactly("PID"),
		RunE:    checkAndRun(c),
	}
	flags := command.Flags()
	flags.StringVar(&c.pack, "pack", "", "`FILE` of the pack, if the path that the JVM reports cannot be read")
	flags.BoolVar(&c.once, "once", false, "show everything since the program began, and end")
	flags.Var(span(&c.interval, time.Second, leastInterval, 0), "interval", "length of each reporting interval")
	flags.Var(span(&c.duration, 0, 0, 0), "for", "end after this time; 0 for Ctrl-C")
	flags.Var(span(&c.stall, time.Second, positive, 0), "stall", "report calls that run for longer than this as stalled")
	flags.Var(oneOf(&c.by, rowsByProbe, rowsByProbe, byMethod), "by", "one row per probe or per method")
	flags.StringVar(&c.sort, "sort", usualAttachSort, "calls, errors, mean, p99, running or name; with --once as in sonde report, by default total")
	flags.Var(number(&c.top, 0, 0, 0), "top", "show so many rows; 0 for all")
	flags.BoolVar(&c.json, "json", false, "write JSON: an object per interval, or one with --once")
	flags.BoolVar(&c.weave, "weave", false, "remove the pack and apply its probes by this Sonde")
	flags.StringVarP(&c.file, "file", "f", "", "with --weave: `FILE` of probes in place of the pack's own")
	flags.BoolVar(&c.yes, "yes", false, "with --weave: do not ask before changes")
	flags.BoolVar(&c.force, "force", false, "with --weave: "+forceUsage)
	flags.BoolVar(&c.listLeft, "left", false, "with --weave: list everything that gets no hook, with the reason")
	c.cache.register(flags)
	return command
}

// Flags of one mode only.
var (
	liveFlags  = []string{"for", "interval", "stall", "by"} // not with --once
	lookFlags  = []string{"once", "stall", "by", "sort", "top"}
	weaveFlags = []string{"file", "yes", "force", "left", "cache", "cache-share", "cache-trust", "no-cache"}
)

func (c *attachCommand) check(args []string, isSet func(flag string) bool) (err error) {
	c.paced = isSet("interval")
	if c.pid, err = processNumber(args[0]); err != nil {
		return err
	}
	if err := c.checkWay(isSet); err != nil {
		return err
	}
	switch {
	case c.once && results.Orders[c.sort] == nil:
		return usage("--sort %q: must be one of %s with --once", c.sort, strings.Join(slices.Sorted(maps.Keys(results.Orders)), ", "))
	case !c.once && monitorOrders[c.sort] == nil:
		return usage("--sort %q: must be one of %s", c.sort, strings.Join(monitorOrderNames(), ", "))
	}
	if c.file != "" {
		c.title = c.file
		c.set, _, err = readProbes(c.streams, c.file)
	}
	return err
}

// checkWay refuses flags of another mode: live, --once or --weave.
func (c *attachCommand) checkWay(isSet func(flag string) bool) error {
	of, other := weaveFlags, "needs --weave"
	if c.weave {
		of, other = lookFlags, "cannot be used with --weave"
	}
	if at := slices.IndexFunc(of, isSet); at >= 0 {
		return usage("--%s %s", of[at], other)
	}
	if !c.once {
		return nil
	}
	if at := slices.IndexFunc(liveFlags, isSet); at >= 0 {
		return usage("--%s cannot be used with --once, which shows everything since the program began", liveFlags[at])
	}
	if !isSet("sort") {
		c.sort = usualReportSort
	}
	return nil
}

func (c *attachCommand) run(ctx context.Context) error {
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
		r := &reportCommand{streams: c.streams, sort: c.sort, top: c.top, json: c.json}
		return r.write(h)
	}
	return c.show(ctx, h)
}

const attachLong = `Show what a pack in a running JVM measures, live. The program was started with
-javaagent:sonde-agent.jar=pack=FILE (sonde env prints this option), so that its classes
were woven as they loaded, without a Sonde. Sonde finds the arena that the agent writes
by the notice that the agent has left. The JVM is not asked, and nothing is changed. The
table is that of sonde monitor, with a row per probe, or with --by method per method,
and the same keys. The first interval starts now; --once shows everything since the
program began, as sonde report does.

Classes that the pack could not weave are reported at the beginning: classes with other
bytes than those that were packed, and classes of a class loader that cannot see the
hooks.

--weave replaces the pack by this Sonde: it removes the pack, as sonde undo does, and
applies the probes of the pack, or those of -f, as sonde apply does, also to classes that
differ from the pack. The measurements of the pack stay in its arena: sonde report shows
them. When the command ends, the JVM has no hooks; the pack is active again when the
program is restarted.`

const attachExamples = `  sonde attach 4711
  sonde attach 4711 --by method --sort p99 --for 1m
  sonde attach 4711 --once --sort mean
  sonde attach 4711 --json | jq '.total.callsPerSecond'
  sonde attach 4711 --weave --for 10m
  sonde attach 4711 --weave -f more.yaml`

// takeOver removes the pack and makes this Sonde hold the JVM. All checks come before the
// first change.
func (c *attachCommand) takeOver(ctx context.Context, h *results.Reader) error {
	if c.set == nil {
		if h.Set == nil {
			return fmt.Errorf("the pack with the probes cannot be read: name it with --pack, or a file of probes with -f (%s)", notesText(h.Notes))
		}
		c.set, c.title = h.Set, h.Pack
	}
	writeChanges(c.err, probeset.Diff(nil, c.set), c.width)
	if !c.yes && !confirm(ctx, c.streams, fmt.Sprintf("remove the pack from process %d, and apply this?", c.pid)) {
		return errors.New("nothing was changed")
	}
	c.yes = true
	if err := c.evictPack(ctx, h); err != nil {
		return err
	}
	if err := c.hold(ctx, h.JVM); err != nil {
		return fmt.Errorf("the pack was removed from process %d, and no Sonde holds it: %w", c.pid, err)
	}
	return nil
}

func notesText(notes []string) string {
	if len(notes) == 0 {
		return "it has none"
	}
	return notes[0]
}

func (c *attachCommand) evictPack(ctx context.Context, h *results.Reader) error {
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
		_, _ = fmt.Fprintf(c.err, "removed the pack from process %d in %s; sonde report %s shows its measurements\n", c.pid, format.Duration(time.Since(start)), format.Printable(shellWord(h.Path)))
	}
	if !found {
		for _, u := range unreachable {
			err = errors.Join(err, u)
		}
		return errors.Join(err, fmt.Errorf("the pack in process %d could not be reached: sonde status %d", c.pid, c.pid))
	}
	return nil
}

type attachRun struct {
	*attachCommand
	results *results.Reader
	table   liveTable
}

func (c *attachCommand) show(ctx context.Context, h *results.Reader) error {
	defer ignoreBrokenPipe()()
	r := newAttachRun(c, h)
	if err := r.begin(); err != nil {
		return err
	}
	r.reportClasses()
	var s waitLoop
	s.endAfter(c.duration, time.Now())
	const lookEvery = 300 * time.Millisecond
	s.addTask(lookEvery, r.hasEnded)
	return r.finish(r.table.watch(ctx, &s, nil))
}

func newAttachRun(c *attachCommand, h *results.Reader) *attachRun {
	r := &attachRun{attachCommand: c, results: h}
	by := byPattern
	if c.by == byMethod || h.Set == nil { // then no probe has a name
		by = byMethod
	}
	sample := sampleOf(h)
	r.table = liveTable{
		streams: c.streams, screen: newScreen(c.streams), pid: c.pid, main: h.JVM.Main, interval: c.interval, sample: sample, times: timesText(sample),
		top: c.top, json: c.json, view: monitorView{tableView: tableView{sort: c.sort}, by: by, hideIdle: true}, options: monitor.Options{Stall: c.stall},
		source: h, rows: r.watched, patternsOf: probeOf, costs: r.accountLine, describe: r.describe,
	}
	return r
}

// begin takes the first reading; earlier calls are not shown.
func (r *attachRun) begin() error {
	first, err := monitor.Take(r.results, monitor.Start(r.results.Now()), r.stall)
	if err != nil {
		return err
	}
	r.table.begin(first)
	return nil
}

// sampleOf returns the largest sampling period of the probes.
func sampleOf(h *results.Reader) uint32 {
	sample := uint32(1)
	if h.Set != nil {
		for _, p := range h.Set.Probes {
			sample = max(sample, p.Sample)
		}
	}
	return sample
}

func (r *attachRun) reportClasses() {
	say := r.table.screen.say
	say("reading the arena of process %d; %s", r.pid, format.Printable(r.accountLine(nil)))
	if account, has, err := r.results.Account(); has && err == nil && len(account.Left) > 0 {
		say("%s: sonde attach %d --weave weaves them if possible", format.Printable(unwovenText(&account, mostNamed)), r.pid)
	}
	for _, note := range r.results.Notes {
		r.table.screen.note(note)
	}
}

// accountLine counts the classes of the pack by what happened to them.
func (r *attachRun) accountLine(*monitorTable) string {
	name := r.results.JVM.Pack.Path
	account, has, err := r.results.Account()
	if err != nil || !has {
		return "pack " + name
	}
	return "classes of pack " + name + ": " + accountText(&account)
}

func (r *attachRun) watched() []results.Row {
	found, err := r.results.Results()
	if err != nil {
		return nil // the end reports it
	}
	for i := range found.Rows {
		found.Rows[i].ID = found.Rows[i].Number
	}
	return found.Rows
}

func probeOf(row *results.Row) []string {
	if row.Probe == "" {
		return nil
	}
	return []string{row.Probe}
}

// hasEnded reports whether the JVM has exited or the pack was taken out.
func (r *attachRun) hasEnded() ending {
	switch {
	case r.results.IsStopped():
		r.table.screen.say("note: the pack was removed from process %d", r.pid)
		return endedUndone
	case !process.Local.Same(r.results.JVM):
		r.table.screen.say("note: process %d has exited", r.pid)
		return endedExited
	}
	return notEnded
}

func (r *attachRun) finish(ended ending) error {
	failure := r.table.writeRest(ended)
	whole := r.table.look(r.table.first)
	whole.final, whole.ended = true, ended
	r.table.screen.clear()
	if r.json {
		return errors.Join(r.table.writeJSON(whole), failure)
	}
	return errors.Join(r.table.writeWhole(whole, nil), failure)
}

func (r *attachRun) describe(d *document.Monitor, _ *monitorTable) {
	d.Main, d.Pack, d.Arena, d.Remarks = r.table.main, r.results.JVM.Pack.Path, r.results.Path, r.results.Notes
	if account, has, err := r.results.Account(); has && err == nil {
		d.Classes = document.NewAccount(&account)
	}
}
