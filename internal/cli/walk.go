package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/text"
	"github.com/sonde-jvm/sonde/internal/service"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

type walkCommand struct {
	streams
	rootcause.Options
	period  period
	outputs []string
	cache   cacheFlags
	source  sourceFlags
	json    bool
	climb   func(context.Context, rootcause.Options) (*rootcause.Climb, error)
}

func newWalk(s streams) *cobra.Command {
	c := &walkCommand{streams: s, Options: rootcause.Defaults(), climb: rootcause.Run}
	c.period = period{calls: c.PeriodCalls, time: c.PeriodTime}
	command := &cobra.Command{
		Use:   "walk PID",
		Short: "Find hot spots and the callers that cause them",
		Long:  walkLong,
		Example: `  sonde walk 4711
  sonde walk 4711 --hot 10% -o causes.html
  sonde walk 4711 --own com.acme --own net.acme.core
  sonde walk 4711 --until com.acme.web --levels 12
  sonde walk 4711 --period '200 calls' --period 2s --hooks 4 --budget 1%
  sonde walk 4711 --duration 5m -o walk.json`,
		Args: exactly("PID"),
		RunE: checkAndRun(c),
	}
	flags := command.Flags()
	flags.Var(share(&c.Hot, c.Hot), "hot", "share of the samples that makes a method a hot spot")
	flags.Var(number(&c.Top, c.Top, 1, 0), "top", "if no method is that hot, search from the `N` hottest")
	flags.Var(lasting(&c.period), "period", "how long each method is measured: '1000 calls', 5s, or both, whichever comes first")
	flags.Var(number(&c.Levels, c.Levels, 1, 0), "levels", "search at most `N` levels of callers")
	flags.StringSliceVar(&c.Until, "until", nil, "package at whose first method the search ends; may be repeated")
	flags.StringSliceVar(&c.Own, "own", nil, "package of the program itself, in which the search looks for causes; may be repeated (default: guessed from main class and class path)")
	flags.Var(number(&c.Hooks, c.Hooks, 1, mostHooks), "hooks", "switch on at most `N` hooks at a time")
	flags.Var(share(&c.Budget, c.Budget), "budget", "share of the program's processor time that hooks may cost")
	flags.Var(span(&c.Sampling, c.Sampling, positive, 0), "sampling", "how long to sample before the first search")
	flags.VarP(span(&c.Duration, 0, 0, 0), "duration", "d", "continue for this time and search from new hot spots as well; 0 ends after the first search")
	c.source.register(command)
	c.cache.register(flags)
	flags.BoolVar(&c.Force, "force", false, forceUsage)
	flags.StringArrayVarP(&c.outputs, "output", "o", nil, "file to write: .html, .pb.gz, .json or .txt; may be repeated")
	flags.BoolVar(&c.json, "json", false, "write one JSON object to standard output instead of the report")
	return command
}

// mostHooks keeps the load of a search small.
const mostHooks = 256

func (c *walkCommand) check(args []string, given func(string) bool) (err error) {
	if c.PID, err = processNumber(args[0]); err != nil {
		return err
	}
	c.PeriodCalls, c.PeriodTime = c.period.calls, c.period.time
	c.Command = commandLine("walk", args)
	if c.Source, err = c.source.choose(); err != nil {
		return err
	}
	if given("duration") && c.Duration < c.Sampling {
		return usage("--duration must be at least as long as --sampling, which is %v", c.Sampling)
	}
	for flag, names := range map[string][]string{"until": c.Until, "own": c.Own} {
		if err := checkPackages(flag, names); err != nil {
			return err
		}
	}
	return checkOutputs(c.outputs, report.RootCauses.Check)
}

// checkPackages reports the first value of a flag that is no package.
func checkPackages(flag string, names []string) error {
	for _, name := range names {
		if !isPackage(name) {
			return usage("--%s %q: must be a package, such as com.acme.web", flag, name)
		}
	}
	return nil
}

// isPackage reports whether a text can be a package or the beginning of one, with or
// without the stars of a pattern at the end.
func isPackage(name string) bool {
	name = strings.TrimRight(name, ".*")
	return name != "" && !strings.ContainsAny(name, " */\\();,") && !strings.Contains(name, "..") && !strings.HasPrefix(name, ".")
}

const walkLong = `Find the methods in which a running program spends its time, and search upwards from each
one for its cause: level by level, with hooks in a few methods at a time.

Hot spots are found by sampling, without changing the program: by the kernel, which the JVM
does not notice, or where that is not allowed by the flight recorder or by thread dumps, as
sonde hot does (--sampler). A method is a hot spot if its share of the samples is at least
--hot; if no method is, the --top hottest are used. Thread dumps do not show which overload
of a method runs, so overloaded methods get no hook then.

The search starts with a hook in the hot method that identifies its callers. Then its
callers in the program's own packages (see below) are measured for a --period: their calls
and times, by caller. Then the search goes on with their callers, up to the entry of a thread,
a package of --until, or --levels. All own methods that sampled stacks show get their hooks
in one batch, switched off. To move up a level, Sonde switches the hooks of the next level on
and the hooks below it off. At most --hooks are on at once, within the --budget. Library
methods get hooks only where stacks are cut off. Only callers that no stack has shown need
another batch. If the hot method is native, or changing its class
would cost more work than the budget allows, it gets no hook: the search starts one level
up, and the report says so. On JDKs before 21 the first hook makes HotSpot discard all
compiled code; in a large program that alone is too much, so there are no hooks, and all
shares come from samples. At the end, all hooks are removed in one batch.

A share is the part of the hot spot's time that came from a caller, with its source: by
hooks, by samples, or computed from both. The report starts with the cause: the method
nearest to the hot spot, in the program's own packages, through which at least half of that
time came. Own packages are guessed from the main class, the main jar, the
folders on the class path and jars of the same Maven group, without known libraries; the
report shows them, and --own names others.

With --duration the command continues: hot spots that are no longer hot are dropped, and
the callers of new ones are searched. Ctrl-C ends it at any time and prints the result so
far.

A period is '1000 calls' of each method, or 5s; --period '500 calls' --period 2s ends
with the first of both. If only a number of calls is given, Sonde waits for them for one
minute at most.

The report is printed at the end. -o also writes it to files, in the format of their
names: .html for a browser, with the search drawn over time, .pb.gz for go tool pprof,
.json for other programs (docs/formats/climb.md), .txt.`

func (c *walkCommand) run(ctx context.Context) error {
	defer ignoreBrokenPipe()()
	view := &walkView{walkCommand: c, progressView: newBulletin(c.streams, c.json), level: -1}
	c.Notice, c.Progress, c.Waiting, c.In = view.remark, view.progress, view.waiting, c.sessions()
	c.Share = &overhead.Share{}
	c.reportCost(c.Share.Spent)
	result, err := withProgress(view.progressView, &c.cache, func(opened *cache.Cache) (*rootcause.Climb, error) {
		c.Cache = opened
		return c.climb(ctx, c.Options)
	})
	if result == nil {
		return interruption(ctx, err)
	}
	if len(result.Spots) == 0 {
		return errors.Join(c.coldError(ctx, result), err)
	}
	return errors.Join(c.write(result), err)
}

func (c *walkCommand) coldError(ctx context.Context, result *rootcause.Climb) error {
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted before a hot spot was found: no hook was installed, nothing is left in the JVM")
	case result.Sampled.Samples == 0:
		return fmt.Errorf("no thread of process %d ran in the sampled %s: search while the program works, or sample longer with --sampling", c.PID, format.Duration(c.Sampling))
	}
	return fmt.Errorf("no method was a hot spot in %s: sample longer with --sampling", format.Count(result.Sampled.Samples, "sample", "samples"))
}

func (c *walkCommand) write(result *rootcause.Climb) error {
	reportWritten, failed := c.writeOutputs(c.outputs, func(path string) error { return report.RootCauses.WriteFile(path, result) })
	defer reportWritten()
	keepFiles(c.streams, report.RootCauses, result)
	out := bufio.NewWriter(c.out) // keeps the first error until Flush
	if c.json {
		failed = errors.Join(failed, document.Write(out, document.NewRootCause(result)))
	} else {
		failed = errors.Join(failed, text.WriteRootCause(out, result, c.outWidth()))
	}
	return errors.Join(failed, out.Flush())
}

type walkView struct {
	*walkCommand
	*progressView
	stage   rootcause.Stage
	level   int
	drawnAt time.Time
}

// progress is called by the search, on its own goroutine.
func (v *walkView) progress(p rootcause.Progress) {
	v.walkCommand.ready() // the first call comes when samples are taken
	changed := p.Stage != v.stage
	risen := p.Stage == rootcause.Climbing && p.Level != v.level
	v.stage, v.level = p.Stage, p.Level
	now := time.Now()
	switch {
	case v.screen.silent:
		if v.drawnAt.IsZero() {
			v.say("%s", format.Printable(p.Climb().Own.String()))
		}
		if changed || risen || now.Sub(v.drawnAt) >= sayEvery {
			v.drawnAt = now
			v.say("%s", strings.Join(append([]string{walkHead(p)}, walkStanding(p)...), ", "))
		}
	case changed || risen || now.Sub(v.drawnAt) >= treeEvery:
		v.drawnAt = now
		v.draw(walkFrame(v.PID, p, v.screen.outWidth()))
	}
}

func walkHead(p rootcause.Progress) string {
	head := fmt.Sprintf("%s: %s", format.ShortDuration(p.Elapsed), p.Stage)
	if p.Stage == rootcause.Climbing {
		head += fmt.Sprintf(", level %d", p.Level)
	}
	return head
}

// walkStanding sums up a search in a few words each.
func walkStanding(p rootcause.Progress) (words []string) {
	so := p.Climb()
	if p.Samples > 0 {
		words = append(words, format.Count(p.Samples, "sample", "samples"))
	}
	if len(so.Spots) > 0 {
		words = append(words, format.Count(len(so.Spots), "hot spot", "hot spots"))
	}
	if so.Cost.Hooked > 0 {
		words = append(words,
			fmt.Sprintf("%d of at most %d hooks switched on", p.Live, so.Cost.LiveLimit),
			format.Count(len(so.Batches), "batch", "batches"),
			fmt.Sprintf("cost %s of %s allowed", format.Percent(so.Cost.Steady), format.Percent(so.Cost.Budget)))
	}
	return words
}

// walkFrame shows the progress, the hooks that are on, and the callers that were found.
func walkFrame(pid int, p rootcause.Progress, width int) service.Frame {
	so := p.Climb()
	live := strings.Join(liveNames(so), ", ")
	if live != "" {
		live = "live: " + live
	}
	frame := service.Frame{PID: pid, Lines: []string{walkHead(p), strings.Join(walkStanding(p), ", "), live}}
	if len(so.Spots) > 0 {
		frame.Titles, frame.Rows = text.RootCauseRows(so, width, mostTreeRows)
	}
	return frame
}

// liveNames returns the methods whose hooks are on, without their packages.
func liveNames(so *rootcause.Climb) []string {
	var names []string
	for _, e := range so.List {
		if e.State == rootcause.Watched {
			m := so.Methods[e.Method]
			names = append(names, format.Printable(m.Class[strings.LastIndexByte(m.Class, '/')+1:]+"."+m.Name))
		}
	}
	return names
}
