package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
	"github.com/sonde-jvm/sonde/internal/report"
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
	return checkOutputs(c.outputs, report.FormatOf)
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
