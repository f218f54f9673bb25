package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/json"
	"github.com/sonde-jvm/sonde/internal/report/text"
)

// walking is a `sonde walk` command line.
type walking struct {
	streams
	rootcause.Options
	hot, budget part
	period      period
	outputs     []string
	cache       liveCache
	source      sourceFlags
	json        bool
	climb       func(context.Context, rootcause.Options) (*rootcause.Climb, error)
}

func newWalk(s streams) *cobra.Command {
	c := &walking{streams: s, Options: rootcause.Defaults(), climb: rootcause.Run}
	c.hot, c.budget = part(c.Hot), part(c.Budget)
	c.period = period{calls: c.PeriodCalls, time: c.PeriodTime}
	command := &cobra.Command{
		Use:   "walk PID",
		Short: "Find hot spots, and climb to who causes them",
		Long:  walkLong,
		Example: `  sonde walk 4711
  sonde walk 4711 --hot 10% -o causes.html
  sonde walk 4711 --until com.acme.web --levels 12
  sonde walk 4711 --period '200 calls' --period 2s --hooks 4 --budget 1%
  sonde walk 4711 --duration 5m -o walk.json`,
		Args: exactly("PID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(args, func(flag string) bool { return cmd.Flags().Changed(flag) }); err != nil {
				return err
			}
			return c.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.Var(&c.hot, "hot", "share of the samples from which on a method is a hot spot")
	flags.IntVar(&c.Top, "top", c.Top, "how many methods are climbed from where none is that hot")
	flags.Var(&c.period, "period", "how long a method is measured: '1000 calls', 5s, or both, whichever comes first")
	flags.IntVar(&c.Levels, "levels", c.Levels, "how many levels to climb at most")
	flags.StringSliceVar(&c.Until, "until", nil, "package at whose first method a way up ends; may be repeated")
	flags.IntVar(&c.Hooks, "hooks", c.Hooks, "how many methods may have live hooks at any moment")
	flags.Var(&c.budget, "budget", "the part of the program's time that live hooks may take")
	flags.DurationVar(&c.Sampling, "sampling", c.Sampling, "how long to look for hot spots before the first climb")
	flags.DurationVar(&c.Duration, "duration", 0, "go on for this time, and climb from hot spots that join; 0 ends with the first climb")
	c.source.register(flags)
	c.cache.register(flags)
	flags.BoolVar(&c.Force, "force", false, "put hooks also into classes that the JDK damages by that")
	flags.StringArrayVarP(&c.outputs, "output", "o", nil, "file to write: .html, .pb.gz, .json or .txt; may be repeated")
	flags.BoolVar(&c.json, "json", false, "write one JSON object to standard output instead of the report")
	return command
}

// mostHooks bounds what may be live at once: a walk is to be light.
const mostHooks = 256

// check reads the command line; what is wrong with it is said before the JVM is
// touched.
func (c *walking) check(args []string, given func(string) bool) (err error) {
	if c.PID, err = processNumber(args[0]); err != nil {
		return err
	}
	c.Hot, c.Budget = float64(c.hot), float64(c.budget)
	c.PeriodCalls, c.PeriodTime = c.period.calls, c.period.time
	c.Command = commandLine("walk", args)
	if c.Source, err = c.source.choose(); err != nil {
		return err
	}
	switch {
	case c.Top < 1:
		return usage("--top must be 1 at least")
	case c.Levels < 1:
		return usage("--levels must be 1 at least")
	case c.Hooks < 1 || c.Hooks > mostHooks:
		return usage("--hooks must be from 1 to %d", mostHooks)
	case c.Sampling <= 0:
		return usage("--sampling must be more than 0")
	case c.Duration < 0:
		return usage("--duration must not be negative")
	case given("duration") && c.Duration < c.Sampling:
		return usage("--duration must be at least as long as --sampling, which is %v", c.Sampling)
	}
	for _, name := range c.Until {
		if !isPackage(name) {
			return usage("--until %q is no package: such as com.acme.web", name)
		}
	}
	return checkOutputs(c.outputs, report.RootCauseFormat)
}

// isPackage tells whether a text can name a package; what it begins with will do, as
// will the stars of a pattern behind it.
func isPackage(name string) bool {
	name = strings.TrimRight(name, ".*")
	return name != "" && !strings.ContainsAny(name, " */\\();,") && !strings.Contains(name, "..") && !strings.HasPrefix(name, ".")
}

const walkLong = `Find the methods in which a running program spends its time, and climb from each to
who causes that: level by level, with a hook in a few methods at a time.

Hot spots are found by sampling, with nothing changed in the program: the flight
recorder is started over the attach socket, as sonde hot does, and left alone where
somebody else records. A method is a hot spot from --hot on; where none is, the --top
hottest are taken.

On JDK 17 to 20 starting the recorder makes HotSpot discard all compiled code, so there
Sonde takes thread dumps. These do not say which overload of a method runs, so no hook
is put in and all shares are by samples; --recorder starts the recorder all the same.

The climb begins with a hook in the hot method that identifies who calls it. Then its
callers are measured for a --period, calls and time by caller; then theirs, until a
thread's entry, a package of --until, or --levels. What the samples' stacks show of
the way up is hooked in one batch, switched off, so that climbing is switching: the
hooks behind go off when the next go on, never more than --hooks at once, and within
the --budget. Only a caller that no stack had shown needs another batch. A hot method
that is native, or whose class is too central to be redefined cheaply, has no hook:
the climb begins one level up, and says so. At the end all hooks go out in one batch.

A share is the part of the hot spot's time that came a way; how it is known stands
beside it: by hooks, by samples, or reckoned from both. The report begins with the
cause: the lowest method of the program itself, not of the JDK, on the main way.

With --duration it goes on looking: hot spots that cool down are dropped, new ones
join and are climbed from. Ctrl-C ends it at any time; what was found stays.

A period: '1000 calls' of each method, or 5s; --period '500 calls' --period 2s is
whichever comes first. A time alone is a time; a number of calls alone is waited for
a minute at most.

The report is written at the end; -o writes it to files as well, in the format their
names say: .html to look at in a browser, with the climb drawn over time, .pb.gz for
go tool pprof, .json for programs (docs/formats/climb.md), .txt.

Exit code: 0 when a hot spot was found, 1 on an error or when there was none, 2 for a
wrong command line.`

// A period is how long a method is measured, on the command line: '1000 calls', 5s,
// or both, whichever comes first. What is given takes the place of the default; a
// number of calls alone still has a limit in time, as calls may never come.
type period struct {
	calls uint64
	time  time.Duration
	given bool
}

// callsLimit is how long a method is waited for whose calls alone were asked for.
const callsLimit = time.Minute

func (p *period) Type() string { return "period" }

func (p *period) String() string {
	var parts []string
	if p.calls > 0 && p.calls < math.MaxUint64 {
		parts = append(parts, strconv.FormatUint(p.calls, 10)+" calls")
	}
	if p.time > 0 {
		parts = append(parts, p.time.String())
	}
	return strings.Join(parts, ", ")
}

var errPeriod = errors.New("no period")

// Set reads one bound, or two with a comma or a bar between.
func (p *period) Set(text string) error {
	next := *p
	if !p.given {
		next = period{calls: math.MaxUint64, time: callsLimit, given: true}
	}
	bounds := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '|' })
	if len(bounds) == 0 {
		return errPeriod
	}
	for _, bound := range bounds {
		if err := next.bound(strings.TrimSpace(bound)); err != nil {
			return err
		}
	}
	*p = next
	return nil
}

func (p *period) bound(text string) error {
	digits, isCalls := strings.CutSuffix(text, "calls")
	if !isCalls {
		digits, isCalls = strings.CutSuffix(text, "call")
	}
	if isCalls {
		calls, err := strconv.ParseUint(strings.ReplaceAll(strings.TrimSpace(digits), "_", ""), 10, 64)
		if err != nil || calls == 0 {
			return errPeriod
		}
		p.calls = calls
		return nil
	}
	lasting, err := time.ParseDuration(text)
	if err != nil || lasting <= 0 {
		return errPeriod
	}
	p.time = lasting
	return nil
}

// run walks, shows how that goes, and writes what was found.
func (c *walking) run(ctx context.Context) error {
	defer outliveReader()()
	view := newWalkView(c)
	c.Notice, c.Progress, c.Waiting = view.remark, view.progress, view.waiting
	kept, endCache, err := c.cache.openCache(view.remark)
	if err != nil {
		return err
	}
	c.Cache = kept
	result, err := c.climb(ctx, c.Options)
	endCache()
	view.close()
	if result == nil {
		return interruption(ctx, err)
	}
	if len(result.Spots) == 0 {
		return errors.Join(c.coldError(ctx, result), err)
	}
	return errors.Join(c.write(result), err)
}

// coldError says why there is nothing to show.
func (c *walking) coldError(ctx context.Context, result *rootcause.Climb) error {
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted before a hot spot was found: no hook was put in, nothing is left behind")
	case result.Sampled.Samples == 0:
		return fmt.Errorf("no thread of process %d ran while %s were sampled: walk while it works, or longer with --sampling", c.PID, format.Duration(c.Sampling))
	}
	return fmt.Errorf("no hot spot among %s: sample longer with --sampling", format.Count(result.Sampled.Samples, "sample", "samples"))
}

// write writes the result to where it was asked for.
func (c *walking) write(result *rootcause.Climb) error {
	tell, failed := c.writeOutputs(c.outputs, func(path string) error { return report.WriteRootCauseFile(path, result) })
	defer tell()
	out := bufio.NewWriter(c.out) // keeps the first error until Flush
	if c.json {
		failed = errors.Join(failed, json.WriteRootCause(out, result))
	} else {
		failed = errors.Join(failed, text.WriteRootCause(out, result, c.outWidth()))
	}
	return errors.Join(failed, out.Flush())
}

// A walkView shows a walk to the user while it goes on.
type walkView struct {
	*walking
	*bulletin
	stage   rootcause.Stage
	level   int
	drawnAt time.Time
}

func newWalkView(c *walking) *walkView {
	return &walkView{walking: c, bulletin: newBulletin(c.streams, c.json), level: -1}
}

// progress is told by the walk how far it is, on the walk's own goroutine.
func (v *walkView) progress(p rootcause.Progress) {
	changed := p.Stage != v.stage
	risen := p.Stage == rootcause.Climbing && p.Level != v.level
	v.stage, v.level = p.Stage, p.Level
	now := time.Now()
	switch {
	case v.screen.silent:
		if changed || risen || now.Sub(v.drawnAt) >= sayEvery {
			v.drawnAt = now
			v.say("%s", strings.Join(append([]string{walkHead(p)}, walkStanding(p)...), ", "))
		}
	case changed || risen || now.Sub(v.drawnAt) >= treeEvery:
		v.drawnAt = now
		width, height := v.screen.size()
		v.draw(walkLines(p, width, height))
	}
}

// walkHead is what a walk is doing.
func walkHead(p rootcause.Progress) string {
	head := fmt.Sprintf("%s: %s", format.ShortDuration(p.Elapsed), p.Stage)
	if p.Stage == rootcause.Climbing {
		head += fmt.Sprintf(", level %d", p.Level)
	}
	return head
}

// walkStanding is how a walk stands, in a few words each.
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
			fmt.Sprintf("%d of %d hooks live", p.Live, so.Cost.LiveLimit),
			format.Count(len(so.Batches), "batch", "batches"),
			fmt.Sprintf("cost %s of %s allowed", format.Percent(so.Cost.Steady), format.Percent(so.Cost.Budget)))
	}
	return words
}

// walkLines are what fits a terminal of a walk: how it stands, which hooks are on,
// and the ways up that were found.
func walkLines(p rootcause.Progress, width, height int) []string {
	const around = 6 // head, standing, live, blank, titles, the line of the cursor
	so := p.Climb()
	lines := []string{format.Cut(walkHead(p), width), format.Cut(strings.Join(walkStanding(p), ", "), width)}
	if live := liveNames(so); len(live) > 0 {
		lines = append(lines, format.Cut("live: "+strings.Join(live, ", "), width))
	} else {
		lines = append(lines, "")
	}
	if len(so.Spots) > 0 {
		lines = append(lines, "")
		lines = append(lines, text.RootCauseLines(so, width, max(1, height-around+1))...)
	}
	return lines[:max(0, min(len(lines), height-1))]
}

// liveNames are the methods whose hooks are on, without their packages.
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
