package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/launch"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// profiling is a `sonde profile` command line.
type profiling struct {
	streams
	profile.Options
	scheme, timing string
	budget         part
	outputs        []string
	json           bool
	top            int
	start          bool
	cache          liveCache
	roots          *pattern.Set
	words          []string // with start: the command that starts the program
	agentDir       string   // with start: for the agent's jar
}

func newProfile(s streams) *cobra.Command {
	c := &profiling{streams: s, budget: part(profile.DefaultBudget)}
	command := &cobra.Command{
		Use:   "profile PID --root PATTERN",
		Short: "Measure all that is called below a method, exactly",
		Long:  profileLong,
		Example: `  sonde profile 4711 --root com.acme.Shop.checkout
  sonde profile 4711 --root com.acme.Shop.checkout --duration 30s -o checkout.html
  sonde profile 4711 --root 'com.acme.**.handle*' --timing exact --calls 1000 -o handle.pb.gz
  sonde profile --start --root com.acme.Main.main -o main.html -- java -jar app.jar`,
		RunE: func(cmd *cobra.Command, args []string) error {
			given := func(flag string) bool { return cmd.Flags().Changed(flag) }
			if err := c.check(args, cmd.ArgsLenAtDash(), given); err != nil {
				return err
			}
			if c.start {
				return c.runStarted(cmd.Context())
			}
			return c.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.StringArrayVar(&c.Roots, "root", nil, "pattern of the methods below which is measured; may be repeated")
	flags.StringVar(&c.scheme, "scheme", "", "lazy or eager; by default what costs the program less")
	flags.StringVar(&c.timing, "timing", string(cct.Auto), "exact, sampled or auto; exact with --scheme or --start")
	flags.Var(&c.budget, "budget", "with --timing auto: the part of the program's time that may be taken")
	flags.Uint32Var(&c.Period, "period", profile.DefaultPeriod, "with --timing sampled: one call in so many is timed")
	flags.DurationVar(&c.Duration, "duration", 0, "end after this time; 0 for Ctrl-C")
	flags.Uint64Var(&c.Calls, "calls", 0, "end after so many calls of the root")
	flags.StringArrayVar(&c.Into, "into", nil, "pattern of methods to follow that would be skipped, such as the JDK's; may be repeated")
	flags.StringArrayVar(&c.Skip, "skip", nil, "pattern of methods not to follow; may be repeated")
	flags.BoolVar(&c.Whole, "whole", false, "tell of the whole run, also of the time in which it was slow by the hooks' going in")
	flags.DurationVar(&c.Wait, "wait", profile.DefaultWait, "how long a method's first call waits at most for the hooks of what it calls")
	flags.StringArrayVarP(&c.outputs, "output", "o", nil, "file to write: .html, .pb.gz, .collapsed, .json or .txt; may be repeated")
	flags.BoolVar(&c.json, "json", false, "write one JSON object to standard output instead of the report")
	flags.IntVar(&c.top, "top", 0, "show so many methods in the list; 0 for all that matter")
	c.cache.register(flags)
	flags.BoolVar(&c.Force, "force", false, "put hooks also into classes that the JDK damages by that")
	flags.BoolVar(&c.start, "start", false, "start the program with the command behind --, and measure from its beginning")
	flags.StringVar(&c.agentDir, "agent-dir", "", "with --start: "+agentDirUsage)
	return command
}

// check reads the command line; what is wrong with it is said before the JVM is
// touched.
func (c *profiling) check(args []string, dash int, given func(string) bool) error {
	if err := c.checkTarget(args, dash); err != nil {
		return err
	}
	if len(c.Roots) == 0 {
		return usage("--root PATTERN is missing: the method below which is measured")
	}
	for _, one := range []struct {
		flag     string
		patterns []string
		to       **pattern.Set
	}{{"root", c.Roots, &c.roots}, {"into", c.Into, new(*pattern.Set)}, {"skip", c.Skip, new(*pattern.Set)}} {
		if len(one.patterns) == 0 {
			continue
		}
		set, err := pattern.ParseSet(one.patterns...)
		if err != nil {
			return &usageError{fmt.Errorf("--%s: %w", one.flag, err)}
		}
		*one.to = set
	}
	if !given("timing") && (given("scheme") || c.start) {
		c.timing = string(cct.Exact)
	}
	c.Whole = c.Whole || c.start || c.Calls > 0
	c.Scheme, c.Timing, c.Budget = profile.Scheme(c.scheme), cct.Timing(c.timing), float64(c.budget)
	c.Command = commandLine("profile", c.Roots)
	switch {
	case given("scheme") && c.Scheme != profile.Lazy && c.Scheme != profile.Eager:
		return usage("--scheme %q: lazy or eager", c.scheme)
	case given("scheme") && c.Timing == cct.Auto:
		return usage("--scheme needs --timing exact or sampled: with auto the budget says when hooks go in")
	case !slices.Contains([]cct.Timing{cct.Exact, cct.Sampled, cct.Auto}, c.Timing):
		return usage("--timing %q: exact, sampled or auto", c.timing)
	case given("period") && c.Timing != cct.Sampled:
		return usage("--period needs --timing sampled")
	case c.Period < 2 || c.Period > mostPeriod:
		return usage("--period must be from 2 to %d", mostPeriod)
	case given("budget") && c.Timing != cct.Auto:
		return usage("--budget needs --timing auto")
	case c.Duration < 0:
		return usage("--duration must not be negative")
	case c.Wait <= 0 || c.Wait > mostWait:
		return usage("--wait must be more than 0 and at most %v: a call of the program may wait so long", mostWait)
	case c.top < 0:
		return usage("--top must not be negative")
	}
	return checkOutputs(c.outputs, report.ProfileFormat)
}

// mostWait bounds how long a call of a program may be kept waiting.
const mostWait = 10 * time.Second

// checkTarget reads what is to be profiled: a process, or behind -- a command.
func (c *profiling) checkTarget(args []string, dash int) (err error) {
	switch {
	case !c.start && len(args) == 0:
		return usage("PID is missing")
	case !c.start && dash >= 0 && dash < len(args):
		return usage("a command behind -- needs --start")
	case !c.start && c.agentDir != "":
		return usage("--agent-dir goes with --start")
	case !c.start && len(args) > 1:
		return usage("unexpected argument %q", args[1])
	case !c.start:
		c.PID, err = processNumber(args[0])
		return err
	case dash != 0 && len(args) > 0 && dash != len(args):
		return usage("unexpected argument %q: with --start the command that starts the program comes behind --", args[0])
	case len(args) == 0 || dash != 0:
		return usage("--start needs the command that starts the program, behind --")
	case c.json:
		return usage("--json does not go with --start, as standard output is the program's: -o FILE.json writes it")
	}
	c.words = args
	return nil
}

// A part of a whole, on the command line: 2% or 0.02.
type part float64

func (p *part) Type() string { return "part" }

func (p *part) String() string { return strconv.FormatFloat(float64(*p)*100, 'g', 6, 64) + "%" }

var errPart = errors.New("not a part of a whole")

// Set reads a part, which is more than nothing and not more than all.
func (p *part) Set(text string) error {
	digits, percent := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if percent {
		value /= 100
	}
	if err != nil || !(value > 0 && value <= 1) {
		return errPart
	}
	*p = part(value)
	return nil
}

const profileLong = `Measure all that is called, directly or not, by the methods of --root while they
run: a tree of calls and a list of methods by their own time. Hooks go only into
what can be called from there; methods called from elsewhere cost a load and a
branch. When the command ends, by Ctrl-C, --duration or --calls, all of it is
taken out again and the result stays. A Sonde that is killed leaves nothing
either: its hooks go by themselves.

Every call is counted, and counts are exact. What measuring costs is measured in
the program itself, again and again, and subtracted; ± says how far from each time
the truth may be.

Timing
  auto     counts every call of a hook and times as many as the --budget allows;
           hooks that cost most and tell least are thinned, switched off or left
           out, by name, and their time is with their callers
  exact    every call is timed
  sampled  one call in --period is timed, by chance, with its callees; times are
           estimates, marked with ~

Scheme
  lazy     what a method calls gets hooks when it is first entered, while that call
           waits, for --wait at most; calls that went on without are marked
  eager    all that can be reached gets hooks at once
The default is what costs the program less; the report says why.

The first seconds after hooks went in a program runs slower, until its compilers
have caught up: where there is enough behind it, figures are of the time since, and
the report says so. --whole has everything, --start and --calls too.

Followed are all classes but the JDK's; --into 'java.util.**' follows some of
those as well, --skip '**.Log.*' leaves some out, their time with their callers.
A root whose class is not loaded yet is caught when it loads.

With --start the command behind -- is started and measured from its first
instruction, main included: --root com.acme.Main.main. Standard output is the
program's, the report goes to standard error; Ctrl-C ends the program, and what
was measured stays. Of a command that is not java the first JVM is measured.

The report is written at the end; -o writes it to files as well, in the format
their names say: .html to look at in a browser, .pb.gz for go tool pprof,
.collapsed for flame graphs, .json for sonde diff and programs, .txt.

Patterns are those of sonde count:
  com.acme.Shop.checkout  'com.acme.**.handle*'  'com.acme.Cart.add(int, ..)'

Exit code: 0 when there is a result, 1 on an error or when the root was never
called, 2 for a wrong command line.`

func (c *profiling) run(ctx context.Context) error {
	// A program that sonde run --hold keeps from beginning begins now.
	return c.measure(ctx, func() error {
		jvm, err := inspect(c.PID)
		if err == nil {
			_, err = targetfs.LetGo(jvm)
		}
		return err
	})
}

// measure profiles a JVM and writes what came of it. begin is called when nothing
// of the root can be missed any more.
func (c *profiling) measure(ctx context.Context, begin func() error) error {
	defer outliveReader()()
	view := newProfileView(c)
	c.Notice, c.Progress, c.Unmatched, c.Waiting = view.remark, view.progress, view.unmatched, view.waiting
	c.Started = func() {
		if err := begin(); err != nil {
			view.remark(format.OneLine(err))
		}
	}
	kept, endCache, err := c.cache.openCache(view.remark)
	if err != nil {
		return err
	}
	c.Cache = kept
	result, err := profile.Run(ctx, c.Options)
	endCache()
	view.close()
	if result == nil {
		return interruption(ctx, err)
	}
	if problem := c.uncalled(result, view.last); problem != nil {
		return errors.Join(problem, err)
	}
	return errors.Join(c.write(result), err)
}

// uncalled says why there is nothing to show, where that is so.
func (c *profiling) uncalled(p *cct.Profile, last profile.Progress) error {
	if len(p.Merged.Children) > 0 {
		return nil
	}
	roots, took := strings.Join(c.Roots, ", "), format.Duration(p.Took.Round(time.Millisecond))
	for _, left := range p.LeftAlone {
		if c.isRoot(left) {
			return fmt.Errorf("%s has no hook, as %s: nothing was measured", leftName(session.LeftAlone(left)), left.Reason)
		}
	}
	if last.Hooks == 0 {
		return fmt.Errorf("no method that matches %s was loaded within %s: nothing was measured; check the pattern, or measure while it runs", roots, took)
	}
	for _, note := range p.Notes {
		if strings.HasSuffix(note, session.WhyLowerBound) {
			return fmt.Errorf("no call of %s was counted within %s; %s: take the method that calls it as root", roots, took, session.WhyLowerBound)
		}
	}
	return fmt.Errorf("%s was not called within %s: measure longer, or while it is used (calls that began before are not seen: take a method below as root)", roots, took)
}

// isRoot tells whether what was left alone is, or holds, a root.
func (c *profiling) isRoot(left cct.LeftAlone) bool {
	name, descriptor, _ := strings.Cut(left.Method, "(")
	if left.Method == "" {
		return c.roots.MatchClass(left.Class)
	}
	return c.roots.Match(left.Class, name, "("+descriptor)
}

// endingPatience is how long a program may take to end that was asked to, before
// its measuring ends without it.
const endingPatience = 3 * time.Second

// runStarted starts the program, measures it from its beginning, and stays until it
// has ended: it has this command's streams.
func (c *profiling) runStarted(ctx context.Context) error {
	program, err := launch.Start(c.words, launch.Settings{Hold: usualHold, AgentDir: c.agentDir})
	if err != nil {
		return err
	}
	defer program.PassSignals()()
	tellLaunch(c.streams, c.words)
	err = c.measureStarted(ctx, program)
	if err != nil {
		err = c.tellNow(err, program)
	}
	code := program.ExitCode()
	if !errors.As(err, new(*launch.EndedError)) { // which says it
		tellLeft(c.streams, c.words, program)
	}
	if code != 0 {
		_, _ = fmt.Fprintf(c.err, "note: the program ended with exit code %d\n", code)
	}
	return err
}

// tellNow says what went wrong while the program goes on, which may be for long.
func (c *profiling) tellNow(err error, program *launch.Program) error {
	select {
	case <-program.Ended():
		return err
	default:
	}
	_, _ = fmt.Fprintf(c.err, "sonde: %s; the program goes on\n", format.OneLine(err))
	return exitStatus(exitError)
}

func (c *profiling) measureStarted(ctx context.Context, program *launch.Program) error {
	jvm, ok := <-firstJVM(ctx, program)
	if !ok {
		return program.EndedEarly()
	}
	c.PID = jvm.PID
	letGo := func() error {
		_, err := targetfs.LetGo(jvm)
		return err
	}
	// What asks this command to end is passed on to the program, and its end is
	// that of the run; only one that goes on nevertheless is left.
	measuring, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	asked := context.AfterFunc(ctx, func() { time.AfterFunc(endingPatience, abandon) })
	defer asked()
	err := c.measure(measuring, letGo)
	if err != nil {
		_ = letGo() // whatever failed, the program is not to wait for it
	}
	return err
}
