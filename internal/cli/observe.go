package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/measure/suggest"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// observing is a `sonde observe` command line.
type observing struct {
	streams
	suggest.Options
	inputs []string // archives; none where a JVM is observed
	budget part
	output string
	apply  bool
	json   bool
	cache  liveCache
	source sourceFlags

	look func(context.Context, suggest.Options) (*suggest.Proposal, error)
	try  func(context.Context, suggest.Options, *suggest.Proposal) (*suggest.Trial, error)
}

func newObserve(s streams) *cobra.Command {
	c := &observing{streams: s, Options: suggest.Defaults(), look: suggest.Run, try: suggest.Try}
	c.budget = part(c.Budget)
	command := &cobra.Command{
		Use:     "observe PID|FILE...",
		Short:   "Find out which methods are worth a probe, and propose a file of probes",
		Long:    observeLong,
		Example: observeExamples,
		Args:    atLeast("PID or FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(args, cmd.Flags().Changed); err != nil {
				return err
			}
			return c.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.DurationVar(&c.For, "for", c.For, "how long to look; with --apply, also how long the probes stay")
	flags.Var(&c.budget, "budget", "the part of the program's processor time that the probes may take")
	flags.IntVar(&c.Most, "most", c.Most, "how many probes are proposed at most")
	flags.StringVarP(&c.output, "output", "o", "", "write the probes to `FILE` instead of standard output")
	flags.BoolVar(&c.apply, "apply", false, "apply what is proposed, and measure what that costs and covers")
	c.source.register(flags)
	c.cache.register(flags)
	flags.BoolVar(&c.Force, "force", false, "put hooks also into classes that the JDK damages by that")
	flags.BoolVar(&c.json, "json", false, "write one JSON object to standard output")
	return command
}

// Bounds of what can be asked for.
const (
	leastObserved  = 2 * time.Second
	mostObserved   = time.Hour
	mostProposed   = 400
	standardOutput = "-"
)

// check reads the command line; what is wrong with it is said before anything is
// touched.
func (c *observing) check(args []string, given func(string) bool) (err error) {
	c.Budget = float64(c.budget)
	if c.Source, err = c.source.choose(); err != nil {
		return err
	}
	switch {
	case c.For < leastObserved || c.For > mostObserved:
		return usage("--for must be from %v to %v", leastObserved, mostObserved)
	case c.Most < 1 || c.Most > mostProposed:
		return usage("--most must be from 1 to %d", mostProposed)
	}
	if isProcess(args) {
		if c.PID, err = processNumber(args[0]); err != nil {
			return err
		}
		c.Command = commandLine("observe", args)
	} else {
		c.inputs = args
		for _, flag := range []string{"for", "budget", "apply", "recorder", "thread-dumps", "force"} {
			if given(flag) {
				return usage("--%s needs a program that runs: name its PID; sonde ps lists the JVMs there are", flag)
			}
		}
	}
	if c.output == "" || c.output == standardOutput {
		return nil
	}
	return checkWritable(c.output)
}

// isProcess reports whether a JVM is meant, and not a file: a single number, unless
// there is a file of that name and no such process.
func isProcess(args []string) bool {
	if len(args) != 1 {
		return false
	}
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return false
	}
	if _, err := os.Stat(args[0]); err == nil {
		_, err = inspect(pid)
		return err == nil
	}
	return true
}

const observeLong = `Find out which methods of a program are worth a probe, and propose a file of probes
for sonde apply, with a reason on each line, inside a budget.

Of a JVM, by its PID:
  samples   are taken first, with nothing changed in the program: the flight recorder
            is started over the attach socket, as sonde hot does; thread dumps show
            where threads wait for locks, the network and files
  code      class files say what methods have to do with, themselves or through small
            methods they call: databases, HTTP, messages, the network, files, locks,
            and by which of them requests come in
  calls     of the candidates are counted for the rest of the time, in half of it with
            hooks in what would be proposed alone: they go in and out in one batch each;
            what is called too often is counted only for an instant
Then methods are chosen whose probes together stay inside --budget, by calls a second,
what a timed call costs in this JVM (measured), and the program's processor time: first
those that cover most for what they cost, then those in which threads wait, then those
that tell most apart. Where requests come in, and what asks databases, comes before
what is deep inside. Where it takes that to cover more, all calls of a method are
counted and one in 16 is timed.

Coverage is the share of all samples, of the program's threads that run, in whose stack
a method with a probe stands above the leaf. Methods whose calls did not end while they
were counted, such as a server's loop, cover nothing. What is not covered is told.

With --apply the probes are applied for --for, what they cost and cover is measured,
and they are taken out again; sonde apply PID -f FILE has them stay.

Of jars, folders or class files there is only the code: methods that take requests or
call databases, the network, files or locks are proposed, those of a class in one line.
Nothing ran, so how often they are called is not known, and no budget can be kept.

The file goes to -o, or to standard output, and may be edited. Columns of the table:

SAMPLES  share of samples in whose stack the method is
CALLS/S  while calls were counted
MEAN     time of a call, with what it waited
COST     expected, of the program's processor time
WHY      covers: time that no line before covers; splits: tells parts of it apart;
         waits: threads wait in it; nature: by what it calls; request: it takes some

Exit code: 0 when probes are proposed, 1 on an error or when there are none, 2 for a
wrong command line.`

const observeExamples = `  sonde observe 4711 -o probes.yaml
  sonde observe 4711 --for 1m --budget 1% -o probes.yaml
  sonde observe 4711 --apply
  sonde observe 4711 | sonde apply 4711 -f -
  sonde observe app.jar lib/dao.jar -o probes.yaml`

// run observes, writes what is proposed, and tries it where that is asked for.
func (c *observing) run(ctx context.Context) error {
	if len(c.inputs) > 0 {
		p, err := suggest.ReadArchives(ctx, c.inputs, c.Most)
		if err != nil {
			return err
		}
		return c.write(p, nil)
	}
	if _, err := inspect(c.PID); err != nil {
		return err
	}
	defer outliveReader()()
	view := newObserveView(c)
	c.Notice, c.Progress, c.Waiting = view.remark, view.progress, view.waiting
	kept, endCache, err := c.cache.openCache(view.remark)
	if err != nil {
		return err
	}
	c.Cache = kept
	p, t, err := c.observe(ctx)
	endCache()
	view.close()
	if p == nil {
		return interruptedBefore(ctx, "there was anything to propose", err)
	}
	return errors.Join(c.write(p, t), err)
}

// observe looks at the JVM, and tries what is proposed where that is asked for. What was
// found is given also where trying it failed.
func (c *observing) observe(ctx context.Context) (*suggest.Proposal, *suggest.Trial, error) {
	p, err := c.look(ctx, c.Options)
	if err != nil || !c.apply {
		return p, nil, err
	}
	t, err := c.try(ctx, c.Options, p)
	if err != nil {
		return p, nil, fmt.Errorf("applying what is proposed: %w", err)
	}
	return p, t, nil
}

// write writes the file of probes, and what people or programs read of it.
func (c *observing) write(p *suggest.Proposal, t *suggest.Trial) error {
	isFile := c.output != "" && c.output != standardOutput
	if isFile {
		if err := os.WriteFile(c.output, p.YAML(), 0o644); err != nil {
			return outputError(c.output, err)
		}
	}
	if c.json {
		return document.Write(c.out, document.NewProposal(p, t))
	}
	to, width := c.out, c.outWidth()
	if !isFile && !c.apply || c.output == standardOutput {
		to, width = c.err, c.width
		if _, err := c.out.Write(p.YAML()); err != nil {
			return err
		}
	}
	out := bufio.NewWriter(to) // keeps the first error until Flush
	writeProposal(out, p, width)
	if t != nil {
		c.writeTrial(out, p, t, width)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if isFile {
		_, err := fmt.Fprintf(c.err, "wrote %s: %s\n", format.Printable(c.output), format.Count(len(p.Lines()), "probe", "probes"))
		return err
	}
	return nil
}

// writeTrial tells what the probes cost and covered.
func (c *observing) writeTrial(w io.Writer, p *suggest.Proposal, t *suggest.Trial, width int) {
	_, _ = fmt.Fprintln(w)
	rows := handover.Rows(t.Results, p.Set())
	for i := range rows {
		rows[i].PerSecond = float64(rows[i].Calls) / t.Applied.Seconds()
	}
	format.WriteTable(w, applyColumns, runningTexts(rows), width)
	_, _ = fmt.Fprintln(w)
	for _, line := range trialLines(p, t) {
		_, _ = fmt.Fprintln(w, line)
	}
}
