package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/launch"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/text"
	"github.com/sonde-jvm/sonde/internal/service"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

type profileCommand struct {
	streams
	profile.Options
	outputs  []string
	json     bool
	top      int
	start    bool
	cache    cacheFlags
	settle   settleFlags
	hooks    bool
	roots    *pattern.Set
	words    []string // with start: the command that starts the program
	agentDir string   // with start: for the agent's jar

	categories []string // whose calls are roots, too
}

func newProfile(s streams) *cobra.Command {
	c := &profileCommand{streams: s}
	command := &cobra.Command{
		Use:   "profile PID --root PATTERN",
		Short: "Measure everything that a method calls, exactly",
		Long:  profileLong,
		Example: `  sonde profile 4711 --root com.acme.Shop.checkout
  sonde profile 4711 --root com.acme.Shop.checkout --duration 30s -o checkout.html
  sonde profile 4711 --category web --duration 30s -o requests.html
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
			if c.Timing != cct.Auto || c.hooks {
				if err := c.acceptLoss(cmd.Context(), c.PID, &c.settle); err != nil {
					return err
				}
			}
			if done, err := c.delegate(cmd, args); done || err != nil {
				return err
			}
			return c.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.StringArrayVar(&c.Roots, "root", nil, "pattern of the methods whose calls are measured; may be repeated")
	registerCategories(flags, &c.categories, "measure calls of these `CATEGORIES`, as sonde calls knows them; incoming ones, if there are any")
	flags.Var(oneOf(&c.Scheme, "", "lazy", "eager"), "scheme", "lazy or eager; the default is the one that costs the program less")
	flags.Var(oneOf(&c.Timing, cct.Auto, "exact", "sampled", "auto", "stacks"), "timing", "exact, sampled, auto or stacks; exact with --scheme or --start")
	flags.Var(share(&c.Budget, profile.DefaultBudget), "budget", "with --timing auto: share of the program's processor time that measuring may cost")
	flags.Var(oneIn(&c.Period, profile.DefaultPeriod), "sample", "with --timing sampled, which it implies: time one call in N, chosen at random")
	formerPeriod(command, &c.Period)
	flags.VarP(span(&c.Duration, 0, 0, 0), "duration", "d", "end after this time with the same hooks, at most --settle later; 0 continues until Ctrl-C")
	flags.Uint64Var(&c.Calls, "calls", 0, "end after `N` calls of the root")
	flags.StringArrayVar(&c.Into, "into", nil, "pattern of methods to follow that are skipped by default, such as those of the JDK; may be repeated")
	flags.StringArrayVar(&c.Skip, "skip", nil, "pattern of methods not to follow; may be repeated")
	flags.BoolVar(&c.HandOff, "hand-off", true, "follow work that is handed to other threads: to executors, CompletableFutures and new threads")
	c.settle.register(flags)
	flags.BoolVar(&c.hooks, "hooks", false, "with --timing auto: put hooks in even if that costs the program more than the budget")
	flags.BoolVar(&c.Whole, "whole", false, "report the whole run, including the time in which new hooks made it slow")
	flags.Var(span(&c.Wait, profile.DefaultWait, positive, mostWait), "wait", "how long the first call of a method waits at most for the hooks of its callees")
	flags.StringArrayVarP(&c.outputs, "output", "o", nil, "file to write: .html, .pb.gz, .collapsed, .otlp.json, .json or .txt; may be repeated")
	flags.BoolVar(&c.json, "json", false, "write one JSON object to standard output instead of the report")
	flags.VarP(number(&c.top, 0, 0, 0), "top", "n", "show at most `N` methods in the list; 0 shows all that matter")
	c.cache.register(flags)
	flags.BoolVar(&c.Force, "force", false, forceUsage)
	flags.BoolVar(&c.start, "start", false, "start the program with the command after --, and measure from its beginning")
	flags.StringVar(&c.agentDir, "agent-dir", "", "with --start: "+agentDirUsage)
	return command
}

func (c *profileCommand) check(args []string, dash int, given func(string) bool) error {
	if err := c.checkTarget(args, dash); err != nil {
		return err
	}
	roots, err := categoryRoots(c.categories)
	if err != nil {
		return err
	}
	for _, root := range roots {
		if !slices.Contains(c.Roots, root) {
			c.Roots = append(c.Roots, root)
		}
	}
	if len(c.Roots) == 0 {
		return usage("--root PATTERN is missing: name the method whose calls are measured")
	}
	if c.roots, err = pattern.ParseSet(c.Roots...); err != nil {
		return usage("--root: %w", err)
	}
	if _, err := pattern.ParseAll(c.Into...); err != nil {
		return usage("--into: %w", err)
	}
	if _, err := pattern.ParseAll(c.Skip...); err != nil {
		return usage("--skip: %w", err)
	}
	isSampled := given("sample") || given("period")
	switch {
	case given("timing"):
	case isSampled && c.Period > 1:
		c.Timing = cct.Sampled
	case isSampled:
		c.Timing = cct.Exact
	case given("scheme") || c.start:
		c.Timing = cct.Exact
	}
	c.Whole = c.Whole || c.start || c.Calls > 0
	var words []string
	for _, root := range c.Roots {
		words = append(words, "--root", root)
	}
	c.Command = commandLine("profile", words)
	switch {
	case given("scheme") && c.Timing == cct.Auto:
		return usage("--scheme needs --timing exact or sampled: with auto, the budget decides when hooks are installed")
	case c.Timing == cct.Stacks && (c.Calls > 0 || c.start):
		return usage("--timing stacks counts no calls, and cannot be used with --calls or --start")
	case given("hooks") && c.Timing != cct.Auto:
		return usage("--hooks needs --timing auto")
	case isSampled && c.Period > 1 && c.Timing != cct.Sampled:
		return usage("--sample needs --timing sampled")
	case given("budget") && c.Timing != cct.Auto:
		return usage("--budget needs --timing auto")
	}
	return checkOutputs(c.outputs, report.Profiles.Check)
}

// mostWait bounds how long a call of a program may be kept waiting.
const mostWait = 10 * time.Second

// checkTarget reads what to profile: a process, or a command after --.
func (c *profileCommand) checkTarget(args []string, dash int) (err error) {
	switch {
	case !c.start && len(args) == 0:
		return usage("PID is missing")
	case !c.start && dash >= 0 && dash < len(args):
		return usage("a command after -- needs --start")
	case !c.start && c.agentDir != "":
		return usage("--agent-dir needs --start")
	case !c.start && len(args) > 1:
		return usage("unexpected argument %q", args[1])
	case !c.start:
		c.PID, err = processNumber(args[0])
		return err
	case dash != 0 && len(args) > 0 && dash != len(args):
		return usage("unexpected argument %q: with --start, the command that starts the program comes after --", args[0])
	case len(args) == 0 || dash != 0:
		return usage("--start needs the command that starts the program, after --")
	case c.json:
		return usage("--json cannot be used with --start, because standard output belongs to the program: use -o FILE.json")
	}
	c.words = args
	return nil
}

const profileLong = `Measure everything that the methods of --root call, directly or indirectly, while they
run. The result is a tree of calls and a list of methods by their own time. Only
methods that can be called from a root get hooks; calls of them from elsewhere cost a
load and a branch. When the command ends, by Ctrl-C, --duration or --calls, it removes
all hooks and prints the result. If Sonde is killed, the agent removes the hooks.

Every call is counted, and counts are exact. The cost of measuring is itself measured
repeatedly in the program and subtracted; ± is the remaining uncertainty of a time.

Timing
  auto     counts every call of a hook and times as many as the --budget allows. The
           hooks that cost most and show least are thinned out, switched off or
           removed, and listed. Before JDK 21 the first change of a class makes HotSpot
           discard all compiled code. If that costs more than the budget, there are no
           hooks, as with stacks; --hooks puts them in anyway
  exact    every call is timed
  sampled  one call in N (--sample 1/N), chosen at random, is timed with its callees; times
           are estimates, marked with ~
  stacks   no hooks, and nothing enters the program: the kernel samples the stacks of its
           threads; times are estimates, and calls are not counted

While hooks measure, the kernel samples stacks as well. They show, marked with ~, how the
time of a method is divided among callees without hooks, and what threads wait for. The
total of a method with a hook is what the hook has measured.

Work that a call hands to executors, CompletableFutures, virtual threads or threads that it
starts is shown below that call, marked [on another thread]. Its time is not part of that
of the call, which may wait for it or not.

Scheme
  lazy     the callees of a method get hooks when it is first entered; this first call
           waits for them, at most for --wait; calls that did not wait are marked
  eager    all methods that can be reached get hooks at once
The default is the one that costs the program less; the report says why.

A program runs slower for some seconds after hooks went in, until the JIT compilers have
caught up. If the run is long enough, the figures are those of the time after that, and
the report says so. --whole, --start and --calls report the whole run.

All classes except those of the JDK are followed. --into 'java.util.**' follows some of
the JDK as well. --skip '**.Log.*' skips methods; their time is included in that of their
callers. If the class of a root is not loaded yet, it gets its hook when it loads.

With --start, the command after -- is started and measured from its first instruction,
including main: --root com.acme.Main.main. Standard output belongs to the program; the
report goes to standard error. Ctrl-C ends the program, and the result is still printed.
If the command is not java, the first JVM that it starts is measured.

The report is printed at the end. -o also writes it to files, in the format of their
names: .html for a browser, .pb.gz for go tool pprof, .collapsed for flame graphs,
.otlp.json for OpenTelemetry, .json for sonde diff and other programs, .txt.

Patterns are those of sonde count:
  com.acme.Shop.checkout  'com.acme.**.handle*'  'com.acme.Cart.add(int, ..)'`

func (c *profileCommand) run(ctx context.Context) error {
	jvm, err := inspect(c.PID)
	if err != nil {
		return err
	}
	return c.measure(ctx, jvm)
}

func (c *profileCommand) measure(ctx context.Context, jvm *process.JVM) error {
	defer ignoreBrokenPipe()()
	c.PID, c.NeedsHooks = jvm.PID, c.hooks || c.Calls > 0
	if c.settle.isUsed() {
		c.Settle, c.Spare = c.settle.limit, !c.NeedsHooks
	}
	// A program that is started writes to the terminal as well.
	view := &profileView{profileCommand: c, progressView: newBulletin(c.streams, c.start || c.json), began: time.Now()}
	c.Notice, c.Progress, c.Unmatched, c.Waiting, c.In = view.remark, view.progress, view.unmatched, view.waiting, c.sessions()
	c.Stacks = true
	c.Share = &overhead.Share{}
	c.reportCost(c.Share.Spent)
	c.Started = func() {
		// No call of the root can be missed any more: a program that waits for Sonde begins.
		if err := letGo(jvm); err != nil {
			view.remark(format.OneLine(err))
		}
		c.ready()
	}
	running, giveUp := context.WithCancel(ctx)
	defer giveUp()
	view.giveUp = giveUp
	result, err := withProgress(view.progressView, &c.cache, func(opened *cache.Cache) (*cct.Profile, error) {
		c.Cache = opened
		return profile.Run(running, c.Options)
	})
	if view.missing != nil {
		return errors.Join(view.missing, err)
	}
	if result == nil {
		return interruption(ctx, err)
	}
	if problem := c.uncalled(result, view.last); problem != nil {
		return errors.Join(problem, err)
	}
	return errors.Join(c.write(result), err)
}

func (c *profileCommand) uncalled(p *cct.Profile, last profile.Progress) error {
	if len(p.Merged.Children) > 0 {
		return nil
	}
	roots, took := strings.Join(c.Roots, ", "), format.Duration(p.Took.Round(time.Millisecond))
	for _, left := range p.LeftAlone {
		if c.isRoot(left) {
			return fmt.Errorf("%s has no hook (%s): nothing was measured", text.LeftName(left), left.Reason)
		}
	}
	if p.Timing == cct.Stacks {
		err := fmt.Errorf("no sampled stack had %s on it within %s: check the pattern, or measure while the method is used", roots, took)
		if len(p.Notes) > 0 { // such as why there are no hooks
			err = fmt.Errorf("%w; %s", err, p.Notes[0])
		}
		return err
	}
	if last.Hooks == 0 {
		return fmt.Errorf("no method that matches %s was loaded within %s: nothing was measured; check the pattern, or measure while the method is used", roots, took)
	}
	for _, note := range p.Notes {
		if strings.HasSuffix(note, session.WhyLowerBound) {
			return fmt.Errorf("no call of %s was counted within %s; %s: use its caller as root", roots, took, session.WhyLowerBound)
		}
	}
	return fmt.Errorf("%s was not called within %s: measure longer, or while it is used; to see calls that began earlier, give --root a method that it calls", roots, took)
}

// isRoot reports whether a root got no hook.
func (c *profileCommand) isRoot(left cct.LeftAlone) bool {
	name, descriptor, _ := strings.Cut(left.Method, "(")
	if left.Method == "" {
		return c.roots.MatchClass(left.Class)
	}
	return c.roots.Match(classfile.MethodRef{Class: left.Class, Name: name, Descriptor: "(" + descriptor})
}

// endingPatience is how long a program may take to end after a signal before the
// measurement ends without it.
const endingPatience = 3 * time.Second

// runStarted starts the program, measures it from its beginning, and waits until it has
// ended, because it uses the streams of this command.
func (c *profileCommand) runStarted(ctx context.Context) error {
	program, reportLeft, err := startProgram(c.streams, c.words, launch.Settings{Hold: usualHold, AgentDir: c.agentDir})
	if err != nil {
		return err
	}
	defer program.PassSignals()()
	err = withFirstJVM(ctx, program, c.measure)
	if err != nil {
		err = c.reportNow(err, program)
	}
	code := program.ExitCode()
	if !errors.As(err, new(*launch.EndedError)) { // which says it
		reportLeft()
	}
	if code != 0 {
		_, _ = fmt.Fprintf(c.err, "note: the program ended with exit code %d\n", code)
	}
	return err
}

// reportNow reports an error at once if the program continues.
func (c *profileCommand) reportNow(err error, program *launch.Program) error {
	select {
	case <-program.Ended():
		return err
	default:
	}
	_, _ = fmt.Fprintf(c.err, "sonde: %s; the program continues without Sonde\n", format.OneLine(err))
	return exitStatus(exitError)
}

type profileView struct {
	*profileCommand
	*progressView
	last    profile.Progress // the last progress
	began   time.Time
	stage   profile.Stage
	drawnAt time.Time
	tree    *cct.Profile
	missing error  // no root exists
	giveUp  func() // ends the run then
}

const (
	// treeEvery is how often the tree is built, on the goroutine of the run.
	treeEvery = 500 * time.Millisecond
	// sayEvery is how often a line reports the progress if no terminal is there.
	sayEvery = 5 * time.Second
)

// unmatched says why there is no root yet. In a program that is starting there can be none.
func (v *profileView) unmatched(lost []session.Unmatched) {
	isWaitedFor := func(l session.Unmatched) bool { return !l.IsMissing }
	if len(lost) == len(v.roots.Includes()) && !slices.ContainsFunc(lost, isWaitedFor) {
		v.missing = missingError(lost)
		v.giveUp()
		return
	}
	v.say("waiting for classes to load%s", v.howToEnd())
	if v.start {
		return
	}
	for _, one := range lost {
		v.remark(lostText(one, "; a class that loads later gets its hooks then"))
	}
	if len(lost) == 0 {
		v.remark(fmt.Sprintf("%s matches loaded classes, but no method with code in them%s",
			strings.Join(v.Roots, ", "), advice(v.roots.Includes())))
	}
}

// progress is called by the run, on its own goroutine.
func (v *profileView) progress(p profile.Progress) {
	if p.Stage == profile.Leaving || p.Stage == profile.Recovering {
		p.RootCalls, p.Waited, p.Steady = v.last.RootCalls, v.last.Waited, v.last.Steady
	}
	changed := p.Stage != v.stage
	v.last, v.stage = p, p.Stage
	if changed {
		v.sayStage(p)
	}
	now := time.Now()
	switch {
	case v.screen.silent:
		if (p.Stage == profile.Running || p.Stage == profile.Waiting) && now.Sub(v.drawnAt) >= sayEvery {
			if !v.drawnAt.IsZero() {
				v.say("%s: %s", format.Duration(p.Elapsed.Round(time.Second)), strings.Join(standing(p), ", "))
			}
			v.drawnAt = now
		}
	case changed || now.Sub(v.drawnAt) >= treeEvery:
		if p.Tree != nil {
			if tree, err := p.Tree(); err == nil {
				v.tree = tree // the end reports errors
			}
		}
		v.drawnAt = now
		v.draw(profileFrame(v.PID, p, v.tree, strings.Join(v.Roots, ", "), v.screen.outWidth()))
	}
}

func (v *profileView) sayStage(p profile.Progress) {
	switch p.Stage {
	case profile.Reading:
		v.say("attached to %d in %s, reading its classes", v.PID, format.Duration(time.Since(v.began)))
	case profile.Weaving:
		v.sayAside("read %s, installing hooks", format.Count(p.Mirrored, "class", "classes"))
	case profile.Running:
		if p.Timing == cct.Stacks {
			v.say("sampling the stacks of %d%s", v.PID, v.howToEnd())
			return
		}
		v.say("hooks in %s of %s%s, %s%s%s", format.Count(p.Hooks, "method", "methods"), format.Count(p.Classes, "class", "classes"), wovenText(p.Woven, p.Cached, v.Cache != nil),
			format.Count(p.Rounds, "round", "rounds"), pauseText(p.Pause), v.howToEnd())
	case profile.Leaving:
		v.sayAside("removing the hooks")
	case profile.Recovering:
		v.sayAside("the hooks are removed, HotSpot is recompiling what that discarded")
	}
}

// howToEnd says how to end a run without a limit.
func (v *profileView) howToEnd() string {
	if v.Duration > 0 || v.Calls > 0 || v.start {
		return ""
	}
	return "; Ctrl-C ends it and shows the result"
}

func pauseText(pause time.Duration) string {
	if pause == 0 {
		return ""
	}
	return ", pause " + format.Duration(pause)
}

// standing sums up a run in a few words each.
func standing(p profile.Progress) []string {
	if p.Timing == cct.Stacks {
		return []string{"no hooks", "sampled stacks only"}
	}
	words := []string{
		format.Count(int(p.RootCalls), "root call", "root calls"),
		fmt.Sprintf("hooks in %s of %s", format.Count(p.Hooks, "method", "methods"), format.Count(p.Classes, "class", "classes")),
		format.Count(p.Rounds, "round", "rounds"),
	}
	if p.Steady >= 0 && !math.IsNaN(p.Steady) {
		text := "cost " + format.Percent(p.Steady)
		if p.Budget > 0 {
			text += fmt.Sprintf(" of %s allowed", format.Percent(p.Budget))
		}
		words = append(words, text)
	}
	if p.Wanted > 0 {
		words = append(words, fmt.Sprintf("%s of %s with the same hooks", format.ShortDuration(p.Steadily), format.ShortDuration(p.Wanted)))
	}
	if p.Waited > 0 {
		words = append(words, "waited "+format.Duration(p.Waited))
	}
	if p.Settling != nil {
		words = append(words, fmt.Sprintf("HotSpot is recompiling what weaving discarded: %v", p.Settling))
	}
	return words
}

var (
	profileColumns = format.Columns(">TOTAL", ">", ">SELF", ">CALLS", "METHOD")
	// profileExpendable are the columns that a narrow terminal drops, in this order.
	profileExpendable = []string{"CALLS", "SELF"}
)

// profileFrame shows the progress, and the nodes of the tree that took longest.
func profileFrame(pid int, p profile.Progress, tree *cct.Profile, roots string, width int) service.Frame {
	head := string(p.Stage)
	if p.Elapsed > 0 {
		head += " for " + format.ShortDuration(p.Elapsed)
	}
	if p.Stage == profile.Leaving || p.Stage == profile.Recovering {
		head = string(p.Stage)
	}
	head += ", below " + format.Printable(roots)
	if tree != nil {
		p.RootCalls = tree.Merged.Roots().Calls // those that the rows count
	}
	frame := service.Frame{PID: pid, Lines: []string{head, strings.Join(standing(p), ", ")}}
	if tree != nil && len(tree.Merged.Children) > 0 {
		frame.Titles, frame.Rows = treeRows(tree, width, mostTreeRows)
	}
	return frame
}

// treeRows returns the longest nodes of a tree as a table.
func treeRows(p *cct.Profile, width, most int) (titles string, shownRows []format.Row) {
	shown, partly, names := text.Longest(p.Merged, most), p.Partly(), cct.Names(p.Methods)
	lines := text.TreeLines(p.Merged, false, func(n *cct.Node) bool { return shown[n] })
	var rows [][]string
	for _, l := range lines {
		texts := append(nodeTexts(p, l.Node), names[l.Node.Method])
		if _, is := partly[l.Node.Method]; is {
			texts[len(texts)-1] += " [partly]" // its hook was on for a part of the time
		}
		if l.Node.Handed {
			texts[len(texts)-1] += " [" + text.OnOtherThread + "]"
		}
		rows = append(rows, texts)
	}
	columns, rows := format.FitTable(profileColumns, rows, profileExpendable, width)
	used := format.SpaceBefore(columns, rows)
	for i, row := range rows {
		last := len(row) - 1
		row[last] = lines[i].Branches + format.KeepEnd(row[last], width, used+utf8.RuneCountInString(lines[i].Branches))
	}
	return format.TableRows(columns, rows, 0, func(i int, row *format.Row) {
		row.Method, row.Depth = p.Methods[lines[i].Node.Method].String(), lines[i].Depth
	})
}

func nodeTexts(p *cct.Profile, n *cct.Node) []string {
	total, share, self, calls := "-", "", "-", "-"
	if n.Total.Nanos > 0 {
		total = text.About(n) + format.Nanos(n.Total.Nanos)
		share = fmt.Sprintf("%.0f %%", 100*n.Total.Nanos/p.Merged.Total.Nanos)
	}
	if n.Known() {
		self = text.AboutSelf(n) + format.Nanos(n.Self.Nanos)
	}
	if n.Calls > 0 || !n.Sampled {
		calls = format.Grouped(n.Calls)
	}
	return []string{total, share, self, calls}
}

func (c *profileCommand) write(p *cct.Profile) error {
	reportWritten, failed := c.writeOutputs(c.outputs, func(path string) error { return report.Profiles.WriteFile(path, p) })
	defer reportWritten()
	keepFiles(c.streams, report.Profiles, p)
	to, width := c.out, c.outWidth()
	if c.start {
		to, width = c.err, c.width // standard output is the program's
	}
	out := bufio.NewWriter(to) // keeps the first error until Flush
	if c.json {
		failed = errors.Join(failed, document.Write(out, document.NewProfile(p)))
	} else {
		failed = errors.Join(failed, text.WriteProfile(out, p, width, c.top))
	}
	return errors.Join(failed, out.Flush())
}
