package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/measure/suggest"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

type observeCommand struct {
	streams
	suggest.Options
	inputs []string // archives; none where a JVM is observed
	output string
	apply  bool
	json   bool
	cache  cacheFlags
	source sourceFlags

	look func(context.Context, suggest.Options) (*suggest.Proposal, error)
	try  func(context.Context, suggest.Options, *suggest.Proposal) (*suggest.Trial, error)
}

func newObserve(s streams) *cobra.Command {
	c := &observeCommand{streams: s, Options: suggest.Defaults(), look: suggest.Run, try: suggest.Try}
	command := &cobra.Command{
		Use:     "observe PID|FILE...",
		Short:   "Find methods that are worth a probe, and propose a file of probes",
		Long:    observeLong,
		Example: observeExamples,
		Args:    atLeast("PID or FILE"),
		RunE:    checkAndRun(c),
	}
	flags := command.Flags()
	flags.VarP(span(&c.For, c.For, leastObserved, mostObserved), "duration", "d", "how long to observe; with --apply, also how long the probes stay")
	flags.Var(span(&c.Settle, c.Settle, 0, mostObserved), "settle", "how much longer than --duration to observe, until there are enough samples and code with hooks is compiled again")
	flags.Var(share(&c.Budget, c.Budget), "budget", "share of the program's processor time that the probes may cost")
	flags.Var(number(&c.Most, c.Most, 1, mostProposed), "most", "propose at most `N` probes")
	flags.StringVarP(&c.output, "output", "o", "", "write the probes to `FILE` instead of standard output")
	flags.BoolVar(&c.apply, "apply", false, "apply the proposed probes, and measure their cost and coverage")
	c.source.register(command)
	c.cache.register(flags)
	flags.BoolVar(&c.Force, "force", false, forceUsage)
	flags.BoolVar(&c.json, "json", false, "write one JSON object to standard output")
	return command
}

const (
	leastObserved  = 2 * time.Second
	mostObserved   = time.Hour
	mostProposed   = 400
	standardOutput = "-"
)

func (c *observeCommand) check(args []string, given func(string) bool) (err error) {
	if c.Source, err = c.source.choose(); err != nil {
		return err
	}
	if isProcess(args) {
		if c.PID, err = processNumber(args[0]); err != nil {
			return err
		}
		c.Command = commandLine("observe", args)
	} else {
		c.inputs = args
		for _, flag := range []string{"duration", "budget", "apply", "sampler", "recorder", "thread-dumps", "force"} {
			if given(flag) {
				return usage("--%s needs a running program: name its PID; sonde ps lists JVMs", flag)
			}
		}
	}
	if c.output == "" || c.output == standardOutput {
		return nil
	}
	return checkWritable(c.output)
}

// isProcess reports whether the arguments name a JVM: a single number, unless there is a
// file with that name and no such process.
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

const observeLong = `Find out which methods of a program are worth a probe, and propose a file of probes for
sonde apply, within a budget and with a reason for each line.

For a JVM, named by its PID:
  samples   are taken first, without changing the program: the flight recorder is
            started over the attach socket, as sonde hot does; thread dumps show where
            threads wait for locks, the network and files
  code      class files show what methods work with, directly or through small methods
            they call: databases, HTTP, messages, the network, files, locks, and which
            methods receive requests
  calls     of the candidates are counted for the rest of the time, for half of it only
            in methods that would be proposed; hooks go in and out in one batch each.
            Methods that are called too often are counted only for a moment. Ctrl-C
            ends counting, and what was counted so far is used
Then methods are chosen whose probes together stay within --budget, by calls per second,
the measured cost of a timed call in this JVM, and the processor time of the program:
first methods that cover most for their cost, then methods in which threads wait, then
methods that divide the covered time best. Methods that receive requests or query
databases are preferred to methods deep inside. If that covers more, all calls of a
method are counted and one in 16 is timed.

Coverage is the share of the samples of running threads in which the running method was
called, directly or not, by a method with a probe. Methods whose calls did not end while
they were counted, such as the loop of a server, cover nothing. Time that is not covered
is listed.

With --apply, the probes are applied for the time of --duration, their cost and coverage are
measured, and they are removed again; sonde apply PID -f FILE applies them for good.

For jars, folders or class files there is only the code: methods that receive requests
or use databases, the network, files or locks are proposed, one line per class. The
program did not run, so the number of calls is unknown and no budget can be kept.

The file goes to -o or to standard output, and may be edited. Columns of the table:

SAMPLES  share of the samples with the method in the stack
CALLS/S  calls per second while they were counted
MEAN     time of a call, including waiting
COST     expected cost, as a part of the program's processor time
WHY      covers: time that no earlier line covers; splits: divides covered time;
         waits: threads wait in it; nature: by what it calls; request: receives requests`

const observeExamples = `  sonde observe 4711 -o probes.yaml
  sonde observe 4711 --duration 1m --budget 1% -o probes.yaml
  sonde observe 4711 --apply
  sonde observe 4711 | sonde apply 4711 -f -
  sonde observe app.jar lib/dao.jar -o probes.yaml`

func (c *observeCommand) run(ctx context.Context) error {
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
	defer ignoreBrokenPipe()()
	view := &observeView{observeCommand: c, progressView: newBulletin(c.streams, c.json), began: time.Now()}
	c.Notice, c.Progress, c.Waiting, c.In = view.remark, view.progress, view.waiting, c.sessions()
	var t *suggest.Trial
	p, err := withProgress(view.progressView, &c.cache, func(opened *cache.Cache) (p *suggest.Proposal, err error) {
		c.Cache = opened
		p, t, err = c.observe(ctx)
		return p, err
	})
	if p == nil {
		return interruptedBefore(ctx, "there was a proposal", err)
	}
	return errors.Join(c.write(p, t), err)
}

// observe returns a proposal, and with --apply its trial. It returns the proposal also if
// the trial failed.
func (c *observeCommand) observe(ctx context.Context) (*suggest.Proposal, *suggest.Trial, error) {
	p, err := c.look(ctx, c.Options)
	if err != nil || !c.apply {
		return p, nil, err
	}
	t, err := c.try(ctx, c.Options, p)
	if err != nil {
		return p, nil, fmt.Errorf("applying the proposed probes: %w", err)
	}
	return p, t, nil
}

func (c *observeCommand) write(p *suggest.Proposal, t *suggest.Trial) error {
	isFile := c.output != "" && c.output != standardOutput
	if isFile {
		if err := os.WriteFile(c.output, p.YAML(), 0o644); err != nil {
			return outputError(c.output, err)
		}
	}
	d := document.NewProposal(p, t)
	c.keepResult(d, func(out io.Writer) {
		writeProposal(out, p, 0)
		if t != nil {
			c.writeTrial(out, p, t, 0)
		}
	})
	c.keepFile("yaml", p.YAML())
	if c.json {
		return document.Write(c.out, d)
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

func (c *observeCommand) writeTrial(w io.Writer, p *suggest.Proposal, t *suggest.Trial, width int) {
	_, _ = fmt.Fprintln(w)
	rows := handover.Rows(t.Results, p.Set())
	for i := range rows {
		rows[i].PerSecond = float64(rows[i].Calls) / t.Applied.Seconds()
	}
	format.WriteTable(w, applyColumns, runningTexts(rows), width, applyExpendable...)
	_, _ = fmt.Fprintln(w)
	writeLines(w, trialLines(p, t))
}

type observeView struct {
	*observeCommand
	*progressView
	began time.Time
}

// progress is called by the observation, on its own goroutine.
func (v *observeView) progress(p suggest.Progress) {
	v.observeCommand.ready() // the first call comes when samples are taken
	line := fmt.Sprintf("%s: %s", format.ShortDuration(time.Since(v.began)), p.Stage)
	sampling, counting := v.Parts()
	switch p.Stage {
	case suggest.Sampling:
		line += " for " + format.Duration(sampling)
	case suggest.Counting:
		line += fmt.Sprintf(" of %s for %s", format.Count(p.Methods, "method", "methods"), format.Duration(counting))
	case suggest.Reading:
		line += fmt.Sprintf(" of %s, by %s", format.Count(p.Methods, "method", "methods"), format.Count(p.Samples, "sample", "samples"))
	case suggest.Measuring:
		line += " for " + format.Duration(v.For)
	}
	v.say("%s", line)
}

var (
	observeColumns = format.Columns(">SAMPLES", ">CALLS/S", ">MEAN", ">COST", "WHY", "NATURE", "METHOD")
	// observeExpendable are the columns that a narrow terminal drops, in this order.
	observeExpendable = []string{"NATURE", "WHY", "MEAN"}
	codeColumns       = format.Columns(">METHODS", "WHY", "NATURE", "CLASS")
)

func writeProposal(w io.Writer, p *suggest.Proposal, width int) {
	if p.PID == 0 {
		format.WriteTable(w, codeColumns, codeTexts(p), width)
	} else {
		format.WriteTable(w, observeColumns, observeTexts(p), width, observeExpendable...)
	}
	_, _ = fmt.Fprintln(w)
	writeLines(w, proposalLines(p))
}

func observeTexts(p *suggest.Proposal) (texts [][]string) {
	for i := range p.Choices {
		c := &p.Choices[i]
		mean := "-"
		if c.Mean > 0 {
			mean = format.Call(float64(c.Mean))
		}
		texts = append(texts, []string{
			format.Percent(c.Share + c.Leaf), format.Rate(c.PerSecond), mean, format.Percent(c.Takes()), string(c.Why), format.OrDash(natureText(c.Candidate)), format.Printable(c.QualifiedName()),
		})
	}
	return texts
}

func codeTexts(p *suggest.Proposal) (texts [][]string) {
	for _, line := range p.Lines() {
		first := line.Choices[0]
		class, _, _ := strings.Cut(strings.ReplaceAll(first.Class, "/", "."), "(")
		texts = append(texts, []string{format.Grouped(len(line.Patterns)), string(first.Why), format.OrDash(natureText(first.Candidate)), format.Printable(class)})
	}
	return texts
}

func natureText(c *suggest.Candidate) string {
	var kinds []string
	if c.Entry != "" {
		kinds = append(kinds, string(suggest.Request))
	}
	for _, use := range c.Uses {
		kinds = append(kinds, string(use.Kind))
	}
	return strings.Join(kinds, ", ")
}

func proposalLines(p *suggest.Proposal) []string {
	if p.PID == 0 {
		lines := []string{fmt.Sprintf("%s of %s in %s read", format.Count(len(p.Choices), "method", "methods"), format.Count(p.Read, "class", "classes"), strings.Join(p.Inputs, ", "))}
		if p.More > 0 {
			lines = append(lines, fmt.Sprintf("%s more qualify: --most raises the number of lines", format.Count(p.More, "method", "methods")))
		}
		return append(lines, "the program did not run, so the number of calls is unknown and no budget can be kept; sonde observe PID counts calls")
	}
	lines := []string{
		fmt.Sprintf("coverage: in %s of %s taken in %s, the running method was called, directly or not, by a method with a probe", format.Percent(p.Coverage), format.Count(p.Samples, "sample", "samples"), format.Duration(p.Sampled)),
		fmt.Sprintf("expected to cost %s of the program's processor time, at %.0f ns per call; the budget is %s", format.Percent(p.Cost), p.Nanos, format.Percent(p.Budget)),
	}
	if p.Waited >= time.Second {
		lines = append(lines, fmt.Sprintf("observed %s longer than stated, until there were enough samples and code with hooks was compiled again (--settle)", format.Duration(p.Waited.Round(100*time.Millisecond))))
	}
	if p.IsCut {
		lines = append(lines, fmt.Sprintf("interrupted: calls were counted for %s only, so their cost may be wrong", format.Duration(p.Took.Round(10*time.Millisecond))))
	}
	for i := range p.Choices {
		if c := &p.Choices[i]; c.Thins {
			lines = append(lines, fmt.Sprintf("one call in %d is timed, and all are counted: %s (all timed: %s)", overhead.ThinPeriod, format.Printable(c.QualifiedName()), format.Percent(c.Cost)))
		}
	}
	lines = append(lines, bareLines(p.Bare)...)
	for _, left := range p.Left {
		lines = append(lines, fmt.Sprintf("left out: %s (%s): %s", format.Printable(left.Method.QualifiedName()), format.Percent(left.Share), left.Why))
	}
	if p.Bias != "" {
		lines = append(lines, "samples are biased: they are taken "+p.Bias)
	}
	return lines
}

func bareLines(bare []suggest.Part) (lines []string) {
	for _, b := range bare {
		lines = append(lines, fmt.Sprintf("not covered: %s below %s", format.Percent(b.Share), format.Printable(b.Method.QualifiedName())))
	}
	return lines
}

func trialLines(p *suggest.Proposal, t *suggest.Trial) []string {
	budget := "within the budget of " + format.Percent(p.Budget)
	if t.Cost > p.Budget {
		budget = "over the budget of " + format.Percent(p.Budget)
	}
	lines := []string{
		fmt.Sprintf("applied for %s: hooks in %s, %s", format.Duration(t.Took), format.Count(t.Methods, "method", "methods"), format.Count(int(t.Calls), "call", "calls")),
		fmt.Sprintf("cost %s of the program's processor time, %s", format.Percent(t.Cost), budget),
		fmt.Sprintf("coverage: in %s of %s, the running method was called, directly or not, by a method with a probe", format.Percent(t.Coverage), format.Count(t.Samples, "sample", "samples")),
	}
	lines = append(lines, bareLines(t.Bare)...)
	for _, left := range t.Left {
		lines = append(lines, "no hook in "+format.Printable(left))
	}
	return lines
}
